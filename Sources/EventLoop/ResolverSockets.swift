internal import CCares
internal import CEvent
internal import Glibc

/// Lets c-ares wait on the loop: an event for each of its sockets, and one timer for its retries.
///
/// It asks one name server after the other, the first one first, and forgets which of them was silent. So what they say is listened for:
/// `foundSilent`.
@safe
final class ResolverSockets {
    private let loop: EventLoop
    /// nil before c-ares is set up and after `destroy()`.
    var channel: ares_channel?
    private var watches: [Watch] = []
    private var timer: Timer?

    /// The name servers in the order in which they are asked, where that may be another one; else none.
    private var servers: [SocketAddress] = []
    /// Called where the first of them has said nothing for so long that another one was asked, which has: with that one.
    var foundSilent: ((SocketAddress) -> Void)?
    /// Called when nothing is asked any more.
    var rested: (() -> Void)?
    /// Questions that have no answer yet.
    private(set) var openCount = 0
    /// The nanosecond of the first question since the first server last said something, or nothing was asked; 0: there is none.
    private var askedAt: UInt64 = 0
    /// For how long it may be silent: a little less than c-ares waits before it asks the next one.
    private static let patience = UInt64(Resolver.tryTimeout) * 900_000

    @safe
    private struct Watch {
        let socket: Int32
        let event: OpaquePointer
        /// The name server; nil while a connection is being made.
        let peer: SocketAddress?
    }

    init(loop: EventLoop) {
        self.loop = loop
        // SAFETY: there is no channel yet; `open` makes it.
        unsafe channel = nil
        timer = Timer(loop: loop) { [unowned self] in process(reads: ARES_SOCKET_BAD, writes: ARES_SOCKET_BAD) }
    }

    /// Ends all questions and closes all sockets.
    func destroy() {
        guard let channel = unsafe channel else { return }
        (foundSilent, rested) = (nil, nil)
        // SAFETY: c-ares calls back for what is open, `update` included, and is done with self when it returns.
        unsafe self.channel = nil
        unsafe ares_destroy(channel)
        timer = nil
    }

    /// Asks for the addresses of `host`, both families.
    func ask(_ host: String, for resolution: Resolution) {
        resolution.isBeingAsked = true
        defer { resolution.isBeingAsked = false }
        ask(host, AF_UNSPEC, Question(self, resolution, apart: nil))
    }

    /// Asks for the addresses of each family by itself. `host` is absolute.
    func askApart(_ host: String, _ index: Int, for resolution: Resolution) {
        for family in [AF_INET, AF_INET6] { ask(host, family, Question(self, resolution, apart: index)) }
    }

    /// What c-ares has been asked and not answered.
    private final class Question {
        let sockets: ResolverSockets
        let resolution: Resolution
        /// Which of the names one family is asked for of; nil: it is both.
        let index: Int?

        init(_ sockets: ResolverSockets, _ resolution: Resolution, apart index: Int?) {
            self.sockets = sockets
            self.resolution = resolution
            self.index = index
        }
    }

    private func ask(_ host: String, _ family: Int32, _ question: Question) {
        guard let channel = unsafe channel else { return }
        if openCount == 0 || askedAt == 0 { askedAt = loop.now }
        openCount += 1
        var hints = ares_addrinfo_hints()
        hints.ai_family = family
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        let answer: ares_addrinfo_callback = { context, status, _, result in
            let question = unsafe Unmanaged<Question>.fromOpaque(context!).takeRetainedValue()
            if let index = question.index {
                unsafe question.resolution.answeredApart(index, status, result)
            } else {
                unsafe question.resolution.answered(status, result)
            }
            unsafe ares_freeaddrinfo(result)
            question.sockets.answered()
        }
        // SAFETY: c-ares calls back exactly once, whatever happens; that call takes over the reference. The name is copied.
        unsafe ares_getaddrinfo(channel, host, nil, &hints, answer, Unmanaged.passRetained(question).toOpaque())
        armTimer()
    }

    private func answered() {
        openCount -= 1
        if openCount == 0 { rested?() }
    }

    // MARK: The order of the servers

    /// Has c-ares ask `first` in front of the others, where that is one of its servers, and keeps their order in mind.
    func arrange(_ first: SocketAddress?) {
        guard let channel = unsafe channel else { return }
        var head: UnsafeMutablePointer<ares_addr_port_node>?
        // SAFETY: c-ares makes the list, which is given back when it has been read.
        guard unsafe ares_get_servers_ports(channel, &head) == ARES_SUCCESS else { return }
        defer { unsafe ares_free_data(head) }
        var found: [SocketAddress] = []
        var next = unsafe head
        while let node = unsafe next {
            // SAFETY: as above; the family says which of the two addresses is there.
            unsafe next = node.pointee.next
            let port = unsafe node.pointee.udp_port
            let address: SocketAddress? = unsafe withUnsafeBytes(of: node.pointee.addr) { raw in
                if unsafe node.pointee.family == AF_INET {
                    return unsafe SocketAddress(
                        ipv4: raw.loadUnaligned(as: UInt32.self).bigEndian, port: port == 0 ? 53 : UInt16(port))
                }
                return unsafe SocketAddress(
                    ipv6High: raw.loadUnaligned(as: UInt64.self).bigEndian,
                    low: raw.loadUnaligned(fromByteOffset: 8, as: UInt64.self).bigEndian,
                    port: port == 0 ? 53 : UInt16(port))
            }
            guard let address else { continue }
            // c-ares gives a link-local address without its interface, so the list can't be written anew.
            if let six = address.ipv6, six.high >> 54 == 0xFE80 >> 6 { return }
            found.append(address)
        }
        guard found.count > 1 else { return }
        if let first, let index = found.firstIndex(of: first), index > 0 {
            found.remove(at: index)
            found.insert(first, at: 0)
            let list = found.map(\.description).joined(separator: ",")
            // Where it fails the order stays as it is.
            guard unsafe ares_set_servers_ports_csv(channel, list) == ARES_SUCCESS else { return }
        }
        servers = found
    }

