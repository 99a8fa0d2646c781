internal import COctets
internal import Octets

extension JSON {
    /// The names of the members seen so far in every open object.
    ///
    /// One stack of names for all objects, since the names of an inner object go before its outer one gets another. Most
    /// objects have few members: a name whose bit no other name of its object has is new, and one whose bit is taken is
    /// compared with each. An object with more has its names in a table of chains besides. A name that leaves is always the
    /// first of its chain, so nothing needs to be searched or marked as deleted. A look-up is O(bytes of the name).
    struct MemberNames: ~Copyable {
        enum Outcome: Hashable {
            case new, known
            /// The names of the open objects would pass the limit.
            case full
        }

        /// What a name is known by: up to sixteen bytes, the bytes themselves with zeros behind them; else its first and its
        /// last eight.
        struct Key {
            var first: UInt64
            var last: UInt64
            var count: Int

            init(first: UInt64, last: UInt64, count: Int) {
                self.first = first
                self.last = last
                self.count = count
            }

            init(_ name: Span<UInt8>) {
                (first, last) = Scan.ends(of: name)
                count = name.count
            }

            /// Writes a name of at most sixteen bytes, with zeros behind it, and returns the number of its bytes.
            ///
            /// Unsafe: there must be room for sixteen bytes.
            @inline(__always)
            @unsafe
            func store(to target: UnsafeMutableRawPointer) -> Int {
                // SAFETY: as the caller promises.
                unsafe target.storeBytes(of: first.littleEndian, as: UInt64.self)
                unsafe target.storeBytes(of: last.littleEndian, toByteOffset: 8, as: UInt64.self)
                return count
            }

            /// Which of 64 bits is the name's. Anybody can find names that share one: it saves comparisons, no more.
            var bit: UInt64 {
                let mixed = (first ^ (last &<< 7 | last &>> 57) ^ UInt64(count)) &* UInt64(RECAST_NAME_MIX)
                return 1 &<< (mixed &>> 58)
            }
        }

        private typealias Entry = recast_name

        /// An open object that has names.
        private struct Object {
            var depth: Int
            /// The entry of its first name.
            var start: Int
            /// The bits of its names; all of them where it is in the table.
            var bits: UInt64 = 0
            /// What was held before it, and the bytes of long names.
            var heldBefore: Int
            var bytesBefore: Int
            var isInTable = false
        }

        /// What one name counts besides its bytes.
        static let overhead = Int(RECAST_NAME_OVERHEAD)
        /// Allocations above this many bytes are given back between two bodies.
        private static let kept = 64 * 1024
        /// The names that an object has before it uses the table.
        private static let few = Int(recast_few_names)
        /// The names, and the bytes of those of more than sixteen, that there is room for when others add them.
        private static let lent = (names: 128, bytes: 1024)

        /// Made when an object first needs the table.
        private var hash: ByteHash?
        /// The bytes of names of more than sixteen.
        private var bytes = OwnedArray<UInt8>()
        private var entries = OwnedArray<Entry>()
        /// The innermost object that has names; what it says where there is none holds for none.
        private var top = Object(depth: -1, start: 0, heldBefore: 0, bytesBefore: 0)
        private var outer = OwnedArray<Object>()
        /// What the names that are held count.
        private var held = 0
        /// Names, and bytes of long ones, that were held at most before some were forgotten: the memory for them is still there.
        private var most = (names: 0, bytes: 0)
        /// The first entry of each chain, or -1; a power of two of them.
        private var chains = OwnedArray<Int32>()
        private let limit: Int

        /// A table whose names take at most `limit` bytes, each counted with `overhead`.
        init(limit: Int) {
            self.limit = min(limit, Int(Int32.max))
        }

        /// The number of names that are held: the mark to `close(to:)` later.
        var count: Int {
            @inline(__always) get { entries.count }
        }

        /// Bytes of memory that names take, as of `Tree.allocatedCount`.
        var allocatedCount: Int {
            let names = min(entries.capacity, 2 &* max(entries.count, most.names)) &* MemoryLayout<Entry>.stride
            let long = min(bytes.capacity, 2 &* max(bytes.count, most.bytes))
            return names == 0 ? 0 : names &+ long &+ chains.count &* MemoryLayout<Int32>.stride
        }

