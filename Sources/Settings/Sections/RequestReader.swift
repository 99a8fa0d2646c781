internal import Proxy
internal import Serialization

/// Reads what a route does with request bodies: `request: form -> json`, or the long form.
struct RequestReader {
    private let context: ReadingContext
    private let values: RequestValueReader

    init(_ context: ReadingContext, values: RequestValueReader) {
        self.context = context
        self.values = values
    }

    /// `route` holds `request` and `on_other_type`. Nil when something can't be read.
    func read(_ route: SectionReader, limits: Limits) -> RequestRule? {
        let onRoute = route.take("on_other_type")
        guard let node = route.take("request") else {
            route.record("request", "forward", .standard)
            if let onRoute {
                context.report(
                    onRoute.position, "\"on_other_type\" is for routes that convert: add \"request\" or remove it")
            }
            return .forward
        }
        let mistakes = context.mistakes.count
        var plan: ConversionPlan?
        var inRequest: SettingsNode?
        if case .scalar = node.content {
            plan = short(node)
        } else if let section = SectionReader(node, "\"request\"", path: "request", context) {
            inRequest = section.take("on_other_type")
            plan = long(section)
        }
        if let onRoute, inRequest != nil {
            context.report(onRoute.position, "\"on_other_type\" stands in the route and in \"request\": remove one")
        }
        let other = otherTypes(inRequest ?? onRoute)
        plan?.limits = limits
        if let plan, context.mistakes.count == mistakes { context.check(plan, at: node.position) }
        guard let plan, let other else { return nil }
        return .convert(plan, otherTypes: other, sources: values.sources)
    }

    private func otherTypes(_ node: SettingsNode?) -> OtherTypes? {
        guard let node else {
            context.record("on_other_type", OtherTypes.reject.rawValue, .standard)
            return .reject
        }
        let words = OtherTypes.allCases.map(\.rawValue)
        guard let word = context.word(node, "\"on_other_type\"", among: words) else { return nil }
        context.record("on_other_type", word, .line(node.position.line))
        return OtherTypes(rawValue: word)
    }

    private func short(_ node: SettingsNode) -> ConversionPlan? {
        guard let text = context.text(node, "\"request\""), let sides = ConversionExpression(node, text, context).read()
        else { return nil }
        return ConversionReader(context).plan(decode: sides.decode, encode: sides.encode)
    }

    private func long(_ section: SectionReader) -> ConversionPlan? {
        let decode = section.required("decode", example: "{as: json}").flatMap {
            ConversionSide($0, "decode", path: "request.decode", context)
        }
        let encode = section.required("encode", example: "{as: form}").flatMap {
            ConversionSide($0, "encode", path: "request.encode", context)
        }
        var plan: ConversionPlan?
        if let decode, let encode { plan = ConversionReader(context).plan(decode: decode, encode: encode) }
        let fields = FieldMapReader(context, values: values)
        if let node = section.take("map") { plan?.map = fields.map(node) }
        if let node = section.take("fields") { plan?.types = fields.types(node) }
        section.refuse("files", "is an option of \"decode\" or \"encode\"")
        section.notYet("verify", "sign", "late_fields", "framing")
        section.finish()
        return plan
    }
}
