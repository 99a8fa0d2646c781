internal import Gateway
internal import Octets
internal import Transcoding

/// A body, or its beginning, with what stands in the place of values that nobody is shown.
///
/// It reads no more of an encoding than where names and values stand, so that what is malformed or cut is shown as far as it goes,
/// byte for byte but for those values.
struct BodyMask {
    private let mask: NameMask
    private let bytes: [UInt8]
    /// The body with the replacements, as far as it is done.
    private(set) var output: [UInt8] = []
    /// Values that were replaced.
    private(set) var count = 0
    /// Those that are long enough to be looked for elsewhere.
    private(set) var values: [[UInt8]] = []
    private var at = 0

    /// Bytes of a value from which on it is looked for in other messages, too: a shorter one would be found where it isn't.
    static let telling = 6

    private init(_ bytes: [UInt8], _ mask: NameMask) {
        self.bytes = bytes
        self.mask = mask
        output.reserveCapacity(bytes.count)
    }

    /// Masks `bytes`, whose type is `type`. `isShown` is false where a type hides its names, so that nothing of it can be shown.
    static func apply(_ mask: NameMask, to bytes: [UInt8], type: String) -> (masked: BodyMask, isShown: Bool) {
        var body = BodyMask(bytes, mask)
        guard !mask.isEmpty else {
            body.copy(to: bytes.count)
            return (body, true)
        }
        let essence = type.prefix { $0 != ";" }.lowercased().trimmed
        if essence == BodyEncoding.form.mediaType {
            body.maskForm()
        } else if essence.hasPrefix("multipart/") {
            guard let boundary = parameter("boundary", of: type) else { return (body, false) }
            body.maskMultipart(boundary: boundary)
        } else if bytes.starts(with: Array("bplist".utf8)) {
            return (body, false)
        } else {
            switch body.first {
            case UInt8(ascii: "<"): body.maskMarkup()
            case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "\""): body.maskJSON()
            default: body.maskLines()
            }
        }
        body.copy(to: bytes.count)
        return (body, true)
    }

    /// Masks the values of a query, or of a form.
    static func query(_ mask: NameMask, _ text: [UInt8]) -> BodyMask {
        var body = BodyMask(text, mask)
        body.maskForm()
        body.copy(to: text.count)
        return body
    }

    /// The first byte that is no white space, behind a byte order mark.
    private var first: UInt8? {
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        return bytes[start...].first { !$0.isWhiteSpace }
    }

    // MARK: Pieces

    private mutating func copy(to end: Int) {
        guard end > at else { return }
        output += bytes[at..<end]
        at = end
    }

    /// Puts the replacement in the place of what follows up to `end`.
    private mutating func hide(to end: Int, quote: UInt8? = nil) {
        guard end > at else { return }
        count += 1
        var value = bytes[at..<end]
        if let quote, value.count > 1, value.first == quote, value.last == quote {
            value = value.dropFirst().dropLast()
        }
        note(Array(value))
        if let quote { output.append(quote) }
        output += "\(NameMask.replacement)".utf8
        if let quote { output.append(quote) }
        at = end
    }

    private mutating func note(_ value: [UInt8]) {
        if value.count >= Self.telling { values.append(value) }
    }

    private func find(_ byte: UInt8, from start: Int) -> Int? { bytes[min(start, bytes.count)...].firstIndex(of: byte) }

    private func find(_ text: [UInt8], from start: Int) -> Int? {
        guard !text.isEmpty, bytes.count >= text.count, start >= 0 else { return nil }
        var start = start
        while let found = find(text[0], from: start), found + text.count <= bytes.count {
            if bytes[found..<found + text.count].elementsEqual(text) { return found }
            start = found + 1
        }
        return nil
    }

    // MARK: Forms

    private mutating func maskForm() {
        var start = at
        while start < bytes.count {
            let end = find(UInt8(ascii: "&"), from: start) ?? bytes.count
            if let equals = bytes[start..<end].firstIndex(of: UInt8(ascii: "=")) {
                var name: [UInt8] = []
                PercentText.decode(bytes[start..<equals].span, plusIsSpace: true, to: &name)
                if mask.holds(name.span) {
                    copy(to: equals + 1)
                    hide(to: end)
                    var value: [UInt8] = []
                    PercentText.decode(bytes[equals + 1..<end].span, plusIsSpace: true, to: &value)
                    note(value)
                }
            }
            start = end + 1
        }
    }

    /// Text with a name and a value in a line.
    private mutating func maskLines() {
        var start = at
        while start < bytes.count {
            let end = find(ASCII.lineFeed, from: start) ?? bytes.count
            if let sign = bytes[start..<end].firstIndex(where: { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ":") }),
                mask.holds(bytes[start..<sign].span)
            {
                copy(to: sign + 1)
                hide(to: end)
            }
            start = end + 1
        }
    }

    // MARK: JSON

    private mutating func maskJSON() {
        var here = at
        while here < bytes.count {
            guard bytes[here] == UInt8(ascii: "\"") else {
                here += 1
                continue
            }
            let end = endOfString(here)
            var next = skipSpace(end)
            if next < bytes.count, bytes[next] == UInt8(ascii: ":"),
                mask.holds(Self.unescaped(bytes[here + 1..<max(here + 1, end - 1)]).span)
            {
                next = skipSpace(next + 1)
                copy(to: next)
                hide(to: endOfValue(next), quote: UInt8(ascii: "\""))
                here = at
            } else {
                here = end
            }
        }
    }

    /// Behind the quote that ends the string which begins at `start`.
    private func endOfString(_ start: Int) -> Int {
        var here = start + 1
        while here < bytes.count {
            switch bytes[here] {
            case UInt8(ascii: "\\"): here += 2
            case UInt8(ascii: "\""): return here + 1
            default: here += 1
            }
        }
        return bytes.count
    }

    private func skipSpace(_ start: Int) -> Int {
        var here = start
        while here < bytes.count, bytes[here].isWhiteSpace { here += 1 }
        return here
    }

    private func endOfValue(_ start: Int) -> Int {
        guard start < bytes.count else { return bytes.count }
        var here = start
        var depth = 0
        while here < bytes.count {
            switch bytes[here] {
            case UInt8(ascii: "\""):
                here = endOfString(here)
                if depth == 0 { return here }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return here }
                depth -= 1
                if depth == 0 { return here + 1 }
            case UInt8(ascii: ","):
                if depth == 0 { return here }
            default: if depth == 0, bytes[here].isWhiteSpace { return here }
            }
            here += 1
        }
        return bytes.count
    }

    /// A key without its escapes, as far as they are ASCII.
    private static func unescaped(_ key: ArraySlice<UInt8>) -> [UInt8] {
        guard key.contains(UInt8(ascii: "\\")) else { return Array(key) }
        var text: [UInt8] = []
        var here = key.startIndex
        while here < key.endIndex {
            guard key[here] == UInt8(ascii: "\\"), here + 1 < key.endIndex else {
                text.append(key[here])
                here += 1
                continue
            }
            if key[here + 1] == UInt8(ascii: "u"), here + 6 <= key.endIndex,
                let code = UInt8(String(decoding: key[here + 2..<here + 6], as: UTF8.self), radix: 16)
            {
                text.append(code)
                here += 6
            } else {
                text.append(key[here + 1])
                here += 2
            }
        }
        return text
    }

    // MARK: Multipart

    private mutating func maskMultipart(boundary: String) {
        let delimiter = Array("--\(boundary)".utf8)
        let end = Array("\r\n--\(boundary)".utf8)
        var part = find(delimiter, from: at)
        while let start = part {
            let head = start + delimiter.count
            guard let body = find(Array("\r\n\r\n".utf8), from: head).map({ $0 + 4 }) else { return }
            // A part without content ends with the line end of its head's.
            let next = find(end, from: body - 2)
            let lines = String(decoding: bytes[head..<body], as: UTF8.self).split(separator: "\r\n")
            let isHidden = lines.contains { line in
                guard line.lowercased().hasPrefix("content-disposition:"),
                    let name = Self.parameter("name", of: String(line))
                else { return false }
                return mask.holds(name)
            }
            if isHidden {
                copy(to: body)
                hide(to: max(body, next ?? bytes.count))
            }
            part = next.map { $0 + 2 }
        }
    }

    /// A parameter of a field's value, with or without quotes.
    static func parameter(_ name: String, of value: String) -> String? {
        var rest = value.drop { $0 != ";" }
        while !rest.isEmpty {
            rest = rest.dropFirst().drop { $0 == " " || $0 == "\t" }
            let key = rest.prefix { $0 != "=" && $0 != ";" }
            rest = rest.dropFirst(key.count)
            guard rest.first == "=" else {
                rest = rest.drop { $0 != ";" }
                continue
            }
            rest = rest.dropFirst()
            var text = ""
            if rest.first == "\"" {
                rest = rest.dropFirst()
                while let character = rest.first, character != "\"" {
                    rest = rest.dropFirst()
                    if character == "\\", let next = rest.first {
                        text.append(next)
                        rest = rest.dropFirst()
                    } else {
                        text.append(character)
                    }
                }
                rest = rest.dropFirst()
            } else {
                text = String(rest.prefix { $0 != ";" }).trimmed
            }
            rest = rest.drop { $0 != ";" }
            if key.lowercased().trimmed == name { return text }
        }
        return nil
    }

    // MARK: Markup

    private mutating func maskMarkup() {
        var here = at
        // A property list has the name in an element of its own, in front of the value's.
        var hidesNext = false
        while let open = find(UInt8(ascii: "<"), from: here) {
            if let end = endOfOther(open) {
                here = end
                continue
            }
            guard let close = endOfTag(open) else { return }
            let tag = bytes[open + 1..<close - 1]
            here = close
            guard let name = Self.name(of: tag), tag.first != UInt8(ascii: "/") else { continue }
            if name.elementsEqual("key".utf8), let end = find(UInt8(ascii: "<"), from: close) {
                hidesNext = mask.holds(bytes[close..<end].span)
                here = end
                continue
            }
            let local = name.split(separator: UInt8(ascii: ":")).last ?? name
            maskAttributes(open + 1 + name.count, close)
            if hidesNext || mask.holds(Array(local).span), tag.last != UInt8(ascii: "/") {
                copy(to: close)
                hide(to: endOfContent(of: Array(name), from: close))
                here = at
            }
            hidesNext = false
        }
    }

    /// Behind a comment, a CDATA section or a declaration that begins there; nil where none does.
    private func endOfOther(_ open: Int) -> Int? {
        func starts(_ text: StaticString) -> Bool {
            bytes[open...].starts(with: "\(text)".utf8)
        }
        func behind(_ text: StaticString) -> Int {
            let text = Array("\(text)".utf8)
            return find(text, from: open).map { $0 + text.count } ?? bytes.count
        }
        if starts("<!--") { return behind("-->") }
        if starts("<![CDATA[") { return behind("]]>") }
        if starts("<?") { return behind("?>") }
        if starts("<!") { return behind(">") }
        return nil
    }

    /// Behind the `>` that ends the tag which begins at `open`.
    private func endOfTag(_ open: Int) -> Int? {
        var quote: UInt8?
        var here = open + 1
        while here < bytes.count {
            let byte = bytes[here]
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = byte
            } else if byte == UInt8(ascii: ">") {
                return here + 1
            }
            here += 1
        }
        return nil
    }

    private static func name(of tag: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let name = tag.prefix { !$0.isWhiteSpace && $0 != UInt8(ascii: "/") }
        return name.isEmpty ? nil : name
    }

    /// The end tag of the element, of whose name others may be inside of it.
    private func endOfContent(of name: [UInt8], from start: Int) -> Int {
        var depth = 1
        var here = start
        while let open = find(UInt8(ascii: "<"), from: here) {
            if let end = endOfOther(open) {
                here = end
                continue
            }
            guard let close = endOfTag(open) else { break }
            let tag = bytes[open + 1..<close - 1]
            here = close
            if tag.first == UInt8(ascii: "/") {
                guard Self.name(of: tag.dropFirst())?.elementsEqual(name) == true else { continue }
                depth -= 1
                if depth == 0 { return open }
            } else if Self.name(of: tag)?.elementsEqual(name) == true, tag.last != UInt8(ascii: "/") {
                depth += 1
            }
        }
        return bytes.count
    }

    private mutating func maskAttributes(_ start: Int, _ end: Int) {
        var here = start
        while let equals = bytes[here..<end].firstIndex(of: UInt8(ascii: "=")) {
            let name = bytes[here..<equals].filter { !$0.isWhiteSpace }
            let value = skipSpace(equals + 1)
            guard value < end, bytes[value] == UInt8(ascii: "\"") || bytes[value] == UInt8(ascii: "'"),
                let last = find(bytes[value], from: value + 1), last < end
            else { return }
            let local = name.split(separator: UInt8(ascii: ":")).last.map(Array.init) ?? name
            if mask.holds(local.span) {
                copy(to: value + 1)
                hide(to: last)
            }
            here = last + 1
        }
    }
}

extension UInt8 {
    fileprivate var isWhiteSpace: Bool { self == ASCII.space || (0x09...0x0D).contains(self) }
}

extension String {
    fileprivate var trimmed: String {
        String(drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }
}
