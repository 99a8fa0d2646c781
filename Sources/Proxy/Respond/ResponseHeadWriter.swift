internal import ContentCoding
internal import HTTPWire
internal import Octets

/// Writes the head of a response that is passed on: end-to-end fields as they came, framing of our own.
struct ResponseHeadWriter {
    let isHead: Bool
    let framing: BodyFraming
    let keepsAlive: Bool
    let requestID: [UInt8]
    let clock: Clock
    var changes: HeadChanges = []
    /// The Content-Type of a converted body.
    var contentType: [UInt8]?
    /// The content coding that the body gets from us.
    var coding: Coding?
    /// A Via line of our own.
    var via: [UInt8]?
    /// Names of trailer fields that may follow a chunked body.
    var trailers: [[UInt8]] = []

    func write(_ head: borrowing MessageHead, into output: inout OutputBuffer) {
        HeadWriter.statusLine(of: head, into: &output)
        if changes.isEmpty, contentType == nil {
            Self.copyFields(of: head, into: &output)
        } else {
            Self.copyFields(of: head, changes, contentType: contentType?.span, into: &output)
        }
        if let coding { HeadWriter.field("Content-Encoding", coding.name, into: &output) }
        if !head.contains(.date) { HeadWriter.clean("Date", clock.date.span, into: &output) }
        if !head.contains(.xRequestID) { HeadWriter.clean("X-Request-Id", requestID.span, into: &output) }
        switch framing {
        case .none:
            // A response to HEAD says how long the answer to GET would be (RFC 9110 §8.6); 204 and 304 say nothing.
            if isHead, !changes.contains(.otherBytes), let length = head.first(.contentLength) {
                HeadWriter.clean("Content-Length", head.value(length), into: &output)
            }
        case .length(let count): HeadWriter.field("Content-Length", decimal: count, into: &output)
        case .chunked: HeadWriter.field("Transfer-Encoding", "chunked", into: &output)
        case .untilClose: break
        }
        if let via { output.append(via.span) }
        if !trailers.isEmpty, framing == .chunked { head.appendTrailerField(trailers, to: &output) }
        if !keepsAlive { HeadWriter.field("Connection", "close", into: &output) }
        HeadWriter.end(into: &output)
    }

    /// Copies all fields but those of this hop and of the framing (RFC 9110 §7.6.1).
    static func copyFields(of head: borrowing MessageHead, into output: inout OutputBuffer) {
        for index in 0..<head.fieldCount where !head.isHopByHop(index) {
            switch head.known(index) {
            case .contentLength, .transferEncoding: continue
            default: HeadWriter.field(index, of: head, into: &output)
            }
        }
    }
}
