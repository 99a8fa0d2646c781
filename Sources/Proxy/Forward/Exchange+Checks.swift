internal import HTTPWire
internal import Octets

// What forwarding itself demands of a request, once its route is known.
extension Exchange {
    /// Whether the request may go on; else it was answered.
    func passesForwardingRules(_ route: Route, _ generation: Generation, framing: BodyFraming) -> Bool {
        let rule = route.forwarding
        if generation.forwarding.hasTrusted, !findClient(generation, route) { return false }
        if let editors = route.headers, editors.hasSources, !takeHeaderValues(editors) { return false }
        // What the path holds must not lead out of what the route rewrites to, whatever `paths` says.
        if let rewrite = route.variableRewrite,
            rewrite.makesDotSegment(of: request, captures: captures, scratch: &framed)
        {
            return refused(.rewrittenDotSegment)
        }
        if rule.requiresLength, !announcesLength(framing) { return refused(.lengthRequired) }
        if rule.underscores == .reject, request.hasUnderscores { return refused(.underscoreName) }
        // One look at the head for what few requests have: each one costs a check of exclusive access.
        guard request.asksForChecks else { return true }
        if request.isSecureTarget, let downstream, !downstream.isSecure, !trustsPeer {
            // RFC 9110 §7.4: an https resource must not be served over a connection that isn't secured.
            return refused(.misdirected)
        }
        if request.contains(.via), generation.forwarding.via != nil {
            let pseudonym = generation.forwarding.pseudonym
            let count = request.viaCount(of: pseudonym.span)
            if count >= generation.forwarding.loopLimit {
                worker.counters.forwarding.loops += 1
                return refused(.loopDetected(count))
            }
        }
        if request.contains(.maxForwards), request.methodKind == .options {
            guard let left = request.maxForwards else { return refused(.badMaxForwards) }
            if left == 0 {
                answerOptions(route.match.methods.isEmpty ? Self.commonMethods : route.match.methods)
                return false
            }
        }
        if request.wantsUpgrade, !rule.upgrades.isEmpty { chooseUpgrade(among: rule.upgrades) }
        return true
    }

    private func refused(_ refusal: Refusal) -> Bool {
        refuse(refusal)
        return false
    }

    /// Content without a length, or a method that usually has content without saying that it has none (RFC 9110 §15.5.12).
    private func announcesLength(_ framing: BodyFraming) -> Bool {
        switch framing {
        case .length: true
        case .chunked, .untilClose: false
        case .none: !request.methodKind.mayHaveBody
        }
    }

    /// What a route takes that names no methods; it takes others, too.
    private static let commonMethods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

    /// Answers `OPTIONS *`, which asks about the server as a whole (RFC 9110 §9.3.7) and so is at home here, whatever Max-Forwards
    /// and Via say: what the routes of the host take.
    func answerAsterisk(_ routes: RouteTable) {
        guard !request.contains(.maxForwards) || request.maxForwards != nil else { return refuse(.badMaxForwards) }
        var methods: [String] = []
        for route in routes.routes where route.takesHost(of: request) {
            let taken = route.match.methods.isEmpty ? Self.commonMethods : route.match.methods
            for method in taken where !methods.contains(method) { methods.append(method) }
        }
        if !methods.contains("OPTIONS") { methods.append("OPTIONS") }
        answerOptions(methods, status: 204)
    }

    /// Answers OPTIONS as its last recipient (RFC 9110 §7.6.2): what is taken.
    private func answerOptions(_ methods: [String], status: Int = 200) {
        let allow = Array(methods.joined(separator: ", ").utf8)
        let date = worker.clock.date
        let requestID = requestID
        let keepsAlive = keepsAlive
        answer(status: status, flag: nil) { output in
            HeadWriter.statusLine(status, into: &output)
            let fields = output.count
            HeadWriter.clean("Date", date.span, into: &output)
            HeadWriter.clean("Allow", allow.span, into: &output)
            // RFC 9110 §8.6: a 204 has none.
            if status != 204 { HeadWriter.field("Content-Length", decimal: 0, into: &output) }
            HeadWriter.clean("X-Request-Id", requestID.span, into: &output)
            appendRuledFields(to: &output, from: fields)
            if !keepsAlive { HeadWriter.field("Connection", "close", into: &output) }
            HeadWriter.end(into: &output)
        }
    }
}

extension MessageHead {
    /// Whether it has anything that `passesForwardingRules` looks at beyond framing and names.
    fileprivate var asksForChecks: Bool {
        isSecureTarget || wantsUpgrade || contains(.via) || contains(.maxForwards)
    }

    /// The number in Max-Forwards, at most six digits; nil when it is none.
    var maxForwards: Int? {
        guard let line = first(.maxForwards) else { return nil }
        let value = value(line)
        guard (1...6).contains(value.count) else { return nil }
        var number = 0
        for index in value.indices {
            guard ASCII.isDigit(value[index]) else { return nil }
            number = number * 10 + Int(value[index] &- 0x30)
        }
        return number
    }
}
