/// Counters of what settings name: routes, upstreams, senders of webhooks.
///
/// What a reload keeps by its name goes on counting where it was. What a reload takes away stays as it is, so that nothing is
/// lost that was counted since it was last asked for; but only the latest `goneLimit` of those, so that settings whose names
/// are others at each reload don't make the metrics grow for as long as the process lives.
struct CountersByName<Counters> {
    /// Names that are kept although no settings have them any more.
    static var goneLimit: Int { 1_000 }

    private struct Row {
        var counters: Counters
        /// The number of the reload that took the name away; nil while settings have it.
        var goneSince: UInt64?
    }

    private var rows: [String: Row] = [:]
    private var reloads: UInt64 = 0

    /// What is counted by `name`, which begins as `first` where nothing was counted yet.
    subscript(name: String, first first: @autoclosure () -> Counters) -> Counters {
        mutating get {
            if let known = rows[name] { return known.counters }
            let counters = first()
            rows[name] = Row(counters: counters)
            return counters
        }
        _modify {
            yield &rows[name, default: Row(counters: first())].counters
        }
    }

    /// New settings name those alone.
    mutating func keep(_ names: Set<String>) {
        reloads += 1
        var gone: [(since: UInt64, name: String)] = []
        for name in Array(rows.keys) {
            let since = names.contains(name) ? nil : rows[name]?.goneSince ?? reloads
            rows[name]?.goneSince = since
            if let since { gone.append((since, name)) }
        }
        guard gone.count > Self.goneLimit else { return }
        gone.sort { ($0.since, $0.name) < ($1.since, $1.name) }
        for (_, name) in gone.dropLast(Self.goneLimit) { rows[name] = nil }
    }

    /// In the order of their names.
    var sorted: [(name: String, counters: Counters)] {
        rows.sorted { $0.key < $1.key }.map { ($0.key, $0.value.counters) }
    }
}
