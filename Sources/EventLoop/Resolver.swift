internal import CCares

/// Resolves host names with c-ares on a loop: `/etc/hosts` first, then the name servers of `/etc/resolv.conf`, with its
/// search domains, over UDP and, where an answer is cut, over TCP. Nothing is cached: answers come with their TTL. A server that is
/// silent about one family (old ones, and firewalls, let questions for AAAA go unanswered) doesn't take the other's addresses away. One
/// that is silent altogether is asked behind the one that has answered in its place, for five minutes: each look-up would wait for it else.
///
/// `/etc/hosts` is read at each look-up (a long one when it has changed, see `HostsFile`), `/etc/resolv.conf` before the first and before
/// one that finds it changed.
@safe
public final class Resolver {
    /// Milliseconds until the next server is asked, or the same again, doubled with each round. An answer that comes later is taken all
    /// the same.
    static let tryTimeout: Int32 = 500
    private static let tries: Int32 = 4
    /// How long a server that was silent isn't asked first: 5 min.
    package static let silentTime: UInt64 = 300 * 1_000_000_000
    /// The TTL of numeric addresses, in seconds.
    public static let numericTTL = Int(Int32.max)
    /// The TTL of addresses from `/etc/hosts`, in seconds: as often it is worth looking whether the file has changed.
    public static let fileTTL = 30
    /// The system's.
    package static let systemServersFile = "/etc/resolv.conf"
    /// c-ares wants this once a process, before anything else.
    private static let libraryStatus = ares_library_init(ARES_LIB_INIT_ALL)

    /// What a look-up gives: the addresses, those of one family in the order in which they should be tried (RFC 6724), and the families in
    /// that in which their answers came; and for how many seconds they hold: `fileTTL` when they are from `/etc/hosts`, 0 with errors.
    public typealias Completion = (Result<[SocketAddress], ResolveError>, _ ttl: Int) -> Void

    public let loop: EventLoop
    private let servers: [SocketAddress]
    private var sockets: ResolverSockets
    /// Those over which c-ares asks without a look at `/etc/hosts`; made where that is long.
    private var socketsBesideFile: ResolverSockets?
    private var hosts: HostsFile
    /// Others have taken the place of these, which have questions left.
    private var replaced: [ResolverSockets] = []

    /// The file that names the servers, and what it was when it was read.
    private let serversFile: String
    private var serversStamp: FileStamp?
    /// The server that is asked first while the first one is silent, and until when.
    private var preferred: (server: SocketAddress, until: UInt64)?
    private let silentTime: UInt64

    /// - Parameter servers: name servers to ask instead of those of the system; port 0 means 53.
    public convenience init(loop: EventLoop, servers: [SocketAddress] = []) throws(LoopError) {
        try self.init(loop: loop, servers: servers, hosts: HostsFile.system)
    }

    /// - Parameters:
    ///   - path: the file in the place of `/etc/hosts`, where it is long.
    ///   - serversFile: the file in the place of `/etc/resolv.conf`.
    ///   - silentTime: nanoseconds for which a server that was silent isn't asked first.
    package init(
        loop: EventLoop, servers: [SocketAddress], hosts path: String = HostsFile.system,
        serversFile: String = Resolver.systemServersFile, silentTime: UInt64 = Resolver.silentTime
    ) throws(LoopError) {
        self.loop = loop
        self.servers = servers
        self.serversFile = serversFile
        self.silentTime = silentTime
        hosts = HostsFile(path)
        serversStamp = FileStamp(serversFile)
        sockets = ResolverSockets(loop: loop)
        try open(sockets, order: "fb")
    }

    /// Sets c-ares up; `order`: where it looks, in the file (`f`) and at name servers (`b`).
    private func open(_ sockets: ResolverSockets, order: String) throws(LoopError) {
        try Self.check(Self.libraryStatus)
        var options = unsafe ares_options()
        unsafe options.timeout = Self.tryTimeout
        unsafe options.tries = Self.tries
        // SAFETY: the sockets object outlives the channel, which is destroyed in deinit.
        unsafe options.sock_state_cb_data = Unmanaged.passUnretained(sockets).toOpaque()
        unsafe options.sock_state_cb = { context, socket, reads, writes in
            unsafe Unmanaged<ResolverSockets>.fromOpaque(context!).takeUnretainedValue()
                .update(socket, reads: reads != 0, writes: writes != 0)
        }
        let mask =
            ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB | ARES_OPT_LOOKUPS | ARES_OPT_RESOLVCONF
        var channel: ares_channel?
        // SAFETY: c-ares copies the options, the texts of the look-up order and of the path included.
        let status = unsafe order.withCString { order in
            unsafe serversFile.withCString { path in
                unsafe options.lookups = UnsafeMutablePointer(mutating: order)
                unsafe options.resolvconf_path = UnsafeMutablePointer(mutating: path)
                return unsafe ares_init_options(&channel, &options, Int32(mask))
            }
        }
        try Self.check(status)
        unsafe sockets.channel = channel
        if !servers.isEmpty {
            let list = servers.map(\.description).joined(separator: ",")
            try Self.check(unsafe ares_set_servers_ports_csv(channel, list))
        }
        sockets.arrange(preferred?.server)
        sockets.foundSilent = { [unowned self] other in
            // c-ares is about to read the answer.
            loop.later { [weak self] in self?.prefer(other) }
        }
    }

