package import Octets

extension Multipart {
    /// Writes fields and files as multipart/form-data (RFC 7578), in the order they come.
    ///
    /// Names and filenames are written as `NameQuoting` says of the dialect: a quotation mark as `%22` or `\"`, CR as `%0D`, LF as
    /// `%0A`, and in names each line end as CRLF; a backslash as itself, or as two to servers that read two as one. A receiver
    /// that doesn't decode these sees them as they are. A filename that isn't ASCII is written as `filename*` too (RFC 8187),
    /// for those who read only that in UTF-8, unless it came in a part without, or `filenames: plain` says otherwise, as the dialects
    /// `afnetworking`, `alamofire` and `whatwg` do. A name with another control character is refused; so is one that would be written, or
    /// read, as another one of the body is, as `"` and `%22`; and where backslashes aren't escaped, one that ends with an
    /// unpaired backslash, which receivers would take for an escape of the quote.
    ///
    /// A file has a Content-Type, application/octet-stream where its head names none, and a filename, `blob` where its head has none
    /// (WHATWG XHR), each unless it came in a part without it. Text has a Content-Type only where its head names one. Other part
    /// headers are written as they came, without a Content-Transfer-Encoding.
    ///
    /// A streamed content can't be searched for the boundary before the boundary is written. So the boundary must be
    /// `Boundary.random()`, which no sender can foresee, or, where the parts of a multipart body are copied, may be the
    /// client's own, which the decoder has found in none of them.
    package struct Encoder: FieldEncoder, ~Copyable {
        /// What becomes of the content of the part at hand.
        private enum Content {
            case verbatim
            /// Each CR, LF and CRLF becomes CRLF. Whether the last byte was a CR.
            case lines(endedWithCR: Bool)
            case base64
            case dropped
        }

        package var output = OutputBuffer()
        package private(set) var boundary: Boundary

        /// Whether line ends in text become CRLF, as when a browser submits a form. False: text is copied byte by byte.
        package var normalizesLineEnds = false

        private let options: FieldEncodingOptions
        private let quoting: NameQuoting
        /// Those of a conversion, of which heads are held to what a reader of ours takes; nil: any length is written.
        private var limits: Limits?
        /// The bytes of a name up to which no head of a name alone is beyond any limit.
        private var shortName = Int.max
        /// Whether no head is beyond any limit of heads that has nothing but a name, as it is written, of up to `limits.key` bytes.
        internal private(set) var takesAllPlainNames = true
        /// What stands in front of each name: the delimiter line and the start of Content-Disposition.
        internal private(set) var opening = ByteStore()
        private var boundaries = BoundarySource()
        private var content = Content.verbatim
        private var base64 = Base64Encoder()
        internal var passage = Passage()
        private var names = WrittenNames()
        /// Bytes by which filenames have grown because they are written twice.
        internal private(set) var filenameGrowth = 0
        /// The names that rules give files.
        internal var given = GivenNames()
        /// How long boundaries are at least: as that of the multipart body that is copied.
        private var boundaryLength = 0
        /// Bytes of the body so far, where all of it are parts that pass.
        private var written = 0
        /// Set: the output's length is known already.
        private var fit: Fit?
        /// A head on trial.
        private var trial = OutputBuffer()

        /// An encoder of one body under `options` (`files`).
        package init(boundary: Boundary, options: FieldEncodingOptions) {
            self.boundary = boundary
            self.options = options
            quoting = NameQuoting(options.dialect)
            makeOpening()
        }

        /// Makes the encoder as new for another body, with its allocations kept. Bytes that were not taken are gone.
        package mutating func reset(boundary: Boundary) {
            self.boundary = boundary
            output.removeAll()
            content = .verbatim
            base64 = Base64Encoder()
            names.removeAll()
            filenameGrowth = 0
            written = 0
            fit = nil
            if !given.isEmpty { given.removeAll() }
            makeOpening()
        }

        /// As above, with a boundary that can't be foreseen, and is as long as `length` where that can be: 22 to 70.
        internal mutating func resetWithRandomBoundary(length: Int = 0) {
            boundaryLength = length
            reset(boundary: boundaries.next(length: length))
        }

        private mutating func makeOpening() {
            opening.removeAll()
            opening.append("--")
            opening.append(contentsOf: boundary.bytes)
            opening.append("\r\nContent-Disposition: form-data; name=\"")
            noteShortNames()
        }

        package var isFull: Bool { output.isFull || passage.isTaken }

        /// Writes the headers of a part. Throws for what they can't carry, with the part's name; nothing is written
        /// then.
        package mutating func beginPart(_ head: borrowing PartHead) throws(ConversionError) {
            if passage.isTaken { copyPassed() }
            guard head.isFile else {
                if writePlain(head) { return }
                try check(head, withHeaders: true)
                content = normalizesLineEnds ? .lines(endedWithCR: false) : .verbatim
                writeHead(head)
                return
            }
            switch options.files {
            case .stream:
                try check(head, withHeaders: true)
                content = .verbatim
                writeHead(head)
            case .base64:
                try check(head, withHeaders: false)
                content = .base64
                writeName(head, saving: .nothing)
                output.append("\r\n\r\n")
            case .drop: content = .dropped
            case .object, .reject: throw Fault.file.error(field: head.name.lossyString())
            }
        }

        package mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
            if passage.isTaken { copyPassed() }
            switch content {
            case .verbatim:
                written += piece.count + (isLast ? 2 : 0)
                if isLast || !passage.take(piece) { output.append(piece) }
            case .lines(let endedWithCR): writeLines(piece, isLast: isLast, endedWithCR: endedWithCR)
            case .base64:
                base64.encode(piece, into: &output)
                if isLast { base64.finish(into: &output) }
            case .dropped: return
            }
            if isLast { output.append("\r\n") }
        }

