internal import Octets

extension XML {
    /// Writes elements under the convention `attributes`. Every value has a position, which is the document, a member, or
    /// an array's; the position decides about its element's name.
    internal struct ElementWriter: ~Copyable {
        private enum Position {
            case root
            /// The text of the innermost element, or one of its attributes.
            case text, attribute
            /// A member or an item with an element of its own.
            case element
        }

        /// An open object or array. Its name in `names` is that of its element, and for `array` that of its items.
        private struct Frame {
            enum Kind {
                /// An object, which has an element.
                case object
                /// An array in a member, without an element: its items have the member's name.
                case array
                /// An array in an array, or the document. It has an element; its items have the option's name.
                case list
            }

            var kind: Kind
            /// Whether its start tag was written. A list's is with its first item, since empty ones go by an option.
            var isBegun: Bool
            /// Whether the tag has its name, and not that of items.
            var isNamed: Bool
            var nameStart: Int
            /// The number of the item at hand, of an array or a list.
            var position = -1
            /// Whether an element has been written in it.
            var hasChildren = false
            /// Whether the member that is its text has come.
            var hasText = false
            /// Whether a rule has left out something in it.
            var isReduced = false
        }

        /// What rules have left out of the document so far: nulls and empty arrays.
        internal private(set) var removedCount = 0

        private let options: EncodingOptions
        /// What is asked for each element has a place of its own: to ask the options is to copy them.
        private let indentation: Int
        private let nameLimit: Int
        private let limits: Limits
        private let itemName: [UInt8]
        private let prefix: [UInt8]
        private let textKey: [UInt8]

        private var rootName = ByteStore()
        /// Whether the root element is none of the document's members, so that no place names it.
        private var isRootInvented = true
        private var frames = OwnedArray<Frame>()
        private var names = ByteStore()
        private var position = Position.root
        /// The name that belongs to `position`.
        private var name = ByteStore()
        /// The attributes of the tag that is open, to see that none comes twice.
        private var attributes: JSON.MemberNames
        private var namespaces = TagNamespaces()
        /// The frames around the element whose tag is open.
        private var tagLevel = 0
        /// Whether the start tag of the innermost element isn't closed yet.
        private var isTagOpen = false
        /// Whether the start tag that was written last has the name at hand, which can be an element's.
        private var isTagNamed = false
        /// The number of open elements.
        private var depth = 0
        private var text = TextWriter()
        /// The escaped text of an element whose start tag isn't closed, for attributes may follow it: sorted members have it
        /// before them. At most `limits.field` bytes and a piece.
        private var bufferedText = OutputBuffer()
        /// Whether some pieces of a string have been written.
        private var isInText = false

        internal init(options: EncodingOptions, limits: Limits) {
            self.options = options
            indentation = options.indentation
            nameLimit = options.nameLimit
            self.limits = limits
            itemName = Array(options.itemName.utf8)
            prefix = Array(options.attributePrefix.utf8)
            textKey = Array(options.textKey.utf8)
            attributes = JSON.MemberNames(limit: limits.tree)
            reset()
        }

        internal mutating func reset() {
            removedCount = 0
            rootName = ByteStore(copying: Array(options.rootName.utf8).span)
            isRootInvented = true
            frames.removeAll()
            names.removeAll(keepingUpTo: 64 * 1024)
            position = .root
            attributes.removeAll()
            namespaces.removeAll()
            isTagOpen = false
            depth = 0
            text.reset()
            bufferedText.removeAll()
            isInText = false
        }

        /// Gives the element of the document another name than the option's, before any value comes.
        internal mutating func nameRoot(_ name: ByteStore) {
            rootName = name
            isRootInvented = false
        }

        /// Whether a member of that name is neither an attribute nor text.
        internal func isElement(_ key: Span<UInt8>) -> Bool {
            (textKey.isEmpty || !key.isEqual(to: textKey.span)) && (prefix.isEmpty || !key.hasPrefix(prefix))
        }

        // MARK: Members

