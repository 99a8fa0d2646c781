internal import COctets
internal import Octets

extension JSON {
    /// Reads a JSON text (RFC 8259, strictly) as it arrives and emits its events.
    ///
    /// Number text and member order are kept. One UTF-8 byte order mark at the very start is skipped. A string that lies
    /// whole and unescaped in a slice is one piece of that slice; other strings come in pieces as the slices do. Names
    /// are whole, at most `limits.key` bytes after unescaping; numbers are whole, at most `limits.number` bytes.
    ///
    /// Errors are `JSON.Fault`s and the limits `depth`, `key`, `number` and, for names held against duplicates, `tree`.
    /// Each has the offset from the start of the body and, below the root, the JSON Pointer (RFC 6901) of the place.
    /// After an error the decoder takes nothing until `reset()`.
    ///
    /// Time is linear in the bytes. Memory is one name or number, the names on the path, and under `reject` and `first`
    /// the names of the open objects, which count the bytes of the name and 16 each.
    public struct Decoder: EventDecoder, ~Copyable {
        /// What the next byte belongs to.
        enum State: UInt8 {
            /// Nothing has come; next: `value`, through `byteOrderMark` or not.
            case start
            /// One or two bytes of a byte order mark have come; next: `value`.
            case byteOrderMark
            /// Next: a token state, `nameOrEnd`, `elementOrEnd`, or what follows a value.
            case value
            /// After `[`: as `value`, or the array's end.
            case elementOrEnd
            /// After `{`: as `name`, or the object's end.
            case nameOrEnd
            /// After a comma in an object; next: `colon`, through `nameText` or not.
            case name
            /// Next: `value`.
            case colon
            /// After a value in a container; next: `name`, `value`, or what follows the container.
            case commaOrEnd
            /// After the root value; only white space may follow.
            case end
            /// Inside a token; next: what follows it.
            case nameText, text, number, literal
            /// An error was thrown.
            case failed
        }

        /// An open container, or rather what surrounds it.
        struct Level {
            var isObject: Bool
            /// The index of the element that the container is, where an array surrounds it.
            var elementIndex: Int
            /// Where the path's bytes end without the container's own name.
            var pathStart: Int
            /// The names known when the container began.
            var nameMark: Int
        }

        /// Where the name of the current member can be read again, for the path and for errors.
        enum NamePlace: UInt8 {
            case none
            /// `nameStart..<nameEnd` of the slice being fed.
            case slice
            /// `nameBytes`.
            case buffer
        }

        /// Buffers above this many bytes are given back between two bodies.
        private static var keptCapacity: Int { 64 * 1024 }

        let options: DecodingOptions
        let limits: Limits

        var state = State.start
        /// Bytes of the body before the slice that is being fed.
        var offset = 0

        /// One for each open container.
        var levels = OwnedArray<Level>()
        var isInObject = false
        var elementIndex = 0
        /// The names of the members that the open containers are, outermost first; `levels` says where each begins.
        var path = ByteStore()
        var namePlace = NamePlace.none
        var nameStart = 0
        var nameEnd = 0
        var nameBytes: [UInt8] = []
        /// Where the current name's quotation mark stands in the body.
        var nameOffset = 0

        /// The names of the open objects, where `checksNames`.
        var memberNames: MemberNames
        let checksNames: Bool
        /// The number of open containers around the member that is being left out, or -1.
        var mutedDepth = -1

        /// What a token has given so far that can't be a piece of a slice.
        var scratch: [UInt8] = []
        /// A short string without its escapes.
        var unescaped = ByteStore()
        var text = TextState()
        var numberState = NumberState.start
        var literal = Literal.null
        /// Whether fields are written in blocks, and memory for what is open then.
        let usesBlocks: Bool
        var blockLevels = OwnedArray<recast_level>()
        /// Bytes of the literal or of the byte order mark that have come.
        var matched = 0

        /// A decoder for a first body.
        ///
        /// - Parameter limits: `depth`, `key`, `number` and `tree` hold, the last one for the names of open objects.
        public init(options: DecodingOptions, limits: Limits) {
            self.options = options
            self.limits = limits
            checksNames = options.duplicates == .reject || options.duplicates == .first
            usesBlocks = options.usesBlocks && recast_has_blocks()
            memberNames = MemberNames(limit: limits.tree)
        }

