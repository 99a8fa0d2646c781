internal import Octets

extension Form {
    /// Reads application/x-www-form-urlencoded into fields, as the bytes arrive.
    ///
    /// The rules are those of the WHATWG URL standard §5.1: `&` alone separates, empty pairs are skipped, a pair is cut at
    /// its first `=`, `+` is a space, an empty name is kept, and a `%` that begins no escape stands for itself unless
    /// `percent: strict`. A name without `=` is a field with an empty value whose head says `hasValue == false`. After
    /// decoding, names and values are UTF-8; what is not is treated by `invalid_utf8`.
    ///
    /// Under `dialect: rack` the spaces behind a `&` belong to it. Under `dialect: qs` pairs are read whole,
    /// each at most three times as long as its name and its value may be. Where a library's limit counts empty pairs,
    /// `limits.fields` does.
    ///
    /// Names are assembled whole, at most `limits.key` decoded bytes. Values of any size pass in pieces and are never held;
    /// a run without escapes is handed on where it lies. Limits: `fields`, `key`. Errors carry the offset of the byte at
    /// fault, or of the name's first byte where a whole name is; after an error only `reset` may follow.
    public struct Decoder: FieldDecoder, ~Copyable {
        internal enum State {
            /// Between pairs; goes to `name`.
            case pairStart
            /// In a name; goes to `value` at `=` and, without taking it, at `&`.
            case name
            /// In a value; goes to `pairStart` at `&`.
            case value
        }

        /// The plain bytes in a row from which a run is handed on where it lies, though decoded bytes precede it.
        private static let directRun = 256
        /// The decoded bytes that are gathered before they are handed on.
        private static let gathered = 4096

        internal let options: FieldDecodingOptions
        internal let limits: Limits
        internal var state = State.pairStart
        internal var fields = 0
        /// Bytes taken in earlier calls.
        internal var consumed = 0
        internal var nameOffset = 0
        internal var head = PartHead()
        internal var name = ByteStore()
        /// Decoded bytes of the value that have not been handed on. Empty between two calls but for `carriedDecoded`.
        internal var decoded = ByteStore()
        /// Whether nothing in `decoded` is above 0x7F.
        private var decodedIsASCII = true
        /// How many bytes at the front of `decoded` came from an escape that the last slice cut, and where it began.
        internal private(set) var carriedDecoded = 0
        private var carriedOffset = 0
        /// The bytes of an escape that the end of the slice cut: none, `%`, or `%` and a digit.
        internal private(set) var carryCount = 0
        private var carriedDigit: UInt8 = 0
        private var validator = UTF8Validator()
        internal private(set) var repair: UTF8Repair?
        private var mended: [UInt8] = []
        /// Takes whole pairs apart under `dialect: qs`.
        internal var pair: QSPair?
        /// The segments of the name that a sink has placed last, as they came, counted from the name's first byte.
        private var steps = OwnedArray<NameStep>()
        private let separatorHasSpaces: Bool
        private let countsEmptyPairs: Bool
        /// The segments that may follow a name's first one.
        private let keyDepth: Int
        internal private(set) var emptyPairs = 0
        /// Reads names and values; nil where all of them are in UTF-8.
        internal let charsets: FormCharsets?
        /// Whether `_charset_` is no field's name: its value says in which charset the rest is.
        private let usesHint: Bool
        /// Whether bytes beyond ASCII are of UTF-8 where a pair begins, too.
        private var readsBeyond = true

        /// A decoder of one body under `options` (`dialect`, `percent`, `invalidUTF8`) and `limits` (`fields`, `key`).
        public init(options: FieldDecodingOptions, limits: Limits) {
            self.options = options
            self.limits = limits
            self.repair = options.repair
            pair = options.dialect == .qs ? QSPair(options: options) : nil
            separatorHasSpaces = options.dialect == .rack
            countsEmptyPairs = options.dialect.hasOwnNames
            keyDepth = limits.keyDepth(for: options.dialect)
            charsets = FormCharsets(options)
            usesHint = options.charsetHint == .use
        }

        /// Makes the decoder as new for another body, with its allocations kept.
        public mutating func reset() {
            state = .pairStart
            fields = 0
            emptyPairs = 0
            consumed = 0
            name.removeAll()
            clearDecoded()
            carryCount = 0
            validator = UTF8Validator()
            repair = options.repair
            charsets?.restart(declared: nil)
        }