        /// Writes the final boundary. A body without parts is that line alone.
        package mutating func finish() throws(ConversionError) {
            output.append("--")
            output.append(boundary.bytes)
            output.append("--")
            switch fit?.bytesLeft(behind: written + boundary.bytes.count + 4) {
            case 0: break
            // Half of a line end is none, and would hide the end from readers of lines; a space may stand there (RFC 2046 §5.1.1).
            case 1: output.append(ASCII.space)
            default: output.append("\r\n")
            }
        }
    }
}

// MARK: Checks

extension Multipart.Encoder {
    /// Throws when the name, or with `withHeaders` anything else that would be written of the head, can't be.
    private mutating func check(_ head: borrowing PartHead, withHeaders: Bool) throws(ConversionError) {
        if let fault = self.fault(in: head, withHeaders: withHeaders) ?? names.fault(in: head.name, quoting) {
            throw fault.error(field: head.name.lossyString())
        }
        if !given.isEmpty { try given.take(head.name, isGiven: head.hasGivenName) }
        if let limits { try checkLimits(head, limits, withHeaders: withHeaders) }
    }

    private func fault(in head: borrowing PartHead, withHeaders: Bool) -> Multipart.Fault? {
        guard quoting.canWrite(head.name) else { return .nameUnwritable }
        guard withHeaders else { return nil }
        guard quoting.canWrite(head.filename) else { return .nameUnwritable }
        guard Self.isText(head.mediaType) else { return .mediaTypeUnwritable }
        for index in 0..<head.otherFieldCount {
            let name = head.otherFieldName(index)
            let value = head.otherFieldValue(index)
            guard !name.isEmpty, Self.isToken(name), Self.isText(value) else { return .headerUnwritable }
            if PartHeadReader.kind(of: name) == .transferEncoding, !PartHeadReader.isIdentity(value) {
                return .headerUnwritable
            }
        }
        return nil
    }

    /// Whether nothing in the text is escaped or refused: no control, no DEL, no quote and no backslash.
    internal static func isPlain(_ text: Span<UInt8>) -> Bool {
        Scan.isPlainText(text) && Scan.firstControl(in: text, from: 0) == text.count
    }

    private static func isText(_ text: Span<UInt8>) -> Bool {
        Scan.firstControl(in: text, from: 0) == text.count
    }

    private static func isToken(_ text: Span<UInt8>) -> Bool {
        Scan.endOfToken(in: text, from: 0) == text.count
    }
}

