internal import CEventShims
internal import Glibc

/// A socket that listens, and accepts nothing yet: connections wait in its backlog.
///
/// It can be made on one thread and given to the loop of another. Its holder owns the descriptor.
public struct ListeningSocket: Sendable {
    /// Non-blocking and close-on-exec.
    public let descriptor: Int32
    /// The address that is bound: with the real port where port 0 was asked for.
    public let address: SocketAddress
    /// Whether others accept from the very same socket, in this process or another.
    public let isShared: Bool
    /// Whether each accepted socket has `TCP_NODELAY`, because this one had it before it listened. A socket that was taken
    /// over may have connections in its backlog that lack it.
    let givesNoDelay: Bool
    /// The file of a unix socket that is ours to remove.
    let file: UnixSocketFile?
    /// What `takePlace` gives to `listen`; nil: it listens already.
    private let backlog: Int32?

    /// Who else may listen on the same address with a socket of their own. The system spreads connections over all of them.
    public enum Sharing: Sendable {
        case none
        /// Sockets that are opened later with `.anybody`; there may be none yet, so that a second process is told that the
        /// address is in use.
        case laterOnes
        /// All that allow it, also those of another process of the same user (`SO_REUSEPORT`).
        case anybody
    }

    /// Takes over a socket that listens already.
    public init(descriptor: Int32, address: SocketAddress, isShared: Bool) {
        self.init(descriptor: descriptor, address: address, isShared: isShared, givesNoDelay: false, file: nil)
    }

    private init(
        descriptor: Int32, address: SocketAddress, isShared: Bool, givesNoDelay: Bool, file: UnixSocketFile?,
        backlog: Int32? = nil
    ) {
        self.descriptor = descriptor
        self.address = address
        self.isShared = isShared
        self.givesNoDelay = givesNoDelay
        self.file = file
        self.backlog = backlog
    }

    /// Binds `address` and listens. A unix socket without a listener is replaced; it can't be shared.
    /// - Parameters:
    ///   - backlog: connections that the system keeps until they are accepted; it cuts the number at `somaxconn`.
    ///   - mode: the permissions of a unix socket's file, whatever the process' umask is; without it that decides.
    ///   - takesPlace: false leaves clients to those who share the address, `.anybody`, until `takePlace`. Each of them goes on with what
    ///     it has where this one is closed instead.
    /// - Throws: `LoopError`, `.addressInUse` among others.
    public static func open(
        _ address: SocketAddress, sharing: Sharing, backlog: Int, mode: UInt32? = nil, takesPlace: Bool = true
    ) throws(LoopError) -> ListeningSocket {
        guard address.path.utf8.count <= SocketAddress.longestPath else { throw .pathTooLong(address.path) }
        if address.isUnix, sharing == .anybody, UnixSocketFile.isListenedOn(address) {
            let socket = try open(beside: address, backlog, mode)
            if takesPlace { try socket.takePlaceOrClose() }
            return socket
        }
        let waits = !takesPlace && sharing == .anybody && !address.isUnix
        let descriptor = socket(
            address.systemFamily, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw .system(call: "socket", errno: errno) }
        do throws(LoopError) {
            if address.isUnix {
                try UnixSocketFile.removeStale(address)
            } else {
                try set(SO_REUSEADDR, of: descriptor, level: SOL_SOCKET, "SO_REUSEADDR")
                if sharing == .anybody { try set(SO_REUSEPORT, of: descriptor, level: SOL_SOCKET, "SO_REUSEPORT") }
                try set(TCP_NODELAY, of: descriptor, level: Int32(IPPROTO_TCP), "TCP_NODELAY")
                // So that [::]:80 and 0.0.0.0:80 can both be listed, and a peer has one form of address only.
                if address.isIPv6 {
                    try set(Int32(IPV6_V6ONLY), of: descriptor, level: Int32(IPPROTO_IPV6), "IPV6_V6ONLY")
                }
            }
            // SAFETY: the pointer is used only during the call.
            guard unsafe address.withSystemAddress({ unsafe Glibc.bind(descriptor, $0, $1) }) == 0 else {
                guard errno == EADDRINUSE else { throw .system(call: "bind \(address)", errno: errno) }
                // Nobody listens on what is no socket, and nobody's end would make the place free.
                if UnixSocketFile.isOther(address) { throw .system(call: "bind \(address)", errno: EEXIST) }
                throw .addressInUse(address)
            }
            // Set behind the bind, it has refused what was there and lets in what comes.
            if sharing == .laterOnes, !address.isUnix {
                try set(SO_REUSEPORT, of: descriptor, level: SOL_SOCKET, "SO_REUSEPORT")
            }
            // Nobody can connect yet, so that nobody does who may not.
            // SAFETY: the path is end-marked and lives during the call.
            if address.isUnix, let mode, unsafe chmod(address.path, mode_t(mode)) != 0 {
                throw .system(call: "chmod \(address)", errno: errno)
            }
            if !waits { try listen(on: descriptor, Int32(clamping: backlog), address) }
        } catch {
            _ = Glibc.close(descriptor)
            throw error
        }
        return ListeningSocket(
            descriptor: descriptor, address: address.isUnix ? address : SocketAddress(boundBy: descriptor) ?? address,
            isShared: false, givesNoDelay: !address.isUnix,
            file: address.isUnix ? UnixSocketFile(path: address.path) : nil,
            backlog: waits ? Int32(clamping: backlog) : nil)
    }

