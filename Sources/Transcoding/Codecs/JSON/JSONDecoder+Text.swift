internal import Octets

extension JSON.Decoder {
    /// Where a string or a name stands that is not done.
    struct TextState {
        enum Escape: UInt8 {
            /// Not in an escape.
            case none
            /// After the backslash.
            case introduced
            /// Among the four digits.
            case digits
            /// After a high surrogate, before the other half's backslash.
            case otherBackslash
            /// Before the other half's `u`.
            case otherLetter
        }

        var validator = UTF8Validator()
        var escape = Escape.none
        var digitCount = 0
        var unit: UInt32 = 0
        /// The high surrogate that waits for its other half, or 0.
        var high: UInt32 = 0
        /// Where the character's first backslash stands in the body.
        var escapeOffset = 0
        /// The character that an escape gave.
        var character = UTF8Character(0)
    }

    /// Unescaped bytes gather up to this many before they go out as a piece.
    static var batch: Int { 1024 }
    /// A run of at least this many bytes goes out as a piece of the slice, even next to escapes.
    static var longRun: Int { 128 }

    /// A string with escapes is unescaped at once where it ends within so many bytes.
    static var shortText: Int { 4096 }

    /// Reads the string that begins at `at`. Returns whether to return from `feed`.
    @inline(__always)
    mutating func beginText<Sink: EventSink & ~Copyable>(
        _ input: Span<UInt8>, at: inout Int, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        let start = at + 1
        let run = Scan.textRun(in: input, from: start)
        if run.end < input.count, input[run.end] == UInt8(ascii: "\"") {
            let piece = input.extracting(start..<run.end)
            if run.isASCII || UTF8Validator.isValid(piece) {
                at = run.end + 1
                let isMuted = mutedDepth >= 0
                endValue(input, at: &at)
                if isMuted { return false }
                try sink.string(piece, isLast: true)
                return sink.isFull
            }
        } else if try readShortText(input, at: &at, into: &sink) {
            return sink.isFull
        }
        at = start
        state = .text
        text = TextState()
        scratch.removeAll(keepingCapacity: true)
        return try readText(input, at: &at, run: run, into: &sink)
    }

    /// Reads the string that begins at `at` where it is short and whole in the slice, with escapes in it, and valid; where
    /// it isn't, nothing is done. Returns whether it was.
    @inline(never)
    private mutating func readShortText<Sink: EventSink & ~Copyable>(
        _ input: Span<UInt8>, at: inout Int, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        let end = unescapeDirectly(input, from: at + 1)
        guard end > 0 else { return false }
        at = end
        let isMuted = mutedDepth >= 0
        endValue(input, at: &at)
        if !isMuted { try sink.string(unescaped.span, isLast: true) }
        return true
    }

    /// Reads the name that begins at `at`. Returns whether to return from `feed`.
    @inline(__always)
    mutating func beginName<Sink: EventSink & ~Copyable>(
        _ input: Span<UInt8>, at: inout Int, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        let start = at + 1
        nameOffset = offset + at
        let run = Scan.textRun(in: input, from: start)
        if run.end < input.count, input[run.end] == UInt8(ascii: "\""), run.end - start <= limits.key {
            let name = input.extracting(start..<run.end)
            if run.isASCII || UTF8Validator.isValid(name) {
                at = run.end + 1
                namePlace = .slice
                nameStart = start
                nameEnd = run.end
                return try endName(name, in: input, at: &at, into: &sink)
            }
        }
        at = start
        state = .nameText
        text = TextState()
        nameBytes.removeAll(keepingCapacity: true)
        return try readName(input, at: &at, run: run, into: &sink)
    }

