internal import Octets

extension XML {
    /// Builds the tree of a document under the convention `attributes`.
    ///
    /// An element with attributes or children is an object, whose members are its attributes in their order, its
    /// children by name, each at the place of the first of that name, and last its text. Any other one is its text,
    /// untouched. White space alone between children is left out, comments and instructions are, by this rule.
    internal struct ElementBuilder {
        /// An open element.
        private struct Frame {
            /// Its object, or `Tree.none` while it has neither attributes nor children.
            var object = Tree.none
            /// Nodes above `object` and below this one are attributes.
            var attributesEnd = Tree.none
            var textStart: Int
            /// Where the text since the last tag begins.
            var runStart: Int
            /// Whether that text has anything but white space.
            var runHasText = false
            var hasChildren = false
            var isArray: Bool
            /// Whether `xsi:nil` says that it is null.
            var isNull = false
            /// Attributes besides `xsi:nil` and the declaration of `xsi`.
            var otherAttributes = 0
        }

        private let options: DecodingOptions
        private let limits: Limits
        private let prefix: [UInt8]
        private let textKey: [UInt8]
        private var frames: [Frame] = []
        internal private(set) var path = ElementPath()
        /// Follows the paths of elements that are arrays even where they stand alone.
        private var arrays: PathMatcher
        /// The text of the open elements.
        private var text = ByteStore()
        /// The name of the attribute at hand as a member's.
        private var attribute = ByteStore()

        internal init(options: DecodingOptions, limits: Limits) {
            self.options = options
            self.limits = limits
            prefix = Array(options.attributePrefix.utf8)
            textKey = Array(options.textKey.utf8)
            arrays = PathMatcher(options.alwaysArray)
        }

        internal mutating func reset() {
            frames.removeAll(keepingCapacity: true)
            path.removeAll()
            arrays.reset()
            text.removeAll(keepingUpTo: 64 * 1024)
        }

        internal mutating func begin(_ name: Span<UInt8>, tree: inout Tree) throws(ConversionError) {
            let name = options.namespaces == .strip ? Self.localName(name) : name
            if frames.isEmpty {
                if options.root == .keep { tree.root = try tree.makeNode(.object) }
            } else {
                let last = frames.count - 1
                try endRun(last)
                frames[last].hasChildren = true
                if frames[last].object == Tree.none { frames[last].object = try tree.makeNode(.object) }
            }
            path.push(name)
            // Without the root element's name paths begin below it.
            let isOnPath = options.root == .keep || !frames.isEmpty
            if isOnPath { arrays.enter(key: name) }
            let isArray = isOnPath && arrays.isAnyHere
            frames.append(Frame(textStart: text.count, runStart: text.count, isArray: isArray))
        }

        internal mutating func attribute(
            _ name: Span<UInt8>, _ value: Span<UInt8>, tree: inout Tree
        ) throws(ConversionError) {
            let last = frames.count - 1
            let isNil = name.isEqual(to: "xsi:nil")
            if !isNil, !name.isEqual(to: "xmlns:xsi") { frames[last].otherAttributes += 1 }
            guard options.namespaces == .keep || !name.isNamespaceDeclaration else { return }
            attribute.removeAll()
            attribute.append(contentsOf: prefix)
            attribute.append(contentsOf: options.namespaces == .strip ? Self.localName(name) : name)
            guard value.count <= limits.field else { throw fieldLimit(attribute.span.lossyString()) }
            if isNil, value.isEqual(to: "true") || value.isEqual(to: "1") { frames[last].isNull = true }
            if frames[last].object == Tree.none { frames[last].object = try tree.makeNode(.object) }
            let object = frames[last].object
            guard tree.child(of: object, named: attribute.span) == Tree.none else {
                throw Fault.conflict.error(pointer: path.text(attribute.span.lossyString()))
            }
            try tree.append(makeScalar(value, tree: &tree), to: object, named: attribute.span)
            frames[last].attributesEnd = Tree.Node(tree.records.count)
        }

        internal mutating func addText(_ piece: Span<UInt8>, tree: borrowing Tree) throws(ConversionError) {
            let last = frames.count - 1
            if !frames[last].runHasText, !piece.isWhitespace {
                frames[last].runHasText = true
                if frames[last].hasChildren, options.mixed == .refuse {
                    throw Fault.mixed.error(pointer: path.text())
                }
            }
            guard text.count + piece.count - frames[last].textStart <= limits.field else { throw fieldLimit(nil) }
            // It isn't in the tree yet, and counts as if it were.
            try tree.charge(bytes: text.count + piece.count)
            text.append(contentsOf: piece)
        }