        /// Takes the next bytes; see `EventDecoder`. Each pair is a part, in the order of the body.
        public mutating func feed<Sink: FieldSink & ~Copyable>(
            _ input: Span<UInt8>, into sink: inout Sink
        ) throws(ConversionError) -> Int {
            if pair != nil { return try feedPairs(input, into: &sink) }
            var at = 0
            if carryCount > 0 { try resumeEscape(input, &at) }
            while at < input.count || carriedDecoded > 0 {
                if try step(input, &at, into: &sink), sink.isFull { break }
            }
            consumed += at
            return at
        }

        /// Reads on to the next event, or to the end of the slice. Returns whether there was an event.
        internal mutating func step<Sink: FieldSink & ~Copyable>(
            _ input: Span<UInt8>, _ at: inout Int, into sink: inout Sink
        ) throws(ConversionError) -> Bool {
            switch state {
            case .pairStart:
                try startPair(input, &at)
                guard state == .name else { return false }
                return try readName(input, &at, into: &sink)
            case .name: return try readName(input, &at, into: &sink)
            case .value: return try readValue(input, &at, into: &sink)
            }
        }

        /// Says that the body has ended. Sends at most two events whether or not the sink is full.
        public mutating func finish<Sink: FieldSink & ~Copyable>(into sink: inout Sink) throws(ConversionError) {
            if pair != nil { return try finishPair(into: &sink) }
            if carryCount > 0 { try endEscape() }
            if state == .name {
                try takeCarriedIntoName()
                try beginField(hasValue: false, into: &sink)
            }
            if state == .value {
                try sendDecoded(Span(), from: 0, isLast: true, end: 0, into: &sink)
            }
            state = .pairStart
        }

        internal mutating func startPair(_ input: Span<UInt8>, _ at: inout Int) throws(ConversionError) {
            if countsEmptyPairs { try skipEmptyPairs(input, &at) }
            while at < input.count && input[at] == UInt8(ascii: "&") { at += 1 }
            guard at < input.count else { return }
            guard fields < limits.fields else { throw tooManyFields(at) }
            fields += 1
            nameOffset = consumed + at
            state = .name
        }

        /// Skips what a library takes for empty pairs and counts them; with Rack, spaces behind a separator too.
        @inline(never)
        private mutating func skipEmptyPairs(_ input: Span<UInt8>, _ at: inout Int) throws(ConversionError) {
            while at < input.count {
                if input[at] == UInt8(ascii: "&") {
                    emptyPairs += 1
                } else if !separatorHasSpaces || input[at] != ASCII.space || fields + emptyPairs == 0 {
                    break
                }
                at += 1
            }
            guard at == input.count || fields < limits.fields - emptyPairs else { throw tooManyFields(at) }
        }

        @inline(never)
        private func tooManyFields(_ at: Int) -> ConversionError {
            .limit("fields", of: limits.fields, what: "the number of fields", offset: consumed + at)
        }
    }
}

// MARK: Names

extension Form.Decoder {
    /// Reads on in a name. Returns whether it has sent an event, which is the name's end.
    private mutating func readName<Sink: FieldSink & ~Copyable>(
        _ input: Span<UInt8>, _ at: inout Int, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        if carriedDecoded > 0 { try takeCarriedIntoName() }
        while at < input.count {
            if name.isEmpty, charsets == nil {
                let scan = Scan.run(
                    to: UInt8(ascii: "="), UInt8(ascii: "&"), UInt8(ascii: "%"), UInt8(ascii: "+"), in: input, from: at)
                let stop = scan.end
                let run = input.extracting(at..<stop)
                if stop < input.count {
                    // The usual case: the whole name lies here and needs no decoding.
                    let hasValue = input[stop] == UInt8(ascii: "=")
                    if hasValue || input[stop] == UInt8(ascii: "&"), run.count <= limits.key,
                        scan.isASCII || UTF8Validator.isValid(run)
                    {
                        // A separator is left for readValue, which ends the empty value with it.
                        at = hasValue ? stop + 1 : stop
                        try beginField(run, hasValue: hasValue, into: &sink)
                        return true
                    }
                }
            }
            // No more than what can pass the limit is decoded.
            let (most, passes) = (nameBound - name.count).multipliedReportingOverflow(by: 3)
            let bound = passes || most >= input.count - at - 3 ? input.count : at + most + 3
            at = name.append(formDecoding: input, from: at, to: bound, endingAt: UInt8(ascii: "=")).end
            guard name.count <= nameBound else { throw nameTooLong }
            if at == bound { continue }
            switch input[at] {
            case UInt8(ascii: "="):
                at += 1
                try beginField(hasValue: true, into: &sink)
                return true
            case UInt8(ascii: "&"):
                try beginField(hasValue: false, into: &sink)
                return true
            default:
                if let byte = try readEscape(input, from: at, &at) { try appendToName(byte) }
            }
        }
        return false
    }

