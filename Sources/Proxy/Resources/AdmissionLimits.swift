internal import EventLoop
internal import HTTPWire
internal import Synchronization

/// What one worker may take, worked out once from the settings.
struct AdmissionLimits {
    /// Connections of this worker: its share of the process's; the system spreads connections by hash.
    let connections: Int
    /// Those of the process.
    let total: Int
    /// Above this, idle connections are closed and wait for a quarter of their time only: 90 % of `connections`.
    let relief: Int
    /// At this the listeners accept again after the cap was reached.
    let resume: Int
    /// Connections of one client, in the process; 0: no cap.
    let perClient: Int
    /// Whether the cap holds for this host's own clients.
    let capsLoopback: Bool
    /// Requests on one connection.
    let requests: Int
    /// Nanoseconds.
    let age: UInt64
    /// Requests in flight in the process; 0: no cap.
    let inFlight: Int
    let head: WireLimits

    /// - Parameter worker: the number of the worker, from 0.
    init(_ settings: ProxySettings, worker: Int = 0) {
        let admission = settings.admission
        total = admission.connections ?? DescriptorNeeds(settings).connections(of: raiseDescriptorLimit())
        connections = WorkerShare(number: worker, of: settings.workers).share(of: total)
        relief = connections - (connections + 9) / 10
        resume = connections - 1 - connections / 64
        switch admission.perClient {
        case .none: (perClient, capsLoopback) = (0, false)
        case .standard: (perClient, capsLoopback) = (AdmissionSettings.ClientCap.standardCount, false)
        case .count(let count): (perClient, capsLoopback) = (count, true)
        }
        requests = admission.requestsPerConnection == 0 ? .max : admission.requestsPerConnection
        age = admission.connectionAge?.nanoseconds ?? .max
        inFlight = admission.inFlight ?? 0
        var head = WireLimits()
        head.requestLine = admission.head.requestLine
        head.fieldLine = admission.head.fieldLine
        head.head = admission.head.bytes
        head.fieldCount = admission.head.fields
        self.head = head
    }

    /// What is said when the cap is reached: where it is a worker's, with the number that the settings have.
    var capNote: String {
        let share = counted(connections, "connection")
        let whose = connections < total ? " at this worker, its share of \(total)" : ""
        return "there may be \(share)\(whose): others wait (connections.total)"
    }
}

/// Which of the process's workers one is: limits of the process are shared out by it.
struct WorkerShare: Sendable {
    /// From 0.
    var number = 0
    var workers = 1

    init(number: Int = 0, of workers: Int = 1) {
        self.number = number
        self.workers = workers
    }

    /// This worker's part of `limit`: all parts together are the limit, and differ by one at most. A worker that may do nothing
    /// would let its clients wait for ever, so it is one at least: with fewer than there are workers the sum is their number.
    func share(of limit: Int) -> Int {
        max(1, limit / workers + (number < limit % workers ? 1 : 0))
    }
}

/// What the workers of a process count together, because a share for each would be wrong: a client's connections and a
/// client's requests may all come to one worker. Everything else is counted by each worker alone.
public final class SharedAdmission: Sendable {
    private let clients = Mutex<[ClientKey: Int]>([:])
    private let requests = Atomic<Int>(0)
    /// Signed requests that came before.
    let replays = ReplayMemories()
    /// How often clients have come to routes that count them.
    let rates = RateLimiters()
    /// Lines that access logs have lost.
    let logLosses = LogLosses()

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

/// Whom a connection counts for: an IPv4 address, or a /64 network of IPv6, since one client easily has all addresses of one.
struct ClientKey: Hashable, Sendable {
    private let high: UInt64
    /// Another one for each client.
    var number: UInt64 { high }
    /// Whether it is this host. All its clients share one address.
    let isLoopback: Bool

    /// Nil for a unix socket, whose clients have no address.
    init?(_ peer: SocketAddress) {
        if let address = peer.ipv4 {
            // ::ffff:0:0/96 has no /64 of its own that could be meant, so the two kinds can't meet.
            high = 0xFFFF_0000_0000 | UInt64(address)
            isLoopback = address >> 24 == 127
        } else if let (high, low) = peer.ipv6 {
            self.high = high
            isLoopback = high == 0 && low == 1
        } else {
            return nil
        }
    }
}
