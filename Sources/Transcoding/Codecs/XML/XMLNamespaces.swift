internal import Octets

extension XML {
    /// The namespaces that the open elements declare: what each prefix stands for.
    ///
    /// Prefixes and the names of namespaces lie in two tables of chains, and a namespace is known by its place in the second,
    /// so that a look-up is linear in the bytes of the prefix whatever was declared. What leaves is always the first of its
    /// chain.
    internal struct Namespaces {
        /// Texts with chains to find them by.
        private struct Table {
            private struct Entry {
                var start: Int
                var count: Int
                var hash: UInt64
                var next: Int32
            }

            private var bytes = ByteStore()
            private var entries: [Entry] = []
            /// The first entry of each chain, or -1; a power of two of them.
            private var chains: [Int32] = []

            var count: Int { entries.count }
            var cost: Int { bytes.count + entries.count * 64 }

            /// The last entry of that text, or nil.
            func find(_ text: Span<UInt8>, _ hash: UInt64) -> Int? {
                guard !chains.isEmpty else { return nil }
                var at = Int(chains[Int(truncatingIfNeeded: hash) & (chains.count - 1)])
                while at >= 0 {
                    let entry = entries[at]
                    if entry.hash == hash, bytes.slice(entry.start..<entry.start + entry.count).isEqual(to: text) {
                        return at
                    }
                    at = Int(entry.next)
                }
                return nil
            }

            mutating func append(_ text: Span<UInt8>, _ hash: UInt64) {
                entries.append(Entry(start: bytes.count, count: text.count, hash: hash, next: -1))
                bytes.append(contentsOf: text)
                if entries.count <= chains.count { return chain(entries.count - 1) }
                chains = Array(repeating: -1, count: max(16, chains.count * 2))
                for index in entries.indices { chain(index) }
            }

            private mutating func chain(_ index: Int) {
                let slot = Int(truncatingIfNeeded: entries[index].hash) & (chains.count - 1)
                entries[index].next = chains[slot]
                chains[slot] = Int32(truncatingIfNeeded: index)
            }

            mutating func truncate(to count: Int) {
                while entries.count > count {
                    let entry = entries.removeLast()
                    chains[Int(truncatingIfNeeded: entry.hash) & (chains.count - 1)] = entry.next
                    bytes.truncate(to: entry.start)
                }
            }
        }

        /// What was declared before an element.
        private struct Mark {
            var depth: Int
            var prefixes: Int
            var namespaces: Int
        }

        /// The number of the namespace that the prefix `xml` is bound to by itself.
        private static let xml = -1

        /// Made with the first declaration.
        private var hash: ByteHash?
        private var prefixes = Table()
        /// What each prefix in the table stands for.
        private var bound: [Int32] = []
        private var namespaces = Table()
        private var marks: [Mark] = []

        /// The depth of the innermost element with a declaration; 0 where there is none.
        internal var depth: Int {
            @inline(__always) get { marks.last?.depth ?? 0 }
        }

        /// Whether `prefix`, or the default where it is empty, may be bound to `namespace` (Namespaces in XML 1.0 §2.2 and §3):
        /// not what is reserved, and no prefix to nothing.
        internal static func isFine(prefix: Span<UInt8>, namespace: Span<UInt8>) -> Bool {
            let isXML = namespace.isEqual(to: "http://www.w3.org/XML/1998/namespace")
            if prefix.isEqual(to: "xml") { return isXML }
            guard !isXML, !namespace.isEqual(to: "http://www.w3.org/2000/xmlns/"), !prefix.isEqual(to: "xmlns") else {
                return false
            }
            return prefix.isEmpty || !namespace.isEmpty
        }

        /// Binds `prefix` for the element at `depth`; false where what is declared would pass `limit` bytes.
        internal mutating func declare(
            _ prefix: Span<UInt8>, _ namespace: Span<UInt8>, depth: Int, limit: Int
        ) -> Bool {
            guard prefixes.cost + namespaces.cost + prefix.count + namespace.count + 128 <= limit else { return false }
            let hash = self.hash ?? ByteHash()
            self.hash = hash
            if self.depth < depth {
                marks.append(Mark(depth: depth, prefixes: prefixes.count, namespaces: namespaces.count))
            }
            let value = hash(namespace)
            let number = namespaces.find(namespace, value) ?? namespaces.count
            if number == namespaces.count { namespaces.append(namespace, value) }
            prefixes.append(prefix, hash(prefix))
            bound.append(Int32(truncatingIfNeeded: number))
            return true
        }

        /// The number of the namespace that `prefix` stands for, or nil where it isn't declared.
        internal func number(of prefix: Span<UInt8>) -> Int? {
            if prefix.isEqual(to: "xml") { return Self.xml }
            guard let hash, let index = prefixes.find(prefix, hash(prefix)) else { return nil }
            return Int(bound[index])
        }

        /// Puts the namespace of `name`, whose prefix ends at `colon`, and its local name into `expanded`; false where nobody
        /// declares the prefix, which is part of the name then: XML 1.0 knows no namespaces.
        internal func expand(_ name: Span<UInt8>, colon: Int, into expanded: inout ByteStore) -> Bool {
            guard let namespace = number(of: name.extracting(0..<colon)) else { return false }
            expanded.removeAll()
            // The one of `xml` has no place in the table.
            expanded.append(hexadecimal: namespace - Self.xml)
            expanded.append(contentsOf: name.extracting(colon..<name.count))
            return true
        }

        /// Forgets what elements deeper than `depth` declare.
        internal mutating func close(to depth: Int) {
            while let mark = marks.last, mark.depth > depth {
                prefixes.truncate(to: mark.prefixes)
                bound.removeSubrange(mark.prefixes...)
                namespaces.truncate(to: mark.namespaces)
                marks.removeLast()
            }
        }

        internal mutating func removeAll() {
            guard hash != nil else { return }
            self = Namespaces()
        }
    }
}
