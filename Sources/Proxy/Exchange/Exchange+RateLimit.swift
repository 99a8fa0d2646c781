internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Octets

// How often a client, or whatever else the route's limit counts by, may come: looked at before credentials, so that who guesses them
// is slowed down, and before anything of the content is read.
extension Exchange {
    /// Counts the request, and refuses it where it is one too many.
    @inline(never)
    func limitRate(_ route: Route, _ snapshot: ConfigurationSnapshot) throws(Refusal) {
        rateFields.removeAll()
        guard let limiter = snapshot.rateLimiters[route.index] else { return }
        let outcome: CellRate.Outcome
        switch limiter.limit.key {
        case .client:
            if snapshot.forwarding.hasTrusted { try findClient(snapshot, route) }
            outcome = limiter.take(client.flatMap { ClientKey($0.unmapped) }, now: worker.loop.now)
        case .value(let source):
            // No rule has written its lines yet: they begin by emptying this.
            headerLines.removeAll(keepingCapacity: true)
            source.appendOctets(from: request, captures: captures, client: Span(), to: &headerLines)
            outcome = limiter.take(value: headerLines.span, now: worker.loop.now)
            headerLines.removeAll(keepingCapacity: true)
        }
        let fields = RateFields(limiter.rate, outcome)
        guard outcome.isPassed else { throw .rateLimited(fields) }
        if route.tellsRate { fields.append(to: &rateFields) }
    }

    /// Appends what is left of the limit to the fields that `output` has from `start` on, where they say nothing of such.
    func appendRateFields(to output: inout OutputBuffer, from start: Int) {
        guard let route, route.tellsRate else { return }
        let lines = rateFields
        _ = HeaderEditor.appendOthers(lines.span, to: &output, from: start)
    }
}

extension MessageHead {
    /// Whether it says itself what is left of a rate limit.
    var tellsRate: Bool {
        let (name, policyName) = (RateFields.name, RateFields.policyName)
        return first(named: name.span) != nil || first(named: policyName.span) != nil
    }
}
