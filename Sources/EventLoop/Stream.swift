internal import CEvent
internal import CEventShims
internal import Glibc
public import Octets

/// One connected, non-blocking socket: TCP or unix.
///
/// Reads go into the loop's buffer and from there straight to the handler; the stream owns memory only for bytes that the
/// handler left and for bytes that the system didn't take. Short writes are held by the loop until the tick ends, others go out
/// at once; they are queued only after `EAGAIN`. An idle stream holds no buffer.
///
/// The queue is an `OutputBuffer`, not an evbuffer: what doesn't fit is mostly the rest of one `OutputBuffer`, whose
/// memory changes hands instead of being copied into a chain, and one contiguous piece leaves in one `send`.
///
/// The loop keeps an open stream, and so its handler, alive until `close()`, `abort()` or `failed`.
///
/// SAFETY of `@exclusivity(unchecked)`: one thread uses a stream, both buffers leave it before a handler is called, and numbers are
/// replaced as a whole.
@safe
public final class Stream {
    /// Queued bytes above which the writer should stop: 64 KiB.
    public static let highWatermark = 64 * 1024
    /// Queued bytes at which it may go on: 16 KiB.
    public static let lowWatermark = 16 * 1024

    public let loop: EventLoop
    /// The loop's; reached by way of it, it would be counted a holder more in each write.
    internal let outbox: Outbox
    internal var descriptor: Int32
    @safe @exclusivity(unchecked) private var state: State = .reading
    private let readEvent: OpaquePointer
    internal var writeEvent: OpaquePointer?
    private var currentHandler: any StreamHandler
    @safe @exclusivity(unchecked) private var pending = OutputBuffer()
    @safe @exclusivity(unchecked) internal var queue = OutputBuffer()
    /// Where in the loop's outbox this stream's piece is; -1: it holds nothing there.
    internal var outboxIndex = -1
    /// Why writing isn't possible any more, else 0. Reading goes on to its end, then `failed` tells.
    internal var brokenBy: Int32 = 0
    /// Where among the loop's patient streams this one is; -1: it isn't one.
    internal var patientIndex: Int32 = -1
    /// Bytes of one read at most. A read's rest stays here or in another stream's queue when the handler pauses, so it shrinks to
    /// half with each pause, and grows with each read that is full, from 128 KiB on by a little. A stream that flows has the whole
    /// buffer, one that is held up often keeps little.
    private var readSize = Stream.firstReadSize
    private static let firstReadSize = 64 * 1024
    private static let leastReadSize = 16 * 1024
    private static let ampleReadSize = 128 * 1024
    /// The TLS session, where the stream has one.
    @safe @exclusivity(unchecked) internal private(set) var tls: TLSSession?

    /// Bytes that were handed over by the system so far; with TLS its records, all told.
    public var bytesRead: UInt64 { readCount }
    @safe @exclusivity(unchecked) private var readCount: UInt64 = 0
    /// Bytes that the system took so far; with TLS its records, all told.
    public var bytesWritten: UInt64 { writtenCount }
    @safe @exclusivity(unchecked) private var writtenCount: UInt64 = 0

    /// Bytes that the peer's system has taken so far. What the system here still holds for it, which may be megabytes, is not
    /// among them: this is what shows that a slow peer moves. One system call. On a unix socket the memory that holds the
    /// bytes is counted instead of the bytes, so the number is too small, by a bounded amount.
    public var bytesTaken: UInt64 {
        guard !isClosed else { return bytesWritten }
        let held = UInt64(max(0, recast_unsent(descriptor)))
        return bytesWritten > held ? bytesWritten - held : 0
    }

    /// Has the system ask the peer's system, after `time` nanoseconds of silence, whether it is there, and break the connection when
    /// that has said nothing for about as long again. The peer's program hears nothing of it, and that it hangs isn't noticed.
    public func probe(after time: UInt64) {
        guard !isClosed else { return }
        let seconds = Int32(clamping: max(1, time / 1_000_000_000))
        set(Int32(SOL_SOCKET), SO_KEEPALIVE, 1)
        // A unix socket's peer is on this machine: its end is always told.
        set(Int32(IPPROTO_TCP), TCP_KEEPIDLE, min(seconds, Self.longestProbe))
        set(Int32(IPPROTO_TCP), TCP_KEEPINTVL, min(max(1, seconds / Self.probes), Self.longestProbe))
        set(Int32(IPPROTO_TCP), TCP_KEEPCNT, Self.probes)
    }

