/// How an address is served.
public struct ListenerSettings: Sendable {
    /// Nil: it is one of plain text.
    public var tls: ServerTLS?
    public var service = ListenerService.http
    public var versions = HTTPVersions.all
    /// Bytes that a data plane takes of one body in one message, where it has said so by nothing that it sent: 1 MiB, as Envoy by
    /// default (`per_connection_buffer_limit_bytes`).
    public var buffer = Self.standardBuffer

    public static let standardBuffer = 1024 * 1024
    /// Who may connect to a unix socket; nil: the process' umask decides.
    public var mode: SocketMode?

    public init() {}
}

/// Who may connect to a unix socket: the permissions of its file, of which the right to write is what counts.
public struct SocketMode: Hashable, Sendable, CustomStringConvertible {
    /// The nine bits of owner, group and others.
    public let bits: UInt32

    /// Reads octal digits, three of them, with or without the `0` or `0o` that says so in some languages. Nil for what is none, and
    /// for a mode by which the owner couldn't connect, as a number in decimals is one.
    public init?(octal text: String) {
        var digits = Substring(text)
        for prefix in ["0o", "0"] where digits.utf8.count > 3 && digits.hasPrefix(prefix) {
            digits = digits.dropFirst(prefix.utf8.count)
        }
        guard digits.utf8.count == 3, let bits = UInt32(digits, radix: 8), bits & 0o200 != 0 else { return nil }
        self.bits = bits
    }

    /// As `0660`.
    public var description: String { "0" + String(bits, radix: 8) }
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
