internal import CEvent
internal import Glibc
public import Octets

/// One event loop of libevent, for one thread.
///
/// Everything that hangs on a loop (streams, timers, listeners, look-ups) belongs to its thread and is not `Sendable`;
/// the one door for other threads is `inbox`. The base is made without locks.
///
/// A **tick** is one wait for events with all the callbacks that follow from it. `run()` repeats ticks until `stop()`.
@safe
public final class EventLoop {
    /// Bytes of the one buffer that all streams of a loop read into, 384 KiB. A stream that flows is read so much at once:
    /// waking those who wait costs as much as the bytes do (docs/decisions/0010).
    public static let readBufferSize = 384 * 1024

    internal let base: OpaquePointer
    internal var pool = EventPool()
    internal let readBuffer: UnsafeMutableBufferPointer<UInt8>
    internal let outbox = Outbox()
    internal let wheel = TimerWheel()
    /// For other threads: work posted here runs on this loop.
    public let inbox: LoopInbox
    /// Whatever work that is posted from outside needs to find on this loop: the worker that owns it, for instance.
    public var context: AnyObject?
    /// The number of ticks so far: a gauge of wake-ups.
    public private(set) var tickCount: UInt64 = 0

    private let inboxEvent: OpaquePointer
    private let timerEvent: OpaquePointer
    private let patienceEvent: OpaquePointer
    /// Streams that libevent is asked to report on when `patienceEvent` comes, unless they are closed or want to read before.
    private var patient: [Stream] = []
    /// Whether `patienceEvent` is to come.
    private var isPatienceTimed = false
    /// How long the end of a peer may go unnoticed that isn't waited for, 10 ms: what is answered within it costs no watch.
    public static let patience: UInt64 = 10_000_000
    private var signals: [SignalWatch] = []
    private var peerWatchStorage: PeerWatch?
    private var tlsWireStorage: TLSWire?
    // SAFETY of `@exclusivity(unchecked)`: one thread uses a loop, spares call nobody, and what is deferred is taken out of its
    // list before it is called (docs/decisions/0007).
    /// Memory of write queues and leftovers that ran empty.
    @safe @exclusivity(unchecked) private var spares = SpareBuffers(most: 8, capacity: 1024 * 1024)
    @safe @exclusivity(unchecked) private var deferred: [Deferred] = []
    @safe @exclusivity(unchecked) private var running: [Deferred] = []
    /// Streams whose sockets were accepted in this tick.
    internal var acceptedInTick = 0
    /// The clock as it was read in this tick; 0: it wasn't read yet, or the loop doesn't run.
    ///
    /// SAFETY of `@exclusivity(unchecked)`: a number that is read and replaced as a whole.
    @safe @exclusivity(unchecked) @usableFromInline internal var cachedNow: UInt64 = 0
    private var cachedMilliseconds = 0
    /// Nanoseconds in which the process, or this thread, has stood still, as far as it was seen.
    ///
    /// SAFETY of `@exclusivity(unchecked)`: a number that is read and replaced as a whole.
    @safe @exclusivity(unchecked) @usableFromInline internal var stoodStill: UInt64 = 0
    /// Called at the end of the tick that saw a standstill: for what gets old by itself, whatever this process does.
    public var onStandstill: (() -> Void)?
    /// The clock as a tick read it last.
    private var lastRead: UInt64 = 0
    /// From when on the next pulse is so late that nothing can have turned; `.max`: no pulse is awaited.
    private var pulseIsLate = UInt64.max
    /// Whether a tick's end is still to come.
    internal private(set) var isRunning = false
    private var isStopRequested = false
    /// Ticks that are still to come before timers that are late fire, see `wheelIsDue`.
    private var catchUp = 0
    /// Nanoseconds by which timers are late when the process, or this thread, has been stopped: 500 ms.
    private static let standstill: UInt64 = 500_000_000
    /// Ticks that look at sockets first then. libevent asks for 32 events first and for up to 4096 when there are that many:
    /// these are enough for every one of 40,000 sockets to be read once.
    private static let catchUpTicks = 16

    /// Work for the end of the tick.
    private enum Deferred {
        case stream(Stream)
        case work(any TickTask)
        case call(() -> Void)
    }