    private mutating func takeCarriedIntoName() throws(ConversionError) {
        guard carriedDecoded > 0 else { return }
        for index in 0..<carriedDecoded { try appendToName(decoded[index]) }
        clearDecoded()
    }

    private mutating func appendToName(_ byte: UInt8) throws(ConversionError) {
        guard name.count < nameBound else { throw nameTooLong }
        name.append(byte)
    }

    /// The bytes of a name, as they came, that are assembled. Other charsets may take more of them than UTF-8 does, most of
    /// all in the escapes of ISO-2022-JP.
    private var nameBound: Int {
        guard charsets != nil else { return limits.key }
        let (bound, passes) = limits.key.multipliedReportingOverflow(by: 4)
        return passes ? Int.max : bound
    }

    private var nameTooLong: ConversionError {
        .limit("key", of: limits.key, what: "the length of a field's name", offset: nameOffset)
    }

    /// Begins a field under a name that is checked already.
    private mutating func beginField<Sink: FieldSink & ~Copyable>(
        _ name: Span<UInt8>, hasValue: Bool, into sink: inout Sink
    ) throws(ConversionError) {
        head.setName(name)
        head.hasValue = hasValue
        state = .value
        try sink.beginPart(head)
    }

    /// Begins a field under the name that was assembled.
    private mutating func beginField<Sink: FieldSink & ~Copyable>(
        hasValue: Bool, into sink: inout Sink
    ) throws(ConversionError) {
        if let charsets {
            let text = try charsets.name(name, offset: nameOffset)
            head.setName(text.span)
        } else if UTF8Validator.isValid(name.span) {
            head.setName(copying: name)
        } else if var repair {
            var text: [UInt8] = []
            repair.append(name.span, to: &text)
            repair.finish(to: &text)
            head.setName(text.span)
        } else {
            throw Form.Fault.invalidUTF8.error(offset: nameOffset, field: name.span.lossyString())
        }
        // The limit is of what goes on: a byte that was mended or read in another charset may have become three.
        guard head.name.count <= limits.key else { throw nameTooLong }
        head.hasValue = hasValue
        name.removeAll()
        state = .value
        if let charsets, !charsets.beginValue(of: head.name) { return }
        try sink.beginPart(head)
    }
}

// MARK: Values

extension Form.Decoder {
    /// Reads on in a value until it has something to hand on. Returns whether it has sent an event.
    private mutating func readValue<Sink: FieldSink & ~Copyable>(
        _ input: Span<UInt8>, _ at: inout Int, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        let start = at
        while true {
            if decoded.isEmpty {
                let scan = Scan.run(
                    to: UInt8(ascii: "&"), UInt8(ascii: "%"), UInt8(ascii: "+"), UInt8(ascii: "+"), in: input, from: at)
                let stop = scan.end
                let isLast = stop < input.count && input[stop] == UInt8(ascii: "&")
                if isLast || stop == input.count || stop - at >= Self.directRun {
                    let run = at..<stop
                    at = isLast ? stop + 1 : stop
                    return try sendDirect(
                        input.extracting(run), isASCII: scan.isASCII, offset: consumed + run.lowerBound, isLast: isLast,
                        into: &sink)
                }
            }
            let bound = min(input.count, at + Self.gathered)
            let run = decoded.append(formDecoding: input, from: at, to: bound)
            at = run.end
            if !run.isASCII { decodedIsASCII = false }
            if at == input.count || decoded.count >= Self.gathered {
                return try sendDecoded(input, from: start, isLast: false, end: at, into: &sink)
            }
            if at == bound { continue }
            if input[at] == UInt8(ascii: "&") {
                let stop = at
                at += 1
                return try sendDecoded(input, from: start, isLast: true, end: stop, into: &sink)
            }
            if let byte = try readEscape(input, from: start, &at) { appendDecoded(byte) }
            if at == input.count && !decoded.isEmpty {
                return try sendDecoded(input, from: start, isLast: false, end: at, into: &sink)
            }
            if at == input.count { return false }
        }
    }

