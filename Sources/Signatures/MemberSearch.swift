internal import Octets

/// Looks members of a JSON text up (RFC 8259), and steps over all else: however long, deep or frequent it is, nothing of it is held but a
/// bit for each open container. A text that isn't asked for may be no Unicode, for whoever signed it didn't ask either.
enum MemberSearch {
    /// The texts of the strings and numbers at these pointers (RFC 6901), by pointer; without those that aren't there, or are something
    /// else.
    ///
    /// Throws `body` for what is no JSON text, or where one of the strings is no Unicode, and `duplicated` for a member on the way that
    /// its object has twice: which one is meant can't be known.
    ///
    /// - Parameter isCaseless: whether a member of the root whose name differs from one that is asked for in the case of its letters alone
    ///   is a `body`, too. Go's encoding/json and .NET's Web defaults take it for that one: where the members that are asked for are all
    ///   that is signed, anybody could add it.
    static func texts(
        at pointers: [String], in json: Span<UInt8>, isCaseless: Bool = false
    ) throws(SignatureError) -> [String: [UInt8]] {
        var found: [String: [UInt8]] = [:]
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        var at = json.count >= 3 && json.extracting(0..<3).isEqual(to: mark.span) ? 3 : 0
        skipBlanks(json, &at)
        if at < json.count, json[at] == UInt8(ascii: "{") {
            let wanted: [Wanted] = pointers.map { ($0, names(of: $0)[...]) }
            try searchObject(json, &at, wanted, isCaseless: isCaseless, &found)
        } else {
            try skipValue(json, &at)
        }
        skipBlanks(json, &at)
        guard at == json.count else { throw .body }
        return found
    }

    /// The pointer to a member of the root.
    static func pointer(to name: String) -> String {
        "/" + name.replacing("~", with: "~0").replacing("/", with: "~1")
    }

    private typealias Wanted = (pointer: String, names: ArraySlice<[UInt8]>)

    private static func names(of pointer: String) -> [[UInt8]] {
        pointer.split(separator: "/").map { Array($0.replacing("~1", with: "/").replacing("~0", with: "~").utf8) }
    }

    /// Reads the object that begins at `at`.
    private static func searchObject(
        _ json: Span<UInt8>, _ at: inout Int, _ wanted: [Wanted], isCaseless: Bool = false,
        _ found: inout [String: [UInt8]]
    ) throws(SignatureError) {
        var seen: [[UInt8]] = []
        at += 1
        skipBlanks(json, &at)
        if at < json.count, json[at] == UInt8(ascii: "}") {
            at += 1
            return
        }
        while true {
            let name = try readName(json, &at)
            var here: [Wanted] = []
            for one in wanted where isSame(name, as: one.names.first, in: json) { here.append(one) }
            if isCaseless, here.isEmpty, isLike(name, wanted, in: json) { throw .body }
            if let own = here.first?.names.first {
                guard !seen.contains(own) else { throw .duplicated }
                seen.append(own)
            }
            let inner: [Wanted] = here.filter { $0.names.count > 1 }.map { ($0.pointer, $0.names.dropFirst()) }
            let start = at
            if !inner.isEmpty, at < json.count, json[at] == UInt8(ascii: "{") {
                try searchObject(json, &at, inner, &found)
            } else {
                try skipValue(json, &at)
                for one in here where one.names.count == 1 {
                    if let text = try scalar(json, start..<at) { found[one.pointer] = text }
                }
            }
            skipBlanks(json, &at)
            guard at < json.count else { throw .body }
            let byte = json[at]
            at += 1
            if byte == UInt8(ascii: "}") { return }
            guard byte == UInt8(ascii: ",") else { throw .body }
            skipBlanks(json, &at)
        }
    }

    /// The text of a string or a number that stands there; nil of any other value.
    private static func scalar(_ json: Span<UInt8>, _ range: Range<Int>) throws(SignatureError) -> [UInt8]? {
        switch json[range.lowerBound] {
        case UInt8(ascii: "\""):
            guard let text = unescaped(json, (range.lowerBound + 1)..<(range.upperBound - 1)),
                UTF8Validator.isValid(text.span)
            else { throw .body }
            return text
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return json.extracting(range).copied()
        default: return nil
        }
    }

