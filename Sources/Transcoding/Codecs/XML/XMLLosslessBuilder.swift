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
        private var attribute = ByteStore()
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

        internal var isOpen: Bool { !frames.isEmpty || isStarting }

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

        internal mutating func beginAttribute(_ name: Span<UInt8>) {
            attribute.removeAll()
            attribute.append(contentsOf: name)
        }

        internal mutating func endAttribute(_ value: Span<UInt8>) throws(ConversionError) {
            if attribute.span.isEqual(to: "key") {
                guard value.count <= limits.key else {
                    throw .limit("key", of: limits.key, what: "a key", field: path.text())
                }
                hasKey = true
                key.removeAll()
                key.append(contentsOf: value)
            } else if attribute.span.isEqual(to: "escaped") {
                isEscaped = try flag(value)
            } else if attribute.span.isEqual(to: "escaped-key") {
                keyIsEscaped = try flag(value)
            } else if attribute.span.isNamespaceDeclaration {
                guard declaresPrefix else { return }
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
                throw .limit("field", of: limits.field, what: "a value", field: path.text())
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
                let text = trimmed(self.text.span)
                guard text.count <= limits.number else {
                    throw .limit("number", of: limits.number, what: "a number", field: path.text())
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

        /// Whether the attribute at hand declares the prefix at hand: "xmlns:p" does "p:", "xmlns" the one that isn't
        /// there.
        private var declaresPrefix: Bool {
            guard attribute.count > 6 else { return prefix.isEmpty }
            return attribute.count == 5 + prefix.count
                && attribute.slice(6..<attribute.count).isEqual(to: prefix.slice(0..<prefix.count - 1))
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
            let text = trimmed(text)
            if text.isEqual(to: "true") || text.isEqual(to: "1") { return true }
            guard text.isEqual(to: "false") || text.isEqual(to: "0") else { throw fault(.vocabularyValue) }
            return false
        }

        /// White space around a number or a boolean is not part of it (XML Schema Part 2, whiteSpace).
        @_lifetime(copy text)
        private func trimmed(_ text: Span<UInt8>) -> Span<UInt8> {
            var (start, end) = (0, text.count)
            while start < end, Self.isSpace(text[start]) { start += 1 }
            while end > start, Self.isSpace(text[end - 1]) { end -= 1 }
            return text.extracting(start..<end)
        }

        private static func isSpace(_ byte: UInt8) -> Bool {
            byte == ASCII.space || byte == ASCII.tab || byte == ASCII.carriageReturn || byte == ASCII.lineFeed
        }

        private func fault(_ fault: Fault) -> ConversionError { fault.error(field: path.text()) }

        /// Replaces JSON's escapes; false where one is none, or half of a surrogate pair.
        private static func unescape(_ text: ByteStore, into result: inout ByteStore) -> Bool {
            result.removeAll()
            var at = 0
            while at < text.count {
                let byte = text[at]
                at += 1
                guard byte == UInt8(ascii: "\\") else {
                    result.append(byte)
                    continue
                }
                guard at < text.count else { return false }
                let letter = text[at]
                at += 1
                switch letter {
                case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): result.append(letter)
                case UInt8(ascii: "b"): result.append(0x08)
                case UInt8(ascii: "f"): result.append(0x0C)
                case UInt8(ascii: "n"): result.append(0x0A)
                case UInt8(ascii: "r"): result.append(0x0D)
                case UInt8(ascii: "t"): result.append(0x09)
                case UInt8(ascii: "u"):
                    guard var value = unit(text, at: &at) else { return false }
                    if (0xD800...0xDBFF).contains(value) {
                        guard at + 2 <= text.count, text[at] == UInt8(ascii: "\\"), text[at + 1] == UInt8(ascii: "u")
                        else { return false }
                        at += 2
                        guard let low = unit(text, at: &at), (0xDC00...0xDFFF).contains(low) else { return false }
                        value = 0x10000 + (value - 0xD800) << 10 + (low - 0xDC00)
                    }
                    guard let scalar = Unicode.Scalar(value) else { return false }
                    for byte in UTF8.encode(scalar)! { result.append(byte) }
                default: return false
                }
            }
            return true
        }

        /// Four hexadecimal digits.
        private static func unit(_ text: ByteStore, at: inout Int) -> UInt32? {
            guard at + 4 <= text.count else { return nil }
            var value: UInt32 = 0
            for _ in 0..<4 {
                guard let digit = ASCII.hexValue(text[at]) else { return nil }
                value = value << 4 | UInt32(digit)
                at += 1
            }
            return value
        }
    }
}
