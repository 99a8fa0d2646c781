internal import Octets

/// An encoder of documents that takes a file as a value: a string in base64, bytes, or an object with them.
internal protocol FileValueEncoder: DocumentEncoder, ~Copyable {
    /// Begins a file as what `policy` says, `base64` or `object`; `fileContent` follows.
    mutating func beginFile(_ head: borrowing PartHead, as policy: FilePolicy) throws(ConversionError)
}

/// Gives an encoder that knows no files their content by events, as a string in base64 that is written while it comes. A file
/// as an object never arrives here: only formats with objects of their own take one.
internal struct FileValues<Encoder>: FileValueEncoder, UniformSink, ~Copyable
where Encoder: DocumentEncoder & ~Copyable {
    var encoder: Encoder
    private var base64 = Base64Encoder()
    private var text = OutputBuffer()

    init(_ encoder: consuming Encoder) { self.encoder = encoder }

    mutating func beginFile(_ head: borrowing PartHead, as policy: FilePolicy) throws(ConversionError) {}
    mutating func beginFile(_ head: borrowing PartHead) throws(ConversionError) {}

    mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        base64.encode(piece, into: &text)
        if isLast { base64.finish(into: &text) }
        if isLast || !text.isEmpty { try Self.move(&text, to: &encoder, isLast: isLast) }
    }

    private static func move(
        _ text: inout OutputBuffer, to encoder: inout Encoder, isLast: Bool
    ) throws(ConversionError) {
        try encoder.string(text.span, isLast: isLast)
        text.removeAll()
    }

    var isFull: Bool { encoder.isFull }
    var output: OutputBuffer {
        _read { yield encoder.output }
        _modify { yield &encoder.output }
    }
    var contentType: [UInt8] { encoder.contentType }
    var removedCount: Int { encoder.removedCount }
    var heldCount: Int { encoder.heldCount }
    var allocatedCount: Int { encoder.allocatedCount }
    mutating func drain() throws(ConversionError) -> Bool { try encoder.drain() }
    mutating func restart() {
        encoder.restart()
        base64 = Base64Encoder()
        text.removeAll()
    }

    mutating func take(_ event: DocumentEvent) throws(ConversionError) { try event.send(to: &encoder) }
    mutating func finish() throws(ConversionError) { try encoder.finish() }
}
