internal import Octets

// The lanes of an `auto` output.

extension ConversionPlan {
    /// The plan for a body of that encoding, which can never have a file where nothing makes one: then the output is known
    /// from the start.
    internal func decided(for input: BodyEncoding) -> ConversionPlan {
        guard let plain = outputWithoutFiles, !input.hasFiles, !files.contains(where: { $0.source(from: input) != nil })
        else { return self }
        var plan = self
        plan.output = plain
        plan.outputWithoutFiles = nil
        // They are about files, of which there are none; and a rule for a form or JSON would be another one.
        plan.files = files.filter { $0.policy == .drop || $0.policy == .reject }
        return plan
    }
}

extension Conversion {
    /// The lane for an `auto` output of which a file decides.
    internal static func autoLane(
        _ plan: ConversionPlan, input: BodyEncoding, contentType: Span<UInt8>, sources: [[UInt8]]
    ) throws(ConversionError) -> Conversion {
        switch input {
        case .form: fieldLane(plan, input, sources, Form.Decoder(plan, contentType: contentType))
        case .multipart: fieldLane(plan, input, sources, try Multipart.Decoder(plan, contentType: contentType))
        case .raw: fieldLane(plan, input, sources, Raw.Decoder(plan, contentType: contentType))
        case .json where plan.streamsDocuments:
            JSONToAutoLane(plan: plan, sources: sources, encoder: AutoEncoder(plan))
        default: documentTreeLane(plan, input, sources)
        }
    }

    private static func fieldLane<Decoder: FieldLaneDecoder & ~Copyable>(
        _ plan: ConversionPlan, _ input: BodyEncoding, _ sources: [[UInt8]], _ decoder: consuming Decoder
    ) -> Conversion {
        guard plan.streamsFields else {
            return OtherFieldTreeLane(
                plan: plan, input: input, sources: sources, decoder: decoder, outlet: AutoOutlet(plan))
        }
        return OtherFlatLane(plan: plan, input: input, sources: sources, decoder: decoder, encoder: AutoFields(plan))
    }
}

internal final class JSONToAutoLane: StreamLane<AutoEncoder> {
    override func decode(_ input: Span<UInt8>) throws(ConversionError) -> Int { try decodeInput(input) }
    override func end() throws(ConversionError) -> Bool { try endInput() }
    override func reset(contentType: Span<UInt8>) throws(ConversionError) { try resetCodecs(contentType: contentType) }
    override func swapOutput(_ buffer: inout OutputBuffer) { exchangeOutput(&buffer) }
    override var outputCount: Int { waitingCount }
    override var isFull: Bool { isOutputFull }
}

internal final class AutoTarget: EncoderTarget<AutoEncoder> {
    override func advance(_ tree: inout Tree) throws(ConversionError) -> Bool { try advanceEncoder(&tree) }
}
