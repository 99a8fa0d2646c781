internal import Gateway
internal import HTTPWire
internal import Serialization

/// What one reading of the settings gives a worker: routes, times, upstream pools, and conversions made ready for them.
///
/// A reload gives the worker a new generation; exchanges that have begun keep theirs until they end, so nothing of an old
/// one changes under them, and the last of them frees it.
final class Generation {
    let settings: ProxySettings
    let routes: RouteTable
    let clientTimes: ClientTimes
    let admission: AdmissionLimits
    let pools: [UpstreamPool]
    /// One for each upstream.
    let framings: [UpstreamFraming]
    let forwarding: ForwardingLines
    let requestRules: RequestRules
    private let routeTimes: [RouteTimes]
    /// Conversions that are ready for another body, by the route's index.
    private var freeConversions: [[Conversion]]
    /// The same of responses, by the route's index and the rule's.
    private var freeResponseConversions: [[[Conversion]]]

    /// Conversions of one kind that are kept at most; the rest is given back to the allocator.
    private static let freeListLimit = 64

    /// - Parameters:
    ///   - pools: one for each upstream of the settings, in their order.
    ///   - worker: the number of the worker, from 0.
    init(settings: ProxySettings, pools: [UpstreamPool], worker: Int) {
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
        freeConversions = Array(repeating: [], count: settings.routes.count)
        freeResponseConversions = settings.routes.map { Array(repeating: [], count: $0.responses.count) }
    }

    func upstreamName(of route: Route) -> String { settings.upstreams[route.upstream].name }

    func times(of route: Route) -> RouteTimes { routeTimes[route.index] }

    /// A conversion of `rule`, reused where one is free.
    func takeConversion(
        _ rule: ConversionRule, route: Route, contentType: Span<UInt8>, sources: [[UInt8]]
    ) throws(ConversionError) -> Conversion {
        // With one input encoding every free conversion fits; with several it is made for the one that came.
        if rule.hasOneInput, let conversion = freeConversions[route.index].popLast() {
            try conversion.restart(contentType: contentType, sources: sources)
            return conversion
        }
        return try rule.makeConversion(contentType: contentType, sources: sources)
    }

    /// A conversion of `rule` for content of the type that stands in the field at `index` of `head`.
    func takeConversion(
        _ rule: ConversionRule, route: Route, for head: borrowing MessageHead, typeAt index: Int, sources: [[UInt8]]
    ) throws(ConversionError) -> Conversion {
        try takeConversion(rule, route: route, contentType: head.value(index), sources: sources)
    }

    func recycle(_ conversion: Conversion, route: Route) {
        if freeConversions[route.index].count < Self.freeListLimit {
            freeConversions[route.index].append(conversion)
        }
    }

    /// A conversion for a response of `rule`, one of `route`'s, reused where one is free.
    func takeConversion(
        _ rule: ResponseRules.Rule, _ plan: ConversionPlan, route: Route, contentType: Span<UInt8>, sources: [[UInt8]]
    ) throws(ConversionError) -> Conversion {
        if plan.inputs.count == 1, let conversion = freeResponseConversions[route.index][rule.index].popLast() {
            try conversion.restart(contentType: contentType, sources: sources)
            return conversion
        }
        return try Conversion.make(plan: plan, contentType: contentType, sources: sources)
    }

    func recycle(_ conversion: Conversion, rule: ResponseRules.Rule, route: Route) {
        if freeResponseConversions[route.index][rule.index].count < Self.freeListLimit {
            freeResponseConversions[route.index][rule.index].append(conversion)
        }
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
