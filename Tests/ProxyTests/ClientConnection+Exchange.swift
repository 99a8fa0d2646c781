@testable import Proxy

extension ClientConnection {
    /// The one exchange that it serves, where it speaks HTTP/1.
    var exchange: Exchange? { (self as? DownstreamConnection)?.exchange }
}
