internal import Gateway
internal import Proxy
internal import Transcoding

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
        let failures = context.failures
        let reader = BodyConversionReader(context, values: values, "\"request\"", path: "request")
        var plan: ConversionPlan?
        var inRequest: SettingsNode?
        if case .scalar = node.content {
            plan = reader.short(node)
        } else if let section = SectionReader(node, "\"request\"", path: "request", context) {
            inRequest = section.take("on_other_type")
            plan = reader.long(section)
            section.refuse("framing", "is an upstream's: write upstreams: {NAME: {address: …, framing: length}}")
            section.finish()
        }
        if let onRoute, inRequest != nil {
            context.report(onRoute.position, "\"on_other_type\" stands in the route and in \"request\": remove one")
        }
        let other = context.otherTypes(inRequest ?? onRoute, path: "", standard: .reject)
        plan?.limits = limits
        if let plan, context.failures == failures { context.check(plan, at: node.position) }
        guard let plan, let other else { return nil }
        return .convert(plan, otherTypes: other, sources: values.sources)
    }
}
