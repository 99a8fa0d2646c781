internal import CEvent
internal import CEventShims
internal import Glibc

/// A listening socket: TCP or unix.
///
/// Accepts one connection in a tick, and where the next tick finds more, twice as many as in the one before: asking for one that
/// isn't there costs twelve times what it costs to be told of it by the next tick (docs/decisions/0025). At most 32 in a tick, so that
/// a burst doesn't starve the connections there are; after a tick that took long, as many more as short ticks would have taken
/// meanwhile, so that the backlog isn't starved either.
///
/// When the system is out of descriptors, the next connection is closed (with a descriptor held in reserve) and accepting pauses for
/// about 100 ms, instead of turning a million times a second.
///
/// The loop keeps an open listener alive until `close()`.
@safe
public final class Listener {
    /// Connections accepted in one tick at most, while ticks are short.
    public static let acceptsPerTick = 32
    /// Connections accepted after a long tick, at most.
    public static let acceptsAfterLongTick = 512
    /// Nanoseconds from which on a tick is long: 100 ms.
    private static let longTick: UInt64 = 100_000_000
    /// Nanoseconds of a long tick for each 32 connections: 10 ms, so that up to 3200 a second are accepted.
    private static let shortTick: UInt64 = 10_000_000
    /// Nanoseconds without accepting after the system ran out of descriptors: 100 ms.
    private static let shortagePause: UInt64 = 100_000_000

    public let loop: EventLoop
    /// The address that is bound: with the real port where port 0 was asked for.
    public let address: SocketAddress
    /// How often the system was out of descriptors or memory for a new connection.
    public private(set) var shortages = 0
    /// Called each time that `shortages` grows: the server may close what it can spare. Must not close the listener.
    public var onShortage: (() -> Void)?

    private let onAccept: (Int32, SocketAddress) -> Void
    private let event: OpaquePointer
    private var timer: Timer?
    private var descriptor: Int32
    private var reserve: Int32
    /// The file of a unix socket, to be removed if it is still this one. nil for a listener that shares another's socket.
    private var file: UnixSocketFile?
    /// Whether other processes or loops accept from the very same socket: then it goes on when this one is closed.
    private let isShared: Bool
    /// Whether accepted sockets lack `TCP_NODELAY`.
    private let setsNoDelay: Bool
    private var finishTimer: Timer?
    private var onFinished: (() -> Void)?
    private var isPaused = false
    private var isShort = false
    private var isArmed = false
    /// The last tick in which as many connections as may be were accepted, how many that were, and when. No tick has the first number.
    private var fullTick = UInt64.max - 1
    private var fullCount = 0
    private var fullAt: UInt64 = 0

    /// Binds `address` and starts to accept. A unix socket without a listener is replaced.
    /// - Parameters:
    ///   - reusePort: lets each loop have a listener of its own on the same address; the system spreads connections. Has
    ///     no meaning for unix sockets: see `ListeningSocket.duplicate()`.
    ///   - backlog: connections that the system keeps until they are accepted; it cuts the number at `somaxconn`.
    ///   - onAccept: owns the descriptor (non-blocking, close-on-exec, `TCP_NODELAY`) that it is given. May close the listener.
    /// - Throws: `LoopError`, `.addressInUse` among others.
    public convenience init(
        loop: EventLoop, address: SocketAddress, reusePort: Bool = false, backlog: Int = 4096,
        onAccept: @escaping (Int32, SocketAddress) -> Void
    ) throws(LoopError) {
        let socket = try ListeningSocket.open(address, sharing: reusePort ? .anybody : .none, backlog: backlog)
        self.init(loop: loop, socket: socket, onAccept: onAccept)
    }

    /// Accepts on `loop` from `socket`, whose descriptor this takes over. Called on the thread of `loop`.
    public init(loop: EventLoop, socket: ListeningSocket, onAccept: @escaping (Int32, SocketAddress) -> Void) {
        self.loop = loop
        self.descriptor = socket.descriptor
        self.address = socket.address
        self.file = socket.file
        self.isShared = socket.isShared
        self.setsNoDelay = !socket.givesNoDelay && !socket.address.isUnix
        self.onAccept = onAccept
        unsafe self.event = loop.pool.take()
        self.reserve = Self.openReserve()
        self.timer = Timer(loop: loop) { [unowned self] in
            isShort = false
            update()
        }
        // SAFETY: the loop's reference is released once, in `close`, after the event was removed.
        unsafe event_assign(
            event, loop.base, descriptor, Int16(EV_READ | EV_PERSIST),
            { _, _, context in
                unsafe Unmanaged<Listener>.fromOpaque(context!).takeUnretainedValue().becameReadable()
            }, Unmanaged.passRetained(self).toOpaque())
        update()
    }

