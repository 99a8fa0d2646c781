internal import EventLoop
internal import Octets

/// Makes one connection to a server that is no upstream: resolves its name, tries the addresses one after the other, and secures the
/// first that accepts where it is to be secure.
final class Connector {
    enum Failure: Error, Equatable {
        /// The name can't be resolved, or the server be reached, with the reason.
        case unreachable(String)
        /// No TLS connection could be made, with the reason.
        case insecure(String)
    }

    private let loop: EventLoop
    /// The name that a certificate must be for, and what vouches for that; nil: no TLS.
    private let security: (name: String, context: TLSClientContext)?
    private let time: UInt64
    private unowned let handler: any StreamHandler
    private var completion: ((Result<Stream, Failure>) -> Void)?
    private var lookUp: Resolution?
    private var connecting: Connecting?
    private var handshake: TLSHandshake?

    /// - Parameters:
    ///   - time: nanoseconds for each step: for the name, for all addresses, for TLS. Whoever wants one time for all calls `cancel()`.
    ///   - handler: the stream's; it outlives the connector.
    ///   - completion: comes once, from the loop, never from inside `init`, and not after `cancel()`.
    convenience init(
        to address: (host: String, port: UInt16), secured security: (name: String, context: TLSClientContext)?,
        within time: UInt64, loop: EventLoop, resolver: Resolver, handler: any StreamHandler,
        completion: @escaping (Result<Stream, Failure>) -> Void
    ) {
        self.init(
            to: .tcp(host: address.host, port: Int(address.port)), secured: security, within: time, loop: loop,
            resolver: resolver, handler: handler, completion: completion)
    }

    /// As above, to one of an upstream's addresses.
    init(
        to address: UpstreamAddress, secured security: (name: String, context: TLSClientContext)?,
        within time: UInt64, loop: EventLoop, resolver: Resolver, handler: any StreamHandler,
        completion: @escaping (Result<Stream, Failure>) -> Void
    ) {
        self.loop = loop
        self.security = security
        self.time = time
        self.handler = handler
        self.completion = completion
        switch address {
        case .unix(let path): connect([SocketAddress(unixPath: path)])
        case .tcp(let host, let port):
            lookUp = resolver.resolve(host, port: UInt16(port), timeout: time) { [unowned self] result, _ in
                lookUp = nil
                switch result {
                case .success(let addresses): connect(addresses[...])
                case .failure(let error): finish(.failure(.unreachable("\(error)")))
                }
            }
        }
    }

    /// Gives up. No completion comes.
    func cancel() {
        completion = nil
        lookUp?.cancel()
        connecting?.cancel()
        handshake?.cancel()
        (lookUp, connecting, handshake) = (nil, nil, nil)
    }

    private func finish(_ result: Result<Stream, Failure>) {
        guard let completion else { return }
        self.completion = nil
        completion(result)
    }

    private func connect(_ addresses: ArraySlice<SocketAddress>) {
        guard let address = addresses.first else {
            return finish(.failure(.unreachable("no address accepts connections")))
        }
        // Some of the time is left for the other ones.
        let time = time / UInt64(addresses.count + 1)
        connecting = Connect.start(loop: loop, address: address, timeout: time) { [unowned self] result in
            connecting = nil
            switch result {
            case .success(let descriptor): secure(descriptor)
            case .failure: connect(addresses.dropFirst())
            }
        }
    }

    private func secure(_ descriptor: Int32) {
        guard let security else {
            return finish(.success(Stream(loop: loop, descriptor: descriptor, handler: handler)))
        }
        handshake = TLSHandshake(
            loop: loop, descriptor: descriptor, context: security.context, endpoint: security.name, timeout: time
        ) { [unowned self] result in
            handshake = nil
            switch result {
            case .success(let stream):
                stream.handler = handler
                finish(.success(stream))
            case .failure(let error): finish(.failure(.insecure("\(error)")))
            }
        }
    }
}
