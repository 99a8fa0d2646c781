internal import Glibc

/// Why the loop, a listener or a thread could not be set up.
public enum LoopError: Error, Hashable, Sendable, CustomStringConvertible {
    /// libevent gave no event base.
    case noEventBase
    /// A system call failed. `call` names it and what it was for.
    case system(call: String, errno: Int32)
    /// The address is in use, or a unix socket path has a live listener.
    case addressInUse(SocketAddress)
    /// c-ares could not be set up.
    case resolver(String)
    /// A unix socket path is longer than the 107 bytes that the system takes.
    case pathTooLong(String)

    public var description: String {
        switch self {
        case .noEventBase: "libevent could not make an event base"
        case .system(let call, let errno): "\(call): \(systemErrorText(errno))"
        case .addressInUse(let address): "\(address) is already in use"
        case .resolver(let text): "the resolver could not be set up: \(text)"
        case .pathTooLong(let path): "the unix socket path \(path) is longer than 107 bytes"
        }
    }
}

/// The system's text for an error number, for logs.
public func systemErrorText(_ number: Int32) -> String {
    // SAFETY: glibc's strerror gives a constant text, or one in memory of this thread's own, which is copied at once.
    unsafe String(cString: strerror(number))
}
