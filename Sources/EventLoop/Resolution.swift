internal import CCares
internal import Glibc

/// A look-up on its way.
@safe
public final class Resolution {
    private let port: UInt16
    private let loop: EventLoop
    private var completion: Resolver.Completion?
    private var timer: Timer?
    /// Keeps the resolver while the look-up is under way.
    private var resolver: Resolver?

    // c-ares tells the addresses of both families together, when both are there or one is given up, and that takes it longer than there
    // is time. So each is asked for by itself where both are not there soon.
    private var name = ""
    private var deadline: UInt64 = 0
    /// Questions for one family that were asked, those of them that are over, and those of these that have an answer, if only that there
    /// is no address.
    private var apart = (asked: 0, over: 0, answered: 0)
    /// What those have brought.
    private var found: (addresses: [SocketAddress], ttl: Int32) = ([], .max)

    /// Whether the completion is given the addresses of one family, and of the other one nobody knows.
    public private(set) var isPartial = false

    /// How long both families are waited for, at most half of the time: 1.5 s, in which c-ares asks twice.
    private static let patience: UInt64 = 1_500_000_000
    /// How long the second is waited for when the first is there: 500 ms.
    private static let rest: UInt64 = 500_000_000

    internal init(resolver: Resolver, port: UInt16, completion: @escaping Resolver.Completion) {
        self.loop = resolver.loop
        self.port = port
        self.completion = completion
        self.resolver = resolver
    }

    /// Set while c-ares takes the question: what it answers at once, without asking anybody, is from a file.
    internal var isBeingAsked = false

    /// Whether neither the completion nor `cancel()` has come.
    public var isUnderWay: Bool { completion != nil }

    /// Gives up. No completion comes; c-ares forgets the question when its own time is over.
    public func cancel() {
        completion = nil
        timer = nil
        resolver = nil
    }

    /// Both families of `name` are about to be asked for, within so many nanoseconds.
    internal func begin(_ name: String, within nanoseconds: UInt64) {
        self.name = name
        deadline = loop.now &+ min(nanoseconds, 1 << 62)
        timer = Timer(loop: loop) { [unowned self] in timerFired() }
        timer?.set(after: min(Self.patience, nanoseconds / 2))
    }

    private func timerFired() {
        let now = loop.now
        guard apart.asked == 0, now < deadline else { return finish(foundOr(.timedOut), ttl: foundTTL) }
        timer?.set(after: deadline - now)
        apart.asked = 2
        resolver?.askApart(name, for: self)
    }

    /// What is known of one family, or the failure of both.
    private func foundOr(_ error: ResolveError) -> Result<[SocketAddress], ResolveError> {
        guard !found.addresses.isEmpty else { return .failure(error) }
        isPartial = apart.answered < 2
        return .success(found.addresses)
    }

    private var foundTTL: Int { found.addresses.isEmpty ? 0 : Int(max(0, found.ttl)) }

    /// Called by c-ares, which must not be entered again from here: hence at the end of the tick.
    internal func answered(_ status: Int32, _ result: UnsafeMutablePointer<ares_addrinfo>?) {
        guard isUnderWay else { return }
        guard status == ARES_SUCCESS else {
            return finishLater(foundOr(ResolveError(status: status)), ttl: foundTTL)
        }
        // SAFETY: c-ares keeps the list valid during this call.
        let (addresses, ttl) = unsafe addresses(of: result)
        if addresses.isEmpty {
            finishLater(foundOr(.notFound), ttl: foundTTL)
        } else {
            finishLater(.success(addresses), ttl: isBeingAsked ? Resolver.fileTTL : Int(max(0, ttl)))
        }
    }

    /// The same for one family alone. What it says of failures the question for both will say, too.
    internal func answeredApart(_ status: Int32, _ result: UnsafeMutablePointer<ares_addrinfo>?) {
        guard isUnderWay else { return }
        apart.over += 1
        if [ARES_SUCCESS, ARES_ENODATA, ARES_ENOTFOUND].contains(status) { apart.answered += 1 }
        if status == ARES_SUCCESS {
            // SAFETY: as above.
            let (addresses, ttl) = unsafe addresses(of: result)
            for address in addresses where !found.addresses.contains(address) { found.addresses.append(address) }
            found.ttl = min(found.ttl, ttl)
        }
        guard !found.addresses.isEmpty else { return }
        if apart.over == apart.asked { return finishLater(foundOr(.notFound), ttl: foundTTL) }
        let now = loop.now
        timer?.set(after: deadline > now ? min(Self.rest, deadline - now) : 1)
    }

    /// The addresses of a list, which is read and not kept, each once, and the shortest of their lives.
    private func addresses(of result: UnsafeMutablePointer<ares_addrinfo>?) -> (addresses: [SocketAddress], ttl: Int32)
    {
        var addresses: [SocketAddress] = []
        var ttl = Int32.max
        var next = unsafe result?.pointee.nodes
        while let node = unsafe next {
            // SAFETY: c-ares keeps the list valid during the call in which it gives it.
            unsafe next = node.pointee.ai_next
            guard let address = unsafe Self.address(of: node.pointee) else { continue }
            ttl = unsafe min(ttl, node.pointee.ai_ttl)
            let made = address.withPort(port)
            if !addresses.contains(made) { addresses.append(made) }
        }
        return (addresses, ttl)
    }

    private static func address(of node: ares_addrinfo_node) -> SocketAddress? {
        var storage = sockaddr_storage()
        let length = unsafe Int(node.ai_addrlen)
        guard let source = unsafe node.ai_addr, length <= MemoryLayout<sockaddr_storage>.size else { return nil }
        // SAFETY: c-ares says how many bytes the address has; they fit.
        unsafe withUnsafeMutableBytes(of: &storage) {
            unsafe $0.copyMemory(from: UnsafeRawBufferPointer(start: source, count: length))
        }
        return SocketAddress(storage, length: socklen_t(length))
    }

    internal func finishLater(_ result: Result<[SocketAddress], ResolveError>, ttl: Int) {
        loop.later { [self] in finish(result, ttl: ttl) }
    }

    private func finish(_ result: Result<[SocketAddress], ResolveError>, ttl: Int) {
        guard let completion else { return }
        // Keeps the resolver until the completion has returned: it may be the last to hold it.
        let held = resolver
        cancel()
        withExtendedLifetime(held) { completion(result, ttl) }
    }
}
