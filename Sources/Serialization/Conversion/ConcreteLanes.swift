internal import Octets

// The lanes with their codecs named, one class for each pair. The compiler specialises generic code where it knows the
// types, and the methods of a generic class are called through a table that doesn't: through these overrides it does.
// (A form of ten fields to JSON: 3.3 us by the table, see the commit that made this file.)

// MARK: Field by field

internal final class FormToFormLane: FlatLane<Form.Decoder, Form.Encoder> {
    override func decode(_ input: Span<UInt8>) throws(ConversionError) -> Int { try decodeInput(input) }
    override func end() throws(ConversionError) -> Bool { try endInput() }
    override func reset(contentType: Span<UInt8>) throws(ConversionError) { try resetCodecs(contentType: contentType) }
    override func swapOutput(_ buffer: inout OutputBuffer) { exchangeOutput(&buffer) }
    override var outputCount: Int { waitingCount }
    override var isFull: Bool { isOutputFull }
}

internal final class FormToMultipartLane: FlatLane<Form.Decoder, Multipart.Encoder> {
    override func decode(_ input: Span<UInt8>) throws(ConversionError) -> Int { try decodeInput(input) }
    override func end() throws(ConversionError) -> Bool { try endInput() }
    override func reset(contentType: Span<UInt8>) throws(ConversionError) { try resetCodecs(contentType: contentType) }
    override func swapOutput(_ buffer: inout OutputBuffer) { exchangeOutput(&buffer) }
    override var outputCount: Int { waitingCount }
    override var isFull: Bool { isOutputFull }
}

internal final class MultipartToFormLane: FlatLane<Multipart.Decoder, Form.Encoder> {
    override func decode(_ input: Span<UInt8>) throws(ConversionError) -> Int { try decodeInput(input) }
    override func end() throws(ConversionError) -> Bool { try endInput() }
    override func reset(contentType: Span<UInt8>) throws(ConversionError) { try resetCodecs(contentType: contentType) }
    override func swapOutput(_ buffer: inout OutputBuffer) { exchangeOutput(&buffer) }
    override var outputCount: Int { waitingCount }
    override var isFull: Bool { isOutputFull }
}

internal final class MultipartToMultipartLane: FlatLane<Multipart.Decoder, Multipart.Encoder> {
    override func decode(_ input: Span<UInt8>) throws(ConversionError) -> Int { try decodeInput(input) }
    override func decode(_ input: Span<UInt8>, passing passed: inout Range<Int>) throws(ConversionError) -> Int {
        try passInput(input, &passed)
    }
    override func end() throws(ConversionError) -> Bool { try endInput() }
    override func reset(contentType: Span<UInt8>) throws(ConversionError) { try resetCodecs(contentType: contentType) }
    override func swapOutput(_ buffer: inout OutputBuffer) { exchangeOutput(&buffer) }
    override var outputCount: Int { waitingCount }
    override var isFull: Bool { isOutputFull }
}

// MARK: Fields through a tree

internal final class FormTreeToJSONLane: FieldTreeLane<Form.Decoder, JSONOutlet> {
    override func decode(_ input: Span<UInt8>) throws(ConversionError) -> Int { try decodeInput(input) }
    override func end() throws(ConversionError) -> Bool { try endInput() }
    override func reset(contentType: Span<UInt8>) throws(ConversionError) { try resetCodecs(contentType: contentType) }
    override func swapOutput(_ buffer: inout OutputBuffer) { exchangeOutput(&buffer) }
    override var outputCount: Int { waitingCount }
    override var isFull: Bool { isOutputFull }
}

internal final class FormTreeToFormLane: FieldTreeLane<Form.Decoder, FlatOutlet<Form.Encoder>> {
    override func decode(_ input: Span<UInt8>) throws(ConversionError) -> Int { try decodeInput(input) }
    override func end() throws(ConversionError) -> Bool { try endInput() }
    override func reset(contentType: Span<UInt8>) throws(ConversionError) { try resetCodecs(contentType: contentType) }
    override func swapOutput(_ buffer: inout OutputBuffer) { exchangeOutput(&buffer) }
    override var outputCount: Int { waitingCount }
    override var isFull: Bool { isOutputFull }
}

