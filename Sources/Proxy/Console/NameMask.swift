/// Which names of fields stand before values that nobody is shown: those that hold one of some words, whatever their case and what
/// stands between words: `token` is in `access_token`, `X-Csrf-Token` and `accessToken`.
struct NameMask: Sendable {
    private let words: [[UInt8]]

    /// What stands in a value's place.
    static let replacement: StaticString = "***"

    init(_ words: [String]) {
        self.words = words.map { Self.letters(of: Array($0.utf8).span) }.filter { !$0.isEmpty }
    }

    var isEmpty: Bool { words.isEmpty }

    /// With words of which one is a whole name.
    func adding(_ names: [String]) -> NameMask { names.isEmpty ? self : NameMask(names, behind: words) }

    private init(_ names: [String], behind words: [[UInt8]]) {
        self.words = words + names.map { Self.letters(of: Array($0.utf8).span) }.filter { !$0.isEmpty }
    }

    func holds(_ name: Span<UInt8>) -> Bool {
        let letters = Self.letters(of: name)
        return words.contains { Self.contains(letters, $0) }
    }

    func holds(_ name: String) -> Bool { holds(Array(name.utf8).span) }

    /// Lower-case letters and digits; what isn't ASCII stays as it is.
    private static func letters(of name: Span<UInt8>) -> [UInt8] {
        var letters: [UInt8] = []
        letters.reserveCapacity(name.count)
        for index in 0..<name.count {
            let byte = name[index]
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): letters.append(byte | 0x20)
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...:
                letters.append(byte)
            default: break
            }
        }
        return letters
    }

    private static func contains(_ text: [UInt8], _ word: [UInt8]) -> Bool {
        guard text.count >= word.count else { return false }
        for start in 0...(text.count - word.count) where text[start..<start + word.count].elementsEqual(word) {
            return true
        }
        return false
    }
}