    /// Hands a run of the input on that needs no decoding. `offset` is the offset of its first byte in the body.
    private mutating func sendDirect<Sink: FieldSink & ~Copyable>(
        _ run: Span<UInt8>, isASCII: Bool, offset: Int, isLast: Bool, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        if repair != nil || charsets != nil { return try sendMended(run, isLast: isLast, into: &sink) }
        if isASCII, validator.isComplete {
            // Whole characters before, whole characters here.
        } else if let fault = validator.firstFault(in: run, isLast: isLast) {
            throw invalidValue(at: offset + fault)
        }
        guard isLast || !run.isEmpty else { return false }
        if isLast { state = .pairStart }
        try sink.content(run, isLast: isLast)
        return true
    }

    /// Hands on what is gathered in `decoded`, which was made from `input` from `start` on; `end` is where the input
    /// stands.
    @discardableResult
    private mutating func sendDecoded<Sink: FieldSink & ~Copyable>(
        _ input: Span<UInt8>, from start: Int, isLast: Bool, end: Int, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        if repair != nil || charsets != nil {
            // The gathered bytes move out for the call: a method of self can't be given a span into self.
            // They come back from a fault, too: what is fed behind it finds a decoder whose counts are right.
            var bytes = ByteStore()
            swap(&bytes, &decoded)
            defer {
                swap(&bytes, &decoded)
                clearDecoded()
            }
            return try sendMended(bytes.span, isLast: isLast, into: &sink)
        }
        if decodedIsASCII, validator.isComplete {
            // Whole characters before, whole characters here.
        } else if let fault = validator.firstFault(in: decoded, isLast: isLast) {
            throw invalidValue(
                at: fault == decoded.count ? consumed + end : offset(ofDecoded: fault, in: input, from: start))
        }
        if isLast { state = .pairStart }
        defer { clearDecoded() }
        try sink.content(decoded.span, isLast: isLast)
        return true
    }

    private mutating func appendDecoded(_ byte: UInt8) {
        if byte >= 0x80 { decodedIsASCII = false }
        decoded.append(byte)
    }

    private mutating func clearDecoded() {
        decoded.removeAll()
        decodedIsASCII = true
        carriedDecoded = 0
    }

    private mutating func sendMended<Sink: FieldSink & ~Copyable>(
        _ run: Span<UInt8>, isLast: Bool, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        mended.removeAll(keepingCapacity: true)
        if let charsets {
            var text: [UInt8] = []
            swap(&text, &mended)
            let isValue = try charsets.value(run, isLast: isLast, to: &text, offset: nameOffset, field: head.name)
            swap(&text, &mended)
            if !isValue {
                if isLast { state = .pairStart }
                return false
            }
        } else {
            repair?.append(run, to: &mended)
            if isLast { repair?.finish(to: &mended) }
        }
        guard isLast || !mended.isEmpty else { return false }
        if isLast { state = .pairStart }
        try sink.content(mended.span, isLast: isLast)
        return true
    }

    private func invalidValue(at offset: Int) -> ConversionError {
        Form.Fault.invalidUTF8.error(offset: offset, field: head.name.lossyString())
    }

    /// The offset in the body of what became the byte `index` of `decoded`. Walks; for errors only.
    private func offset(ofDecoded index: Int, in input: Span<UInt8>, from start: Int) -> Int {
        if index < carriedDecoded { return carriedOffset + index }
        var at = start
        for _ in carriedDecoded..<index {
            at += input.percentEscape(at: at) == nil ? 1 : 3
        }
        return consumed + at
    }
}

// MARK: Escapes

extension Form.Decoder {
    /// What stands at a percent sign.
    private enum Escape {
        case byte(UInt8)
        /// No escape: the sign stands for itself.
        case literal
        /// The slice ends before that is known.
        case cut

        init(_ input: Span<UInt8>, at index: Int) {
            if let byte = input.percentEscape(at: index) {
                self = .byte(byte)
            } else {
                let hasDigit = index + 1 < input.count && ASCII.hexValue(input[index + 1]) != nil
                self = index + (hasDigit ? 2 : 1) < input.count ? .literal : .cut
            }
        }
    }