    /// - Throws: `LoopError` when the system is out of descriptors or memory.
    public init() throws(LoopError) {
        let inbox = try LoopInbox()
        guard let config = unsafe event_config_new() else { throw LoopError.noEventBase }
        // No other thread touches the base, so it has no locks; and no variable of the environment changes the back end.
        // SAFETY: config is freed once, below, after its last use.
        unsafe event_config_set_flag(config, Int32(EVENT_BASE_FLAG_NOLOCK.rawValue))
        unsafe event_config_set_flag(config, Int32(EVENT_BASE_FLAG_IGNORE_ENV.rawValue))
        let made = unsafe event_base_new_with_config(config)
        unsafe event_config_free(config)
        guard let base = unsafe made else { throw LoopError.noEventBase }
        self.inbox = inbox
        unsafe self.base = base
        unsafe self.readBuffer = .allocate(capacity: Self.readBufferSize)
        unsafe self.inboxEvent = pool.take()
        unsafe self.timerEvent = pool.take()
        unsafe self.patienceEvent = pool.take()

        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        // SAFETY: the events are removed in deinit before self goes away, so the unretained pointer is always alive.
        unsafe event_assign(
            inboxEvent, base, inbox.descriptor, Int16(EV_READ | EV_PERSIST),
            { _, _, context in
                unsafe Unmanaged<EventLoop>.fromOpaque(context!).takeUnretainedValue().inboxFilled()
            }, context)
        unsafe event_assign(
            timerEvent, base, -1, 0,
            { _, _, context in
                unsafe Unmanaged<EventLoop>.fromOpaque(context!).takeUnretainedValue().wheelIsDue()
            }, context)
        unsafe event_assign(
            patienceEvent, base, -1, 0,
            { _, _, context in
                unsafe Unmanaged<EventLoop>.fromOpaque(context!).takeUnretainedValue().patienceIsOver()
            }, context)
        guard unsafe event_add(inboxEvent, nil) == 0 else { throw .system(call: "epoll_ctl", errno: ENOMEM) }
    }

    deinit {
        // SAFETY: streams, listeners, timers and look-ups hold the loop, so none of them is left; what remains on the
        // base is removed here before the base is freed.
        unsafe event_del(inboxEvent)
        unsafe event_del(timerEvent)
        unsafe event_del(patienceEvent)
        for signal in signals { signal.remove() }
        peerWatchStorage?.remove(from: self)
        unsafe event_base_free(base)
        unsafe readBuffer.deallocate()
    }

    // MARK: Running

    /// Runs ticks until `stop()`. A loop that was stopped can run again.
    public func run() {
        precondition(!isRunning, "the loop is running already")
        isRunning = true
        repeat {
            cachedNow = 0
            cachedMilliseconds = 0
            tickCount &+= 1
            let waits = deferred.isEmpty && !isStopRequested && catchUp == 0
            let flags = EVLOOP_ONCE | (waits ? 0 : EVLOOP_NONBLOCK)
            // SAFETY: the base is alive as long as self is.
            let outcome = unsafe event_base_loop(base, flags)
            // The back end fails only if the loop's own descriptor was closed under it.
            precondition(outcome >= 0, "libevent could not wait for events")
            endTick()
            if catchUp > 0 { tickCaughtUp() }
            outbox.sendAll()
        } while !isStopRequested
        isStopRequested = false
        isRunning = false
        cachedNow = 0
    }

    /// Lets `run()` return when the current tick is over. Called before `run()`, it makes that one tick long.
    public func stop() {
        isStopRequested = true
    }

    /// Nanoseconds of the monotonic clock, read once a tick. In a callback that runs long it lags behind.
    @inlinable public var now: UInt64 {
        let now = cachedNow
        return now != 0 ? now : readNow()
    }

    @usableFromInline
    internal func readNow() -> UInt64 {
        let now = SystemClock.monotonic()
        if isRunning {
            if now > pulseIsLate {
                stoodStill &+= now &- lastRead
                pulseIsLate = .max
                catchUp = Self.catchUpTicks
                if let onStandstill { later(onStandstill) }
            }
            lastRead = now
            cachedNow = now
        }
        return now
    }

    /// `now` without the time in which the process, or this thread, stood still (SIGSTOP, a debugger, a paused machine): for timers, and
    /// for what a peer owes in a time. It never goes back. What is shorter than the pulse and half a second goes unseen, as does all
    /// without a pulse.
    @inlinable public var activeNow: UInt64 {
        // Nothing is called behind the first look, so that no caller has to keep the loop meanwhile.
        let now = cachedNow
        return now != 0 ? now &- stoodStill : readActiveNow()
    }

    @usableFromInline
    internal func readActiveNow() -> UInt64 {
        // First the clock: it is what sees a standstill.
        let now = readNow()
        return now &- stoodStill
    }

    /// Says, on this loop, that others turn too, and will say so again in `next` nanoseconds: a loop that waits can't know by itself
    /// whether time passed or stood still.
    public func pulse(next: UInt64) {
        let now = now
        pulseIsLate = now &+ next &+ Self.standstill
    }

    /// Seconds since 1970, read once a tick: for `Date` fields.
    public var wallClockSeconds: Int { wallClockMilliseconds / 1000 }

    /// Milliseconds since 1970, read once a tick from a clock that is a few of them coarse: for logs.
    public var wallClockMilliseconds: Int {
        guard isRunning else { return SystemClock.wallMilliseconds() }
        if cachedMilliseconds == 0 { cachedMilliseconds = SystemClock.wallMilliseconds() }
        return cachedMilliseconds
    }

    /// Nanoseconds of the monotonic clock as it stands now, for measuring inside a tick. Costs a read of the clock.
    public static var preciseNow: UInt64 { SystemClock.monotonic() }

    /// Nanoseconds since 1970 as the clock stands now, to turn moments of `now` into such of the calendar.
    public static var preciseWallClock: UInt64 { SystemClock.wallNanoseconds() }

    // MARK: The end of the tick

