package import Octets

extension XML {
    /// Writes events as an XML document in UTF-8.
    ///
    /// Under the convention `attributes` members with `attributePrefix` are attributes and must come before child
    /// elements, the member `textKey` is text, arrays repeat the element of their member, and numbers keep their text.
    /// Under `lossless` every value has an element of its type. A file becomes text in base64 while its pieces come.
    ///
    /// Errors are `XML.Fault`s of the kind `unrepresentable`, each with the path of the place, and `limits.tree` for
    /// what must be held: the names of one element's attributes and, under `root: auto`, the first member of the
    /// document until it is known whether there is another one. Besides, text that comes before attributes is held, up
    /// to `limits.field` bytes, and the names of the open elements are.
    package struct Encoder: EventSink, OutputEncoder, ~Copyable {
        /// Whether it is known what the root element is.
        private enum State {
            /// Nothing has come; next: `object`, `direct`.
            case start
            /// The document is an object; next: `member`, `direct`.
            case object
            /// Its first key has come, and its value hasn't begun; next: `buffering`, `direct`.
            case member
            /// That member is being held; next: `buffered`.
            case buffering
            /// That member is held as a whole; next: `direct`.
            case buffered
            /// Events are written as they come.
            case direct
        }

        /// The bytes written so far and not taken yet.
        package var output = OutputBuffer()

        private let options: EncodingOptions
        private let limits: Limits
        private let isLossless: Bool
        private var elements: ElementWriter
        private var lossless: LosslessWriter
        private var state = State.start
        /// The first member's value, while it isn't known whether it is the root element.
        private var member: Tree
        private var memberName = ByteStore()
        /// How many members the document has, where it is known before they come; else -1.
        private var memberCount = -1
        /// Whether the document's object has no element, for its one member is the root; `depth` counts what is open
        /// in it.
        private var isHidden = false
        private var depth = 0
        private var base64 = Base64Encoder()
        private var isInFileObject = false

        /// Bytes of the first member, while it isn't known whether it is the root element.
        internal var heldCount: Int { member.cost }
        internal var allocatedCount: Int { member.allocatedCount }

        /// What rules have left out of the document so far.
        package var removedCount: Int { elements.removedCount }

        package init(options: EncodingOptions = .init(), limits: Limits) {
            self.options = options
            self.limits = limits
            isLossless = options.convention == .lossless
            elements = ElementWriter(options: options, limits: limits)
            lossless = LosslessWriter(options: options)
            member = Tree(limits: limits)
            member.keepsIndex = false
        }

        package var isFull: Bool { output.isFull }

        /// Makes the encoder ready for another document. The output is emptied and its allocation kept.
        package mutating func reset() {
            output.removeAll()
            elements.reset()
            lossless.reset()
            state = .start
            member.removeAll()
            memberName.removeAll()
            memberCount = -1
            isHidden = false
            depth = 0
            base64 = Base64Encoder()
            isInFileObject = false
        }

        package mutating func finish() throws(ConversionError) {}

        // MARK: Events

        package mutating func beginObject() throws(ConversionError) {
            if state == .start, !isLossless, options.root != .wrap {
                state = .object
                return
            }
            if try isBuffered(isArray: false) { return try member.beginObject() }
            depth += 1
            if isLossless { return try lossless.begin(isMap: true, into: &output) }
            try elements.beginObject(into: &output)
        }

        package mutating func endObject() throws(ConversionError) {
            switch state {
            case .buffering:
                try member.endObject()
                return noteMemberEnd()
            case .object: try wrap()
            case .buffered:
                try hide()
                try replay()
            case .start, .member, .direct: break
            }
            if isHidden, depth == 0 { return }
            depth -= 1
            if isLossless { lossless.end(into: &output) } else { try elements.endObject(into: &output) }
        }

        package mutating func beginArray() throws(ConversionError) {
            if try isBuffered(isArray: true) { return try member.beginArray() }
            depth += 1
            if isLossless { return try lossless.begin(isMap: false, into: &output) }
            try elements.beginArray(into: &output)
        }

        package mutating func endArray() throws(ConversionError) {
            if state == .buffering {
                try member.endArray()
                return noteMemberEnd()
            }
            depth -= 1
            if isLossless { lossless.end(into: &output) } else { try elements.endArray(into: &output) }
        }

        package mutating func key(_ name: Span<UInt8>) throws(ConversionError) {
            switch state {
            case .buffering: return try member.key(name)
            case .object:
                guard elements.isElement(name) else {
                    try wrap()
                    break
                }
                memberName.removeAll()
                memberName.append(contentsOf: name)
                state = .member
                return
            case .buffered:
                try wrap()
                try keyMember()
                try replay()
            case .start, .member, .direct: break
            }
            if isHidden, depth == 0 { throw rootFault }
            if isLossless { lossless.setKey(name) } else { try elements.key(name) }
        }

        package mutating func string(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
            if try isBuffered(isArray: false) {
                try member.string(piece, isLast: isLast)
                if isLast { noteMemberEnd() }
            } else if isLossless {
                try lossless.string(piece, isLast: isLast, into: &output)
            } else {
                try elements.string(piece, isLast: isLast, into: &output)
            }
        }

        package mutating func number(_ text: Span<UInt8>) throws(ConversionError) {
            if try isBuffered(isArray: false) {
                try member.number(text)
                noteMemberEnd()
            } else if isLossless {
                try lossless.number(text, into: &output)
            } else {
                try elements.string(text, isLast: true, into: &output)
            }
        }

        package mutating func bool(_ value: Bool) throws(ConversionError) {
            if try isBuffered(isArray: false) {
                try member.bool(value)
                noteMemberEnd()
            } else if isLossless {
                try lossless.bool(value, into: &output)
            } else {
                let words = options.booleans == .numeric ? Words.numeric : Words.literal
                try elements.string((value ? words.yes : words.no).span, isLast: true, into: &output)
            }
        }

        package mutating func null() throws(ConversionError) {
            if try isBuffered(isArray: false) {
                try member.null()
                noteMemberEnd()
            } else if isLossless {
                try lossless.null(into: &output)
            } else {
                try elements.null(into: &output)
            }
        }

        // MARK: Files

        /// Begins a file. Throws `XML.Fault.file` unless the options say `base64` or `object`.
        package mutating func beginFile(_ head: borrowing PartHead) throws(ConversionError) {
            try beginFile(head, as: options.files)
        }

        /// As above, by a policy of the file's own.
        internal mutating func beginFile(
            _ head: borrowing PartHead, as policy: FilePolicy
        ) throws(ConversionError) {
            base64 = Base64Encoder()
            isInFileObject = try openFile(head, as: policy, refusal: Fault.file, typeRefusal: .fileType)
        }

        package mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
            var text = OutputBuffer()
            base64.encode(piece, into: &text)
            if isLast { base64.finish(into: &text) }
            try string(text.span, isLast: isLast)
            guard isLast, isInFileObject else { return }
            isInFileObject = false
            try endObject()
        }

