internal import CEventShims
internal import Glibc
public import Octets

/// Where a socket is: an IPv4 or IPv6 address with a port, or the path of a unix socket.
public struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
    internal enum Family: UInt8 { case ipv4, ipv6, unix }

    /// All but the path.
    public let plain: PlainAddress
    /// The path of a unix socket; empty for IP and for a peer that never bound one.
    public let path: String

    internal var family: Family { plain.family }
    /// The port in host order, 0 for a unix socket or "any".
    public var port: UInt16 { plain.port }
    /// The interface of a link-local IPv6 address, else 0.
    internal var scope: UInt32 { plain.scope }
    internal var high: UInt64 { plain.high }
    internal var low: UInt64 { plain.low }

    internal init(
        family: Family, port: UInt16 = 0, scope: UInt32 = 0, high: UInt64 = 0, low: UInt64 = 0, path: String = ""
    ) {
        plain = PlainAddress(family: family, port: port, scope: scope, high: high, low: low)
        self.path = path
    }

    /// What `plain` says; the path of a unix socket is empty.
    public init(_ plain: PlainAddress) {
        self.plain = plain
        path = ""
    }

    /// An IPv4 address, `ipv4` in host order: 127.0.0.1 is 0x7F00_0001.
    public init(ipv4: UInt32, port: UInt16) {
        self.init(family: .ipv4, port: port, low: UInt64(ipv4))
    }

    /// An IPv6 address by its first and last eight bytes, in host order.
    public init(ipv6High high: UInt64, low: UInt64, port: UInt16) {
        self.init(family: .ipv6, port: port, high: high, low: low)
    }

    /// The path of a unix socket.
    public init(unixPath path: String) {
        self.init(family: .unix, path: path)
    }

    /// Reads `127.0.0.1:80`, `[::1]:80` or `unix:/path`. Names are not addresses: nil.
    public static func parse(_ text: String) -> SocketAddress? {
        if text.hasPrefix("unix:") {
            let path = text.dropFirst(5)
            guard !path.isEmpty, !path.utf8.contains(0) else { return nil }
            return SocketAddress(unixPath: String(path))
        }
        guard let colon = text.lastIndex(of: ":"), let port = parsePort(text[text.index(after: colon)...]) else {
            return nil
        }
        let host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            let address = parseHost(String(host.dropFirst().dropLast()), port: port)
            return address?.isIPv6 == true ? address : nil
        }
        let address = parseHost(String(host), port: port)
        return address?.isIPv4 == true ? address : nil
    }

    /// Reads a numeric IPv4 or IPv6 address without brackets. Names are nil.
    public static func parseHost(_ host: String, port: UInt16) -> SocketAddress? {
        guard !host.utf8.contains(0) else { return nil }
        var four = in_addr()
        // SAFETY: inet_pton reads the end-marked text and writes one in_addr or in6_addr.
        if unsafe inet_pton(AF_INET, host, &four) == 1 {
            return SocketAddress(ipv4: UInt32(bigEndian: four.s_addr), port: port)
        }
        var six = in6_addr()
        guard unsafe inet_pton(AF_INET6, host, &six) == 1 else { return nil }
        return SocketAddress(six, scope: 0, port: port)
    }

    private static func parsePort(_ text: Substring) -> UInt16? {
        guard (1...5).contains(text.utf8.count), text.utf8.allSatisfy(ASCII.isDigit) else { return nil }
        return UInt16(text)
    }

    public var isIPv4: Bool { family == .ipv4 }
    public var isIPv6: Bool { family == .ipv6 }
    public var isUnix: Bool { family == .unix }

    /// The IPv4 address in host order: to be matched against networks.
    public var ipv4: UInt32? { isIPv4 ? UInt32(truncatingIfNeeded: low) : nil }
    /// The first and last eight bytes of the IPv6 address, in host order.
    public var ipv6: (high: UInt64, low: UInt64)? { isIPv6 ? (high, low) : nil }

    /// An IPv4 address for one that is mapped into IPv6 (RFC 4291 §2.5.5.2), as sockets that take both families show them.
    public var unmapped: SocketAddress {
        guard isIPv6, high == 0, low >> 32 == 0xFFFF else { return self }
        return SocketAddress(ipv4: UInt32(truncatingIfNeeded: low), port: port)
    }

    /// This address with another port. A unix socket stays as it is.
    public func withPort(_ port: UInt16) -> SocketAddress {
        isUnix ? self : SocketAddress(family: family, port: port, scope: scope, high: high, low: low)
    }

    // MARK: Text

    /// Appends the IP address without port and brackets, as X-Forwarded-For wants it; `unix:` for a unix socket.
    public func appendIP(to buffer: inout OutputBuffer) {
        switch family {
        case .ipv4: appendIPv4(to: &buffer)
        case .ipv6: appendIPv6(to: &buffer)
        case .unix: buffer.append("unix:")
        }
    }

    /// Appends the address as `parse` reads it.
    public func append(to buffer: inout OutputBuffer) {
        switch family {
        case .ipv4: appendIPv4(to: &buffer)
        case .ipv6:
            buffer.append(UInt8(ascii: "["))
            appendIPv6(to: &buffer)
            buffer.append(UInt8(ascii: "]"))
        case .unix:
            buffer.append("unix:")
            return buffer.append(text: path)
        }
        buffer.append(UInt8(ascii: ":"))
        buffer.append(decimal: Int(port))
    }

    /// The IP address without port and brackets.
    public var hostText: String {
        var buffer = OutputBuffer()
        appendIP(to: &buffer)
        return buffer.span.lossyString()
    }

    public var description: String {
        var buffer = OutputBuffer()
        append(to: &buffer)
        return buffer.span.lossyString()
    }

    private func appendIPv4(to buffer: inout OutputBuffer) {
        buffer.append(upTo: 15) { text in
            var shift: UInt64 = 32
            while shift > 0 {
                shift &-= 8
                let number = UInt8(truncatingIfNeeded: low &>> shift)
                if number >= 100 { text.append(0x30 &+ number / 100) }
                if number >= 10 { text.append(0x30 &+ number / 10 % 10) }
                text.append(0x30 &+ number % 10)
                if shift > 0 { text.append(UInt8(ascii: ".")) }
            }
        }
    }

    private func appendIPv6(to buffer: inout OutputBuffer) {
        var address = in6Address
        // SAFETY: inet_ntop writes at most INET6_ADDRSTRLEN bytes with an end mark, and only ASCII.
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
            guard let start = unsafe inet_ntop(AF_INET6, &address, text.baseAddress, socklen_t(text.count)) else {
                return
            }
            var at = 0
            while unsafe start[at] != 0 {
                unsafe buffer.append(UInt8(bitPattern: start[at]))
                at += 1
            }
        }
    }
}