        /// Makes the decoder ready for another body. Allocations are kept.
        public mutating func reset() {
            state = .start
            offset = 0
            levels.removeAll()
            isInObject = false
            elementIndex = 0
            path.removeAll(keepingUpTo: Self.keptCapacity)
            namePlace = .none
            if !nameBytes.isEmpty { nameBytes.removeAll(keepingCapacity: true) }
            memberNames.removeAll()
            mutedDepth = -1
            if !scratch.isEmpty { scratch.removeAll(keepingCapacity: true) }
            text = TextState()
            matched = 0
        }

        /// Takes the next bytes; see `EventDecoder`.
        public mutating func feed<Sink: EventSink & ~Copyable>(
            _ input: Span<UInt8>, into sink: inout Sink
        ) throws(ConversionError) -> Int {
            do throws(ConversionError) {
                let consumed = try read(input, into: &sink)
                keepName(from: input)
                offset += consumed
                return consumed
            } catch {
                state = .failed
                // A name that lies in this slice can't be told of any more.
                namePlace = .none
                throw error
            }
        }

        /// Says that the body has ended; see `EventDecoder`. Throws when it is incomplete.
        public mutating func finish<Sink: EventSink & ~Copyable>(into sink: inout Sink) throws(ConversionError) {
            let nothing = Span<UInt8>()
            switch state {
            case .end:
                return
            case .number where levels.isEmpty && numberState.mayEnd:
                try sink.number(scratch.span)
                state = .end
            case .start:
                throw failure(.emptyBody, at: 0, in: nothing)
            case .value where levels.isEmpty:
                throw failure(.emptyBody, at: 0, in: nothing)
            default:
                throw failure(.unexpectedEnd, at: 0, in: nothing)
            }
        }

        /// Reads tokens until the slice ends or the sink is full.
        private mutating func read<Sink: EventSink & ~Copyable>(
            _ input: Span<UInt8>, into sink: inout Sink
        ) throws(ConversionError) -> Int {
            var at = 0
            if state.rawValue >= State.nameText.rawValue || state.rawValue <= State.byteOrderMark.rawValue {
                if try resume(input, at: &at, into: &sink) { return at }
            }
            while at < input.count {
                let byte = input[at]
                if byte <= ASCII.space {
                    let next = Scan.endOfWhitespace(in: input, from: at)
                    guard next > at else { throw unexpectedByte(at: at, in: input) }
                    at = next
                    continue
                }
                switch state {
                case .value, .elementOrEnd:
                    switch byte {
                    case UInt8(ascii: "\""):
                        if try beginText(input, at: &at, into: &sink) { return at }
                    case UInt8(ascii: "{"), UInt8(ascii: "["):
                        try open(isObject: byte == UInt8(ascii: "{"), at: at, in: input)
                        at += 1
                        guard mutedDepth < 0 else { continue }
                        if isInObject { try sink.beginObject() } else { try sink.beginArray() }
                        if sink.isFull { return at }
                    case UInt8(ascii: "]") where state == .elementOrEnd:
                        if try close(input, at: &at, into: &sink) { return at }
                    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                        if try beginNumber(input, at: &at, into: &sink) { return at }
                    case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"):
                        if try beginLiteral(input, at: &at, into: &sink) { return at }
                    default:
                        throw unexpectedByte(at: at, in: input)
                    }
                case .nameOrEnd, .name:
                    if byte == UInt8(ascii: "\"") {
                        if try beginName(input, at: &at, into: &sink) { return at }
                    } else if byte == UInt8(ascii: "}") && state == .nameOrEnd {
                        if try close(input, at: &at, into: &sink) { return at }
                    } else {
                        throw unexpectedByte(at: at, in: input)
                    }
                case .colon:
                    guard byte == UInt8(ascii: ":") else { throw unexpectedByte(at: at, in: input) }
                    at += 1
                    state = .value
                case .commaOrEnd:
                    if byte == UInt8(ascii: ",") {
                        at += 1
                        beginNext()
                    } else if byte == (isInObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                        if try close(input, at: &at, into: &sink) { return at }
                    } else {
                        throw unexpectedByte(at: at, in: input)
                    }
                default:
                    throw unexpectedByte(at: at, in: input)
                }
            }
            return at
        }

        /// Goes on inside the token that the slice before ended in. Returns whether to return from `feed`.
        private mutating func resume<Sink: EventSink & ~Copyable>(
            _ input: Span<UInt8>, at: inout Int, into sink: inout Sink
        ) throws(ConversionError) -> Bool {
            switch state {
            case .start, .byteOrderMark: try readByteOrderMark(input, at: &at)
            case .nameText: return try readName(input, at: &at, run: nil, into: &sink)
            case .text: return try readText(input, at: &at, run: nil, into: &sink)
            case .number: return try readNumber(input, at: &at, into: &sink)
            case .literal: return try readLiteral(input, at: &at, into: &sink)
            default: break
            }
            return false
        }

