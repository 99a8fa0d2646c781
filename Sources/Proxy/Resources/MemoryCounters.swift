/// What a worker counts of the memory that bodies take.
struct MemoryCounters {
    /// Answered with `memory_exhausted`, by what couldn't be had.
    var refusedAdmission: UInt64 = 0
    var refusedRequest: UInt64 = 0
    var refusedResponse: UInt64 = 0
    /// Requests whose bodies waited for memory, whatever came of it.
    var waited: UInt64 = 0
    /// Whether this worker tells the budget, which is one for all of them.
    var tellsBudget = false

    func visit(_ samples: inout MetricSamples, budget: MemoryBudget) {
        if tellsBudget {
            samples.gauge("recast_memory_budget_bytes", "What bodies may hold in all.", Double(budget.limit))
            samples.gauge("recast_memory_leased_bytes", "What workers have of the budget.", Double(budget.used))
        }
        let refused = "Requests answered with memory_exhausted."
        for (reason, count) in [
            ("admission", refusedAdmission), ("request", refusedRequest), ("response", refusedResponse),
        ] {
            samples.counter("recast_memory_refused_total", refused, labels: [.init("reason", reason)], count)
        }
        samples.counter("recast_memory_waits_total", "Requests whose bodies had to wait for memory.", waited)
    }
}
