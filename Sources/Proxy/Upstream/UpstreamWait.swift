internal import EventLoop
internal import Gateway

/// An exchange's way to a connection when no idle one was at hand: a pause before a request is sent again, the look-up of
/// the name, the queue, up to three attempts to connect.
final class UpstreamWait: TickTask {
    private enum State {
        /// → unresolved, queued, connecting, failing
        case pausing
        /// → queued, connecting, failing
        case unresolved
        /// → connecting, over, failing
        case queued
        /// → connecting, over, failing
        case connecting(ConnectAttempt)
        /// For a connection of HTTP/2 to that address, which it shares with others. → connecting, joined, queued, over, failing
        case joined(Endpoint)
        /// Told at the end of the tick. → over
        case failing(UpstreamFailure)
        case over
    }

    private var exchange: Exchange?
    private let pool: UpstreamPool
    /// Whether an idle connection of HTTP/1 will not do: another one has just turned out to be dead.
    let mustBeFresh: Bool
    /// Addresses that could not be reached, or that had the request before.
    private(set) var tried: [Endpoint] = []
    /// Those of them that could not be reached: one that had the request before is better than none.
    private var unreachable: [Endpoint] = []
    private var failures = 0
    private var state = State.pausing
    private var timer: Timer!

    /// Addresses that are tried at most (docs/rules.md F20).
    private static let addressLimit = 3

    init(exchange: Exchange, pool: UpstreamPool, mustBeFresh: Bool) {
        self.exchange = exchange
        self.pool = pool
        self.mustBeFresh = mustBeFresh
        timer = Timer(loop: pool.loop) { [unowned self] in timedOut() }
    }

    /// Starts, with an address that was chosen already if there is one.
    func start(with endpoint: Endpoint?) {
        if let endpoint, pool.queue.isEmpty, pool.mayConnect(to: endpoint) { connect(to: endpoint) } else { proceed() }
    }

    /// Starts after a pause, with another address than `failed` where there is one.
    func start(after pause: UInt64, avoiding failed: Endpoint?) {
        if let failed, pool.endpoints.count > 1 { tried = [failed] }
        if pause > 0 { timer.set(after: pause) } else { proceed() }
    }

    /// Goes on as far as it goes: to an address, into the queue, to the end.
    func proceed() {
        timer.cancel()
        if pool.endpoints.isEmpty {
            guard pool.isUndecided else { return fail(pool.noAddress) }
            state = .unresolved
            pool.unresolved.append(self)
            return timer.set(after: pool.connectTime)
        }
        if pool.queue.isEmpty, pool.inFlight < pool.maxRequests {
            guard let endpoint = pool.choose(for: self) else { return fail(.unavailable) }
            if pool.mayConnect(to: endpoint) { return connect(to: endpoint) }
            if let other = pool.endpointWithRoom(excluding: tried) { return connect(to: other) }
        }
        guard pool.enqueue(self) else { return fail(.overloaded) }
        state = .queued
        timer.set(after: pool.settings.queue.timeout.nanoseconds)
    }

    /// Connects to `endpoint`, for which there is room.
    func connect(to endpoint: Endpoint) {
        timer.cancel()
        pool.noteSending(to: endpoint)
        pool.began(on: endpoint)
        exchange?.endpoint = endpoint
        if pool.speaksHTTP2 {
            state = .joined(endpoint)
            return pool.join(self, endpoint)
        }
        state = .connecting(
            ConnectAttempt(pool: pool, endpoint: endpoint, timeout: pool.connectTime) { [self] result in
                switch result {
                case .success(let connection):
                    take(
                        UpstreamConnection(connection, pool: pool), of: endpoint, madeIn: connection.connectTime)
                case .failure(let error): connectFailed(error.failure, to: endpoint)
                }
            })
    }

    /// There is the connection to `endpoint` that was waited for.
    func take(_ connection: UpstreamSide, of endpoint: Endpoint, madeIn connectTime: UInt64) {
        pool.ended(on: endpoint)
        take(connection, madeIn: connectTime)
    }

    /// No connection to `endpoint` may be made now.
    func leaveStreams(of endpoint: Endpoint) {
        pool.ended(on: endpoint)
        proceed()
    }

    /// Nothing was written, so another address may be tried whatever the method is.
    func connectFailed(_ failure: UpstreamFailure, to endpoint: Endpoint) {
        pool.ended(on: endpoint)
        failures += 1
        tried.append(endpoint)
        unreachable.append(endpoint)
        guard failures < Self.addressLimit, failure.mayBeAnotherAddress,
            let next = pool.choose(excluding: tried) ?? pool.choose(excluding: unreachable)
        else { return fail(failure) }
        // As for a request that comes to that address at first: else each that has tried another one before would leave one more
        // connection behind.
        if !mustBeFresh, let connection = pool.idleConnection(of: next) {
            pool.noteSending(to: next)
            take(connection)
        } else if pool.mayConnect(to: next) {
            connect(to: next)
        } else {
            fail(failure)
        }
    }

    /// There is a connection, which was there already or was made for this request, in so many nanoseconds.
    func take(_ connection: UpstreamSide, madeIn connectTime: UInt64 = 0) {
        timer.cancel()
        state = .over
        let exchange = exchange
        self.exchange = nil
        exchange?.connected(connection, madeIn: connectTime)
    }

    private func timedOut() {
        switch state {
        case .pausing: proceed()
        case .unresolved:
            pool.leave(self)
            fail(.unresolved("it was not looked up in time"))
        case .queued:
            pool.leave(self)
            fail(.overloaded)
        case .connecting, .joined, .failing, .over: break
        }
    }

    /// Ends without a connection; the exchange hears of it when the tick is over, as it may be in the middle of something.
    func fail(_ failure: UpstreamFailure) {
        timer.cancel()
        pool.tally.count(failure)
        state = .failing(failure)
        pool.loop.afterTick(self)
    }

    func tickEnded() {
        guard case .failing(let failure) = state else { return }
        state = .over
        let exchange = exchange
        self.exchange = nil
        exchange?.connectFailed(failure)
    }

    /// Gives up; nothing is told any more. A place in the queue is free at once.
    func cancel() {
        exchange = nil
        timer.cancel()
        switch state {
        case .queued, .unresolved: pool.leave(self)
        case .connecting(let attempt):
            attempt.cancel()
            pool.ended(on: attempt.endpoint)
        case .joined(let endpoint):
            endpoint.streamQueue?.remove(self)
            pool.ended(on: endpoint)
        case .pausing, .failing, .over: break
        }
        state = .over
    }
}

extension UpstreamFailure {
    /// Whether another address may have more luck.
    fileprivate var mayBeAnotherAddress: Bool {
        if case .noLocalPort = self { true } else { isOfAddress }
    }
}
