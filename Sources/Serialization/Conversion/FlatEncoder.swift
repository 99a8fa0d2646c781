internal import Octets

/// Writes a document as a flat body: a flattener and the encoder that it fills.
internal struct FlatEncoder<Target: FieldEncoder>: EventSink, OutputEncoder, ~Copyable {
    var flattener: Flattener<Target>

    init(_ target: consuming Target, plan: ConversionPlan) {
        flattener = Flattener(target: target, options: plan.fieldEncoding, limits: plan.limits)
        flattener.drainLater()
    }

    var isFull: Bool { flattener.isFull }

    var output: OutputBuffer {
        _read { yield flattener.target.output }
        _modify { yield &flattener.target.output }
    }

    mutating func beginObject() throws(ConversionError) { try flattener.beginObject() }
    mutating func endObject() throws(ConversionError) { try flattener.endObject() }
    mutating func beginArray() throws(ConversionError) { try flattener.beginArray() }
    mutating func endArray() throws(ConversionError) { try flattener.endArray() }
    mutating func key(_ name: Span<UInt8>) throws(ConversionError) { try flattener.key(name) }
    mutating func string(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        try flattener.string(piece, isLast: isLast)
    }
    mutating func number(_ text: Span<UInt8>) throws(ConversionError) { try flattener.number(text) }
    mutating func bool(_ value: Bool) throws(ConversionError) { try flattener.bool(value) }
    mutating func null() throws(ConversionError) { try flattener.null() }
    mutating func date(_ text: Span<UInt8>) throws(ConversionError) { try flattener.date(text) }
    mutating func beginFile(_ head: borrowing PartHead) throws(ConversionError) { try flattener.beginFile(head) }
    mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        try flattener.fileContent(piece, isLast: isLast)
    }

    mutating func finish() throws(ConversionError) { try flattener.target.finish() }
}