    /// Something can be read from `peer`. c-ares is about to do so, and may tell nobody any more that it had to wait for it.
    private func heard(_ peer: SocketAddress, on socket: Int32) {
        guard let first = servers.first, askedAt != 0 else { return }
        if peer == first {
            if hasData(socket) { askedAt = 0 }
        } else if loop.now &- askedAt >= Self.patience, hasData(socket) {
            askedAt = 0
            foundSilent?(peer)
        }
    }

    /// Whether it is an answer: the system's word that nobody listens there, which c-ares is to read, makes a socket readable, too.
    private func hasData(_ socket: Int32) -> Bool {
        var one = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        // SAFETY: the one entry is read and written during the call.
        return unsafe poll(&one, 1, 0) == 1 && Int32(one.revents) & POLLIN != 0
    }

    /// The names that c-ares asks for where it is asked for `host`, in their order, each absolute.
    func names(of host: String) -> [String] {
        guard host.utf8.last != UInt8(ascii: "."), let channel = unsafe channel else { return [host] }
        var options = unsafe ares_options()
        var mask: Int32 = 0
        // SAFETY: c-ares fills the options, which it has set to nothing before, and they are given back when they have been read.
        defer { unsafe ares_destroy_options(&options) }
        guard unsafe ares_save_options(channel, &options, &mask) == ARES_SUCCESS else { return [host + "."] }
        let domains = unsafe UnsafeBufferPointer(start: options.domains, count: max(0, Int(options.ndomains)))
        let searched = unsafe domains.compactMap { domain -> String? in
            guard let domain = unsafe domain else { return nil }
            var name = unsafe host + "." + String(cString: domain)
            while name.utf8.last == UInt8(ascii: ".") { name.removeLast() }
            return name + "."
        }
        let dots = host.utf8.count { $0 == UInt8(ascii: ".") }
        return unsafe dots >= options.ndots ? [host + "."] + searched : searched + [host + "."]
    }

    /// c-ares wants to know about `socket`, or, with neither, is about to close it.
    func update(_ socket: Int32, reads: Bool, writes: Bool) {
        if let index = watches.firstIndex(where: { $0.socket == socket }) {
            // SAFETY: assigned below.
            unsafe event_del(watches[index].event)
            unsafe loop.pool.put(watches[index].event)
            watches.remove(at: index)
        }
        guard reads || writes else { return }
        let event = unsafe loop.pool.take()
        let wanted = (reads ? EV_READ : 0) | (writes ? EV_WRITE : 0) | EV_PERSIST
        // SAFETY: c-ares closes its sockets, and so removes the events, in `destroy()` at the latest.
        unsafe event_assign(
            event, loop.base, socket, Int16(wanted),
            { socket, what, context in
                let sockets = unsafe Unmanaged<ResolverSockets>.fromOpaque(context!).takeUnretainedValue()
                sockets.process(
                    reads: Int32(what) & EV_READ != 0 ? socket : ARES_SOCKET_BAD,
                    writes: Int32(what) & EV_WRITE != 0 ? socket : ARES_SOCKET_BAD)
            }, Unmanaged.passUnretained(self).toOpaque())
        // If this fails, the question fails by its deadline.
        unsafe event_add(event, nil)
        let peer = servers.isEmpty ? nil : SocketAddress(peerOf: socket)
        unsafe watches.append(Watch(socket: socket, event: event, peer: peer))
    }

    private func process(reads: Int32, writes: Int32) {
        guard let channel = unsafe channel else { return }
        if reads != ARES_SOCKET_BAD, !servers.isEmpty, let peer = watches.first(where: { $0.socket == reads })?.peer {
            heard(peer, on: reads)
        }
        // SAFETY: the channel is alive; it is never destroyed from inside c-ares, as completions come later.
        unsafe ares_process_fd(channel, reads, writes)
        armTimer()
    }

    private func armTimer() {
        var wait = timeval()
        // SAFETY: c-ares writes the time into `wait` and returns its address, or nil when nothing is asked.
        guard unsafe channel != nil, unsafe ares_timeout(channel, nil, &wait) != nil else {
            return timer?.cancel() ?? ()
        }
        timer?.set(after: UInt64(wait.tv_sec) * 1_000_000_000 + UInt64(wait.tv_usec) * 1000)
    }
}
