internal import Octets

/// Gathers the header lines of a part, wherever the input is cut, with continuation lines unfolded to one space.
///
/// A line is a name, a colon and a value of visible characters, spaces, tabs and bytes above 0x7F, ended by CRLF (RFC
/// 5322 §2.2, RFC 9110 §5.5). Bounded by `limits.partHeaders`, `partHeaderLine` and `partHeaderBytes`, both counted
/// without the line ends.
internal struct PartHeaders {
    struct Field {
        let name: Range<Int>
        let value: Range<Int>
        /// Where the field begins in the body.
        let offset: Int
    }

    private enum State {
        /// At the start of a line; goes to `line`, `fold` or `emptyLineEnd`.
        case lineStart
        /// Within a line; goes to `lineEnd`.
        case line
        /// In the white space that a continuation begins with; goes to `line`.
        case fold
        /// After the carriage return of a line; goes to `lineStart`.
        case lineEnd
        /// After the carriage return of the empty line, which ends the headers.
        case emptyLineEnd
    }

    /// The fields' text without line ends; `fields` points into it.
    private(set) var bytes = ByteStore()
    private(set) var fields: [Field] = []
    /// Where the headers begin in the body.
    private(set) var offset = 0
    private let limits: Limits
    private var state = State.lineStart
    private var lineCount = 0
    private var lineLength = 0
    private var length = 0
    /// The field that may go on in a continuation line; `nameEnd` is known once its first line is whole.
    private var openField: (start: Int, nameEnd: Int, offset: Int)?

    init(limits: Limits) {
        self.limits = limits
    }

    /// Starts the headers of another part, at this offset of the body.
    mutating func begin(at offset: Int) {
        self.offset = offset
        bytes.removeAll()
        if !fields.isEmpty { fields.removeAll(keepingCapacity: true) }
        state = .lineStart
        lineCount = 0
        length = 0
        openField = nil
    }

    /// Whether nothing of the headers has been taken.
    var isUntouched: Bool { state == .lineStart && lineCount == 0 }

    /// Takes bytes from `at` on, which is the offset `base + at` of the body, up to the end of the headers. Returns
    /// whether it has come.
    mutating func read(_ input: Span<UInt8>, _ at: inout Int, base: Int) throws(ConversionError) -> Bool {
        while at < input.count {
            let byte = input[at]
            switch state {
            case .lineStart:
                if byte == ASCII.carriageReturn {
                    state = .emptyLineEnd
                    at += 1
                } else {
                    try startLine(with: byte, offset: base + at)
                }
            case .fold:
                if byte == ASCII.space || byte == ASCII.tab {
                    try count(1, offset: base + at)
                    at += 1
                } else {
                    state = .line
                }
            case .line: try readLine(input, &at, base: base)
            case .lineEnd:
                guard byte == ASCII.lineFeed else { throw Multipart.Fault.headerLineEnd.error(offset: base + at) }
                try endLine()
                state = .lineStart
                at += 1
            case .emptyLineEnd:
                guard byte == ASCII.lineFeed else { throw Multipart.Fault.headerLineEnd.error(offset: base + at) }
                endField()
                at += 1
                return true
            }
        }
        return false
    }

    private mutating func startLine(with byte: UInt8, offset: Int) throws(ConversionError) {
        let isFold = byte == ASCII.space || byte == ASCII.tab
        if isFold {
            guard let openField else { throw Multipart.Fault.headerFold.error(offset: offset) }
            while bytes.count > openField.start,
                bytes[bytes.count - 1] == ASCII.space || bytes[bytes.count - 1] == ASCII.tab
            {
                bytes.truncate(to: bytes.count - 1)
            }
            bytes.append(ASCII.space)
        } else {
            endField()
            openField = (bytes.count, bytes.count, offset)
        }
        lineCount += 1
        guard lineCount <= limits.partHeaders else {
            throw .limit(
                "part_headers", of: limits.partHeaders, what: "the number of a part's header lines", offset: offset)
        }
        lineLength = 0
        state = isFold ? .fold : .line
    }

    private mutating func readLine(_ input: Span<UInt8>, _ at: inout Int, base: Int) throws(ConversionError) {
        let room = min(limits.partHeaderLine - lineLength, limits.partHeaderBytes - length)
        let stop = at + min(room, input.count - at)
        let end = Scan.firstControl(in: input.extracting(0..<stop), from: at)
        bytes.append(contentsOf: input.extracting(at..<end))
        try count(end - at, offset: base + at)
        at = end
        guard at < input.count else { return }
        switch input[at] {
        case ASCII.carriageReturn:
            state = .lineEnd
            at += 1
        case ASCII.lineFeed: throw Multipart.Fault.headerLineEnd.error(offset: base + at)
        default:
            try count(1, offset: base + at)
            throw Multipart.Fault.headerControl.error(offset: base + at)
        }
    }

    /// Counts bytes of a line; `offset` is that of the first, and the first that is too many is the one at fault.
    private mutating func count(_ number: Int, offset: Int) throws(ConversionError) {
        lineLength += number
        length += number
        if lineLength > limits.partHeaderLine {
            throw .limit(
                "part_header_line", of: limits.partHeaderLine, what: "the length of a part's header line",
                offset: offset)
        }
        if length > limits.partHeaderBytes {
            throw .limit(
                "part_header_bytes", of: limits.partHeaderBytes, what: "the length of a part's headers",
                offset: offset)
        }
    }

    /// Finds the name in a field's first line.
    private mutating func endLine() throws(ConversionError) {
        guard let field = openField, field.nameEnd == field.start else { return }
        let end = Scan.endOfToken(in: bytes.span, from: field.start)
        guard end > field.start, end < bytes.count, bytes[end] == UInt8(ascii: ":") else {
            throw Multipart.Fault.headerName.error(offset: field.offset)
        }
        openField = (field.start, end, field.offset)
    }

    /// Cuts the field that is complete into name and value.
    private mutating func endField() {
        guard let field = openField else { return }
        openField = nil
        var start = field.nameEnd + 1
        var end = bytes.count
        while start < end, isSpace(start) { start += 1 }
        while end > start, isSpace(end - 1) { end -= 1 }
        fields.append(Field(name: field.start..<field.nameEnd, value: start..<end, offset: field.offset))
    }

    /// Whether the line of `field` begins with what stands in `mark` from `start` on.
    func begins(_ field: Field, with mark: [UInt8], from start: Int) -> Bool {
        let length = mark.count - start
        let from = field.name.lowerBound
        guard bytes[from] == mark[start], bytes.count - from >= length else { return false }
        return bytes.slice(from..<from + length).isEqual(to: mark.span.extracting(start..<mark.count))
    }

    private func isSpace(_ index: Int) -> Bool { bytes[index] == ASCII.space || bytes[index] == ASCII.tab }
}
