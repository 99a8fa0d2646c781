public import Octets

/// Writes the framing of a body that is sent: what goes before and after each run of body bytes, and at the end.
///
/// The body bytes themselves go beside it, from wherever they are: `begin`, the bytes, `end`; at last `finish`.
public struct BodyEncoder: Sendable {
    /// How the body is framed, as the head that was sent says.
    public let framing: BodyFraming
    // Both stand in the room behind the case of `framing`: a connection that is idle keeps its encoder.
    private var isInChunk = false
    /// Whether `finish` was called.
    public private(set) var isFinished = false
    /// Bytes that Content-Length still owes.
    private var left: Int

    /// An encoder for a body of which nothing was sent.
    public init(framing: BodyFraming) {
        self.framing = framing
        if case .length(let length) = framing { left = length } else { left = 0 }
    }

    /// Body bytes that Content-Length still owes; nil for other framings.
    public var remaining: Int? {
        if case .length = framing { left } else { nil }
    }

    /// Writes what goes before the next `count` body bytes: the chunk-size line, or nothing.
    ///
    /// Throws status 500 and writes nothing where these bytes must not be sent: more than Content-Length announced, any for
    /// a message without a body, any after the end. Sent anyway, they would be read as the next message.
    public mutating func begin(_ count: Int, into output: inout OutputBuffer) throws(WireError) {
        guard count > 0 else { return }
        guard !isFinished else { throw WireError(.bodyWithoutFraming, at: 0) }
        switch framing {
        case .none: throw WireError(.bodyWithoutFraming, at: 0)
        case .length(let length):
            guard count <= left else { throw WireError(.lengthExceeded, at: length - left) }
            left -= count
        case .chunked:
            if isInChunk { end(into: &output) }
            output.append(hexadecimal: count)
            output.append("\r\n")
            isInChunk = true
        case .untilClose: break
        }
    }

    /// Writes what goes after the body bytes that the last `begin` announced.
    public mutating func end(into output: inout OutputBuffer) {
        if takeEnd() { output.append("\r\n") }
    }

    /// Says whether a line end goes after the body bytes that the last `begin` announced; the caller then writes it.
    public mutating func takeEnd() -> Bool {
        defer { isInChunk = false }
        return isInChunk
    }

    /// Ends the body; in the chunked coding `writeTrailers` may write whole field lines behind the last chunk (RFC 9112 §7.1.2).
    /// Throws status 500 and writes nothing when bytes are owed: the message must then be cut, never ended.
    ///
    /// A body framed until close is ended by closing the connection, which is the caller's part.
    public mutating func finish(
        into output: inout OutputBuffer, writeTrailers: (inout OutputBuffer) -> Void = { _ in }
    ) throws(WireError) {
        guard !isFinished else { return }
        switch framing {
        case .length(let length):
            guard left == 0 else { throw WireError(.lengthShort, at: length - left) }
        case .chunked:
            end(into: &output)
            output.append("0\r\n")
            writeTrailers(&output)
            output.append("\r\n")
        case .none, .untilClose: break
        }
        isFinished = true
    }
}