    /// Takes the escape at `at`, or the percent sign alone where it begins none, and returns the byte; nil when the slice
    /// ends inside, after which `at` is its end. What is in `decoded` was made of the input from `start` on.
    private mutating func readEscape(
        _ input: Span<UInt8>, from start: Int, _ at: inout Int
    ) throws(ConversionError) -> UInt8? {
        switch Escape(input, at: at) {
        case .byte(let byte):
            at += 3
            return byte
        case .literal:
            if options.percent == .strict { throw percentFault(input, from: start, at: at) }
            at += 1
            return UInt8(ascii: "%")
        case .cut:
            carryCount = input.count - at
            carriedDigit = carryCount == 2 ? input[at + 1] : 0
            at = input.count
            return nil
        }
    }

    /// The fault of the percent sign at `at`, or the one in front of it of what is decoded and not handed on yet: had the slice ended
    /// there, that one would have been told.
    @inline(never)
    private mutating func percentFault(_ input: Span<UInt8>, from start: Int, at: Int) -> ConversionError {
        do throws(ConversionError) {
            if let charsets, state == .value {
                var bytes = ByteStore()
                swap(&bytes, &decoded)
                defer { swap(&bytes, &decoded) }
                var text: [UInt8] = []
                _ = try charsets.value(bytes.span, isLast: false, to: &text, offset: nameOffset, field: head.name)
            } else if repair == nil, let fault = validator.firstFault(in: decoded, isLast: false) {
                return invalidValue(at: offset(ofDecoded: fault, in: input, from: start))
            }
        } catch {
            return error
        }
        return Form.Fault.percent.error(offset: consumed + at, field: fieldName)
    }

    /// Goes on with an escape that the last slice cut. What it gives stands in `decoded`, `carriedDecoded` bytes of it.
    internal mutating func resumeEscape(_ input: Span<UInt8>, _ at: inout Int) throws(ConversionError) {
        guard !input.isEmpty else { return }
        var high = carriedDigit
        if carryCount == 1 {
            guard ASCII.hexValue(input[0]) != nil else { return try endEscape() }
            guard input.count > 1 else {
                carriedDigit = input[0]
                carryCount = 2
                at = 1
                return
            }
            high = input[0]
        }
        let index = 2 - carryCount
        guard let low = ASCII.hexValue(input[index]), let high = ASCII.hexValue(high) else { return try endEscape() }
        carriedOffset = consumed - carryCount
        carriedDecoded = 1
        carryCount = 0
        appendDecoded(high << 4 | low)
        at = index + 1
    }

    /// Takes what was kept of a cut escape as itself: it turned out to be none.
    private mutating func endEscape() throws(ConversionError) {
        carriedOffset = consumed - carryCount
        if options.percent == .strict { throw Form.Fault.percent.error(offset: carriedOffset, field: fieldName) }
        decoded.append(UInt8(ascii: "%"))
        if carryCount == 2 { decoded.append(carriedDigit) }
        carriedDecoded = carryCount
        carryCount = 0
    }

    /// The name of the field that is being read, where it is known.
    private var fieldName: String? { state == .value ? head.name.lossyString() : nil }
}

extension FieldDecodingOptions {
    /// How bytes that are not UTF-8 are mended; nil when they are refused.
    internal var repair: UTF8Repair? { transcoderMode.map { UTF8Repair($0) } }
}

extension UTF8Validator {
    /// Takes the next piece of a text. Returns the index of the first byte that can't be part of UTF-8, or the count when
    /// the text ends inside a character; nil when all is fine. After the last piece the next text may follow.
    internal mutating func firstFault(in piece: Span<UInt8>, isLast: Bool) -> Int? {
        if let fault = check(piece) { return fault }
        guard isLast else { return nil }
        let isWhole = isComplete
        self = UTF8Validator()
        return isWhole ? nil : piece.count
    }

    /// As above, for bytes in a store: a span of a stored property would hold all of a non-copyable owner.
    internal mutating func firstFault(in piece: ByteStore, isLast: Bool) -> Int? {
        firstFault(in: piece.span, isLast: isLast)
    }
}

