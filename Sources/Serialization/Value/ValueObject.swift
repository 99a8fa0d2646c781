internal import Transcoding

extension Value {
    /// The members of an object, in their order. A name may occur more than once; then the first one is found by it.
    public struct Object: Hashable, Sendable {
        /// A name with its value.
        public struct Member: Hashable, Sendable {
            /// The name.
            public var key: String
            /// What the name stands for.
            public var value: Value

            /// A member of name and value.
            public init(key: String, value: Value) {
                self.key = key
                self.value = value
            }
        }

        private var members: [Member]

        /// An object without members.
        public init() { members = [] }

        /// An object with these members, in their order.
        public init(_ members: some Sequence<Member>) { self.members = Array(members) }

        /// The names, in order.
        public var keys: [String] { members.map(\.key) }

        /// The value of the first member with that name, compared byte by byte: composed and decomposed letters differ. A
        /// new name goes to the end; setting nil removes every member of the name. Linear in the number of members.
        public subscript(key: String) -> Value? {
            get { index(of: key).map { members[$0].value } }
            set {
                guard let newValue else {
                    members.removeAll { Self.isSame($0.key, key) }
                    return
                }
                guard let index = index(of: key) else {
                    members.append(Member(key: key, value: newValue))
                    return
                }
                members[index].value = newValue
            }
            _modify {
                guard let index = index(of: key) else {
                    var value: Value?
                    defer { if let value { append(key, value) } }
                    yield &value
                    return
                }
                // Not two values while one of them changes.
                var value: Value? = members[index].value
                members[index].value = .null
                defer { if let value { members[index].value = value } else { self[key] = nil } }
                yield &value
            }
        }

        /// Puts a member at the end, whether or not the name occurs already.
        public mutating func append(_ key: String, _ value: Value) {
            members.append(Member(key: key, value: value))
        }

        /// A name that more than one member has; nil where all names are different.
        internal var repeatedName: String? {
            guard members.count > 8 else {
                for (index, member) in members.enumerated()
                where members[..<index].contains(where: { Self.isSame($0.key, member.key) }) {
                    return member.key
                }
                return nil
            }
            var names = Set<[UInt8]>(minimumCapacity: members.count)
            return members.first { !names.insert(Array($0.key.utf8)).inserted }?.key
        }

        private func index(of key: String) -> Int? { members.firstIndex { Self.isSame($0.key, key) } }

        private static func isSame(_ left: String, _ right: String) -> Bool {
            left.utf8.count == right.utf8.count && left.utf8.elementsEqual(right.utf8)
        }

        /// The members by the bytes of their names; equal names keep their order.
        internal func sorted() -> [Member] {
            members.enumerated().sorted { left, right in
                let (a, b) = (left.element.key.utf8, right.element.key.utf8)
                if a.elementsEqual(b) { return left.offset < right.offset }
                return a.lexicographicallyPrecedes(b)
            }.map(\.element)
        }
    }
}

extension Value.Object: RandomAccessCollection {
    /// The index of the first member, 0.
    public var startIndex: Int { members.startIndex }
    /// The number of members.
    public var endIndex: Int { members.endIndex }
    /// The member at that place.
    public subscript(position: Int) -> Member { members[position] }
}

extension Value.Object: ExpressibleByDictionaryLiteral {
    /// An object with the members in the order they are written.
    public init(dictionaryLiteral elements: (String, Value)...) {
        self.init(elements.map { Member(key: $0.0, value: $0.1) })
    }
}
