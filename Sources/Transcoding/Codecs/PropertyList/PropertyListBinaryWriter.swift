internal import Octets

extension PropertyList {
    /// Writes a tree as a binary property list: objects in the order of Apple's writer, a container before what it holds,
    /// all names of a dictionary before its values; equal scalars once.
    struct BinaryWriter {
        /// A container, of which the leaf is -1, or a leaf, which has no node.
        private struct Object {
            var node: Tree.Node
            var leaf: Int32
        }

        /// A scalar or a name that has been written, and the next one of the same chain, or -1.
        private struct Leaf {
            /// Where its bytes begin in `leaves`; they end where the next one's begin.
            var start: Int
            var hash: UInt32
            var object: Int32
            var next: Int32
        }

        private let hash = ByteHash()
        /// In the order they are written.
        private var objects: [Object] = []
        /// The object of each node and of its name.
        private var valueObjects: [Int32] = []
        private var nameObjects: [Int32] = []
        /// The bytes of all leaves, one after the other, what is known of each, and a table of chains over them.
        private var leafBytes = OutputBuffer()
        private var leaves: [Leaf] = []
        private var chains: [Int32] = []
        private var offsets: [UInt64] = []

        /// Forgets a document, and keeps allocations of ordinary size.
        mutating func removeAll() {
            guard valueObjects.capacity <= 4096, leafBytes.capacity <= 128 * 1024 else { return self = BinaryWriter() }
            objects.removeAll(keepingCapacity: true)
            valueObjects.removeAll(keepingCapacity: true)
            nameObjects.removeAll(keepingCapacity: true)
            leafBytes.removeAll()
            leaves.removeAll(keepingCapacity: true)
            for index in chains.indices { chains[index] = -1 }
            offsets.removeAll(keepingCapacity: true)
        }

        /// Appends the tree. Memory and time are linear in it.
        mutating func write(_ tree: borrowing Tree, to output: inout OutputBuffer) {
            precondition(tree.root != Tree.none, "a document has a root")
            removeAll()
            valueObjects.append(contentsOf: repeatElement(-1, count: tree.records.count))
            nameObjects.append(contentsOf: repeatElement(-1, count: tree.records.count))
            gather(tree)
            let referenceSize = Self.byteCount(UInt64(objects.count))
            // The output may hold bytes of something else before these.
            let start = output.count
            output.append("bplist00")
            for object in objects {
                offsets.append(UInt64(output.count - start))
                if object.leaf >= 0 {
                    output.append(leaf(Int(object.leaf)))
                } else {
                    appendContainer(object.node, tree, referenceSize, to: &output)
                }
            }
            let tableStart = UInt64(output.count - start)
            let offsetSize = Self.byteCount(tableStart)
            for offset in offsets { Self.append(offset, size: offsetSize, to: &output) }
            for _ in 0..<6 { output.append(0) }
            output.append(UInt8(offsetSize))
            output.append(UInt8(referenceSize))
            Self.append(UInt64(objects.count), size: 8, to: &output)
            Self.append(0, size: 8, to: &output)
            Self.append(tableStart, size: 8, to: &output)
        }

        /// Numbers the objects: depth first, where a dictionary's names come before its values.
        private mutating func gather(_ tree: borrowing Tree) {
            var node = tree.root
            while node != Tree.none {
                enter(node, tree)
                let first = tree.kind(node).isContainer ? tree.firstChild(node) : Tree.none
                node = first == Tree.none ? tree.following(node, below: tree.root) : first
            }
        }

        private mutating func enter(_ node: Tree.Node, _ tree: borrowing Tree) {
            let kind = tree.kind(node)
            guard kind.isContainer else {
                let start = leafBytes.count
                Self.appendLeaf(node, tree, to: &leafBytes)
                valueObjects[Int(node)] = addLeaf(from: start)
                return
            }
            valueObjects[Int(node)] = Int32(objects.count)
            objects.append(Object(node: node, leaf: -1))
            guard kind.hasNames else { return }
            var child = tree.firstChild(node)
            while child != Tree.none {
                let start = leafBytes.count
                Self.appendString(tree.name(child), to: &leafBytes)
                nameObjects[Int(child)] = addLeaf(from: start)
                child = tree.nextSibling(child)
            }
        }

        /// The object for the leaf whose bytes begin at `start`, the last ones: one that there is, whose bytes stand already, or a new one.
        private mutating func addLeaf(from start: Int) -> Int32 {
            if leaves.count >= chains.count { growChains() }
            let hash = UInt32(truncatingIfNeeded: self.hash(leafBytes.span.extracting(start..<leafBytes.count)))
            let chain = Int(hash) & (chains.count - 1)
            var at = chains[chain]
            while at >= 0 {
                let known = leaves[Int(at)]
                if known.hash == hash, isRepeated(Int(at), from: start) {
                    leafBytes.remove(start..<leafBytes.count)
                    return known.object
                }
                at = known.next
            }
            let number = Int32(leaves.count)
            let object = Int32(objects.count)
            leaves.append(Leaf(start: start, hash: hash, object: object, next: chains[chain]))
            chains[chain] = number
            objects.append(Object(node: Tree.none, leaf: number))
            return object
        }