        internal mutating func key(_ key: Span<UInt8>) throws(ConversionError) {
            let last = frames.count - 1
            name.removeAll()
            if !textKey.isEmpty, key.isEqual(to: textKey.span) {
                position = .text
                guard !frames[last].hasText else { throw fault(.writtenTwice) }
                guard !frames[last].hasChildren || options.mixed == .join else { throw fault(.mixedWriting) }
                frames[last].hasText = true
            } else if !prefix.isEmpty, key.hasPrefix(prefix) {
                position = .attribute
                name.append(contentsOf: key.extracting(prefix.count..<key.count))
                guard isTagOpen else { throw fault(.lateAttribute) }
                try checkLength()
                guard XML.isName(name.span) else { throw fault(.name) }
                switch attributes.insert(key, depth: 0) {
                case .new: if !isDeclaration { namespaces.note(key.extracting(prefix.count..<key.count)) }
                case .known: throw fault(.writtenTwice)
                case .full: throw .limit("tree", of: limits.tree, what: "the names of one element's attributes")
                }
            } else {
                position = .element
                name.append(contentsOf: key)
            }
        }

        /// Finds the position of the value that begins; a member's is known from its key.
        private mutating func findPosition() {
            guard let last = frames.lastIndex else {
                position = .root
                name = rootName
                return
            }
            let kind = frames[last].kind
            guard kind != .object else { return }
            frames[last].position &+= 1
            position = .element
            name.removeAll()
            if kind == .list {
                name.append(contentsOf: itemName)
            } else {
                name.append(names, frames[last].nameStart..<names.count)
            }
        }

        private mutating func push(_ kind: Frame.Kind, isBegun: Bool) {
            frames.append(Frame(kind: kind, isBegun: isBegun, isNamed: isTagNamed, nameStart: names.count))
            names.append(contentsOf: name)
        }

        private mutating func pop() {
            names.truncate(to: frames.removeLast().nameStart)
        }

        // MARK: Values

        internal mutating func beginObject(into output: inout OutputBuffer) throws(ConversionError) {
            findPosition()
            try beginElement(into: &output)
            push(.object, isBegun: true)
        }

        internal mutating func beginArray(into output: inout OutputBuffer) throws(ConversionError) {
            findPosition()
            switch position {
            case .text: throw fault(.textValue)
            case .attribute: throw fault(.attributeValue)
            case .root:
                try beginElement(into: &output)
                push(.list, isBegun: true)
            case .element: push(frames[frames.count - 1].kind == .object ? .array : .list, isBegun: false)
            }
        }

        internal mutating func endArray(into output: inout OutputBuffer) throws(ConversionError) {
            let frame = frames[frames.count - 1]
            if frame.hasChildren {
                if frame.kind == .array { pop() } else { try endObject(into: &output) }
                return
            }
            if frame.isBegun, options.empties != .reject { return try endObject(into: &output) }
            name.removeAll()
            name.append(names, frame.nameStart..<names.count)
            pop()
            position = .element
            if options.empties == .reject { throw fault(.emptyArray) }
            guard options.empties == .marker else { return omit(counts: !frame.isReduced) }
            try beginElement(into: &output)
            try endElement(isNamed: isTagNamed, into: &output)
        }

        internal mutating func string(
            _ piece: Span<UInt8>, isLast: Bool, into output: inout OutputBuffer
        ) throws(ConversionError) {
            if !isInText {
                findPosition()
                // Nothing stands in the element's tag but its name, and where there is text, the tag can be written as a whole.
                try beginScalar(isText: !piece.isEmpty, into: &output)
                text.reset()
                isInText = true
            }
            let isWritten: Bool
            if position == .text, isTagOpen {
                isWritten = text.write(piece, isAttribute: false, into: &bufferedText)
                if bufferedText.count > limits.field { try closeTag(into: &output) }
            } else if position == .attribute, isDeclaration {
                guard namespaces.value.count + piece.count <= limits.field else {
                    throw ConversionError.limit("field", of: limits.field, what: "the length of a namespace").at(
                        pointer: path)
                }
                namespaces.value.append(contentsOf: piece)
                isWritten = true
            } else {
                if position != .attribute, !piece.isEmpty { try closeTag(into: &output) }
                isWritten = text.write(piece, isAttribute: position == .attribute, into: &output)
            }
            guard isWritten else { throw fault(.forbiddenCharacter) }
            guard isLast else { return }
            isInText = false
            try endScalar(into: &output)
        }

