internal import Octets

/// The registered methods that forwarding treats differently; methods are case-sensitive (RFC 9110 §9.1).
public enum Method: UInt8, Hashable, Sendable, CaseIterable {
    case get, head, post, put, patch, delete, options, connect, trace
    /// Any other token. It is carried as it is and framed like any other.
    case other

    /// Whether a request of this method usually has a body, so that one without says so (RFC 9110 §8.6).
    @inlinable public var mayHaveBody: Bool {
        switch self {
        case .post, .put, .patch: true
        default: false
        }
    }

    internal static func find(_ name: Span<UInt8>) -> Method {
        switch name.count {
        case 3: name.isEqual(to: "GET") ? .get : name.isEqual(to: "PUT") ? .put : .other
        case 4: name.isEqual(to: "POST") ? .post : name.isEqual(to: "HEAD") ? .head : .other
        case 5: name.isEqual(to: "PATCH") ? .patch : name.isEqual(to: "TRACE") ? .trace : .other
        case 6: name.isEqual(to: "DELETE") ? .delete : .other
        case 7: name.isEqual(to: "OPTIONS") ? .options : name.isEqual(to: "CONNECT") ? .connect : .other
        default: .other
        }
    }
}