    /// Goes on in a string. `run` is the run from `at`, if it is known. Returns whether to return from `feed`.
    @inline(never)
    mutating func readText<Sink: EventSink & ~Copyable>(
        _ input: Span<UInt8>, at: inout Int, run known: TextRun?, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        let isMuted = mutedDepth >= 0
        var known = known
        while true {
            if text.escape != .none {
                do throws(ConversionError) {
                    guard try readEscape(input, at: &at) else { break }
                } catch {
                    try sendBeforeFault(Span(), into: &sink)
                    throw error
                }
                scratch.append(text.character)
                if scratch.count >= Self.batch {
                    if !isMuted { try sink.string(scratch.span, isLast: false) }
                    scratch.removeAll(keepingCapacity: true)
                    if !isMuted && sink.isFull { return true }
                }
            }
            guard at < input.count else { break }
            let run = known ?? Scan.textRun(in: input, from: at)
            known = nil
            let isLong = run.end - at >= Self.longRun
            if isLong && !scratch.isEmpty {
                if !isMuted { try sink.string(scratch.span, isLast: false) }
                scratch.removeAll(keepingCapacity: true)
                if !isMuted && sink.isFull { return true }
            }
            let isAtEnd = run.end == input.count
            let isLast = !isAtEnd && input[run.end] == UInt8(ascii: "\"")
            do throws(ConversionError) {
                try checkUTF8(run, from: at, in: input)
                try checkCharacterEnd(at: run.end, in: input)
                if !isLast && !isAtEnd { try beginEscape(at: run.end, in: input) }
            } catch {
                let end = min(run.end, max(at, (error.offset ?? 0) - offset))
                try sendBeforeFault(input.extracting(at..<end), into: &sink)
                throw error
            }
            let piece = input.extracting(at..<run.end)
            at = isAtEnd ? run.end : run.end + 1
            if isLast { endValue() }
            if isLong || scratch.isEmpty && (isLast || isAtEnd) {
                // Neither joined nor copied.
                guard !isMuted, isLast || !piece.isEmpty else {
                    if isLast { return false }
                    continue
                }
                try sink.string(piece, isLast: isLast)
                if isLast || sink.isFull { return sink.isFull }
            } else {
                scratch.append(contentsOf: piece)
                if isLast {
                    if isMuted { return false }
                    try sink.string(scratch.span, isLast: true)
                    return sink.isFull
                }
            }
        }
        // The slice has ended; what was unescaped goes out with it.
        if !scratch.isEmpty {
            if !isMuted { try sink.string(scratch.span, isLast: false) }
            scratch.removeAll(keepingCapacity: true)
        }
        return true
    }

    /// Sends the text in front of a fault: where the sink refuses it, that is told, which stands before the fault, however they are cut.
    private mutating func sendBeforeFault<Sink: EventSink & ~Copyable>(
        _ piece: Span<UInt8>, into sink: inout Sink
    ) throws(ConversionError) {
        guard mutedDepth < 0 else { return }
        if !scratch.isEmpty { try sink.string(scratch.span, isLast: false) }
        if !piece.isEmpty { try sink.string(piece, isLast: false) }
    }

    /// Goes on in a name that is not contiguous. Returns whether to return from `feed`.
    @inline(never)
    mutating func readName<Sink: EventSink & ~Copyable>(
        _ input: Span<UInt8>, at: inout Int, run known: TextRun?, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        var known = known
        while true {
            if text.escape != .none {
                guard try readEscape(input, at: &at) else { return true }
                guard nameBytes.count + text.character.count <= limits.key else {
                    throw nameTooLong(at: text.escapeOffset - offset, in: input)
                }
                nameBytes.append(text.character)
            }
            guard at < input.count else { return true }
            var run = known ?? Scan.textRun(in: input, from: at)
            known = nil
            let room = limits.key - nameBytes.count
            let isTooLong = run.end - at > room
            if isTooLong { run.end = at + room }
            try checkUTF8(run, from: at, in: input)
            if isTooLong { throw nameTooLong(at: run.end, in: input) }
            try checkCharacterEnd(at: run.end, in: input)
            nameBytes.append(contentsOf: input.extracting(at..<run.end))
            at = run.end
            guard at < input.count else { return true }
            if input[at] == UInt8(ascii: "\"") { break }
            try beginEscape(at: at, in: input)
            at += 1
        }
        at += 1
        namePlace = .buffer
        // Taken out so that the span doesn't borrow the decoder while it changes.
        var name: [UInt8] = []
        swap(&name, &nameBytes)
        defer { swap(&name, &nameBytes) }
        return try endName(name.span, in: input, at: &at, into: &sink)
    }

    /// Sends a whole name, after a look at those that came before it. Returns whether to return from `feed`.
    @inline(__always)
    private mutating func endName<Sink: EventSink & ~Copyable>(
        _ name: Span<UInt8>, in input: Span<UInt8>, at: inout Int, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        state = .colon
        // The colon stands right behind in all but odd texts: the state needn't be asked for it.
        if at < input.count, input[at] == UInt8(ascii: ":") {
            at &+= 1
            state = .value
        }
        if checksNames { try checkDuplicate(name) }
        guard mutedDepth < 0 else { return false }
        try sink.key(name)
        return sink.isFull
    }

