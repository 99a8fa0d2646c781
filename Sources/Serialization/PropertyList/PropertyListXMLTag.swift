internal import Octets

extension PropertyList.XMLReader {
    /// A start or end tag of an element that a property list has.
    struct Tag {
        enum Outcome {
            case tag(Tag)
            case fault(PropertyList.Fault)
        }

        var element: Element
        var isEnd: Bool
        /// Whether it is `<name/>`.
        var isEmpty: Bool

        /// Reads what stands between `<` and `>`.
        static func read(_ text: Span<UInt8>) -> Outcome {
            let isEnd = text.count > 0 && text[0] == UInt8(ascii: "/")
            let start = isEnd ? 1 : 0
            var end = start
            while end < text.count, !text[end].isXMLSpace, text[end] != UInt8(ascii: "/") { end += 1 }
            guard end > start else { return .fault(.invalidMarkup) }
            guard let element = Element(text.extracting(start..<end)) else { return .fault(.unknownElement) }
            if end == text.count { return .tag(Tag(element: element, isEnd: isEnd, isEmpty: false)) }
            var rest = text.extracting(end..<text.count)
            let isEmpty = !isEnd && rest[rest.count - 1] == UInt8(ascii: "/")
            if isEmpty { rest = rest.extracting(droppingLast: 1) }
            rest = rest.trimmedOfXMLSpace()
            if rest.count > 0 {
                guard !isEnd, text[end].isXMLSpace else { return .fault(.invalidMarkup) }
                var attributes = Attributes(rest)
                guard element == .plist, attributes.takes("version", value: "1.0"), attributes.isAtEnd else {
                    return .fault(.attribute)
                }
            }
            return .tag(Tag(element: element, isEnd: isEnd, isEmpty: isEmpty))
        }
    }

    /// Goes through `name="value"` pairs that are known beforehand.
    struct Attributes: ~Escapable {
        private let text: Span<UInt8>
        private var at = 0

        @_lifetime(copy text)
        init(_ text: Span<UInt8>) {
            self.text = text
        }

        var isAtEnd: Bool { at == text.count }

        /// Takes the attribute `name` with `value`, in lower case where `ignoringCase`. Returns false where something else
        /// stands here; the place is then undefined.
        @_lifetime(self: copy self)
        mutating func takes(_ name: StaticString, value: StaticString, ignoringCase: Bool = false) -> Bool {
            guard let found = takeValue(of: name) else { return false }
            let span = text.extracting(found)
            return ignoringCase ? span.isEqualIgnoringCase(to: value) : span.isEqual(to: value)
        }

        /// Takes the attribute `name` and returns where its value stands; nil where something else stands here.
        @_lifetime(self: copy self)
        mutating func takeValue(of name: StaticString) -> Range<Int>? {
            let start = at
            skipSpace()
            // White space must stand between two attributes.
            guard start == 0 || at > start else { return nil }
            let nameEnd = at + name.utf8CodeUnitCount
            guard nameEnd < text.count, text.extracting(at..<nameEnd).isEqual(to: name) else {
                at = start
                return nil
            }
            at = nameEnd
            skipSpace()
            guard at < text.count, text[at] == UInt8(ascii: "=") else { return nil }
            at += 1
            skipSpace()
            guard at < text.count, text[at] == UInt8(ascii: "\"") || text[at] == UInt8(ascii: "'"),
                let end = Scan.firstIndex(of: text[at], in: text, from: at + 1)
            else { return nil }
            let value = at + 1..<end
            at = end + 1
            return value
        }

        @_lifetime(self: copy self)
        mutating func skipSpace() {
            while at < text.count, text[at].isXMLSpace { at += 1 }
        }

        /// The value at `range`.
        @_lifetime(copy self)
        func value(_ range: Range<Int>) -> Span<UInt8> { text.extracting(range) }
    }
}

extension PropertyList.XMLReader.Element {
    @inline(__always)
    init?(_ name: Span<UInt8>) {
        switch name.count {
        case 3 where name.isEqual(to: "key"): self = .key
        case 4:
            if name.isEqual(to: "dict") {
                self = .dict
            } else if name.isEqual(to: "true") {
                self = .yes
            } else if name.isEqual(to: "real") {
                self = .real
            } else if name.isEqual(to: "date") {
                self = .date
            } else if name.isEqual(to: "data") {
                self = .data
            } else {
                return nil
            }
        case 5:
            if name.isEqual(to: "array") {
                self = .array
            } else if name.isEqual(to: "false") {
                self = .no
            } else if name.isEqual(to: "plist") {
                self = .plist
            } else {
                return nil
            }
        case 6 where name.isEqual(to: "string"): self = .string
        case 7 where name.isEqual(to: "integer"): self = .integer
        default: return nil
        }
    }
}
