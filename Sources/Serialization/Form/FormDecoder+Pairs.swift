internal import Octets

// Pairs that lie whole in a slice, as most of a request's do: read at one go, and given to a tree without events.
extension Form.Decoder {
    /// The bytes of a value, as they came, that are read at one go. A longer one is better handed on where it lies.
    private static var wholeValue: Int { 1024 }

    internal mutating func feed<Outlet: FileOutlet & ~Copyable>(
        _ input: Span<UInt8>, gathering gatherer: inout FieldGatherer<Outlet>
    ) throws(ConversionError) -> Int {
        guard gatherer.takesFields, pair == nil, charsets == nil else { return try feed(input, into: &gatherer) }
        var at = 0
        if gatherer.isAwaiting, !input.isEmpty { try sendPending(into: &gatherer) }
        if carryCount > 0 { try resumeEscape(input, &at) }
        while at < input.count || carriedDecoded > 0 {
            if place == .pairStart {
                try startPair(input, &at)
                guard place == .name else { break }
                if try readPair(input, &at, into: &gatherer) {
                    if gatherer.isFull { break }
                    continue
                }
            }
            if try step(input, &at, into: &gatherer), gatherer.isFull { break }
        }
        consumed += at
        return at
    }

    /// Reads the pair that begins at `at` where all of it lies here, its name needs no decoding, and its value is short and
    /// valid. Returns false, with nothing read, for any other pair, whose way is by `readName` and `readValue`: there,
    /// too, is found out what is wrong with one.
    @inline(__always)
    private mutating func readPair<Outlet: FileOutlet & ~Copyable>(
        _ input: Span<UInt8>, _ at: inout Int, into gatherer: inout FieldGatherer<Outlet>
    ) throws(ConversionError) -> Bool {
        var scan = Scan.formName(in: input, from: at)
        guard scan.isASCII, scan.end < input.count else { return false }
        let isPlain = input[scan.end] != UInt8(ascii: "[") && input[scan.end] != UInt8(ascii: "]")
        if !isPlain {
            scan = Scan.run(
                to: UInt8(ascii: "="), UInt8(ascii: "&"), UInt8(ascii: "%"), UInt8(ascii: "+"), in: input,
                from: scan.end)
        }
        guard scan.isASCII, scan.end < input.count, input[scan.end] == UInt8(ascii: "="), scan.end - at <= limits.key
        else { return false }
        let name = input.extracting(at..<scan.end)
        let start = scan.end + 1
        let value = Scan.formValue(in: input, from: start)
        if value.isASCII, value.end < input.count, input[value.end] == UInt8(ascii: "&") {
            at = value.end + 1
            place = .pairStart
            try gatherer.field(name, input.extracting(start..<value.end), isPlain: isPlain)
            return true
        }
        return try readPair(name, isPlain: isPlain, input, &at, valueFrom: start, into: &gatherer)
    }

    /// Reads the rest of the pair whose name is known, where its value has to be decoded or may be the last one.
    private mutating func readPair<Outlet: FileOutlet & ~Copyable>(
        _ name: Span<UInt8>, isPlain: Bool, _ input: Span<UInt8>, _ at: inout Int, valueFrom start: Int,
        into gatherer: inout FieldGatherer<Outlet>
    ) throws(ConversionError) -> Bool {
        let bound = min(input.count, start + Self.wholeValue)
        decoded.removeAll()
        let run = decoded.append(formDecoding: input, from: start, to: bound)
        if run.end < bound, input[run.end] == UInt8(ascii: "&"), run.isASCII || repair == nil && Self.isValid(decoded) {
            at = run.end + 1
            place = .pairStart
            try gatherer.field(name, decoded.span, isPlain: isPlain)
            decoded.removeAll()
            return true
        }
        if run.end == input.count, run.isASCII, decoded.count <= limits.field, isPlain, gatherer.takesPlainNames {
            // Most often this is the end of the body. The pair is kept until that is known.
            self.name.append(contentsOf: name)
            gatherer.isAwaiting = true
            at = run.end
            return true
        }
        decoded.removeAll()
        return false
    }

    /// Gives the pair that was kept to the gatherer as far as it is there: its value goes on.
    private mutating func sendPending<Outlet: FileOutlet & ~Copyable>(
        into gatherer: inout FieldGatherer<Outlet>
    ) throws(ConversionError) {
        gatherer.isAwaiting = false
        head.setName(copying: name)
        head.hasValue = true
        name.removeAll()
        place = .value
        try gatherer.beginPart(head)
        if !decoded.isEmpty { try gatherer.content(decoded.span, isLast: false) }
        decoded.removeAll()
    }

    internal mutating func finish<Outlet: FileOutlet & ~Copyable>(
        gathering gatherer: inout FieldGatherer<Outlet>
    ) throws(ConversionError) {
        guard gatherer.isAwaiting else { return try finish(into: &gatherer) }
        gatherer.isAwaiting = false
        place = .pairStart
        try gatherer.field(name.span, decoded.span, isPlain: true)
    }

    /// A span of a stored property would hold all of the decoder.
    private static func isValid(_ text: ByteStore) -> Bool { UTF8Validator.isValid(text.span) }
}