        internal mutating func null(into output: inout OutputBuffer) throws(ConversionError) {
            findPosition()
            switch options.nulls {
            case .reject: throw fault(.null)
            // The document itself can't be left out.
            case .omit where position != .root: return omit()
            case .nilAttribute where position == .attribute: throw fault(.attributeNull)
            case .omit, .empty, .nilAttribute: break
            }
            try beginScalar(isText: false, into: &output)
            if options.nulls == .nilAttribute, position != .text {
                output.append(" xmlns:xsi=\"")
                output.append(schemaInstance)
                output.append("\" xsi:nil=\"true\"")
            }
            try endScalar(into: &output)
        }

        /// Leaves a value out of the innermost object or array by an option. An array whose elements were counted isn't.
        private mutating func omit(counts: Bool = true) {
            if counts { removedCount += 1 }
            if let last = frames.lastIndex { frames[last].isReduced = true }
        }

        private mutating func beginScalar(
            isText: Bool, into output: inout OutputBuffer
        ) throws(ConversionError) {
            switch position {
            case .text: break
            // It is written when it is known to be fine.
            case .attribute where isDeclaration: namespaces.value.removeAll()
            case .attribute:
                output.append(" ", name.span, "=\"")
            case .root, .element: try beginElement(isText: isText, into: &output)
            }
        }

        private mutating func endScalar(into output: inout OutputBuffer) throws(ConversionError) {
            switch position {
            case .text: break
            case .attribute where isDeclaration: try endDeclaration(into: &output)
            case .attribute: output.append("\"")
            case .root, .element: try endElement(isNamed: isTagNamed, into: &output)
            }
        }

        /// Writes the declaration at hand, when readers take it.
        private mutating func endDeclaration(into output: inout OutputBuffer) throws(ConversionError) {
            guard namespaces.isFine(name) else { throw fault(.namespace) }
            guard namespaces.declare(name, depth: depth, limit: limits.tree) else {
                throw ConversionError.limit("tree", of: limits.tree, what: "the namespaces that are declared at a time")
                    .at(pointer: path)
            }
            guard TextWriter.write(attribute: name.span, namespaces.value.span, into: &output) else {
                throw fault(.forbiddenCharacter)
            }
        }

        // MARK: Elements

        /// Writes the start tag of the value that begins, up to where attributes may follow, or all of it where `isText`.
        private mutating func beginElement(
            isText: Bool = false, into output: inout OutputBuffer
        ) throws(ConversionError) {
            switch position {
            case .text: throw fault(.textValue)
            case .attribute: throw fault(.attributeValue)
            case .root, .element: break
            }
            if let last = frames.lastIndex {
                if frames[last].kind == .list { try beginLists(into: &output) }
                try enterParent()
            }
            try writeStartTag(isWhole: isText, into: &output)
        }

        /// Begins the elements of the lists around that waited for an item.
        private mutating func beginLists(into output: inout OutputBuffer) throws(ConversionError) {
            var first = frames.count
            while first > 0, frames[first - 1].kind == .list, !frames[first - 1].isBegun { first -= 1 }
            guard first < frames.count else { return }
            // What waits is taken off and put back one by one, so that each finds its parent on top. Only that is copied: the
            // names of all that is open may be long, and a list is two bytes.
            let item = name
            var waiting: [Frame] = []
            for index in first..<frames.count { waiting.append(frames[index]) }
            let base = waiting[0].nameStart
            var waitingNames = ByteStore()
            waitingNames.append(names, base..<names.count)
            frames.truncate(to: first)
            for index in waiting.indices {
                let end = index + 1 < waiting.count ? waiting[index + 1].nameStart - base : waitingNames.count
                names.truncate(to: waiting[index].nameStart)
                name.removeAll()
                name.append(waitingNames, waiting[index].nameStart - base..<end)
                if !frames.isEmpty { try enterParent() }
                try writeStartTag(isWhole: false, into: &output)
                push(.list, isBegun: true)
                frames[frames.count - 1].position = waiting[index].position
            }
            name = item
        }

