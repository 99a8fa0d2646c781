internal import CEventShims
internal import Glibc

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
    init?(boundBy socket: Int32) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        // SAFETY: the system writes at most `length` bytes into the storage.
        let outcome = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe getsockname(socket, UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: sockaddr.self), &length)
        }
        guard outcome == 0 else { return nil }
        self.init(storage, length: length)
    }
}
