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
    // is time. So each is asked for by itself where both are not there soon, or where one may hide what the other says; of all names at
    // once for which the search domains make one of several, since c-ares would go on to the next domain where a name has no address of
    // one family, and what that has may be anybody's.
    private var name = ""
    private var deadline: UInt64 = 0
    private var apart: [Apart] = []
    /// Whether the timer gives the rest of what was asked for so a little time.
    private var isResting = false
    /// What c-ares says of both families together, where one by itself may say more: that decides then.
    private var verdict: ResolveError?
    /// Why one of the questions for one family failed.
    private var fault: ResolveError?

    /// What is known of one of the names, of each family by itself.
    private struct Apart {
        var addresses: [SocketAddress] = []
        var ttl = Int32.max
        /// Questions that are over, of two, and those of them that have an answer, if only that there is no address.
        var over = 0
        var answered = 0
        /// Whether an answer was that there is no such name, which is so for both families.
        var isAbsent = false
    }

    /// What counts of them, and whether nothing that is still to come can change it: the first name that has addresses, where those before
    /// it have none as far as anybody speaks of them.
    private var chosen: (found: Apart, isSure: Bool)? {
        var isSure = true
        for one in apart {
            isSure = isSure && one.over == 2
            if !one.addresses.isEmpty { return (one, isSure) }
            guard one.isAbsent || one.answered == 2 else { return nil }
        }
        return nil
    }

    /// Whether the completion is given the addresses of one family, and of the other one nobody knows.
    public private(set) var isPartial = false

    /// How long both families are waited for, at most half of the time: 1.5 s, in which c-ares asks twice or more.
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
        deadline = loop.activeNow &+ min(nanoseconds, 1 << 62)
        timer = Timer(loop: loop) { [unowned self] in timerFired() }
        timer?.set(after: min(Self.patience, nanoseconds / 2))
    }

    private func timerFired() {
        let now = loop.activeNow
        guard now < deadline, chosen == nil else {
            return finish(foundOr(fault ?? verdict ?? .timedOut), ttl: foundTTL)
        }
        isResting = false
        timer?.set(after: deadline - now)
        askApart()
    }

    /// Asks for each family by itself, unless that is under way.
    private func askApart() {
        guard apart.isEmpty, let resolver else { return }
        let names = resolver.names(of: name)
        apart = Array(repeating: Apart(), count: names.count)
        for (index, name) in names.enumerated() { resolver.askApart(name, index, for: self) }
    }

    /// What is known of one family, or the failure of both.
    private func foundOr(_ error: ResolveError) -> Result<[SocketAddress], ResolveError> {
        guard let found = chosen?.found else { return .failure(error) }
        isPartial = found.answered < 2
        return .success(found.addresses)
    }

    private var foundTTL: Int { Int(max(0, chosen?.found.ttl ?? 0)) }

    /// Called by c-ares, which must not be entered again from here: hence at the end of the tick.
    internal func answered(_ status: Int32, _ result: UnsafeMutablePointer<ares_addrinfo>?) {
        guard isUnderWay else { return }
        guard status == ARES_SUCCESS else {
            let error = ResolveError(status: status)
            guard Self.mayHide.contains(status) else { return finishLater(foundOr(error), ttl: foundTTL) }
            verdict = error
            return loop.later { [self] in
                guard isUnderWay else { return }
                askApart()
                conclude()
            }
        }
        // SAFETY: c-ares keeps the list valid during this call.
        let (addresses, ttl) = unsafe addresses(of: result)
        if addresses.isEmpty {
            finishLater(foundOr(.notFound), ttl: foundTTL)
        } else {
            finishLater(.success(addresses), ttl: isBeingAsked ? Resolver.fileTTL : Int(max(0, ttl)))
        }
    }

    /// What c-ares says of both families where one of them has an answer that can't be read, as one that counts more records than it has:
    /// that the other has no address, or that none can be read though the other has some.
    private static let mayHide = [ARES_ENODATA, ARES_EBADRESP]

    /// Ends with what each family has said by itself, where all have and none of it is an address.
    private func conclude() {
        guard let verdict, chosen == nil, apart.allSatisfy({ $0.over == 2 }) else { return }
        finishLater(.failure(fault ?? verdict), ttl: 0)
    }

    /// The same for one family alone of the name with that index. What it says of failures the question for both will say, too, or has.
    internal func answeredApart(_ index: Int, _ status: Int32, _ result: UnsafeMutablePointer<ares_addrinfo>?) {
        guard isUnderWay else { return }
        var one = apart[index]
        one.over += 1
        one.isAbsent = one.isAbsent || [ARES_ENOTFOUND, ARES_EBADNAME].contains(status)
        if [ARES_SUCCESS, ARES_ENODATA, ARES_ENOTFOUND, ARES_EBADNAME].contains(status) {
            one.answered += 1
        } else {
            fault = ResolveError(status: status)
        }
        if status == ARES_SUCCESS {
            // SAFETY: as above.
            let (addresses, ttl) = unsafe addresses(of: result)
            for address in addresses where !one.addresses.contains(address) { one.addresses.append(address) }
            one.ttl = min(one.ttl, ttl)
        }
        apart[index] = one
        guard let chosen else { return conclude() }
        if chosen.isSure { return finishLater(foundOr(.notFound), ttl: foundTTL) }
        guard !isResting else { return }
        isResting = true
        let now = loop.activeNow
        timer?.set(after: deadline > now ? min(Self.rest, deadline - now) : 1)
    }

    /// The addresses of a list, which is read and not kept, each once, and the shortest of their lives and of those of the aliases by which
    /// they were found: that is how the addresses of a name are moved that stands for another one.
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
        var alias = unsafe result?.pointee.cnames
        while let one = unsafe alias {
            // SAFETY: as above.
            ttl = unsafe min(ttl, one.pointee.ttl)
            unsafe alias = one.pointee.next
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
