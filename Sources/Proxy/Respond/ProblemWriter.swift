internal import Gateway
internal import HTTPWire
internal import Octets
internal import Serialization

/// Writes an answer of ours: RFC 9457 `application/problem+json` with a stable code, the request id, and the byte offset,
/// the field and the setting where there are such.
struct ProblemWriter {
    let refusal: Refusal
    let isHead: Bool
    let keepsAlive: Bool
    let requestID: [UInt8]
    let clock: Clock

    /// - Parameter addFields: gets the fields' start in `output`, and may append more.
    func write(into output: inout OutputBuffer, adding addFields: (inout OutputBuffer, Int) -> Void = { _, _ in }) {
        let body = problem()
        HeadWriter.statusLine(refusal.status, into: &output)
        let fields = output.count
        HeadWriter.clean("Date", clock.date.span, into: &output)
        HeadWriter.field("Content-Type", "application/problem+json", into: &output)
        HeadWriter.field("Content-Length", decimal: body.count, into: &output)
        HeadWriter.field("Cache-Control", "no-store", into: &output)
        HeadWriter.clean("X-Request-Id", requestID.span, into: &output)
        if let advice = refusal.advice { HeadWriter.clean(advice.name, Array(advice.value.utf8).span, into: &output) }
        addFields(&output, fields)
        if !keepsAlive { HeadWriter.field("Connection", "close", into: &output) }
        HeadWriter.end(into: &output)
        if !isHead { output.append(body.span) }
    }

    private func problem() -> OutputBuffer {
        var json = JSONObjectWriter()
        json.member("type", "about:blank")
        json.member("title", ReasonPhrase.of(refusal.status).description)
        json.member("status", number: refusal.status)
        json.member("code", refusal.code)
        json.member("detail", refusal.detail)
        json.member("request_id", bytes: requestID.span)
        if let cause = refusal.cause { json.member("cause", cause) }
        if let error = refusal.conversionError {
            if let field = error.field { json.member(field.hasPrefix("/") ? "pointer" : "field", field) }
            if let offset = error.offset { json.member("offset", number: offset) }
            if let setting = error.setting { json.member("setting", setting) }
        }
        return json.end()
    }
}
