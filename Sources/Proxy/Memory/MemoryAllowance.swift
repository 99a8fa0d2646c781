/// One worker's part of the budget. What it has leased and doesn't use is at most two steps, and nothing when it holds
/// nothing, so an idle worker takes nothing away from the others.
final class MemoryAllowance {
    let budget: MemoryBudget
    /// Bytes that this worker's bodies hold, in steps of `MemoryCharge.step`.
    private(set) var held = 0
    private var heldByKind = [0, 0, 0]
    private var leased = 0
    var counters = MemoryCounters()
    /// Called when the worker has come to hold nothing after it held much.
    var onEmpty: (() -> Void)?
    private var peak = 0

    /// Bytes that must have been held for the allocator to have much to give back.
    private static let burst = 8 * 1024 * 1024

    init(_ budget: MemoryBudget) {
        self.budget = budget
    }

    /// See `MemoryBudget.pressure`.
    var pressure: Int { budget.pressure }

    /// What of `held` is of that kind.
    func held(_ kind: MemoryKind) -> Int { heldByKind[kind.index] }

    /// Takes `bytes`; false when the budget is spent.
    func take(_ bytes: Int, for kind: MemoryKind) -> Bool {
        let missing = held + bytes - leased
        if missing > 0 {
            let step = (missing + budget.step - 1) / budget.step * budget.step
            // Near the end of the budget exactly what is missing may still be there.
            if budget.lease(step) {
                leased += step
            } else if budget.lease(missing) {
                leased += missing
            } else {
                return false
            }
        }
        hold(bytes, kind)
        return true
    }

    /// Takes `bytes` that are held already.
    func force(_ bytes: Int, for kind: MemoryKind) {
        if take(bytes, for: kind) { return }
        let missing = held + bytes - leased
        budget.force(missing)
        leased += missing
        hold(bytes, kind)
    }

    private func hold(_ bytes: Int, _ kind: MemoryKind) {
        held += bytes
        heldByKind[kind.index] += bytes
    }

    func give(_ bytes: Int, of kind: MemoryKind) {
        peak = max(peak, held)
        hold(-bytes, kind)
        let kept = held == 0 ? 0 : held + budget.step
        if held == 0 || leased - kept >= budget.step {
            budget.giveBack(leased - min(kept, leased))
            leased = min(kept, leased)
        }
        if held == 0, peak >= Self.burst {
            peak = 0
            onEmpty?()
        }
    }

    func visit(_ samples: inout MetricSamples) {
        for kind in MemoryKind.allCases {
            samples.gauge(
                "recast_buffer_bytes", "Bytes that bodies hold beyond the fixed buffers, in steps of 64 KiB.",
                labels: [.init("kind", kind.rawValue)], Double(held(kind)))
        }
        counters.visit(&samples, budget: budget)
    }
}

extension MemoryKind {
    fileprivate var index: Int {
        switch self {
        case .request: 0
        case .response: 1
        case .spool: 2
        }
    }
}
