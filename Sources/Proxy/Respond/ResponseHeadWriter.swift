internal import ContentCoding
internal import Gateway
internal import HTTPWire
internal import Octets

/// Writes the head of a response that is passed on: end-to-end fields as they came, framing of our own.
struct ResponseHeadWriter {
    let isHead: Bool
    let framing: BodyFraming
    let keepsAlive: Bool
    var changes: HeadChanges = []
    /// The content coding that the body gets from us.
    var coding: Coding?

    /// Where in the output a head's fields begin, and those of them that are ours.
    struct Part {
        var fields: Int
        var own: Int
    }

    /// Writes the status line and the fields but those of the framing. `contentType` is that of a converted body.
    func writeFields(
        of head: borrowing MessageHead, requestID: Span<UInt8>, clock: Clock, contentType: Span<UInt8>?,
        into output: inout OutputBuffer
    ) -> Part {
        HeadWriter.statusLine(of: head, into: &output)
        let fields = output.count
        let own: Int
        if changes.isEmpty, contentType == nil {
            Self.copyFields(of: head, into: &output)
            own = output.count
        } else {
            own = Self.copyFields(of: head, changes, contentType: contentType, into: &output)
        }
        if let coding { HeadWriter.field("Content-Encoding", coding.name, into: &output) }
        if !head.contains(.date) { HeadWriter.clean("Date", clock.date.span, into: &output) }
        if !head.contains(.xRequestID) { HeadWriter.clean("X-Request-Id", requestID, into: &output) }
        return Part(fields: fields, own: own)
    }

    /// Writes how the body is framed. `end` follows, behind what else is of this hop.
    func writeFraming(of head: borrowing MessageHead, into output: inout OutputBuffer) {
        switch framing {
        case .none:
            // A response to HEAD says how long the answer to GET would be (RFC 9110 §8.6); 204 and 304 say nothing.
            if isHead, !changes.contains(.otherBytes), let length = head.first(.contentLength) {
                HeadWriter.clean("Content-Length", head.value(length), into: &output)
            }
        case .length, .chunked, .untilClose: HeadWriter.framing(framing, into: &output)
        }
    }

    /// Ends the head, and the connection where it doesn't go on.
    func end(into output: inout OutputBuffer) {
        if keepsAlive { output.append("\r\n") } else { output.append("Connection: close\r\n\r\n") }
    }

    static let framingFields: KnownFieldSet = [.contentLength, .transferEncoding]

    /// Copies all fields but those of this hop and of the framing (RFC 9110 §7.6.1).
    static func copyFields(of head: borrowing MessageHead, into output: inout OutputBuffer) {
        HeadWriter.fields(of: head, lines: 0..<head.fieldCount, without: framingFields, into: &output)
    }
}

extension ResponseHeadWriter {
    private static let fieldsOfOldBytes: KnownFieldSet = [
        .contentMD5, .contentDigest, .reprDigest, .digest, .acceptRanges, .contentRange, .contentEncoding,
    ]

    /// Copies the end-to-end fields with the changes; `contentType` replaces the body's type. Returns where in the output
    /// begins what didn't come with `head`.
    static func copyFields(
        of head: borrowing MessageHead, _ changes: HeadChanges, contentType: Span<UInt8>?,
        into output: inout OutputBuffer
    ) -> Int {
        var others = framingFields
        if contentType != nil { others.formUnion([.contentType]) }
        if changes.contains(.otherBytes) { others.formUnion(fieldsOfOldBytes) }
        var start = 0
        if changes.contains(.weakTag), head.contains(.etag) {
            for index in 0..<head.fieldCount where head.known(index) == .etag && !head.isHopByHop(index) {
                HeadWriter.fields(of: head, lines: start..<index, without: others, into: &output)
                writeWeakTag(head.value(index), into: &output)
                start = index + 1
            }
        }
        HeadWriter.fields(of: head, lines: start..<head.fieldCount, without: others, into: &output)
        let own = output.count
        if let contentType { HeadWriter.clean("Content-Type", contentType, into: &output) }
        if changes.contains(.variesByAccept), !head.varies(by: "accept") {
            HeadWriter.field("Vary", "Accept", into: &output)
        }
        if changes.contains(.variesByCoding), !head.varies(by: "accept-encoding") {
            HeadWriter.field("Vary", "Accept-Encoding", into: &output)
        }
        return own
    }

    /// The representation is another, equivalent one: its tag says the same weakly (RFC 9110 §8.8.1). What is no entity tag is
    /// left out.
    private static func writeWeakTag(_ tag: Span<UInt8>, into output: inout OutputBuffer) {
        let isWeak = tag.count > 3 && tag[0] == UInt8(ascii: "W") && tag[1] == UInt8(ascii: "/")
        guard isWeak || tag.count > 1 && tag[0] == UInt8(ascii: "\"") else { return }
        output.append(isWeak ? "ETag: " : "ETag: W/")
        output.append(tag)
        output.append("\r\n")
    }
}
