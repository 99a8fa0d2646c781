internal import Glibc

/// The listening sockets that the service manager opened for this process: systemd's socket activation,
/// sd_listen_fds(3).
public struct InheritedSockets: Sendable {
    /// Each with the name that its unit gave it.
    public private(set) var sockets: [(name: String, socket: ListeningSocket)] = []
    /// What was handed over and can't be used, each with its number and the name that its unit gave it.
    public private(set) var others: [(number: Int, name: String)] = []

    /// None.
    public init() {}

    /// The first descriptor that is handed over.
    private static let first: Int32 = 3

    /// Takes what `LISTEN_PID`, `LISTEN_FDS` and `LISTEN_FDNAMES` speak of: stream sockets that listen. To be called once:
    /// the descriptors are this process's from here on.
    public static func take() -> InheritedSockets {
        var taken = InheritedSockets()
        guard variable("LISTEN_PID") == String(getpid()), let count = Int32(variable("LISTEN_FDS") ?? ""),
            (1...1024).contains(count)
        else { return taken }
        let names = (variable("LISTEN_FDNAMES") ?? "").split(separator: ":", omittingEmptySubsequences: false)
        for index in 0..<count {
            let descriptor = first + index
            let name = Int(index) < names.count ? String(names[Int(index)]) : "unknown"
            guard isListening(descriptor), let address = SocketAddress(boundBy: descriptor) else {
                taken.others.append((Int(descriptor), name))
                continue
            }
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
            taken.sockets.append(
                (name, ListeningSocket(descriptor: descriptor, address: address, isShared: true)))
        }
        return taken
    }

    /// The socket that is bound to `address`.
    public func socket(for address: SocketAddress) -> ListeningSocket? {
        sockets.first { $0.socket.address == address }?.socket
    }

    /// The sockets that were given the name `name`.
    public func named(_ name: String) -> [ListeningSocket] {
        sockets.filter { $0.name == name }.map(\.socket)
    }

    private static func isListening(_ descriptor: Int32) -> Bool {
        option(SO_ACCEPTCONN, of: descriptor) == 1 && option(SO_TYPE, of: descriptor) == Int32(SOCK_STREAM.rawValue)
    }

    private static func option(_ option: Int32, of descriptor: Int32) -> Int32? {
        var value: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        // SAFETY: the option is an Int32, written during the call.
        return unsafe getsockopt(descriptor, SOL_SOCKET, option, &value, &size) == 0 ? value : nil
    }

    private static func variable(_ name: String) -> String? {
        // SAFETY: the text is copied; nothing in this process changes the environment.
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }
}
