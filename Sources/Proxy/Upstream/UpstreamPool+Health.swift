internal import EventLoop
internal import Gateway

// What is learnt about the addresses, from requests and from attempts of our own.
extension UpstreamPool {
    /// How often the addresses are tried while none can be connected to.
    private static let downInterval: UInt64 = 1_000_000_000
    /// Addresses that are tried at once.
    private static let probeLimit = 8

    private var failureLimit: Int { settings.health.passive.failures }

    // MARK: From requests

    /// A final response has come.
    func noteResponse(_ status: Int, from endpoint: Endpoint) {
        tally.responses &+= 1
        if status >= 500, settings.health.passive.statuses.contains(where: { $0.range.contains(status) }) {
            tally.gatewayErrors &+= 1
            return noteFailure(of: endpoint, .status(status))
        }
        if endpoint.failures != 0 || endpoint.isProbed { noteSuccess(of: endpoint) }
    }

    private func noteSuccess(of endpoint: Endpoint) {
        if endpoint.ejectedUntil != 0, !endpoint.isProbed { return }
        let wasHealthy = endpoint.isHealthy
        endpoint.heal(loop.now)
        if !wasHealthy, endpoint.isHealthy { tell(recovery: "\(endpoint.label) serves again") }
    }

    /// A request failed before its response came, or the response says that the server behind is not well.
    func noteFailure(of endpoint: Endpoint, _ what: EndpointFailure) {
        tally.failures &+= 1
        endpoint.note(what, at: loop.now)
        guard failureLimit > 0, !endpoint.isGone else { return }
        endpoint.failures += 1
        if endpoint.ejectedUntil != 0 {
            // One request that was let through after an ejection decides; those that were on their way before it don't.
            if endpoint.isProbed { eject(endpoint, "fails still") }
            return
        }
        // The last one that is fit stays: a server with faults is more than none.
        guard endpoint.failures >= failureLimit, endpoints.contains(where: { $0 !== endpoint && $0.isHealthy }) else {
            return
        }
        eject(endpoint, "failed \(endpoint.failures) times in a row")
    }

    /// The upstream at `endpoint` didn't take the request, while `isSending`, or didn't answer it, within its time: tells its exchange.
    ///
    /// - Parameters:
    ///   - awaitsHead: whether no head of a final response has come.
    ///   - isAnswered: whether a byte has come, behind which no request is sent again.
    func timeOut(
        _ exchange: Exchange, at endpoint: Endpoint, awaitsHead: Bool, isAnswered: Bool, isSending: Bool
    ) {
        if awaitsHead {
            noteFailure(of: endpoint, .timedOut)
            tally.timeouts &+= 1
            if isAnswered { exchange.noteAnswered(.timeout) }
        }
        exchange.upstreamTimedOut(
            isSending ? .upstreamWrite : .upstreamFirstByte, leaving: awaitsHead && !isAnswered ? endpoint : nil)
    }

    private func eject(_ endpoint: Endpoint, _ why: String) {
        let wasHealthy = endpoint.isHealthy
        endpoint.eject(loop.now, times: ejectionTimes, jitter: nextRandom() & 0xFF)
        tally.ejections &+= 1
        if wasHealthy {
            let outcome = asksTheDead ? "requests try it all the same" : "it gets no requests for a while"
            tell("\(endpoint.label) \(why): \(outcome)")
        }
        closeIdle(of: endpoint)
    }

    // MARK: From reusing

    /// A connection that has served before ended where that was not expected: before a byte of the next answer, or soon after the last.
    ///
    /// - Parameter begun: when it was given its last request.
    func noteUnannouncedEnd(of endpoint: Endpoint, begun: UInt64) {
        guard !endpoint.isGone else { return }
        let isNew = endpoint.reuse.pauses == 0
        guard endpoint.reuse.noteEnd(loop.now, begun: begun) else { return }
        tally.reusePauses &+= 1
        if isNew {
            tell(
                "\(endpoint.label) closes connections after answers without saying so: they are not reused for a while")
        }
        closeIdle(of: endpoint)
    }

    // MARK: From connecting

    /// A connection was made.
    func noteConnected(_ endpoint: Endpoint) {
        tally.connects &+= 1
        guard endpoint.connectFailures > 0 else { return }
        let wasDead = endpoint.isDead
        endpoint.noteConnected(loop.now)
        if wasDead {
            tell(recovery: "\(endpoint.label) can be connected to again")
            dispatchLater()
        }
    }

