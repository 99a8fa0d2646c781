public import Octets

/// The trailer section of a chunked body (RFC 9112 §7.1.2), or of one of HTTP/2 (RFC 9113 §8.1), as it was read and checked.
public struct TrailerLines: Sendable {
    private var bytes: [UInt8]
    private var count = 0

    /// `bytes` are whole lines, each with its CRLF and a colon behind its name.
    internal init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// No trailers; `add` brings some.
    public init() { bytes = [] }

    /// Adds a field that came as such, by the rules and limits of one that a parser reads (`WireLimits.trailerBytes`,
    /// `trailerCount`).
    public mutating func add(
        _ name: Span<UInt8>, _ value: Span<UInt8>, limits: WireLimits
    ) throws(WireError) {
        let at = bytes.count
        guard count < limits.trailerCount else { throw WireError(.tooManyTrailers, at: at) }
        guard ListMember.isToken(name), Scan.firstControl(in: value, from: 0) == value.count else {
            throw WireError(.badTrailer, at: at)
        }
        guard name.count + value.count + 4 <= limits.trailerBytes - at else {
            throw WireError(.trailersTooLarge, at: at)
        }
        count += 1
        bytes += name.copied()
        bytes += [UInt8(ascii: ":"), ASCII.space]
        bytes += value.copied()
        bytes += [ASCII.carriageReturn, ASCII.lineFeed]
    }

    private static func mayPass(_ name: Span<UInt8>) -> Bool {
        let field = KnownField.find(name)
        return !field.isHopByHop && field != .host && field != .contentLength && field != .expect
    }

    public var isEmpty: Bool { bytes.isEmpty }

    /// Writes the lines whose names are among `names`, letters in either case, white space at the ends of values removed. Without
    /// names it writes all but those that tell of framing, of routing or of this hop, which no trailer may (RFC 9110 §6.5.1).
    public func write(named names: [[UInt8]]?, into output: inout OutputBuffer) {
        let bytes = bytes.span
        var start = 0
        while let end = Scan.firstIndex(of: ASCII.carriageReturn, in: bytes, from: start) {
            let line = bytes.extracting(start..<end)
            start = end + 2
            guard let colon = Scan.firstIndex(of: UInt8(ascii: ":"), in: line) else { continue }
            let name = line.extracting(0..<colon)
            guard names?.contains(where: { name.isEqualIgnoringCase(to: $0.span) }) ?? Self.mayPass(name) else {
                continue
            }
            let value = line.rangeWithoutBlanks(in: colon + 1..<line.count)
            output.append(name)
            output.append(": ")
            output.append(line.extracting(value))
            output.append("\r\n")
        }
    }
}