    /// Whether it listens since it was opened; else `takePlace` lets it.
    public var isListening: Bool { backlog == nil }

    /// Lets clients come to a socket that was opened without taking its place, from here on: one of TCP listens beside the others, and
    /// one of unix takes the place of another process', whose clients stay with it. Does nothing where that is so already.
    public func takePlace() throws(LoopError) {
        if let backlog { try Self.listen(on: descriptor, backlog, address) }
        try file?.takePlace()
    }

    private func takePlaceOrClose() throws(LoopError) {
        do throws(LoopError) {
            try takePlace()
        } catch {
            close()
            throw error
        }
    }

    private static func listen(
        on descriptor: Int32, _ backlog: Int32, _ address: SocketAddress
    ) throws(LoopError) {
        guard Glibc.listen(descriptor, backlog) == 0 else {
            throw errno == EADDRINUSE ? .addressInUse(address) : .system(call: "listen \(address)", errno: errno)
        }
    }

    /// A unix socket that listens beside `address`, where another process does, and is to have its place.
    private static func open(
        beside address: SocketAddress, _ backlog: Int, _ mode: UInt32?
    ) throws(LoopError) -> ListeningSocket {
        var path = "\(address.path).\(getpid())"
        // Where the name has no room for more, a short one in the same folder has; several may need one.
        if path.utf8.count > SocketAddress.longestPath, let slash = address.path.lastIndex(of: "/") {
            let short = "\(address.path[...slash]).\(getpid())"
            var number = 0
            repeat {
                path = number == 0 ? short : "\(short).\(number)"
                number += 1
            } while UnixSocketFile.isListenedOn(SocketAddress(unixPath: path))
        }
        let made = try open(SocketAddress(unixPath: path), sharing: .none, backlog: backlog, mode: mode)
        return ListeningSocket(
            descriptor: made.descriptor, address: address, isShared: false, givesNoDelay: false,
            file: UnixSocketFile(path: address.path, made: path))
    }

    /// Whether clients of this socket may come to `other` as well: it is another name of the same, or bound to the same address.
    public func isPlace(of other: ListeningSocket) -> Bool {
        guard address == other.address else { return false }
        guard address.isUnix, address.path.isEmpty else { return true }
        // Names in the abstract namespace aren't read; there is one socket of each.
        var own = stat()
        var others = stat()
        // SAFETY: both are written during the calls.
        guard unsafe fstat(descriptor, &own) == 0, unsafe fstat(other.descriptor, &others) == 0 else { return true }
        return own.st_ino == others.st_ino
    }

    /// Another reference to this socket, for another loop.
    public func duplicate() throws(LoopError) -> ListeningSocket {
        let duplicate = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard duplicate >= 0 else { throw .system(call: "dup of a listener", errno: errno) }
        return ListeningSocket(
            descriptor: duplicate, address: address, isShared: true, givesNoDelay: givesNoDelay, file: nil)
    }

    /// Gives up a socket that no listener was made of.
    public func close() {
        file?.remove()
        _ = Glibc.close(descriptor)
    }

    private static func set(_ option: Int32, of descriptor: Int32, level: Int32, _ name: String) throws(LoopError) {
        var on: Int32 = 1
        // SAFETY: the option is an Int32, read during the call.
        guard
            unsafe setsockopt(descriptor, level, option, &on, socklen_t(MemoryLayout<Int32>.size)) == 0
        else { throw .system(call: "setsockopt \(name)", errno: errno) }
    }
}
