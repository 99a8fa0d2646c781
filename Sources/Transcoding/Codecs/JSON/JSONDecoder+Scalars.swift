internal import Octets

extension JSON.Decoder {
    /// Where a number stands in the grammar of RFC 8259 §6.
    enum NumberState: UInt8 {
        case start, minus, zero, integer, point, fraction, exponent, exponentSign, exponentDigits

        /// Whether what has come is a number.
        var mayEnd: Bool {
            switch self {
            case .zero, .integer, .fraction, .exponentDigits: true
            default: false
            }
        }
    }

    enum Literal: UInt8 {
        case null, `true`, `false`

        init(firstByte: UInt8) {
            self = firstByte == UInt8(ascii: "t") ? .true : firstByte == UInt8(ascii: "f") ? .false : .null
        }

        var text: StaticString {
            switch self {
            case .null: "null"
            case .true: "true"
            case .false: "false"
            }
        }
    }

    /// Reads the number that begins at `at`. Returns whether to return from `feed`.
    @inline(__always)
    mutating func beginNumber<Sink: EventSink & ~Copyable>(
        _ input: Span<UInt8>, at: inout Int, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        let start = at
        let end = Self.endOfDecimal(in: input, from: start)
        if end > start, end - start <= limits.number {
            at = end
            let isMuted = mutedDepth >= 0
            endValue(input, at: &at)
            if isMuted { return false }
            try sink.number(input.extracting(start..<end))
            return sink.isFull
        }
        state = .number
        numberState = .start
        return try readNumber(input, at: &at, into: &sink)
    }

    /// Where the number that begins at `start` ends, if it is whole in the slice and has no exponent; else `start`, and
    /// whatever is wrong with it is to be found.
    @inline(__always)
    static func endOfDecimal(in input: Span<UInt8>, from start: Int) -> Int {
        let count = input.count
        let first = input[start] == UInt8(ascii: "-") ? start &+ 1 : start
        guard first < count, ASCII.isDigit(input[first]) else { return start }
        var at = first &+ 1
        if input[first] != UInt8(ascii: "0") { at = Scan.endOfDigits(in: input, from: at, to: count) }
        guard at < count else { return start }
        if input[at] == UInt8(ascii: ".") {
            let point = at
            at = Scan.endOfDigits(in: input, from: point &+ 1, to: count)
            guard at > point &+ 1, at < count else { return start }
        }
        let next = input[at]
        return next | 0x20 == UInt8(ascii: "e") || ASCII.isDigit(next) || next == UInt8(ascii: ".") ? start : at
    }

    /// Reads a number, or goes on in one. Returns whether to return from `feed`.
    mutating func readNumber<Sink: EventSink & ~Copyable>(
        _ input: Span<UInt8>, at: inout Int, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        let start = at
        let isFirst = numberState == .start
        let room = limits.number - (isFirst ? 0 : scratch.count)
        // One byte more than the limit is looked at: a number that fits must be seen to end.
        let bound = room < input.count - start ? start + room + 1 : input.count
        try scanNumber(input, at: &at, to: bound)
        if at - start > room {
            throw limitFailure("number", of: limits.number, what: "a number", at: start + room, in: input)
        }
        let piece = input.extracting(start..<at)
        if at == input.count {
            if isFirst { scratch.removeAll(keepingCapacity: true) }
            scratch.append(contentsOf: piece)
            return true
        }
        guard numberState.mayEnd else { throw failure(.invalidNumber, at: at, in: input) }
        let isMuted = mutedDepth >= 0
        endValue()
        if isMuted { return false }
        if isFirst {
            try sink.number(piece)
        } else {
            scratch.append(contentsOf: piece)
            try sink.number(scratch.span)
        }
        return sink.isFull
    }

    /// Moves `at` behind the bytes before `bound` that go on with the number.
    @inline(__always)
    private mutating func scanNumber(
        _ input: Span<UInt8>, at: inout Int, to bound: Int
    ) throws(ConversionError) {
        var number = numberState
        defer { numberState = number }
        while at < bound {
            let byte = input[at]
            switch number {
            case .integer, .fraction, .exponentDigits:
                if ASCII.isDigit(byte) {
                    at = Scan.endOfDigits(in: input, from: at &+ 1, to: bound)
                    continue
                }
                if number == .integer, byte == UInt8(ascii: ".") {
                    number = .point
                } else if number != .exponentDigits, byte | 0x20 == UInt8(ascii: "e") {
                    number = .exponent
                } else {
                    return
                }
            case .start where byte == UInt8(ascii: "-"):
                number = .minus
            case .start, .minus:
                guard ASCII.isDigit(byte) else { throw failure(.invalidNumber, at: at, in: input) }
                number = byte == UInt8(ascii: "0") ? .zero : .integer
            case .zero:
                if byte == UInt8(ascii: ".") {
                    number = .point
                } else if byte | 0x20 == UInt8(ascii: "e") {
                    number = .exponent
                } else if ASCII.isDigit(byte) {
                    throw failure(.invalidNumber, at: at, in: input)
                } else {
                    return
                }
            case .point:
                guard ASCII.isDigit(byte) else { throw failure(.invalidNumber, at: at, in: input) }
                number = .fraction
            case .exponent where byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-"):
                number = .exponentSign
            case .exponent, .exponentSign:
                guard ASCII.isDigit(byte) else { throw failure(.invalidNumber, at: at, in: input) }
                number = .exponentDigits
            }
            at &+= 1
        }
    }

    /// Reads the literal that begins at `at`. Returns whether to return from `feed`.
    @inline(__always)
    mutating func beginLiteral<Sink: EventSink & ~Copyable>(
        _ input: Span<UInt8>, at: inout Int, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        literal = Literal(firstByte: input[at])
        let end = at &+ literal.text.utf8CodeUnitCount
        if end <= input.count, input.extracting(at..<end).isEqual(to: literal.text) {
            at = end
            let isMuted = mutedDepth >= 0
            let word = literal
            endValue(input, at: &at)
            if isMuted { return false }
            if word == .null { try sink.null() } else { try sink.bool(word == .true) }
            return sink.isFull
        }
        state = .literal
        matched = 0
        return try readLiteral(input, at: &at, into: &sink)
    }

    /// Reads `true`, `false` or `null`, or goes on in one. Returns whether to return from `feed`.
    mutating func readLiteral<Sink: EventSink & ~Copyable>(
        _ input: Span<UInt8>, at: inout Int, into sink: inout Sink
    ) throws(ConversionError) -> Bool {
        let word = literal.text
        let length = word.utf8CodeUnitCount
        while matched < length {
            guard at < input.count else { return true }
            // SAFETY: matched < length, which is the literal's own length.
            guard unsafe input[at] == word.utf8Start[matched] else { throw unexpectedByte(at: at, in: input) }
            at += 1
            matched += 1
        }
        let isMuted = mutedDepth >= 0
        endValue()
        if isMuted { return false }
        if literal == .null { try sink.null() } else { try sink.bool(literal == .true) }
        return sink.isFull
    }
}
