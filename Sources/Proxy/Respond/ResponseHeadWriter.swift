internal import HTTPWire
internal import Octets

/// Writes what HTTP/1 says around the fields of a response that is passed on: framing of our own, and whether the connection goes on.
struct ResponseHeadWriter {
    let isHead: Bool
    let framing: BodyFraming
    let keepsAlive: Bool
    /// Whether the body isn't the upstream's, or wouldn't be in the answer to GET.
    var hasOtherBytes = false

    /// Writes how the body is framed. `end` follows, behind what else is of this hop.
    func writeFraming(of head: borrowing MessageHead, into output: inout OutputBuffer) {
        switch framing {
        case .none:
            // A response to HEAD says how long the answer to GET would be (RFC 9110 §8.6); 204 and 304 say nothing.
            if isHead, !hasOtherBytes, let length = head.first(.contentLength) {
                HeadWriter.clean("Content-Length", head.value(length), into: &output)
            }
        case .length, .chunked, .untilClose: HeadWriter.framing(framing, into: &output)
        }
    }

    /// Ends the head, and the connection where it doesn't go on.
    func end(into output: inout OutputBuffer) {
        if keepsAlive { output.append("\r\n") } else { output.append("Connection: close\r\n\r\n") }
    }
}
