/// How an address is served.
public struct ListenerSettings: Sendable {
    /// Nil: it is one of plain text.
    public var tls: ServerTLS?
    public var service = ListenerService.http
    public var versions = HTTPVersions.all

    public init() {}
}

/// What clients find at an address.
public enum ListenerService: String, Hashable, Sendable, CaseIterable {
    /// The proxy: requests are forwarded to upstreams.
    case http
    /// Envoy's external processing: a data plane forwards requests, and asks by gRPC what becomes of them.
    case externalProcessing = "ext_proc"

    /// Whether what comes is sent on to an upstream of the settings.
    public var forwards: Bool {
        switch self {
        case .http: true
        case .externalProcessing: false
        }
    }
    /// The versions that it can be spoken in.
    public var versions: HTTPVersions {
        switch self {
        case .http: .all
        case .externalProcessing: .http2
        }
    }
}

/// Versions of HTTP that are taken at an address. With TLS the client chooses among them (ALPN), without it by how it begins.
public struct HTTPVersions: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// 1.1, and 1.0 with it.
    public static let http1 = HTTPVersions(rawValue: 1)
    public static let http2 = HTTPVersions(rawValue: 2)
    public static let all: HTTPVersions = [.http1, .http2]
}
