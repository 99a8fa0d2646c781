internal import Glibc

/// Why a connection could not be made.
public enum ConnectError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The deadline passed, or the system's own.
    case timedOut
    /// No socket listens there.
    case refused
    /// This host has no address from which that one can be reached: one of IPv6 where it has none, for instance.
    case noSource
    /// Any other error of the system: no route, no descriptors, no such socket file, ….
    case system(Int32)

    init(errno: Int32) {
        switch errno {
        case ETIMEDOUT: self = .timedOut
        case ECONNREFUSED: self = .refused
        default: self = .system(errno)
        }
    }

    public var description: String {
        switch self {
        case .timedOut: "connecting took too long"
        case .refused: "connection refused"
        case .noSource: "this host has no address from which it could be reached"
        case .system(let number): systemErrorText(number)
        }
    }
}
