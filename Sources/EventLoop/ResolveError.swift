internal import CCares

/// Why a name could not be resolved.
public enum ResolveError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The deadline passed, or no server answered in time.
    case timedOut
    /// The name doesn't exist, or has no address.
    case notFound
    /// The text can't be a host name.
    case badName
    /// The servers refused, failed, or could not be reached; c-ares' words.
    case serverFailure(String)

    init(status: Int32) {
        switch status {
        case ARES_ETIMEOUT: self = .timedOut
        case ARES_ENOTFOUND, ARES_ENODATA: self = .notFound
        case ARES_EBADNAME: self = .badName
        default:
            // SAFETY: c-ares gives a constant text.
            self = unsafe .serverFailure(String(cString: ares_strerror(status)))
        }
    }

    public var description: String {
        switch self {
        case .timedOut: "the name servers took too long"
        case .notFound: "no such host"
        case .badName: "not a host name"
        case .serverFailure(let text): "the name servers failed: \(text)"
        }
    }
}