// MARK: Writing

extension Multipart.Encoder {
    /// Writes the head of a text that has a name alone, in which nothing is escaped or has to be remembered, as nearly all are. Returns
    /// false, with nothing done, for any other.
    private mutating func writePlain(_ head: borrowing PartHead) -> Bool {
        let percent = UInt8(ascii: "%"), delete: UInt8 = 0x7F
        guard !head.hasFilename, !head.hasLines, head.name.count <= shortName, given.isEmpty, fit == nil,
            Scan.isPlainText(head.name),
            Scan.firstIndex(ofAny: percent, delete, percent, delete, in: head.name, from: 0) == head.name.count
        else { return false }
        content = normalizesLineEnds ? .lines(endedWithCR: false) : .verbatim
        output.append(opening)
        output.append(OutputBuffer.Word(), head.name, OutputBuffer.Word("\"\r\n\r\n"))
        written += opening.count + head.name.count + 5
        return true
    }

    /// Holds heads to `limits`. An observer of the property wouldn't hear of it in an initializer.
    internal mutating func hold(to limits: Limits) {
        self.limits = limits
        noteShortNames()
    }

    private mutating func noteShortNames() {
        guard let limits else { return (shortName, takesAllPlainNames) = (.max, true) }
        let line = min(limits.partHeaderLine, limits.partHeaderBytes)
        let most = min(limits.key / 2, (line - (opening.count + 80)) / 6)
        shortName = limits.partHeaders < 2 ? -1 : most
        // The delimiter's line, of two dashes, the boundary and a line end, isn't the head's; a quotation mark stands behind the name.
        let start = opening.count - (boundary.bytes.count + 4)
        takesAllPlainNames = limits.partHeaders > 0 && limits.key <= line - start - 1
    }

    /// Writes the delimiter and the headers of a part that isn't changed, as long as they came where the output's length is known already.
    private mutating func writeHead(_ head: borrowing PartHead) {
        let before = output.count
        if let fit, !head.place.isEmpty { writeFitting(head, fit) } else { write(head, saving: .nothing) }
        written += output.count - before
    }

    private mutating func write(_ head: borrowing PartHead, saving: Saving) {
        writeName(head, saving: saving)
        if head.isFile, head.hasFilename || !head.isUnnamed {
            output.append(saving < .parameterSpaces ? "; filename=" : ";filename=")
            if head.hasFilename {
                let isBare = saving >= .quotes && Self.isBare(head.filename)
                if !isBare { output.append("\"") }
                quoting.write(head.filename, as: .filename, cameEscaped: head.isFilenameEscaped, to: &output)
                if !isBare { output.append("\"") }
            } else {
                output.append("\"blob\"")
            }
            if options.filenames == .both, !head.isFilenamePlain, saving < .secondFilename {
                writeExtended(head.filename)
            }
        }
        writeHeaders(head, saving: saving)
    }

    private mutating func writeName(_ head: borrowing PartHead, saving: Saving) {
        let isBare = saving >= .quotes && Self.isBare(head.name)
        if saving < .headerSpaces {
            output.append(opening)
        } else {
            output.append("--")
            output.append(boundary.bytes)
            output.append("\r\nContent-Disposition:form-data;")
            output.append(saving < .parameterSpaces ? " name=" : "name=")
            if !isBare { output.append("\"") }
        }
        quoting.write(head.name, as: .name, cameEscaped: head.isNameEscaped, to: &output)
        if !isBare { output.append("\"") }
    }

    /// Whether the text says the same without quotes.
    private static func isBare(_ text: Span<UInt8>) -> Bool { !text.isEmpty && isToken(text) }

    /// Writes the further headers and the empty line.
    private mutating func writeHeaders(_ head: borrowing PartHead, saving: Saving) {
        if !head.mediaType.isEmpty {
            output.append(saving < .headerSpaces ? "\r\nContent-Type: " : "\r\nContent-Type:")
            output.append(head.mediaType)
        } else if Self.hasStandardType(head) {
            output.append(saving < .headerSpaces ? "\r\nContent-Type: " : "\r\nContent-Type:")
            output.append(Self.standardFileType)
        }
        for index in 0..<head.otherFieldCount {
            let name = head.otherFieldName(index)
            guard Self.isWritten(name) else { continue }
            output.append("\r\n")
            output.append(name)
            output.append(saving < .headerSpaces ? ": " : ":")
            output.append(head.otherFieldValue(index))
        }
        output.append("\r\n\r\n")
    }