    /// Probes that must stay without an answer.
    private static let probes: Int32 = 3
    /// Seconds between two that the system takes (`MAX_TCP_KEEPIDLE`).
    private static let longestProbe: Int32 = 32767

    private func set(_ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        // SAFETY: the option is an Int32, read during the call.
        _ = unsafe setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    internal struct State: OptionSet {
        let rawValue: UInt16
        /// The owner wants bytes.
        static let reading = State(rawValue: 1)
        /// libevent reports readiness. Follows `reading` lazily: a pause that is over before bytes come costs nothing.
        static let readArmed = State(rawValue: 2)
        /// The socket is in the loop's `PeerWatch`.
        static let watched = State(rawValue: 4)
        /// The FIN was read.
        static let ended = State(rawValue: 8)
        /// `peerGone` was called.
        static let toldGone = State(rawValue: 16)
        /// The queue was above the high watermark and has not been at the low one since.
        static let aboveHigh = State(rawValue: 32)
        static let wantsEmpty = State(rawValue: 64)
        /// No more writes; the FIN follows the queue.
        static let writeShut = State(rawValue: 128)
        /// `tickEnded` will be called.
        static let scheduled = State(rawValue: 256)
        static let closed = State(rawValue: 512)
        /// The handler is looking at bytes; leftovers will be known when it returns.
        static let delivering = State(rawValue: 1024)
        /// The peer's end was read, and will be told when the owner reads, behind what waits for it.
        static let sealed = State(rawValue: 2048)
        /// TLS: the end came without close_notify.
        static let truncated = State(rawValue: 4096)
        /// More may be there already than was read: the last read took as many bytes as it asked for, or there was none
        /// since libevent was asked to report.
        static let mayHoldMore = State(rawValue: 8192)
        /// Accepted in this tick, at whose end libevent is asked to report.
        static let fresh = State(rawValue: 16384)
        /// The system has the peer's end, behind bytes that may not have been read.
        static let endAhead = State(rawValue: 32768)
    }

    /// Takes over `descriptor`, a connected socket with `O_NONBLOCK`, sets `TCP_NODELAY` and starts to read.
    /// Bytes come from the loop, never from inside this call.
    /// - Parameters:
    ///   - isAccepted: whether a `Listener` has just accepted the socket, which then has `TCP_NODELAY`.
    ///   - role: lets the stream speak TLS. The handshake begins at once; `StreamHandler.secured` tells its end,
    ///     and what is written before that waits.
    ///   - handler: nil: it is set before the loop goes on, by an owner that isn't whole yet.
    public init(
        loop: EventLoop, descriptor: Int32, isAccepted: Bool = false, tls role: TLSRole? = nil,
        handler: (any StreamHandler)? = nil
    ) {
        self.loop = loop
        self.outbox = loop.outbox
        self.descriptor = descriptor
        self.currentHandler = handler ?? NoHandler.shared
        unsafe self.readEvent = loop.pool.take()
        if !isAccepted { Self.setNoDelay(descriptor) }
        // The loop's reference: released once, in `tearDown`. A callback holds its own while it runs.
        // SAFETY: the event is removed in `tearDown` before that reference goes.
        unsafe event_assign(
            readEvent, loop.base, descriptor, Int16(EV_READ | EV_CLOSED | EV_PERSIST),
            { _, what, context in
                let stream = unsafe Unmanaged<Stream>.fromOpaque(context!).takeUnretainedValue()
                // The system says so by the way, with the bytes that stand in front.
                if what & Int16(EV_CLOSED) != 0 { stream.state.insert(.endAhead) }
                stream.becameReadable()
            }, Unmanaged.passRetained(self).toOpaque())
        if isAccepted, loop.isRunning {
            loop.acceptedInTick += 1
            state.insert(.fresh)
            schedule()
        } else {
            armReading()
        }
        if let role {
            let tls = TLSSession(role, loop: loop)
            self.tls = tls
            beginTLS(tls)
        }
    }

    internal static func setNoDelay(_ descriptor: Int32) {
        var on: Int32 = 1
        // A unix socket has no such option and says so.
        // SAFETY: the option is an Int32, read during the call.
        _ = unsafe setsockopt(
            descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit {
        assert(state.contains(.closed), "an open stream is kept by its loop")
    }

    /// Whom the stream tells. May be changed at any time: a pooled connection gets its next owner this way.
    public var handler: any StreamHandler {
        get { currentHandler }
        set { if !isClosed { currentHandler = newValue } }
    }

    public var isClosed: Bool { state.contains(.closed) }
    /// The error that broke the connection for writing, 0 while there is none.
    public var peerError: Int32 { brokenBy }

    // MARK: Reading

    /// Bytes that the handler has not consumed yet.
    public var pendingCount: Int { pending.count }
    /// Whether bytes are handed over as they come.
    public var isReading: Bool { state.contains(.reading) }
    /// Whether the peer's FIN was read.
    public var isEnded: Bool { state.contains(.ended) }
    /// Whether the peer has sent its FIN, or said close_notify, for all that is known: bytes in front of that may still be handed over, and
    /// it answers nothing that is sent from now on.
    public var isEnding: Bool { !state.isDisjoint(with: [.ended, .sealed, .endAhead]) }
    /// TLS: whether the peer's FIN came without close_notify, so that an attacker on the way may have cut what it sent. What
    /// ends with the connection is not complete then; what says its own length may be.
    public var isTruncated: Bool { state.contains(.truncated) }

    /// Whether the peer is known to have been silent when this tick began: no byte, no FIN and no error had arrived that was
    /// not handed over. Costs nothing; `isQuiet` asks the system, which knows of this moment.
    public var wasQuiet: Bool {
        guard state.isDisjoint(with: [.closed, .ended, .sealed, .mayHoldMore]), brokenBy == 0, pending.isEmpty else {
            return false
        }
        // SAFETY: assigned in init; the stream is open.
        return state.contains(.readArmed) && !(unsafe recast_event_is_active(readEvent))
    }

    /// Whether the peer is silent right now: no byte, no FIN and no error has arrived that was not handed over. One system
    /// call: the loop's own knowledge is as old as its last wait.
    public var isQuiet: Bool {
        guard state.isDisjoint(with: [.closed, .ended, .sealed]), brokenBy == 0, pending.isEmpty else { return false }
        if let tls { return isQuietSecured(tls) }
        var byte: UInt8 = 0
        // SAFETY: one byte is written during the call.
        let count = unsafe recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
        return count < 0 && errno == EAGAIN
    }

    /// Whether the peer has sent its end, with nothing in front of it, and nobody was told of that yet. One system call.
    public var isAtEnd: Bool {
        guard state.isDisjoint(with: [.closed, .ended, .sealed]), brokenBy == 0, pending.isEmpty, tls == nil else {
            return false
        }
        var byte: UInt8 = 0
        // SAFETY: one byte is written during the call.
        return unsafe recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) == 0
    }

    /// Stops handing over bytes. At most what fits the system's receive buffer still comes in; then the peer has to wait.
    public func pauseReading() {
        state.remove(.reading)
        readSize = max(readSize / 2, Self.leastReadSize)
    }

    /// Hands over bytes again. Leftovers are delivered at the end of this tick, not from inside this call.
    public func resumeReading() {
        guard !isClosed else { return }
        state.insert(.reading)
        if !pending.isEmpty || brokenBy != 0 || !state.isDisjoint(with: [.delivering, .sealed]) { schedule() }
        armReading()
    }

    /// Whether another read has room behind the leftovers.
    private var hasRoom: Bool { pending.count < (tls == nil ? EventLoop.readBufferSize : Self.securedRoom) }

    private func armReading() {
        if patientIndex >= 0 { loop.endPatience(of: self) }
        guard state.isDisjoint(with: [.readArmed, .ended, .sealed]), hasRoom else { return }
        unwatch()
        // SAFETY: assigned in init, and the stream is open.
        guard unsafe event_add(readEvent, nil) == 0 else {
            // The system is out of memory or watches, or the descriptor isn't a socket: nothing can be read.
            state.insert(.ended)
            return breakWriting(errno == 0 ? ENOMEM : errno)
        }
        state.formUnion([.readArmed, .mayHoldMore])
    }

    private func disarmReading() {
        guard state.contains(.readArmed) else { return }
        // SAFETY: as above.
        unsafe event_del(readEvent)
        state.remove(.readArmed)
    }

    /// The socket has bytes, a FIN or an error. One read a tick: libevent asks again after the others had their turn.
    private func becameReadable() {
        guard !isClosed else { return }
        guard isReading else {
            disarmReading()
            return watchPeer(onlyErrors: false)
        }
        if let tls, !tls.isRefused { return readSecured(tls) }
        let kept = pending.count
        let buffer = unsafe loop.readBuffer
        let room = min(buffer.count - kept, readSize)
        // SAFETY: kept < buffer.count, or reading would not be armed; the read goes behind the kept bytes, at most to the end.
        let count = unsafe recast_recv(descriptor, buffer.baseAddress! + kept, room)
        if count > 0 {
            noteRead(count, of: room)
            outbox.noteRead(count)
            unsafe deliver(UnsafeBufferPointer(start: buffer.baseAddress, count: kept + count))
        } else if count == 0 {
            endArrived()
        } else if errno != EAGAIN && errno != EINTR {
            errorArrived(errno)
        }
    }

    /// A FIN was read. An owner that has resumed in this tick gets its leftovers at the tick's end: no end comes before them.
    internal func endArrived() {
        if pending.isEmpty { readEnd() } else { seal() }
    }

    /// The connection broke. An owner for whom bytes wait hears so at once, as a paused one does: to one that is owed them, a response
    /// for one, `failed` comes behind them.
    internal func errorArrived(_ error: Int32) {
        guard !pending.isEmpty else { return fail(brokenBy == 0 ? error : brokenBy) }
        if brokenBy == 0 { breakWriting(error) }
        tellGone()
        if !isClosed { failLater(error) }
    }

    /// `count` bytes came in a read of at most `room`.
    internal func noteRead(_ count: Int, of room: Int) {
        readCount &+= UInt64(count)
        if count < room {
            state.remove(.mayHoldMore)
        } else {
            state.insert(.mayHoldMore)
            if room == readSize {
                let more = readSize < Self.ampleReadSize ? readSize : Self.leastReadSize
                readSize = min(readSize + more, EventLoop.readBufferSize)
            }
        }
    }

    /// Hands over the read buffer, whose front is left free for the leftovers.
    internal func deliver(_ buffer: UnsafeBufferPointer<UInt8>) {
        if !pending.isEmpty {
            // SAFETY: the front of the read buffer has room for exactly the leftovers.
            let front = unsafe loop.readBuffer.baseAddress!
            var held = OutputBuffer()
            swap(&held, &pending)
            unsafe held.span.withUnsafeBufferPointer {
                unsafe front.update(from: $0.baseAddress!, count: $0.count)
            }
            held.removeAll()
            swap(&held, &pending)
        }
        // SAFETY: the buffer is the loop's; no other read happens while the handler looks at it.
        let bytes = unsafe buffer.span
        let used = handOver(bytes)
        guard !isClosed else { return }
        if used < bytes.count {
            if pending.capacity == 0 { pending = loop.takeSpare() }
            pending.append(bytes.extracting(used..<bytes.count))
            if !hasRoom { disarmReading() }
        } else {
            loop.recycle(&pending)
        }
    }

    /// Hands over leftovers alone.
    private func deliverPending() {
        // The leftovers leave the stream meanwhile, so that the handler may close it.
        var held = OutputBuffer()
        swap(&held, &pending)
        let used = handOver(held.span)
        guard !isClosed else { return loop.recycle(&held) }
        held.drop(used)
        if held.isEmpty {
            loop.recycle(&held)
        } else {
            swap(&held, &pending)
        }
    }

    private func handOver(_ bytes: Span<UInt8>) -> Int {
        state.insert(.delivering)
        let used = currentHandler.received(bytes, on: self)
        state.remove(.delivering)
        precondition(used >= 0 && used <= bytes.count, "a handler consumed more bytes than it was given")
        return used
    }

    internal func readEnd() {
        guard brokenBy == 0 else { return fail(brokenBy) }
        state.insert(.ended)
        disarmReading()
        currentHandler.ended(self)
        if !isClosed { watchPeer(onlyErrors: true) }
    }

    /// No byte will follow: tells it, or does so as soon as the owner reads.
    internal func seal() {
        state.insert(.sealed)
        disarmReading()
        // Not from inside a call of the owner's, such as `isQuiet`.
        schedule()
    }

    /// Nothing more can be read: `failed` tells, when the owner reads, behind what waits for it, and not from inside a call of the
    /// owner's.
    internal func failLater(_ error: Int32) {
        state.insert(.ended)
        disarmReading()
        if brokenBy == 0 { breakWriting(error) } else { schedule() }
    }

    // MARK: What TLS adds; the rest is in Stream+TLS.swift

    internal func noteTruncated() { state.insert(.truncated) }

    /// Keeps bytes that came out of turn for the handler.
    internal func keep(_ bytes: UnsafeBufferPointer<UInt8>) {
        // SAFETY: the bytes live during the call.
        pending.append(unsafe bytes.span)
        schedule()
    }

    /// Whether a FIN was asked for, which then has to be asked for again.
    internal func takeShut() -> Bool { state.remove(.writeShut) != nil }

    // MARK: The peer of a paused stream

    private func watchPeer(onlyErrors: Bool) {
        guard !state.contains(.watched), onlyErrors || !state.contains(.toldGone) else { return }
        if loop.peerWatch?.watch(descriptor, for: self, onlyErrors: onlyErrors) == true { state.insert(.watched) }
    }

    private func unwatch() {
        guard state.contains(.watched) else { return }
        loop.peerWatch?.forget(descriptor)
        state.remove(.watched)
    }

    internal func peerWatchFired() {
        unwatch()
        var error: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        // SAFETY: the option is an Int32, written during the call.
        _ = unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size)
        if error != 0 { breakWriting(error) }
        tellGone()
    }

    private func tellGone() {
        guard !isEnded, !state.contains(.toldGone) else { return }
        state.insert(.toldGone)
        currentHandler.peerGone(self)
    }

    // MARK: Writing

    /// Bytes that wait because the socket was full. What is held to the end of the tick isn't among them, see `flush()`.
    public var queued: Int {
        guard let tls else { return queue.count }
        return queue.count + tls.early.count
    }
    /// Whether something that was written is still here: queued, or held to the end of the tick.
    public var holdsOutput: Bool { outboxIndex >= 0 || queued > 0 }
    /// Whether the queue has passed the high watermark. Holds until the low one is reached: as long as it does, `drained`
    /// is still to come.
    public var isAboveHighWatermark: Bool { state.contains(.aboveHigh) }
    /// Has `drained` told, once, when the queue has run empty. To be asked while something is queued.
    public func tellEmpty() { state.insert(.wantsEmpty) }

    /// Whether a write can still go out. If not, it is dropped: either the FIN was asked for or `failed` will tell.
    public var isWritable: Bool { brokenBy == 0 && state.isDisjoint(with: [.closed, .writeShut]) }

    internal func noteQueued() {
        if queued > Self.highWatermark { state.insert(.aboveHigh) }
    }

    /// The queue got shorter: sends the FIN that waited, and tells.
    internal func noteDrained() {
        var tells = false
        let queued = queued
        if state.contains(.aboveHigh), queued <= Self.lowWatermark {
            state.remove(.aboveHigh)
            tells = true
        }
        if queued == 0 {
            if state.contains(.writeShut) { _ = Glibc.shutdown(descriptor, Int32(SHUT_WR)) }
            if state.contains(.wantsEmpty) {
                state.remove(.wantsEmpty)
                tells = true
            }
        }
        if tells { currentHandler.drained(self) }
    }

    /// Sends a FIN, and with TLS a close_notify before it, behind what is queued. Later writes are dropped.
    /// - Parameter cut: whether more was meant to come, for all that is known: then TLS says no close_notify, now and later, so that the
    ///   peer doesn't take what it got for complete.
    public func shutdownWrite(cut: Bool = false) {
        guard state.isDisjoint(with: [.closed, .writeShut]) else { return }
        if let tls {
            if cut { tls.isCut = true }
            tls.shut()
            flushWire(tls)
        }
        flush()
        state.insert(.writeShut)
        if let tls, !tls.mayWrite, !tls.isRefused { return }
        if queue.isEmpty { _ = Glibc.shutdown(descriptor, Int32(SHUT_WR)) }
    }

    /// The connection broke: nothing more is written. What can still be read is read first, then `failed` tells. A paused
    /// stream tells `peerGone`, if it hasn't, and `failed` when it has resumed.
    internal func breakWriting(_ error: Int32) {
        // What was written before a fault of our own, such as TLS's, still goes out.
        flush()
        guard brokenBy == 0 else { return }
        brokenBy = error
        disarmWriting()
        loop.recycle(&queue)
        state.subtract([.aboveHigh, .wantsEmpty])
        // Lets the read side come to its end, whatever the error was. Bytes that have arrived stay readable.
        _ = Glibc.shutdown(descriptor, Int32(SHUT_RDWR))
        if isEnded { schedule() }
    }

    // MARK: The end of the tick

    private func schedule() {
        guard !state.contains(.scheduled) else { return }
        state.insert(.scheduled)
        loop.later(self)
    }

    internal func tickEnded() {
        state.remove(.scheduled)
        guard !isClosed else { return }
        if state.contains(.fresh) {
            endFirstTick()
            guard !isClosed else { return }
        }
        if isReading, !pending.isEmpty {
            deliverPending()
            guard !isClosed else { return }
        }
        if brokenBy != 0, isEnded, isReading || pending.isEmpty { return fail(brokenBy) }
        if state.contains(.sealed), !isEnded {
            if isReading { return readEnd() }
            return tellGone()
        }
        if isReading { armReading() }
    }

    /// Ends the tick in which the socket was accepted. Where clients come in numbers, the request has mostly arrived behind the
    /// connection: reading it here spares the loop an event, and the client a tick. A handler that wants nothing more for now has
    /// mostly answered and closed before anything else comes, so that libevent, and the system, need not hear of the socket at all.
    private func endFirstTick() {
        state.remove(.fresh)
        if isReading, loop.acceptedInTick > 1 {
            becameReadable()
            guard !isClosed else { return }
            if bytesRead > 0, pending.isEmpty, !isEnded, !currentHandler.awaitsBytes(self) {
                return loop.bePatient(with: self)
            }
        }
        armReading()
    }

    /// The loop has been patient with the stream: whether its peer is still there is of interest from now on.
    internal func endPatience() { armReading() }

    // MARK: Closing

    /// Closes the socket. What is queued and what was not consumed is dropped. No callback comes any more.
    /// Closing twice does nothing. With TLS a close_notify goes out first, if the system takes it at once.
    public func close() {
        guard !isClosed else { return }
        flush()
        if let tls { sayFarewell(tls) }
        tearDown()
    }

    /// Closes with a reset, so that the peer can't take what it got for complete.
    public func abort() {
        guard !isClosed else { return }
        Self.setReset(descriptor)
        tearDown()
    }

    /// Lets a reset end the connection when `descriptor` is closed.
    internal static func setReset(_ descriptor: Int32) {
        var linger = Glibc.linger(l_onoff: 1, l_linger: 0)
        // SAFETY: the option is a struct linger, read during the call.
        _ = unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
    }

    internal func fail(_ error: Int32) {
        let handler = currentHandler
        tearDown()
        handler.failed(self, error)
    }

    private func tearDown() {
        flush()
        unwatch()
        if patientIndex >= 0 { loop.endPatience(of: self) }
        disarmReading()
        disarmWriting()
        unsafe loop.pool.put(readEvent)
        _ = Glibc.close(descriptor)
        descriptor = -1
        state = .closed
        tls?.end()
        loop.recycle(&pending)
        loop.recycle(&queue)
        currentHandler = NoHandler.shared
        // SAFETY: balances passRetained in init; `closed` is set once, so this runs once. Callers hold the stream.
        unsafe Unmanaged.passUnretained(self).release()
    }
}

extension Stream {
    /// Writes `bytes`: behind the queue if there is one, else at once, or when the tick ends if they are few (`Outbox`).
    /// What the socket doesn't take is copied.
    /// Errors are told from the loop; a stream that can't write (`isWritable`) drops the bytes.
    public func write(_ bytes: Span<UInt8>) {
        guard isWritable, !bytes.isEmpty else { return }
        if let tls { return writeSecured(tls, bytes) }
        writeOut(bytes)
    }

