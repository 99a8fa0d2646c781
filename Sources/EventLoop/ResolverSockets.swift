internal import CCares
internal import CEvent
internal import Glibc

/// Lets c-ares wait on the loop: an event for each of its sockets, and one timer for its retries.
@safe
final class ResolverSockets {
    private let loop: EventLoop
    /// nil before c-ares is set up and after `destroy()`.
    var channel: ares_channel?
    private var watches: [Watch] = []
    private var timer: Timer?

    @safe
    private struct Watch {
        let socket: Int32
        let event: OpaquePointer
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
        // SAFETY: c-ares calls back for what is open, `update` included, and is done with self when it returns.
        unsafe self.channel = nil
        unsafe ares_destroy(channel)
        timer = nil
    }

    /// Asks for the addresses of `host`, both families.
    func ask(_ host: String, for resolution: Resolution) {
        resolution.isBeingAsked = true
        defer { resolution.isBeingAsked = false }
        // SAFETY: see below.
        unsafe ask(host, AF_UNSPEC, for: resolution) { context, status, _, result in
            let resolution = unsafe Unmanaged<Resolution>.fromOpaque(context!).takeRetainedValue()
            unsafe resolution.answered(status, result)
            unsafe ares_freeaddrinfo(result)
        }
    }

    /// What a question for one family is of.
    private final class Apart {
        let resolution: Resolution
        let index: Int

        init(_ resolution: Resolution, _ index: Int) {
            self.resolution = resolution
            self.index = index
        }
    }

    /// Asks for the addresses of each family by itself. `host` is absolute.
    func askApart(_ host: String, _ index: Int, for resolution: Resolution) {
        for family in [AF_INET, AF_INET6] {
            // SAFETY: see below.
            unsafe ask(host, family, for: Apart(resolution, index)) { context, status, _, result in
                let apart = unsafe Unmanaged<Apart>.fromOpaque(context!).takeRetainedValue()
                unsafe apart.resolution.answeredApart(apart.index, status, result)
                unsafe ares_freeaddrinfo(result)
            }
        }
    }

    private func ask(
        _ host: String, _ family: Int32, for asker: some AnyObject, _ answer: @escaping ares_addrinfo_callback
    ) {
        guard let channel = unsafe channel else { return }
        var hints = ares_addrinfo_hints()
        hints.ai_family = family
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        // SAFETY: c-ares calls back exactly once, whatever happens; that call takes over the reference. The name is copied.
        unsafe ares_getaddrinfo(channel, host, nil, &hints, answer, Unmanaged.passRetained(asker).toOpaque())
        armTimer()
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
        unsafe watches.append(Watch(socket: socket, event: event))
    }

    private func process(reads: Int32, writes: Int32) {
        guard let channel = unsafe channel else { return }
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
