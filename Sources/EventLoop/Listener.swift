internal import CEvent
internal import CEventShims
internal import Glibc

/// A listening socket: TCP or unix.
///
/// Accepts at most 32 connections a turn, so that a burst doesn't starve the connections there are. When the system is
/// out of descriptors, the next connection is closed (with a descriptor held in reserve) and accepting pauses for about
/// 100 ms, instead of turning a million times a second.
///
/// The loop keeps an open listener alive until `close()`.
@safe
public final class Listener {
    /// Connections accepted in one turn.
    public static let acceptsPerTurn = 32
    /// Nanoseconds without accepting after the system ran out of descriptors: 100 ms.
    private static let shortagePause: UInt64 = 100_000_000

    public let loop: EventLoop
    /// The address that is bound: with the real port where port 0 was asked for.
    public let address: SocketAddress
    /// How often the system was out of descriptors or memory for a new connection.
    public private(set) var shortages = 0
    /// Called each time that `shortages` grows: whoever serves may close what it can spare. Must not close the listener.
    public var onShortage: (() -> Void)?

    private let onAccept: (Int32, SocketAddress) -> Void
    private let event: OpaquePointer
    private var timer: Timer?
    private var descriptor: Int32
    private var reserve: Int32
    /// The file of a unix socket, to be removed if it is still this one. nil for a listener that shares another's socket.
    private let file: FileIdentity?
    private var isPaused = false
    private var isShort = false
    private var isArmed = false

    private struct FileIdentity: Equatable {
        let device: dev_t
        let inode: ino_t

        init?(path: String) {
            var status = stat()
            // SAFETY: the path is end-marked, the status is written during the call.
            guard unsafe lstat(path, &status) == 0 else { return nil }
            device = status.st_dev
            inode = status.st_ino
        }
    }

    /// Binds `address` and starts to accept. A unix socket that nobody listens on any more is replaced.
    /// - Parameters:
    ///   - reusePort: lets each loop have a listener of its own on the same address; the system spreads connections. Has
    ///     no meaning for unix sockets: see `init(sharing:on:onAccept:)`.
    ///   - backlog: connections that the system keeps until they are accepted; it cuts the number at `somaxconn`.
    ///   - onAccept: owns the descriptor (non-blocking, close-on-exec) that it is given. May close the listener.
    /// - Throws: `LoopError`, `.addressInUse` among others.
    public convenience init(
        loop: EventLoop, address: SocketAddress, reusePort: Bool = false, backlog: Int = 4096,
        onAccept: @escaping (Int32, SocketAddress) -> Void
    ) throws(LoopError) {
        let descriptor = try Self.bind(address, reusePort: reusePort, backlog: backlog)
        let bound = address.isUnix ? address : SocketAddress(boundBy: descriptor) ?? address
        self.init(
            loop: loop, descriptor: descriptor, address: bound,
            file: address.isUnix ? FileIdentity(path: address.path) : nil, onAccept: onAccept)
    }

    /// Accepts on `loop` from the socket of another listener, as several loops must on one unix socket. Called on the
    /// thread of `loop`; `duplicate` is a descriptor made by `duplicateDescriptor()`, which this takes over.
    public convenience init(
        loop: EventLoop, sharing duplicate: Int32, onAccept: @escaping (Int32, SocketAddress) -> Void
    ) {
        self.init(
            loop: loop, descriptor: duplicate,
            address: SocketAddress(boundBy: duplicate) ?? SocketAddress(unixPath: ""), file: nil, onAccept: onAccept)
    }

