internal import EventLoop
internal import HTTPWire

/// What one worker may take, worked out once from the settings.
struct AdmissionLimits {
    /// Connections of this worker: its share of the process's; the system spreads connections by hash.
    let connections: Int
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
        let total = admission.connections ?? DescriptorNeeds(settings).connections(of: raiseDescriptorLimit())
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
}