    private static func isSame(_ name: Range<Int>, as wanted: [UInt8]?, in json: Span<UInt8>) -> Bool {
        guard let wanted else { return false }
        let written = json.extracting(name)
        if written.isEqual(to: wanted.span) { return true }
        // Each character is written in six bytes at most.
        guard name.count <= 6 * wanted.count,
            Scan.firstIndex(of: UInt8(ascii: "\\"), in: written, from: 0) != nil
        else { return false }
        return unescaped(json, name) == wanted
    }

    /// Whether a name is one of those that are wanted to whoever reads letters in either case, with the two beyond ASCII that Unicode folds
    /// to one of ASCII (U+017F to `s`, U+212A to `k`).
    private static func isLike(_ name: Range<Int>, _ wanted: [Wanted], in json: Span<UInt8>) -> Bool {
        let written = json.extracting(name)
        let run = Scan.textRun(in: written, from: 0)
        guard run.end < written.count || !run.isASCII else {
            return wanted.contains { one in
                one.names.first.map { written.isEqualIgnoringCase(to: $0.span) } == true
            }
        }
        // Each character is written in six bytes at most.
        let longest = wanted.reduce(0) { max($0, $1.names.first?.count ?? 0) }
        guard name.count <= 6 * longest, let text = unescaped(json, name) else { return false }
        let folded = folded(text)
        return wanted.contains { one in
            one.names.first.map { folded.span.isEqualIgnoringCase(to: $0.span) } == true
        }
    }

    /// UTF-8 with those two letters as the ones of ASCII.
    private static func folded(_ text: [UInt8]) -> [UInt8] {
        String(decoding: text, as: UTF8.self).unicodeScalars.flatMap { scalar -> [UInt8] in
            switch scalar {
            case "\u{17F}": [UInt8(ascii: "s")]
            case "\u{212A}": [UInt8(ascii: "k")]
            default: Array(String(Character(scalar)).utf8)
            }
        }
    }

    // MARK: Texts

    /// What a string's inside stands for; nil where half of a surrogate pair is in it. Its escapes have been looked at.
    private static func unescaped(_ json: Span<UInt8>, _ range: Range<Int>) -> [UInt8]? {
        var text: [UInt8] = []
        text.reserveCapacity(range.count)
        var at = range.lowerBound
        while at < range.upperBound {
            let byte = json[at]
            guard byte == UInt8(ascii: "\\") else {
                text.append(byte)
                at += 1
                continue
            }
            let escape = json[at + 1]
            guard escape == UInt8(ascii: "u") else {
                text.append(character(of: escape))
                at += 2
                continue
            }
            var value = unit(json, at + 2)
            at += 6
            if value & 0xFC00 == 0xD800, at + 5 < range.upperBound, json[at] == UInt8(ascii: "\\"),
                json[at + 1] == UInt8(ascii: "u")
            {
                let other = unit(json, at + 2)
                if other & 0xFC00 == 0xDC00 {
                    value = 0x10000 + (value & 0x3FF) << 10 + other & 0x3FF
                    at += 6
                }
            }
            guard let scalar = Unicode.Scalar(value) else { return nil }
            text.append(contentsOf: Array(String(Character(scalar)).utf8))
        }
        return text
    }