    /// Stops accepting; connections wait in the backlog.
    public func pause() {
        isPaused = true
        update()
    }

    public func resume() {
        isPaused = false
        update()
    }

    public var isClosed: Bool { descriptor < 0 }

    /// Whether it is a unix socket that no client finds any more, since its file is gone, or stands for a process that is.
    public var isLost: Bool { file?.isLost == true }

    /// Whether it is a unix socket in whose place another process' stands, or none. Costs a look at the file.
    public var isDisplaced: Bool { file?.isDisplaced == true }

    /// Closes the socket and removes the file of a unix socket, unless another process has put one of its own there.
    public func close() {
        guard !isClosed else { return }
        isPaused = true
        update()
        timer = nil
        unsafe loop.pool.put(event)
        finishTimer = nil
        file?.remove()
        _ = Glibc.close(descriptor)
        if reserve >= 0 { _ = Glibc.close(reserve) }
        descriptor = -1
        // SAFETY: balances passRetained in init, once: isClosed holds from now on. The caller holds the listener.
        unsafe Unmanaged.passUnretained(self).release()
    }

    /// Ends accepting without losing a client: new handshakes are left to the next listener, those that have begun get
    /// `nanoseconds` to come to their end, what waits is accepted, and then the socket is closed and `done` called.
    ///
    /// Closing at once would reset the connections that wait to be accepted. A socket that is shared is only let go: what
    /// waits there is the others'.
    public func finish(after nanoseconds: UInt64, _ done: @escaping () -> Void) {
        guard !isClosed, onFinished == nil else { return }
        onFinished = done
        if !isShared {
            // No new client finds a unix socket from here on; a TCP socket hears no new one.
            file?.remove()
            file = nil
            if !address.isUnix { _ = recast_ignore_new(descriptor) }
            if nanoseconds > 0 {
                let timer = Timer(loop: loop) { [unowned self] in finishNow() }
                timer.set(after: nanoseconds)
                finishTimer = timer
                return
            }
        }
        finishNow()
    }

    private func finishNow() {
        if !isShared {
            isShort = false
            isPaused = false
            update()
            while isArmed, !isClosed, acceptSome() {}
        }
        let done = onFinished
        onFinished = nil
        close()
        done?()
    }

    private func update() {
        let wanted = !isPaused && !isShort && !isClosed
        guard wanted != isArmed else { return }
        // SAFETY: assigned in init.
        if wanted {
            if unsafe event_add(event, nil) != 0 { return runShort() }
        } else {
            unsafe event_del(event)
        }
        isArmed = wanted
    }

    private func becameReadable() { _ = acceptSome() }

    /// Accepts as many as one tick may. Returns whether there may be more.
    private func acceptSome() -> Bool {
        // Connections that were left make the next tick call again; what waited longer came later, or we were paused.
        let now = loop.now
        let leftSome = loop.tickCount == fullTick &+ 1
        let most = leftSome ? Self.accepts(behind: fullCount, after: now &- fullAt) : 1
        for _ in 0..<most {
            guard isArmed else { return false }
            let (accepted, peer) = SocketAddress.accept(from: descriptor)
            if accepted >= 0 {
                if setsNoDelay { Stream.setNoDelay(accepted) }
                onAccept(accepted, peer ?? address)
                continue
            }
            switch errno {
            case EAGAIN: return false
            case EMFILE, ENFILE, ENOBUFS, ENOMEM:
                runShort()
                return false
            // What is left are errors of the one connection, which is gone.
            default: continue
            }
        }
        fullTick = loop.tickCount
        fullCount = most
        fullAt = now
        return true
    }

    /// Connections to accept in a tick that begins `nanoseconds` after one that accepted `count` and left some.
    internal static func accepts(behind count: Int, after nanoseconds: UInt64) -> Int {
        guard nanoseconds >= longTick else { return min(2 * count, acceptsPerTick) }
        return Int(min(UInt64(acceptsPerTick) * (nanoseconds / shortTick), UInt64(acceptsAfterLongTick)))
    }

    /// No descriptor for the next connection: it is told so by closing it, then there is a pause.
    private func runShort() {
        shortages += 1
        if reserve >= 0 {
            _ = Glibc.close(reserve)
            let refused = recast_accept(descriptor, nil, nil)
            if refused >= 0 { _ = Glibc.close(refused) }
        }
        reserve = Self.openReserve()
        isShort = true
        update()
        timer?.set(after: Self.shortagePause)
        onShortage?()
    }

    private static func openReserve() -> Int32 {
        // SAFETY: a constant path.
        unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
    }
}
