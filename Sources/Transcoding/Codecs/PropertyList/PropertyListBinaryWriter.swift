internal import Octets

extension PropertyList {
    /// Writes a tree as a binary property list: objects in the order of Apple's writer, a container before what it holds,
    /// all names of a dictionary before its values; equal scalars once.
    struct BinaryWriter {
        private let hash = ByteHash()
        /// For each object, in the order they are written, its node where it is a container.
        private var objects: [Tree.Node] = []
        /// The object of each node and of its name.
        private var valueObjects: [Int32] = []
        private var nameObjects: [Int32] = []
        /// The leaves that have been written: the bytes of each, one after the other, and a table of chains over them.
        private var leaves = OutputBuffer()
        private var leafStarts: [Int] = []
        private var leafObjects: [Int32] = []
        private var nextLeaves: [Int32] = []
        private var chains: [Int32] = []
        /// For each object the leaf it is, or -1 for a container.
        private var objectLeaves: [Int32] = []
        private var offsets: [UInt64] = []
        private var scratch = OutputBuffer()

        /// Forgets a document, and keeps allocations of ordinary size.
        mutating func removeAll() {
            guard valueObjects.capacity <= 4096, leaves.capacity <= 128 * 1024 else { return self = BinaryWriter() }
            objects.removeAll(keepingCapacity: true)
            valueObjects.removeAll(keepingCapacity: true)
            nameObjects.removeAll(keepingCapacity: true)
            leaves.removeAll()
            leafStarts.removeAll(keepingCapacity: true)
            leafObjects.removeAll(keepingCapacity: true)
            nextLeaves.removeAll(keepingCapacity: true)
            for index in chains.indices { chains[index] = -1 }
            objectLeaves.removeAll(keepingCapacity: true)
            offsets.removeAll(keepingCapacity: true)
        }

        /// Appends the tree. Memory and time are linear in it.
        mutating func write(_ tree: borrowing Tree, to output: inout OutputBuffer) {
            precondition(tree.root != Tree.none, "a document has a root")
            removeAll()
            for _ in tree.records.indices {
                valueObjects.append(-1)
                nameObjects.append(-1)
            }
            gather(tree)
            let referenceSize = Self.byteCount(UInt64(objects.count))
            // The output may hold bytes of something else before these.
            let start = output.count
            output.append("bplist00")
            for index in objects.indices {
                offsets.append(UInt64(output.count - start))
                if objectLeaves[index] >= 0 {
                    output.append(leaf(Int(objectLeaves[index])))
                } else {
                    appendContainer(objects[index], tree, referenceSize, to: &output)
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
            while true {
                enter(node, tree)
                if tree.kind(node).isContainer, tree.firstChild(node) != Tree.none {
                    node = tree.firstChild(node)
                    continue
                }
                while tree.nextSibling(node) == Tree.none || node == tree.root {
                    if node == tree.root { return }
                    node = tree.parent(node)
                }
                node = tree.nextSibling(node)
            }
        }

        private mutating func enter(_ node: Tree.Node, _ tree: borrowing Tree) {
            let kind = tree.kind(node)
            guard kind.isContainer else {
                Self.appendLeaf(node, tree, to: &scratch)
                valueObjects[Int(node)] = addLeaf()
                return
            }
            valueObjects[Int(node)] = Int32(objects.count)
            objects.append(node)
            objectLeaves.append(-1)
            guard kind.hasNames else { return }
            var child = tree.firstChild(node)
            while child != Tree.none {
                Self.appendString(tree.name(child), to: &scratch)
                nameObjects[Int(child)] = addLeaf()
                child = tree.nextSibling(child)
            }
        }

        /// The object for the leaf in `scratch`: one that there is, or a new one.
        private mutating func addLeaf() -> Int32 {
            // Taken out so that its span doesn't borrow the writer while it changes.
            var object = OutputBuffer()
            swap(&object, &scratch)
            defer {
                object.removeAll()
                swap(&object, &scratch)
            }
            if leafStarts.count >= chains.count { growChains() }
            let chain = Int(truncatingIfNeeded: hash(object.span)) & (chains.count - 1)
            var at = chains[chain]
            while at >= 0 {
                if leaf(Int(at)).isEqual(to: object.span) { return leafObjects[Int(at)] }
                at = nextLeaves[Int(at)]
            }
            let number = Int32(leafStarts.count)
            leafStarts.append(leaves.count)
            leaves.append(object.span)
            leafObjects.append(Int32(objects.count))
            nextLeaves.append(chains[chain])
            chains[chain] = number
            objects.append(Tree.none)
            objectLeaves.append(number)
            return Int32(objects.count - 1)
        }

        @_lifetime(borrow self)
        private func leaf(_ index: Int) -> Span<UInt8> {
            let end = index + 1 < leafStarts.count ? leafStarts[index + 1] : leaves.count
            let all = leaves.span
            // SAFETY: the span points into `leaves`, which self owns; the borrow keeps self unchanged while the span lives.
            return unsafe _overrideLifetime(all.extracting(leafStarts[index]..<end), borrowing: self)
        }

        private mutating func growChains() {
            chains = Array(repeating: -1, count: max(64, chains.count * 2))
            for index in leafStarts.indices {
                let chain = Int(truncatingIfNeeded: hash(leaf(index))) & (chains.count - 1)
                nextLeaves[index] = chains[chain]
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
            var units = 0
            var bits: UInt8 = 0
            for index in text.indices {
                let byte = text[index]
                bits |= byte
                // Every character has one first byte; one of four bytes has two units.
                if byte & 0xC0 != 0x80 { units += byte >= 0xF0 ? 2 : 1 }
            }
            guard bits >= 0x80 else {
                appendMarker(0x50, count: text.count, to: &output)
                return output.append(text)
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

        private static func append(_ value: UInt64, size: Int, to output: inout OutputBuffer) {
            for index in (0..<size).reversed() { output.append(UInt8(truncatingIfNeeded: value >> UInt64(index * 8))) }
        }
    }
}