extension PartHead {
    /// `setName` for bytes in a store: a span of a stored property would hold all of a non-copyable owner.
    internal mutating func setName(copying name: ByteStore) { setName(name.span) }
}

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
    /// Whether `place` may be called.
    var takesPaths: Bool { get }
    /// A field whose name is a path: two `steps` at least, keys but for the last one, which may be empty. Where `level` isn't 0, the
    /// last call placed a field, whose name had the same steps before that one. Returns false for what `field` has to take.
    mutating func place(_ value: Span<UInt8>, at name: Span<UInt8>, _ steps: Span<NameStep>, from level: Int) -> Bool
    /// Takes as many pairs as it can, each with the `&` behind it, of those that begin at `at`, and `most` of them. Where `prefix` isn't
    /// empty, the name that `place` has placed last begins with it, up to its last step. Where `beyond` is false, it takes those alone
    /// that are of ASCII once they are decoded. Returns their number, and leaves at `at` what has to come by another way.
    mutating func takePairs(
        _ input: Span<UInt8>, _ at: inout Int, most: Int, behind prefix: Range<Int>, beyond: Bool
    ) -> Int
}

/// When a sink is asked to take many pairs: again behind one that it has left, and more and more seldom while it takes none.
internal struct RunPace {
    /// The pairs that are read one by one at most before it is asked again.
    private static let longest = 31
    private var left = 0
    private var missed = 0

    /// Whether it is asked before the pair at hand.
    var isDue: Bool {
        mutating get {
            if left == 0 { return true }
            left -= 1
            return false
        }
    }

    /// Takes note of how many it took.
    mutating func took(_ count: Int) {
        missed = count > 0 ? 0 : min(2 * missed + 1, Self.longest)
        left = missed
    }
}

/// Where a segment stands in a name.
package struct NameStep: BitwiseCopyable, Sendable {
    package var start: Int
    package var end: Int

    package var isEmpty: Bool { start == end }
    package var range: Range<Int> { start..<end }
}

// Pairs that lie whole in a slice, as most of a request's do: read at one go, and given to a tree without events.
extension Form.Decoder {
    /// The bytes of a value, as they came, that are read at one go. A longer one is better handed on where it lies.
    internal static var wholeValue: Int { 1024 }
    /// The bytes that most values have at most.
    private static var shortValue: Int { 128 }

    internal mutating func feed<Sink: WholeFieldSink & ~Copyable>(
        _ input: Span<UInt8>, wholeInto sink: inout Sink
    ) throws(ConversionError) -> Int {
        guard sink.takesFields, charsets == nil || pair == nil else { return try feed(input, into: &sink) }
        if pair != nil { return try feedPairs(input, wholeInto: &sink) }
        var at = 0
        if sink.isAwaiting, !input.isEmpty { try sendPending(into: &sink) }
        if carryCount > 0 { try resumeEscape(input, &at) }
        let takesPaths = sink.takesPaths
        // The name in the slice whose segments are known, and where the one ended that the sink has heard of.
        var placed = 0..<0, told = 0
        var pace = RunPace()
        var takesWhole = learnReach()
        while at < input.count || carriedDecoded > 0 {
            if takesWhole, state == .pairStart {
                if carriedDecoded == 0, pace.isDue {
                    let isNew = !placed.isEmpty && placed.upperBound != told
                    let prefix = isNew ? placed.lowerBound..<(placed.lowerBound + steps[steps.count - 1].start) : 0..<0
                    told = placed.upperBound
                    let count = sink.takePairs(
                        input, &at, most: limits.fields - fields - emptyPairs, behind: prefix, beyond: readsBeyond)
                    fields += count
                    pace.took(count)
                }
                try startPair(input, &at)
                guard state == .name else { break }
                var isRead = false
                if !placed.isEmpty { isRead = try readPath(input, &at, &placed, into: &sink) }
                if !isRead { isRead = try readPair(input, &at, &placed, takesPaths, into: &sink) }
                if isRead {
                    if sink.isFull { break }
                    continue
                }
            }
            if try step(input, &at, into: &sink), sink.isFull { break }
            // That may have been a field `_charset_`.
            if charsets != nil { takesWhole = learnReach() }
        }
        consumed += at
        return at
    }

    /// Asks which pairs are in UTF-8 as they stand. Returns false where none is.
    private mutating func learnReach() -> Bool {
        guard let charsets else { return true }
        let reach = charsets.reach
        readsBeyond = reach == .all
        return reach != .none
    }