    /// Sends what is held to the end of the tick now, so that `queued` says what the socket didn't take of all that was written.
    public func flush() {
        if outboxIndex >= 0 { outbox.send(self) }
    }

    /// Writes `first` and `second` as one: one system call when nothing is queued, and in TLS one record where they fit one.
    public func write(_ first: Span<UInt8>, _ second: Span<UInt8>) {
        guard !first.isEmpty else { return write(second) }
        guard !second.isEmpty else { return write(first) }
        guard isWritable else { return }
        if let tls { return writeSecured(tls, first, second) }
        if queue.isEmpty, loop.isRunning, outbox.hold(first, second, for: self) { return }
        writeOut(first, second, Span())
    }

    /// Writes all three as one, as far as they don't fit the outbox or a record of TLS.
    public func write(_ first: Span<UInt8>, _ second: Span<UInt8>, _ third: Span<UInt8>) {
        guard !third.isEmpty, tls == nil, second.count > Outbox.longest else {
            write(first, second)
            return write(third)
        }
        guard isWritable else { return }
        writeOut(first, second, third)
    }

    /// Writes pieces that the outbox doesn't hold: in one system call when nothing is queued.
    private func writeOut(_ first: Span<UInt8>, _ second: Span<UInt8>, _ third: Span<UInt8>) {
        flush()
        var sent = queue.isEmpty ? send(first, second, third) : 0
        guard sent < first.count + second.count + third.count else { return }
        enqueue(first, skipping: &sent)
        enqueue(second, skipping: &sent)
        enqueue(third, skipping: &sent)
    }

