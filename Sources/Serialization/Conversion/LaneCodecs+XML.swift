internal import Octets

extension XML.Decoder: LaneDecoder {
    internal init(_ plan: ConversionPlan) { self.init(options: plan.xmlDecoding, limits: plan.limits) }
    internal mutating func restart(contentType: Span<UInt8>, limits: Limits) throws(ConversionError) { reset() }
}

extension XML.Encoder: FileValueEncoder, DirectEncoder {
    /// The lanes have decided about files before one arrives here.
    internal init(_ plan: ConversionPlan) {
        var options = plan.xmlEncoding
        options.booleans = plan.fieldEncoding.booleans
        options.files = .base64
        self.init(options: options, limits: plan.limits)
    }

    internal mutating func restart() { reset() }
    internal var contentType: [UInt8] { Self.mediaType }
    private static let mediaType = Array("application/xml; charset=utf-8".utf8)
}
