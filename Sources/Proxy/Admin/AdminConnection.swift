internal import EventLoop
internal import HTTPWire
internal import Octets

/// One connection of an operator: requests one after the other, each whole before it is answered, within the bounds below; or the
/// events that one of them asked for, to the end.
final class AdminConnection: StreamHandler {
    private var stream: Stream!
    private var timer: Timer!
    private var parser: RequestParser
    private var head = MessageHead()
    private var decoder: BodyDecoder?
    private var body: [UInt8] = []
    /// Whether some of a request has come.
    private var isBegun = false
    private var isAnswering = false
    private var isClosing = false
    /// What is sent for as long as the peer stays, once that has begun. Nothing that the peer sends counts any more.
    private var events: AdminEvents?
    private let handle: (AdminRequest, @escaping (AdminResponse) -> Void) -> Void
    private let onEnd: (AdminConnection) -> Void
    private let requestTime: UInt64
    /// Whether the next answer is the last one.
    var answersOnce = false
    /// When it was accepted, or its last answer was given.
    private var quietSince: UInt64
    /// When the first bytes came of the request that comes.
    private var begunAt: UInt64 = 0

    /// Bytes of a request's body at most, 1 MiB.
    static let bodyLimit = 1024 * 1024
    /// Bytes of its head at most, 16 KiB.
    private static let headLimit = 16 * 1024
    /// Nanoseconds for a whole request, and between two: 10 s and 75 s.
    static let requestTime: UInt64 = 10_000_000_000
    private static let idleTime: UInt64 = 75_000_000_000
    /// Nanoseconds that the peer has to read the last answer: 2 s.
    private static let lingerTime: UInt64 = 2_000_000_000

    /// - Parameters:
    ///   - handle: answers a request, at once or later.
    ///   - onEnd: called once when the connection is closed.
    init(
        _ descriptor: Int32, loop: EventLoop, requestTime: UInt64 = AdminConnection.requestTime,
        handle: @escaping (AdminRequest, @escaping (AdminResponse) -> Void) -> Void,
        onEnd: @escaping (AdminConnection) -> Void
    ) {
        self.handle = handle
        self.onEnd = onEnd
        self.requestTime = requestTime
        quietSince = loop.now
        var limits = WireLimits()
        limits.head = Self.headLimit
        parser = RequestParser(limits: limits)
        stream = Stream(loop: loop, descriptor: descriptor, handler: self)
        timer = Timer(loop: loop) { [unowned self] in close() }
        timer.set(after: requestTime)
    }

    func received(_ bytes: Span<UInt8>, on stream: Stream) -> Int {
        var at = 0
        do throws(WireError) {
            while !stream.isClosed, !isClosing {
                if events != nil { return bytes.count }
                // Who doesn't read its answers gets no further ones.
                guard !isAnswering, !stream.isAboveHighWatermark else {
                    // One who has gone is seen for as long as nothing has come behind the request.
                    if isAnswering, at == bytes.count { break }
                    stream.pauseReading()
                    return at
                }
                let rest = bytes.extracting(at..<bytes.count)
                guard decoder != nil else {
                    guard !rest.isEmpty else { break }
                    if !isBegun {
                        timer.set(after: requestTime)
                        begunAt = stream.loop.now
                    }
                    isBegun = true
                    guard let used = try parser.parse(rest, into: &head) else { break }
                    at += used
                    begin()
                    continue
                }
                let step = try decoder!.next(rest)
                at += step.skipped
                if step.available > 0 {
                    body.append(contentsOf: rest.extracting(step.skipped..<step.skipped + step.available))
                    at += step.available
                    decoder!.took(step.available)
                } else if step.isEnd {
                    answer()
                } else {
                    break
                }
            }
        } catch {
            isClosing = true
            quietSince = stream.loop.now
            // The proxy's limits, which other reasons name, are not those of this port.
            let reason =
                switch error.status {
                case 413 where error.isBodyTooLarge: "a body has at most \(Self.bodyLimit >> 20) MiB here"
                case 414, 431:
                    "a head has at most \(Self.headLimit >> 10) KiB and \(WireLimits().fieldCount) fields here"
                default: error.reason
                }
            send(.fault(error.status, reason), keepsAlive: false)
            return bytes.count
        }
        return isClosing ? bytes.count : at
    }

    /// Since when nothing has been asked and nothing is to be sent, by the loop's clock; nil while there is something.
    var idleSince: UInt64? {
        let isBusy = isBegun || isAnswering || isClosing || events != nil || stream.queued > 0
        return isBusy ? nil : quietSince
    }

    /// Whether it is closed.
    var isOver: Bool { stream.isClosed }

    /// Since when the client has owed something, by the loop's clock: the rest of a request, to take its answers, or to close behind the
    /// last of them. Nil while it doesn't.
    var owesSince: UInt64? {
        guard !isAnswering, events == nil else { return nil }
        if isClosing || stream.queued > 0 { return quietSince }
        return isBegun ? begunAt : nil
    }

    /// Gives the place of an idle connection to others, unless a request has just come on it, which closing would reset. One whose client
    /// has closed it, and nobody has seen that yet, is given up as well. Returns whether it did.
    func closeIfQuiet() -> Bool {
        guard idleSince != nil, stream.isQuiet || stream.isAtEnd else { return false }
        close()
        return true
    }

