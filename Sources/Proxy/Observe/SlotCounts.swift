/// Counts by a small key. The keys that occur are few, so they stand in the order in which they first came and are looked
/// through; beyond `limit` all further ones share the last place, so that they can't become many.
struct SlotCounts: Sendable {
    /// Keys that have a place of their own.
    static let limit = 64

    private(set) var keys: [UInt32] = []
    private(set) var counts: [UInt64] = []
    /// What had no place left.
    private(set) var others: UInt64 = 0

    mutating func add(_ key: UInt32, _ amount: UInt64 = 1) {
        for index in keys.indices where keys[index] == key {
            counts[index] &+= amount
            return
        }
        guard keys.count < Self.limit else {
            others &+= amount
            return
        }
        keys.append(key)
        counts.append(amount)
    }

    /// Each key with its count.
    func forEach(_ visit: (UInt32, UInt64) -> Void) {
        for index in keys.indices { visit(keys[index], counts[index]) }
    }
}
