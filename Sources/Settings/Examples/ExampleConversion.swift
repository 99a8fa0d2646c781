internal import Octets
internal import Transcoding

/// What examples are written and read with: the conversions themselves.
enum ExampleConversion {
    struct Output: Hashable {
        var bytes: [UInt8]
        var type: String
    }

    static func run(
        _ plan: ConversionPlan, _ body: [UInt8], type: String, sources: [[UInt8]] = []
    ) throws(ConversionError) -> Output {
        // What becomes of a picture doesn't show in an example.
        let conversion = try Conversion.make(plan: plan.passingFiles, contentType: type, sources: sources)
        let bytes = try conversion.convert(body) + conversion.convertEnd()
        return Output(bytes: bytes, type: String(decoding: conversion.contentType, as: UTF8.self))
    }

    /// A document in the encoding that `plan` reads.
    static func write(
        _ document: Literal, as encoding: BodyEncoding, for plan: ConversionPlan
    ) throws(ConversionError) -> Output {
        var writing = ConversionPlan(inputs: [.json], output: encoding)
        writing.fieldEncoding = FieldEncodingOptions(dialect: plan.fieldDecoding.dialect)
        if plan.fieldDecoding.dialect == .recast { writing.fieldEncoding.arrays = plan.fieldDecoding.arrays }
        writing.fieldEncoding.nesting = plan.fieldDecoding.nesting
        writing.xmlEncoding.attributePrefix = plan.xmlDecoding.attributePrefix
        writing.xmlEncoding.textKey = plan.xmlDecoding.textKey
        writing.xmlEncoding.convention = plan.xmlDecoding.convention
        if plan.xmlDecoding.root == .drop { writing.xmlEncoding.root = .wrap }
        if plan.xmlDecoding.recognize.contains(.nulls) { writing.xmlEncoding.nulls = .nilAttribute }
        if encoding == .text, let field = plan.inputField { writing.outputField = field }
        return try run(writing, Array(document.json.utf8), type: BodyEncoding.json.mediaType)
    }

    /// A form or multipart body of these fields.
    static func write(_ fields: [RouteExample.Field], as encoding: BodyEncoding) throws(ConversionError) -> Output {
        if encoding == .form {
            var encoder = Form.Encoder(options: FieldEncodingOptions())
            try send(fields, to: &encoder)
            return Output(bytes: encoder.output.span.copied(), type: encoding.mediaType)
        }
        let boundary = Multipart.Boundary.random()
        var encoder = Multipart.Encoder(boundary: boundary, options: FieldEncodingOptions())
        try send(fields, to: &encoder)
        return Output(
            bytes: encoder.output.span.copied(), type: String(decoding: boundary.contentType(), as: UTF8.self))
    }

    private static func send<Encoder: FieldEncoder>(
        _ fields: [RouteExample.Field], to encoder: inout Encoder
    ) throws(ConversionError) {
        for field in fields {
            try encoder.beginPart(PartHead(name: Array(field.name.utf8).span))
            try encoder.content(Array(field.value.utf8).span, isLast: true)
        }
        try encoder.finish()
    }

    /// The fields of a form or multipart body, `name=value`.
    static func fields(of output: Output, _ plan: ConversionPlan) throws(ConversionError) -> [String] {
        var options = FieldDecodingOptions()
        options.invalidUTF8 = .replace
        var limits = Limits()
        limits.fields = .max
        limits.parts = .max
        var list = ExampleFields()
        try list.take(output.bytes, type: output.type, as: plan.encoding(of: output), options, limits)
        return list.fields.map { String(decoding: $0, as: UTF8.self) }
    }

    /// What the output reads as.
    static func document(of output: Output, _ plan: ConversionPlan) throws(ConversionError) -> Literal {
        let encoding = plan.encoding(of: output)
        var reading = ConversionPlan(inputs: [encoding], output: .json)
        reading.fieldDecoding = FieldDecodingOptions(dialect: plan.fieldEncoding.dialect)
        if plan.fieldEncoding.dialect == .recast || [.comma, .json].contains(plan.fieldEncoding.arrays) {
            reading.fieldDecoding.arrays = plan.fieldEncoding.arrays
        }
        reading.fieldDecoding.nesting = plan.fieldEncoding.nesting
        reading.fieldDecoding.files = .base64
        reading.xmlDecoding.attributePrefix = plan.xmlEncoding.attributePrefix
        reading.xmlDecoding.textKey = plan.xmlEncoding.textKey
        reading.xmlDecoding.convention = plan.xmlEncoding.convention
        if plan.xmlEncoding.root == .wrap { reading.xmlDecoding.root = .drop }
        if plan.xmlEncoding.nulls == .nilAttribute { reading.xmlDecoding.recognize.insert(.nulls) }
        let text = encoding == .json ? output : try run(reading, output.bytes, type: output.type)
        var builder = LiteralBuilder()
        try builder.take(json: text.bytes)
        return builder.value
    }
}

extension ConversionPlan {
    /// What an output is, also where it was `auto`.
    fileprivate func encoding(of output: ExampleConversion.Output) -> BodyEncoding {
        guard let plain = outputWithoutFiles else { return self.output }
        return output.type.hasPrefix(BodyEncoding.multipart.mediaType) ? .multipart : plain
    }

    /// Whether the output knows texts only, so that numbers and booleans are compared by what they are written as.
    var writesTextsOnly: Bool {
        if output == .xml { return xmlEncoding.convention == .attributes }
        return !output.hasObjects && outputWithoutFiles != .json
    }
}

extension FieldSink {
    /// Takes a whole form or multipart body.
    mutating func take(
        _ body: [UInt8], type: String, as encoding: BodyEncoding, _ options: FieldDecodingOptions, _ limits: Limits
    ) throws(ConversionError) {
        if encoding == .form {
            var decoder = Form.Decoder(options: options, limits: limits)
            return try take(body, by: &decoder)
        }
        let boundary = try Multipart.Boundary(contentType: Array(type.utf8).span, limits: limits)
        var decoder = Multipart.Decoder(boundary: boundary, options: options, limits: limits)
        try take(body, by: &decoder)
    }

    private mutating func take<Decoder: FieldDecoder & ~Copyable>(
        _ body: [UInt8], by decoder: inout Decoder
    ) throws(ConversionError) {
        var fed = 0
        while fed < body.count { fed += try decoder.feed(body.span.extracting(fed...), into: &self) }
        try decoder.finish(into: &self)
    }
}

/// Keeps the fields of a body.
private struct ExampleFields: FieldSink {
    var fields: [[UInt8]] = []
    var isFull: Bool { false }

    mutating func beginPart(_ head: borrowing PartHead) throws(ConversionError) {
        fields.append(head.name.copied())
        if head.hasValue { fields[fields.count - 1].append(UInt8(ascii: "=")) }
    }

    mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        fields[fields.count - 1].append(contentsOf: piece)
    }
}
