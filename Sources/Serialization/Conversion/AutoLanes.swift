internal import Octets

// The lanes of an `auto` output, with their codecs named as in `ConcreteLanes.swift`.

extension ConversionPlan {
    /// The plan for a body of that encoding, which can never have a file where nothing makes one: then the output is known
    /// from the start.
    internal func decided(for input: BodyEncoding) -> ConversionPlan {
        guard let plain = outputWithoutFiles, input != .multipart,
            !files.contains(where: { $0.source(from: input) != nil })
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
        let streams = plan.streamsFields
        switch input {
        case .json:
            let encoder = AutoEncoder(plan)
            guard plan.streamsDocuments else {
                return JSONTreeToAutoLane(plan: plan, sources: sources, encoder: encoder)
            }
            return JSONToAutoLane(plan: plan, sources: sources, encoder: encoder)
        case .form:
            let decoder = Form.Decoder(plan)
            guard streams else {
                return FormTreeToAutoLane(
                    plan: plan, input: input, sources: sources, decoder: decoder, outlet: AutoOutlet(plan))
            }
            return FormToAutoLane(
                plan: plan, input: input, sources: sources, decoder: decoder, encoder: AutoFields(plan))
        case .multipart:
            let decoder = try Multipart.Decoder(plan, contentType: contentType)
            guard streams else {
                return MultipartTreeToAutoLane(
                    plan: plan, input: input, sources: sources, decoder: decoder, outlet: AutoOutlet(plan))
            }
            return MultipartToAutoLane(
                plan: plan, input: input, sources: sources, decoder: decoder, encoder: AutoFields(plan))
        }
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

internal final class JSONTreeToAutoLane: DocumentTreeLane<AutoEncoder> {
    override func decode(_ input: Span<UInt8>) throws(ConversionError) -> Int { try decodeInput(input) }
    override func end() throws(ConversionError) -> Bool { try endInput() }
    override func reset(contentType: Span<UInt8>) throws(ConversionError) { try resetCodecs(contentType: contentType) }
    override func swapOutput(_ buffer: inout OutputBuffer) { exchangeOutput(&buffer) }
    override var outputCount: Int { waitingCount }
    override var isFull: Bool { isOutputFull }
}

internal final class FormToAutoLane: FlatLane<Form.Decoder, AutoFields> {
    override func decode(_ input: Span<UInt8>) throws(ConversionError) -> Int { try decodeInput(input) }
    override func end() throws(ConversionError) -> Bool { try endInput() }
    override func reset(contentType: Span<UInt8>) throws(ConversionError) { try resetCodecs(contentType: contentType) }
    override func swapOutput(_ buffer: inout OutputBuffer) { exchangeOutput(&buffer) }
    override var outputCount: Int { waitingCount }
    override var isFull: Bool { isOutputFull }
}

internal final class MultipartToAutoLane: FlatLane<Multipart.Decoder, AutoFields> {
    override func decode(_ input: Span<UInt8>) throws(ConversionError) -> Int { try decodeInput(input) }
    override func end() throws(ConversionError) -> Bool { try endInput() }
    override func reset(contentType: Span<UInt8>) throws(ConversionError) { try resetCodecs(contentType: contentType) }
    override func swapOutput(_ buffer: inout OutputBuffer) { exchangeOutput(&buffer) }
    override var outputCount: Int { waitingCount }
    override var isFull: Bool { isOutputFull }
}

internal final class FormTreeToAutoLane: FieldTreeLane<Form.Decoder, AutoOutlet> {
    override func decode(_ input: Span<UInt8>) throws(ConversionError) -> Int { try decodeInput(input) }
    override func end() throws(ConversionError) -> Bool { try endInput() }
    override func reset(contentType: Span<UInt8>) throws(ConversionError) { try resetCodecs(contentType: contentType) }
    override func swapOutput(_ buffer: inout OutputBuffer) { exchangeOutput(&buffer) }
    override var outputCount: Int { waitingCount }
    override var isFull: Bool { isOutputFull }
}

internal final class MultipartTreeToAutoLane: FieldTreeLane<Multipart.Decoder, AutoOutlet> {
    override func decode(_ input: Span<UInt8>) throws(ConversionError) -> Int { try decodeInput(input) }
    override func end() throws(ConversionError) -> Bool { try endInput() }
    override func reset(contentType: Span<UInt8>) throws(ConversionError) { try resetCodecs(contentType: contentType) }
    override func swapOutput(_ buffer: inout OutputBuffer) { exchangeOutput(&buffer) }
    override var outputCount: Int { waitingCount }
    override var isFull: Bool { isOutputFull }
}
