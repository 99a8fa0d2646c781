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

    /// Nanoseconds for all of it: 10 s.
    static let time: UInt64 = 10_000_000_000

    private let request: OutputBuffer
    private var completion: ((Result<[UInt8], Failure>) -> Void)?
    private var timer: Timer?
    private var connector: Connector?
    private var stream: Stream?
    private var response = WholeResponse()

    /// - Parameters:
    ///   - location: what is fetched.
    ///   - address: whom to connect to in place of the location's own host, where the settings say so.
    ///   - completion: comes once, from the loop, never from inside `init`.
    init(
        _ location: SenderLocation, at address: (host: String, port: UInt16)?, loop: EventLoop, resolver: Resolver,
        context: TLSClientContext, completion: @escaping (Result<[UInt8], Failure>) -> Void
    ) {
        self.completion = completion
        var request = OutputBuffer()
        request.append("GET ")
        request.append(text: location.target)
        request.append(" HTTP/1.1\r\nHost: ")
        request.append(text: location.host)
        request.append("\r\nUser-Agent: recast\r\nAccept: */*\r\nConnection: close\r\n\r\n")
        self.request = request
        timer = Timer(loop: loop) { [unowned self] in finish(.failure(.timedOut)) }
        timer?.set(after: Self.time)
        connector = Connector(
            to: address ?? (location.host, 443), secured: (location.host, context), within: Self.time, loop: loop,
            resolver: resolver, handler: self
        ) { [unowned self] result in
            connector = nil
            switch result {
            case .success(let stream):
                self.stream = stream
                let request = self.request
                stream.write(request.span)
            case .failure(.unreachable(let reason)): finish(.failure(.unreachable(reason)))
            case .failure(.insecure(let reason)): finish(.failure(.insecure(reason)))
            }
        }
    }

    private func finish(_ result: Result<[UInt8], Failure>) {
        guard let completion else { return }
        self.completion = nil
        timer?.cancel()
        connector?.cancel()
        connector = nil
        if let stream {
            self.stream = nil
            stream.close()
        }
        completion(result)
    }

    // MARK: The stream

    func received(_ bytes: Span<UInt8>, on stream: Stream) -> Int {
        var at = 0
        do throws(WireError) {
            while completion != nil {
                switch try response.read(bytes, at: &at) {
                case .needsMore: return at
                case .head where response.head.status != 200:
                    finish(.failure(.status(response.head.status)))
                case .head: continue
                case .whole: finish(.success(response.content))
                }
            }
        } catch {
            finish(.failure(.badResponse))
        }
        return bytes.count
    }

    func ended(_ stream: Stream) {
        // Without close_notify anybody on the way may have cut it (RFC 8446 §6.1).
        guard !stream.isTruncated, response.end() else { return finish(.failure(.badResponse)) }
        finish(.success(response.content))
    }

    func drained(_ stream: Stream) {}
    func failed(_ stream: Stream, _ errno: Int32) {
        finish(.failure(stream.tlsAlert.map { .insecure("\($0)") } ?? .badResponse))
    }
}
