package import HTTPWire
package import Octets

/// gRPC over HTTP/2, the server's side: which requests are calls, how messages are framed, how a call ends
/// (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).
package enum GRPC {
    /// Bytes in front of each message: whether it is compressed, and its length in four bytes, highest first.
    package static let prefix = 5

    /// How a call ends.
    package enum Status: Int, Sendable {
        case ok = 0
        case unknown = 2
        case invalidArgument = 3
        case notFound = 5
        case permissionDenied = 7
        case resourceExhausted = 8
        case failedPrecondition = 9
        case unimplemented = 12
        case `internal` = 13
        case unavailable = 14
        case unauthenticated = 16

        /// What a client makes of a response with that status which says nothing of gRPC's
        /// (https://github.com/grpc/grpc/blob/master/doc/http-grpc-status-mapping.md). What is too large has a name of its own.
        package init(ofHTTP status: Int) {
            switch status {
            case 400: self = .internal
            case 401: self = .unauthenticated
            case 403: self = .permissionDenied
            case 404: self = .unimplemented
            case 413, 431: self = .resourceExhausted
            case 429, 502, 503, 504: self = .unavailable
            default: self = .unknown
            }
        }
    }

    /// Whether a request with that head is a call: POST with a content type of gRPC's.
    package static func isCall(_ head: borrowing MessageHead) -> Bool {
        head.methodKind == .post && hasContentType(head)
    }

    /// Whether a head has a content type of gRPC's.
    package static func hasContentType(_ head: borrowing MessageHead) -> Bool {
        guard let line = head.first(.contentType) else { return false }
        return isContentType(head.value(line))
    }

    /// Whether a media type is gRPC's: `application/grpc`, perhaps with `+` and what the messages are written in, or parameters.
    package static func isContentType(_ value: Span<UInt8>) -> Bool {
        guard let next = MessageHead.behindGRPC(value) else { return false }
        return [0, UInt8(ascii: "+"), UInt8(ascii: ";"), ASCII.space].contains(next)
    }

    /// Writes the prefix of a message of `count` bytes, which follow.
    package static func frame(_ count: Int, to output: inout OutputBuffer) {
        output.append(0)
        for shift in [24, 16, 8, 0] { output.append(UInt8(truncatingIfNeeded: count >> shift)) }
    }

    /// The head of each answer, as lines.
    package static let headLines: StaticString = "content-type: application/grpc\r\n"

    /// How the call ended, as the lines of trailers. What `reason` has beyond printable ASCII is percent-encoded.
    package static func appendStatus(_ status: Status, _ reason: String = "", to output: inout OutputBuffer) {
        output.append("grpc-status: ")
        output.append(decimal: status.rawValue)
        output.append("\r\n")
        guard !reason.isEmpty else { return }
        output.append("grpc-message: ")
        for byte in reason.utf8 {
            if byte >= 0x20, byte < 0x7F, byte != UInt8(ascii: "%") {
                output.append(byte)
            } else {
                output.append(UInt8(ascii: "%"))
                let digits: StaticString = "0123456789ABCDEF"
                digits.withUTF8Buffer { digits in
                    // SAFETY: both indices are below 16.
                    unsafe output.append(digits[Int(byte >> 4)])
                    unsafe output.append(digits[Int(byte & 15)])
                }
            }
        }
        output.append("\r\n")
    }
}

/// Why a call can't go on.
package struct CallError: Error, Hashable, Sendable {
    package let status: GRPC.Status
    package let reason: String

    package init(_ status: GRPC.Status, _ reason: String) {
        self.status = status
        self.reason = reason
    }
}
