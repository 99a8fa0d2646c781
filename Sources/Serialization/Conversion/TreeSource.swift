internal import Octets

/// What reads a whole document into a tree. One for each document format; every pair of formats is a source and a target.
internal class TreeSource {
    func feed(_ input: Span<UInt8>, into tree: inout Tree) throws(ConversionError) -> Int { formatIsMissing() }
    func finish(into tree: inout Tree) throws(ConversionError) { formatIsMissing() }
    func restart(contentType: Span<UInt8>, limits: Limits) throws(ConversionError) { formatIsMissing() }

    private func formatIsMissing() -> Never { preconditionFailure("only sources of a format are made") }
}

/// A source by a decoder. The final classes below name theirs, so that the compiler specialises what they call.
internal class DecoderSource<Decoder>: TreeSource where Decoder: EventDecoder & LaneDecoder & ~Copyable {
    private var decoder: Decoder

    init(_ decoder: consuming Decoder) { self.decoder = decoder }

    final func feedDecoder(_ input: Span<UInt8>, into tree: inout Tree) throws(ConversionError) -> Int {
        try decoder.feed(input, into: &tree)
    }

    final func finishDecoder(into tree: inout Tree) throws(ConversionError) { try decoder.finish(into: &tree) }

    final override func restart(contentType: Span<UInt8>, limits: Limits) throws(ConversionError) {
        try decoder.restart(contentType: contentType, limits: limits)
    }
}

internal final class JSONSource: DecoderSource<JSON.Decoder> {
    override func feed(_ input: Span<UInt8>, into tree: inout Tree) throws(ConversionError) -> Int {
        try feedDecoder(input, into: &tree)
    }
    override func finish(into tree: inout Tree) throws(ConversionError) { try finishDecoder(into: &tree) }
}

internal final class PropertyListSource: DecoderSource<PropertyList.Decoder> {
    override func feed(_ input: Span<UInt8>, into tree: inout Tree) throws(ConversionError) -> Int {
        try feedDecoder(input, into: &tree)
    }
    override func finish(into tree: inout Tree) throws(ConversionError) { try finishDecoder(into: &tree) }
}

/// XML makes a tree anyhow, so that is handed over instead of its events.
internal final class XMLSource: TreeSource {
    private var decoder: XML.Decoder

    init(_ decoder: consuming XML.Decoder) { self.decoder = decoder }

    override func feed(_ input: Span<UInt8>, into tree: inout Tree) throws(ConversionError) -> Int {
        try decoder.take(input)
        return input.count
    }
    override func finish(into tree: inout Tree) throws(ConversionError) { try decoder.finish(exchanging: &tree) }
    override func restart(contentType: Span<UInt8>, limits: Limits) throws(ConversionError) {
        try decoder.restart(contentType: contentType, limits: limits)
    }
}

internal final class PlainTextSource: DecoderSource<PlainText.Decoder> {
    override func feed(_ input: Span<UInt8>, into tree: inout Tree) throws(ConversionError) -> Int {
        try feedDecoder(input, into: &tree)
    }
    override func finish(into tree: inout Tree) throws(ConversionError) { try finishDecoder(into: &tree) }
}