    /// Reads the pair that begins at `at` where all of it lies here, its name is of ASCII, and its value is short and valid.
    /// Returns false, with nothing read, for any other pair, whose way is by `readName` and `readValue`: there, too, is found
    /// out what is wrong with one.
    @inline(__always)
    private mutating func readPair<Sink: WholeFieldSink & ~Copyable>(
        _ input: Span<UInt8>, _ at: inout Int, _ placed: inout Range<Int>, _ takesPaths: Bool,
        into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        var scan = Scan.formName(in: input, from: at)
        guard scan.isASCII, scan.end < input.count else { return false }
        let isPlain = input[scan.end] != UInt8(ascii: "[") && input[scan.end] != UInt8(ascii: "]")
        if takesPaths, Self.bracket(UInt8(ascii: "["), in: input, at: scan.end) > 0,
            try readPath(input, &at, &placed, into: &sink)
        {
            return true
        }
        if !isPlain {
            scan = Scan.run(
                to: UInt8(ascii: "="), UInt8(ascii: "&"), UInt8(ascii: "%"), UInt8(ascii: "+"), in: input,
                from: scan.end)
        }
        guard scan.isASCII, scan.end < input.count, scan.end - at <= limits.key else { return false }
        if input[scan.end] == UInt8(ascii: "%") { return try readEscapedPair(input, &at, into: &sink) }
        guard input[scan.end] == UInt8(ascii: "=") else { return false }
        let name = input.extracting(at..<scan.end)
        if usesHint, name.isEqual(to: CharsetField.name) { return false }
        return try readPair(name, isPlain: isPlain, input, &at, valueFrom: scan.end + 1, into: &sink)
    }

    /// Reads the pair that begins at `at` where its name is a path of plain keys, of which the first ones are most often those of
    /// the name placed last, and its value as above. Returns false, with nothing read, for any other.
    private mutating func readPath<Sink: WholeFieldSink & ~Copyable>(
        _ input: Span<UInt8>, _ at: inout Int, _ placed: inout Range<Int>, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        let start = at
        // What both names begin with leads to one container, as far as a bracket has opened the segment behind it.
        let name = input.extracting(start...)
        let common = name.commonPrefix(with: input.extracting(placed))
        var level = placed.isEmpty ? 0 : steps.count - 1
        while level > 0, steps[level].start > common { level -= 1 }
        var from = placed.isEmpty ? 0 : steps[level].start
        placed = 0..<0
        let kept = level
        steps.truncate(to: level)
        while true {
            let run = Scan.formName(in: name, from: from)
            guard run.isASCII, run.end < name.count, level > 0 || run.end > 0 else { return false }
            steps.append(NameStep(start: from, end: run.end))
            var end = run.end
            if level > 0 {
                let close = Self.bracket(UInt8(ascii: "]"), in: name, at: end)
                guard close > 0, end + close < name.count else { return false }
                end += close
                if name[end] == UInt8(ascii: "=") {
                    from = end
                    break
                }
            }
            let open = Self.bracket(UInt8(ascii: "["), in: name, at: end)
            guard open > 0, level == 0 || run.end > from else { return false }
            from = end + open
            level += 1
        }
        guard from <= limits.key, level <= keyDepth else { return false }
        let first = start + from + 1
        let value = Scan.formValue(in: input, from: first)
        var end = value.end
        if value.isASCII, end < input.count, input[end] == UInt8(ascii: "&") {
            guard sink.place(input.extracting(first..<end), at: name, steps.span, from: kept) else { return false }
        } else {
            let run = decodeWhole(input, from: first)
            end = run.end
            let isPlaced =
                end < input.count && input[end] == UInt8(ascii: "&")
                && (run.isASCII || readsBeyond && decoded.isValidUTF8)
                && sink.place(decoded.span, at: name, steps.span, from: kept)
            decoded.removeAll()
            guard isPlaced else { return false }
        }
        placed = start..<start + from
        at = end + 1
        state = .pairStart
        return true
    }

    /// The bytes of the bracket at `at`, as it is or as an escape; 0 where there is none.
    @inline(__always)
    private static func bracket(_ bracket: UInt8, in bytes: Span<UInt8>, at place: Int) -> Int {
        if bytes[place] == bracket { return 1 }
        guard bytes[place] == UInt8(ascii: "%"), place + 2 < bytes.count, bytes[place + 1] == UInt8(ascii: "5") else {
            return 0
        }
        // 'B' and 'D', in either case.
        return bytes[place + 2] & 0xDF == bracket &- 0x19 ? 3 : 0
    }

