internal import Octets

extension PropertyList.XMLElements {
    /// Whether it is `plist PUBLIC` with Apple's public identifier of either spelling, and Apple's address.
    static func isAppleDocumentType(_ text: Span<UInt8>) -> Bool {
        var words = Words(text)
        guard let name = words.next(), words.value(name).isEqual(to: "plist"), let kind = words.next(),
            words.value(kind).isEqual(to: "PUBLIC"), let identifier = words.nextQuoted(),
            let address = words.nextQuoted(), words.isAtEnd
        else { return false }
        return
            (words.value(identifier).isEqual(to: "-//Apple//DTD PLIST 1.0//EN")
            || words.value(identifier).isEqual(to: "-//Apple Computer//DTD PLIST 1.0//EN"))
            && (words.value(address).isEqual(to: "http://www.apple.com/DTDs/PropertyList-1.0.dtd")
                || words.value(address).isEqual(to: "https://www.apple.com/DTDs/PropertyList-1.0.dtd"))
    }

    /// Goes through words that white space separates.
    private struct Words: ~Escapable {
        private let text: Span<UInt8>
        private var at = 0

        @_lifetime(copy text)
        init(_ text: Span<UInt8>) { self.text = text }

        var isAtEnd: Bool { text.extracting(at..<text.count).trimmedOfXMLSpace().isEmpty }

        @_lifetime(copy self)
        func value(_ range: Range<Int>) -> Span<UInt8> { text.extracting(range) }

        @_lifetime(self: copy self)
        private mutating func skipSpace() -> Bool {
            let start = at
            while at < text.count, text[at].isXMLSpace { at += 1 }
            return at > start
        }

        @_lifetime(self: copy self)
        mutating func next() -> Range<Int>? {
            guard skipSpace() else { return nil }
            let start = at
            while at < text.count, !text[at].isXMLSpace { at += 1 }
            return start..<at
        }

        @_lifetime(self: copy self)
        mutating func nextQuoted() -> Range<Int>? {
            guard skipSpace(), at < text.count, text[at] == UInt8(ascii: "\"") || text[at] == UInt8(ascii: "'"),
                let end = Scan.firstIndex(of: text[at], in: text, from: at + 1)
            else { return nil }
            defer { at = end + 1 }
            return at + 1..<end
        }
    }
}
