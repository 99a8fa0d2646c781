internal import EventLoop
internal import Gateway

/// One attempt at one address of an upstream, within its own time: the socket, and whatever must follow before a request
/// can be written. Counts as a connection of the pool from its start.
final class ConnectAttempt {
    typealias Completion = (Result<ReadyConnection, ConnectAttemptError>) -> Void

    private let pool: UpstreamPool
    let endpoint: Endpoint
    private let startedAt: UInt64
    private let deadline: UInt64
    private var completion: Completion?
    private var connecting: Connecting?
    private var handshake: TLSHandshake?
    private var shared: HTTP2ClientConnection?

    /// An attempt that fails within this time costs a request nothing; 100 ms.
    private static let quickTime: UInt64 = 100_000_000

    /// - Parameter completion: comes once, from the loop, never from inside `init`, and not after `cancel()`. On success
    ///   the connection is still counted; its taker makes an `UpstreamConnection` of it, takes the one of HTTP/2 that it is, or
    ///   calls `pool.closed`.
    init(pool: UpstreamPool, endpoint: Endpoint, timeout: UInt64, completion: @escaping Completion) {
        self.pool = pool
        self.endpoint = endpoint
        self.startedAt = pool.loop.now
        self.deadline = pool.loop.activeNow + timeout
        self.completion = completion
        pool.opened(endpoint)
        connecting = Connect.start(loop: pool.loop, address: endpoint.address, timeout: timeout) { [self] result in
            connecting = nil
            switch result {
            case .success(let descriptor): opened(descriptor)
            case .failure(let error): fail(UpstreamFailure(error))
            }
        }
    }

    /// The socket is connected. What has to be agreed with the other side before requests can be written (TLS, HTTP/2) belongs
    /// here: it ends in `succeed`, or in `fail` as a refused connection does.
    private func opened(_ descriptor: Int32) {
        guard let context = pool.settings.tls?.context else {
            return speak(descriptor, nil)
        }
        handshake = TLSHandshake(
            loop: pool.loop, descriptor: descriptor, context: context, endpoint: endpoint.host, timeout: timeLeft
        ) { [self] result in
            handshake = nil
            switch result {
            case .success(let stream):
                pool.handshakes.succeeded(.upstream, isResumed: stream.tlsFacts?.isResumed == true)
                speak(-1, stream)
            case .failure(let error):
                fail(error.reason == .handshakeTimeout ? .timedOut : .insecure(error.word), because: error)
            }
        }
    }

    /// Bytes can be sent. HTTP/1 needs no more; of HTTP/2 the server must show that it speaks it.
    private func speak(_ descriptor: Int32, _ stream: Stream?) {
        let connection = ReadyConnection(
            descriptor: descriptor, endpoint: endpoint, connectTime: pool.loop.now - startedAt, stream: stream)
        guard pool.speaksHTTP2 else { return succeed(connection) }
        if let facts = stream?.tlsFacts, !facts.isHTTP2 {
            stream?.close()
            return fail(.otherProtocol("it didn't choose it in the TLS handshake (ALPN)"))
        }
        shared = HTTP2ClientConnection(connection, pool: pool, within: timeLeft) { [self] failure in
            let shared = shared
            self.shared = nil
            if let failure { return fail(failure, because: shared?.alert) }
            succeed(
                ReadyConnection(
                    descriptor: -1, endpoint: endpoint, connectTime: pool.loop.now - startedAt, stream: nil,
                    shared: shared))
        }
    }

    private func succeed(_ connection: ReadyConnection) {
        pool.noteConnected(endpoint)
        let completion = completion
        self.completion = nil
        completion?(.success(connection))
    }

    /// `error`: what TLS failed for, more exactly than clients are told.
    private func fail(_ failure: UpstreamFailure, because error: TLSError? = nil) {
        pool.closed(endpoint)
        let isQuick = pool.loop.now - startedAt < Self.quickTime
        pool.noteConnectFailure(failure, of: endpoint, isQuick: isQuick, because: error)
        let completion = completion
        self.completion = nil
        completion?(.failure(ConnectAttemptError(failure: failure, tls: error)))
    }

    /// What is left of the attempt's time, in nanoseconds, at least 1.
    var timeLeft: UInt64 {
        let now = pool.loop.activeNow
        return deadline > now ? deadline - now : 1
    }

    /// Gives up; nothing is told any more.
    func cancel() {
        guard completion != nil else { return }
        completion = nil
        connecting?.cancel()
        connecting = nil
        handshake?.cancel()
        handshake = nil
        // It counts the connection itself.
        if let shared {
            self.shared = nil
            return shared.close()
        }
        pool.closed(endpoint)
    }
}

/// Why an attempt failed.
struct ConnectAttemptError: Error {
    let failure: UpstreamFailure
    /// What TLS failed for, where that is why.
    let tls: TLSError?

    /// The same for an operator.
    var reason: EndpointFailure { tls.map { EndpointFailure.tls($0) } ?? .connecting(failure) }
}