        /// Notes that the open object or array, which there must be, gets an element.
        private mutating func enterParent() throws(ConversionError) {
            var at = frames.count - 1
            frames[at].hasChildren = true
            if frames[at].kind == .array {
                at -= 1
                frames[at].hasChildren = true
            }
            guard !frames[at].hasText || options.mixed == .join else { throw fault(.mixedWriting) }
        }

        /// Writes a start tag, up to where attributes may follow unless `isWhole`.
        private mutating func writeStartTag(
            isWhole: Bool, into output: inout OutputBuffer
        ) throws(ConversionError) {
            // The end of the tag that is open is most often written with this one.
            let endsTag = isTagOpen && bufferedText.isEmpty && indentation == 0
            if endsTag { try checkTag() } else { try closeTag(into: &output) }
            if indentation > 0 { indentStart(into: &output) }
            attributes.close(to: 0)
            namespaces.beginTag()
            tagLevel = frames.count
            let colon = XML.EncodingOptions.colon(ofName: name.span, limit: nameLimit)
            isTagNamed = colon != nil
            if let colon {
                if colon > 0 { namespaces.noteElement(name, colon: colon) }
                isTagOpen = !isWhole || namespaces.hasPrefixes
                output.append(
                    endsTag ? OutputBuffer.Word("><") : OutputBuffer.Word("<"), name.span,
                    isTagOpen ? OutputBuffer.Word() : OutputBuffer.Word(">"))
            } else {
                isTagOpen = true
                if endsTag { output.append(">") }
                output.append("<")
                guard options.names == .item, options.isName(itemName.span) else {
                    try checkLength()
                    throw fault(.name)
                }
                output.append(itemName)
                guard TextWriter.write(key: name.span, into: &output) else {
                    throw fault(.forbiddenCharacter)
                }
                _ = attributes.insert((prefix + TextWriter.key).span, depth: 0)
            }
            depth += 1
        }

        private func indentStart(into output: inout OutputBuffer) {
            guard var owner = frames.lastIndex else { return }
            if frames[owner].kind == .array { owner -= 1 }
            if !frames[owner].hasText { indent(into: &output) }
        }

        private mutating func closeTag(into output: inout OutputBuffer) throws(ConversionError) {
            guard isTagOpen else { return }
            try checkTag()
            output.append(">")
            isTagOpen = false
            guard !bufferedText.isEmpty else { return }
            output.append(bufferedText.span)
            bufferedText.removeAll()
        }

        /// Whether all prefixes of the tag that is open are declared, and no attribute of it, which is the innermost object's, comes
        /// twice under two prefixes.
        @inline(__always)
        private mutating func checkTag() throws(ConversionError) {
            if namespaces.hasPrefixes { try checkPrefixes() }
        }

        @inline(never)
        private mutating func checkPrefixes() throws(ConversionError) {
            if let undeclared = namespaces.undeclared() {
                guard undeclared.isElement else { throw attributeFault(.prefix, undeclared.name) }
                // Where an object or a list has begun with the tag, the place is its own, and not that of what stands in it.
                if frames.count > tagLevel {
                    while frames.count > tagLevel + 1 { pop() }
                    name.removeAll()
                    name.append(names, frames[tagLevel].nameStart..<names.count)
                    pop()
                    position = .element
                }
                throw fault(.prefix)
            }
            guard let repeated = namespaces.repeated(&attributes) else { return }
            guard !repeated.isFull else {
                throw .limit("tree", of: limits.tree, what: "the names of one element's attributes")
            }
            throw attributeFault(.writtenTwice, repeated.name)
        }

        /// The error of an attribute in the tag that is open, also where something in its element has begun already.
        private mutating func attributeFault(_ fault: Fault, _ attribute: ByteStore) -> ConversionError {
            while frames.count > tagLevel + 1 { pop() }
            position = .attribute
            name = attribute
            return self.fault(fault)
        }

