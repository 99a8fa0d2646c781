internal import Gateway
internal import HTTPWire
internal import Transcoding

/// What one reading of the settings gives a worker: routes, times, upstream pools, and the conversions that serve them.
///
/// A reload gives the worker a new snapshot; exchanges that have begun keep theirs until they end, so nothing of an old
/// one changes under them, and the last of them frees it.
final class ConfigurationSnapshot {
    let settings: ProxySettings
    let routes: RouteTable
    let clientTimes: ClientTimes
    let admission: AdmissionLimits
    let pools: [UpstreamPool]
    /// One for each upstream.
    let framings: [UpstreamFraming]
    let forwarding: ForwardingLines
    let requestRules: RequestRules
    /// By the route's index; nil where anybody may come as often as they like.
    let rateLimiters: [RateLimiter?]
    /// By the route's index; nil where there are no copies of requests.
    let shadows: [ShadowSender?]
    private let routeTimes: [RouteTimes]
    /// By the route's index; nil where requests aren't converted.
    private let conversions: [ConversionPool?]
    /// By the route's index and the response rule's; nil where the rule converts nothing.
    private let responseConversions: [[ConversionPool?]]

    /// - Parameters:
    ///   - pools: one for each upstream of the settings, in their order.
    ///   - worker: the number of the worker, from 0.
    ///   - rates: those of the process.
    ///   - copies: what the worker's copies of requests share.
    init(settings: ProxySettings, pools: [UpstreamPool], worker: Int, rates: RateLimiters, copies: ShadowServices) {
        self.settings = settings
        self.pools = pools
        framings = settings.upstreams.map(UpstreamFraming.init)
        routes = RouteTable(
            settings.routes, checksEscapes: settings.forwarding.refusesBadPercent, paths: settings.forwarding.paths)
        forwarding = ForwardingLines(settings)
        requestRules = RequestRules(settings.forwarding)
        clientTimes = ClientTimes(settings.client)
        admission = AdmissionLimits(settings, worker: worker)
        routeTimes = settings.routes.map { RouteTimes($0.timeouts, $0.options.rate) }
        rateLimiters = settings.routes.map { route in
            route.options.rateLimit.map { rates.limiter(of: route.name, $0) }
        }
        let requestLine = admission.head.requestLine
        shadows = settings.routes.map { route in
            guard let shadow = route.shadow else { return nil }
            let target = shadow.options.upstream.map { index in
                ShadowSender.Target(
                    settings: settings.upstreams[index],
                    host: route.forwarding.replacesHost
                        ? ForwardingLines.host(of: route, for: settings.upstreams[index]) : [],
                    resolver: pools[index].resolver)
            }
            return ShadowSender(route, target: target, services: copies, requestLine: requestLine)
        }
        conversions = settings.routes.map { $0.conversion.map { ConversionPool($0.plan) } }
        responseConversions = settings.routes.map { route in
            (route.responseRules?.rules ?? []).map { $0.conversion.map { ConversionPool($0.plan) } }
        }
    }

    /// Empty where the route has no upstream.
    func upstreamName(of route: Route) -> String { route.upstream.map { settings.upstreams[$0].name } ?? "" }
    func hasTLS(upstreamOf route: Route) -> Bool { route.upstream.map { settings.upstreams[$0].tls != nil } ?? false }

    func times(of route: Route) -> RouteTimes { routeTimes[route.index] }

    /// The conversions of a route's requests.
    func conversions(of route: Route) -> ConversionPool {
        guard let pool = conversions[route.index] else { preconditionFailure("a route that converts no requests") }
        return pool
    }

    /// The conversions of a route's responses by `rule`.
    func conversions(of rule: ResponseRules.Rule, route: Route) -> ConversionPool {
        guard let pool = responseConversions[route.index][rule.index] else {
            preconditionFailure("a rule that converts no responses")
        }
        return pool
    }
}

extension RequestRules {
    fileprivate init(_ settings: ForwardingSettings) {
        self.init()
        refusesLaterMinor = settings.refusesLaterMinor
        refusesUnwiseBytes = settings.refusesUnwiseBytes
        refusesBadPercent = settings.refusesBadPercent
    }
}