        // MARK: The root element

        /// Writes nothing, but looks how many members the document that `tree` holds has, where it is about to come: then none needs to
        /// be held until the next one comes.
        internal mutating func write(_ tree: inout Tree, _ walk: inout TreeWalk) {
            guard state == .start, let place = walk.place(in: tree), place.node == tree.root, !place.isLeaving else {
                return
            }
            memberCount = tree.childCount(tree.root)
        }

        /// Whether the value that begins, or goes on, is part of the member that is held. It begins the document where
        /// that has to be now.
        @inline(__always)
        private mutating func isBuffered(isArray: Bool) throws(ConversionError) -> Bool {
            state == .direct ? false : try isBufferedAtFirst(isArray: isArray)
        }

        @inline(never)
        private mutating func isBufferedAtFirst(isArray: Bool) throws(ConversionError) -> Bool {
            switch state {
            case .direct: return false
            case .buffering: return true
            case .start:
                guard isLossless || options.root != .member else { throw rootFault }
                beginDocument(nil)
                return false
            case .member:
                if options.root == .member {
                    guard !isArray else { throw rootFault }
                    try hide()
                    return false
                }
                if memberCount == 1, !isArray {
                    try hide()
                    return false
                }
                if isArray || memberCount > 1 {
                    try wrap()
                    try keyMember()
                    return false
                }
                state = .buffering
                return true
            case .object, .buffered: preconditionFailure("a value without a key in an object")
            }
        }

        private mutating func beginDocument(_ root: ByteStore?) {
            state = .direct
            if options.declaration { output.append("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n") }
            if let root { elements.nameRoot(root) }
        }

        /// Begins the document with an element for the object that it is.
        private mutating func wrap() throws(ConversionError) {
            guard options.root == .auto else { throw rootFault }
            beginDocument(nil)
            depth += 1
            try elements.beginObject(into: &output)
        }

        /// Begins the document whose root is the first member's value, which comes next.
        private mutating func hide() throws(ConversionError) {
            isHidden = true
            beginDocument(memberName)
        }

        private mutating func keyMember() throws(ConversionError) {
            let name = memberName
            try elements.key(name.span)
        }

        /// Writes the member that was held.
        private mutating func replay() throws(ConversionError) {
            var buffered = Tree(limits: limits)
            buffered.keepsIndex = false
            swap(&buffered, &member)
            var walk = TreeWalk()
            walk.start(&buffered, order: .input)
            // The tree is bounded, and goes out whether the output is full or not.
            _ = try walk.advance(&buffered, into: &self, pauses: false)
        }

        /// Looks whether the value that has ended is the whole member.
        private mutating func noteMemberEnd() {
            if member.open == Tree.none { state = .buffered }
        }

        private var rootFault: ConversionError { Fault.root.error() }
    }

    private enum Words {
        static let literal = (yes: Array("true".utf8), no: Array("false".utf8))
        static let numeric = (yes: Array("1".utf8), no: Array("0".utf8))
    }
}
