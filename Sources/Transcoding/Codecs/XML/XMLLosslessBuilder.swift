internal import Octets

extension XML {
    /// Builds the tree of a document in the lossless vocabulary: the elements `map array string number boolean null` of
    /// XPath's functions (XPath and XQuery Functions and Operators 3.1, §17.4 and §17.5.4).
    internal struct LosslessBuilder {
        private enum Kind {
            case map, array, string, number, boolean, null
            var isContainer: Bool { self == .map || self == .array }
        }

        private struct Frame {
            var kind: Kind
            /// Whether the content has JSON's escapes.
            var isEscaped: Bool
        }

        private let limits: Limits
        private var frames: [Frame] = []
        internal private(set) var path = ElementPath()
        /// The prefix that the root element has, with its colon.
        private var prefix = ByteStore()
        /// What the start tag at hand says, until all of its attributes have come.
        private var isStarting = false
        private var hasVocabulary = false
        private var hasKey = false
        private var keyIsEscaped = false
        private var isEscaped = false
        private var key = ByteStore()
        /// The text of the scalar at hand.
        private var text = ByteStore()
        private var unescaped = ByteStore()

        internal init(limits: Limits) {
            self.limits = limits
        }

        internal mutating func reset() {
            frames.removeAll(keepingCapacity: true)
            path.removeAll()
            prefix.removeAll()
            text.removeAll(keepingUpTo: 64 * 1024)
            unescaped.removeAll(keepingUpTo: 64 * 1024)
            isStarting = false
        }

        internal mutating func begin(_ name: Span<UInt8>, tree: inout Tree) throws(ConversionError) {
            try settle(&tree)
            if let outer = frames.last, !outer.kind.isContainer { throw fault(.vocabularyValue) }
            path.push(name)
            isStarting = true
            hasKey = false
            keyIsEscaped = false
            isEscaped = false
            if frames.isEmpty {
                hasVocabulary = false
                prefix.removeAll()
                if let colon = Scan.firstIndex(of: UInt8(ascii: ":"), in: name) {
                    prefix.append(contentsOf: name.extracting(0..<colon + 1))
                }
            }
        }

        internal mutating func attribute(_ name: Span<UInt8>, _ value: Span<UInt8>) throws(ConversionError) {
            if name.isEqual(to: "key") {
                guard value.count <= limits.key else {
                    throw ConversionError.limit("key", of: limits.key, what: "a key").at(pointer: path.text())
                }
                hasKey = true
                key.removeAll()
                key.append(contentsOf: value)
            } else if name.isEqual(to: "escaped") {
                isEscaped = try flag(value)
            } else if name.isEqual(to: "escaped-key") {
                keyIsEscaped = try flag(value)
            } else if name.isNamespaceDeclaration {
                guard declaresPrefix(name) else { return }
                guard value.isEqual(to: vocabulary) else { throw fault(.vocabulary) }
                hasVocabulary = true
            } else {
                throw fault(.vocabulary)
            }
        }

        internal mutating func addText(_ piece: Span<UInt8>, tree: inout Tree) throws(ConversionError) {
            try settle(&tree)
            guard let frame = frames.last, !frame.kind.isContainer else {
                guard piece.isWhitespace else { throw fault(.vocabularyValue) }
                return
            }
            guard text.count + piece.count <= limits.field else {
                throw ConversionError.limit("field", of: limits.field, what: "a value").at(pointer: path.text())
            }
            try tree.charge(bytes: text.count + piece.count)
            text.append(contentsOf: piece)
        }

        internal mutating func end(tree: inout Tree) throws(ConversionError) {
            try settle(&tree)
            let frame = frames.removeLast()
            switch frame.kind {
            case .map: try tree.endObject()
            case .array: try tree.endArray()
            case .string where frame.isEscaped:
                guard Self.unescape(text, into: &unescaped) else { throw fault(.vocabularyValue) }
                try tree.string(unescaped.span, isLast: true)
            case .string: try tree.string(text.span, isLast: true)
            case .number:
                // White space around a number or a boolean is not part of it (XML Schema Part 2, whiteSpace).
                let text = self.text.span.trimmedOfXMLSpace()
                guard text.count <= limits.number else {
                    throw ConversionError.limit("number", of: limits.number, what: "a number").at(pointer: path.text())
                }
                guard NumberText(text) != nil else { throw fault(.vocabularyValue) }
                try tree.number(text)
            case .boolean: try tree.bool(flag(text.span))
            case .null:
                guard text.isEmpty else { throw fault(.vocabularyValue) }
                try tree.null()
            }
            text.removeAll()
            path.pop()
        }

        /// Whether the attribute declares the prefix at hand: "xmlns:p" does "p:", "xmlns" the one that isn't there.
        private func declaresPrefix(_ attribute: Span<UInt8>) -> Bool {
            guard attribute.count > 6 else { return prefix.isEmpty }
            return attribute.count == 5 + prefix.count
                && attribute.extracting(6..<attribute.count).isEqual(to: prefix.slice(0..<prefix.count - 1))
        }

        /// Does what the start tag says, now that its attributes are known.
        private mutating func settle(_ tree: inout Tree) throws(ConversionError) {
            guard isStarting else { return }
            isStarting = false
            guard hasVocabulary, let kind = Self.kind(path.last, prefix: prefix) else { throw fault(.vocabulary) }
            guard !isEscaped || kind == .string else { throw fault(.vocabulary) }
            guard hasKey == (frames.last?.kind == .map) else { throw fault(.vocabularyKey) }
            if hasKey {
                if keyIsEscaped {
                    guard Self.unescape(key, into: &unescaped) else { throw fault(.vocabularyKey) }
                    swap(&key, &unescaped)
                }
                guard tree.child(of: tree.open, named: key.span) == Tree.none else { throw fault(.vocabularyKey) }
                try tree.key(key.span)
            }
            switch kind {
            case .map: try tree.beginObject()
            case .array: try tree.beginArray()
            default: break
            }
            frames.append(Frame(kind: kind, isEscaped: isEscaped))
        }

        private static func kind(_ name: Span<UInt8>, prefix: ByteStore) -> Kind? {
            guard name.count > prefix.count, name.extracting(0..<prefix.count).isEqual(to: prefix.span) else {
                return nil
            }
            let name = name.extracting(prefix.count..<name.count)
            if name.isEqual(to: "map") { return .map }
            if name.isEqual(to: "array") { return .array }
            if name.isEqual(to: "string") { return .string }
            if name.isEqual(to: "number") { return .number }
            if name.isEqual(to: "boolean") { return .boolean }
            if name.isEqual(to: "null") { return .null }
            return nil
        }

        /// The value of an `xs:boolean`.
        private func flag(_ text: Span<UInt8>) throws(ConversionError) -> Bool {
            let text = text.trimmedOfXMLSpace()
            if text.isEqual(to: "true") || text.isEqual(to: "1") { return true }
            guard text.isEqual(to: "false") || text.isEqual(to: "0") else { throw fault(.vocabularyValue) }
            return false
        }

        private func fault(_ fault: Fault) -> ConversionError { fault.error(pointer: path.text()) }

        /// Replaces JSON's escapes; false where one is none, or half of a surrogate pair. Quotation marks and controls stand for
        /// themselves here.
        private static func unescape(_ text: ByteStore, into result: inout ByteStore) -> Bool {
            result.removeAll()
            var at = 0
            while true {
                at = result.append(textUnescaping: text.span, from: at, to: text.count).end
                guard at < text.count else { return true }
                guard text[at] != UInt8(ascii: "\\") else { return false }
                result.append(text[at])
                at += 1
            }
        }
    }
}
