internal import Octets

extension PropertyList.XMLElements {
    /// Whether it is `plist PUBLIC` with Apple's public identifier of either spelling, and Apple's address.
    static func isAppleDocumentType(_ text: Span<UInt8>) -> Bool {
        var at = 0
        /// Where the next word stands, which white space separates from the one before.
        func next(isQuoted: Bool) -> Range<Int>? {
            let start = Scan.endOfWhitespace(in: text, from: at)
            guard start > at, start < text.count else { return nil }
            at = start
            guard isQuoted else {
                while at < text.count, !text[at].isXMLSpace { at += 1 }
                return start..<at
            }
            guard text[start] == UInt8(ascii: "\"") || text[start] == UInt8(ascii: "'"),
                let end = Scan.firstIndex(of: text[start], in: text, from: start + 1)
            else { return nil }
            at = end + 1
            return start + 1..<end
        }
        func isWord(_ word: Range<Int>, _ other: StaticString) -> Bool { text.extracting(word).isEqual(to: other) }
        guard let name = next(isQuoted: false), isWord(name, "plist"), let kind = next(isQuoted: false),
            isWord(kind, "PUBLIC"), let identifier = next(isQuoted: true), let address = next(isQuoted: true),
            Scan.endOfWhitespace(in: text, from: at) == text.count
        else { return false }
        return
            (isWord(identifier, "-//Apple//DTD PLIST 1.0//EN")
            || isWord(identifier, "-//Apple Computer//DTD PLIST 1.0//EN"))
            && (isWord(address, "http://www.apple.com/DTDs/PropertyList-1.0.dtd")
                || isWord(address, "https://www.apple.com/DTDs/PropertyList-1.0.dtd"))
    }
}
