internal import Octets

/// Runs samples through the encoder of a plan and reads back what came out, by the options it was written with.
internal struct TraitProbe {
    /// What became of a sample.
    enum Outcome: Hashable {
        /// It reads back as it was.
        case carried
        /// With the error's code.
        case refused(code: String)
        /// A rule left something out. With what is read back, as JSON.
        case omitted(back: String)
        /// With what is read back, as JSON; nil where that can't be.
        case altered(back: String?)

        /// The same without details.
        var note: ConversionNote.Outcome? {
            switch self {
            case .carried: nil
            case .refused: .refused
            case .omitted: .omitted
            case .altered: .altered
            }
        }
    }

    /// The name of the field that text and raw outputs take in samples.
    private static let field = "a"

    private let output: BodyEncoding
    private let takesField: Bool
    private let writing: Conversion?
    private let reading: Conversion?
    private var outcomes: [DocumentTrait: Outcome] = [:]

    /// A probe of the output of `plan`, which is read back with those of `readers` besides.
    init(_ plan: ConversionPlan, readers: [TraitRemedy] = []) {
        let writer = plan.writer
        output = writer.output
        takesField = writer.outputField != nil
        writing = try? Conversion.make(plan: writer, contentType: BodyEncoding.json.mediaType)
        var reader = writer.reader
        for remedy in readers { remedy.change(reader: &reader) }
        // The first one that is read says with which boundary.
        reading =
            output == .raw
            ? nil
            : try? Conversion.make(
                plan: reader,
                contentType: output == .multipart ? "multipart/form-data; boundary=b" : output.mediaType)
    }

    mutating func outcome(of trait: DocumentTrait) -> Outcome {
        if let known = outcomes[trait] { return known }
        let sample = trait.document(for: output, field: takesField ? Self.field : nil)
        let outcome = outcome(of: sample.text, sorted: sample.sorted)
        outcomes[trait] = outcome
        return outcome
    }

    private func outcome(of document: String, sorted: String) -> Outcome {
        guard let writing else { return .carried }
        do throws(ConversionError) {
            let written = try Self.run(writing, Array(document.utf8), type: BodyEncoding.json.mediaType)
            let isReduced = writing.accounting.removed > 0
            // A body that is one file has no structure to read back.
            guard let reading else { return isReduced ? .omitted(back: "") : .carried }
            let type = String(decoding: writing.contentType, as: UTF8.self)
            guard let back = try? Self.run(reading, written, type: type) else { return .altered(back: nil) }
            let text = String(decoding: back, as: UTF8.self)
            if text == sorted { return .carried }
            return isReduced ? .omitted(back: text) : .altered(back: text)
        } catch {
            return .refused(code: error.code)
        }
    }

    private static func run(
        _ conversion: Conversion, _ body: [UInt8], type: String
    ) throws(ConversionError) -> [UInt8] {
        try conversion.restart(contentType: type.utf8Span.span, sources: [])
        return try conversion.convert(body) + conversion.convertEnd()
    }
}

extension ConversionPlan {
    /// The output of the plan, from JSON and with nothing between.
    fileprivate var writer: ConversionPlan {
        var writer = ConversionPlan(inputs: [.json], output: output)
        writer.fieldEncoding = fieldEncoding
        // Samples have no files, and some policies go with some inputs only.
        writer.fieldEncoding.files = .stream
        writer.propertyListEncoding = propertyListEncoding
        writer.xmlEncoding = xmlEncoding
        // What samples write.
        if !xmlEncoding.attributePrefix.isEmpty { writer.xmlEncoding.attributePrefix = "@" }
        if !xmlEncoding.textKey.isEmpty { writer.xmlEncoding.textKey = "#text" }
        writer.outputField = outputField.map { _ in "a" }
        writer.rewritesNames = true
        return writer
    }

    /// A plan that reads the output of this one into JSON, with the same options.
    fileprivate var reader: ConversionPlan {
        var reader = ConversionPlan(inputs: [output], output: .json)
        reader.fieldEncoding.order = .sorted
        reader.fieldDecoding = fieldEncoding.reader
        reader.inputField = outputField
        reader.xmlDecoding.convention = xmlEncoding.convention
        reader.xmlDecoding.attributePrefix = xmlEncoding.attributePrefix
        if !xmlEncoding.textKey.isEmpty { reader.xmlDecoding.textKey = xmlEncoding.textKey }
        reader.xmlDecoding.mixed = xmlEncoding.mixed
        if xmlEncoding.root == .wrap { reader.xmlDecoding.root = .drop }
        if xmlEncoding.nulls == .nilAttribute { reader.xmlDecoding.recognize = .nulls }
        return reader
    }
}

extension FieldEncodingOptions {
    /// How what is written with these options is read: as the dialect's library does it, and with what was set besides.
    internal var reader: FieldDecodingOptions {
        let bundle = FieldEncodingOptions(dialect: dialect)
        var reader = FieldDecodingOptions(dialect: dialect)
        if arrays != bundle.arrays { reader.arrays = arrays }
        if nesting != bundle.nesting { reader.nesting = nesting }
        return reader
    }
}
