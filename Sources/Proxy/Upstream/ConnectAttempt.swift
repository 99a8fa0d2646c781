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

    init(exchange: Exchange, pool: UpstreamPool, timeout: UInt64) {
        self.exchange = exchange
        self.pool = pool
        self.deadline = pool.loop.now + timeout
    }

    /// Starts with an address that is known, or with the look-up of a name. The outcome comes later, from the loop.
    func start(_ target: UpstreamTarget) {
        switch target {
        case .address(let address): connect(to: address)
        case .name(let host, let port):
            lookUp = pool.resolver.resolve(host, port: port, timeout: timeLeft) { [self] result, seconds in
                lookUp = nil
                switch result {
                case .success(let addresses):
                    pool.remember(addresses, of: host, seconds: seconds)
                    if let address = addresses.first {
                        connect(to: address)
                    } else {
                        fail(.unreachable("its name has no address"))
                    }
                case .failure(.timedOut): fail(.timedOut)
                case .failure(let error): fail(.unreachable("\(error)"))
                }
            }
        }
    }

    private func connect(to address: SocketAddress) {
        connecting = Connect.start(loop: pool.loop, address: address, timeout: timeLeft) { [self] result in
            connecting = nil
            switch result {
            case .success(let descriptor):
                let exchange = exchange
                self.exchange = nil
                exchange?.connected(descriptor, pool: pool)
            case .failure(.timedOut): fail(.timedOut)
            case .failure(let error): fail(.unreachable("\(error)"))
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