    /// Whether a type is written of a head that names none: of a file, for which nobody has left it out before.
    private static func hasStandardType(_ head: borrowing PartHead) -> Bool { head.isFile && !head.isUntyped }

    /// The type of a file of which none is known.
    internal static let standardFileType: StaticString = "application/octet-stream"

    /// Whether a header of that name is passed on.
    internal static func isWritten(_ name: Span<UInt8>) -> Bool { PartHeadReader.kind(of: name) == .other }

    /// Writes `filename*` where it is wanted: all but what no URI escapes either is escaped (RFC 8187 §3.2.1).
    private mutating func writeExtended(_ filename: Span<UInt8>) {
        guard Self.wantsExtended(filename) else { return }
        let before = output.count
        output.append("; filename*=UTF-8''")
        output.append(percentEncoding: filename, keeping: .unreserved, plusForSpace: false)
        filenameGrowth += output.count - before
    }

    /// Whether `filename*` says more than `filename`, as where the name isn't ASCII. Not where it has a line end or another control:
    /// whoever decodes it would have that in the name, while `filename` has it escaped, and our own reader refuses it.
    private static func wantsExtended(_ filename: Span<UInt8>) -> Bool {
        var isASCII = true
        for at in filename.indices {
            let byte = filename[at]
            if byte < 0x20 && byte != ASCII.tab || byte == 0x7F { return false }
            if byte >= 0x80 { isASCII = false }
        }
        return !isASCII
    }

    /// The bytes that `writeExtended` writes.
    internal static func extendedLength(_ filename: Span<UInt8>) -> Int {
        guard wantsExtended(filename) else { return 0 }
        var length = "; filename*=UTF-8''".utf8.count
        for at in filename.indices { length += ByteSet.unreserved.contains(filename[at]) ? 1 : 3 }
        return length
    }

    /// Copies text with each CR, LF and CRLF, wherever it is cut, written as CRLF.
    private mutating func writeLines(_ piece: Span<UInt8>, isLast: Bool, endedWithCR: Bool) {
        var isAfterCR = endedWithCR
        var plain = 0
        for at in piece.indices {
            let byte = piece[at]
            if byte == ASCII.carriageReturn || byte == ASCII.lineFeed {
                output.append(piece.extracting(plain..<at))
                plain = at + 1
                // The line feed of a CRLF has been written with the carriage return.
                if byte == ASCII.carriageReturn || !isAfterCR { output.append("\r\n") }
            }
            isAfterCR = byte == ASCII.carriageReturn
        }
        output.append(piece.extracting(plain..<piece.count))
        content = .lines(endedWithCR: isAfterCR && !isLast)
    }
}

// Where the parts of a multipart body are copied, the output's length is known before it is there: under a delimiter as long as the
// client's, each head is written as long as it came. So nothing has to stand behind the closing delimiter, which some readers refuse
// (docs/decisions/0011).
extension Multipart.Encoder {
    /// What the rest of the body has to come to.
    private struct Fit {
        /// How many bytes more are written than were taken of the input, behind each head.
        let lag: Int
        /// The length of the whole output.
        let total: Int

        /// What there is room for behind `count` bytes. The line end of the closing delimiter may be left out (RFC 2046 §5.1.1), as it
        /// may be at the client.
        func bytesLeft(behind count: Int) -> Int { total - count }
    }

    /// What is left out of a head that came shorter than it is usually written, in this order, each with those before it.
    private enum Saving: Int, CaseIterable, Comparable {
        case nothing
        /// `filename*`, which says the same as `filename` to whoever reads UTF-8 there.
        case secondFilename
        /// The space behind a header's colon.
        case headerSpaces
        /// The space behind a semicolon.
        case parameterSpaces
        /// The quotes of names that are tokens.
        case quotes

