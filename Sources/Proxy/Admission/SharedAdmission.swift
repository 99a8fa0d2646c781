internal import Synchronization

/// What the workers of a process count together, because a share for each would be wrong: a client's connections and a
/// client's requests may all come to one worker. Everything else is counted by each worker alone.
public final class SharedAdmission: Sendable {
    private let clients = Mutex<[ClientKey: Int]>([:])
    private let requests = Atomic<Int>(0)

    public init() {}

    /// Counts a connection of `client`, unless it has `cap` already.
    func enter(_ client: ClientKey, cap: Int) -> Bool {
        clients.withLock { clients in
            let count = clients[client, default: 0]
            guard count < cap else { return false }
            clients[client] = count + 1
            return true
        }
    }

    func leave(_ client: ClientKey) {
        clients.withLock { clients in
            let count = clients[client, default: 0]
            clients[client] = count > 1 ? count - 1 : nil
        }
    }

    /// Counts a request, unless `cap` are in flight already.
    func beginRequest(cap: Int) -> Bool {
        if requests.wrappingAdd(1, ordering: .relaxed).oldValue < cap { return true }
        endRequest()
        return false
    }

    func endRequest() { requests.wrappingSubtract(1, ordering: .relaxed) }
}