        /// Whether the bytes from `start` on, which are no leaf's yet, are those of a leaf.
        private func isRepeated(_ index: Int, from start: Int) -> Bool {
            let end = index + 1 < leaves.count ? leaves[index + 1].start : start
            let all = leafBytes.span
            return all.extracting(leaves[index].start..<end).isEqual(to: all.extracting(start..<all.count))
        }

        /// The bytes of a leaf, where none is being added.
        @_lifetime(borrow self)
        private func leaf(_ index: Int) -> Span<UInt8> {
            let end = index + 1 < leaves.count ? leaves[index + 1].start : leafBytes.count
            let all = leafBytes.span
            // SAFETY: the span points into `leafBytes`, which self owns; the borrow keeps self unchanged while the span lives.
            return unsafe _overrideLifetime(all.extracting(leaves[index].start..<end), borrowing: self)
        }

        private mutating func growChains() {
            chains = Array(repeating: -1, count: max(64, chains.count * 2))
            for index in leaves.indices {
                let chain = Int(leaves[index].hash) & (chains.count - 1)
                leaves[index].next = chains[chain]
                chains[chain] = Int32(index)
            }
        }

        private func appendContainer(
            _ node: Tree.Node, _ tree: borrowing Tree, _ referenceSize: Int, to output: inout OutputBuffer
        ) {
            let hasNames = tree.kind(node).hasNames
            Self.appendMarker(hasNames ? 0xD0 : 0xA0, count: tree.childCount(node), to: &output)
            if hasNames {
                var child = tree.firstChild(node)
                while child != Tree.none {
                    Self.append(UInt64(nameObjects[Int(child)]), size: referenceSize, to: &output)
                    child = tree.nextSibling(child)
                }
            }
            var child = tree.firstChild(node)
            while child != Tree.none {
                Self.append(UInt64(valueObjects[Int(child)]), size: referenceSize, to: &output)
                child = tree.nextSibling(child)
            }
        }

        private static func appendLeaf(_ node: Tree.Node, _ tree: borrowing Tree, to output: inout OutputBuffer) {
            let text = tree.text(node)
            switch tree.kind(node) {
            case .yes: output.append(0x09)
            case .no: output.append(0x08)
            case .string: appendString(text, to: &output)
            case .data:
                appendMarker(0x40, count: text.count, to: &output)
                output.append(text)
            case .date:
                // The encoder made the text, so it can be read.
                let value = (try? Date(rfc3339: text))?.value ?? 0
                output.append(0x33)
                append(value.bitPattern, size: 8, to: &output)
            case .number:
                switch Number.value(text) {
                case .integer(let value) where value > UInt64(Int64.max):
                    output.append(0x14)
                    append(0, size: 8, to: &output)
                    append(value, size: 8, to: &output)
                case .integer(let value): appendInteger(value, to: &output)
                case .negative(let value): appendInteger(UInt64(bitPattern: value), to: &output)
                // An integer has no negative zero, a real has.
                case .negativeZero, .real, .large:
                    output.append(0x23)
                    append((Number.double(text) ?? 0).bitPattern, size: 8, to: &output)
                }
            // The encoder lets no null pass, and containers are no leaves.
            case .null, .object, .keyed, .array, .collected: output.append(0x00)
            }
        }

        private static func appendString(_ text: Span<UInt8>, to output: inout OutputBuffer) {
            var units = UTF8Validator.skipASCII(text, from: 0)
            guard units < text.count else {
                appendMarker(0x50, count: text.count, to: &output)
                return output.append(text)
            }
            for index in units..<text.count {
                let byte = text[index]
                // Every character has one first byte; one of four bytes has two units.
                if byte & 0xC0 != 0x80 { units += byte >= 0xF0 ? 2 : 1 }
            }
            appendMarker(0x60, count: units, to: &output)
            output.reserve(units * 2)
            var at = 0
            while at < text.count {
                let first = text[at]
                let length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
                var scalar = UInt32(length == 1 ? first : first & (0x7F >> UInt8(length)))
                for index in at + 1..<max(at + 1, min(at + length, text.count)) {
                    scalar = scalar << 6 | UInt32(text[index] & 0x3F)
                }
                at += length
                if scalar < 0x10000 {
                    append(UInt64(scalar), size: 2, to: &output)
                } else {
                    append(UInt64(0xD800 + (scalar - 0x10000) >> 10), size: 2, to: &output)
                    append(UInt64(0xDC00 + scalar & 0x3FF), size: 2, to: &output)
                }
            }
        }

        private static func appendMarker(_ type: UInt8, count: Int, to output: inout OutputBuffer) {
            output.append(type | UInt8(min(count, 15)))
            if count >= 15 { appendInteger(UInt64(count), to: &output) }
        }

        /// Appends an integer object: one, two, four or eight bytes, of which only the last kind is signed.
        private static func appendInteger(_ value: UInt64, to output: inout OutputBuffer) {
            let size = byteCount(value)
            output.append(0x10 | UInt8(size.trailingZeroBitCount))
            append(value, size: size, to: &output)
        }

        private static func byteCount(_ value: UInt64) -> Int {
            value <= 0xFF ? 1 : value <= 0xFFFF ? 2 : value <= 0xFFFF_FFFF ? 4 : 8
        }

        /// Appends a number of 1 to 8 bytes, the highest one first.
        private static func append(_ value: UInt64, size: Int, to output: inout OutputBuffer) {
            output.append(OutputBuffer.Word(bits: value.byteSwapped >> UInt64(64 - size * 8), count: size))
        }
    }
}