    @inline(never)
    private mutating func checkDuplicate(_ name: Span<UInt8>) throws(ConversionError) {
        switch memberNames.insert(name, depth: levels.count) {
        case .known:
            if options.duplicates == .reject {
                throw JSON.Fault.duplicateKey.error(offset: nameOffset, pointer: pointer(endingIn: name))
            }
            if mutedDepth < 0 { mutedDepth = levels.count }
        case .full:
            throw ConversionError.limit(
                "tree", of: limits.tree, what: "what is held to find members of the same name", offset: nameOffset
            ).at(pointer: pointer(endingIn: name))
        case .new:
            break
        }
    }

    /// Checks that the run up to `run.end` goes on with UTF-8.
    @inline(__always)
    private mutating func checkUTF8(
        _ run: TextRun, from start: Int, in input: Span<UInt8>
    ) throws(ConversionError) {
        if run.isASCII && text.validator.isComplete { return }
        if let index = text.validator.check(input.extracting(start..<run.end)) {
            throw failure(.invalidUTF8, at: start + index, in: input)
        }
    }

    /// Checks that the run that ended at `at` ended a character, unless the slice ended there.
    @inline(__always)
    private func checkCharacterEnd(at: Int, in input: Span<UInt8>) throws(ConversionError) {
        if at < input.count && !text.validator.isComplete { throw failure(.invalidUTF8, at: at, in: input) }
    }

    /// Begins an escape where a run stopped at something that is not the closing quotation mark.
    private mutating func beginEscape(at: Int, in input: Span<UInt8>) throws(ConversionError) {
        guard input[at] == UInt8(ascii: "\\") else { throw unexpectedByte(at: at, in: input) }
        text.escape = .introduced
        text.high = 0
        text.escapeOffset = offset + at
    }

    /// Goes on in an escape until its character is in `text.character`. Returns false where the slice ends before.
    private mutating func readEscape(_ input: Span<UInt8>, at: inout Int) throws(ConversionError) -> Bool {
        while at < input.count {
            let byte = input[at]
            switch text.escape {
            case .introduced:
                let character: UInt8
                switch byte {
                case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): character = byte
                case UInt8(ascii: "n"): character = 0x0A
                case UInt8(ascii: "r"): character = 0x0D
                case UInt8(ascii: "t"): character = 0x09
                case UInt8(ascii: "b"): character = 0x08
                case UInt8(ascii: "f"): character = 0x0C
                case UInt8(ascii: "u"):
                    at += 1
                    text.escape = .digits
                    text.digitCount = 0
                    text.unit = 0
                    continue
                default:
                    throw failure(.invalidEscape, at: at, in: input)
                }
                at += 1
                text.escape = .none
                text.character = UTF8Character(UInt32(character))
                return true
            case .digits:
                guard let digit = ASCII.hexValue(byte) else { throw failure(.invalidEscape, at: at, in: input) }
                at += 1
                text.unit = text.unit << 4 | UInt32(digit)
                text.digitCount += 1
                if text.digitCount == 4, try endUnit(in: input) { return true }
            case .otherBackslash:
                guard byte == UInt8(ascii: "\\") else { throw loneSurrogate(in: input) }
                at += 1
                text.escape = .otherLetter
            case .otherLetter:
                guard byte == UInt8(ascii: "u") else { throw loneSurrogate(in: input) }
                at += 1
                text.escape = .digits
                text.digitCount = 0
                text.unit = 0
            case .none:
                return true
            }
        }
        return false
    }

    /// Takes a UTF-16 unit whose four digits have come. Returns whether the character is complete.
    private mutating func endUnit(in input: Span<UInt8>) throws(ConversionError) -> Bool {
        var scalar = text.unit
        if text.high != 0 {
            guard scalar & 0xFC00 == 0xDC00 else { throw loneSurrogate(in: input) }
            scalar = 0x10000 + (text.high & 0x3FF) << 10 + scalar & 0x3FF
        } else if scalar & 0xFC00 == 0xD800 {
            text.high = scalar
            text.escape = .otherBackslash
            return false
        } else if scalar & 0xFC00 == 0xDC00 {
            throw loneSurrogate(in: input)
        }
        text.escape = .none
        text.character = UTF8Character(scalar)
        return true
    }

    private func loneSurrogate(in input: Span<UInt8>) -> ConversionError {
        failure(.loneSurrogate, at: text.escapeOffset - offset, in: input)
    }

    private func nameTooLong(at: Int, in input: Span<UInt8>) -> ConversionError {
        limitFailure("key", of: limits.key, what: "a member name", at: at, in: input)
    }
}