        internal mutating func end(tree: inout Tree) throws(ConversionError) {
            let last = frames.count - 1
            if frames[last].hasChildren { try endRun(last) }
            let frame = frames[last]
            let value = try makeValue(frame, tree: &tree)
            text.truncate(to: frame.textStart)
            try place(value, of: frame, tree: &tree)
            frames.removeLast()
            path.pop()
            if arrays.depth > 0 { arrays.leave() }
        }

        /// Ends the text before a tag inside of an element with children: white space alone goes, other text stays or
        /// is refused.
        private mutating func endRun(_ index: Int) throws(ConversionError) {
            if !frames[index].runHasText {
                text.truncate(to: frames[index].runStart)
            } else if options.mixed == .refuse {
                throw Fault.mixed.error(pointer: path.text())
            }
            frames[index].runStart = text.count
            frames[index].runHasText = false
        }

        private func makeValue(_ frame: Frame, tree: inout Tree) throws(ConversionError) -> Tree.Node {
            let text = text.slice(frame.textStart..<text.count)
            guard frame.object != Tree.none else {
                if text.isEmpty, options.empty == .null {
                    tree.scalarCount += 1
                    return try tree.makeNode(.null)
                }
                return try makeScalar(text, tree: &tree)
            }
            guard !text.isEmpty else {
                if frame.isNull, frame.otherAttributes == 0, !frame.hasChildren, options.recognize.contains(.nulls) {
                    tree.scalarCount -= tree.childCount(frame.object) - 1
                    return try tree.makeNode(.null)
                }
                return frame.object
            }
            guard tree.child(of: frame.object, named: textKey.span) == Tree.none else {
                throw Fault.conflict.error(pointer: path.text(options.textKey))
            }
            try tree.append(makeScalar(text, tree: &tree), to: frame.object, named: textKey.span)
            return frame.object
        }

        private func makeScalar(_ text: Span<UInt8>, tree: inout Tree) throws(ConversionError) -> Tree.Node {
            tree.scalarCount += 1
            if options.recognize.contains(.numbers), text.count <= limits.number, NumberText(text) != nil {
                return try tree.makeText(.number, text)
            }
            if options.recognize.contains(.booleans) {
                if text.isEqual(to: "true") { return try tree.makeNode(.yes) }
                if text.isEqual(to: "false") { return try tree.makeNode(.no) }
            }
            return try tree.makeText(.string, text)
        }

        /// Puts an element's value into its parent, or makes it the document.
        private func place(_ value: Tree.Node, of frame: Frame, tree: inout Tree) throws(ConversionError) {
            let parent: Tree.Node
            if frames.count > 1 {
                parent = frames[frames.count - 2].object
            } else if options.root == .keep {
                parent = tree.root
            } else {
                tree.root = value
                return
            }
            let earlier = tree.child(of: parent, named: path.last)
            guard earlier != Tree.none else {
                guard frame.isArray else { return try tree.append(value, to: parent, named: path.last) }
                let array = try tree.makeNode(.array)
                try tree.append(array, to: parent, named: path.last)
                return tree.append(value, to: array)
            }
            if frames.count > 1, earlier > parent, earlier < frames[frames.count - 2].attributesEnd {
                throw Fault.conflict.error(pointer: path.text())
            }
            if tree.kind(earlier).isArray { return tree.append(value, to: earlier) }
            let array = try tree.makeNode(.array)
            tree.replace(earlier, by: array)
            tree.append(earlier, to: array)
            tree.append(value, to: array)
        }

        private func fieldLimit(_ attribute: String?) -> ConversionError {
            ConversionError.limit("field", of: limits.field, what: "a value").at(pointer: path.text(attribute))
        }

        /// The name without its prefix. A name that would have nothing left stays as it is.
        @_lifetime(copy name)
        private static func localName(_ name: Span<UInt8>) -> Span<UInt8> {
            var at = name.count - 1
            while at > 0 {
                at -= 1
                if name[at] == UInt8(ascii: ":") { return name.extracting(at + 1..<name.count) }
            }
            return name
        }
    }
}

extension Span where Element == UInt8 {
    /// Whether all bytes are white space as XML 1.0 §2.3 has it.
    internal var isWhitespace: Bool { Scan.endOfWhitespace(in: self, from: 0) == count }

    /// Whether the name of an attribute is that of a declaration of a namespace: `xmlns` or `xmlns:p`.
    internal var isNamespaceDeclaration: Bool {
        count == 5 ? isEqual(to: "xmlns") : count > 6 && extracting(0..<6).isEqual(to: "xmlns:")
    }
}
