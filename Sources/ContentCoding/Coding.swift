internal import Octets

/// A content coding that can be undone and applied (RFC 9110 §8.4.1).
public enum Coding: String, Hashable, Sendable, CaseIterable {
    /// RFC 1952. Several members are one body.
    case gzip
    /// The zlib format (RFC 1950). Bare DEFLATE data (RFC 1951), which some senders mean by it, is undone too, as browsers
    /// do; what we write has the zlib format.
    case deflate
    /// RFC 7932, without large windows.
    case br
    /// RFC 8878, with windows of at most 8 MiB (RFC 9659).
    case zstd

    /// The coding of that name, letters in either case; `x-gzip` is gzip (RFC 9110 §8.4.1.3). Nil for any other, also for
    /// `identity`, which is none.
    public init?(name: Span<UInt8>) {
        for coding in Self.allCases where name.isEqualIgnoringCase(to: coding.name) {
            self = coding
            return
        }
        guard name.isEqualIgnoringCase(to: "x-gzip") else { return nil }
        self = .gzip
    }

    /// As the fields write it.
    public var name: StaticString {
        switch self {
        case .gzip: "gzip"
        case .deflate: "deflate"
        case .br: "br"
        case .zstd: "zstd"
        }
    }

    /// The place among all cases, for tables.
    public var index: Int {
        switch self {
        case .gzip: 0
        case .deflate: 1
        case .br: 2
        case .zstd: 3
        }
    }
}