        /// Adds `name` to the open object at `depth`, unless it is there.
        mutating func insert(_ name: Span<UInt8>, depth: Int) -> Outcome {
            let key = Key(name)
            return key.count <= 16 ? insert(key, depth: depth) : insertSlowly(key, name, depth: depth)
        }

        /// Adds a name of at most sixteen bytes to the open object at `depth`, unless it is there.
        @inline(__always)
        mutating func insert(_ key: Key, depth: Int) -> Outcome {
            let bit = key.bit
            let size = held &+ key.count &+ Self.overhead
            if depth != top.depth { open(depth: depth) }
            guard top.bits & bit == 0, size <= limit else {
                return insertSlowly(key, Span(), depth: depth)
            }
            top.bits |= bit
            held = size
            entries.append(
                Entry(
                    first: key.first, last: key.last, start: 0, count: Int32(truncatingIfNeeded: key.count), next: -1,
                    hash: 0))
            return .new
        }

        /// Lets `fields` add names to the open objects from `depth` on, the first of which is `level` if it is one, and look at those that
        /// there are: `take` must follow for all that are added before anything else is done here. None with one of the `watched` bits is
        /// added to the first object.
        ///
        /// Unsafe: `fields` may write where it is told to only until then.
        @inline(__always)
        @unsafe
        mutating func lend(
            to fields: inout recast_fields, depth: Int, level: inout recast_level, watching watched: UInt64
        ) {
            let count = depth == top.depth ? entries.count &- top.start : 0
            let isInTable = count > 0 && top.isInTable
            if isInTable, entries.count &+ Self.lent.names > chains.count {
                grow(for: entries.count &+ Self.lent.names)
            }
            // SAFETY: the room is what the arrays have, behind the names that they have of this object, and their bytes.
            unsafe fields.names = entries.reserve(Self.lent.names) - count
            unsafe fields.names_room = Self.lent.names
            unsafe fields.names_count = count
            unsafe fields.bytes_left = max(0, limit &- held)
            unsafe fields.left_bits = watched
            unsafe fields.long_names = bytes.reserve(Self.lent.bytes) - bytes.count
            unsafe fields.long_count = bytes.count
            unsafe fields.long_room = bytes.count &+ Self.lent.bytes
            unsafe fields.chains = nil
            level.bits = (count > 0 ? top.bits : 0) | watched
            if isInTable { unsafe lendChains(to: &fields, from: entries.count &- count) }
        }

        /// As above, the chains of the innermost object's names, of which the first one has the number `start`.
        @inline(never)
        @unsafe
        private mutating func lendChains(to fields: inout recast_fields, from start: Int) {
            guard let key = hash?.key else { return }
            // SAFETY: there is a chain for each name that may come.
            unsafe fields.chains = chains.reserve(0) - chains.count
            unsafe fields.chains_count = chains.count
            unsafe fields.names_start = Int32(truncatingIfNeeded: start)
            unsafe (fields.seed, fields.multiplier) = key
            unsafe fields.depth_in_chains = UInt32(truncatingIfNeeded: Self.salt(top.depth))
        }

        /// Counts the next `count` names that were lent room for, and `longCount` bytes of the long ones: those of the open object at
        /// `depth`, with their bits, behind which `bytesLeft` may be held.
        ///
        /// Unsafe: so many must have been written since `lend`.
        @inline(__always)
        @unsafe
        mutating func take(_ count: Int, _ longCount: Int, depth: Int, bits: UInt64, bytesLeft: Int) {
            guard count > 0 else { return }
            if depth != top.depth { open(depth: depth) }
            top.bits = bits
            held = limit &- bytesLeft
            unsafe entries.commit(count)
            unsafe bytes.commit(longCount)
        }

        @inline(__always)
        private mutating func open(depth: Int) {
            outer.append(top)
            top = Object(depth: depth, start: entries.count, heldBefore: held, bytesBefore: bytes.count)
        }

