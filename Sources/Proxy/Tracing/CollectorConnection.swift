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

    /// Bytes of an answer's content at most: 64 KiB.
    static let limit = 64 * 1024

    private let settings: TracingSettings
    private let loop: EventLoop
    private let resolver: Resolver
    /// The head of each request, but for its length.
    private let head: OutputBuffer
    private var context: TLSClientContext?
    private var timer: Timer!
    private var completion: ((Outcome) -> Void)?
    private var request = OutputBuffer()
    private var lookUp: Resolution?
    private var connecting: Connecting?
    private var handshake: TLSHandshake?
    private var stream: Stream?
    private var parser: ResponseParser
    private var answerHead = MessageHead()
    /// Set behind the head of the answer.
    private var decoder: BodyDecoder?
    private var content: [UInt8] = []

    init(_ settings: TracingSettings, loop: EventLoop, resolver: Resolver) {
        self.settings = settings
        self.loop = loop
        self.resolver = resolver
        var limits = WireLimits()
        limits.body = Self.limit
        parser = ResponseParser(limits: limits)
        var head = OutputBuffer()
        head.append(text: "POST \(settings.target) HTTP/1.1\r\nHost: \(settings.hostField)\r\n")
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
        parser.reset()
        answerHead.removeAll()
        decoder = nil
        content = []
        let head = head
        request.append(head.span)
        HeadWriter.field("Content-Length", decimal: document.count, into: &request)
        HeadWriter.end(into: &request)
        request.append(document)
        if settings.isSecure, context == nil { context = try? TLSClientContext(TLSClientOptions()) }
        timer.set(after: isUnsecurable ? 0 : settings.timeout.nanoseconds)
        if let stream { return write(to: stream) }
        if isUnsecurable { return }
        lookUp = resolver.resolve(settings.host, port: settings.port, timeout: settings.timeout.nanoseconds) {
            [unowned self] result, _ in
            lookUp = nil
            switch result {
            case .success(let addresses): connect(addresses[...])
            case .failure(let error): fail("\(error)")
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
        lookUp?.cancel()
        connecting?.cancel()
        handshake?.cancel()
        (lookUp, connecting, handshake) = (nil, nil, nil)
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

    /// Tries the addresses one after the other.
    private func connect(_ addresses: ArraySlice<SocketAddress>) {
        guard let address = addresses.first else { return fail("no address accepts connections") }
        // Some of the time is left for the other ones.
        let time = settings.timeout.nanoseconds / UInt64(addresses.count + 1)
        connecting = Connect.start(loop: loop, address: address, timeout: time) { [unowned self] result in
            connecting = nil
            switch result {
            case .success(let descriptor) where settings.isSecure: secure(descriptor)
            case .success(let descriptor):
                let stream = Stream(loop: loop, descriptor: descriptor, handler: self)
                self.stream = stream
                write(to: stream)
            case .failure: connect(addresses.dropFirst())
            }
        }
    }

    private func secure(_ descriptor: Int32) {
        guard let context else { preconditionFailure("no connection is made without what secures it") }
        handshake = TLSHandshake(
            loop: loop, descriptor: descriptor, context: context, endpoint: settings.host,
            timeout: settings.timeout.nanoseconds
        ) { [unowned self] result in
            handshake = nil
            switch result {
            case .success(let stream):
                stream.handler = self
                self.stream = stream
                write(to: stream)
            case .failure(let error): fail("\(error)")
            }
        }
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
                let rest = bytes.extracting(at..<bytes.count)
                guard var decoder else {
                    guard let used = try parser.parse(rest, into: &answerHead) else { return at }
                    at += used
                    if answerHead.status < 200 {
                        answerHead.removeAll()
                        continue
                    }
                    var limits = WireLimits()
                    limits.body = Self.limit
                    decoder = BodyDecoder(
                        framing: try Framing.response(answerHead, toHead: false), limits: limits, isResponse: true)
                    continue
                }
                if decoder.isComplete { break }
                let step = try decoder.next(rest)
                at += step.skipped
                content.append(contentsOf: rest.extracting(step.skipped..<step.skipped + step.available))
                decoder.took(step.available)
                at += step.available
                self.decoder = decoder
                if decoder.isComplete { break }
                if step.available == 0 { return at }
            }
            answered(keeps: answerHead.isKeepAlive && at == bytes.count)
        } catch {
            fail("its answer can't be read")
        }
        return bytes.count
    }

    private func answered(keeps: Bool) {
        let answer = Answer(status: answerHead.status, retryAfter: answerHead.retryAfter, content: content)
        if !keeps { letGo() }
        finish(.answered(answer))
    }

    func ended(_ stream: Stream) {
        // Without close_notify anybody on the way may have cut it (RFC 8446 §6.1).
        if completion != nil, !stream.isTruncated, var decoder, (try? decoder.endOfInput()) != nil {
            return answered(keeps: false)
        }
        fail("it closes the connection")
    }

    func drained(_ stream: Stream) {}

    func failed(_ stream: Stream, _ errno: Int32) {
        self.stream = nil
        fail("the connection breaks")
    }
}

extension MessageHead {
    /// The seconds in Retry-After (RFC 9110 §10.2.3), at most nine digits.
    fileprivate var retryAfter: Int? {
        guard let line = first(named: "retry-after".utf8Span.span) else { return nil }
        let value = value(line)
        guard (1...9).contains(value.count) else { return nil }
        var number = 0
        for index in value.indices {
            guard ASCII.isDigit(value[index]) else { return nil }
            number = number * 10 + Int(value[index] &- 0x30)
        }
        return number
    }
}

extension TracingSettings {
    fileprivate var hostField: String {
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }
}
