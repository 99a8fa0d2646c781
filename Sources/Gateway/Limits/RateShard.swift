internal import Octets

/// One part of what a route's rate limit remembers: of each key the hash, and the time when its bucket is whole again.
///
/// A key has two buckets of eight slots in which it may stand. A slot whose time is past is as good as an empty one, since whoever is
/// unknown has a whole bucket, too. Where both have no such slot, the table doubles as far as it may; then a key of theirs
/// moves to its other bucket, and if that is full, too, the key goes that would be forgotten first. So what is lost of a full table
/// is a limit for somebody, never a request.
package struct RateShard: Sendable {
    private struct Slot {
        /// 0: never used.
        var key: UInt64 = 0
        /// Nanoseconds; the bucket is whole from then on.
        var whole: UInt64 = 0
    }

    private static let bucketSize = 8

    private var slots: [Slot] = []
    /// Buckets now, and at most: the first number is doubled until it is the last.
    private var buckets: Int
    private let greatest: Int
    /// Slots that were used.
    package private(set) var count = 0
    /// Keys that had to go before their time.
    package private(set) var evicted: UInt64 = 0

    package init(_ shape: RateTableShape) {
        buckets = shape.firstBuckets
        greatest = shape.firstBuckets << shape.doublings
    }

    /// Counts a request of `key` at `now`, in nanoseconds.
    ///
    /// - Parameter key: a keyed hash; 64 bits are enough to tell some millions of keys apart.
    package mutating func take(_ key: UInt64, by rate: CellRate, now: UInt64) -> CellRate.Outcome {
        // 0 stands for an empty slot.
        let key = key == 0 ? 1 : key
        if slots.isEmpty { slots = Array(repeating: Slot(), count: buckets * Self.bucketSize) }
        while true {
            let first = Self.bucket(of: key, among: buckets)
            let second = Self.bucket(of: Self.other(key), among: buckets)
            if let index = index(of: key, in: first) ?? index(of: key, in: second) {
                return rate.take(&slots[index].whole, now: now)
            }
            if let index = free(first, second, now: now) {
                if slots[index].key == 0 { count += 1 }
                return begin(key, at: index, by: rate, now: now)
            }
            if buckets < greatest {
                grow(now: now)
                continue
            }
            if let index = makeRoom(first, now: now) ?? makeRoom(second, now: now) {
                return begin(key, at: index, by: rate, now: now)
            }
            evicted += 1
            let (one, other) = (oldest(in: first), oldest(in: second))
            return begin(key, at: slots[other].whole < slots[one].whole ? other : one, by: rate, now: now)
        }
    }

    private mutating func begin(_ key: UInt64, at index: Int, by rate: CellRate, now: UInt64) -> CellRate.Outcome {
        slots[index] = Slot(key: key, whole: 0)
        return rate.take(&slots[index].whole, now: now)
    }

    /// The bucket that a hash's first bits stand for: that of twice as many is one of the two with twice its number.
    private static func bucket(of key: UInt64, among buckets: Int) -> Int {
        Int(key.multipliedFullWidth(by: UInt64(buckets)).high)
    }

    /// What decides the second bucket of a key: all of its bits reach the first ones of the product (2^64 by the golden ratio).
    private static func other(_ key: UInt64) -> UInt64 { key &* 0x9E37_79B9_7F4A_7C15 }

    private static func slots(of bucket: Int) -> Range<Int> { bucket * bucketSize..<(bucket + 1) * bucketSize }

    private func index(of key: UInt64, in bucket: Int) -> Int? {
        for index in Self.slots(of: bucket) where slots[index].key == key { return index }
        return nil
    }

    /// A free slot in the emptier of two buckets, so that they fill evenly.
    private func free(_ first: Int, _ second: Int, now: UInt64) -> Int? {
        let (one, other) = (free(in: first, now: now), free(in: second, now: now))
        return other.count > one.count ? other.index : one.index
    }

    private func free(in bucket: Int, now: UInt64) -> (index: Int?, count: Int) {
        var found: Int?
        var count = 0
        for index in Self.slots(of: bucket) where slots[index].whole <= now {
            if found == nil { found = index }
            count += 1
        }
        return (found, count)
    }

    /// Moves a key of a full bucket to its other one, where that has room, and returns the slot that it leaves: so a table gets nearly
    /// full before anybody has to go.
    private mutating func makeRoom(_ bucket: Int, now: UInt64) -> Int? {
        for index in Self.slots(of: bucket) {
            let key = slots[index].key
            let first = Self.bucket(of: key, among: buckets)
            let other = first == bucket ? Self.bucket(of: Self.other(key), among: buckets) : first
            guard let place = free(in: other, now: now).index else { continue }
            if slots[place].key == 0 { count += 1 }
            slots[place] = slots[index]
            return index
        }
        return nil
    }

    private func oldest(in bucket: Int) -> Int {
        var oldest = bucket * Self.bucketSize
        for index in Self.slots(of: bucket) where slots[index].whole < slots[oldest].whole { oldest = index }
        return oldest
    }

    /// Doubles the table. What was in one bucket is in two then, so that all have room; what is as good as unknown goes.
    private mutating func grow(now: UInt64) {
        var grown = [Slot](repeating: Slot(), count: slots.count * 2)
        count = 0
        for index in slots.indices where slots[index].whole > now {
            let slot = slots[index]
            let isFirst = Self.bucket(of: slot.key, among: buckets) == index / Self.bucketSize
            let bucket = Self.bucket(of: isFirst ? slot.key : Self.other(slot.key), among: buckets * 2)
            guard let place = Self.slots(of: bucket).first(where: { grown[$0].key == 0 }) else {
                preconditionFailure("a bucket has more than was in one of half as many")
            }
            grown[place] = slot
            count += 1
        }
        slots = grown
        buckets *= 2
    }
}

/// How a table of keys is divided: among shards, so that workers rarely meet, and into buckets, of which it has few at first.
package struct RateTableShape: Hashable, Sendable {
    /// A power of two, 16 at most.
    package let shards: Int
    /// Of a shard.
    package let firstBuckets: Int
    /// How often their number doubles at most.
    package let doublings: Int

    /// - Parameter entries: keys at most, 8 at least. There is room for seven of eight of them or more.
    package init(entries: Int) {
        var shards = 1
        // A shard of fewer keys would fill unevenly.
        while shards < 16, entries / (shards * 2) >= 1024 { shards *= 2 }
        var buckets = max(1, entries / shards / 8)
        var doublings = 0
        while buckets >= 16 {
            buckets /= 2
            doublings += 1
        }
        self.shards = shards
        firstBuckets = buckets
        self.doublings = doublings
    }

    /// Keys that have room.
    package var entries: Int { shards * firstBuckets << doublings * 8 }
}

/// The hash by which keys are known: SipHash with a key that the process draws, so that nobody can make two keys meet.
package struct RateKeyHash: Sendable {
    private let seed: [UInt64]

    package init() { seed = Entropy.words(2) }

    private var hasher: Hasher {
        var hasher = Hasher()
        // The standard library's own key can be switched off from outside.
        for word in seed { hasher.combine(word) }
        return hasher
    }

    package func callAsFunction(_ bytes: Span<UInt8>) -> UInt64 {
        var hasher = hasher
        // SAFETY: the bytes are read within the call.
        unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    package func callAsFunction(_ word: UInt64) -> UInt64 {
        var hasher = hasher
        hasher.combine(word)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}
