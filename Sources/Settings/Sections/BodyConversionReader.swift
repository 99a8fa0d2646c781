internal import Gateway
internal import Proxy
internal import Transcoding

/// Reads the conversion of a body, a request's or a response's: `form -> json`, or `decode`, `map`, `fields` and `encode`.
struct BodyConversionReader {
    private let context: ReadingContext
    private let values: RequestValueReader
    /// What is read, for messages.
    private let what: String
    /// Leads to it, for the effective values.
    private let path: String

    init(_ context: ReadingContext, values: RequestValueReader, _ what: String, path: String) {
        self.context = context
        self.values = values
        self.what = what
        self.path = path
    }

    /// Reads a request's conversion, short or long, and checks it.
    ///
    /// - Returns: the plan, nil where it can't be read; and `on_other_type`, which the long form may have.
    func request(_ node: SettingsNode, limits: Limits) -> (plan: ConversionPlan?, otherTypes: SettingsNode?) {
        let failures = context.failures
        var plan: ConversionPlan?
        var otherTypes: SettingsNode?
        if case .scalar = node.content {
            plan = short(node)
        } else if let section = SectionReader(node, what, path: path, context) {
            otherTypes = section.take("on_other_type")
            let accept = section.take("accept")
            plan = long(section)
            let types = accept.flatMap {
                ResponseConditionReader(context).acceptedOfRequest($0, path: "\(path).accept", for: plan)
            }
            if let types { plan?.acceptedTypes = types }
            section.refuse("framing", "is an upstream's: write upstreams: {NAME: {address: …, framing: length}}")
            section.finish()
        }
        plan?.limits = limits
        if let plan, context.failures == failures { context.check(plan, at: node.position) }
        return (plan, otherTypes)
    }

    func short(_ node: SettingsNode) -> ConversionPlan? {
        guard let text = context.text(node, what),
            let sides = ConversionExpression(node, text, path: path, context).read()
        else { return nil }
        return ConversionReader(context: context).plan(decode: sides.decode, encode: sides.encode)
    }

    /// Takes the keys of the long form and leaves the others.
    func long(_ section: SectionReader) -> ConversionPlan? {
        let written = section.remaining
        let decode = section.required("decode", example: Self.example(beside: "encode", written)).flatMap {
            ConversionSide($0, "decode", path: "\(path).decode", context)
        }
        let encode = section.required("encode", example: Self.example(beside: "decode", written)).flatMap {
            ConversionSide($0, "encode", path: "\(path).encode", context)
        }
        var plan: ConversionPlan?
        if let decode, let encode { plan = ConversionReader(context: context).plan(decode: decode, encode: encode) }
        readFields(section, &plan)
        return plan
    }

    /// What one side could be, by what the other one is: form and JSON are most of all conversions, a form to JSON the first.
    private static func example(beside other: String, _ members: [SettingsNode.Member]) -> String {
        var word = other == "encode" ? "json" : "form"
        switch members.first(where: { $0.key == other })?.value.content {
        case .scalar(let text, _)?: word = text
        case .mapping(let members)?:
            if case .scalar(let text, _)? = members.first(where: { $0.key == "as" })?.value.content { word = text }
        case .sequence?, nil: break
        }
        return word == "json" ? "{as: form}" : "{as: json}"
    }

    /// Takes `map`, `fields` and `blanks`, which say what happens between the two sides.
    func readFields(_ section: SectionReader, _ plan: inout ConversionPlan?) {
        let fields = FieldMapReader(context: context, values: values, path: path)
        if let node = section.take("map") { plan?.map = fields.map(node) }
        let types = section.take("fields")
        let failures = context.failures
        if let types { plan?.types = fields.types(types) }
        if let node = section.take("blanks") {
            if types == nil {
                context.report(node.position, "\"blanks\" is about the types that \"fields\" declares")
            } else if let plan, context.failures == failures, !plan.types.contains(where: \.type.hasBlanks) {
                let words = FieldType.allCases.filter(\.hasBlanks).map(\.rawValue).joined(separator: ", ")
                context.report(
                    node.position, "\"blanks\" is about the types \(words), of which \"fields\" declares none")
            }
            if let blanks = self.blanks(node) { plan?.blanks = blanks }
        }
        section.refuse("files", "is an option of \"decode\" or \"encode\"")
    }
}

extension BodyConversionReader {
    /// Reads `blanks`; to YAML the word for nulls is none.
    private func blanks(_ node: SettingsNode) -> BlankPolicy? {
        let words = BlankPolicy.allCases.map(\.rawValue)
        let word = node.isNull ? BlankPolicy.null.rawValue : context.word(node, "\"blanks\"", among: words)
        guard let word else { return nil }
        context.record(path.isEmpty ? "blanks" : "\(path).blanks", word, .line(node.position.line))
        return BlankPolicy(rawValue: word)
    }
}

extension ReadingContext {
    /// Reads `on_other_type`, whose sections are `path`.
    func otherTypes(_ node: SettingsNode?, path: String, standard: OtherTypes) -> OtherTypes? {
        let key = path.isEmpty ? "on_other_type" : "\(path).on_other_type"
        guard let node else {
            record(key, standard.rawValue, .standard)
            return standard
        }
        let words = OtherTypes.allCases.map(\.rawValue)
        guard let word = word(node, "\"on_other_type\"", among: words) else { return nil }
        record(key, word, .line(node.position.line))
        return OtherTypes(rawValue: word)
    }
}
