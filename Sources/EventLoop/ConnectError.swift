internal import Glibc

/// Why a connection could not be made.
public enum ConnectError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The deadline passed, or the system's own.
    case timedOut
    /// No socket listens there.
    case refused
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
        case .system(let number): systemErrorText(number)
        }
    }
}
