internal import Octets

// Lanes for pairs of codecs that have no class of their own in `ConcreteLanes.swift`. They run unspecialised, which costs
// something for each event and nothing for each byte: enough for bodies that are one piece, or whose format needs a tree.

internal final class OtherFlatLane<Decoder, Encoder>: FlatLane<Decoder, Encoder>
where
    Decoder: FieldDecoder & LaneDecoder & ~Copyable, Encoder: FieldSink & OutputEncoder & LaneEncoder & ~Copyable
{
    override func decode(_ input: Span<UInt8>) throws(ConversionError) -> Int { try decodeInput(input) }
    override func end() throws(ConversionError) -> Bool { try endInput() }
    override func reset(contentType: Span<UInt8>) throws(ConversionError) { try resetCodecs(contentType: contentType) }
    override func swapOutput(_ buffer: inout OutputBuffer) { exchangeOutput(&buffer) }
    override var outputCount: Int { waitingCount }
    override var isFull: Bool { isOutputFull }
}

internal final class OtherFieldTreeLane<Decoder, Outlet>: FieldTreeLane<Decoder, Outlet>
where Decoder: FieldLaneDecoder & ~Copyable, Outlet: FileOutlet & ~Copyable {
    override func decode(_ input: Span<UInt8>) throws(ConversionError) -> Int { try decodeInput(input) }
    override func end() throws(ConversionError) -> Bool { try endInput() }
    override func reset(contentType: Span<UInt8>) throws(ConversionError) { try resetCodecs(contentType: contentType) }
    override func swapOutput(_ buffer: inout OutputBuffer) { exchangeOutput(&buffer) }
    override var outputCount: Int { waitingCount }
    override var isFull: Bool { isOutputFull }
}

internal final class OtherStreamLane<Encoder>: StreamLane<Encoder>
where Encoder: EventSink & OutputEncoder & LaneEncoder & ~Copyable {
    override func decode(_ input: Span<UInt8>) throws(ConversionError) -> Int { try decodeInput(input) }
    override func end() throws(ConversionError) -> Bool { try endInput() }
    override func reset(contentType: Span<UInt8>) throws(ConversionError) { try resetCodecs(contentType: contentType) }
    override func swapOutput(_ buffer: inout OutputBuffer) { exchangeOutput(&buffer) }
    override var outputCount: Int { waitingCount }
    override var isFull: Bool { isOutputFull }
}