/// What a `SocketAddress` says of IP addresses and ports, and that it is a unix socket's: plain values, of which a copy counts no
/// references.
public struct PlainAddress: Hashable, Sendable, BitwiseCopyable {
    internal let family: SocketAddress.Family
    internal let port: UInt16
    internal let scope: UInt32
    internal let high: UInt64
    internal let low: UInt64
}

/// The system's form of addresses.
extension SocketAddress {
    internal init(_ six: in6_addr, scope: UInt32, port: UInt16) {
        // SAFETY: an in6_addr is 16 bytes.
        let (high, low) = unsafe withUnsafeBytes(of: six) {
            unsafe ($0.load(as: UInt64.self).bigEndian, $0.load(fromByteOffset: 8, as: UInt64.self).bigEndian)
        }
        self.init(family: .ipv6, port: port, scope: scope, high: high, low: low)
    }

    internal var in6Address: in6_addr {
        var address = in6_addr()
        // SAFETY: an in6_addr is 16 bytes.
        unsafe withUnsafeMutableBytes(of: &address) {
            unsafe $0.storeBytes(of: high.bigEndian, as: UInt64.self)
            unsafe $0.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
        return address
    }

    /// The longest path of a unix socket in bytes: 107, and the end mark.
    static let longestPath = 107

    /// `AF_INET`, `AF_INET6` or `AF_UNIX`.
    var systemFamily: Int32 {
        switch family {
        case .ipv4: AF_INET
        case .ipv6: AF_INET6
        case .unix: AF_UNIX
        }
    }

    /// Calls `body` with the address as the system takes it. A path that is too long is cut; see `longestPath`.
    func withSystemAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var storage = sockaddr_storage()
        // SAFETY: a sockaddr_storage has the size and alignment of each of the three; the pointers don't leave the closure.
        return unsafe withUnsafeMutableBytes(of: &storage) { raw in
            let base = raw.baseAddress!
            let size: Int
            switch family {
            case .ipv4:
                var four = sockaddr_in()
                four.sin_family = sa_family_t(AF_INET)
                four.sin_port = port.bigEndian
                four.sin_addr.s_addr = UInt32(truncatingIfNeeded: low).bigEndian
                size = MemoryLayout<sockaddr_in>.size
                unsafe base.storeBytes(of: four, as: sockaddr_in.self)
            case .ipv6:
                var six = sockaddr_in6()
                six.sin6_family = sa_family_t(AF_INET6)
                six.sin6_port = port.bigEndian
                six.sin6_addr = in6Address
                six.sin6_scope_id = scope
                size = MemoryLayout<sockaddr_in6>.size
                unsafe base.storeBytes(of: six, as: sockaddr_in6.self)
            case .unix:
                unsafe base.storeBytes(of: sa_family_t(AF_UNIX), as: sa_family_t.self)
                let start = MemoryLayout<sa_family_t>.size
                var at = start
                for byte in path.utf8.prefix(Self.longestPath) {
                    unsafe raw[at] = byte
                    at += 1
                }
                size = at + 1
            }
            return unsafe body(base.assumingMemoryBound(to: sockaddr.self), socklen_t(size))
        }
    }

