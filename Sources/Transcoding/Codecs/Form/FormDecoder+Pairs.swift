internal import Octets

/// A sink that takes a field whole, where name and value lie in one slice.
package protocol WholeFieldSink: FieldSink, ~Copyable {
    /// Whether `field` may be called.
    var takesFields: Bool { get }
    /// Whether `field` takes names that hold no brackets.
    var takesPlainNames: Bool { get }
    /// Whether a field has come in that the decoder keeps until its end is known.
    var isAwaiting: Bool { get set }
    /// A field, its name and value decoded. `isPlain`: the name holds no bracket.
    mutating func field(_ name: Span<UInt8>, _ value: Span<UInt8>, isPlain: Bool) throws(ConversionError)
}

// Pairs that lie whole in a slice, as most of a request's do: read at one go, and given to a tree without events.
extension Form.Decoder {
    /// The bytes of a value, as they came, that are read at one go. A longer one is better handed on where it lies.
    private static var wholeValue: Int { 1024 }

    internal mutating func feed<Sink: WholeFieldSink & ~Copyable>(
        _ input: Span<UInt8>, wholeInto sink: inout Sink
    ) throws(ConversionError) -> Int {
        guard sink.takesFields, pair == nil, charsets == nil else { return try feed(input, into: &sink) }
        var at = 0
        if sink.isAwaiting, !input.isEmpty { try sendPending(into: &sink) }
        if carryCount > 0 { try resumeEscape(input, &at) }
        while at < input.count || carriedDecoded > 0 {
            if place == .pairStart {
                try startPair(input, &at)
                guard place == .name else { break }
                if try readPair(input, &at, into: &sink) {
                    if sink.isFull { break }
                    continue
                }
            }
            if try step(input, &at, into: &sink), sink.isFull { break }
        }
        consumed += at
        return at
    }

    /// Reads the pair that begins at `at` where all of it lies here, its name needs no decoding, and its value is short and
    /// valid. Returns false, with nothing read, for any other pair, whose way is by `readName` and `readValue`: there,
    /// too, is found out what is wrong with one.
    @inline(__always)
    private mutating func readPair<Sink: WholeFieldSink & ~Copyable>(
        _ input: Span<UInt8>, _ at: inout Int, into sink: inout Sink
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
            try sink.field(name, input.extracting(start..<value.end), isPlain: isPlain)
            return true
        }
        return try readPair(name, isPlain: isPlain, input, &at, valueFrom: start, into: &sink)
    }

    /// Reads the rest of the pair whose name is known, where its value has to be decoded or may be the last one.
    private mutating func readPair<Sink: WholeFieldSink & ~Copyable>(
        _ name: Span<UInt8>, isPlain: Bool, _ input: Span<UInt8>, _ at: inout Int, valueFrom start: Int,
        into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        let bound = min(input.count, start + Self.wholeValue)
        decoded.removeAll()
        let run = decoded.append(formDecoding: input, from: start, to: bound)
        if run.end < bound, input[run.end] == UInt8(ascii: "&"), run.isASCII || repair == nil && Self.isValid(decoded) {
            at = run.end + 1
            place = .pairStart
            try sink.field(name, decoded.span, isPlain: isPlain)
            decoded.removeAll()
            return true
        }
        if run.end == input.count, run.isASCII, decoded.count <= limits.field, isPlain, sink.takesPlainNames {
            // Most often this is the end of the body. The pair is kept until that is known.
            self.name.append(contentsOf: name)
            sink.isAwaiting = true
            at = run.end
            return true
        }
        decoded.removeAll()
        return false
    }

    /// Gives the pair that was kept to the sink as far as it is there: its value goes on.
    private mutating func sendPending<Sink: WholeFieldSink & ~Copyable>(
        into sink: inout Sink
    ) throws(ConversionError) {
        sink.isAwaiting = false
        head.setName(copying: name)
        head.hasValue = true
        name.removeAll()
        place = .value
        try sink.beginPart(head)
        if !decoded.isEmpty { try sink.content(decoded.span, isLast: false) }
        decoded.removeAll()
    }

    internal mutating func finish<Sink: WholeFieldSink & ~Copyable>(
        wholeInto sink: inout Sink
    ) throws(ConversionError) {
        guard sink.isAwaiting else { return try finish(into: &sink) }
        sink.isAwaiting = false
        place = .pairStart
        try sink.field(name.span, decoded.span, isPlain: true)
    }

    /// A span of a stored property would hold all of the decoder.
    private static func isValid(_ text: ByteStore) -> Bool { UTF8Validator.isValid(text.span) }
}
