internal import Synchronization

/// The bytes that bodies may take in the whole process. Workers lease from it in coarse steps, see `MemoryAllowance`.
///
/// It bounds what grows with bodies: trees, converted responses, spools, and what waits beyond the fixed buffers. What every
/// connection has anyway isn't counted.
public final class MemoryBudget: Sendable {
    /// The budget in bytes.
    let limit: Int
    /// Bytes that a worker leases at once: 1/64 of the budget, at least 64 KiB and at most 1 MiB.
    let step: Int
    private let leased = Atomic(0)
    /// 85 % of the budget: every request looks at it.
    private let soft: Int

    init(limit: Int) {
        self.limit = limit
        soft = limit / 100 * 85
        step = min(max(limit / 64, MemoryCharge.step), 1024 * 1024)
    }

    /// Bytes that workers have leased: at least what they hold.
    var used: Int { leased.load(ordering: .relaxed) }

    /// How far the budget is spent: 0 below 85 %, 1 from there (connections aren't kept alive), 2 from 90 % (new bodies
    /// wait), 3 from 95 % (nothing is accepted).
    var pressure: Int {
        let used = self.used
        if used < soft { return 0 }
        return used < limit / 100 * 90 ? 1 : used < limit / 100 * 95 ? 2 : 3
    }

    /// Leases `bytes`; false when the budget has not so many left.
    func lease(_ bytes: Int) -> Bool {
        if leased.add(bytes, ordering: .relaxed).newValue <= limit { return true }
        leased.subtract(bytes, ordering: .relaxed)
        return false
    }

    /// Leases `bytes` also where the budget is spent: for what is held already.
    func force(_ bytes: Int) { leased.add(bytes, ordering: .relaxed) }

    func giveBack(_ bytes: Int) { leased.subtract(bytes, ordering: .relaxed) }
}