    /// Writes what `buffer` holds and empties it. When the socket is full and nothing is queued, the stream takes the
    /// buffer's memory and leaves other memory of the loop's, or none, in its place.
    public func write(_ buffer: inout OutputBuffer) {
        guard isWritable, !buffer.isEmpty else { return buffer.removeAll() }
        if let tls {
            writeSecured(tls, buffer.span)
            return buffer.removeAll()
        }
        if queue.isEmpty, loop.isRunning, outbox.hold(buffer.span, for: self) { return buffer.removeAll() }
        flush()
        guard queue.isEmpty else {
            enqueue(buffer.span, from: 0)
            return buffer.removeAll()
        }
        buffer.drop(send(buffer.span))
        guard !buffer.isEmpty, isWritable else { return buffer.removeAll() }
        let highWatermark = buffer.highWatermark
        var spare = loop.takeSpare()
        swap(&buffer, &spare)
        swap(&queue, &spare)
        buffer.highWatermark = highWatermark
        armWriting()
        noteQueued()
    }

    /// Writes `first` and `content` as one, and empties `content`. Where that is long and the socket takes less, the stream takes its
    /// memory, so that what waits for a slow peer isn't there twice.
    public func write(_ first: Span<UInt8>, taking content: inout OutputBuffer) {
        if content.count > Self.highWatermark, tls == nil { flush() }
        guard content.count > Self.highWatermark, tls == nil, queue.isEmpty, isWritable else {
            write(first, content.span)
            return content.removeAll()
        }
        var sent = send(first, content.span, Span())
        guard sent >= first.count, sent < first.count + content.count else {
            enqueue(first, skipping: &sent)
            enqueue(content.span, skipping: &sent)
            return content.removeAll()
        }
        content.drop(sent - first.count)
        loop.recycle(&queue)
        swap(&content, &queue)
        armWriting()
        noteQueued()
    }

