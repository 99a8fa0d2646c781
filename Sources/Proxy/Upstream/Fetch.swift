internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Octets
internal import Signatures

/// One GET of a short document by HTTPS, on a connection of its own: what a sender of webhooks keeps on a server of its own. It
/// follows no redirect, and takes a 200 alone, whole, within `time`.
final class Fetch: StreamHandler {
    /// Why there is no document.
    enum Failure: Error, Equatable {
        case timedOut
        /// The name can't be resolved, or the server be reached, with the reason.
        case unreachable(String)
        /// No TLS connection could be made, with the reason.
        case insecure(String)
        case status(Int)
        /// The response can't be read, was cut, or is too long.
        case badResponse
    }

    /// Bytes of a document at most: 64 KiB.
    static let limit = 64 * 1024
    /// Nanoseconds for all of it: 10 s.
    static let time: UInt64 = 10_000_000_000

    private let loop: EventLoop
    private let context: TLSClientContext
    private let host: String
    private let request: OutputBuffer
    private var completion: ((Result<[UInt8], Failure>) -> Void)?
    private var timer: Timer?
    private var lookUp: Resolution?
    private var connecting: Connecting?
    private var handshake: TLSHandshake?
    private var stream: Stream?
    private var parser: ResponseParser
    private var head = MessageHead()
    /// Set behind the head.
    private var decoder: BodyDecoder?
    private var document: [UInt8] = []

    /// - Parameters:
    ///   - location: what is fetched.
    ///   - address: whom to connect to in place of the location's own host, where the settings say so.
    ///   - completion: comes once, from the loop, never from inside `init`, and not after `cancel()`.
    init(
        _ location: SenderLocation, at address: (host: String, port: UInt16)?, loop: EventLoop, resolver: Resolver,
        context: TLSClientContext, completion: @escaping (Result<[UInt8], Failure>) -> Void
    ) {
        self.loop = loop
        self.context = context
        self.completion = completion
        host = location.host
        var limits = WireLimits()
        limits.body = Self.limit
        parser = ResponseParser(limits: limits)
        var request = OutputBuffer()
        request.append("GET ")
        request.append(text: location.target)
        request.append(" HTTP/1.1\r\nHost: ")
        request.append(text: location.host)
        request.append("\r\nUser-Agent: recast\r\nAccept: */*\r\nConnection: close\r\n\r\n")
        self.request = request
        timer = Timer(loop: loop) { [unowned self] in finish(.failure(.timedOut)) }
        timer?.set(after: Self.time)
        lookUp = resolver.resolve(address?.host ?? host, port: address?.port ?? 443, timeout: Self.time) {
            [unowned self] result, _ in
            lookUp = nil
            switch result {
            case .success(let addresses): connect(addresses[...])
            case .failure(let error): finish(.failure(.unreachable("\(error)")))
            }
        }
    }

    /// Gives up. No completion comes.
    func cancel() {
        completion = nil
        letGo()
    }

    private func letGo() {
        timer?.cancel()
        lookUp?.cancel()
        connecting?.cancel()
        handshake?.cancel()
        (lookUp, connecting, handshake) = (nil, nil, nil)
        if let stream {
            self.stream = nil
            stream.close()
        }
    }

    private func finish(_ result: Result<[UInt8], Failure>) {
        guard let completion else { return }
        self.completion = nil
        letGo()
        completion(result)
    }

    /// Tries the addresses one after the other.
    private func connect(_ addresses: ArraySlice<SocketAddress>) {
        guard let address = addresses.first else {
            return finish(.failure(.unreachable("no address accepts connections")))
        }
        // Some of the time is left for the other ones.
        let time = Self.time / UInt64(addresses.count + 1)
        connecting = Connect.start(loop: loop, address: address, timeout: time) { [unowned self] result in
            connecting = nil
            switch result {
            case .success(let descriptor): secure(descriptor)
            case .failure: connect(addresses.dropFirst())
            }
        }
    }

    private func secure(_ descriptor: Int32) {
        handshake = TLSHandshake(
            loop: loop, descriptor: descriptor, context: context, endpoint: host, timeout: Self.time
        ) { [unowned self] result in
            handshake = nil
            switch result {
            case .success(let stream):
                stream.handler = self
                self.stream = stream
                let request = request
                stream.write(request.span)
            case .failure(let error): finish(.failure(.insecure("\(error)")))
            }
        }
    }

    // MARK: The stream

    func received(_ bytes: Span<UInt8>, on stream: Stream) -> Int {
        var at = 0
        do throws(WireError) {
            while completion != nil {
                let rest = bytes.extracting(at..<bytes.count)
                guard var decoder else {
                    guard let used = try parser.parse(rest, into: &head) else { return at }
                    at += used
                    if head.status < 200 {
                        head.removeAll()
                        continue
                    }
                    guard head.status == 200 else {
                        finish(.failure(.status(head.status)))
                        break
                    }
                    var limits = WireLimits()
                    limits.body = Self.limit
                    decoder = BodyDecoder(
                        framing: try Framing.response(head, toHead: false), limits: limits, isResponse: true)
                    continue
                }
                let step = try decoder.next(rest)
                at += step.skipped
                document.append(contentsOf: rest.extracting(step.skipped..<step.skipped + step.available))
                decoder.took(step.available)
                at += step.available
                self.decoder = decoder
                if decoder.isComplete {
                    finish(.success(document))
                    break
                }
                if step.available == 0 { return at }
            }
        } catch {
            finish(.failure(.badResponse))
        }
        return bytes.count
    }

    func ended(_ stream: Stream) {
        // Without close_notify anybody on the way may have cut it (RFC 8446 §6.1).
        guard !stream.isTruncated, var decoder, (try? decoder.endOfInput()) != nil else {
            return finish(.failure(.badResponse))
        }
        finish(.success(document))
    }

    func drained(_ stream: Stream) {}
    func failed(_ stream: Stream, _ errno: Int32) { finish(.failure(.badResponse)) }
}
