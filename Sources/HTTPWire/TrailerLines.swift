public import Octets

/// The trailer section of a chunked body (RFC 9112 §7.1.2), as it was read and checked.
public struct TrailerLines: Sendable {
    private let bytes: [UInt8]

    /// `bytes` are whole lines, each with its CRLF and a colon behind its name.
    internal init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    public var isEmpty: Bool { bytes.isEmpty }

    /// Writes the lines whose names are among `names`, letters in either case, white space at the ends of values removed.
    public func write(named names: [[UInt8]], into output: inout OutputBuffer) {
        let bytes = bytes.span
        var start = 0
        while let end = Scan.firstIndex(of: ASCII.carriageReturn, in: bytes, from: start) {
            let line = bytes.extracting(start..<end)
            start = end + 2
            guard let colon = Scan.firstIndex(of: UInt8(ascii: ":"), in: line) else { continue }
            let name = line.extracting(0..<colon)
            guard names.contains(where: { name.isEqualIgnoringCase(to: $0.span) }) else { continue }
            let value = ListMember.trimmed(line, colon + 1, line.count)
            output.append(name)
            output.append(": ")
            output.append(line.extracting(value))
            output.append("\r\n")
        }
    }
}
