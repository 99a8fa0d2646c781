package import Octets

/// Which of the two messages of an exchange something belongs to.
package enum Direction: Int, Hashable, Sendable, CaseIterable {
    case request = 0
    case response = 1
}

/// How the data plane hands the content of one direction over (`ProcessingMode.BodySendMode`).
package enum BodyMode: Int, Hashable, Sendable, CaseIterable {
    /// It doesn't: the content passes beside us.
    case none = 0
    /// Piece by piece; each waits for the answer to the one before, which replaces that piece.
    case streamed = 1
    /// All of it in one message.
    case buffered = 2
    /// As `buffered`, but the rest of what is too long passes beside us.
    case bufferedPartial = 3
    /// Piece by piece, and as many answers as we like.
    case fullDuplex = 4
    /// By messages of gRPC.
    case grpc = 5

    /// Envoy's name for it.
    package var name: StaticString {
        switch self {
        case .none: "NONE"
        case .streamed: "STREAMED"
        case .buffered: "BUFFERED"
        case .bufferedPartial: "BUFFERED_PARTIAL"
        case .fullDuplex: "FULL_DUPLEX_STREAMED"
        case .grpc: "GRPC"
        }
    }
}

/// Reads what a data plane sends on a `Process` stream: gRPC's frames, and in each a `ProcessingRequest`.
///
/// It has no I/O: `next` is given the bytes that are there and says what is in them, as often as that says anything. Content is told in
/// the pieces that it comes in, before its message is whole, so that a message of any length takes no memory; everything else is held
/// until its message is whole, `messageLimit` bytes at most.
///
/// `ProcessingRequest`: 2 request_headers, 3 response_headers (`HttpHeaders`: 1 headers, 3 end_of_stream); 4 request_body, 5
/// response_body (`HttpBody`: 1 body, 2 end_of_stream); 6 request_trailers, 7 response_trailers (`HttpTrailers`: 1 trailers);
/// 10 observability_mode; 11 protocol_config (1 request_body_mode, 2 response_body_mode). A `HeaderMap` has 1 headers
/// (`HeaderValue`: 1 key, 2 value, 3 raw_value). Other fields mean nothing here: metadata, attributes.
package struct MessageReader: Sendable {
    package enum Event: Hashable, Sendable {
        /// More bytes are needed.
        case needsMore
        /// A head: `forEachField` has its fields.
        case head(Direction, endsStream: Bool)
        /// Content: what is in that range of the input or, where `isHeld`, of `held`. `took` says how much of it was taken, before
        /// anything else.
        case content(Direction, Range<Int>, isHeld: Bool)
        /// The message that brought content, perhaps none, is whole.
        case contentEnded(Direction, endsStream: Bool)
        /// Trailers: `forEachField` has their fields.
        case trailers(Direction)
        /// A message about nothing that is known.
        case nothing
    }

    /// Bytes of a message, but for content, at most: 1 MiB. Envoy's heads have 60 KiB, attributes may come beside.
    package static let messageLimit = 1024 * 1024

    /// Fields of a head or of trailers at most: more than the settings may allow a request. One that is empty takes two bytes of its
    /// message, and many times as much here.
    package static let fieldLimit = 16 * 1024

    private enum Stage: Hashable {
        case prefix
        /// The first tag of the message, which tells what it brings.
        case tag
        /// A message that begins with content: the length of its `HttpBody`, the first tag in that, the content's length.
        case bodyLength, bodyTag, contentLength
        /// Content, `contentLeft` bytes of it.
        case content
        /// What follows content in its message.
        case tail
        /// A message that is held whole.
        case whole
        /// Content that is held.
        case heldContent(Range<Int>, endsStream: Bool)
    }

    private var stage = Stage.prefix
    /// Bytes of the prefix that have come, and what they say.
    private var prefixCount = 0
    private var length: UInt32 = 0
    /// Bytes of the message that are still to come.
    private var left = 0
    private var varint = Varint()
    private var direction = Direction.request
    /// Bytes of the `HttpBody` that are still to come.
    private var bodyLeft = 0
    private var contentLeft = 0
    /// Bytes of `held` that belong to the `HttpBody`, in `tail`.
    private var bodyRest = 0
    /// The message, or what of it isn't content.
    package private(set) var held = OutputBuffer()
    /// Where the fields of the last head or trailers are in `held`.
    private var fields: [(name: Range<Int>, value: Range<Int>)] = []

    /// What the first message says of the content's way, one of each direction; nil where it doesn't.
    package private(set) var modes: (request: BodyMode, response: BodyMode)?

    package init() {}

    /// Makes it ready for another stream. Its memory stays, up to `limit` bytes of it.
    package mutating func reset(keeping limit: Int) {
        var reader = MessageReader()
        swap(&reader.held, &held)
        swap(&reader.fields, &fields)
        reader.held.removeAll()
        reader.held.shrink(to: limit)
        reader.fields.removeAll(keepingCapacity: reader.fields.capacity <= Self.keptFields)
        self = reader
    }

    /// Fields for which memory is kept.
    private static let keptFields = 64

    /// Bytes of memory that a message takes: what is held of it, and where its fields are.
    package var memory: Int { held.count + fields.count * MemoryLayout<(Range<Int>, Range<Int>)>.stride }

    /// Whether the bytes so far end with a whole message.
    package var isBetweenMessages: Bool { stage == .prefix && prefixCount == 0 }

    /// As many bytes of the content that was told last were taken; nothing else is told before all were.
    package mutating func took(_ count: Int) {
        if case .heldContent(let range, let endsStream) = stage {
            stage = .heldContent(range.lowerBound + count..<range.upperBound, endsStream: endsStream)
            return
        }
        contentLeft -= count
        bodyLeft -= count
        left -= count
    }

    /// Reads on from `at`.
    package mutating func next(_ input: Span<UInt8>, at: inout Int) throws(CallError) -> Event {
        while true {
            switch stage {
            case .prefix:
                guard at < input.count else { return .needsMore }
                try readPrefix(input[at])
                at += 1
            case .tag, .bodyLength, .bodyTag, .contentLength:
                if left == 0 { stage = .whole }
                guard stage != .whole else { continue }
                guard at < input.count else { return .needsMore }
                try readHead(input[at])
                at += 1
            case .content:
                guard contentLeft > 0 else {
                    bodyRest = bodyLeft
                    stage = .tail
                    continue
                }
                let count = min(contentLeft, input.count - at)
                guard count > 0 else { return .needsMore }
                // The caller says by `took` what it takes, and begins behind that next time.
                return .content(direction, at..<at + count, isHeld: false)
            case .tail:
                guard try hold(input, &at) else { return .needsMore }
                return try readTail()
            case .whole:
                guard try hold(input, &at) else { return .needsMore }
                return try readWhole()
            case .heldContent(let range, let endsStream):
                guard range.isEmpty else { return .content(direction, range, isHeld: true) }
                stage = .prefix
                return .contentEnded(direction, endsStream: endsStream)
            }
        }
    }

    private mutating func readPrefix(_ byte: UInt8) throws(CallError) {
        if prefixCount == 0 {
            guard byte == 0 else { throw CallError(.unimplemented, "a message is compressed, which was not agreed on") }
            held.removeAll()
            held.shrink(to: 16 * 1024)
        } else {
            length = length << 8 | UInt32(byte)
        }
        prefixCount += 1
        guard prefixCount == GRPC.prefix else { return }
        left = Int(length)
        prefixCount = 0
        length = 0
        stage = .tag
    }

    /// Reads a byte in front of content, and holds it: where no content follows, the message is held whole.
    private mutating func readHead(_ byte: UInt8) throws(CallError) {
        held.append(byte)
        left -= 1
        if stage != .tag, stage != .bodyLength {
            guard bodyLeft > 0 else { return stage = .whole }
            bodyLeft -= 1
        }
        guard let number = try varint.add(byte) else { return }
        switch stage {
        case .tag:
            switch number {
            case 4 << 3 | 2: (direction, stage) = (.request, .bodyLength)
            case 5 << 3 | 2: (direction, stage) = (.response, .bodyLength)
            default: stage = .whole
            }
        case .bodyLength:
            guard number <= UInt64(left) else { throw Self.tooLong }
            bodyLeft = Int(number)
            stage = bodyLeft == 0 ? .whole : .bodyTag
        case .bodyTag: stage = number == 1 << 3 | 2 ? .contentLength : .whole
        default:
            guard number <= UInt64(bodyLeft) else { throw Self.tooLong }
            contentLeft = Int(number)
            held.removeAll()
            stage = .content
        }
    }

    private static var tooLong: CallError {
        CallError(.invalidArgument, "a field is longer than what it is in")
    }

    /// Holds the rest of the message. Returns whether all of it is there.
    private mutating func hold(_ input: Span<UInt8>, _ at: inout Int) throws(CallError) -> Bool {
        guard left <= Self.messageLimit - held.count else {
            throw CallError(
                .resourceExhausted, "a message has more than \(Self.messageLimit) bytes beside content")
        }
        let count = min(left, input.count - at)
        held.append(input.extracting(at..<at + count))
        at += count
        left -= count
        if left == 0 { varint = Varint() }
        return left == 0
    }

    // MARK: Whole messages

    /// What stands behind content: more of its `HttpBody`, then fields of the message that mean nothing here.
    private mutating func readTail() throws(CallError) -> Event {
        var endsStream = false
        var reader = FieldReader(0..<bodyRest)
        while let field = try reader.next(in: held.span) {
            switch field.number {
            case 1: throw Self.contentTwice
            case 2: endsStream = try field.integer() != 0
            default: break
            }
        }
        reader = FieldReader(bodyRest..<held.count)
        while let field = try reader.next(in: held.span) {
            guard !(2...7).contains(field.number) else { throw Self.twoThings }
            if field.number == 10 { try Self.checkHeeded(field) }
        }
        stage = .prefix
        return .contentEnded(direction, endsStream: endsStream)
    }

    // A field that is there twice is the last one to some readers, and both put together to others. Nobody sends such, and either
    // would drop something or hold what passes through otherwise.
    private static var twoThings: CallError { CallError(.invalidArgument, "a message is about two things") }
    private static var contentTwice: CallError { CallError(.invalidArgument, "a message has its content twice") }

    /// Sees that what is answered is heeded: in observability_mode a data plane forwards everything as it came.
    private static func checkHeeded(_ mode: FieldReader.Field) throws(CallError) {
        guard try mode.integer() != 0 else { return }
        throw CallError(
            .failedPrecondition,
            "observability_mode is set: requests go on unconverted and unchecked, whatever is said (it must be false)"
        )
    }

    private mutating func readWhole() throws(CallError) -> Event {
        stage = .prefix
        var found: (number: Int, range: Range<Int>)?
        var reader = FieldReader(0..<held.count)
        while let field = try reader.next(in: held.span) {
            switch field.number {
            case 2...7:
                guard found == nil else { throw Self.twoThings }
                found = (field.number, try field.bytes())
            case 10: try Self.checkHeeded(field)
            case 11: try readConfiguration(try field.bytes())
            default: break
            }
        }
        guard let found else { return .nothing }
        let direction: Direction = found.number % 2 == 0 ? .request : .response
        self.direction = direction
        var ends = false
        var content: Range<Int>?
        reader = FieldReader(found.range)
        while let field = try reader.next(in: held.span) {
            switch (found.number, field.number) {
            case (2...3, 3), (4...5, 2): ends = try field.integer() != 0
            case (4...5, 1):
                guard content == nil else { throw Self.contentTwice }
                content = try field.bytes()
            default: break
            }
        }
        guard (4...5).contains(found.number) else {
            try readFields(found.range)
            return found.number < 4 ? .head(direction, endsStream: ends) : .trailers(direction)
        }
        guard let content, !content.isEmpty else { return .contentEnded(direction, endsStream: ends) }
        stage = .heldContent(content, endsStream: ends)
        return .content(direction, content, isHeld: true)
    }

    private mutating func readConfiguration(_ range: Range<Int>) throws(CallError) {
        var found = (request: BodyMode.none, response: BodyMode.none)
        var reader = FieldReader(range)
        while let field = try reader.next(in: held.span) {
            guard (1...2).contains(field.number) else { continue }
            let value = try field.integer()
            guard let mode = BodyMode(rawValue: Int(clamping: value)) else {
                throw CallError(.invalidArgument, "a body mode has the number \(value)")
            }
            if field.number == 1 { found.request = mode } else { found.response = mode }
        }
        modes = found
    }

    /// Finds the fields of a head or of trailers: `HttpHeaders` and `HttpTrailers` have their `HeaderMap` as field 1.
    private mutating func readFields(_ message: Range<Int>) throws(CallError) {
        fields.removeAll(keepingCapacity: true)
        var maps = FieldReader(message)
        while let map = try maps.next(in: held.span) {
            guard map.number == 1 else { continue }
            var values = FieldReader(try map.bytes())
            while let value = try values.next(in: held.span) {
                if value.number == 1 { try readField(try value.bytes()) }
            }
        }
    }

    /// A `HeaderValue`: the value is one of the two, as raw_value in all that Envoy sends.
    private mutating func readField(_ range: Range<Int>) throws(CallError) {
        var (name, text, raw) = (0..<0, 0..<0, 0..<0)
        var reader = FieldReader(range)
        while let field = try reader.next(in: held.span) {
            switch field.number {
            case 1: name = try field.bytes()
            case 2: text = try field.bytes()
            case 3: raw = try field.bytes()
            default: break
            }
        }
        guard text.isEmpty || raw.isEmpty else {
            throw CallError(.invalidArgument, "a header has both a value and a raw_value")
        }
        guard fields.count < Self.fieldLimit else {
            throw CallError(.resourceExhausted, "a message has more than \(Self.fieldLimit) fields")
        }
        fields.append((name, raw.isEmpty ? text : raw))
    }

    /// Calls `body` with the pseudo-header fields of the head of a request that was told last: empty where they are not there, but for
    /// `:authority`.
    package func withRequestLine<Failure: Error>(
        _ body: (
            _ method: Span<UInt8>, _ scheme: Span<UInt8>, _ authority: Span<UInt8>?, _ path: Span<UInt8>
        ) throws(Failure) -> Void
    ) throws(Failure) {
        let method = held.span.extracting(find(":method") ?? 0..<0)
        let scheme = held.span.extracting(find(":scheme") ?? 0..<0)
        let path = held.span.extracting(find(":path") ?? 0..<0)
        guard let authority = find(":authority") else { return try body(method, scheme, nil, path) }
        try body(method, scheme, held.span.extracting(authority), path)
    }

    /// Where the value of the last field with that name is.
    private func find(_ name: StaticString) -> Range<Int>? {
        var index = fields.count
        while index > 0 {
            index -= 1
            if held.span.extracting(fields[index].name).isEqual(to: name) { return fields[index].value }
        }
        return nil
    }

    /// Calls `body` with each field of the head or the trailers that were told last, in order.
    package func forEachField<Failure: Error>(
        _ body: (_ name: Span<UInt8>, _ value: Span<UInt8>) throws(Failure) -> Void
    ) throws(Failure) {
        for field in fields {
            try body(held.span.extracting(field.name), held.span.extracting(field.value))
        }
    }
}
