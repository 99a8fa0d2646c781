internal import Octets

/// The fields that forwarding, framing or re-encoding acts on. All others are `other`: carried, never looked at.
public enum KnownField: UInt8, Hashable, Sendable, BitwiseCopyable, CaseIterable {
    case other
    // Framing and hop-by-hop fields (RFC 9110 §7.6.1, RFC 9112 §6).
    case host, contentLength, transferEncoding, connection, keepAlive, proxyConnection, te, trailer, upgrade, expect
    case http2Settings, proxyAuthenticate, proxyAuthorization, proxyAuthenticationInfo
    // Fields about the body.
    case contentType, contentEncoding, contentLocation, contentRange, contentDisposition, contentMD5, contentDigest
    case reprDigest, digest, wantContentDigest, wantReprDigest, wantDigest
    // Validators, ranges and negotiation.
    case etag, lastModified, range, ifRange, ifMatch, ifNoneMatch, acceptRanges, accept, acceptEncoding, acceptPost
    case vary
    // Control and credentials.
    case cacheControl, allow, retryAfter, location, date, server, authorization, wwwAuthenticate, cookie, setCookie
    case userAgent, referer, origin, maxForwards
    // Forwarding and tracing.
    case via, forwarded, xForwardedFor, xForwardedProto, xForwardedHost, xForwardedPort, xRealIP, xRequestID
    case traceparent, tracestate
    // What we say to the upstream: whose webhook it is, and of which request it is a replay.
    case recastVerified, recastReplay

    /// The usual spelling, for writing; empty for `other`.
    public var name: StaticString {
        switch self {
        case .other: ""
        case .host: "Host"
        case .contentLength: "Content-Length"
        case .transferEncoding: "Transfer-Encoding"
        case .connection: "Connection"
        case .keepAlive: "Keep-Alive"
        case .proxyConnection: "Proxy-Connection"
        case .te: "TE"
        case .trailer: "Trailer"
        case .upgrade: "Upgrade"
        case .expect: "Expect"
        case .http2Settings: "HTTP2-Settings"
        case .proxyAuthenticate: "Proxy-Authenticate"
        case .proxyAuthorization: "Proxy-Authorization"
        case .proxyAuthenticationInfo: "Proxy-Authentication-Info"
        case .contentType: "Content-Type"
        case .contentEncoding: "Content-Encoding"
        case .contentLocation: "Content-Location"
        case .contentRange: "Content-Range"
        case .contentDisposition: "Content-Disposition"
        case .contentMD5: "Content-MD5"
        case .contentDigest: "Content-Digest"
        case .reprDigest: "Repr-Digest"
        case .digest: "Digest"
        case .wantContentDigest: "Want-Content-Digest"
        case .wantReprDigest: "Want-Repr-Digest"
        case .wantDigest: "Want-Digest"
        case .etag: "ETag"
        case .lastModified: "Last-Modified"
        case .range: "Range"
        case .ifRange: "If-Range"
        case .ifMatch: "If-Match"
        case .ifNoneMatch: "If-None-Match"
        case .acceptRanges: "Accept-Ranges"
        case .accept: "Accept"
        case .acceptEncoding: "Accept-Encoding"
        case .acceptPost: "Accept-Post"
        case .vary: "Vary"
        case .cacheControl: "Cache-Control"
        case .allow: "Allow"
        case .retryAfter: "Retry-After"
        case .location: "Location"
        case .date: "Date"
        case .server: "Server"
        case .authorization: "Authorization"
        case .wwwAuthenticate: "WWW-Authenticate"
        case .cookie: "Cookie"
        case .setCookie: "Set-Cookie"
        case .userAgent: "User-Agent"
        case .referer: "Referer"
        case .origin: "Origin"
        case .maxForwards: "Max-Forwards"
        case .via: "Via"
        case .forwarded: "Forwarded"
        case .xForwardedFor: "X-Forwarded-For"
        case .xForwardedProto: "X-Forwarded-Proto"
        case .xForwardedHost: "X-Forwarded-Host"
        case .xForwardedPort: "X-Forwarded-Port"
        case .xRealIP: "X-Real-IP"
        case .xRequestID: "X-Request-ID"
        case .recastVerified: "Recast-Verified"
        case .recastReplay: "Recast-Replay"
        case .traceparent: "traceparent"
        case .tracestate: "tracestate"
        }
    }
}

/// A set of known fields.
public struct KnownFieldSet: Hashable, Sendable, ExpressibleByArrayLiteral {
    @usableFromInline internal var bits: UInt64

    // Inlined, so that a set of constants is a constant wherever it is written.
    @inlinable
    @inline(__always)
    public init(arrayLiteral fields: KnownField...) {
        bits = 0
        for field in fields { bits |= 1 &<< UInt64(field.rawValue) }
    }

    @inlinable public var isEmpty: Bool { bits == 0 }

    @inlinable
    public func contains(_ field: KnownField) -> Bool { bits & (1 &<< UInt64(field.rawValue)) != 0 }

    @inlinable
    public mutating func formUnion(_ other: KnownFieldSet) { bits |= other.bits }
}

