internal import EventLoop
internal import Gateway
internal import HTTP2
internal import HTTPWire
internal import Octets

/// Asks one address again and again whether it is well: a GET on a connection of its own.
final class ActiveCheck: StreamHandler, HTTP2StreamHandler {
    let endpoint: Endpoint
    private unowned let pool: UpstreamPool
    private let settings: ActiveHealthSettings
    private let request: OutputBuffer
    /// For the next check, and for the time of the one that is under way.
    private var timer: Timer!
    private var attempt: ConnectAttempt?
    private var stream: Stream?
    /// In place of `stream`, where the upstream is spoken to by HTTP/2.
    private var shared: HTTP2ClientConnection?
    /// The check's own on that.
    private var call: HTTP2Stream?
    private var parser: ResponseParser
    private var head = MessageHead()
    /// Whether nothing more comes on `call`.
    private var isAnswered = false
    private var isUnderWay = false
    private var startedAt: UInt64 = 0
    /// Outcomes in a row that speak against the present view.
    private var contrary = 0

    init(pool: UpstreamPool, endpoint: Endpoint, settings: ActiveHealthSettings) {
        self.pool = pool
        self.endpoint = endpoint
        self.settings = settings
        parser = ResponseParser(limits: pool.wireLimits)
        var request = OutputBuffer()
        request.append("GET ")
        request.append(text: settings.path)
        request.append(" HTTP/1.1\r\nHost: ")
        request.append(text: settings.host ?? pool.settings.hostField)
        request.append("\r\nUser-Agent: recast-check\r\nAccept: */*\r\nConnection: close\r\n\r\n")
        self.request = request
        timer = Timer(loop: pool.loop) { [unowned self] in timerFired() }
        // The first one soon, and not all at once.
        timer.set(after: 1 + (pool.nextRandom() & 0xFF) * 400_000)
    }

    func stop() {
        timer.cancel()
        letGo()
    }

    private func letGo() {
        isUnderWay = false
        attempt?.cancel()
        attempt = nil
        if let stream {
            self.stream = nil
            stream.close()
            pool.closed(endpoint)
        }
        if let call {
            self.call = nil
            // An answer that comes later is none to the next check, and the connection ends without waiting for it.
            call.handler = nil
            if !isAnswered { call.reset(.cancel) }
        }
        if let shared {
            self.shared = nil
            shared.drain()
        }
    }

    private func timerFired() {
        if isUnderWay { return conclude(false) }
        isUnderWay = true
        startedAt = pool.loop.now
        parser.reset()
        head.removeAll()
        timer.set(after: settings.timeout.nanoseconds)
        attempt = ConnectAttempt(pool: pool, endpoint: endpoint, timeout: settings.timeout.nanoseconds) {
            [unowned self] result in
            attempt = nil
            guard case .success(let connection) = result else { return conclude(false) }
            if let shared = connection.shared { return ask(over: shared) }
            let stream = connection.makeStream(loop: pool.loop)
            stream.handler = self
            self.stream = stream
            let request = request
            stream.write(request.span)
        }
    }

    private func ask(over connection: HTTP2ClientConnection) {
        shared = connection
        isAnswered = false
        let request = request
        call = connection.session.request(request.span, hasContent: false, handler: self)
        guard call != nil else { return conclude(false) }
        connection.schedule()
    }

    private func conclude(_ passed: Bool) {
        guard isUnderWay else { return }
        letGo()
        pool.tally.count(checkPassed: passed)
        if passed == endpoint.isFailingChecks {
            contrary += 1
            if contrary >= (passed ? settings.rise : settings.fall) {
                contrary = 0
                pool.noteChecks(of: endpoint, isFailing: !passed)
            }
        } else {
            contrary = 0
        }
        let spent = pool.loop.now - startedAt
        let interval = settings.interval.nanoseconds
        timer.set(after: interval > spent ? interval - spent : 1)
    }

    // MARK: The stream

    func received(_ bytes: Span<UInt8>, on stream: Stream) -> Int {
        var at = 0
        do throws(WireError) {
            while isUnderWay {
                guard let used = try parser.parse(bytes.extracting(at..<bytes.count), into: &head) else { return at }
                at += used
                // Interim responses say nothing.
                if head.status >= 200 {
                    conclude(settings.statuses.contains { $0.range.contains(head.status) })
                } else {
                    head.removeAll()
                }
            }
        } catch {
            conclude(false)
        }
        return bytes.count
    }

    func ended(_ stream: Stream) { conclude(false) }
    func drained(_ stream: Stream) {}
    func failed(_ stream: Stream, _ errno: Int32) { conclude(false) }

    // MARK: The stream of HTTP/2

    func responded(_ head: inout MessageHead, isComplete: Bool, on stream: HTTP2Stream) {
        // Interim responses say nothing.
        guard head.status >= 200 else { return }
        let status = head.status
        isAnswered = isComplete
        conclude(settings.statuses.contains { $0.range.contains(status) })
    }

    func misread(_ error: WireError, on stream: HTTP2Stream) {
        isAnswered = true
        conclude(false)
    }
    func received(_ content: Span<UInt8>, on stream: HTTP2Stream) -> Int { content.count }
    func held(_ count: Int, on stream: HTTP2Stream) {}
    func contentEnded(_ stream: HTTP2Stream) {}
    func drained(_ stream: HTTP2Stream) {}
    func closed(_ stream: HTTP2Stream, _ code: HTTP2ErrorCode) {
        isAnswered = true
        conclude(false)
    }
}
