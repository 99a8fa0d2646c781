internal import Gateway
internal import Synchronization

/// What the routes of a process remember of signed requests, for all of its workers. Another process, or this one started again,
/// knows nothing of it. A reload keeps a memory where the route keeps its name.
final class ReplayMemories: Sendable {
    private let memories = Mutex<[String: ReplayMemory]>([:])

    /// Remembers a request of a route. Returns false where it came before.
    ///
    /// - Parameters:
    ///   - options: how the route remembers from now on.
    ///   - now: nanoseconds of the clock that all workers share.
    func remember(_ key: ReplayMemory.Key, of route: String, _ options: ReplayMemory.Options, now: UInt64) -> Bool {
        memories.withLock { memories in
            // Changed where it stands: a copy would be one of all that it holds.
            memories[route, default: ReplayMemory(options)].options = options
            return memories[route, default: ReplayMemory(options)].remember(key, now: now)
        }
    }

    func forget(_ key: ReplayMemory.Key, of route: String) { memories.withLock { $0[route]?.forget(key) } }

    /// The routes that have a memory are those.
    func keep(_ routes: Set<String>) { memories.withLock { $0 = $0.filter { routes.contains($0.key) } } }

    func visit(_ samples: inout MetricSamples) {
        let counts = memories.withLock { memories in
            memories.sorted { $0.key < $1.key }.map {
                (route: $0.key, count: $0.value.count, dropped: $0.value.dropped)
            }
        }
        for memory in counts {
            samples.gauge(
                "recast_replay_entries", "Signed requests that a route remembers, so that none is taken twice.",
                labels: [.init("route", memory.route)], Double(memory.count))
            samples.counter(
                "recast_replay_dropped_total",
                "Signed requests that a route forgot before their time, for want of room.",
                labels: [.init("route", memory.route)], memory.dropped)
        }
    }
}