        static func < (one: Saving, other: Saving) -> Bool { one.rawValue < other.rawValue }
    }

    /// Spaces at most in front of the value of a Content-Disposition that make up for what earlier heads lack: some servers take no head
    /// beyond 512 bytes. A head that came longer itself may have as many as that.
    private static let mostSpaces = 256

    /// Holds the output to the length that it has if what follows in the input is as long in the output: heads and contents, the end, and
    /// what stands behind that. Returns how many bytes follow what has been written; nil where delimiters are not as long as the client's.
    ///
    /// - Parameters:
    ///   - length: bytes of the whole input.
    ///   - handed: how many of them stand in what has been written, or were left out.
    internal mutating func fit(length: Int, handed: Int) -> Int? {
        guard boundary.bytes.count == boundaryLength, handed <= length else { return nil }
        fit = Fit(lag: written - handed, total: written + length - handed)
        return length - handed
    }

    /// Writes a head as long as it came, as far as that can be: what is missing or too many is made up for by the next ones.
    private mutating func writeFitting(_ head: borrowing PartHead, _ fit: Fit) {
        // What it came with, and what is missing.
        let length = head.place.upperBound + fit.lag - written
        let growth = filenameGrowth
        swap(&output, &trial)
        for saving in Saving.allCases {
            output.removeAll()
            filenameGrowth = growth
            write(head, saving: saving)
            if output.count <= length { break }
        }
        swap(&output, &trial)
        let limit = limits.map { min($0.partHeaderLine, $0.partHeaderBytes) - trial.count } ?? .max
        let most = max(Self.mostSpaces, head.place.count - trial.count)
        let spaces = max(0, min(length - trial.count, limit, most))
        // In front of the value, behind the first header's colon.
        let value = boundary.bytes.count + "--\r\nContent-Disposition:".utf8.count
        output.append(trial, upTo: value)
        for _ in 0..<spaces { output.append(ASCII.space) }
        output.append(trial, from: value)
    }
}

extension OutputBuffer {
    // A span of a stored property would hold all of its owner.
    fileprivate mutating func append(_ other: OutputBuffer, upTo end: Int) {
        append(other.span.extracting(0..<end))
    }
    fileprivate mutating func append(_ other: OutputBuffer, from start: Int) {
        append(other.span.extracting(start..<other.count))
    }
}

// A name grows where it is written: by escapes, by line ends that become two bytes, by being written twice. What our own reader
// wouldn't take back is refused.
extension Multipart.Encoder {
    /// Throws when what would be written of the head is beyond `limits.key`, `partHeaders`, `partHeaderLine` or
    /// `partHeaderBytes`. Counted is what is written, as the reader will count it: without line ends, with a Content-Type that
    /// a file is given, without headers that aren't passed on.
    private mutating func checkLimits(
        _ head: borrowing PartHead, _ limits: Limits, withHeaders: Bool
    ) throws(ConversionError) {
        // Nearly all are far from any limit at their most: six bytes for one.
        let filename = withHeaders && head.isFile ? head.filename.count : 0
        // The dashes of the delimiter, its boundary and its line end stand before the line.
        var most = opening.count - 2 - boundary.bytes.count - 2 + 40 + 6 * (head.name.count + filename)
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

        let field = Self.beginning(of: head.name)
        guard head.name.count + Self.growthOfLineEnds(head.name) <= limits.key else {
            throw .limit(
                "key", of: limits.key, what: "the length of a part's name, whose line ends are written as CRLF",
                field: field)
        }
        let lines = lengthsOfLines(head, withHeaders: withHeaders)
        guard lines[0] <= limits.partHeaderLine else {
            throw .limit(
                "part_header_line", of: limits.partHeaderLine,
                what: "the length of the line that a part's name and filename are written in", field: field)
        }
        guard lines.allSatisfy({ $0 <= limits.partHeaderLine }) else {
            throw .limit(
                "part_header_line", of: limits.partHeaderLine,
                what: "the length of a header that a part is written with", field: field)
        }
        guard lines.count <= limits.partHeaders else {
            throw .limit(
                "part_headers", of: limits.partHeaders,
                what: "the number of headers that a part is written with, its Content-Type among them,", field: field)
        }
        guard lines.reduce(0, +) <= limits.partHeaderBytes else {
            throw .limit(
                "part_header_bytes", of: limits.partHeaderBytes,
                what: "the length of the headers that a part is written with", field: field)
        }
    }

