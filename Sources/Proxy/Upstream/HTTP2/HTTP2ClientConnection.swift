internal import EventLoop
internal import Gateway
internal import HTTP2
internal import HTTPWire
internal import Octets

/// One connection of HTTP/2 to an upstream: hands bytes to a `ClientSession` and takes those that are to be sent, gives each exchange
/// an `HTTP2Upstream` with a stream of its own, and ends with care.
///
/// What streams say is sent when the tick ends, so that the frames of one batch of events go out together.
final class HTTP2ClientConnection: StreamHandler, ClientSessionOwner, TickTask {
    private enum Phase {
        /// The server has not told its settings. → open, closed
        case opening
        /// Requests may begin. → ending, closed
        case open
        /// None begins any more; those that have begun come to their end. → closed
        case ending
        case closed
    }

    /// What the timer means when it fires.
    private enum Wait {
        /// The server must tell its settings.
        case settings
        /// No request is on its way, and another one is waited for.
        case request
        /// Some are, and the server must send a byte.
        case sign
        /// It was asked for one.
        case ping
    }

    let pool: UpstreamPool
    let endpoint: Endpoint
    private let stream: Stream
    private(set) var session: ClientSession!
    private let timer: Timer
    private var phase = Phase.opening
    /// Told once: that requests may begin, or why they never will.
    private var opened: ((UpstreamFailure?) -> Void)?
    private var isScheduled = false
    /// What the timer means when it fires.
    private var wait = Wait.settings
    /// Sides that exchanges have and whose request has not begun.
    private var reserved = 0
    /// Those whose head is to go out when the tick ends, and those that got something in this tick.
    private var heads: [HTTP2Upstream] = []
    private var touched: [HTTP2Upstream] = []
    /// Sides that no exchange has.
    private var free: [HTTP2Upstream] = []
    private let life: (until: UInt64, requests: Int)
    /// When bytes came last.
    private var heardAt: UInt64
    /// When its last request ended.
    private var idleSince: UInt64 = 0
    /// How often the server was asked for a sign of life since it has said anything in a stream, and when last.
    private var questions = 0
    private var askedAt: UInt64 = 0
    /// Whether what has just come is looked at. What had come before, and a slow client takes now, is no word of the server.
    private var isHearing = false
    /// What had been written while it couldn't be asked, when that was looked at last, and what its system had taken of it.
    private var writtenBefore: UInt64 = 0
    private var takenBefore: UInt64 = 0
    /// Whether any request has had content.
    private var hasSentContent = false
    /// Whether what the server did to the connection has been held against its address.
    private var isFaultNoted = false
    /// What the server said first, where that is no HTTP/2.
    private var speaksHTTP1 = false

    /// Sides that are kept for other exchanges.
    private static let mostFree = 64
    /// Questions that follow one another as soon as the server is silent again, and nanoseconds between any two behind those. A server
    /// of gRPC takes three, unless it sends something between them, and one more in five minutes: with the next it ends the connection and
    /// all calls on it (ENHANCE_YOUR_CALM, "too_many_pings"; gRPC's proposal A8). One may cross with what it sends, which counts there.
    private static let mostQuestions = 2
    private static let timeBetweenQuestions: UInt64 = 330_000_000_000

    /// Begins with a connection, which speaks TLS already where it is to.
    ///
    /// - Parameters:
    ///   - time: nanoseconds in which the server must tell its settings: before that nobody knows what it is.
    ///   - opened: comes once, from the loop, never from inside of `init`, and not after `close()`.
    init(
        _ connection: ReadyConnection, pool: UpstreamPool, within time: UInt64,
        opened: @escaping (UpstreamFailure?) -> Void
    ) {
        self.pool = pool
        endpoint = connection.endpoint
        self.opened = opened
        life = pool.lifeOfConnection()
        heardAt = pool.loop.now
        stream = connection.makeStream(loop: pool.loop)
        timer = Timer(loop: pool.loop)
        stream.handler = self
        session = ClientSession(
            limits: pool.http2, wire: pool.wireLimits, isSecure: stream.isSecured, owner: self,
            spares: pool.spareStreams)
        timer.action = { [unowned self] in timedOut() }
        timer.set(after: time)
        schedule()
    }

    // MARK: Requests

    /// Whether another request may begin: none where the end is there already, behind what is read first.
    var hasRoom: Bool {
        phase == .open && !stream.isEnding && streams < session.peerStreams
            && session.requests + reserved < life.requests
            && pool.loop.now < life.until
    }

    /// Whether a request may begin now, where there is room: on a connection that has none nothing may have come that nobody has looked
    /// at, as the end may be among it (docs/rules.md F19). What else it is, a PING or a window, the loop hands over in this tick or the
    /// next, and who waits for a connection has this one then. As of `UpstreamConnection`, the system isn't asked while it has just been
    /// heard of.
    var isUsable: Bool {
        guard streams == 0 else { return true }
        return pool.loop.now &- heardAt < UpstreamConnection.freshTime && stream.wasQuiet || stream.isQuiet
    }