internal final class FormTreeToMultipartLane: FieldTreeLane<Form.Decoder, FlatOutlet<Multipart.Encoder>> {
    override func decode(_ input: Span<UInt8>) throws(ConversionError) -> Int { try decodeInput(input) }
    override func end() throws(ConversionError) -> Bool { try endInput() }
    override func reset(contentType: Span<UInt8>) throws(ConversionError) { try resetCodecs(contentType: contentType) }
    override func swapOutput(_ buffer: inout OutputBuffer) { exchangeOutput(&buffer) }
    override var outputCount: Int { waitingCount }
    override var isFull: Bool { isOutputFull }
}

internal final class MultipartTreeToJSONLane: FieldTreeLane<Multipart.Decoder, JSONOutlet> {
    override func decode(_ input: Span<UInt8>) throws(ConversionError) -> Int { try decodeInput(input) }
    override func end() throws(ConversionError) -> Bool { try endInput() }
    override func reset(contentType: Span<UInt8>) throws(ConversionError) { try resetCodecs(contentType: contentType) }
    override func swapOutput(_ buffer: inout OutputBuffer) { exchangeOutput(&buffer) }
    override var outputCount: Int { waitingCount }
    override var isFull: Bool { isOutputFull }
}

internal final class MultipartTreeToFormLane: FieldTreeLane<Multipart.Decoder, FlatOutlet<Form.Encoder>> {
    override func decode(_ input: Span<UInt8>) throws(ConversionError) -> Int { try decodeInput(input) }
    override func end() throws(ConversionError) -> Bool { try endInput() }
    override func reset(contentType: Span<UInt8>) throws(ConversionError) { try resetCodecs(contentType: contentType) }
    override func swapOutput(_ buffer: inout OutputBuffer) { exchangeOutput(&buffer) }
    override var outputCount: Int { waitingCount }
    override var isFull: Bool { isOutputFull }
}

internal final class MultipartTreeToMultipartLane: FieldTreeLane<Multipart.Decoder, FlatOutlet<Multipart.Encoder>> {
    override func decode(_ input: Span<UInt8>) throws(ConversionError) -> Int { try decodeInput(input) }
    override func end() throws(ConversionError) -> Bool { try endInput() }
    override func reset(contentType: Span<UInt8>) throws(ConversionError) { try resetCodecs(contentType: contentType) }
    override func swapOutput(_ buffer: inout OutputBuffer) { exchangeOutput(&buffer) }
    override var outputCount: Int { waitingCount }
    override var isFull: Bool { isOutputFull }
}

// MARK: Documents value by value

internal final class JSONToJSONLane: StreamLane<JSON.Encoder> {
    override func decode(_ input: Span<UInt8>) throws(ConversionError) -> Int { try decodeInput(input) }
    override func end() throws(ConversionError) -> Bool { try endInput() }
    override func reset(contentType: Span<UInt8>) throws(ConversionError) { try resetCodecs(contentType: contentType) }
    override func swapOutput(_ buffer: inout OutputBuffer) { exchangeOutput(&buffer) }
    override var outputCount: Int { waitingCount }
    override var isFull: Bool { isOutputFull }
}

internal final class JSONToFormLane: StreamLane<FlatEncoder<Form.Encoder>> {
    override func decode(_ input: Span<UInt8>) throws(ConversionError) -> Int { try decodeFields(input) }
    override func end() throws(ConversionError) -> Bool { try endInput() }
    override func reset(contentType: Span<UInt8>) throws(ConversionError) { try resetCodecs(contentType: contentType) }
    override func swapOutput(_ buffer: inout OutputBuffer) { exchangeOutput(&buffer) }
    override var outputCount: Int { waitingCount }
    override var isFull: Bool { isOutputFull }
}

internal final class JSONToMultipartLane: StreamLane<FlatEncoder<Multipart.Encoder>> {
    override func decode(_ input: Span<UInt8>) throws(ConversionError) -> Int { try decodeFields(input) }
    override func end() throws(ConversionError) -> Bool { try endInput() }
    override func reset(contentType: Span<UInt8>) throws(ConversionError) { try resetCodecs(contentType: contentType) }
    override func swapOutput(_ buffer: inout OutputBuffer) { exchangeOutput(&buffer) }
    override var outputCount: Int { waitingCount }
    override var isFull: Bool { isOutputFull }
}
