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
