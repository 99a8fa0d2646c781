/// Versions of the protocol that are spoken (RFC 8996 forbids the older ones).
public enum TLSVersion: String, Hashable, Sendable, CaseIterable {
    case tls12 = "1.2"
    case tls13 = "1.3"

    internal var number: Int32 { self == .tls12 ? 12 : 13 }
}