    /// Reads what the system filled in. nil for families other than the three.
    init?(_ storage: sockaddr_storage, length: socklen_t) {
        // SAFETY: the family says which of the three the storage holds; the path ends at `length` or at its end mark.
        let made: SocketAddress? = unsafe withUnsafeBytes(of: storage) { raw in
            switch Int32(storage.ss_family) {
            case AF_INET:
                let four = unsafe raw.load(as: sockaddr_in.self)
                return SocketAddress(
                    ipv4: UInt32(bigEndian: four.sin_addr.s_addr), port: UInt16(bigEndian: four.sin_port))
            case AF_INET6:
                let six = unsafe raw.load(as: sockaddr_in6.self)
                return SocketAddress(six.sin6_addr, scope: six.sin6_scope_id, port: UInt16(bigEndian: six.sin6_port))
            case AF_UNIX:
                let start = MemoryLayout<sa_family_t>.size
                let end = min(Int(length), raw.count)
                guard end > start else { return SocketAddress(unixPath: "") }
                let bytes = unsafe raw[start..<end].prefix { $0 != 0 }
                return unsafe SocketAddress(unixPath: String(decoding: bytes, as: UTF8.self))
            default:
                return nil
            }
        }
        guard let made else { return nil }
        self = made
    }

    /// Accepts a connection, non-blocking and close-on-exec: its descriptor, or -1 with `errno`, and the peer's address. A
    /// client that speaks IPv4 has an IPv4 address here, also on a socket that takes both families: code that looks at peers
    /// (caps, trust, logs) needn't know of mapped ones.
    static func accept(from listener: Int32) -> (descriptor: Int32, peer: SocketAddress?) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        // SAFETY: the system writes at most `length` bytes into the storage.
        let descriptor = unsafe recast_accept(listener, &storage, &length)
        return (descriptor, descriptor < 0 ? nil : SocketAddress(storage, length: length)?.unmapped)
    }

    /// The address that `socket` is bound to.
    // SAFETY: see the initializer.
    init?(boundBy socket: Int32) { unsafe self.init(of: socket, by: getsockname) }

    /// The address that `socket` is connected to.
    // SAFETY: the same.
    init?(peerOf socket: Int32) { unsafe self.init(of: socket, by: getpeername) }

    private init?(
        of socket: Int32, by ask: (Int32, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?) -> Int32
    ) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        // SAFETY: the system writes at most `length` bytes into the storage.
        let outcome = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe ask(socket, UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: sockaddr.self), &length)
        }
        guard outcome == 0 else { return nil }
        self.init(storage, length: length)
    }
}
