internal import Octets

extension XML {
    /// The namespaces of what is being written: what the open elements declare, and the prefixes in the tag that is open.
    internal struct TagNamespaces {
        private struct Attribute {
            var start: Int
            var colon: Int
            var end: Int
        }

        private var namespaces = Namespaces()
        /// The names of the tag's attributes that have a prefix and declare nothing.
        private var names = ByteStore()
        private var attributes: [Attribute] = []
        /// The name of the tag's element where it has a prefix, and the bytes of that; 0 where it has none.
        private var element = ByteStore()
        private var elementPrefix = 0
        /// The value of the declaration that is being written.
        internal var value = ByteStore()

        internal mutating func removeAll() {
            namespaces.removeAll()
            beginTag()
            value.removeAll()
        }

        @inline(__always)
        internal mutating func beginTag() {
            elementPrefix = 0
            if attributes.isEmpty { return }
            names.removeAll()
            attributes.removeAll(keepingCapacity: true)
        }

        /// Notes the name of the tag's element, which has a prefix.
        internal mutating func noteElement(_ name: ByteStore, colon: Int) {
            element.removeAll()
            element.append(contentsOf: name.span)
            elementPrefix = colon
        }

        /// Whether any name of the tag has a prefix.
        internal var hasPrefixes: Bool {
            @inline(__always) get { elementPrefix > 0 || !attributes.isEmpty }
        }

        /// The first name of the tag with a prefix that neither it nor an element around declares, or nil. `xml` is declared always.
        internal func undeclared() -> (name: ByteStore, isElement: Bool)? {
            if elementPrefix > 0, namespaces.number(of: element.slice(0..<elementPrefix)) == nil {
                return (element, true)
            }
            for attribute in attributes
            where namespaces.number(of: names.slice(attribute.start..<attribute.colon)) == nil {
                return (ByteStore(copying: names.slice(attribute.start..<attribute.end)), false)
            }
            return nil
        }

        /// Notes an attribute of the tag, which declares nothing.
        internal mutating func note(_ name: Span<UInt8>) {
            guard let colon = Scan.firstIndex(of: UInt8(ascii: ":"), in: name) else { return }
            let start = names.count
            names.append(contentsOf: name)
            attributes.append(Attribute(start: start, colon: start + colon, end: names.count))
        }

        /// Whether the attribute `name` may have `value`.
        internal func isFine(_ name: ByteStore) -> Bool {
            Namespaces.isFine(prefix: name.slice(Self.prefix(in: name)), namespace: value.span)
        }

        /// Declares `value` for the element at `depth` by the attribute `name`; false where all that is declared would pass
        /// `limit` bytes.
        internal mutating func declare(_ name: ByteStore, depth: Int, limit: Int) -> Bool {
            let prefix = Self.prefix(in: name)
            // The default is no attribute's.
            if prefix.isEmpty { return true }
            let value = value
            return namespaces.declare(name.slice(prefix), value.span, depth: depth, limit: limit)
        }

        /// Forgets what elements deeper than `depth` declare.
        @inline(__always)
        internal mutating func close(to depth: Int) {
            if namespaces.depth > depth { namespaces.close(to: depth) }
        }

        /// The first attribute of the tag whose local name and namespace another one has before it, or nil. `unique` gets the
        /// expanded names; where it is full, that one is given too.
        internal func repeated(_ unique: inout JSON.MemberNames) -> (name: ByteStore, isFull: Bool)? {
            guard attributes.count > 1, namespaces.depth > 0 else { return nil }
            unique.close(to: 0)
            var expanded = ByteStore()
            for attribute in attributes {
                let name = names.slice(attribute.start..<attribute.end)
                guard namespaces.expand(name, colon: attribute.colon - attribute.start, into: &expanded) else {
                    continue
                }
                switch unique.insert(expanded.span, depth: 0) {
                case .new: continue
                case .known: return (ByteStore(copying: name), false)
                case .full: return (ByteStore(copying: name), true)
                }
            }
            return nil
        }

        /// Where a declaration has what it binds: the prefix behind `xmlns:`, nothing for `xmlns`.
        private static func prefix(in name: ByteStore) -> Range<Int> { min(6, name.count)..<name.count }
    }
}