    /// Whether the server has said that it takes no request for now.
    var takesNoStreams: Bool { phase == .open && session.peerStreams == 0 }

    /// Requests that are on their way.
    var streams: Int { session.openStreams + reserved }

    /// Whether no request is on its way, and none was in this tick: it may be closed.
    var isIdle: Bool { phase == .open && wait == .request && streams == 0 }

    /// As of `UpstreamConnection`.
    var isOverdue: Bool { isIdle && pool.loop.now &- idleSince > pool.idleTime }

    /// A side for one exchange. Call it only when there is room.
    func take() -> HTTP2Upstream {
        reserved += 1
        if wait == .request { expectSign() }
        let side = free.popLast() ?? HTTP2Upstream(on: self)
        side.isReserved = true
        return side
    }

    /// What was reserved by `take` has a stream now, or needs none any more.
    func noteBegun() { reserved -= 1 }

    /// Takes back a side that nobody has any more.
    func recycle(_ side: HTTP2Upstream) {
        if phase != .closed, free.count < Self.mostFree { free.append(side) }
        schedule()
    }

    /// Begins the request of `side`; nil where none may begin any more.
    func begin(_ head: Span<UInt8>, hasContent: Bool, of side: HTTP2Upstream) -> HTTP2Stream? {
        guard phase == .open || phase == .ending, !stream.isEnding else { return nil }
        if hasContent { hasSentContent = true }
        return session.request(head, hasContent: hasContent, handler: side)
    }

    /// Has the head of `side` sent when the tick ends, where nothing takes it along before.
    func noteHead(of side: HTTP2Upstream) {
        heads.append(side)
        schedule()
    }

    /// In the order in which they were noted.
    private func sendHeads() {
        if heads.count > 1 { heads.reverse() }
        while let side = heads.popLast() { side.sendHead(hasContent: true) }
    }

    /// Says that a side got something: its exchange is told when all that was read has been looked at. What a side had kept of a
    /// response when the connection was closed it looks at by itself.
    func noteTouched(_ side: HTTP2Upstream) {
        guard phase != .closed else { return }
        if questions > 0, isHearing { endQuestions() }
        touched.append(side)
    }

    /// A request that began at `time` got no answer in its own time: where nothing else has come since either, the server may be gone
    /// without a word, and requests that come are better off elsewhere (what came in the tick in which it began, as the settings that it
    /// had waited for, can't have been said behind it). So are they where the request was `sending`, and the server doesn't give back the
    /// connection's window for content that it has had.
    func noteTimeout(since time: UInt64, sending: Bool) {
        if heardAt <= time || sending && !session.maySend { drain() }
    }

    // MARK: Reading

    func received(_ bytes: Span<UInt8>, on stream: Stream) -> Int {
        guard phase != .closed else { return bytes.count }
        heardAt = pool.loop.now
        if wait == .ping { expectSign() }
        if phase == .opening, bytes.count >= 5, bytes.extracting(0..<5).isEqual(to: "HTTP/") { speaksHTTP1 = true }
        isHearing = true
        do throws(HTTP2Error) {
            try session.read(bytes, now: pool.loop.now)
        } catch {
            fail()
            return bytes.count
        }
        isHearing = false
        settleTouched()
        schedule()
        return bytes.count
    }

    private func settleTouched() {
        var index = 0
        while index < touched.count {
            touched[index].settle()
            index += 1
        }
        touched.removeAll(keepingCapacity: true)
    }

    func becameReady() {
        // One that has ended with its settings is none over which requests may go, and says so as soon as they are read.
        guard phase == .opening, !stream.isEnding else { return }
        phase = .open
        expectSign()
        let opened = opened
        self.opened = nil
        opened?(nil)
    }

    func endCame(_ code: HTTP2ErrorCode) {
        guard phase == .open else { return }
        phase = .ending
        pool.remove(self)
    }

    // MARK: Writing

    /// Sends, when the tick ends, what streams have said.
    func schedule() {
        guard !isScheduled, phase != .closed else { return }
        isScheduled = true
        pool.loop.afterTick(self)
    }

    func tickEnded() {
        isScheduled = false
        guard phase != .closed else { return }
        sendHeads()
        // Behind the server's end nothing is answered: heads that stand here go elsewhere as soon as it is read.
        if !stream.isAboveHighWatermark, !stream.isEnding { write() }
        settleTouched()
        if session.isOver { return session.failure == nil ? close() : fail() }
        settleIdle()
        // A stream that was given up makes room when its last frame has gone out.
        if hasRoom {
            endpoint.streamQueue?.noteRoom()
            pool.noteRoom()
        }
    }

    /// Hands what the session has to the stream, until that is full.
    private func write() {
        session.write { output in
            stream.write(&output)
            return !stream.isAboveHighWatermark
        }
    }

    func drained(_ stream: Stream) { schedule() }

    // MARK: Endings

    /// Sees what becomes of a connection that has no request.
    private func settleIdle() {
        guard phase != .opening, streams == 0 else { return }
        if phase == .ending || pool.isRetired || endpoint.isGone || pool.loop.now >= life.until
            || session.requests >= life.requests
        {
            return close()
        }
        guard wait != .request else { return }
        wait = .request
        idleSince = pool.loop.now
        timer.set(after: pool.idleTime)
    }

