internal import EventLoop
internal import Logging
internal import Synchronization

/// The bytes that bodies may take in the whole process. Workers lease from it in coarse steps, see `MemoryAllowance`.
///
/// It bounds what grows with bodies: trees, converted responses, spools, and what waits beyond the fixed buffers. What every
/// connection has anyway isn't counted. Copies of requests are counted apart: what they hold keeps nothing from anybody else.
public final class MemoryBudget: Sendable {
    /// The budget in bytes.
    let limit: Int
    /// Bytes that a worker leases at once: 1/64 of the budget, at least 64 KiB and at most 1 MiB.
    let step: Int
    private let leased = Atomic(0)
    /// 85 % of the budget: every request looks at it.
    private let soft: Int
    /// What copies of requests hold.
    private let copied = Atomic(0)
    /// Bytes that all of them together may hold: an eighth of the budget.
    let copyLimit: Int

    init(limit: Int) {
        self.limit = limit
        soft = limit / 100 * 85
        copyLimit = limit / 8
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

    /// Bytes that copies of requests hold, beside those that are leased: neither `pressure` nor a lease looks at them.
    var usedByCopies: Int { copied.load(ordering: .relaxed) }

    /// Takes `bytes` for a copy of a request. False when copies have all that they may have, or would need what the budget keeps free
    /// for bodies: from 85 % on.
    func takeForCopy(_ bytes: Int) -> Bool {
        let held = copied.add(bytes, ordering: .relaxed).newValue
        if held <= copyLimit, used + held <= soft { return true }
        copied.subtract(bytes, ordering: .relaxed)
        return false
    }

    func giveBackOfCopy(_ bytes: Int) { copied.subtract(bytes, ordering: .relaxed) }
}

extension MemoryBudget {
    /// `memory.bodies: auto` where nothing limits the process and the system doesn't say what it has: 64 MiB.
    static let standard = 64 * 1024 * 1024
    /// The least that `auto` comes to: 8 MiB.
    static let least = 8 * 1024 * 1024

    /// The budget that the settings ask for on this system. Throws when it can't fit into what the process may have.
    static func make(_ settings: MemorySettings) throws(ServerError) -> MemoryBudget {
        let allowed = MemoryLimit.current()
        guard let wanted = settings.bodies else {
            return MemoryBudget(limit: automatic(allowed: allowed?.bytes, installed: MemoryLimit.installed()))
        }
        if let allowed {
            guard wanted < allowed.bytes else {
                throw .memory(
                    reason:
                        "memory.bodies is \(wanted) bytes, and \(allowed.source) allows the process \(allowed.bytes)")
            }
            if wanted > allowed.bytes / 4 * 3 {
                OperationalLog.logger.warning(
                    """
                    memory.bodies is \(wanted) bytes of the \(allowed.bytes) that \(allowed.source) allows: little is left \
                    for connections and code
                    """)
            }
        }
        return MemoryBudget(limit: wanted)
    }

    /// What the process takes besides bodies before it has a connection, 16 MiB.
    static let base = 16 * 1024 * 1024

    /// What `auto` is: half of what the process may have behind what it takes itself, or a quarter of what the machine has where
    /// nothing limits it. The other half is for connections, what isn't counted, and pages that the allocator doesn't give back.
    static func automatic(allowed: Int?, installed: Int?) -> Int {
        if let allowed, allowed <= installed ?? .max { return max((allowed - base) / 2, least) }
        return installed.map { max($0 / 4, least) } ?? standard
    }
}

/// One worker's part of the budget. What it has leased and doesn't use is at most two steps, and nothing when it holds nothing, so an
/// idle worker takes nothing away from the others; and nothing behind what is given back where bodies wait.
final class MemoryAllowance {
    let budget: MemoryBudget
    /// Bytes that this worker's bodies hold, in steps of `MemoryCharge.step`.
    private(set) var held = 0
    private var heldByKind = [0, 0, 0]
    /// Bytes that this worker's copies of requests hold, which are none of `held`.
    private(set) var heldByCopies = 0
    private var leased = 0
    var counters = MemoryCounters()
    /// Called when the worker has come to hold nothing after it held much.
    var onEmpty: (() -> Void)?
    private var peak = 0
    private var peakOfCopies = 0

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
        // Where bodies wait nothing is kept for the next one: it may be all that they wait for.
        let spare = budget.pressure >= 2 ? 0 : budget.step
        let kept = held == 0 ? 0 : held + spare
        if held == 0 || leased - kept >= max(spare, 1) {
            budget.giveBack(leased - min(kept, leased))
            leased = min(kept, leased)
        }
        if held == 0, peak >= Self.burst {
            peak = 0
            onEmpty?()
        }
    }