    private func begin() {
        var limits = WireLimits()
        limits.body = Self.bodyLimit
        decoder = BodyDecoder(framing: head.framing, limits: limits, isResponse: false)
        // Who announces more than is taken is told so instead.
        let isTooLong = if case .length(let total) = head.framing { total > Self.bodyLimit } else { false }
        if head.expectsContinue, !isTooLong {
            var interim = OutputBuffer()
            interim.append("HTTP/1.1 100 Continue\r\n\r\n")
            stream.write(interim.span)
        }
    }

    private func answer() {
        decoder = nil
        isBegun = false
        isAnswering = true
        // The request is whole. How long its answer takes is for those to bound who give it: a request that is sent again may take as long
        // as the one that it repeats.
        timer.cancel()
        let request = AdminRequest(head, body: body)
        body = []
        let keepsAlive = head.isKeepAlive && head.capabilities.contains(.persistence)
        handle(request) { [weak self] response in
            guard let self, !stream.isClosed else { return }
            isAnswering = false
            if let begin = response.events, head.methodKind != .head { return beginEvents(response, begin) }
            let keepsAlive = keepsAlive && !isClosing && !answersOnce
            quietSince = stream.loop.now
            send(response, keepsAlive: keepsAlive)
            if keepsAlive {
                timer.set(after: Self.idleTime)
                stream.resumeReading()
            } else {
                isClosing = true
            }
        }
    }

    // MARK: Events

    private func beginEvents(_ response: AdminResponse, _ begin: (AdminEvents) -> Void) {
        // One that has said that it sends no more may have gone.
        guard !isClosing else { return close() }
        writeHead(response, length: nil, keepsAlive: false)
        timer.cancel()
        let events = AdminEvents()
        events.connection = self
        self.events = events
        // So that its end is seen.
        stream.resumeReading()
        begin(events)
    }

    /// Whether all that was sent is taken.
    var hasRoomForEvents: Bool { events != nil && !isClosing && stream.queued == 0 }

    func sendEvents(_ text: Span<UInt8>) {
        guard events != nil, !isClosing, !stream.isClosed else { return }
        stream.write(text)
        stream.flush()
        guard !stream.isClosed, stream.queued > 0 else { return }
        stream.tellEmpty()
        timer.set(after: Self.idleTime)
    }

    func endEvents() {
        guard events != nil, !isClosing, !stream.isClosed else { return }
        isClosing = true
        finish()
        tellEventsEnd()
    }

    private func tellEventsEnd() {
        guard let events else { return }
        events.connection = nil
        let onEnd = events.onEnd
        events.onEnd = {}
        onEnd()
    }

    // MARK: Answers

    private func writeHead(_ response: AdminResponse, length: Int?, keepsAlive: Bool) {
        var output = OutputBuffer()
        HeadWriter.statusLine(response.status, into: &output)
        HeadWriter.field("Content-Type", response.contentType, into: &output)
        if let length { HeadWriter.field("Content-Length", decimal: length, into: &output) }
        HeadWriter.field("Cache-Control", "no-store", into: &output)
        if let allow = response.allow { HeadWriter.clean("Allow", Array(allow.utf8).span, into: &output) }
        if let fields = response.fields { output.append(fields) }
        if !keepsAlive { HeadWriter.field("Connection", "close", into: &output) }
        HeadWriter.end(into: &output)
        if head.methodKind == .head { stream.write(output.span) } else { stream.write(output.span, response.body.span) }
    }

    private func send(_ response: AdminResponse, keepsAlive: Bool) {
        writeHead(response, length: response.events == nil ? response.body.count : nil, keepsAlive: keepsAlive)
        if !keepsAlive, !stream.isClosed { finish() }
    }

    /// Closes once the answer is out and the peer has had time to read it.
    private func finish() {
        stream.flush()
        if stream.queued > 0 {
            stream.tellEmpty()
        } else if stream.isEnded {
            return close()
        }
        stream.shutdownWrite()
        // So that the peer's end is seen: reading was paused while the answer was being gathered.
        stream.resumeReading()
        timer.set(after: Self.lingerTime)
    }

    /// Closes at once.
    func close() {
        guard !stream.isClosed else { return }
        timer.cancel()
        stream.close()
        tellEventsEnd()
        onEnd(self)
    }

    func ended(_ stream: Stream) {
        // A client that half-closes after its request still gets the answer; without one under way it is over.
        stream.flush()
        if events != nil { return close() }
        guard isAnswering || stream.queued > 0 else { return close() }
        // One that has gone looks the same: it isn't waited for any longer than a request.
        if isAnswering { timer.set(after: requestTime) }
        isClosing = true
    }

    func drained(_ stream: Stream) {
        if isClosing, stream.isEnded { return close() }
        if events != nil, !isClosing { return timer.cancel() }
        if !isClosing, !isAnswering { stream.resumeReading() }
    }

    func failed(_ stream: Stream, _ errno: Int32) {
        timer.cancel()
        tellEventsEnd()
        onEnd(self)
    }
}