extension KnownField {
    /// The field that `name` names, letters in either case. `name` must consist of token bytes.
    ///
    /// Length and first byte (and one more where two names share both) leave one candidate, which is then compared.
    public static func find(_ name: Span<UInt8>) -> KnownField {
        let candidate = candidate(name)
        return candidate != .other && name.isSameWord(as: candidate.name) ? candidate : .other
    }

    private static func candidate(_ name: Span<UInt8>) -> KnownField {
        guard name.count >= 2 else { return .other }
        let first = name[0] | 0x20
        switch name.count {
        case 2:
            return .te
        case 3:
            return .via
        case 4:
            switch first {
            case UInt8(ascii: "d"): return .date
            case UInt8(ascii: "e"): return .etag
            case UInt8(ascii: "h"): return .host
            case UInt8(ascii: "v"): return .vary
            default: return .other
            }
        case 5:
            switch first {
            case UInt8(ascii: "a"): return .allow
            case UInt8(ascii: "r"): return .range
            default: return .other
            }
        case 6:
            switch first {
            case UInt8(ascii: "a"): return .accept
            case UInt8(ascii: "c"): return .cookie
            case UInt8(ascii: "d"): return .digest
            case UInt8(ascii: "e"): return .expect
            case UInt8(ascii: "o"): return .origin
            case UInt8(ascii: "s"): return .server
            default: return .other
            }
        case 7:
            switch first {
            case UInt8(ascii: "r"): return .referer
            case UInt8(ascii: "t"): return .trailer
            case UInt8(ascii: "u"): return .upgrade
            default: return .other
            }
        case 8:
            switch first {
            case UInt8(ascii: "i"): return name[3] | 0x20 == UInt8(ascii: "r") ? .ifRange : .ifMatch
            case UInt8(ascii: "l"): return .location
            default: return .other
            }
        case 9:
            switch first {
            case UInt8(ascii: "f"): return .forwarded
            case UInt8(ascii: "x"): return .xRealIP
            default: return .other
            }
        case 10:
            switch first {
            case UInt8(ascii: "c"): return .connection
            case UInt8(ascii: "k"): return .keepAlive
            case UInt8(ascii: "s"): return .setCookie
            case UInt8(ascii: "t"): return .tracestate
            case UInt8(ascii: "u"): return .userAgent
            default: return .other
            }
        case 11:
            switch first {
            case UInt8(ascii: "a"): return .acceptPost
            case UInt8(ascii: "c"): return .contentMD5
            case UInt8(ascii: "r"): return name[2] | 0x20 == UInt8(ascii: "p") ? .reprDigest : .retryAfter
            case UInt8(ascii: "t"): return .traceparent
            case UInt8(ascii: "w"): return .wantDigest
            default: return .other
            }
        case 12:
            switch first {
            case UInt8(ascii: "c"): return .contentType
            case UInt8(ascii: "m"): return .maxForwards
            case UInt8(ascii: "x"): return .xRequestID
            default: return .other
            }
        case 13:
            switch first {
            case UInt8(ascii: "a"): return name[1] | 0x20 == UInt8(ascii: "c") ? .acceptRanges : .authorization
            case UInt8(ascii: "c"): return name[1] | 0x20 == UInt8(ascii: "o") ? .contentRange : .cacheControl
            case UInt8(ascii: "i"): return .ifNoneMatch
            case UInt8(ascii: "l"): return .lastModified
            case UInt8(ascii: "r"): return .recastReplay
            default: return .other
            }
        case 14:
            switch first {
            case UInt8(ascii: "c"): return name[8] | 0x20 == UInt8(ascii: "l") ? .contentLength : .contentDigest
            case UInt8(ascii: "h"): return .http2Settings
            default: return .other
            }
        case 15:
            switch first {
            case UInt8(ascii: "a"): return .acceptEncoding
            case UInt8(ascii: "r"): return .recastVerified
            case UInt8(ascii: "x"): return .xForwardedFor
            default: return .other
            }
        case 16:
            switch first {
            case UInt8(ascii: "c"): return name[8] | 0x20 == UInt8(ascii: "e") ? .contentEncoding : .contentLocation
            case UInt8(ascii: "p"): return .proxyConnection
            case UInt8(ascii: "w"): return name[1] | 0x20 == UInt8(ascii: "a") ? .wantReprDigest : .wwwAuthenticate
            case UInt8(ascii: "x"): return name[12] | 0x20 == UInt8(ascii: "h") ? .xForwardedHost : .xForwardedPort
            default: return .other
            }
        case 17:
            switch first {
            case UInt8(ascii: "t"): return .transferEncoding
            case UInt8(ascii: "x"): return .xForwardedProto
            default: return .other
            }
        case 18:
            return .proxyAuthenticate
        case 19:
            switch first {
            case UInt8(ascii: "c"): return .contentDisposition
            case UInt8(ascii: "p"): return .proxyAuthorization
            case UInt8(ascii: "w"): return .wantContentDigest
            default: return .other
            }
        case 25:
            return .proxyAuthenticationInfo
        default: return .other
        }
    }
}
