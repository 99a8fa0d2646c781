internal import Glibc
internal import Octets
internal import Synchronization

/// Tells the service manager how the process is doing: systemd's protocol, sd_notify(3), a datagram of `NAME=value` lines
/// to the socket that `NOTIFY_SOCKET` names. Safe from any thread. No caller waits. What a busy manager has no room for is sent by a
/// thread when it has: without its READY=1 a service that serves would be ended as one that doesn't.
public final class ServiceNotifier: Sendable {
    private let descriptor: Int32
    private let target: [UInt8]
    /// Microseconds within which the manager wants a sign of life (`WATCHDOG_USEC`), or nil.
    public let watchdogTime: UInt64?
    private let waiting = Mutex(Waiting())

    private struct Waiting {
        /// What waits for room, in order. The first stays in it until it is sent.
        var texts: [String] = []
        /// Whether a thread sends it.
        var isBeingSent = false
    }

    /// Messages that wait at most, for a manager that takes none any more.
    private static let waitingLimit = 64

    /// nil where no supervisor listens.
    public convenience init?() {
        guard let path = Self.variable("NOTIFY_SOCKET") else { return nil }
        let isOurs = Self.variable("WATCHDOG_PID").map { $0 == String(getpid()) } ?? true
        let time = Self.variable("WATCHDOG_USEC").flatMap(UInt64.init)
        self.init(path: path, watchdogTime: isOurs ? time.flatMap { $0 > 0 ? $0 : nil } : nil)
    }

    /// - Parameter path: an absolute path, or a name behind `@` in the abstract namespace of Linux.
    init?(path: String, watchdogTime: UInt64?) {
        guard path.hasPrefix("/") || path.hasPrefix("@"),
            (2...SocketAddress.longestPath).contains(path.utf8.count)
        else { return nil }
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        target = Array(path.utf8)
        self.watchdogTime = watchdogTime
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// All listeners are up, or a reload has ended.
    public func ready(status: String) { send("READY=1\nSTATUS=\(status)") }

    /// A reload has begun.
    public func reloading() { send("RELOADING=1\nMONOTONIC_USEC=\(SystemClock.monotonic() / 1000)") }

    /// The end has begun, and takes so many nanoseconds at most: the manager is asked to wait for as long.
    public func stopping(status: String, within nanoseconds: UInt64) {
        send("STOPPING=1\nEXTEND_TIMEOUT_USEC=\(nanoseconds / 1000)\nSTATUS=\(status)")
    }

    /// All threads answer. Where there is no room for it the next one says the same.
    public func alive() {
        if waiting.withLock(\.texts.isEmpty) { _ = put("WATCHDOG=1", Int32(MSG_DONTWAIT)) }
    }

    private func send(_ text: String) {
        let wantsThread = waiting.withLock { waiting in
            if waiting.texts.isEmpty, put(text, Int32(MSG_DONTWAIT)) { return false }
            if waiting.texts.count == Self.waitingLimit { waiting.texts.remove(at: 1) }
            waiting.texts.append(text)
            defer { waiting.isBeingSent = true }
            return !waiting.isBeingSent
        }
        guard wantsThread else { return }
        do throws(LoopError) {
            _ = try startThread(name: "notify") { self.sendWaiting() }
        } catch {
            // The next message tries again.
            waiting.withLock { $0.isBeingSent = false }
        }
    }

    /// Sends what waits, each when there is room for it.
    private func sendWaiting() {
        func next() -> String? {
            waiting.withLock { waiting in
                waiting.isBeingSent = !waiting.texts.isEmpty
                return waiting.texts.first
            }
        }
        while let text = next() {
            _ = put(text, 0)
            waiting.withLock { _ = $0.texts.removeFirst() }
        }
    }

    /// Returns whether it needn't be tried again: it is sent, or can't be.
    private func put(_ text: String, _ flags: Int32) -> Bool {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
        // SAFETY: the path fits, see init; an abstract name begins with a null byte and has no end mark.
        unsafe withUnsafeMutableBytes(of: &address) { raw in
            for (index, byte) in target.enumerated() { unsafe raw[start + index] = byte }
            if target[0] == UInt8(ascii: "@") { unsafe raw[start] = 0 }
        }
        let size = start + target.count + (target[0] == UInt8(ascii: "@") ? 0 : 1)
        let bytes = Array(text.utf8)
        // SAFETY: both are read during the call.
        return unsafe withUnsafePointer(to: &address) { pointer in
            let pointer = unsafe UnsafeRawPointer(pointer).assumingMemoryBound(to: sockaddr.self)
            let size = socklen_t(size)
            while true {
                let sent = unsafe sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | flags, pointer, size)
                if sent >= 0 || errno != EINTR { return sent >= 0 || errno != EAGAIN }
            }
        }
    }

    private static func variable(_ name: String) -> String? {
        // SAFETY: the text is copied; nothing in this process changes the environment.
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }
}