        private mutating func readByteOrderMark(_ input: Span<UInt8>, at: inout Int) throws(ConversionError) {
            while at < input.count {
                let expected: UInt8 = matched == 0 ? 0xEF : matched == 1 ? 0xBB : 0xBF
                if input[at] == expected {
                    at += 1
                    matched += 1
                    state = matched == 3 ? .value : .byteOrderMark
                    if matched == 3 { return }
                } else if matched == 0 {
                    state = .value
                    return
                } else {
                    // What began at the body's first byte is neither a mark nor a value.
                    state = .value
                    throw failure(.unexpectedByte(.value), at: -offset, in: input)
                }
            }
        }

        /// Goes down into the container whose bracket stands at `at`.
        private mutating func open(
            isObject: Bool, at: Int, in input: Span<UInt8>
        ) throws(ConversionError) {
            guard levels.count < limits.depth else {
                throw limitFailure("depth", of: limits.depth, what: "the nesting of the document", at: at, in: input)
            }
            beginLevel()
            switch namePlace {
            case .none: break
            case .slice: path.append(contentsOf: input.extracting(nameStart..<nameEnd))
            case .buffer: path.append(contentsOf: nameBytes)
            }
            namePlace = .none
            isInObject = isObject
            elementIndex = 0
            state = isObject ? .nameOrEnd : .elementOrEnd
        }

        /// Keeps what surrounds the container that begins.
        @inline(__always)
        mutating func beginLevel() {
            levels.append(
                Level(
                    isObject: isInObject, elementIndex: elementIndex, pathStart: path.count,
                    nameMark: memberNames.count))
        }

        /// Goes back to what surrounds the innermost container.
        @inline(__always)
        mutating func endLevel() {
            let level = levels.removeLast()
            if isInObject { memberNames.close(to: level.nameMark) }
            isInObject = level.isObject
            elementIndex = level.elementIndex
            path.truncate(to: level.pathStart)
        }

        /// Goes up out of the innermost container, whose bracket stands at `at`. Returns whether to return from `feed`.
        private mutating func close<Sink: EventSink & ~Copyable>(
            _ input: Span<UInt8>, at: inout Int, into sink: inout Sink
        ) throws(ConversionError) -> Bool {
            at &+= 1
            let wasObject = isInObject
            let isMuted = mutedDepth >= 0
            endLevel()
            namePlace = .none
            endValue(input, at: &at)
            guard !isMuted else { return false }
            if wasObject { try sink.endObject() } else { try sink.endArray() }
            return sink.isFull
        }

        /// Moves on to what follows a value, after its event's mutedness was looked at.
        @inline(__always)
        mutating func endValue() {
            if mutedDepth == levels.count { mutedDepth = -1 }
            state = levels.isEmpty ? .end : .commaOrEnd
        }

        /// As above, for a value that ended at `at`, and moves on behind the comma where one stands there, as it does in
        /// most texts: the state needn't be asked for it.
        @inline(__always)
        mutating func endValue(_ input: Span<UInt8>, at: inout Int) {
            endValue()
            guard at < input.count, input[at] == UInt8(ascii: ","), state == .commaOrEnd else { return }
            at &+= 1
            beginNext()
        }

        /// Moves on behind a comma.
        @inline(__always)
        private mutating func beginNext() {
            if isInObject {
                namePlace = .none
                state = .name
            } else {
                elementIndex &+= 1
                state = .value
            }
        }

        /// Copies the current name out of the slice, which is about to go.
        mutating func keepName(from input: Span<UInt8>) {
            guard namePlace == .slice else { return }
            nameBytes.removeAll(keepingCapacity: true)
            nameBytes.append(contentsOf: input.extracting(nameStart..<nameEnd))
            namePlace = .buffer
        }
    }
}

extension EventSink where Self: ~Copyable {
    /// Takes a whole JSON text.
    package mutating func take(json text: [UInt8], limits: Limits = Limits()) throws(ConversionError) {
        var decoder = JSON.Decoder(options: JSON.DecodingOptions(), limits: limits)
        var fed = 0
        while fed < text.count { fed += try decoder.feed(text.span.extracting(fed...), into: &self) }
        try decoder.finish(into: &self)
    }
}
