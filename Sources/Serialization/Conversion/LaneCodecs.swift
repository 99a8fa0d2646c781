internal import Octets

/// What a lane asks of a decoder besides decoding: to begin another body.
internal protocol LaneDecoder: ~Copyable {
    /// Makes the decoder as new for a body of that Content-Type.
    mutating func restart(contentType: Span<UInt8>, limits: Limits) throws(ConversionError)
}

/// A decoder of fields that a lane gathers in a tree.
internal protocol FieldLaneDecoder: FieldDecoder, LaneDecoder, ~Copyable {
    /// As `feed(_:into:)`, for a decoder that has more to give than events.
    mutating func feed<Outlet: FileOutlet & ~Copyable>(
        _ input: Span<UInt8>, gathering gatherer: inout FieldGatherer<Outlet>
    ) throws(ConversionError) -> Int
    /// As `finish(into:)`, behind `feed(_:gathering:)`.
    mutating func finish<Outlet: FileOutlet & ~Copyable>(
        gathering gatherer: inout FieldGatherer<Outlet>
    ) throws(ConversionError)
}

extension FieldLaneDecoder where Self: ~Copyable {
    internal mutating func feed<Outlet: FileOutlet & ~Copyable>(
        _ input: Span<UInt8>, gathering gatherer: inout FieldGatherer<Outlet>
    ) throws(ConversionError) -> Int {
        try feed(input, into: &gatherer)
    }

    internal mutating func finish<Outlet: FileOutlet & ~Copyable>(
        gathering gatherer: inout FieldGatherer<Outlet>
    ) throws(ConversionError) {
        try finish(into: &gatherer)
    }
}

/// What a lane asks of an encoder besides encoding: to begin another body, and the name of what it writes.
internal protocol LaneEncoder: ~Copyable {
    /// Makes the encoder as new for another body.
    mutating func restart()
    /// The Content-Type of the body.
    var contentType: [UInt8] { get }
    /// What rules of the encoder have left out of the body.
    var removedCount: Int { get }
    /// Writes what the encoder held back until the document's end, before `finish`. Returns false when the output is full, to
    /// be called again.
    mutating func drain() throws(ConversionError) -> Bool
}

/// An encoder that writes every event at once. What stands around another encoder is none: it passes the questions on.
internal protocol DirectEncoder: LaneEncoder, ~Copyable {}

extension DirectEncoder where Self: ~Copyable {
    internal var removedCount: Int { 0 }
    internal mutating func drain() throws(ConversionError) -> Bool { true }
}

extension JSON.Decoder: LaneDecoder {
    internal mutating func restart(contentType: Span<UInt8>, limits: Limits) throws(ConversionError) { reset() }
}

extension JSON.Encoder: DirectEncoder {
    internal mutating func restart() { reset() }
    internal var contentType: [UInt8] { Self.mediaType }
    private static let mediaType = Array("application/json".utf8)
}

extension Form.Decoder: FieldLaneDecoder {
    internal init(_ plan: ConversionPlan, contentType: Span<UInt8>) {
        self.init(options: plan.fieldDecoding, limits: plan.limits)
        declare(contentType)
    }

    internal mutating func restart(contentType: Span<UInt8>, limits: Limits) throws(ConversionError) {
        reset()
        declare(contentType)
    }
}

extension Form.Encoder: DirectEncoder {
    internal mutating func restart() { reset() }
    internal var contentType: [UInt8] { hasCharset ? Self.mediaTypeWithCharset : Self.mediaType }
    private static let mediaType = Array("application/x-www-form-urlencoded".utf8)
    /// As Alamofire sends it.
    private static let mediaTypeWithCharset = Array("application/x-www-form-urlencoded; charset=utf-8".utf8)
}

extension FlatEncoder: LaneEncoder where Target: LaneEncoder & ~Copyable {
    mutating func restart() {
        reset()
        flattener.target.restart()
    }
    var contentType: [UInt8] { flattener.target.contentType }
    var removedCount: Int { flattener.removedCount }
    mutating func drain() throws(ConversionError) -> Bool { try flattener.drain() }
}
