internal import EventLoop
internal import Gateway

/// Requests that wait for a stream to one address of an upstream of HTTP/2, first come, first served: one connection is made at a time,
/// for as many of them as it takes.
final class StreamQueue: TickTask {
    private let endpoint: Endpoint
    private let pool: UpstreamPool
    private var waiting: [UpstreamWait] = []
    private var attempt: ConnectAttempt?
    private var isScheduled = false

    init(to endpoint: Endpoint, pool: UpstreamPool) {
        self.endpoint = endpoint
        self.pool = pool
    }

    /// Whether a connection is made, so that another request needs none.
    var isConnecting: Bool { attempt != nil }

    /// The endpoint has it as long as somebody waits, or a connection is made.
    private func settle() { if waiting.isEmpty, attempt == nil { endpoint.streamQueue = nil } }

    /// Adds a request, which is served when the tick is over at the earliest.
    func add(_ wait: UpstreamWait) {
        waiting.append(wait)
        guard attempt == nil, !isScheduled else { return }
        isScheduled = true
        pool.loop.afterTick(self)
    }

    /// Forgets a request that waits no more. A connection that is made for it is kept.
    func remove(_ wait: UpstreamWait) { waiting.removeAll { $0 === wait } }

    /// A connection has room again: who waits for one that is being made needn't.
    func noteRoom() {
        guard !waiting.isEmpty, !isScheduled else { return }
        isScheduled = true
        pool.loop.afterTick(self)
    }

    func tickEnded() {
        isScheduled = false
        defer { settle() }
        serve(madeIn: 0)
        guard attempt == nil, !waiting.isEmpty else { return }
        guard !endpoint.takesNoStreams, pool.makeRoom() else {
            // They wait where those do whose upstream is at its limit.
            let waiting = waiting
            self.waiting = []
            return waiting.forEach { $0.leaveStreams(of: endpoint) }
        }
        connect()
    }

    /// - Parameter made: a connection that has just been made, over which requests begin whatever else has come there.
    private func serve(madeIn time: UInt64, over made: HTTP2ClientConnection? = nil) {
        while let wait = waiting.first,
            let connection = made.flatMap({ $0.hasRoom ? $0 : nil }) ?? endpoint.roomyConnection
        {
            waiting.removeFirst()
            wait.take(connection.take(), of: endpoint, madeIn: time)
        }
    }

    private func connect() {
        attempt = ConnectAttempt(pool: pool, endpoint: endpoint, timeout: pool.connectTime) { [self] result in
            attempt = nil
            defer { settle() }
            switch result {
            case .success(let connection):
                guard let shared = connection.shared else { preconditionFailure("an upstream that speaks HTTP/2") }
                pool.add(shared)
                let mayServe = shared.hasRoom
                serve(madeIn: connection.connectTime, over: shared)
                // One over which no request may begin would be followed by others like it.
                mayServe || shared.takesNoStreams ? tickEnded() : fail(.overloaded)
            case .failure(let error):
                serve(madeIn: 0)
                fail(error.failure)
            }
        }
    }

    private func fail(_ failure: UpstreamFailure) {
        let waiting = waiting
        self.waiting = []
        for wait in waiting { wait.connectFailed(failure, to: endpoint) }
    }
}

// Connections of HTTP/2: each serves many requests at once, and stays in its endpoint's list as long as more may begin.
extension UpstreamPool {
    /// Has `wait` served over a connection to `endpoint`, one that is there or one that is made.
    func join(_ wait: UpstreamWait, _ endpoint: Endpoint) {
        let queue = endpoint.streamQueue ?? StreamQueue(to: endpoint, pool: self)
        endpoint.streamQueue = queue
        queue.add(wait)
    }

    /// Takes in a connection over which requests may begin.
    func add(_ connection: HTTP2ClientConnection) {
        connection.endpoint.shared.append(connection)
        connection.schedule()
        noteRoom()
    }

    /// Lets no request begin over `connection` any more.
    func remove(_ connection: HTTP2ClientConnection) {
        connection.endpoint.shared.removeAll { $0 === connection }
    }

    /// Another request may begin: those that wait have their turn.
    func noteRoom() { if !queue.isEmpty { dispatchLater() } }
}
