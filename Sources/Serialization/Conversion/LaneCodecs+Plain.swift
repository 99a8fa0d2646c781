internal import Octets

extension PlainText.Decoder: LaneDecoder {
    internal init(_ plan: ConversionPlan) { self.init(field: plan.inputField) }
    internal mutating func restart(contentType: Span<UInt8>, limits: Limits) throws(ConversionError) { reset() }
}

extension PlainText.Encoder: DirectEncoder {
    internal init(_ plan: ConversionPlan) { self.init(field: plan.outputField, options: plan.fieldEncoding) }
    internal mutating func restart() { reset() }
    internal var contentType: [UInt8] { Self.mediaType }
    private static let mediaType = Array("text/plain; charset=utf-8".utf8)
}

extension Raw.Decoder: FieldLaneDecoder {
    internal init(_ plan: ConversionPlan, contentType: Span<UInt8>) {
        self.init(field: plan.inputField ?? Self.standardField, contentType: contentType)
    }
    internal mutating func restart(contentType: Span<UInt8>, limits: Limits) throws(ConversionError) {
        reset(contentType: contentType)
    }
}

extension Raw.Encoder: DirectEncoder {
    internal init(_ plan: ConversionPlan) { self.init(field: plan.outputField) }
    internal mutating func restart() { reset() }
}
