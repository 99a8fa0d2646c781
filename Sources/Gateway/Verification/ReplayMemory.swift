internal import Signatures

/// Which signed requests of a route came before, so that one that somebody has recorded can't be sent again while its time holds.
///
/// It holds what came within its time, `Options.entries` at most: beyond them the oldest are forgotten, and counted.
public struct ReplayMemory: Sendable {
    /// How much a route remembers.
    public struct Options: Hashable, Sendable {
        /// Nanoseconds.
        public var time: UInt64
        public var entries: Int

        public init(time: UInt64, entries: Int = Options.standardEntries) {
            self.time = time
            self.entries = entries
        }

        public static let standardEntries = 100_000
    }

    /// What a request is known by: half of a digest of what its sender calls it.
    package struct Key: Hashable, Sendable {
        private let high: UInt64
        private let low: UInt64

        package init(_ id: [UInt8]) {
            let digest = Digest.of(id.span, .sha256)
            func word(_ range: Range<Int>) -> UInt64 { digest[range].reduce(0) { $0 << 8 | UInt64($1) } }
            high = word(0..<8)
            low = word(8..<16)
        }
    }

    /// How much is remembered from now on.
    package var options: Options
    /// The number of each entry in `order`, counted from the first one ever.
    private var numbers: [Key: UInt64] = [:]
    /// In the order in which they end.
    private var order: [(key: Key, end: UInt64)] = []
    /// The number of the first of `order` that may still hold, and of `order`'s first.
    private var first: UInt64 = 0
    private var base: UInt64 = 0
    /// How many it had to forget before their time.
    package private(set) var dropped: UInt64 = 0

    package init(_ options: Options) { self.options = options }

    /// How many requests it knows.
    package var count: Int { numbers.count }

    /// Remembers a request. Returns false where it came before.
    ///
    /// - Parameter now: nanoseconds.
    package mutating func remember(_ key: Key, now: UInt64) -> Bool {
        while held > 0, order[Int(first - base)].end <= now { removeFirst() }
        guard numbers[key] == nil else { return false }
        while numbers.count >= options.entries {
            let count = numbers.count
            removeFirst()
            if numbers.count < count { dropped += 1 }
        }
        // Entries that were forgotten leave gaps; a service that fails for long must not fill memory with them.
        if held >= 2 * options.entries { closeGaps() }
        numbers[key] = base + UInt64(order.count)
        order.append((key, now &+ options.time))
        return true
    }

    /// The request didn't reach its service: its sender may send it again.
    package mutating func forget(_ key: Key) { numbers[key] = nil }

    /// Entries of `order`, with those that were forgotten.
    private var held: Int { order.count - Int(first - base) }

    /// Lets go of the oldest entry, which may have been forgotten before.
    private mutating func removeFirst() {
        let key = order[Int(first - base)].key
        if numbers[key] == first { numbers[key] = nil }
        first += 1
        let spent = Int(first - base)
        if spent > 1024, spent > order.count / 2 {
            order.removeFirst(spent)
            base = first
        }
    }

    /// Lets go of all entries that were forgotten.
    private mutating func closeGaps() {
        var live: [(key: Key, end: UInt64)] = []
        for number in first..<base + UInt64(order.count) {
            let entry = order[Int(number - base)]
            guard numbers[entry.key] == number else { continue }
            numbers[entry.key] = UInt64(live.count)
            live.append(entry)
        }
        (order, first, base) = (live, 0, 0)
    }
}
