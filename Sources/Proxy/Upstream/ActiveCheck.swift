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
        if isUnderWay { pool.checking -= 1 }
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
        if isUnderWay { return fail("it didn't answer in time") }
        isUnderWay = true
        pool.checking += 1
        startedAt = pool.loop.now
        parser.reset()
        head.removeAll()
        timer.set(after: settings.timeout.nanoseconds)
        attempt = ConnectAttempt(pool: pool, endpoint: endpoint, timeout: settings.timeout.nanoseconds) {
            [unowned self] result in
            attempt = nil
            let connection: ReadyConnection
            switch result {
            case .success(let made): connection = made
            case .failure(let error):
                // That this process lacks a socket or a port says nothing of the server.
                guard error.failure.isOfAddress else {
                    letGo()
                    return waitForNext()
                }
                return fail(error.reason.description)
            }
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
        guard call != nil else { return fail("its connection takes no request") }
        connection.schedule()
    }

    private func conclude(with status: Int) {
        if settings.statuses.contains(where: { $0.range.contains(status) }) {
            conclude(failing: nil)
        } else {
            fail("it answered with \(status)")
        }
    }

    private func fail(_ why: String) { conclude(failing: why) }

    /// The check has passed, or failed for what `why` says.
    private func conclude(failing why: String?) {
        guard isUnderWay else { return }
        letGo()
        let passed = why == nil
        pool.tally.count(checkPassed: passed)
        if let why { endpoint.note(.check(why), at: pool.loop.now) }
        if passed == endpoint.isFailingChecks {
            contrary += 1
            if contrary >= (passed ? settings.rise : settings.fall) {
                contrary = 0
                pool.noteChecks(of: endpoint, failing: why)
            }
        } else {
            contrary = 0
        }
        waitForNext()
    }

    private func waitForNext() {
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
                    conclude(with: head.status)
                } else {
                    head.removeAll()
                }
            }
        } catch {
            fail("its answer can't be read: \(error.responseReason)")
        }
        return bytes.count
    }

    func ended(_ stream: Stream) { fail("it closed the connection before it answered") }
    func drained(_ stream: Stream) {}
    func failed(_ stream: Stream, _ errno: Int32) { broke(stream.tlsAlert) }

    /// The connection failed; `alert`: because the server of TLS says so.
    private func broke(_ alert: TLSError?) {
        guard let alert else { return fail("the connection broke before it answered") }
        if isUnderWay { pool.noteAlert(alert, of: endpoint, isFirst: true) }
        fail(EndpointFailure.tls(alert).description)
    }

    // MARK: The stream of HTTP/2

    func responded(_ head: inout MessageHead, isComplete: Bool, on stream: HTTP2Stream) {
        // Interim responses say nothing.
        guard head.status >= 200 else { return }
        let status = head.status
        isAnswered = isComplete
        conclude(with: status)
    }

    func misread(_ error: WireError, on stream: HTTP2Stream) {
        isAnswered = true
        fail("its answer can't be read: \(error.responseReason)")
    }
    func received(_ content: Span<UInt8>, on stream: HTTP2Stream) -> Int { content.count }
    func held(_ count: Int, on stream: HTTP2Stream) {}
    func contentEnded(_ stream: HTTP2Stream) {}
    func drained(_ stream: HTTP2Stream) {}
    func closed(_ stream: HTTP2Stream, _ code: HTTP2ErrorCode) {
        isAnswered = true
        if let alert = shared?.alert { return fail(EndpointFailure.tls(alert).description) }
        if let fault = shared?.fault { return fail("its connection of HTTP/2 was ended: \(fault)") }
        if stream.isMalformed { return fail("its answer breaks a rule of HTTP/2") }
        // Nothing is said of a stream whose connection ends.
        if shared?.isOver == true { return fail("it closed the connection before it answered") }
        fail("it gave the request up (\(stream.codeAsTold.name))")
    }
}