        /// Ends the innermost element, whose name is the one at hand where `isNamed`, and else that of items.
        private mutating func endElement(isNamed: Bool, into output: inout OutputBuffer) throws(ConversionError) {
            depth -= 1
            defer { namespaces.close(to: depth) }
            if isTagOpen {
                if bufferedText.isEmpty {
                    try checkTag()
                    output.append("/>")
                    isTagOpen = false
                    return
                }
                try closeTag(into: &output)
            }
            if isNamed {
                output.append(OutputBuffer.Word("</"), name.span, OutputBuffer.Word(">"))
            } else {
                output.append(OutputBuffer.Word("</"), itemName.span, OutputBuffer.Word(">"))
            }
        }

        /// Ends an object, or an array that has an element.
        internal mutating func endObject(into output: inout OutputBuffer) throws(ConversionError) {
            if isTagOpen { try checkTag() }
            let frame = frames[frames.count - 1]
            name.removeAll()
            name.append(names, frame.nameStart..<names.count)
            if indentation > 0, frame.hasChildren, !frame.hasText {
                depth -= 1
                indent(into: &output)
                depth += 1
            }
            pop()
            try endElement(isNamed: frame.isNamed, into: &output)
        }

        private func indent(into output: inout OutputBuffer) {
            output.append("\n")
            for _ in 0..<depth * indentation { output.append(UInt8(ascii: " ")) }
        }

        /// Whether the attribute at hand declares a namespace.
        private var isDeclaration: Bool { name.span.isNamespaceDeclaration }

        // MARK: Errors

        private func checkLength() throws(ConversionError) {
            guard name.count <= options.nameLimit else { throw .xmlName(options.nameLimit, pointer: path) }
        }

        private func fault(_ fault: Fault) -> ConversionError { fault.error(pointer: path) }

        /// The place at hand in the document that came, for messages: `/a/0/b`, `/a/@x`. Nil for the document itself.
        private var path: String? {
            var tokens: [UInt8] = []
            for index in 0..<frames.count {
                let end = index + 1 < frames.count ? frames[index + 1].nameStart : names.count
                appendPlace(ByteStore(copying: names.slice(frames[index].nameStart..<end)), below: index, to: &tokens)
            }
            switch position {
            case .text: JSONPointer.append(textKey.span, to: &tokens)
            case .attribute: JSONPointer.append((prefix + name.span.copied()).span, to: &tokens)
            case .root, .element: appendPlace(name, below: frames.count, to: &tokens)
            }
            return tokens.isEmpty ? nil : tokens.span.lossyString()
        }

        /// Appends the step to what stands in the innermost one of the first `level` frames: its name, or its number.
        private func appendPlace(_ name: ByteStore, below level: Int, to tokens: inout [UInt8]) {
            if level == 0 {
                if !isRootInvented { JSONPointer.append(name.span, to: &tokens) }
            } else if frames[level - 1].kind == .object {
                JSONPointer.append(name.span, to: &tokens)
            } else {
                tokens.append(contentsOf: "/\(max(0, frames[level - 1].position))".utf8)
            }
        }
    }
}

extension XML.EncodingOptions {
    /// Whether the name can be an element's, and be read again: none has the prefix of declarations.
    internal func isName(_ name: Span<UInt8>) -> Bool { Self.colon(ofName: name, limit: nameLimit) != nil }

    /// Where the colon of such a name stands, 0 for none; nil where the name is none.
    @inline(__always)
    internal static func colon(ofName name: Span<UInt8>, limit: Int) -> Int? {
        guard name.count <= limit, let colon = XML.colon(ofName: name) else { return nil }
        return colon == declarationPrefix.count - 1 && name.hasPrefix(declarationPrefix) ? nil : colon
    }

    private static let declarationPrefix = Array("xmlns:".utf8)
}

extension Span where Element == UInt8 {
    /// Whether the first bytes are those of `prefix`.
    internal func hasPrefix(_ prefix: [UInt8]) -> Bool {
        count >= prefix.count && extracting(0..<prefix.count).isEqual(to: prefix.span)
    }
}
