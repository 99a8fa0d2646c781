internal import Octets

extension PropertyList {
    /// Where in a document a codec stands: the open containers and the member or element at hand.
    ///
    /// Memory is a record for each open container and the names on the path.
    struct Path {
        /// What surrounds an open container.
        private struct Level {
            var isObject: Bool
            var hasName: Bool
            var elementIndex: Int
            var nameStart: Int
            var mark: Int
        }

        /// Names above this many bytes are given back between two bodies.
        private static let keptCapacity = 64 * 1024

        private var levels: [Level] = []
        private var names = ByteStore()
        private var nameStart = 0
        private(set) var elementIndex = 0
        private(set) var isInObject = false
        /// Whether the name of the member at hand is known, so that its value comes next.
        private(set) var hasName = false

        /// The number of open containers.
        var depth: Int { levels.count }

        /// The name of the member at hand.
        var name: Span<UInt8> {
            @_lifetime(borrow self)
            get { names.slice(nameStart..<names.count) }
        }

        mutating func setName(_ name: Span<UInt8>) {
            names.truncate(to: nameStart)
            names.append(contentsOf: name)
            hasName = true
        }

        /// Goes down into the value at hand. `mark` comes back from `close`.
        mutating func open(isObject: Bool, mark: Int = 0) {
            levels.append(
                Level(
                    isObject: isInObject, hasName: hasName, elementIndex: elementIndex, nameStart: nameStart, mark: mark
                ))
            nameStart = names.count
            isInObject = isObject
            hasName = false
            elementIndex = 0
        }

        /// Goes up out of the innermost container, which then is the value at hand; `endValue` follows.
        mutating func close() -> Int {
            names.truncate(to: nameStart)
            let level = levels.removeLast()
            isInObject = level.isObject
            hasName = level.hasName
            elementIndex = level.elementIndex
            nameStart = level.nameStart
            return level.mark
        }

        /// Goes on behind the value at hand.
        mutating func endValue() {
            if isInObject {
                names.truncate(to: nameStart)
                hasName = false
            } else {
                elementIndex &+= 1
            }
        }

        mutating func removeAll() {
            levels.removeAll(keepingCapacity: true)
            names.removeAll(keepingUpTo: Self.keptCapacity)
            nameStart = 0
            elementIndex = 0
            isInObject = false
            hasName = false
        }

        /// The JSON Pointer (RFC 6901) of the place, or nil at the root.
        var pointer: String? {
            guard !levels.isEmpty else { return nil }
            var tokens: [UInt8] = []
            for index in levels.indices.dropFirst() {
                let end = index + 1 < levels.count ? levels[index + 1].nameStart : nameStart
                append(levels[index], upTo: end, to: &tokens)
            }
            let here = Level(
                isObject: isInObject, hasName: hasName, elementIndex: elementIndex, nameStart: nameStart, mark: 0)
            append(here, upTo: names.count, to: &tokens)
            return tokens.isEmpty ? nil : tokens.span.lossyString()
        }

        private func append(_ level: Level, upTo end: Int, to tokens: inout [UInt8]) {
            guard level.isObject else { return tokens.append(contentsOf: "/\(level.elementIndex)".utf8) }
            guard level.hasName else { return }
            JSONPointer.append(names.span.extracting(level.nameStart..<end), to: &tokens)
        }
    }
}

extension PropertyList {
    /// Where a reader stands, with the events of containers and names: those of a member that is left out, because another
    /// one of its name came before it, are not sent.
    struct ReadingPath: ~Copyable {
        private let duplicates: DuplicatePolicy
        private let limit: Int
        private var path = Path()
        /// The names of the open dictionaries, when they are looked at.
        private var names: JSON.MemberNames?
        /// The number of open containers around the member that is being left out, or -1.
        private var mutedDepth = -1

        init(_ duplicates: DuplicatePolicy, limits: Limits) {
            self.duplicates = duplicates
            limit = limits.tree
            if duplicates == .reject || duplicates == .first { names = JSON.MemberNames(limit: limit) }
        }

        var depth: Int { path.depth }
        var isInObject: Bool { path.isInObject }
        var hasName: Bool { path.hasName }
        var pointer: String? { path.pointer }
        var isMuted: Bool { mutedDepth >= 0 }

        mutating func removeAll() {
            path.removeAll()
            names?.removeAll()
            mutedDepth = -1
        }

        /// Goes on behind a value. Returns whether its event is to be sent.
        mutating func endValue() -> Bool {
            let wasMuted = isMuted
            if mutedDepth == path.depth { mutedDepth = -1 }
            path.endValue()
            return !wasMuted
        }

        /// Goes down into a container. Returns whether an event was sent.
        mutating func open<Sink: EventSink & ~Copyable>(
            isObject: Bool, into sink: inout Sink
        ) throws(ConversionError) -> Bool {
            path.open(isObject: isObject, mark: names?.count ?? 0)
            guard !isMuted else { return false }
            if isObject { try sink.beginObject() } else { try sink.beginArray() }
            return true
        }

        /// Goes up out of a container and behind it. Returns whether an event was sent.
        mutating func close<Sink: EventSink & ~Copyable>(into sink: inout Sink) throws(ConversionError) -> Bool {
            let wasObject = path.isInObject
            let mark = path.close()
            if wasObject { names?.close(to: mark) }
            guard endValue() else { return false }
            if wasObject { try sink.endObject() } else { try sink.endArray() }
            return true
        }

        /// Takes the name of a member, which stands at `offset`, after a look at those that came before it. Returns whether an
        /// event was sent.
        mutating func key<Sink: EventSink & ~Copyable>(
            _ name: Span<UInt8>, at offset: Int, into sink: inout Sink
        ) throws(ConversionError) -> Bool {
            path.setName(name)
            switch names?.insert(name, depth: path.depth) {
            case .known:
                if duplicates == .reject { throw Fault.duplicateKey.error(offset: offset, field: pointer) }
                if mutedDepth < 0 { mutedDepth = path.depth }
            case .full:
                throw .limit(
                    "tree", of: limit, what: "what is held to find members of the same name", offset: offset,
                    field: pointer)
            case .new, nil:
                break
            }
            guard !isMuted else { return false }
            try sink.key(name)
            return true
        }
    }
}
