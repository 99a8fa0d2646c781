internal import Glibc
internal import Octets

/// Tells the service manager how the process is doing: systemd's protocol, sd_notify(3), a datagram of `NAME=value` lines
/// to the socket that `NOTIFY_SOCKET` names. Safe from any thread. Nothing waits; what can't be sent is lost.
public final class ServiceNotifier: Sendable {
    private let descriptor: Int32
    private let target: [UInt8]
    /// Microseconds within which the manager wants a sign of life (`WATCHDOG_USEC`), or nil.
    public let watchdogTime: UInt64?

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

    /// The end has begun.
    public func stopping(status: String) { send("STOPPING=1\nSTATUS=\(status)") }

    /// All threads answer.
    public func alive() { send("WATCHDOG=1") }

    private func send(_ text: String) {
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
        unsafe withUnsafePointer(to: &address) { pointer in
            let pointer = unsafe UnsafeRawPointer(pointer).assumingMemoryBound(to: sockaddr.self)
            _ = unsafe sendto(
                descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT), pointer,
                socklen_t(size))
        }
    }

    private static func variable(_ name: String) -> String? {
        // SAFETY: the text is copied; nothing in this process changes the environment.
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }
}