    /// What an escape of one letter stands for.
    private static func character(of escape: UInt8) -> UInt8 {
        switch escape {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): ASCII.lineFeed
        case UInt8(ascii: "r"): ASCII.carriageReturn
        case UInt8(ascii: "t"): ASCII.tab
        default: escape
        }
    }

    private static func unit(_ json: Span<UInt8>, _ start: Int) -> UInt32 {
        var value: UInt32 = 0
        for at in start..<start + 4 { value = value << 4 | UInt32(ASCII.hexValue(json[at]) ?? 0) }
        return value
    }

    // MARK: Steps

    private static func skipBlanks(_ json: Span<UInt8>, _ at: inout Int) {
        at = Scan.endOfWhitespace(in: json, from: at)
    }

    /// Steps over a member's name, the colon behind it and the blanks around that. Returns the inside of the name.
    private static func readName(_ json: Span<UInt8>, _ at: inout Int) throws(SignatureError) -> Range<Int> {
        let start = at + 1
        try skipString(json, &at)
        let name = start..<at - 1
        skipBlanks(json, &at)
        guard at < json.count, json[at] == UInt8(ascii: ":") else { throw .body }
        at += 1
        skipBlanks(json, &at)
        return name
    }

    private static func skipString(_ json: Span<UInt8>, _ at: inout Int) throws(SignatureError) {
        guard at < json.count, json[at] == UInt8(ascii: "\"") else { throw .body }
        at += 1
        while true {
            at = Scan.textRun(in: json, from: at).end
            guard at < json.count else { throw .body }
            if json[at] == UInt8(ascii: "\"") {
                at += 1
                return
            }
            guard json[at] == UInt8(ascii: "\\"), at + 1 < json.count else { throw .body }
            switch json[at + 1] {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
                UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
                at += 2
            case UInt8(ascii: "u"):
                guard at + 5 < json.count else { throw .body }
                for digit in at + 2..<at + 6 where ASCII.hexValue(json[digit]) == nil { throw .body }
                at += 6
            default: throw .body
            }
        }
    }

    /// Steps over the value that begins at `at`, without a call for each container in another.
    private static func skipValue(_ json: Span<UInt8>, _ at: inout Int) throws(SignatureError) {
        var open = Containers()
        while true {
            guard at < json.count else { throw .body }
            let byte = json[at]
            if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
                let isObject = byte == UInt8(ascii: "{")
                at += 1
                skipBlanks(json, &at)
                guard at < json.count else { throw .body }
                if json[at] == end(ofObject: isObject) {
                    at += 1
                } else {
                    open.push(isObject)
                    if isObject { _ = try readName(json, &at) }
                    continue
                }
            } else {
                try skipScalar(json, &at)
            }
            // Behind a value: the ends of what it was the last of, then what follows.
            while true {
                guard let isObject = open.innermostIsObject else { return }
                skipBlanks(json, &at)
                guard at < json.count else { throw .body }
                let byte = json[at]
                at += 1
                if byte == end(ofObject: isObject) {
                    open.pop()
                    continue
                }
                guard byte == UInt8(ascii: ",") else { throw .body }
                skipBlanks(json, &at)
                if isObject { _ = try readName(json, &at) }
                break
            }
        }
    }

    private static func end(ofObject isObject: Bool) -> UInt8 { isObject ? UInt8(ascii: "}") : UInt8(ascii: "]") }

    private static func skipScalar(_ json: Span<UInt8>, _ at: inout Int) throws(SignatureError) {
        switch json[at] {
        case UInt8(ascii: "\""): try skipString(json, &at)
        case UInt8(ascii: "t"): try skipWord(json, &at, "true")
        case UInt8(ascii: "f"): try skipWord(json, &at, "false")
        case UInt8(ascii: "n"): try skipWord(json, &at, "null")
        default: try skipNumber(json, &at)
        }
    }

    private static func skipWord(
        _ json: Span<UInt8>, _ at: inout Int, _ word: StaticString
    ) throws(SignatureError) {
        let end = at + word.utf8CodeUnitCount
        guard end <= json.count, json.extracting(at..<end).isEqual(to: word) else { throw .body }
        at = end
    }

    private static func skipNumber(_ json: Span<UInt8>, _ at: inout Int) throws(SignatureError) {
        if json[at] == UInt8(ascii: "-") { at += 1 }
        let start = at
        try skipDigits(json, &at)
        guard json[start] != UInt8(ascii: "0") || at == start + 1 else { throw .body }
        if at < json.count, json[at] == UInt8(ascii: ".") {
            at += 1
            try skipDigits(json, &at)
        }
        if at < json.count, json[at] | 0x20 == UInt8(ascii: "e") {
            at += 1
            if at < json.count, json[at] == UInt8(ascii: "+") || json[at] == UInt8(ascii: "-") { at += 1 }
            try skipDigits(json, &at)
        }
    }

    private static func skipDigits(_ json: Span<UInt8>, _ at: inout Int) throws(SignatureError) {
        let end = Scan.endOfDigits(in: json, from: at, to: json.count)
        guard end > at else { throw .body }
        at = end
    }
}

/// Which containers are open: a bit for each, whether it is an object.
private struct Containers {
    private var words: [UInt64] = []
    private var count = 0

    var innermostIsObject: Bool? {
        count == 0 ? nil : words[(count - 1) >> 6] >> UInt64((count - 1) & 63) & 1 == 1
    }

    mutating func push(_ isObject: Bool) {
        if count >> 6 == words.count { words.append(0) }
        let bit: UInt64 = 1 << UInt64(count & 63)
        if isObject { words[count >> 6] |= bit } else { words[count >> 6] &= ~bit }
        count += 1
    }

    mutating func pop() { count -= 1 }
}