    /// As above, where the name has escapes, as those of its brackets.
    @inline(never)
    private mutating func readEscapedPair<Sink: WholeFieldSink & ~Copyable>(
        _ input: Span<UInt8>, _ at: inout Int, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        // The name moves out: a method of self can't be given a span into self.
        var name = ByteStore()
        swap(&name, &self.name)
        let bound = min(input.count, at + Self.wholeValue)
        let run = name.append(formDecoding: input, from: at, to: bound, endingAt: UInt8(ascii: "="))
        var isRead = false
        if run.isASCII, run.end < bound, input[run.end] == UInt8(ascii: "="), name.count <= limits.key {
            let whole = name.span
            let open = UInt8(ascii: "["), close = UInt8(ascii: "]")
            let isPlain = Scan.firstIndex(ofAny: open, close, open, close, in: whole, from: 0) == whole.count
            // A plain name may be the last one, which is kept in the place of this one.
            if !isPlain {
                isRead = try readPair(
                    whole, isPlain: false, input, &at, valueFrom: run.end + 1, into: &sink)
            }
        }
        name.removeAll()
        swap(&name, &self.name)
        return isRead
    }

    /// Reads the value of a pair whose name is known.
    @inline(__always)
    private mutating func readPair<Sink: WholeFieldSink & ~Copyable>(
        _ name: Span<UInt8>, isPlain: Bool, _ input: Span<UInt8>, _ at: inout Int, valueFrom start: Int,
        into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        let value = Scan.formValue(in: input, from: start)
        if value.isASCII, value.end < input.count, input[value.end] == UInt8(ascii: "&") {
            at = value.end + 1
            state = .pairStart
            try sink.field(name, input.extracting(start..<value.end), isPlain: isPlain)
            return true
        }
        return try readDecodedPair(name, isPlain: isPlain, input, &at, valueFrom: start, into: &sink)
    }

    /// As above, where the value has to be decoded or may be the last one.
    private mutating func readDecodedPair<Sink: WholeFieldSink & ~Copyable>(
        _ name: Span<UInt8>, isPlain: Bool, _ input: Span<UInt8>, _ at: inout Int, valueFrom start: Int,
        into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        let run = decodeWhole(input, from: start)
        if run.end < input.count, input[run.end] == UInt8(ascii: "&"),
            run.isASCII || readsBeyond && decoded.isValidUTF8
        {
            at = run.end + 1
            state = .pairStart
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

    /// Decodes a value into `decoded`, up to its end or as far as it can be, where that is within what is read at one go. Of a longer
    /// one only the first bytes are decoded: it is read again.
    private mutating func decodeWhole(_ input: Span<UInt8>, from start: Int) -> TextRun {
        let bound = min(input.count, start + Self.wholeValue)
        let near = min(bound, start + Self.shortValue)
        decoded.removeAll()
        let run = decoded.append(formDecoding: input, from: start, to: near)
        guard near < bound, run.end >= near - 2, input[run.end] != UInt8(ascii: "&"),
            bound == input.count
                || Scan.firstIndex(of: UInt8(ascii: "&"), in: input.extracting(run.end..<bound), from: 0) != nil
        else { return run }
        let rest = decoded.append(formDecoding: input, from: run.end, to: bound)
        return TextRun(end: rest.end, isASCII: run.isASCII && rest.isASCII)
    }

    /// Gives the pair that was kept to the sink as far as it is there: its value goes on.
    private mutating func sendPending<Sink: WholeFieldSink & ~Copyable>(
        into sink: inout Sink
    ) throws(ConversionError) {
        sink.isAwaiting = false
        head.setName(copying: name)
        head.hasValue = true
        name.removeAll()
        state = .value
        try sink.beginPart(head)
        if !decoded.isEmpty { try sink.content(decoded.span, isLast: false) }
        decoded.removeAll()
    }

    internal mutating func finish<Sink: WholeFieldSink & ~Copyable>(
        wholeInto sink: inout Sink
    ) throws(ConversionError) {
        guard sink.isAwaiting else {
            if pair != nil, state == .name, sink.takesFields, try takeGathered(into: &sink) { return }
            return try finish(into: &sink)
        }
        sink.isAwaiting = false
        state = .pairStart
        try sink.field(name.span, decoded.span, isPlain: true)
    }
}
