internal import Octets

/// Which names of fields stand before values that nobody is shown: those that hold one of some words, whatever their case and what
/// stands between words: `token` is in `access_token`, `X-Csrf-Token` and `accessToken`.
struct NameMask: Sendable {
    private let words: [[UInt8]]
    /// The letters of names that are masked besides, whole or as the last step of a path.
    private let names: Set<[UInt8]>
    /// Names of fields of heads, in lower case, that are masked besides, as what the settings say of them tells.
    private let fields: Set<String>

    /// What stands in a value's place.
    static let replacement: StaticString = "***"

    init(_ words: [String]) {
        self.words = words.map { Self.letters(of: Array($0.utf8).span) }.filter { !$0.isEmpty }
        names = []
        fields = []
    }

    var isEmpty: Bool { words.isEmpty }

    /// With names, which are masked where they stand alone or at the end of a path (`user[pw]`), and with fields of heads.
    func adding(_ names: [String], fields: [String]) -> NameMask {
        isEmpty || names.isEmpty && fields.isEmpty ? self : NameMask(names, fields, to: self)
    }

    private init(_ names: [String], _ fields: [String], to mask: NameMask) {
        words = mask.words
        self.names = mask.names.union(names.map { Self.letters(of: Array($0.utf8).span) }.filter { !$0.isEmpty })
        self.fields = mask.fields.union(fields.map { $0.lowercased() })
    }

    /// Whether a head's field of that name is masked.
    func isSecret(field name: String) -> Bool { fields.contains(name.lowercased()) || holds(name) }

    func holds(_ name: Span<UInt8>) -> Bool {
        let letters = Self.letters(of: name)
        if words.contains(where: { Self.contains(letters, $0) }) { return true }
        return !names.isEmpty && (names.contains(letters) || names.contains(Self.lastStep(of: name)))
    }

    /// The letters of the last name in `user[pw][]`, `list[0].pw` and `ns:pw`.
    private static func lastStep(of name: Span<UInt8>) -> [UInt8] {
        var steps = name.copied().split { "[].:/".utf8.contains($0) }
        while steps.count > 1, steps.last?.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) == true
        {
            steps.removeLast()
        }
        return letters(of: Array(steps.last ?? []).span)
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