    /// Writes bytes as they go to the socket: in TLS, records.
    internal func writeOut(_ bytes: Span<UInt8>) {
        if queue.isEmpty, loop.isRunning, outbox.hold(bytes, for: self) { return }
        flush()
        let sent = queue.isEmpty ? send(bytes) : 0
        if sent < bytes.count { enqueue(bytes, from: sent) }
    }

    /// Sends what the outbox held; what the system doesn't take begins the queue.
    internal func sendHeld(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard brokenBy == 0 else { return }
        // SAFETY: the bytes live during the call.
        let span = unsafe bytes.span
        let sent = send(span)
        if sent < span.count { enqueue(span, from: sent) }
    }

    /// Enqueues what is behind the first `count` bytes, which were sent, and takes those that are here off it.
    private func enqueue(_ bytes: Span<UInt8>, skipping count: inout Int) {
        let sent = min(count, bytes.count)
        count -= sent
        if sent < bytes.count { enqueue(bytes, from: sent) }
    }

    private func enqueue(_ bytes: Span<UInt8>, from start: Int) {
        guard isWritable else { return }
        if queue.capacity == 0 { queue = loop.takeSpare() }
        queue.append(bytes.extracting(start..<bytes.count))
        armWriting()
        noteQueued()
    }

    /// Returns how many bytes the system took; all of them, for the caller's sake, when writing broke.
    private func send(_ bytes: Span<UInt8>) -> Int {
        // SAFETY: the pointer is used only during the call.
        let sent = unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe recast_send(descriptor, buffer.baseAddress, buffer.count)
        }
        return sent >= 0 ? took(sent) : refused(bytes.count)
    }

