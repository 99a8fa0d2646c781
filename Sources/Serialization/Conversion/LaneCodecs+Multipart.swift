internal import Octets

extension Multipart.Decoder: FieldLaneDecoder {
    internal init(_ plan: ConversionPlan, contentType: Span<UInt8>) throws(ConversionError) {
        var declared: Charset?
        let boundary = try Multipart.Boundary(
            contentType: contentType, mediaType: "multipart/form-data", limits: plan.limits,
            charsets: plan.fieldDecoding.charsets, declared: &declared)
        self.init(boundary: boundary, options: plan.fieldDecoding, limits: plan.limits)
        setCharsets(declared: declared, hinted: nil)
        // Where parts are copied nobody reads their text, unless a file takes its name from it.
        passesCharsets =
            plan.output == .multipart && plan.outputWithoutFiles == nil && plan.streamsFields
            && !FileGate(plan).wantsTexts
    }

    internal mutating func restart(contentType: Span<UInt8>, limits: Limits) throws(ConversionError) {
        var declared: Charset?
        reset(
            boundary: try Multipart.Boundary(
                contentType: contentType, mediaType: "multipart/form-data", limits: limits, charsets: options.charsets,
                declared: &declared))
        if declared != nil { setCharsets(declared: declared, hinted: nil) }
    }
}

/// Every body gets a boundary of its own, also where multipart comes in: the client's may stand in what a map adds.
extension Multipart.Encoder: DirectEncoder {
    /// The lanes have decided about files before one arrives here.
    internal init(_ plan: ConversionPlan) {
        var options = plan.fieldEncoding
        options.files = .stream
        self.init(boundary: .random(), options: options)
        limits = plan.limits
    }

    internal mutating func restart() { resetWithRandomBoundary() }
    internal var contentType: [UInt8] { boundary.contentType() }
}
