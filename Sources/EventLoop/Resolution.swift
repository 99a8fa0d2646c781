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

    internal func setDeadline(after nanoseconds: UInt64) {
        timer = Timer(loop: loop) { [unowned self] in finish(.failure(.timedOut), ttl: 0) }
        timer?.set(after: nanoseconds)
    }

    /// Called by c-ares, which must not be entered again from here: hence at the end of the tick.
    internal func answered(_ status: Int32, _ result: UnsafeMutablePointer<ares_addrinfo>?) {
        guard isUnderWay else { return }
        // SAFETY: c-ares keeps the list valid during this call; it is read here and not kept.
        guard status == ARES_SUCCESS, let result = unsafe result else {
            return finishLater(.failure(ResolveError(status: status)), ttl: 0)
        }
        var addresses: [SocketAddress] = []
        var ttl = Int32.max
        var next = unsafe result.pointee.nodes
        while let node = unsafe next {
            unsafe next = node.pointee.ai_next
            guard let address = unsafe Self.address(of: node.pointee) else { continue }
            ttl = unsafe min(ttl, node.pointee.ai_ttl)
            let made = address.withPort(port)
            if !addresses.contains(made) { addresses.append(made) }
        }
        if addresses.isEmpty {
            finishLater(.failure(.notFound), ttl: 0)
        } else {
            finishLater(.success(addresses), ttl: isBeingAsked ? Resolver.fileTTL : Int(max(0, ttl)))
        }
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
