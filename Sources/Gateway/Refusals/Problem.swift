internal import HTTPWire
package import Octets
internal import Transcoding

/// A refusal as an answer: the fields and the body of an RFC 9457 problem, whatever carries them.
package struct Problem {
    package let refusal: Refusal
    package let requestID: [UInt8]

    package init(_ refusal: Refusal, requestID: [UInt8]) {
        self.refusal = refusal
        self.requestID = requestID
    }

    /// Appends the answer's fields, as lines, for a body of `length` bytes. Date, and what is of a connection, are the writer's.
    package func appendFields(length: Int, to output: inout OutputBuffer) {
        HeadWriter.field("Content-Type", "application/problem+json", into: &output)
        HeadWriter.field("Content-Length", decimal: length, into: &output)
        HeadWriter.field("Cache-Control", "no-store", into: &output)
        HeadWriter.clean("X-Request-Id", requestID.span, into: &output)
        if case .rateLimited(let fields) = refusal { fields.append(to: &output) }
        if case .upstreamBody(_, let error?) = refusal { error.append(to: &output) }
        if let advice = refusal.advice { HeadWriter.clean(advice.name, Array(advice.value.utf8).span, into: &output) }
    }

    /// The body: a stable code, the request id, and the byte offset, the field and the setting where there are such.
    package func body() -> OutputBuffer {
        var json = JSON.Encoder(options: JSON.EncodingOptions())
        json.beginObject()
        json.member("type", "about:blank")
        json.member("title", ReasonPhrase.of(refusal.status).description)
        json.member("status", number: refusal.status)
        json.member("code", refusal.code)
        json.member("detail", refusal.detail)
        json.member("request_id", bytes: requestID.span)
        if let cause = refusal.cause { json.member("cause", cause) }
        if let error = refusal.conversionError {
            if let field = error.field { json.member(error.isPointer ? "pointer" : "field", field) }
            if let offset = error.offset { json.member("offset", number: offset) }
        }
        if let setting = refusal.setting { json.member("setting", setting) }
        json.endObject()
        return json.output
    }
}
