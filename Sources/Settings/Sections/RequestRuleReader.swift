internal import Gateway
internal import Proxy
internal import Transcoding

/// Reads what a route does with request bodies: `request: form -> json`, or the long form.
struct RequestRuleReader {
    let context: ReadingContext
    let values: RequestValueReader

    /// `route` holds `request` and `on_other_type`. Nil when something can't be read.
    func read(_ route: SectionReader, limits: Limits) -> RequestRule? {
        let onRoute = route.take("on_other_type")
        guard let node = route.take("request") else {
            route.record("request", "forward", .standard)
            if let onRoute {
                context.report(
                    onRoute.position,
                    "\"on_other_type\" of a route is for its requests, which it doesn't convert: add \"request\" or remove it; for "
                        + "responses it stands in \"response\", as in response: { convert: json -> xml, on_other_type: reject }"
                )
            }
            return .forward
        }
        let reader = BodyConversionReader(context, values: values, "\"request\"", path: "request")
        let (plan, inRequest) = reader.request(node, limits: limits)
        if let onRoute, inRequest != nil {
            context.report(onRoute.position, "\"on_other_type\" stands in the route and in \"request\": remove one")
        }
        let other = context.otherTypes(inRequest ?? onRoute, path: "", standard: .reject)
        guard let plan, let other else { return nil }
        return .convert(plan, otherTypes: other, sources: values.sources)
    }
}
