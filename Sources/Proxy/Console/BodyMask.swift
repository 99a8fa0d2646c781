internal import Gateway
internal import Octets
internal import Transcoding

/// A body, or its beginning, with what stands in the place of values that nobody is shown.
///
/// It reads no more of an encoding than where names and values stand, so that what is malformed or cut is shown as far as it goes,
/// byte for byte but for those values. What is no text has names that it can't read, UTF-16 and MessagePack as any other bytes, and none
/// of that is shown.
struct BodyMask {
    private let mask: NameMask
    private var bytes: [UInt8]
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

    /// Multipart bodies in the parts of others, that deep at most.
    private static let deepest = 4

    /// Masks `bytes`, whose type is `type`. `isShown` is false where its names can't be read, so that nothing of it can be shown.
    ///
    /// - Parameters:
    ///   - isWhole: whether it ends where it did: else its last character may be cut.
    ///   - depth: how many multipart bodies it is a part of.
    static func apply(
        _ mask: NameMask, to bytes: [UInt8], type: String, isWhole: Bool = true, depth: Int = 0
    ) -> (masked: BodyMask, isShown: Bool) {
        var body = BodyMask(bytes, mask)
        guard !mask.isEmpty else {
            body.copy(to: bytes.count)
            return (body, true)
        }
        let essence = type.prefix { $0 != ";" }.lowercased().trimmed
        if bytes.starts(with: Array("bplist".utf8)) || !isReadable(parameter("charset", of: type)) {
            return (body, false)
        }
        if essence.hasPrefix("multipart/") {
            guard depth < deepest, let boundary = parameter("boundary", of: type) else { return (body, false) }
            body.maskMultipart(boundary: boundary, isWhole: isWhole, depth: depth)
            body.copy(to: bytes.count)
        } else if essence == BodyEncoding.form.mediaType {
            body.pass { $0.maskForm() }
            // Tools send anything under this type.
            if body.first.map(isBracket) == true { body.maskByLook() }
        } else {
            body.maskByLook()
        }
        return (body, text(body.output, isWhole: isWhole) != nil)
    }

    /// `bytes` as text, where they are one: UTF-8 without controls but white space. Of one that is cut the last character may be missing.
    static func text(_ bytes: [UInt8], isWhole: Bool) -> String? {
        guard !bytes.contains(where: { $0 < 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D || $0 == 0x7F }) else {
            return nil
        }
        for cut in 0...(isWhole ? 0 : min(3, bytes.count)) {
            if let text = String(validating: bytes.dropLast(cut), as: UTF8.self) { return text }
        }
        return nil
    }

    /// Whether the ASCII of a charset stands for itself. UTF-7 and others spell names in it that look like something else.
    private static func isReadable(_ charset: String?) -> Bool {
        guard let charset = charset?.lowercased(), !charset.isEmpty else { return true }
        let known = ["utf-8", "utf8", "us-ascii", "ascii", "latin1"]
        return known.contains(charset) || charset.hasPrefix("iso-8859-") || charset.hasPrefix("windows-125")
    }

    /// Masks a body by how it begins.
    private mutating func maskByLook() {
        switch first {
        case UInt8(ascii: "<"): pass { $0.maskMarkup() }
        case let byte? where Self.isBracket(byte): pass { $0.maskJSON() }
        default:
            // It may be a form or JSON of another type, or hold one.
            pass { $0.maskLines() }
            pass { $0.maskJSON() }
            pass { $0.maskForm(inLines: true) }
        }
    }

