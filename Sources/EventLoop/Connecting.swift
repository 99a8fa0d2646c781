internal import CEvent
internal import Glibc

/// Makes connections.
public enum Connect {
    /// Connects to `address`. `completion` comes once, from the loop, never from inside this call: with a non-blocking,
    /// close-on-exec descriptor that it then owns, or with the reason. Not after `cancel()`.
    /// - Parameter nanoseconds: the deadline, kept as coarsely as `Timer` does.
    @discardableResult
    public static func start(
        loop: EventLoop, address: SocketAddress, timeout nanoseconds: UInt64,
        completion: @escaping (Result<Int32, ConnectError>) -> Void
    ) -> Connecting {
        Connecting(loop: loop, address: address, timeout: nanoseconds, completion: completion)
    }
}

/// A connection on its way. The loop keeps it until it is complete or cancelled.
@safe
public final class Connecting {
    /// How often a unix socket whose backlog is full is tried again: the system has no readiness to wait for.
    private static let retryInterval: UInt64 = 30_000_000

    public let loop: EventLoop
    public let address: SocketAddress
    private var completion: ((Result<Int32, ConnectError>) -> Void)?
    private var descriptor: Int32 = -1
    private var event: OpaquePointer?
    private var timer: Timer?
    private let deadline: UInt64

    internal init(
        loop: EventLoop, address: SocketAddress, timeout nanoseconds: UInt64,
        completion: @escaping (Result<Int32, ConnectError>) -> Void
    ) {
        self.loop = loop
        self.address = address
        self.completion = completion
        self.deadline = loop.activeNow &+ min(nanoseconds, 1 << 62)
        // SAFETY: this is the loop's reference; `finish` and `cancel` release it, whichever comes, once.
        _ = unsafe Unmanaged.passRetained(self)
        self.timer = Timer(loop: loop) { [unowned self] in timerFired() }
        timer?.set(after: nanoseconds)
        open()
    }

    /// Whether neither the completion nor `cancel()` has come.
    public var isUnderWay: Bool { completion != nil }

    /// Gives up. No completion comes.
    public func cancel() {
        guard isUnderWay else { return }
        disarm()
        closeDescriptor()
        completion = nil
        // SAFETY: see `finish`.
        unsafe Unmanaged.passUnretained(self).release()
    }

    private func open() {
        guard address.path.utf8.count <= SocketAddress.longestPath else {
            return finishLater(.failure(.system(ENAMETOOLONG)))
        }
        descriptor = socket(
            address.systemFamily, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return finishLater(.failure(ConnectError(errno: errno))) }
        attempt()
    }

    private func attempt() {
        // SAFETY: the pointer is used only during the call.
        if unsafe address.withSystemAddress({ unsafe connect(descriptor, $0, $1) }) == 0 {
            return finishLater(outcome)
        }
        switch errno {
        case EINPROGRESS, EINTR: waitForWritable()
        case EADDRNOTAVAIL: finishLater(.failure(hasSource ? .system(EADDRNOTAVAIL) : .noSource))
        case EAGAIN where address.isUnix:
            let now = loop.activeNow
            guard now < deadline else { return finishLater(.failure(.timedOut)) }
            timer?.set(after: min(Self.retryInterval, deadline - now))
        default: finishLater(.failure(ConnectError(errno: errno)))
        }
    }

    private func waitForWritable() {
        let event = unsafe loop.pool.take()
        unsafe self.event = event
        // SAFETY: the event is removed in `disarm` before the loop's reference is released.
        unsafe event_assign(
            event, loop.base, descriptor, Int16(EV_WRITE),
            { _, _, context in
                unsafe Unmanaged<Connecting>.fromOpaque(context!).takeUnretainedValue().becameWritable()
            }, Unmanaged.passUnretained(self).toOpaque())
        if unsafe event_add(event, nil) != 0 { finishLater(.failure(.system(ENOMEM))) }
    }

    private func becameWritable() {
        var error: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        // SAFETY: the option is an Int32, written during the call.
        _ = unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size)
        finish(error == 0 ? outcome : .failure(ConnectError(errno: error)))
    }

    /// What the socket, which is connected, is worth. Where nobody listens on a port of this host that the system also gives to those who
    /// connect, it may be connected to itself (RFC 9293 §3.5): what is written would come back as the answer, and the port be taken
    /// from the server that is to listen there.
    private var outcome: Result<Int32, ConnectError> {
        guard !address.isUnix, let own = SocketAddress(boundBy: descriptor), own.port == address.port,
            own == SocketAddress(peerOf: descriptor)
        else { return .success(descriptor) }
        // The reset frees the port at once.
        Stream.setReset(descriptor)
        return .failure(.refused)
    }

    /// Whether this host has an address from which that can be reached: the system says of a port that it hasn't got what it says of an
    /// address, and datagrams have other ports.
    private var hasSource: Bool {
        let probe = socket(
            address.systemFamily, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard probe >= 0 else { return true }
        defer { _ = close(probe) }
        // SAFETY: the pointer is used only during the call, which sends nothing.
        return unsafe address.withSystemAddress { unsafe connect(probe, $0, $1) } == 0 || errno != EADDRNOTAVAIL
    }

    private func timerFired() {
        // SAFETY: the pointer is compared only.
        if unsafe event == nil, loop.activeNow < deadline {
            attempt()
        } else {
            finish(.failure(.timedOut))
        }
    }

    /// What is known at once is told at the end of the tick.
    private func finishLater(_ result: Result<Int32, ConnectError>) {
        disarm()
        loop.later { [self] in finish(result) }
    }

    private func finish(_ result: Result<Int32, ConnectError>) {
        guard let completion else { return }
        disarm()
        if case .failure = result { closeDescriptor() }
        descriptor = -1
        self.completion = nil
        // SAFETY: balances passRetained in init, once: `completion` is nil from now on. Callers hold self.
        unsafe Unmanaged.passUnretained(self).release()
        completion(result)
    }

    private func disarm() {
        // The timer may be firing just now; it is kept by the wheel's own reference meanwhile.
        timer = nil
        guard let event = unsafe event else { return }
        // SAFETY: assigned in waitForWritable.
        unsafe event_del(event)
        unsafe loop.pool.put(event)
        unsafe self.event = nil
    }

    private func closeDescriptor() {
        if descriptor >= 0 { _ = close(descriptor) }
        descriptor = -1
    }
}
