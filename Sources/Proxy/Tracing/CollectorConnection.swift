internal import EventLoop
internal import HTTPWire
internal import Octets

/// Posts one document after the other to a collector by HTTP/1.1, over a connection that is kept between two of them.
final class CollectorConnection: StreamHandler {
    struct Answer {
        var status: Int
        /// The seconds that Retry-After asks for; a date there is not looked at.
        var retryAfter: Int?
        var content: [UInt8]
    }

    enum Outcome {
        case answered(Answer)
        /// There is no whole answer, for this reason.
        case failed(String)
    }

    private let settings: TracingSettings
    private let loop: EventLoop
    private let resolver: Resolver
    /// The head of each request, but for its length.
    private let head: OutputBuffer
    private var context: TLSClientContext?
    private var timer: Timer!
    private var completion: ((Outcome) -> Void)?
    private var request = OutputBuffer()
    private var connector: Connector?
    private var stream: Stream?
    private var response = WholeResponse()
    /// Bytes of Content-Length's line and of the empty one at most.
    private static let lengthField = 64

    init(_ settings: TracingSettings, loop: EventLoop, resolver: Resolver) {
        self.settings = settings
        self.loop = loop
        self.resolver = resolver
        var head = OutputBuffer()
        let host = AddressText.hostField(host: settings.host, port: Int(settings.port), isSecure: settings.isSecure)
        head.append(text: "POST \(settings.target) HTTP/1.1\r\nHost: \(host)\r\n")
        head.append(text: "User-Agent: recast/\(BuildInformation.version)\r\n")
        head.append("Content-Type: application/x-protobuf\r\n")
        for header in settings.headers { head.append(text: "\(header.name): \(header.value)\r\n") }
        self.head = head
        timer = Timer(loop: loop) { [unowned self] in
            fail(isUnsecurable ? "the system's authorities can't be loaded" : "it doesn't answer in time")
        }
    }

    /// Sends a document. `completion` comes once, from the loop, never from inside this call, and not after `close()`. One at a time.
    func post(_ document: Span<UInt8>, _ completion: @escaping (Outcome) -> Void) {
        precondition(self.completion == nil, "one request at a time")
        self.completion = completion
        response = WholeResponse()
        let head = head
        request.reserve(head.count + Self.lengthField + document.count)
        request.append(head.span)
        HeadWriter.field("Content-Length", decimal: document.count, into: &request)
        HeadWriter.end(into: &request)
        request.append(document)
        if settings.isSecure, context == nil { context = try? TLSClientContext(TLSClientOptions()) }
        timer.set(after: isUnsecurable ? 0 : settings.timeout.nanoseconds)
        if let stream { return write(to: stream) }
        if isUnsecurable { return }
        connector = Connector(
            to: (settings.host, settings.port), secured: context.map { (settings.host, $0) },
            within: settings.timeout.nanoseconds, loop: loop, resolver: resolver, handler: self
        ) { [unowned self] result in
            connector = nil
            switch result {
            case .success(let stream):
                self.stream = stream
                write(to: stream)
            case .failure(.unreachable(let reason)), .failure(.insecure(let reason)): fail(reason)
            }
        }
    }

    private var isUnsecurable: Bool { settings.isSecure && context == nil }

    /// Closes the connection. No completion comes.
    func close() {
        completion = nil
        letGo()
    }

    private func write(to stream: Stream) {
        stream.write(&request)
        // A batch may be large, and the next one may be a small one.
        request = OutputBuffer()
    }

    private func letGo() {
        timer.cancel()
        connector?.cancel()
        connector = nil
        request = OutputBuffer()
        if let stream {
            self.stream = nil
            stream.abort()
        }
    }

    private func fail(_ reason: String) {
        letGo()
        finish(.failed(reason))
    }

    private func finish(_ outcome: Outcome) {
        timer.cancel()
        guard let completion else { return }
        self.completion = nil
        completion(outcome)
    }

    // MARK: The stream

    func received(_ bytes: Span<UInt8>, on stream: Stream) -> Int {
        guard completion != nil else {
            // Nobody asked.
            letGo()
            return bytes.count
        }
        var at = 0
        do throws(WireError) {
            while true {
                switch try response.read(bytes, at: &at) {
                case .needsMore: return at
                case .head: continue
                case .whole:
                    answered(keeps: response.head.isKeepAlive && at == bytes.count)
                    return bytes.count
                }
            }
        } catch {
            fail("its answer can't be read")
        }
        return bytes.count
    }

    private func answered(keeps: Bool) {
        let answer = Answer(
            status: response.head.status, retryAfter: response.head.retryAfter, content: response.content)
        if !keeps { letGo() }
        finish(.answered(answer))
    }

    func ended(_ stream: Stream) {
        // Without close_notify anybody on the way may have cut it (RFC 8446 §6.1).
        if completion != nil, !stream.isTruncated, response.end() { return answered(keeps: false) }
        fail("it closes the connection")
    }

    func drained(_ stream: Stream) {}

    func failed(_ stream: Stream, _ errno: Int32) {
        self.stream = nil
        fail(stream.tlsAlert.map { "\($0)" } ?? "the connection breaks")
    }
}

extension MessageHead {
    /// The seconds in Retry-After (RFC 9110 §10.2.3), at most nine digits.
    fileprivate var retryAfter: Int? {
        guard let line = first(named: "retry-after".utf8Span.span) else { return nil }
        return ASCII.decimal(value(line), most: 9)
    }
}