    private static func isBracket(_ byte: UInt8) -> Bool {
        [UInt8(ascii: "<"), UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "\"")].contains(byte)
    }

    /// Goes once through all, behind what was done before.
    private mutating func pass(_ mask: (inout BodyMask) -> Void) {
        if at > 0 {
            bytes = output
            output = []
            at = 0
        }
        mask(&self)
        copy(to: bytes.count)
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
        // What was hidden before counts once.
        guard end > at, !bytes[at..<end].elementsEqual("\(NameMask.replacement)".utf8) else { return }
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

    /// - Parameter inLines: whether a line's end is a pair's, too.
    private mutating func maskForm(inLines: Bool = false) {
        var start = at
        while start < bytes.count {
            let end =
                bytes[start...].firstIndex {
                    $0 == UInt8(ascii: "&") || inLines && ($0 == ASCII.lineFeed || $0 == ASCII.carriageReturn)
                } ?? bytes.count
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
            let end = bytes[start...].firstIndex { $0 == ASCII.lineFeed || $0 == ASCII.carriageReturn } ?? bytes.count
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

    private mutating func maskMultipart(boundary: String, isWhole: Bool, depth: Int) {
        let delimiter = Array("--\(boundary)".utf8)
        var part = bytes.starts(with: delimiter) ? 0 : find([ASCII.lineFeed] + delimiter, from: 0).map { $0 + 1 }
        // What stands around the parts is no part, and may be anything.
        maskPiece(to: part ?? bytes.count, type: "", isWhole: isWhole || part != nil, depth: depth)
        while let start = part {
            let head = start + delimiter.count
            if bytes[head...].starts(with: "--".utf8) {
                copy(to: head + 2)
                return maskPiece(to: bytes.count, type: "", isWhole: isWhole, depth: depth)
            }
            copy(to: head)
            let body = endOfHead(head)
            maskPiece(to: body ?? bytes.count, type: "", isWhole: isWhole || body != nil, depth: depth)
            guard let body else { return }
            let next = endOfPart(from: body, delimiter)
            let end = max(body, next?.content ?? bytes.count)
            let fields = Self.fields(of: bytes[head..<body])
            func value(of name: String) -> String? {
                fields.first { $0.lowercased().hasPrefix("\(name):") }.map {
                    String($0.dropFirst(name.count + 1)).trimmed
                }
            }
            let coding = value(of: "content-transfer-encoding")?.lowercased() ?? "8bit"
            let isHidden = fields.contains { line in
                line.lowercased().hasPrefix("content-disposition:")
                    && (Self.parameter("name", of: line).map(mask.holds) == true
                        || Self.parameter("name*", of: line).map(holdsEscaped) == true)
            }
            if isHidden {
                hide(to: end)
            } else if !["7bit", "8bit", "binary"].contains(coding) {
                veil(to: end)
            } else {
                maskPiece(
                    to: end, type: value(of: "content-type") ?? "", isWhole: isWhole || next != nil, depth: depth + 1)
            }
            part = next?.delimiter
        }
    }

    /// Whether a name is masked whose characters may be escaped (RFC 8187).
    private func holdsEscaped(_ name: String) -> Bool {
        var plain: [UInt8] = []
        PercentText.decode(Array(name.utf8).span, plusIsSpace: false, to: &plain)
        return mask.holds(plain.span)
    }

    /// Masks a part's content, or puts the replacement in its place where its names can't be read.
    private mutating func maskPiece(to end: Int, type: String, isWhole: Bool, depth: Int) {
        guard end > at else { return }
        let (piece, isShown) = Self.apply(
            mask, to: Array(bytes[at..<end]), type: type, isWhole: isWhole, depth: depth)
        guard isShown else { return veil(to: end) }
        output += piece.output
        count += piece.count
        values += piece.values
        at = end
    }

    /// Puts the replacement in the place of what can't be read: it is no value that could stand elsewhere.
    private mutating func veil(to end: Int) {
        guard end > at else { return }
        count += 1
        output += "\(NameMask.replacement)".utf8
        at = end
    }

    /// Behind the empty line that ends a part's head, whatever its lines end with.
    private func endOfHead(_ start: Int) -> Int? {
        var here = start
        while let end = find(ASCII.lineFeed, from: here) {
            let next = bytes[(end + 1)...]
            if next.first == ASCII.lineFeed { return end + 2 }
            if next.starts(with: [ASCII.carriageReturn, ASCII.lineFeed]) { return end + 3 }
            here = end + 1
        }
        return nil
    }

    /// Where a part's content ends, and the delimiter behind it begins, which stands at the beginning of a line.
    private func endOfPart(from body: Int, _ delimiter: [UInt8]) -> (content: Int, delimiter: Int)? {
        // A part without content ends with the line end of its head's.
        guard let end = find([ASCII.lineFeed] + delimiter, from: body - 1) else { return nil }
        let hasReturn = end > body && bytes[end - 1] == ASCII.carriageReturn
        return (hasReturn ? end - 1 : end, end + 1)
    }

    /// The fields of a part's head: lines, with those that go on with white space in front put together.
    private static func fields(of head: ArraySlice<UInt8>) -> [String] {
        var fields: [String] = []
        for line in head.split(separator: ASCII.lineFeed) {
            let text = String(decoding: line.last == ASCII.carriageReturn ? line.dropLast() : line, as: UTF8.self)
            if let first = text.first, first == " " || first == "\t", !fields.isEmpty {
                fields[fields.count - 1] += text
            } else {
                fields.append(text)
            }
        }
        return fields
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
