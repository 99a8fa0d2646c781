internal import Octets

/// A sink that is never full and passes everything on: for an end that can't be called again and so must send all it has.
internal struct UnpausedSink<Sink: EventSink & ~Copyable>: EventSink, ~Copyable {
    internal var sink: Sink

    internal init(_ sink: consuming Sink) {
        self.sink = sink
    }

    internal var isFull: Bool { false }

    internal mutating func beginObject() throws(ConversionError) { try sink.beginObject() }
    internal mutating func endObject() throws(ConversionError) { try sink.endObject() }
    internal mutating func beginArray() throws(ConversionError) { try sink.beginArray() }
    internal mutating func endArray() throws(ConversionError) { try sink.endArray() }
    internal mutating func key(_ name: Span<UInt8>) throws(ConversionError) { try sink.key(name) }
    internal mutating func string(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        try sink.string(piece, isLast: isLast)
    }
    internal mutating func number(_ text: Span<UInt8>) throws(ConversionError) { try sink.number(text) }
    internal mutating func bool(_ value: Bool) throws(ConversionError) { try sink.bool(value) }
    internal mutating func null() throws(ConversionError) { try sink.null() }
    internal mutating func date(_ text: Span<UInt8>) throws(ConversionError) { try sink.date(text) }
    internal mutating func data(_ bytes: Span<UInt8>) throws(ConversionError) { try sink.data(bytes) }
    internal mutating func beginFile(_ head: borrowing PartHead) throws(ConversionError) { try sink.beginFile(head) }
    internal mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        try sink.fileContent(piece, isLast: isLast)
    }
}
