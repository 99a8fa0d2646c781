internal import Octets

/// An event of a document as a value, for sinks that do with all events alike. Files are none: they pass with their heads.
internal struct DocumentEvent: ~Escapable {
    enum Kind: UInt8 {
        case beginObject, endObject, beginArray, endArray, yes, no, null
        case key, piece, lastPiece, number, date, data

        var hasBytes: Bool { rawValue >= Self.key.rawValue }
    }

    let kind: Kind
    let bytes: Span<UInt8>

    @inline(__always)
    @_lifetime(copy bytes)
    init(_ kind: Kind, _ bytes: Span<UInt8>) {
        self.kind = kind
        self.bytes = bytes
    }

    @inline(__always)
    @_lifetime(immortal)
    init(_ kind: Kind) {
        self.kind = kind
        bytes = Span()
    }

    /// Calls the method of `sink` that the event stands for. Where the kind is known, nothing else is left of it.
    @inline(__always)
    func send<Sink: EventSink & ~Copyable>(to sink: inout Sink) throws(ConversionError) {
        switch kind {
        case .beginObject: try sink.beginObject()
        case .endObject: try sink.endObject()
        case .beginArray: try sink.beginArray()
        case .endArray: try sink.endArray()
        case .yes: try sink.bool(true)
        case .no: try sink.bool(false)
        case .null: try sink.null()
        case .key: try sink.key(bytes)
        case .piece: try sink.string(bytes, isLast: false)
        case .lastPiece: try sink.string(bytes, isLast: true)
        case .number: try sink.number(bytes)
        case .date: try sink.date(bytes)
        case .data: try sink.data(bytes)
        }
    }
}

/// A sink that does with all events alike, but for those that it has methods of its own for.
internal protocol UniformSink: EventSink, ~Copyable {
    mutating func take(_ event: DocumentEvent) throws(ConversionError)
}

extension UniformSink where Self: ~Copyable {
    @inline(__always)
    internal mutating func beginObject() throws(ConversionError) { try take(DocumentEvent(.beginObject)) }
    @inline(__always)
    internal mutating func endObject() throws(ConversionError) { try take(DocumentEvent(.endObject)) }
    @inline(__always)
    internal mutating func beginArray() throws(ConversionError) { try take(DocumentEvent(.beginArray)) }
    @inline(__always)
    internal mutating func endArray() throws(ConversionError) { try take(DocumentEvent(.endArray)) }
    @inline(__always)
    internal mutating func key(_ name: Span<UInt8>) throws(ConversionError) { try take(DocumentEvent(.key, name)) }
    @inline(__always)
    internal mutating func string(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        try take(DocumentEvent(isLast ? .lastPiece : .piece, piece))
    }
    @inline(__always)
    internal mutating func number(_ text: Span<UInt8>) throws(ConversionError) {
        try take(DocumentEvent(.number, text))
    }
    @inline(__always)
    internal mutating func bool(_ value: Bool) throws(ConversionError) { try take(DocumentEvent(value ? .yes : .no)) }
    @inline(__always)
    internal mutating func null() throws(ConversionError) { try take(DocumentEvent(.null)) }
    @inline(__always)
    internal mutating func date(_ text: Span<UInt8>) throws(ConversionError) { try take(DocumentEvent(.date, text)) }
    @inline(__always)
    internal mutating func data(_ bytes: Span<UInt8>) throws(ConversionError) { try take(DocumentEvent(.data, bytes)) }
}

/// Events of a document written down to be sent later. Bounded by `limits.tree`; reused, keeps its allocation.
internal struct EventLog {
    private static let countSize = 4

    private let limit: Int
    /// For each event its kind and, where it has bytes, four with their number, and they themselves.
    private var bytes = ByteStore()

    init(limits: Limits) { limit = limits.tree }

    var count: Int { bytes.count }
    var allocatedCount: Int { bytes.allocatedCount }

    mutating func removeAll() { bytes.removeAll(keepingUpTo: 64 * 1024) }

    mutating func append(_ event: DocumentEvent) throws(ConversionError) {
        if event.kind == .piece, event.bytes.isEmpty { return }
        let count = event.bytes.count
        let size = event.kind.hasBytes ? 1 + Self.countSize + count : 1
        guard bytes.count + size <= min(limit, Int(UInt32.max)) else {
            throw .limit("tree", of: limit, what: "the size of what precedes the first file")
        }
        bytes.append(event.kind.rawValue)
        guard event.kind.hasBytes else { return }
        for shift in 0..<Self.countSize { bytes.append(UInt8(truncatingIfNeeded: count >> (8 * shift))) }
        bytes.append(contentsOf: event.bytes)
    }

    /// Sends all events to `sink`, whether it is full or not, and forgets them.
    mutating func move<Sink: EventSink & ~Copyable>(to sink: inout Sink) throws(ConversionError) {
        var at = 0
        while at < bytes.count {
            guard let kind = DocumentEvent.Kind(rawValue: bytes[at]) else {
                preconditionFailure("the log has kinds of its own")
            }
            at += 1
            guard kind.hasBytes else {
                try DocumentEvent(kind).send(to: &sink)
                continue
            }
            var count = 0
            for shift in 0..<Self.countSize { count |= Int(bytes[at + shift]) << (8 * shift) }
            at += Self.countSize
            try DocumentEvent(kind, bytes.slice(at..<at + count)).send(to: &sink)
            at += count
        }
        removeAll()
    }
}