    /// A connection could not be made; `error`: because of TLS.
    func noteConnectFailure(
        _ failure: UpstreamFailure, of endpoint: Endpoint, isQuick: Bool, because error: TLSError? = nil
    ) {
        tally.count(connect: failure)
        if let error {
            noteTLSFailure(error, of: endpoint)
        } else if failure.isOfAddress {
            endpoint.note(.connecting(failure), at: loop.now)
        }
        guard failure.isOfAddress, !endpoint.isGone, failureLimit > 0 else { return }
        let wasDead = endpoint.isDead
        guard endpoint.noteConnectFailure(isQuick: isQuick, limit: failureLimit) else { return }
        if wasDead, endpoint.ejectedUntil > loop.now { return }
        eject(endpoint, "could not be connected to \(failureLimit) times in a row")
        armProbes()
    }

    /// TLS with an address failed: tells the operator why, each reason once in ten seconds.
    private func noteTLSFailure(_ error: TLSError, of endpoint: Endpoint) {
        handshakes.failed(.upstream, error)
        endpoint.note(.tls(error), at: loop.now)
        tellTLS(error, of: endpoint)
    }

    private func tellTLS(_ error: TLSError, of endpoint: Endpoint) {
        guard let others = endpoint.tlsLines.next(error.word, loop.now) else { return }
        tell("TLS with \(endpoint.label) failed: \(error)\(others)")
    }

    /// The server ended a connection by an alert, behind a handshake that was over for us.
    ///
    /// - Parameter isFirst: whether it has answered nothing on that connection: it has refused the handshake, as TLS 1.3 lets it do late.
    func noteAlert(_ alert: TLSError, of endpoint: Endpoint, isFirst: Bool) {
        guard isFirst else { return tellTLS(alert, of: endpoint) }
        tally.count(connect: .insecure(alert.word))
        noteTLSFailure(alert, of: endpoint)
    }

    // MARK: By attempts of our own

    /// Sets the time at which addresses that can't be connected to are tried next. No request has to wait for that.
    func armProbes() {
        guard !isRetired, probes.isEmpty else { return }
        let now = loop.now
        var next = UInt64.max
        for endpoint in endpoints where endpoint.isDead { next = min(next, endpoint.ejectedUntil) }
        guard next != .max else { return probeTimer.cancel() }
        let wait = next > now ? next - now : 0
        probeTimer.set(after: isDown ? min(wait, Self.downInterval) : max(wait, Self.downInterval))
    }

    func probeTimerFired() {
        let now = loop.now
        let isDown = isDown
        for endpoint in endpoints where endpoint.isDead && (isDown || endpoint.ejectedUntil <= now) {
            guard probes.count < Self.probeLimit, connections < maxConnections else { break }
            probe(endpoint)
        }
        armProbes()
    }

    private func probe(_ endpoint: Endpoint) {
        var made: ConnectAttempt?
        let attempt = ConnectAttempt(pool: self, endpoint: endpoint, timeout: connectTime) { [unowned self] result in
            probes.removeAll { $0 === made }
            made = nil
            // Ready for the next request, unless requests have taken all the room meanwhile.
            if case .success(let connection) = result {
                let hasRoom = connectionsOfRequests <= maxConnections
                if let shared = connection.shared {
                    if hasRoom { add(shared) } else { shared.close() }
                } else {
                    let made = UpstreamConnection(connection, pool: self)
                    if hasRoom { put(made) } else { made.close() }
                }
            }
            armProbes()
        }
        made = attempt
        probes.append(attempt)
    }

    // MARK: By checks

    /// Lets each address have its check, where the settings ask for them.
    func updateChecks() {
        guard let active = settings.health.active, !isRetired else { return }
        for check in checks where check.endpoint.isGone { check.stop() }
        checks.removeAll { $0.endpoint.isGone }
        for endpoint in endpoints where !checks.contains(where: { $0.endpoint === endpoint }) {
            checks.append(ActiveCheck(pool: self, endpoint: endpoint, settings: active))
        }
    }

    /// The checks of an address have come to another view; `why`: what the last one failed for.
    func noteChecks(of endpoint: Endpoint, failing why: String?) {
        let isFailing = why != nil
        endpoint.setFailingChecks(isFailing)
        if let why {
            tally.ejections &+= 1
            tell("\(endpoint.label) fails its checks: \(why)")
        } else {
            tell(recovery: "\(endpoint.label) passes its checks again")
        }
        if isFailing { closeIdle(of: endpoint) } else { dispatchLater() }
    }
}
