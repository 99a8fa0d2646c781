internal import Octets

extension PropertyList {
    /// Where a reader stands, with the events of containers and names: those of a member that is left out, because another
    /// one of its name came before it, are not sent.
    struct ReadingPath: ~Copyable {
        private let duplicates: DuplicatePolicy
        private let limit: Int
        private var path = DocumentPath()
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
                if duplicates == .reject { throw Fault.duplicateKey.error(offset: offset, pointer: pointer) }
                if mutedDepth < 0 { mutedDepth = path.depth }
            case .full:
                throw ConversionError.limit(
                    "tree", of: limit, what: "what is held to find members of the same name", offset: offset
                ).at(pointer: pointer)
            case .new, nil:
                break
            }
            guard !isMuted else { return false }
            try sink.key(name)
            return true
        }
    }
}
