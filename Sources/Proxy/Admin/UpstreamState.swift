/// How an upstream stands, for `/upstreams`: that of one worker, or of all together.
struct UpstreamState: Sendable {
    /// One of its addresses.
    fileprivate struct Address: Sendable {
        var address: String
        var states: [String]
        var idle: Int
        var connections: Int
        var inFlight: Int
        var failures: Int
        var ejections: Int
        /// Workers that don't reuse its connections for now.
        var reusePaused: Int
        var reusePauses: Int
        /// What went wrong last on any worker, and how many seconds ago.
        var lastFailure: (what: String, age: UInt64)?
    }

    let name: String
    private var addresses: [Address]
    private var names: [NameSnapshot]
    private var connections: Int
    private var maxConnections: Int
    private var inFlight: Int
    private var queued: Int
    private var unresolved: Int
    /// Workers on which requests are answered with 503 at once.
    private var down: Int

    init(_ snapshot: UpstreamSnapshot) {
        name = snapshot.name
        addresses = snapshot.endpoints.map {
            Address(
                address: $0.address, states: [$0.state.word], idle: $0.idle, connections: $0.connections,
                inFlight: $0.inFlight, failures: $0.failures + $0.connectFailures, ejections: $0.ejections,
                reusePaused: $0.isReusePaused ? 1 : 0, reusePauses: $0.reusePauses,
                lastFailure: $0.failure)
        }
        names = snapshot.names
        connections = snapshot.connections
        maxConnections = snapshot.maxConnections
        inFlight = snapshot.inFlight
        queued = snapshot.queued
        unresolved = snapshot.unresolved
        down = snapshot.isDown ? 1 : 0
    }

    /// Adds what another worker knows of the same upstream.
    mutating func merge(_ other: UpstreamState) {
        connections += other.connections
        maxConnections += other.maxConnections
        inFlight += other.inFlight
        queued += other.queued
        unresolved += other.unresolved
        down += other.down
        for address in other.addresses {
            guard let index = addresses.firstIndex(where: { $0.address == address.address }) else {
                addresses.append(address)
                continue
            }
            addresses[index].states += address.states
            addresses[index].idle += address.idle
            addresses[index].connections += address.connections
            addresses[index].inFlight += address.inFlight
            addresses[index].failures += address.failures
            addresses[index].ejections += address.ejections
            addresses[index].reusePaused += address.reusePaused
            addresses[index].reusePauses += address.reusePauses
            if let other = address.lastFailure, other.age < addresses[index].lastFailure?.age ?? .max {
                addresses[index].lastFailure = other
            }
        }
        for source in other.names where !names.contains(where: { $0.name == source.name }) { names.append(source) }
    }

    var value: AdminValue {
        let idle = addresses.reduce(0) { $0 + $1.idle }
        return .object([
            ("name", .text(name)),
            (
                "connections",
                .object([
                    ("idle", .number(idle)), ("active", .number(connections - idle)), ("max", .number(maxConnections)),
                ])
            ), ("requests", .number(inFlight)), ("queued", .number(queued)), ("waiting_for_name", .number(unresolved)),
            ("workers_down", .number(down)), ("addresses", .list(addresses.map(\.value))),
            ("names", .list(names.map(\.value))),
        ])
    }
}

extension UpstreamState.Address {
    /// The workers' views where they differ, each once.
    fileprivate var value: AdminValue {
        let views = states.reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
        return .object([
            ("address", .text(address)), ("state", .text(views.joined(separator: ", "))), ("idle", .number(idle)),
            ("connections", .number(connections)), ("requests", .number(inFlight)), ("failures", .number(failures)),
            ("ejections", .number(ejections)), ("workers_not_reusing", .number(reusePaused)),
            ("reuse_pauses", .number(reusePauses)),
            ("last_failure", lastFailure.map { .text($0.what) } ?? .none),
            ("last_failure_age", lastFailure.map { .number(Int($0.age)) } ?? .none),
        ])
    }
}

extension EndpointSnapshot {
    fileprivate var failure: (what: String, age: UInt64)? {
        guard let lastFailure else { return nil }
        return (lastFailure, lastFailureAge ?? 0)
    }
}

extension EndpointSnapshot.State {
    fileprivate var word: String {
        switch self {
        case .healthy: "healthy"
        case .ejected: "ejected"
        case .dead: "dead"
        case .failingChecks: "failing_checks"
        }
    }
}

extension NameSnapshot {
    fileprivate var value: AdminValue {
        .object([
            ("name", .text(name)), ("addresses", .list(addresses.map(AdminValue.text))),
            ("age", age.map { .number(Int($0)) } ?? .none), ("ttl", .number(ttl)),
            ("fault", fault.map(AdminValue.text) ?? .none),
        ])
    }
}
