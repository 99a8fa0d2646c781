internal import Gateway
internal import HTTPWire
internal import Octets

/// Who is told of an exchange's messages on their way.
struct ExchangeWatchers: OptionSet {
    let rawValue: UInt8
    /// Its place in a trace.
    static var trace: ExchangeWatchers { ExchangeWatchers(rawValue: 1) }
    /// The console.
    static var tap: ExchangeWatchers { ExchangeWatchers(rawValue: 2) }
    /// The route's shadow.
    static var shadow: ExchangeWatchers { ExchangeWatchers(rawValue: 4) }
    /// The console, which has sent the request itself: beside `tap`.
    static var replay: ExchangeWatchers { ExchangeWatchers(rawValue: 8) }

    /// Whether one of them looks at messages, which a trace doesn't.
    @inline(__always)
    var lookAtMessages: Bool { rawValue > Self.trace.rawValue }
}

// What is of interest of an exchange to all who watch it: the console (ExchangeTap.swift keeps what it shows), the route's shadow, a trace.
extension Exchange {
    // MARK: All of them

    /// The head of the upstream's response.
    @inline(never)
    func watchResponse(_ head: borrowing MessageHead) {
        if watchers.contains(.tap) { tapResponse(head) }
        if watchers.contains(.shadow) { noteForShadow(head) }
    }

    /// Its content.
    @inline(never)
    func watchResponse(_ content: Span<UInt8>) {
        if watchers.contains(.tap) { tapReceived(content) }
        if watchers.contains(.shadow) { noteForShadow(content) }
    }

    /// The exchange is over: each of them lets go of it.
    @inline(never)
    func endWatching() {
        if watchers.contains(.shadow) { endShadow() }
        if watchers.contains(.tap) { dropTap() }
    }

    // MARK: The shadow

    // The copy of a request for the route's `shadow`: what goes upstream is looked at on its way, and handed on when the request is over.
    // A route without one pays for a comparison with nil where a request, its answer and each piece of that pass.

    /// Begins a copy, where the route's sample and its bounds have one of this request.
    @inline(never)
    func beginShadow(_ route: Route, _ snapshot: ConfigurationSnapshot) {
        // What leaves HTTP, and calls, whose both sides speak for as long as they like, have no copy.
        guard !isCall, !request.carriesGRPC, offeredUpgrades.isEmpty, let sender = snapshot.shadows[route.index],
            sender.takesNext()
        else { return }
        let framing = requestEncoder.framing
        if case .length(let count) = framing, count > sender.options.buffer { return sender.count(.tooLarge) }
        var sources: Result<[[UInt8]], Refusal> = .success([])
        if let rule = route.shadow?.trial?.conversion {
            do throws(Refusal) {
                sources = .success(try values(of: rule.sources))
            } catch {
                sources = .failure(error)
            }
        }
        shadow = ShadowCopy(
            sender, framing: framing, isHead: request.methodKind == .head, requestID: requestID, sources: sources)
        watchers.insert(.shadow)
        retryBuffer.setCopied(true)
    }

    /// `framed`, `body` and `end` are about to be sent.
    @inline(never)
    func copyForShadow(_ body: Span<UInt8>, _ end: Span<UInt8>) {
        guard let shadow, let reason = shadow.append(framed.span, body, end) else { return }
        shadow.sender.count(reason)
        dropShadow()
    }

    /// The upstream's answer begins.
    @inline(never)
    func noteForShadow(_ head: borrowing MessageHead) {
        guard let shadow, shadow.sender.options.compares, let route else { return }
        shadow.first = ShadowAnswer(head, route: route, limit: shadow.sender.answerLimit)
    }

    /// It goes on.
    @inline(never)
    func noteForShadow(_ body: Span<UInt8>) {
        guard let shadow, shadow.first != nil else { return }
        shadow.first?.append(body, worker.memory)
    }

    private func dropShadow() {
        shadow?.end()
        shadow = nil
        watchers.remove(.shadow)
        retryBuffer.setCopied(false)
    }

    /// The request is over: its copy goes on its own way.
    @inline(never)
    func endShadow() {
        guard let shadow else { return }
        self.shadow = nil
        retryBuffer.setCopied(false)
        shadow.isSent = machine.request == .sent
        shadow.first?.isWhole = machine.response == .complete && record.flag == nil
        shadow.sender.take(shadow)
    }

    // MARK: The trace

    /// Decides on its place in a trace where there is none yet: from then on `watchers` has `trace`. The worker makes spans.
    @inline(__always)
    func beginTrace() { if !watchers.contains(.trace) { decideTrace() } }

    // Apart, since nothing of it is to be paid for where no spans are made.
    @inline(never)
    private func decideTrace() {
        watchers.insert(.trace)
        trace.begin(request, &worker.traceSampler)
    }
}
