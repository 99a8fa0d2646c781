internal import Octets

/// A text without one kind of escapes, which knows where each of its bytes stands in the text that it was made of.
struct PlainText {
    /// How a text spells characters that would mean something in it.
    enum Spelling {
        /// `%22`; a plus stands for itself.
        case percent
        /// As `percent`, with a plus for a space.
        case form
        /// `\"`, `\u0022`.
        case json
        /// `&quot;`, `&#34;`, `&#x22;`.
        case markup

        /// With which an escape begins.
        var mark: UInt8 {
            switch self {
            case .percent, .form: UInt8(ascii: "%")
            case .json: UInt8(ascii: "\\")
            case .markup: UInt8(ascii: "&")
            }
        }

        /// What stands in such a text for a byte that is put into it.
        func spelled(_ byte: UInt8) -> [UInt8] {
            switch (self, byte) {
            case (.percent, UInt8(ascii: "\"")), (.form, UInt8(ascii: "\"")): Array("%22".utf8)
            case (.percent, UInt8(ascii: "\\")), (.form, UInt8(ascii: "\\")): Array("%5C".utf8)
            case (.percent, UInt8(ascii: "&")), (.form, UInt8(ascii: "&")): Array("%26".utf8)
            case (.percent, UInt8(ascii: "%")), (.form, UInt8(ascii: "%")): Array("%25".utf8)
            case (.json, UInt8(ascii: "\"")), (.json, UInt8(ascii: "\\")): [UInt8(ascii: "\\"), byte]
            case (.markup, UInt8(ascii: "\"")): Array("&quot;".utf8)
            case (.markup, UInt8(ascii: "&")): Array("&amp;".utf8)
            default: [byte]
            }
        }
    }

    private(set) var bytes: [UInt8] = []
    /// Where that begins by which a byte is spelled. There is one more than bytes: where the text ends.
    private(set) var places: [Int32] = []

    /// - Parameter spelling: nil: the text as it stands.
    init(_ text: ArraySlice<UInt8>, without spelling: Spelling?) {
        bytes.reserveCapacity(text.count)
        places.reserveCapacity(text.count + 1)
        let mark = spelling?.mark
        var at = text.startIndex
        while at < text.endIndex {
            let start = at
            if text[at] == mark, let length = readEscape(text[at...]) {
                at += length
            } else {
                bytes.append(spelling == .form && text[at] == UInt8(ascii: "+") ? ASCII.space : text[at])
                at += 1
            }
            while places.count < bytes.count { places.append(Int32(start - text.startIndex)) }
        }
        places.append(Int32(text.count))
    }

    /// The text as it stands, and without the escapes that it has, also those inside of others: JSON within a form, say. Of all of them
    /// the places are those of `text`.
    static func all(of text: [UInt8]) -> [PlainText] {
        var all = [PlainText(text[...], without: nil)]
        var index = 0
        while index < all.count, all.count < allLimit {
            for spelling in [Spelling.percent, .json, .markup] where all[index].bytes.contains(spelling.mark) {
                var plain = PlainText(all[index].bytes[...], without: spelling)
                // Each escape is longer than what it stands for.
                guard plain.bytes.count < all[index].bytes.count, !all.contains(where: { $0.bytes == plain.bytes })
                else { continue }
                for place in plain.places.indices {
                    plain.places[place] = all[index].places[Int(plain.places[place])]
                }
                all.append(plain)
            }
            index += 1
        }
        return all
    }

    /// Readings of a text at most: with as many, each kind of escapes may stand in each other one.
    private static let allLimit = 16

    // MARK: Escapes

    /// Appends what the escape stands for with which `text` begins, and gives its length; nil where it is none.
    private mutating func readEscape(_ text: ArraySlice<UInt8>) -> Int? {
        switch text.first {
        case UInt8(ascii: "%"): readPercent(text)
        case UInt8(ascii: "\\"): readBackslash(text)
        default: readEntity(text)
        }
    }

    private mutating func readPercent(_ text: ArraySlice<UInt8>) -> Int? {
        guard let code = Self.number(text.dropFirst().prefix(2), radix: 16, digits: 2) else { return nil }
        bytes.append(UInt8(code))
        return 3
    }

    private mutating func readBackslash(_ text: ArraySlice<UInt8>) -> Int? {
        guard let next = text.dropFirst().first else { return nil }
        switch next {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): bytes.append(next)
        case UInt8(ascii: "b"): bytes.append(0x08)
        case UInt8(ascii: "f"): bytes.append(0x0C)
        case UInt8(ascii: "n"): bytes.append(ASCII.lineFeed)
        case UInt8(ascii: "r"): bytes.append(ASCII.carriageReturn)
        case UInt8(ascii: "t"): bytes.append(ASCII.tab)
        case UInt8(ascii: "u"):
            guard let unit = Self.number(text.dropFirst(2).prefix(4), radix: 16, digits: 4) else { return nil }
            if let scalar = Unicode.Scalar(unit) {
                bytes += String(scalar).utf8
                return 6
            }
            // A character beyond 16 bits is two escapes.
            guard text.dropFirst(6).starts(with: "\\u".utf8), unit < 0xDC00,
                let low = Self.number(text.dropFirst(8).prefix(4), radix: 16, digits: 4), 0xDC00..<0xE000 ~= low,
                let scalar = Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
            else { return nil }
            bytes += String(scalar).utf8
            return 12
        default: return nil
        }
        return 2
    }

    private static let entities: [(name: String, byte: UInt8)] = [
        ("amp;", UInt8(ascii: "&")), ("lt;", UInt8(ascii: "<")), ("gt;", UInt8(ascii: ">")),
        ("quot;", UInt8(ascii: "\"")), ("apos;", UInt8(ascii: "'")),
    ]

    private mutating func readEntity(_ text: ArraySlice<UInt8>) -> Int? {
        let rest = text.dropFirst()
        if let entity = Self.entities.first(where: { rest.starts(with: $0.name.utf8) }) {
            bytes.append(entity.byte)
            return 1 + entity.name.utf8.count
        }
        guard rest.first == UInt8(ascii: "#") else { return nil }
        let isHex = (rest.dropFirst().first ?? 0) | 0x20 == UInt8(ascii: "x")
        let digits = rest.dropFirst(isHex ? 2 : 1).prefix(10).prefix { $0 != UInt8(ascii: ";") }
        guard digits.endIndex < text.endIndex, text[digits.endIndex] == UInt8(ascii: ";"),
            let code = Self.number(digits, radix: isHex ? 16 : 10, digits: digits.count),
            let scalar = Unicode.Scalar(code)
        else { return nil }
        bytes += String(scalar).utf8
        return digits.endIndex + 1 - text.startIndex
    }

    /// The number that exactly so many digits write.
    private static func number(_ text: ArraySlice<UInt8>, radix: UInt32, digits: Int) -> UInt32? {
        guard text.count == digits, digits > 0 else { return nil }
        var number: UInt32 = 0
        for byte in text {
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"):
                digit = (byte | 0x20) - UInt8(ascii: "a") + 10
            default: return nil
            }
            guard digit < radix, number < 0x1000_0000 else { return nil }
            number = number * radix + UInt32(digit)
        }
        return number
    }
}