    /// Calls `work` once when the current batch of callbacks is over; it is kept alive until then. Work that is added by
    /// `tickEnded()` runs at the end of the next tick, which then doesn't wait. From outside of a tick: at the end of
    /// the next one.
    public func afterTick(_ work: any TickTask) {
        deferred.append(.work(work))
    }

    /// As `afterTick`, for one-off results.
    internal func later(_ call: @escaping () -> Void) {
        deferred.append(.call(call))
    }

    /// Lets `stream` look after its leftovers when the tick is over.
    internal func later(_ stream: Stream) {
        deferred.append(.stream(stream))
    }

    private func endTick() {
        guard !deferred.isEmpty else { return }
        swap(&deferred, &running)
        for index in running.indices {
            switch running[index] {
            case .stream(let stream): stream.tickEnded()
            case .work(let work): work.tickEnded()
            case .call(let call): call()
            }
        }
        running.removeAll(keepingCapacity: true)
        acceptedInTick = 0
    }

    // MARK: Signals and other threads

    /// Calls `action` on the loop for each `number` that arrives. A process may watch signals on one loop only: libevent
    /// keeps one table for all. `action` lives as long as the loop: it must not hold the loop strongly.
    public func onSignal(_ number: Int32, _ action: @escaping () -> Void) {
        signals.append(SignalWatch(number, on: self, action))
    }

    private func inboxFilled() {
        for work in inbox.take() { work(self) }
    }

    // MARK: Timers

    /// Within a tick sockets come before timers, so what has arrived in time pushes its timeout back. When the process was stopped
    /// (SIGSTOP, a debugger, a paused machine), more sockets may be ready than one tick reports: then all of them are looked at before
    /// timers fire, so that only those who sent nothing are timed out. A standstill that the pulse shows counts in no timer, and one may
    /// be due in a moment all the same; behind one that it doesn't, for it was short or there is no pulse, every timer is due.
    private func wheelIsDue() {
        let now = activeNow
        guard catchUp == 0 else { return }
        if wheel.lateness(now: now) > Self.standstill {
            catchUp = Self.catchUpTicks
        } else {
            wheel.advance(to: now)
            armWheel()
        }
    }

    private func tickCaughtUp() {
        catchUp -= 1
        guard catchUp == 0 else { return }
        wheel.advance(to: activeNow)
        armWheel()
    }

    /// Makes libevent's timer ring at the wheel's next tick if it wouldn't by then.
    internal func armWheel() {
        guard let wait = wheel.nextWait(now: activeNow) else { return }
        let microseconds = Int(wait / 1000) + 1000
        var interval = timeval(tv_sec: microseconds / 1_000_000, tv_usec: microseconds % 1_000_000)
        // SAFETY: the event was assigned in init; the interval is copied.
        unsafe event_add(timerEvent, &interval)
    }

    // MARK: Patience

    /// Lets `stream` ask libevent for what comes later, when `patience` is over: at most so long for it, since one event serves all.
    internal func bePatient(with stream: Stream) {
        stream.patientIndex = Int32(truncatingIfNeeded: patient.count)
        patient.append(stream)
        guard !isPatienceTimed else { return }
        isPatienceTimed = true
        var interval = timeval(tv_sec: 0, tv_usec: Int(Self.patience / 1000))
        // SAFETY: the event was assigned in init; the interval is copied.
        unsafe event_add(patienceEvent, &interval)
    }

    /// Forgets `stream`, which is one of the patient: it is closed, or asks now. The last one takes its place.
    internal func endPatience(of stream: Stream) {
        let index = stream.patientIndex
        stream.patientIndex = -1
        let last = patient.removeLast()
        guard last !== stream else { return }
        patient[Int(index)] = last
        last.patientIndex = index
    }

    private func patienceIsOver() {
        isPatienceTimed = false
        // From the end, where a stream leaves without a move.
        while let stream = patient.last { stream.endPatience() }
    }

    // MARK: What streams share

    /// The watch over peers of paused streams, made when the first stream pauses with bytes waiting.
    internal var peerWatch: PeerWatch? {
        if peerWatchStorage == nil { peerWatchStorage = PeerWatch(on: self) }
        return peerWatchStorage
    }

    /// What all TLS sessions share, made with the first of them.
    internal var tlsWire: TLSWire {
        if let wire = tlsWireStorage { return wire }
        let wire = TLSWire()
        tlsWireStorage = wire
        return wire
    }

    /// Gives `buffer`, which must be empty, memory from an earlier use where there is some, and leaves its watermark as it is. For
    /// output that will be more than a few KiB.
    public func lendSpare(to buffer: inout OutputBuffer) { spares.lend(to: &buffer) }

    /// An empty buffer, with memory from an earlier use where there is some.
    internal func takeSpare() -> OutputBuffer {
        var buffer = OutputBuffer()
        spares.lend(to: &buffer)
        return buffer
    }

    /// Leaves `buffer` empty and without memory; the memory is kept for the next who takes a spare, up to eight of 1 MiB a loop.
    public func recycle(_ buffer: inout OutputBuffer) { spares.recycle(&buffer) }
}