    /// Takes `bytes` for a copy of a request, or gives as many back where there are less than none; false when copies have all that
    /// they may have.
    fileprivate func changeCopies(by bytes: Int) -> Bool {
        if bytes > 0 {
            guard budget.takeForCopy(bytes) else { return false }
        } else {
            budget.giveBackOfCopy(-bytes)
            peakOfCopies = max(peakOfCopies, heldByCopies)
        }
        heldByCopies += bytes
        if heldByCopies == 0, peakOfCopies >= Self.burst {
            peakOfCopies = 0
            onEmpty?()
        }
        return true
    }

    func visit(_ samples: inout MetricSamples) {
        let name = "recast_buffer_bytes"
        let help = "Bytes that bodies hold beyond the fixed buffers, in steps of 64 KiB."
        for kind in MemoryKind.allCases {
            samples.gauge(name, help, labels: [.init("kind", kind.rawValue)], Double(held(kind)))
        }
        samples.gauge(name, help, labels: [.init("kind", "copy")], Double(heldByCopies))
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

/// What one holder owes to its worker's allowance, in steps.
struct MemoryCharge {
    /// Bytes of a step: 64 KiB. Less than one is free, so that small requests have nothing to do with the budget.
    static let step = 64 * 1024

    private(set) var bytes = 0
    private let kind: MemoryKind

    init(_ kind: MemoryKind) {
        self.kind = kind
    }

    /// What `bytes` held cost.
    static func cost(of bytes: Int) -> Int { bytes < step ? 0 : (bytes + step - 1) / step * step }

    /// Pays for `held` bytes in all, more or fewer than before. Returns false when the budget has no room for more; what was
    /// paid stays.
    mutating func set(_ held: Int, from allowance: MemoryAllowance) -> Bool {
        let cost = Self.cost(of: held)
        if cost > bytes, !allowance.take(cost - bytes, for: kind) { return false }
        if cost < bytes { allowance.give(bytes - cost, of: kind) }
        bytes = cost
        return true
    }

    /// As `set`, for bytes that are there already and can't be refused.
    mutating func force(_ held: Int, from allowance: MemoryAllowance) {
        let cost = Self.cost(of: held)
        if cost > bytes { allowance.force(cost - bytes, for: kind) }
        if cost < bytes { allowance.give(bytes - cost, of: kind) }
        bytes = cost
    }

    mutating func end(_ allowance: MemoryAllowance) {
        if bytes > 0 { allowance.give(bytes, of: kind) }
        bytes = 0
    }
}

/// What a copy of a request, or of an answer to compare, owes to what copies may have, in the steps of `MemoryCharge`. Where a copy finds
/// no memory there is no copy, and nobody else hears of it.
struct CopyCharge {
    private(set) var bytes = 0

    /// Pays for `held` bytes in all. Returns false when there is no room for more; what was paid stays.
    mutating func set(_ held: Int, from allowance: MemoryAllowance) -> Bool {
        let cost = MemoryCharge.cost(of: held)
        guard cost == bytes || allowance.changeCopies(by: cost - bytes) else { return false }
        bytes = cost
        return true
    }

    mutating func end(_ allowance: MemoryAllowance) { _ = set(0, from: allowance) }
}

/// What bytes that are held belong to.
enum MemoryKind: String, CaseIterable {
    /// Requests: output that waits, what their streams queue, trees.
    case request
    /// Responses: those that are converted, and what clients don't read.
    case response
    /// The parts of spools in memory.
    case spool
}
