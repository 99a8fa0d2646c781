internal import EventLoop

/// Why no connection to an upstream could be had.
enum UpstreamFailure {
    /// The name could not be resolved, or nobody listens: 502.
    case unreachable(String)
    /// Neither yes nor no within the connect time: 504.
    case timedOut
}

/// One attempt at a new upstream connection for an exchange: resolve the name, then connect, all within one deadline.
final class ConnectAttempt {
    private var exchange: Exchange?
    private let pool: UpstreamPool
    private let deadline: UInt64
    private var lookUp: Resolution?
    private var connecting: Connecting?
    /// Further addresses of the name, tried when one can't be reached: `localhost` is often `::1` first.
    private var others: ArraySlice<SocketAddress> = []

    /// Addresses of one name that are tried at most (docs/rules.md F20).
    private static let addressLimit = 3

    init(exchange: Exchange, pool: UpstreamPool, timeout: UInt64) {
        self.exchange = exchange
        self.pool = pool
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
                let exchange = exchange
                self.exchange = nil
                exchange?.connected(ReadyConnection(descriptor: descriptor, address: address), pool: pool)
            case .failure(.timedOut): fail(.timedOut)
            case .failure(let error):
                // Nothing was written, so another address may be tried whatever the method is.
                if let next = others.popFirst() { connect(to: next) } else { fail(.unreachable("\(error)")) }
            }
        }
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
    }
}
