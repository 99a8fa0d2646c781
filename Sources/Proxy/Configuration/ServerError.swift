internal import EventLoop

/// Why the proxy could not start.
public enum ServerError: Error, CustomStringConvertible {
    /// The access log's file can't be opened.
    case accessLog(path: String, errno: Int32)
    /// An address can't be listened on.
    case listen(String, reason: String)
    /// The budget can't fit into what the process may have.
    case memory(reason: String)
    /// There may be fewer descriptors than serving takes.
    case descriptors(reason: String)
    /// The system refused what every loop needs.
    case loop(reason: String)

    public var description: String {
        switch self {
        case .accessLog(let path, let number): "the access log \(path) can't be opened: \(systemErrorText(number))"
        case .listen(let address, let reason): "can't listen on \(address): \(reason)"
        case .memory(let reason), .descriptors(let reason): reason
        case .loop(let reason): "the event loop can't start: \(reason)"
        }
    }
}
