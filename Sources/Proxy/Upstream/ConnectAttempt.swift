internal import EventLoop

/// Why no connection to an upstream could be had.
enum UpstreamFailure {
    /// The name could not be resolved, or nobody listens: 502.
    case unreachable(String)
    /// Neither yes nor no within the connect time: 504.
    case timedOut
    /// The TLS handshake failed; no byte of a request was written: 502.
    case insecure(TLSError)
}

/// One attempt at a new upstream connection for an exchange: resolve the name, then connect, then
/// the TLS handshake where the upstream has one, all within one deadline.
final class ConnectAttempt {
    private var exchange: Exchange?
    private let pool: UpstreamPool
    private let deadline: UInt64
    private var lookUp: Resolution?
    private var connecting: Connecting?
    private var handshake: TLSHandshake?
    /// The name that stands for the upstream's in TLS.
    private let endpoint: String
    /// Further addresses of the name, tried when one can't be reached: `localhost` is often `::1` first.
    private var others: ArraySlice<SocketAddress> = []

    /// Addresses of one name that are tried at most (docs/rules.md F20).
    private static let addressLimit = 3

    init(exchange: Exchange, pool: UpstreamPool, endpoint: String, timeout: UInt64) {
        self.exchange = exchange
        self.pool = pool
        self.endpoint = endpoint
        self.deadline = pool.loop.now + timeout
    }

    /// Starts with addresses that are known, or with the look-up of a name. The outcome comes later, from the loop.
    func start(_ target: UpstreamTarget) {
        switch target {
        case .addresses(let addresses): connect(toOneOf: addresses)
        case .name(let host, let port):
            lookUp = pool.resolver.resolve(host, port: port, timeout: timeLeft) { [self] result, seconds in
                lookUp = nil
                switch result {
                case .success(let addresses):
                    pool.remember(addresses, of: host, seconds: seconds)
                    connect(toOneOf: addresses)
                case .failure(.timedOut): fail(.timedOut)
                case .failure(let error): fail(.unreachable("\(error)"))
                }
            }
        }
    }

    private func connect(toOneOf addresses: [SocketAddress]) {
        guard let address = addresses.first else { return fail(.unreachable("its name has no address")) }
        others = addresses.prefix(Self.addressLimit).dropFirst()
        connect(to: address)
    }

    private func connect(to address: SocketAddress) {
        connecting = Connect.start(loop: pool.loop, address: address, timeout: timeLeft) { [self] result in
            connecting = nil
            switch result {
            case .success(let descriptor):
                let ready = ReadyConnection(descriptor: descriptor, address: address)
                if let context = pool.tlsContext { secure(ready, context) } else { succeed(ready) }
            case .failure(.timedOut): fail(.timedOut)
            case .failure(let error):
                // Nothing was written, so another address may be tried whatever the method is.
                if let next = others.popFirst() { connect(to: next) } else { fail(.unreachable("\(error)")) }
            }
        }
    }

    /// The handshake is a part of connecting: nothing of the request was written, so another address may be tried.
    private func secure(_ connection: ReadyConnection, _ context: TLSClientContext) {
        handshake = TLSHandshake(
            loop: pool.loop, descriptor: connection.descriptor, context: context, endpoint: endpoint, timeout: timeLeft
        ) { [self] result in
            handshake = nil
            switch result {
            case .success(let stream):
                exchange?.worker.counters.tls.succeeded(.upstream, isResumed: stream.tlsFacts?.isResumed == true)
                succeed(ReadyConnection(descriptor: -1, address: connection.address, stream: stream))
            case .failure(let error):
                exchange?.worker.counters.tls.failed(.upstream, error)
                if error.reason == .handshakeTimeout { return fail(.timedOut) }
                if let next = others.popFirst() { connect(to: next) } else { fail(.insecure(error)) }
            }
        }
    }

    private func succeed(_ connection: ReadyConnection) {
        let exchange = exchange
        self.exchange = nil
        exchange?.connected(connection, pool: pool)
    }

    private var timeLeft: UInt64 {
        let now = pool.loop.now
        return deadline > now ? deadline - now : 1
    }

    private func fail(_ failure: UpstreamFailure) {
        let exchange = exchange
        self.exchange = nil
        exchange?.connectFailed(failure)
    }

    /// Gives up; nothing is told any more.
    func cancel() {
        exchange = nil
        lookUp?.cancel()
        lookUp = nil
        connecting?.cancel()
        connecting = nil
        handshake?.cancel()
        handshake = nil
    }
}