    deinit {
        for one in replaced + [sockets] { one.destroy() }
        socketsBesideFile?.destroy()
    }

    // MARK: Other servers, or another order

    /// The first server is silent, and `other` has answered in its place.
    private func prefer(_ other: SocketAddress) {
        guard preferred?.server != other else { return }
        preferred = (other, until: loop.now &+ silentTime)
        replaceSockets()
    }

    /// Sees whether the file names other servers now, and whether the first one is to be asked first again.
    private func renew() {
        var isOld = false
        if let preferred, loop.now >= preferred.until {
            self.preferred = nil
            isOld = true
        }
        // A file that is being replaced may be gone for a moment.
        if let stamp = FileStamp(serversFile), stamp != serversStamp {
            serversStamp = stamp
            preferred = nil
            isOld = true
        }
        if isOld { replaceSockets() }
    }

    /// What is asked from now on goes over other sockets; what was asked is answered over those that it went out by. Where none can be
    /// made all stays as it is.
    private func replaceSockets() {
        let made = ResolverSockets(loop: loop)
        do throws(LoopError) {
            try open(made, order: "fb")
        } catch {
            return made.destroy()
        }
        for old in [sockets, socketsBesideFile].compactMap(\.self) {
            old.foundSilent = nil
            old.rested = { [unowned self] in loop.later { [weak self] in self?.destroyRested() } }
            replaced.append(old)
        }
        (sockets, socketsBesideFile) = (made, nil)
        loop.later { [weak self] in self?.destroyRested() }
    }

    /// Not from inside c-ares.
    private func destroyRested() {
        for one in replaced where one.openCount == 0 { one.destroy() }
        replaced.removeAll { $0.openCount == 0 }
    }

    /// Those over which a name that the file doesn't have is asked for. Where they can't be made the file is read once more.
    private func besideFile() -> ResolverSockets {
        if let made = socketsBesideFile { return made }
        let made = ResolverSockets(loop: loop)
        do throws(LoopError) {
            try open(made, order: "b")
        } catch {
            made.destroy()
            return sockets
        }
        socketsBesideFile = made
        return made
    }

    private static func check(_ status: Int32) throws(LoopError) {
        guard status == ARES_SUCCESS else {
            // SAFETY: c-ares gives a constant text.
            throw unsafe .resolver(String(cString: ares_strerror(status)))
        }
    }

    /// Looks `host` up. `completion` comes once, from the loop, never from inside this call, and not after `cancel()`.
    /// Numeric addresses, with or without brackets, are given back as they are.
    /// - Parameters:
    ///   - port: what the addresses carry.
    ///   - nanoseconds: the deadline for the whole look-up, kept as coarsely as `Timer` does.
    @discardableResult
    public func resolve(
        _ host: String, port: UInt16, timeout nanoseconds: UInt64, completion: @escaping Completion
    ) -> Resolution {
        let resolution = Resolution(resolver: self, port: port, completion: completion)
        let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        if let address = SocketAddress.parseHost(bare, port: port) {
            resolution.finishLater(.success([address]), ttl: Self.numericTTL)
        } else if host.isEmpty || host.utf8.contains(0) {
            resolution.finishLater(.failure(.badName), ttl: 0)
        } else {
            let name = Self.withoutDotOfLocal(host)
            renew()
            let known = hosts.addresses(of: name)
            if let known, !known.isEmpty {
                resolution.finishLater(.success(known.map { $0.withPort(port) }), ttl: Self.fileTTL)
            } else {
                resolution.begin(name, within: nanoseconds)
                // What names this machine c-ares knows without a name server, by the side of its file alone.
                let asksFile = known == nil || Self.isLocal(name)
                (asksFile ? sockets : besideFile()).ask(name, for: resolution)
            }
        }
        return resolution
    }

    /// The absolute names that a name may stand for, in the order in which they are asked for.
    internal func names(of name: String) -> [String] { sockets.names(of: name) }

    /// Asks for the addresses of each family by itself, of the absolute name with that index, beside the question for both.
    internal func askApart(_ name: String, _ index: Int, for resolution: Resolution) {
        (socketsBesideFile ?? sockets).askApart(name, index, for: resolution)
    }

    /// The names of this machine are absolute with and without a dot at their end (RFC 6761 §6.3), and in `/etc/hosts` they have none.
    private static func withoutDotOfLocal(_ host: String) -> String {
        guard host.utf8.last == UInt8(ascii: ".") else { return host }
        let name = String(host.dropLast())
        return isLocal(name) ? name : host
    }

    private static func isLocal(_ host: String) -> Bool {
        let name = host.lowercased()
        return name == "localhost" || name.hasSuffix(".localhost")
    }
}