    private init(
        loop: EventLoop, descriptor: Int32, address: SocketAddress, file: FileIdentity?,
        onAccept: @escaping (Int32, SocketAddress) -> Void
    ) {
        self.loop = loop
        self.descriptor = descriptor
        self.address = address
        self.file = file
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

    /// A second descriptor of the listening socket, for a listener on another loop.
    public func duplicateDescriptor() throws(LoopError) -> Int32 {
        let duplicate = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard duplicate >= 0 else { throw .system(call: "dup of a listener", errno: errno) }
        return duplicate
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

    /// Closes the socket and removes the file of a unix socket, unless somebody else has put another one there.
    public func close() {
        guard !isClosed else { return }
        isPaused = true
        update()
        timer = nil
        unsafe loop.pool.put(event)
        if let file, file == FileIdentity(path: address.path) { _ = unsafe unlink(address.path) }
        _ = Glibc.close(descriptor)
        if reserve >= 0 { _ = Glibc.close(reserve) }
        descriptor = -1
        // SAFETY: balances passRetained in init, once: isClosed holds from now on. The caller holds the listener.
        unsafe Unmanaged.passUnretained(self).release()
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

    private func becameReadable() {
        for _ in 0..<Self.acceptsPerTurn {
            guard isArmed else { return }
            let (accepted, peer) = SocketAddress.accept(from: descriptor)
            if accepted >= 0 {
                onAccept(accepted, peer ?? address)
                continue
            }
            switch errno {
            case EAGAIN: return
            case EMFILE, ENFILE, ENOBUFS, ENOMEM: return runShort()
            // What is left are errors of the one connection, which is gone.
            default: continue
            }
        }
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

    // MARK: Binding

    private static func bind(
        _ address: SocketAddress, reusePort: Bool, backlog: Int
    ) throws(LoopError) -> Int32 {
        guard address.path.utf8.count <= SocketAddress.longestPath else { throw .pathTooLong(address.path) }
        let descriptor = socket(
            address.systemFamily, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw .system(call: "socket", errno: errno) }
        do throws(LoopError) {
            if address.isUnix {
                try removeStale(address)
            } else {
                try set(SO_REUSEADDR, of: descriptor, level: SOL_SOCKET, "SO_REUSEADDR")
                if reusePort { try set(SO_REUSEPORT, of: descriptor, level: SOL_SOCKET, "SO_REUSEPORT") }
                // So that [::]:80 and 0.0.0.0:80 can both be listed, and a peer has one form of address only.
                if address.isIPv6 {
                    try set(Int32(IPV6_V6ONLY), of: descriptor, level: Int32(IPPROTO_IPV6), "IPV6_V6ONLY")
                }
            }
            // SAFETY: the pointer is used only during the call.
            guard unsafe address.withSystemAddress({ unsafe Glibc.bind(descriptor, $0, $1) }) == 0 else {
                throw errno == EADDRINUSE
                    ? .addressInUse(address) : .system(call: "bind \(address)", errno: errno)
            }
            guard listen(descriptor, Int32(clamping: backlog)) == 0 else {
                throw errno == EADDRINUSE
                    ? .addressInUse(address) : .system(call: "listen \(address)", errno: errno)
            }
            return descriptor
        } catch {
            _ = Glibc.close(descriptor)
            throw error
        }
    }

    private static func set(_ option: Int32, of descriptor: Int32, level: Int32, _ name: String) throws(LoopError) {
        var on: Int32 = 1
        // SAFETY: the option is an Int32, read during the call.
        guard
            unsafe setsockopt(descriptor, level, option, &on, socklen_t(MemoryLayout<Int32>.size)) == 0
        else { throw .system(call: "setsockopt \(name)", errno: errno) }
    }

    /// Removes a socket file whose listener is gone. Anything else at that path is left, and `bind` says so.
    private static func removeStale(_ address: SocketAddress) throws(LoopError) {
        var status = stat()
        // SAFETY: the path is end-marked, the status is written during the call.
        guard unsafe lstat(address.path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return }
        let probe = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard probe >= 0 else { throw .system(call: "socket", errno: errno) }
        defer { _ = Glibc.close(probe) }
        // SAFETY: the pointer is used only during the call.
        let outcome = unsafe address.withSystemAddress { unsafe connect(probe, $0, $1) }
        if outcome != 0, errno == ECONNREFUSED { _ = unsafe unlink(address.path) }
    }
}