    private func send(_ first: Span<UInt8>, _ second: Span<UInt8>, _ third: Span<UInt8>) -> Int {
        var vectors = unsafe (Self.vector(of: first), Self.vector(of: second), Self.vector(of: third))
        let count = third.isEmpty ? 2 : 3
        // SAFETY: what the vectors point to is borrowed until the function ends; sendmsg doesn't write through them.
        let sent = unsafe withUnsafeMutableBytes(of: &vectors) { raw in
            var message = unsafe msghdr()
            unsafe message.msg_iov = raw.assumingMemoryBound(to: iovec.self).baseAddress
            unsafe message.msg_iovlen = count
            return unsafe sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL))
        }
        return sent >= 0 ? took(sent) : refused(first.count + second.count + third.count)
    }

    @unsafe
    private static func vector(of bytes: Span<UInt8>) -> iovec {
        // SAFETY: the pointer goes to the caller, who has the span and marks the use of it.
        unsafe bytes.withUnsafeBufferPointer {
            unsafe iovec(iov_base: UnsafeMutableRawPointer(mutating: $0.baseAddress), iov_len: $0.count)
        }
    }

    private func took(_ count: Int) -> Int {
        writtenCount &+= UInt64(count)
        return count
    }

    private func refused(_ count: Int) -> Int {
        let error = errno
        if error == EAGAIN || error == EINTR { return 0 }
        breakWriting(error)
        return count
    }

    private func armWriting() {
        guard unsafe writeEvent == nil else { return }
        let event = unsafe loop.pool.take()
        unsafe writeEvent = event
        // SAFETY: unretained: the read event's reference keeps the stream until `tearDown`, which removes this event.
        unsafe event_assign(
            event, loop.base, descriptor, Int16(EV_WRITE | EV_PERSIST),
            { _, _, context in
                unsafe Unmanaged<Stream>.fromOpaque(context!).takeUnretainedValue().becameWritable()
            }, Unmanaged.passUnretained(self).toOpaque())
        if unsafe event_add(event, nil) != 0 { breakWriting(ENOMEM) }
    }

    internal func disarmWriting() {
        guard let event = unsafe writeEvent else { return }
        // SAFETY: assigned in armWriting.
        unsafe event_del(event)
        unsafe loop.pool.put(event)
        unsafe writeEvent = nil
    }

    private func becameWritable() {
        guard !isClosed, !queue.isEmpty else { return }
        // The queue leaves the stream meanwhile: an error empties it.
        var held = OutputBuffer()
        swap(&held, &queue)
        held.drop(send(held.span))
        if held.isEmpty || brokenBy != 0 {
            disarmWriting()
            loop.recycle(&held)
        } else {
            swap(&held, &queue)
        }
        if brokenBy == 0 { noteDrained() }
    }
}