    /// The lengths of the lines behind the delimiter, of which there is one at least: the head is written on trial.
    private mutating func lengthsOfLines(_ head: borrowing PartHead, withHeaders: Bool) -> [Int] {
        let growth = filenameGrowth
        var text = OutputBuffer()
        swap(&output, &text)
        if withHeaders { write(head, saving: .nothing) } else { writeName(head, saving: .nothing) }
        output.append("\r\n\r\n")
        swap(&output, &text)
        filenameGrowth = growth
        var lengths: [Int] = []
        var start = boundary.bytes.count + "--\r\n".utf8.count
        while let end = Scan.firstIndex(of: ASCII.carriageReturn, in: text.span, from: start), end > start {
            lengths.append(end - start)
            start = end + 2
        }
        return lengths
    }

    /// How many bytes a name has grown to a reader by line ends that became CRLF.
    private static func growthOfLineEnds(_ name: Span<UInt8>) -> Int {
        var growth = 0
        for at in name.indices {
            switch name[at] {
            case ASCII.carriageReturn where at + 1 == name.count || name[at + 1] != ASCII.lineFeed: growth += 1
            case ASCII.lineFeed where at == 0 || name[at - 1] != ASCII.carriageReturn: growth += 1
            default: break
            }
        }
        return growth
    }

    /// What tells which part it is; all of it would be as long as is not wanted.
    private static func beginning(of name: Span<UInt8>) -> String {
        name.count <= 64 ? name.lossyString() : name.extracting(0..<64).lossyString() + "…"
    }
}

extension Multipart {
    /// Where content may stay in the input that it came in, instead of being copied to the output.
    @safe
    internal struct Passage {
        /// Copying less costs less than another piece in a write. 16 KiB.
        static let least = 16 * 1024

        /// The input of the call that is under way.
        private var start: UnsafeRawPointer?
        private var count = 0
        /// What was left in it.
        private(set) var taken = 0..<0

        var isTaken: Bool { !taken.isEmpty }

        /// The input of a call begins; it stays until `close`.
        mutating func open(_ input: Span<UInt8>) {
            unsafe start = input.withUnsafeBufferPointer { unsafe UnsafeRawPointer($0.baseAddress) }
            count = input.count
        }

        /// The call is over. Returns what of its input was left there.
        mutating func close() -> Range<Int> {
            let taken = taken
            self = Self()
            return taken
        }

        /// Leaves `piece` where it is, if that is in the input and worth it.
        mutating func take(_ piece: Span<UInt8>) -> Bool {
            guard piece.count >= Self.least, let start = unsafe start else { return false }
            let address = unsafe piece.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
            // A piece of other memory is far off, on either side.
            let offset = Int(bitPattern: address &- UInt(bitPattern: start))
            guard offset >= 0, offset <= count - piece.count else { return false }
            taken = offset..<offset + piece.count
            return true
        }

        /// Copies to `output` what was left in the input, which isn't the last of this call's output after all.
        mutating func copy(to output: inout OutputBuffer) {
            guard let start = unsafe start else { return }
            // SAFETY: a part of the input of the call that is under way.
            let bytes = unsafe UnsafeBufferPointer(
                start: start.assumingMemoryBound(to: UInt8.self) + taken.lowerBound, count: taken.count)
            unsafe output.append(bytes.span)
            taken = 0..<0
        }
    }
}

extension Multipart.Encoder {
    /// Lets content stay in `input` until `endPassing`. What is left there stands behind the output; the encoder is full then.
    internal mutating func beginPassing(_ input: Span<UInt8>) { passage.open(input) }

    /// Returns what of the input was left there.
    internal mutating func endPassing() -> Range<Int> { passage.close() }

    internal mutating func copyPassed() { passage.copy(to: &output) }
}