    /// A byte must come as long as requests are on their way: a server that is gone without a word, and whose kernel can't say so, is
    /// noticed by that alone.
    private func expectSign() {
        wait = .sign
        timer.set(after: pool.http2.ping.nanoseconds)
    }

    /// The server has said something in a stream: it may be asked again as soon as it is silent.
    private func endQuestions() {
        questions = 0
        if wait == .sign { expectSign() }
    }

    private func timedOut() {
        switch wait {
        case .settings: abandon(.timedOut)
        case .request: close()
        case .sign:
            let (time, silence) = (pool.http2.ping.nanoseconds, pool.loop.now &- heardAt)
            guard silence >= time else { return timer.set(after: time - silence) }
            let passed = pool.loop.now &- askedAt
            if questions >= Self.mostQuestions, passed < Self.timeBetweenQuestions {
                // Meanwhile the server's system is asked, of which its program hears nothing.
                stream.probe(after: time)
                // It isn't while bytes wait for its word that they have come: then these tell.
                if isStuck() { return fail() }
                return timer.set(after: min(time, Self.timeBetweenQuestions - passed))
            }
            questions += 1
            askedAt = pool.loop.now
            wait = .ping
            timer.set(after: time)
            session.ping()
            schedule()
        case .ping: fail()
        }
    }

    /// Whether the server's system has taken nothing, since this was asked last, of what had been written by then.
    private func isStuck() -> Bool {
        let (written, taken) = (stream.bytesWritten, stream.bytesTaken)
        defer { (writtenBefore, takenBefore) = (written, taken) }
        return taken == takenBefore && taken < writtenBefore
    }

    /// Lets no request begin any more, and closes when those that have begun are over.
    func drain() {
        guard phase == .open else { return }
        phase = .ending
        pool.remove(self)
        schedule()
    }

    /// Ends at once, and tells the server so. Requests that are on their way fail; of those that are answered the server gets all.
    func close() {
        guard phase != .closed else { return }
        opened = nil
        let mayRead = session.openStreams == 0 && hasSentContent && mayStillRead
        session.end()
        letGo(mayRead: mayRead)
    }

    /// Whether the server may still read content of requests that it has answered: the system here has some of it, or the server's own,
    /// which nothing tells but that it has said something a moment ago.
    private var mayStillRead: Bool {
        stream.holdsOutput || pool.loop.now &- heardAt < Linger.time || stream.bytesTaken < stream.bytesWritten
    }

    /// The connection has failed, or its server has ended it.
    private func fail() {
        guard phase != .closed else { return }
        if phase == .opening {
            if let alert { return abandon(.insecure(alert.word)) }
            let why =
                speaksHTTP1 ? "it answers by HTTP/1" : session.failure?.reason ?? "it closed the connection at once"
            return abandon(.otherProtocol(why))
        }
        if let fault { pool.tellFault(of: endpoint, fault) }
        if let alert { pool.noteAlert(alert, of: endpoint, isFirst: !session.isAnswered) }
        // Of requests whose head waits nothing goes out any more: a server that has ended its own side alone might take them, and they
        // are sent again.
        if session.openStreams > 0 { session.terminate(.noError) }
        letGo()
    }

    /// Gives up a connection over which no request can go.
    private func abandon(_ failure: UpstreamFailure) {
        phase = .closed
        timer.cancel()
        let opened = opened
        self.opened = nil
        write()
        stream.flush()
        stream.close()
        // The attempt counts the connection as long as it is not made.
        opened?(failure)
    }

    /// Whether nothing is sent and nothing is read any more.
    var isOver: Bool { phase == .closed }
    /// The alert of TLS by which the server ended the connection, as one of TLS 1.3 does that refuses our certificate.
    var alert: TLSError? { stream.tlsAlert }
    /// What the server did that ended the connection, which is why requests have failed.
    var fault: String? { session.failure?.reason }

    /// Sends the last frame, which says why the connection ends, and fails what is on its way.
    private func letGo(mayRead: Bool = false) {
        if phase == .open { pool.remove(self) }
        phase = .closed
        timer.cancel()
        // Who sends a request again may need its room.
        pool.closed(endpoint)
        write()
        session.closeStreams()
        settleTouched()
        // Nobody has seen these.
        sendHeads()
        free.removeAll()
        stream.flush()
        if mayRead, stream.isWritable, !stream.isEnded {
            _ = LastRequests(of: stream, loop: pool.loop, within: pool.http2.ping.nanoseconds)
        } else {
            stream.close()
        }
    }

    /// A request has failed for what the server did to the connection. That counts against its address once, however many requests fail
    /// for it: one bad frame is one failure.
    func noteFault() {
        guard !isFaultNoted else { return }
        isFaultNoted = true
        pool.noteFailure(of: endpoint, .malformed)
    }

    func ended(_ stream: Stream) { fail() }
    func failed(_ stream: Stream, _ errno: Int32) { fail() }
}
