internal import Octets

/// What an `auto` output turned out to be.
internal enum AutoChoice {
    /// No file so far; goes to `multipart` with the first one, to `plain` at the end.
    case undecided
    case multipart
    case plain
}

/// Writes a document as multipart when there is a file in it, else as a form or JSON. What precedes the first file is held as
/// events, bounded by `limits.tree`; files and what follows the first one pass.
internal struct AutoEncoder: EventSink, OutputEncoder, LaneEncoder, ~Copyable {
    private var choice = AutoChoice.undecided
    private var log: EventLog
    private var multipart: FlatEncoder<Multipart.Encoder>
    private var plain: PlainEncoder

    init(_ plan: ConversionPlan) {
        log = EventLog(limits: plan.limits)
        multipart = FlatEncoder(Multipart.Encoder(plan), plan: plan)
        plain = PlainEncoder(plan)
    }

    /// The output's buffer stays with multipart until the end says that it is none.
    var output: OutputBuffer {
        _read { if choice == .plain { yield plain.output } else { yield multipart.output } }
        _modify { if choice == .plain { yield &plain.output } else { yield &multipart.output } }
    }

    var isFull: Bool { choice == .plain ? plain.isFull : multipart.isFull }

    /// Empty until it is known.
    var contentType: [UInt8] {
        switch choice {
        case .undecided: []
        case .multipart: multipart.contentType
        case .plain: plain.contentType
        }
    }

    mutating func restart() {
        if choice == .plain { swap(&plain.output, &multipart.output) }
        choice = .undecided
        log.removeAll()
        multipart.restart()
        plain.restart()
    }

    var removedCount: Int { choice == .plain ? plain.removedCount : multipart.removedCount }

    /// The document has ended: without a file so far, there is none.
    mutating func drain() throws(ConversionError) -> Bool {
        if choice == .undecided {
            choice = .plain
            swap(&plain.output, &multipart.output)
            try log.send(to: &plain)
            log.removeAll()
        }
        return choice == .plain ? try plain.drain() : try multipart.drain()
    }

    mutating func finish() throws(ConversionError) {
        if choice == .plain { try plain.finish() } else { try multipart.finish() }
    }

    mutating func beginObject() throws(ConversionError) {
        if choice == .multipart { try multipart.beginObject() } else { try log.beginObject() }
    }
    mutating func endObject() throws(ConversionError) {
        if choice == .multipart { try multipart.endObject() } else { try log.endObject() }
    }
    mutating func beginArray() throws(ConversionError) {
        if choice == .multipart { try multipart.beginArray() } else { try log.beginArray() }
    }
    mutating func endArray() throws(ConversionError) {
        if choice == .multipart { try multipart.endArray() } else { try log.endArray() }
    }
    mutating func key(_ name: Span<UInt8>) throws(ConversionError) {
        if choice == .multipart { try multipart.key(name) } else { try log.key(name) }
    }
    mutating func string(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        if choice == .multipart {
            try multipart.string(piece, isLast: isLast)
        } else {
            try log.string(piece, isLast: isLast)
        }
    }
    mutating func number(_ text: Span<UInt8>) throws(ConversionError) {
        if choice == .multipart { try multipart.number(text) } else { try log.number(text) }
    }
    mutating func bool(_ value: Bool) throws(ConversionError) {
        if choice == .multipart { try multipart.bool(value) } else { try log.bool(value) }
    }
    mutating func null() throws(ConversionError) {
        if choice == .multipart { try multipart.null() } else { try log.null() }
    }
    mutating func date(_ text: Span<UInt8>) throws(ConversionError) {
        if choice == .multipart { try multipart.date(text) } else { try log.date(text) }
    }
    mutating func data(_ bytes: Span<UInt8>) throws(ConversionError) {
        if choice == .multipart { try multipart.data(bytes) } else { try log.data(bytes) }
    }
    mutating func beginFile(_ head: borrowing PartHead) throws(ConversionError) {
        if choice == .undecided {
            choice = .multipart
            try log.send(to: &multipart)
            log.removeAll()
        }
        try multipart.beginFile(head)
    }
    mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        try multipart.fileContent(piece, isLast: isLast)
    }
}
