internal import Octets

extension PropertyList {
    /// Reads a binary property list, `bplist00`, once it is complete: what says where the objects are stands at its end.
    ///
    /// Nothing that the body says is believed: every offset, count and reference is compared with what there is before it is
    /// used. Objects may be shared, but none may contain itself, and each is counted as often as it stands somewhere.
    struct BinaryReader: ~Copyable {
        /// What the last 32 bytes say.
        struct Trailer {
            var offsetSize = 0
            var referenceSize = 0
            var objectCount = 0
            var topObject = 0
            /// Where the offsets begin, and so where the objects end.
            var tableStart = 0

            static var size: Int { 32 }
            static var magicSize: Int { 8 }

            init?(_ input: Span<UInt8>) {
                guard input.count >= Self.magicSize + 2 + Self.size else { return nil }
                let start = input.count - Self.size
                offsetSize = Int(input[start + 6])
                referenceSize = Int(input[start + 7])
                guard 1...8 ~= offsetSize, 1...8 ~= referenceSize,
                    let objectCount = Int(exactly: input.bigEndian(at: start + 8, size: 8)),
                    let topObject = Int(exactly: input.bigEndian(at: start + 16, size: 8)),
                    let tableStart = Int(exactly: input.bigEndian(at: start + 24, size: 8)),
                    objectCount > topObject, tableStart > Self.magicSize, tableStart < start,
                    // The division keeps the product below from passing the range.
                    objectCount <= (start - tableStart) / offsetSize, objectCount * offsetSize == start - tableStart
                else { return nil }
                self.objectCount = objectCount
                self.topObject = topObject
                self.tableStart = tableStart
            }
        }

        /// A container that is being emitted.
        struct Frame {
            var object: Int
            var isObject: Bool
            var references: Int
            var count: Int
            var index = 0
        }

        /// An object's marker and what belongs to it.
        struct Head {
            var offset: Int
            var type: UInt8
            var info: UInt8
            /// Where what it holds begins, behind the marker and the count.
            var start: Int
            /// Bytes, UTF-16 units, elements or members.
            var count: Int
        }

        let options: DecodingOptions
        let limits: Limits

        private var body = ByteStore()
        var path = Path()
        var frames: [Frame] = []
        /// Whether each object is one of those in `frames`.
        private var isOpen: [Bool] = []
        var scratch: [UInt8] = []
        var memberNames: JSON.MemberNames?
        /// The number of open containers around the member that is being left out, or -1.
        private var mutedDepth = -1
        /// What has been emitted, counted as a tree counts it.
        private var cost = 0

        init(options: DecodingOptions, limits: Limits) {
            self.options = options
            self.limits = limits
            if options.duplicates == .reject || options.duplicates == .first {
                memberNames = JSON.MemberNames(limit: limits.tree)
            }
        }

        mutating func reset() {
            body.removeAll(keepingUpTo: 128 * 1024)
            path.removeAll()
            frames.removeAll(keepingCapacity: true)
            if isOpen.capacity > 4096 { isOpen = [] }
            memberNames?.removeAll()
            mutedDepth = -1
            cost = 0
        }

        mutating func feed(_ input: Span<UInt8>) throws(ConversionError) {
            let magic: StaticString = "bplist00"
            if body.count < Trailer.magicSize {
                for index in 0..<min(input.count, Trailer.magicSize - body.count) {
                    // SAFETY: the index is below 8, which is the literal's length.
                    guard unsafe input[index] == magic.utf8Start[body.count + index] else {
                        let isVersion = body.count + index >= 6
                        throw ConversionError(
                            plist: isVersion ? .unsupportedVersion : .unknownFormat, offset: body.count + index)
                    }
                }
            }
            guard input.count <= limits.tree - body.count else {
                throw .limit(
                    "tree", of: limits.tree, what: "a binary property list, which must be held in memory",
                    offset: limits.tree)
            }
            body.append(contentsOf: input)
        }

        mutating func finish<Sink: EventSink & ~Copyable>(into sink: inout Sink) throws(ConversionError) {
            // Taken out so that the span doesn't borrow the reader while it changes.
            var whole = ByteStore()
            swap(&whole, &body)
            defer { swap(&whole, &body) }
            guard whole.count > 0 else { throw ConversionError(plist: .emptyBody, offset: 0) }
            guard whole.count >= Trailer.magicSize else {
                throw ConversionError(plist: .unexpectedEnd, offset: whole.count)
            }
            let input = whole.span
            guard let trailer = Trailer(input) else {
                throw ConversionError(plist: .invalidTrailer, offset: max(0, input.count - Trailer.size))
            }
            isOpen.removeAll(keepingCapacity: true)
            for _ in 0..<trailer.objectCount { isOpen.append(false) }
            try emit(trailer.topObject, trailer, input, into: &sink)
            while let frame = frames.last {
                guard frame.index < frame.count else {
                    try close(frame, into: &sink)
                    continue
                }
                frames[frames.count - 1].index += 1
                var at = frame.references + frame.index * trailer.referenceSize
                if frame.isObject {
                    try emitKey(try object(at: at, trailer, input), trailer, input, into: &sink)
                    at += frame.count * trailer.referenceSize
                }
                try emit(try object(at: at, trailer, input), trailer, input, into: &sink)
            }
        }

