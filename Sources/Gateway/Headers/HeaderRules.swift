/// What a route does to the fields of the heads that it passes on: those of requests to the upstream, those of responses to
/// the client.
public struct HeaderRules: Hashable, Sendable {
    public var request = HeaderEdits()
    public var response = HeaderEdits()

    public init() {}
}

/// Changes of one head's fields: what `remove` names goes, then `set` puts one line in the place of all of that name, then
/// `add` puts lines behind those that there are.
///
/// They are made when all else of the head is written but its framing, which no rule reaches: so they have the last word.
public struct HeaderEdits: Hashable, Sendable {
    /// A field that goes.
    public struct Removal: Hashable, Sendable {
        /// In lower case; of a prefix, what stands before the star.
        public var name: String
        /// Whether every field whose name begins so goes. Fields that the proxy writes itself stay then.
        public var isPrefix: Bool

        public init(name: String, isPrefix: Bool = false) {
            self.name = name
            self.isPrefix = isPrefix
        }

        /// As the settings write it.
        public var text: String { isPrefix ? "\(name)*" : name }

        /// Whether it names the field `name`.
        func names(_ other: String) -> Bool {
            let other = other.lowercased()
            return isPrefix ? other.hasPrefix(name) : other == name
        }
    }

    /// A field that is written.
    public struct Field: Hashable, Sendable {
        /// As it is written: a token.
        public var name: String
        /// A value that turns out empty writes no line.
        public var value: SourceReference
        /// The value as the settings write it, secrets by their references.
        public var text: String

        public init(name: String, value: SourceReference, text: String) {
            self.name = name
            self.value = value
            self.text = text
        }
    }

    public var remove: [Removal]
    /// Each name once.
    public var set: [Field]
    public var add: [Field]

    /// Bytes of a value at most: of one from a request beyond them the request is refused.
    public static let valueLimit = 8 * 1024

    public init(remove: [Removal] = [], set: [Field] = [], add: [Field] = []) {
        self.remove = remove
        self.set = set
        self.add = add
    }

    public var isEmpty: Bool { remove.isEmpty && set.isEmpty && add.isEmpty }

    /// These edits, those of `defaults`, over which `route` has its say name by name: what a route sets or removes takes the
    /// place of what is set and added there, what it adds that of what is added there. What is removed there stays removed.
    public func merged(with route: HeaderEdits) -> HeaderEdits {
        if route.isEmpty { return self }
        let prefixes = route.remove.filter(\.isPrefix)
        let named = Set(route.remove.lazy.filter { !$0.isPrefix }.map(\.name) + route.set.map { $0.name.lowercased() })
        let added = Set(route.add.map { $0.name.lowercased() })
        func replaces(_ field: Field, isAdded: Bool) -> Bool {
            let name = field.name.lowercased()
            return named.contains(name) || isAdded && added.contains(name) || prefixes.contains { $0.names(name) }
        }
        let removed = Set(remove)
        return HeaderEdits(
            remove: remove + route.remove.filter { !removed.contains($0) },
            set: set.filter { !replaces($0, isAdded: false) } + route.set,
            add: add.filter { !replaces($0, isAdded: true) } + route.add)
    }
}
