internal import Octets

/// Events of a document written down to be sent later. Bounded by `limits.tree`; reused, keeps its allocation.
internal struct EventLog: EventSink {
    private enum Mark: UInt8 {
        case beginObject, endObject, beginArray, endArray, yes, no, null
        // Those with bytes: their number, four bytes, and they themselves follow.
        case key, piece, lastPiece, number, date, data
    }

    private static let countSize = 4

    private let limit: Int
    private var bytes = ByteStore()

    init(limits: Limits) { limit = limits.tree }

    var isFull: Bool { false }

    mutating func removeAll() { bytes.removeAll(keepingUpTo: 64 * 1024) }

    mutating func beginObject() throws(ConversionError) { try add(.beginObject) }
    mutating func endObject() throws(ConversionError) { try add(.endObject) }
    mutating func beginArray() throws(ConversionError) { try add(.beginArray) }
    mutating func endArray() throws(ConversionError) { try add(.endArray) }
    mutating func key(_ name: Span<UInt8>) throws(ConversionError) { try add(.key, name) }
    mutating func string(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        if isLast || !piece.isEmpty { try add(isLast ? .lastPiece : .piece, piece) }
    }
    mutating func number(_ text: Span<UInt8>) throws(ConversionError) { try add(.number, text) }
    mutating func bool(_ value: Bool) throws(ConversionError) { try add(value ? .yes : .no) }
    mutating func null() throws(ConversionError) { try add(.null) }
    mutating func date(_ text: Span<UInt8>) throws(ConversionError) { try add(.date, text) }
    mutating func data(_ bytes: Span<UInt8>) throws(ConversionError) { try add(.data, bytes) }

    /// A file ends the log: it is what one waits for.
    mutating func beginFile(_ head: borrowing PartHead) throws(ConversionError) {
        preconditionFailure("files are never written down")
    }
    mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        preconditionFailure("files are never written down")
    }

    private mutating func add(_ mark: Mark) throws(ConversionError) {
        try check(1)
        bytes.append(mark.rawValue)
    }

    private mutating func add(_ mark: Mark, _ text: Span<UInt8>) throws(ConversionError) {
        try check(1 + Self.countSize + text.count)
        bytes.append(mark.rawValue)
        for shift in 0..<Self.countSize { bytes.append(UInt8(truncatingIfNeeded: text.count >> (8 * shift))) }
        bytes.append(contentsOf: text)
    }

    private func check(_ count: Int) throws(ConversionError) {
        guard bytes.count + count <= min(limit, Int(UInt32.max)) else {
            throw .limit("tree", of: limit, what: "the size of what precedes the first file")
        }
    }

    /// Sends all events to `sink`, whether it is full or not.
    func send<Sink: EventSink & ~Copyable>(to sink: inout Sink) throws(ConversionError) {
        var at = 0
        func text() -> Range<Int> {
            var count = 0
            for shift in 0..<Self.countSize { count |= Int(bytes[at + shift]) << (8 * shift) }
            let start = at + Self.countSize
            at = start + count
            return start..<at
        }
        while at < bytes.count {
            guard let mark = Mark(rawValue: bytes[at]) else { preconditionFailure("the log has a mark of its own") }
            at += 1
            switch mark {
            case .beginObject: try sink.beginObject()
            case .endObject: try sink.endObject()
            case .beginArray: try sink.beginArray()
            case .endArray: try sink.endArray()
            case .yes: try sink.bool(true)
            case .no: try sink.bool(false)
            case .null: try sink.null()
            case .key: try sink.key(bytes.slice(text()))
            case .piece: try sink.string(bytes.slice(text()), isLast: false)
            case .lastPiece: try sink.string(bytes.slice(text()), isLast: true)
            case .number: try sink.number(bytes.slice(text()))
            case .date: try sink.date(bytes.slice(text()))
            case .data: try sink.data(bytes.slice(text()))
            }
        }
    }
}