        /// Adds any name. `name` matters only where it has more than sixteen bytes.
        @inline(never)
        private mutating func insertSlowly(_ key: Key, _ name: Span<UInt8>, depth: Int) -> Outcome {
            if depth != top.depth { open(depth: depth) }
            var slot = UInt32(0)
            if top.isInTable {
                slot = chainHash(key, name)
                var at = Int(chains[Int(slot) & (chains.count - 1)])
                while at >= 0 {
                    if entries[at].hash == slot, at >= top.start, isName(at, key, name) { return .known }
                    at = Int(entries[at].next)
                }
            } else if top.bits & key.bit != 0 {
                for at in top.start..<entries.count where isName(at, key, name) { return .known }
            }
            // The limit keeps the bytes, and with them the number of names, below what 32 bits hold.
            guard held + key.count + Self.overhead <= limit else { return .full }
            held += key.count + Self.overhead
            entries.append(
                Entry(
                    first: key.first, last: key.last, start: Int32(truncatingIfNeeded: bytes.count),
                    count: Int32(truncatingIfNeeded: key.count), next: -1, hash: slot))
            if key.count > 16 { bytes.append(contentsOf: name) }
            if top.isInTable {
                if entries.count > chains.count { grow(for: entries.count) } else { chain(entries.count - 1) }
            } else {
                top.bits |= key.bit
                if entries.count - top.start >= Self.few { useTable() }
            }
            return .new
        }

        private func isName(_ index: Int, _ key: Key, _ name: Span<UInt8>) -> Bool {
            let entry = entries[index]
            guard entry.first == key.first, entry.last == key.last, Int(entry.count) == key.count else { return false }
            return key.count <= 16 || bytes.slice(Int(entry.start)..<Int(entry.start) + key.count).isEqual(to: name)
        }

        /// Forgets the names beyond the first `mark`: the object that they belong to has ended.
        @inline(__always)
        mutating func close(to mark: Int) {
            guard entries.count > mark else { return }
            leave(to: mark)
        }

        private mutating func leave(to mark: Int) {
            most = (max(most.names, entries.count), max(most.bytes, bytes.count))
            while entries.count > mark {
                if top.isInTable {
                    // From the last one back: each is the first of its own chain.
                    var index = entries.count
                    while index > top.start {
                        index -= 1
                        chains[Int(entries[index].hash) & (chains.count - 1)] = entries[index].next
                    }
                }
                entries.truncate(to: top.start)
                bytes.truncate(to: top.bytesBefore)
                held = top.heldBefore
                top = outer.removeLast()
            }
        }

        /// Forgets all names and keeps allocations of ordinary size.
        mutating func removeAll() {
            close(to: 0)
            most = (0, 0)
            if !outer.isEmpty {
                // The first name of an object was one too many.
                top = outer[0]
                outer.removeAll()
            }
            if chains.count * 4 + entries.capacity * 32 + bytes.capacity > Self.kept {
                bytes.free()
                entries.free()
                chains.free()
            }
        }

        // MARK: The table

        private func chainHash(_ key: Key, _ name: Span<UInt8>) -> UInt32 {
            guard let hash else { return 0 }
            let value = key.count <= 16 ? hash(key.first, key.last, salt: key.count) : hash(name)
            return UInt32(truncatingIfNeeded: value ^ Self.salt(top.depth))
        }

        /// What tells the names of an object from those of others.
        private static func salt(_ depth: Int) -> UInt64 { UInt64(truncatingIfNeeded: depth) &* 0x9E37_79B9 }

        private mutating func chain(_ index: Int) {
            let slot = Int(entries[index].hash) & (chains.count - 1)
            entries[index].next = chains[slot]
            chains[slot] = Int32(truncatingIfNeeded: index)
        }

        /// Puts the names of the innermost object into the table.
        private mutating func useTable() {
            if hash == nil { hash = ByteHash() }
            for index in top.start..<entries.count {
                let entry = entries[index]
                let key = Key(first: entry.first, last: entry.last, count: Int(entry.count))
                let start = Int(entry.start)
                entries[index].hash =
                    key.count <= 16
                    ? chainHash(key, Span()) : chainHash(key, bytes.slice(start..<start + key.count))
            }
            top.isInTable = true
            top.bits = .max
            if entries.count > chains.count { return grow(for: entries.count) }
            for index in top.start..<entries.count { chain(index) }
        }

        /// Makes the table larger, for so many names, and chains all names anew, those of the outer objects first.
        private mutating func grow(for count: Int) {
            var size = max(64, chains.count * 2)
            while size < count { size *= 2 }
            chains.removeAll()
            for _ in 0..<size { chains.append(-1) }
            for number in 0...outer.count {
                let object = number < outer.count ? outer[number] : top
                guard object.isInTable else { continue }
                let end =
                    number + 1 < outer.count
                    ? outer[number + 1].start : number < outer.count ? top.start : entries.count
                for index in object.start..<end { chain(index) }
            }
        }
    }
}