        var isMuted: Bool { mutedDepth >= 0 }

        func failure(_ fault: Fault, at offset: Int) -> ConversionError {
            ConversionError(plist: fault, offset: offset, field: path.pointer)
        }

        /// Counts a value or a name, or refuses.
        mutating func charge(bytes: Int, nodes: Int = 0, at offset: Int) throws(ConversionError) {
            cost += bytes + nodes * Tree.nodeCost
            guard cost <= limits.tree else {
                throw .limit(
                    "tree", of: limits.tree, what: "what the binary property list stands for", offset: offset,
                    field: path.pointer)
            }
        }

        /// The object that the reference at `at` leads to. Whoever calls has seen that the reference lies among the objects.
        private func object(
            at: Int, _ trailer: Trailer, _ input: Span<UInt8>
        ) throws(ConversionError) -> Int {
            let reference = input.bigEndian(at: at, size: trailer.referenceSize)
            guard reference < UInt64(trailer.objectCount) else { throw failure(.objectReference, at: at) }
            return Int(reference)
        }

        /// Goes down into a container.
        mutating func open<Sink: EventSink & ~Copyable>(
            _ object: Int, _ head: Head, _ trailer: Trailer, into sink: inout Sink
        ) throws(ConversionError) {
            let isObject = head.type == 0xD
            guard !isOpen[object] else { throw failure(.cycle, at: head.offset) }
            guard frames.count < limits.depth else {
                throw .limit(
                    "depth", of: limits.depth, what: "the nesting of the document", offset: head.offset,
                    field: path.pointer)
            }
            let size = trailer.referenceSize * (isObject ? 2 : 1)
            guard head.count <= (trailer.tableStart - head.start) / size else {
                throw failure(.invalidOffset, at: head.offset)
            }
            path.open(isObject: isObject, mark: memberNames?.count ?? 0)
            frames.append(Frame(object: object, isObject: isObject, references: head.start, count: head.count))
            isOpen[object] = true
            guard !isMuted else { return }
            if isObject { try sink.beginObject() } else { try sink.beginArray() }
        }

        private mutating func close<Sink: EventSink & ~Copyable>(
            _ frame: Frame, into sink: inout Sink
        ) throws(ConversionError) {
            frames.removeLast()
            isOpen[frame.object] = false
            let wasMuted = isMuted
            let mark = path.close()
            if frame.isObject { memberNames?.close(to: mark) }
            endValue()
            guard !wasMuted else { return }
            if frame.isObject { try sink.endObject() } else { try sink.endArray() }
        }

        /// Moves on to what follows a value, after its event's mutedness was looked at.
        mutating func endValue() {
            if mutedDepth == path.depth { mutedDepth = -1 }
            path.endValue()
        }

        /// Sends a name, after a look at those that came before it.
        mutating func sendKey<Sink: EventSink & ~Copyable>(
            _ name: Span<UInt8>, at offset: Int, into sink: inout Sink
        ) throws(ConversionError) {
            guard name.count <= limits.key else {
                throw .limit("key", of: limits.key, what: "a key", offset: offset, field: path.pointer)
            }
            try charge(bytes: name.count, at: offset)
            path.setName(name)
            switch memberNames?.insert(name, depth: path.depth) {
            case .known:
                if options.duplicates == .reject { throw failure(.duplicateKey, at: offset) }
                if mutedDepth < 0 { mutedDepth = path.depth }
            case .full:
                throw .limit(
                    "tree", of: limits.tree, what: "what is held to find members of the same name", offset: offset,
                    field: path.pointer)
            case .new, nil:
                break
            }
            guard !isMuted else { return }
            try sink.key(name)
        }
    }
}

extension Span where Element == UInt8 {
    /// The unsigned number of `size` bytes, at most eight, at `at`, highest first.
    func bigEndian(at: Int, size: Int) -> UInt64 {
        var value: UInt64 = 0
        for index in at..<at + size { value = value << 8 | UInt64(self[index]) }
        return value
    }
}
