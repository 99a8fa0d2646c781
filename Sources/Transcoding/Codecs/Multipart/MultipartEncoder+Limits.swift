internal import Octets

// A name grows where it is written: by escapes, by line ends that become two bytes, by being written twice. What our own reader
// wouldn't take back is refused.
extension Multipart.Encoder {
    /// Throws when what would be written of the head is beyond `limits.key`, `partHeaders`, `partHeaderLine` or
    /// `partHeaderBytes`. Counted is what is written, as the reader will count it: without line ends, with a Content-Type that
    /// the part came without, without headers that aren't passed on.
    internal func checkLimits(
        _ head: borrowing PartHead, _ limits: Limits, withHeaders: Bool
    ) throws(ConversionError) {
        let isFile = withHeaders && head.isFile
        // The dashes of the delimiter, its boundary and its line end stand before the line.
        let start = opening.count - 2 - boundary.bytes.count - 2
        // Nearly all are far from any limit at their most: six bytes for one.
        var most = start + 40 + 6 * (head.name.count + (isFile ? head.filename.count : 0))
        if withHeaders {
            most += 40 + head.mediaType.count
            for index in 0..<head.otherFieldCount {
                most += head.otherFieldName(index).count + 2 + head.otherFieldValue(index).count
            }
        }
        if most <= min(limits.partHeaderLine, limits.partHeaderBytes), 2 * head.name.count <= limits.key,
            (withHeaders ? 2 + head.otherFieldCount : 1) <= limits.partHeaders
        {
            return
        }

        let name = Self.written(head.name, joinsLineEnds: true)
        guard head.name.count + name.joined <= limits.key else {
            throw .limit(
                "key", of: limits.key, what: "the length of a part's name, whose line ends are written as CRLF",
                field: Self.beginning(of: head.name))
        }
        var line = start + name.length + 1
        if isFile {
            let filename = head.hasFilename ? Self.written(head.filename, joinsLineEnds: false).length : 4
            line += "; filename=\"\"".utf8.count + filename
            if writesExtended { line += Self.extendedLength(head.filename) }
        }
        guard line <= limits.partHeaderLine else {
            throw .limit(
                "part_header_line", of: limits.partHeaderLine,
                what: "the length of the line that a part's name and filename are written in",
                field: Self.beginning(of: head.name))
        }
        var written = (lines: 1, longest: line, bytes: line)
        func count(_ length: Int) {
            written = (written.lines + 1, max(written.longest, length), written.bytes + length)
        }
        if withHeaders {
            if let type = Self.typeLength(head) { count("Content-Type: ".utf8.count + type) }
            for index in 0..<head.otherFieldCount where Self.isWritten(head.otherFieldName(index)) {
                count(head.otherFieldName(index).count + 2 + head.otherFieldValue(index).count)
            }
        }
        guard written.longest <= limits.partHeaderLine else {
            throw .limit(
                "part_header_line", of: limits.partHeaderLine,
                what: "the length of a header that a part is written with",
                field: Self.beginning(of: head.name))
        }
        guard written.lines <= limits.partHeaders else {
            throw .limit(
                "part_headers", of: limits.partHeaders,
                what: "the number of headers that a part is written with, its Content-Type among them,",
                field: Self.beginning(of: head.name))
        }
        guard written.bytes <= limits.partHeaderBytes else {
            throw .limit(
                "part_header_bytes", of: limits.partHeaderBytes,
                what: "the length of the headers that a part is written with",
                field: Self.beginning(of: head.name))
        }
    }

    /// The length of the Content-Type that is written; nil where there is none.
    private static func typeLength(_ head: borrowing PartHead) -> Int? {
        if !head.mediaType.isEmpty { return head.mediaType.count }
        return head.isFile ? standardFileType.utf8CodeUnitCount : nil
    }

    /// How long a text is between its quotes, and how many bytes it has grown to a reader by line ends that became CRLF.
    private static func written(_ text: Span<UInt8>, joinsLineEnds: Bool) -> (length: Int, joined: Int) {
        var length = text.count
        var joined = 0
        for at in text.indices {
            switch text[at] {
            case UInt8(ascii: "\""): length += 2
            case ASCII.carriageReturn, ASCII.lineFeed:
                length += 2
                let isPair =
                    text[at] == ASCII.carriageReturn
                    ? at + 1 < text.count && text[at + 1] == ASCII.lineFeed
                    : at > 0 && text[at - 1] == ASCII.carriageReturn
                if joinsLineEnds, !isPair {
                    length += 3
                    joined += 1
                }
            default: break
            }
        }
        return (length, joined)
    }

    /// What tells which part it is; all of it would be as long as nobody wants it.
    private static func beginning(of name: Span<UInt8>) -> String {
        name.count <= 64 ? name.lossyString() : name.extracting(0..<64).lossyString() + "…"
    }
}
