internal import Octets
internal import TestSupport
internal import Transcoding

extension FuzzTarget {
    /// A conversion gives the same bytes or the same error however it is fed and emptied, keeps its contract, and writes only
    /// what can be read as what it says.
    static func conversion(_ from: BodyEncoding, _ to: BodyEncoding) -> FuzzTarget {
        let corpus = from == .bplist ? "plist" : from == .raw ? "text" : from.rawValue
        return FuzzTarget("\(from.rawValue)-to-\(to.rawValue)", corpus: corpus) { variant, body in
            let plan = plan(from, to, variant)
            guard plan.validate().isEmpty else { return "the plan can't hold: \(plan.validate())" }
            let whole = ConversionRun.run(plan, .whole(body))
            if !whole.violations.isEmpty { return "\(whole.violations)" }
            let recut = ConversionRun.run(plan, .every(variant.size, of: body), highWatermark: 1)
            if !recut.violations.isEmpty { return "\(recut.violations)" }
            // Of two things wrong in one slice either may be found first; whether there is an error may not depend on the cut.
            guard (recut.failure == nil) == (whole.failure == nil) else {
                return "\(whole.failure as Any), cut: \(recut.failure as Any)"
            }
            guard whole.failure == nil else { return nil }
            guard recut == whole else { return "the output depends on the cut" }
            return unreadable(whole.output.bytes, as: encoding(of: whole, to), passesCharsets: from == .multipart)
        }
    }

    private static func plan(_ from: BodyEncoding, _ to: BodyEncoding, _ variant: Variant) -> ConversionPlan {
        var plan = ConversionPlan(inputs: [from], output: to)
        plan.limits = limits
        plan.fieldDecoding = decoding(from, variant)
        plan.fieldEncoding = FieldEncodingOptions(dialect: variant.dialect)
        // Members can't be sorted where files are written as they come.
        if from == .multipart, to.hasObjects { plan.fieldEncoding.order = .input }
        if to == .multipart, variant.flag(0) { plan.outputWithoutFiles = variant.flag(1) ? .json : .form }
        plan.fieldEncoding.files = to.hasFiles ? .stream : to.hasObjects && variant.bit ? .object : .base64
        plan.fieldEncoding.empties = variant.bit ? .omit : .marker
        plan.xmlEncoding.empties = .marker
        plan.xmlEncoding.convention = variant.bit ? .lossless : .attributes
        plan.propertyListEncoding.nulls = .omit
        plan.removeNulls = variant.byte % 16 == 5 ? .deep : variant.byte % 16 == 6 ? .keys : .off
        if from == .text, to.isFlat { plan.inputField = "text" }
        // The corpora have such a field.
        if variant.byte % 16 == 9, from != .text, from != .raw {
            var rule = DocumentRule(FieldPath([.key(Array("payload".utf8))]))
            rule.rest = variant.bit ? .merge : .drop
            plan.document = rule
        }
        return plan
    }

    /// What went out: under `auto` the Content-Type says it.
    private static func encoding(of run: ConversionRun, _ to: BodyEncoding) -> BodyEncoding {
        guard to == .multipart else { return to }
        let type = String(decoding: run.contentType.bytes, as: UTF8.self)
        return [BodyEncoding.form, .json].first { type.hasPrefix($0.mediaType) } ?? to
    }

    /// What is wrong with what was written. With `passesCharsets` texts are copied from part to part with their media type,
    /// also where it names a charset that can't be read here.
    private static func unreadable(
        _ output: [UInt8], as encoding: BodyEncoding, passesCharsets: Bool
    ) -> String? {
        var limits = Limits()
        limits.tree = 1 << 30
        limits.fields = 1 << 30
        limits.parts = 1 << 30
        let failure: ConversionError?
        switch encoding {
        case .form:
            var decoder = Form.Decoder(options: .init(), limits: limits)
            failure = FieldRecorder.record(.whole(output), with: &decoder).failure
        case .json:
            var options = JSON.DecodingOptions()
            options.duplicates = .keep
            var decoder = JSON.Decoder(options: options, limits: limits)
            failure = EventRecorder.record(.whole(output), with: &decoder).failure
        case .multipart:
            // The runner has put this word in the place of the random boundary.
            let type = Array("multipart/form-data; boundary=BOUNDARY".utf8)
            guard let boundary = try? Multipart.Boundary(contentType: type.span, limits: limits) else {
                return "boundary"
            }
            var decoder = Multipart.Decoder(boundary: boundary, options: .init(), limits: limits)
            let found = FieldRecorder.record(.whole(output), with: &decoder).failure
            let isCharset = found?.code == "multipart_charset" || found?.code == "charset_invalid"
            failure = passesCharsets && isCharset ? nil : found
        case .text: return UTF8Validator.isValid(output.span) ? nil : "the text is not UTF-8"
        case .raw: return nil
        default:
            var plan = ConversionPlan(inputs: [encoding], output: .json)
            plan.jsonDuplicates = .keep
            plan.limits = limits
            failure = ConversionRun.run(plan, .whole(output)).failure
        }
        return failure.map { "what was written can't be read: \($0)" }
    }
}
