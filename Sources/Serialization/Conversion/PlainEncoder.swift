internal import Octets

/// Writes the document of an `auto` output that has no file: as a form or as JSON.
internal struct PlainEncoder: EventSink, OutputEncoder, LaneEncoder, ~Copyable {
    let isJSON: Bool
    private var form: FlatEncoder<Form.Encoder>
    private var json: JSONOutlet

    init(_ plan: ConversionPlan) {
        isJSON = plan.outputWithoutFiles == .json
        form = FlatEncoder(Form.Encoder(plan), plan: plan)
        json = JSONOutlet(JSON.Encoder(plan), plan: plan)
    }

    var isFull: Bool { isJSON ? json.isFull : form.isFull }
    var contentType: [UInt8] { isJSON ? json.contentType : form.contentType }

    var output: OutputBuffer {
        _read { if isJSON { yield json.output } else { yield form.output } }
        _modify { if isJSON { yield &json.output } else { yield &form.output } }
    }

    var removedCount: Int { isJSON ? json.removedCount : form.removedCount }
    mutating func drain() throws(ConversionError) -> Bool { isJSON ? try json.drain() : try form.drain() }

    mutating func restart() {
        form.restart()
        json.restart()
    }

    mutating func finish() throws(ConversionError) { if isJSON { try json.finish() } else { try form.finish() } }

    mutating func beginObject() throws(ConversionError) {
        if isJSON { try json.beginObject() } else { try form.beginObject() }
    }
    mutating func endObject() throws(ConversionError) {
        if isJSON { try json.endObject() } else { try form.endObject() }
    }
    mutating func beginArray() throws(ConversionError) {
        if isJSON { try json.beginArray() } else { try form.beginArray() }
    }
    mutating func endArray() throws(ConversionError) { if isJSON { try json.endArray() } else { try form.endArray() } }
    mutating func key(_ name: Span<UInt8>) throws(ConversionError) {
        if isJSON { try json.key(name) } else { try form.key(name) }
    }
    mutating func string(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        if isJSON { try json.string(piece, isLast: isLast) } else { try form.string(piece, isLast: isLast) }
    }
    mutating func number(_ text: Span<UInt8>) throws(ConversionError) {
        if isJSON { try json.number(text) } else { try form.number(text) }
    }
    mutating func bool(_ value: Bool) throws(ConversionError) {
        if isJSON { try json.bool(value) } else { try form.bool(value) }
    }
    mutating func null() throws(ConversionError) { if isJSON { try json.null() } else { try form.null() } }
    mutating func date(_ text: Span<UInt8>) throws(ConversionError) {
        if isJSON { try json.date(text) } else { try form.date(text) }
    }
    mutating func data(_ bytes: Span<UInt8>) throws(ConversionError) {
        if isJSON { try json.data(bytes) } else { try form.data(bytes) }
    }
    mutating func beginFile(_ head: borrowing PartHead) throws(ConversionError) {
        if isJSON { try json.beginFile(head) } else { try form.beginFile(head) }
    }
    mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        if isJSON { try json.fileContent(piece, isLast: isLast) } else { try form.fileContent(piece, isLast: isLast) }
    }
}
