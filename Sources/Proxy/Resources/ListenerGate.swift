internal import EventLoop

/// The listeners of one worker, and every reason why they don't accept. The one place that pauses and resumes them.
struct ListenerGate {
    /// Why no connection is accepted. While there is a reason, connections wait in the backlog.
    struct Reasons: OptionSet {
        let rawValue: UInt8
        /// The worker has as many connections as it may.
        static let connections = Reasons(rawValue: 1)
        /// Memory is short.
        static let pressure = Reasons(rawValue: 2)
    }

    private var listeners: [(name: ListenAddress, listener: Listener, info: ListenerInfo)] = []
    private(set) var reasons: Reasons = []

    mutating func add(_ listener: Listener, _ name: ListenAddress, _ info: ListenerInfo) {
        listeners.append((name, listener, info))
        if !reasons.isEmpty { listener.pause() }
    }

    /// The addresses of unix sockets that no client finds any more.
    var lost: [ListenAddress] { listeners.filter(\.listener.isLost).map(\.name) }

    /// Whether another process' sockets stand in the places of unix sockets, or none do.
    var hasDisplaced: Bool { listeners.contains(where: \.listener.isDisplaced) }

    /// Gives listeners what new settings say of their addresses. One whose address isn't among them keeps what it had: who waits
    /// there is served as the address was, never in plain text where TLS was asked for.
    func secure(_ settings: ProxySettings) {
        for (name, _, info) in listeners where settings.listen.contains(name) {
            info.settings = settings.listener(at: name)
        }
    }

    /// Whether `reason` is new.
    @discardableResult
    mutating func pause(_ reason: Reasons) -> Bool {
        guard !reasons.contains(reason) else { return false }
        if reasons.isEmpty { for (_, listener, _) in listeners { listener.pause() } }
        reasons.insert(reason)
        return true
    }

    mutating func resume(_ reason: Reasons) {
        guard reasons.contains(reason) else { return }
        reasons.remove(reason)
        if reasons.isEmpty { for (_, listener, _) in listeners { listener.resume() } }
    }

    /// Forgets listeners that are left, and returns them: they are the caller's to end.
    mutating func remove(where isLeft: (ListenAddress) -> Bool) -> [(name: ListenAddress, listener: Listener)] {
        let left = listeners.filter { isLeft($0.name) }
        listeners.removeAll { isLeft($0.name) }
        return left.map { (name: $0.name, listener: $0.listener) }
    }
}
