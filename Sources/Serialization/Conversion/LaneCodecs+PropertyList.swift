internal import Octets

extension PropertyList.Decoder: LaneDecoder {
    /// - Parameter input: `plist` takes both formats, `bplist` the binary one only.
    internal init(_ plan: ConversionPlan, input: BodyEncoding) {
        var options = plan.propertyListDecoding
        options.format = input == .bplist ? .binary : .any
        // `first`, `last` and `keep` are the tree's, which counts what they leave out.
        options.duplicates = plan.spliceDuplicates == .reject ? .reject : .keep
        self.init(options: options, limits: plan.limits)
    }

    internal mutating func restart(contentType: Span<UInt8>, limits: Limits) throws(ConversionError) { reset() }
}

extension PropertyList.Encoder: FileValueEncoder, DirectEncoder {
    /// The lanes have decided about files before one arrives here.
    internal init(_ plan: ConversionPlan) {
        var options = plan.propertyListEncoding
        options.format = plan.output == .bplist ? .binary : .xml
        options.files = .base64
        self.init(options: options, limits: plan.limits)
    }

    internal mutating func restart() { reset() }
    internal var contentType: [UInt8] { Self.mediaType }
    private static let mediaType = Array(BodyEncoding.plist.mediaType.utf8)
}
