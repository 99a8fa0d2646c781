internal import Gateway
internal import Octets
internal import Transcoding

/// A body, or its beginning, with what stands in the place of values that nobody is shown.
///
/// It reads no more of an encoding than where names and values stand, so that what is malformed or cut is shown as far as it goes,
/// byte for byte but for those values. What is no text has names that it can't read, UTF-16 and MessagePack as any other bytes, and none
/// of that is shown.
struct BodyMask {
    let mask: NameMask
    let isWhole: Bool
    /// How many others it is a text in.
    private let depth: Int
    private(set) var bytes: [UInt8]
    /// Where each of `bytes` stood in the body; what was put in stood nowhere, and less than 0 says where what stands there was put in
    /// around this body.
    private var origins: [Int32]
    private let hasGiven: Bool
    /// The body with the replacements, as far as it is done.
    private(set) var output: [UInt8] = []
    private var outputOrigins: [Int32] = []
    /// Values that were replaced.
    private(set) var count = 0
    /// Those that are long enough to be looked for elsewhere.
    var values: [[UInt8]] = []
    private(set) var at = 0

    /// - Parameter given: for each byte whether it was put in before; empty: none.
    init(_ bytes: [UInt8], _ mask: NameMask, isWhole: Bool = true, depth: Int = 0, given: [Bool] = []) {
        self.bytes = bytes
        self.mask = mask
        self.isWhole = isWhole
        self.depth = depth
        origins = Array(0..<Int32(bytes.count))
        hasGiven = given.contains(true)
        for index in given.indices where given[index] { origins[index] = ~origins[index] }
        output.reserveCapacity(bytes.count)
        outputOrigins.reserveCapacity(bytes.count)
    }

    /// Texts in the values of others, and multipart bodies in their parts, that deep at most.
    private static let deepest = 4
    private static let nowhere = Int32.min

    /// Masks `bytes`, whose type is `type`. `isShown` is false where its names can't be read, so that nothing of it can be shown.
    ///
    /// - Parameters:
    ///   - isWhole: whether it ends where it did: else its last character may be cut.
    ///   - depth: how many others it is a part or a value of.
    ///   - given: see `init`.
    static func apply(
        _ mask: NameMask, to bytes: [UInt8], type: String, isWhole: Bool = true, depth: Int = 0, given: [Bool] = []
    ) -> (masked: BodyMask, isShown: Bool) {
        var body = BodyMask(bytes, mask, isWhole: isWhole, depth: depth, given: given)
        guard !mask.isEmpty else {
            body.copy(to: bytes.count)
            return (body, true)
        }
        let essence = type.prefix { $0 != ";" }.lowercased().trimmed
        let charsets = type.lowercased().split(separator: "charset=", omittingEmptySubsequences: false).count - 1
        if bytes.starts(with: Array("bplist".utf8)) || charsets > 1 || !isReadable(parameter("charset", of: type)) {
            return (body, false)
        }
        if essence.hasPrefix("multipart/") {
            guard depth < deepest, let boundary = parameter("boundary", of: type) else { return (body, false) }
            body.maskMultipart(boundary: boundary, depthAround: depth)
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
        case let byte? where Self.isBracket(byte) && isJSON: pass { $0.maskJSON() }
        default:
            if depth > 0 { maskEscaped() }
            if let boundary = firstBoundary, depth < Self.deepest {
                pass { $0.maskMultipart(boundary: boundary, depthAround: $0.depth + 1) }
            }
            // It may be a form or JSON of another type, or hold one. What is a text in a value has more around its parameters.
            pass { $0.maskJSON(looksInside: $0.depth == 0, isJSON: false) }
            pass { $0.maskLines() }
            pass { $0.maskUserInfo(to: $0.bytes.count) }
            pass { if $0.depth == 0 { $0.maskForm(inLines: true) } else { $0.maskParameters() } }
        }
    }

    /// Masks what stands in a value that is escaped as a whole, as an address in a parameter of another one.
    private mutating func maskEscaped() {
        guard depth < Self.deepest, bytes.contains(UInt8(ascii: "%")),
            PlainText(bytes[...], without: .percent).bytes.count < bytes.count
        else { return }
        pass { $0.maskInside(0..<$0.bytes.count, .percent) }
    }

    /// Whether it is JSON, or the beginning of it: settings and logs begin as that does.
    private var isJSON: Bool {
        var limits = Limits()
        limits.body = .max
        var decoder = JSON.Decoder(options: JSON.DecodingOptions(), limits: limits)
        var sink = JSON.Encoder(options: JSON.EncodingOptions())
        var here = 0
        do throws(ConversionError) {
            while here < bytes.count {
                here += try decoder.feed(bytes.span.extracting(here..<bytes.count), into: &sink)
                sink.output.removeAll()
            }
            if isWhole { try decoder.finish(into: &sink) }
            return true
        } catch {
            return false
        }
    }

    /// The boundary of a multipart body that came without its type.
    private var firstBoundary: String? {
        guard bytes.starts(with: "--".utf8) else { return nil }
        let line = bytes[2...].prefix { $0 != ASCII.lineFeed && $0 != ASCII.carriageReturn }
        guard (1...70).contains(line.count), line.endIndex < bytes.count else { return nil }
        return String(validating: line, as: UTF8.self)
    }

    private static func isBracket(_ byte: UInt8) -> Bool {
        [UInt8(ascii: "<"), UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "\"")].contains(byte)
    }

    /// Goes once through all, behind what was done before.
    private mutating func pass(_ mask: (inout BodyMask) -> Void) {
        if at > 0 {
            bytes = output
            origins = outputOrigins
            output = []
            outputOrigins = []
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

    /// Masks a target, or another address: what it says of a user, parameters of its path as the access log does, and by their names those
    /// of its query and of its fragment.
    static func address(_ mask: NameMask, _ text: [UInt8]) -> BodyMask {
        var body = BodyMask(text, mask)
        if !mask.isEmpty {
            let fragment = text.firstIndex(of: UInt8(ascii: "#")) ?? text.count
            let query = text[..<fragment].firstIndex(of: UInt8(ascii: "?")) ?? fragment
            // Targets of CONNECT have no scheme, and references to another host may have none.
            let hasPath = text.first == UInt8(ascii: "/")
            if text.starts(with: "//".utf8) || !hasPath && body.find(Array("://".utf8), from: 0) == nil {
                body.maskAuthority(from: hasPath ? 2 : 0, to: query)
            }
            body.maskUserInfo(to: query)
            body.maskPath(to: query)
            body.copy(to: min(query + 1, fragment))
            body.maskForm(to: fragment)
            body.copy(to: min(fragment + 1, text.count))
            body.maskForm()
        }
        body.copy(to: text.count)
        return body
    }

    /// Masks the value of the field `name` of a head, which is none of those that are masked whole.
    static func field(_ mask: NameMask, _ value: [UInt8], of name: String = "") -> BodyMask {
        if isAddress(value) { return address(mask, value) }
        var body = BodyMask(value, mask, depth: 1)
        if !mask.isEmpty {
            if sayHosts(name) || isUserAtHost(value) { body.pass { $0.maskUser() } }
            body.maskEscaped()
            if value.first == UInt8(ascii: "{") || value.first == UInt8(ascii: "[") {
                body.pass { $0.maskJSON(isJSON: false) }
            }
            body.pass { $0.maskUserInfo(to: $0.bytes.count) }
            body.pass { $0.maskParameters() }
        }
        body.copy(to: body.bytes.count)
        return body
    }

    /// Masks what may be a user with a password in front of hosts: all up to the last `@`, since a password may hold any sign.
    private mutating func maskUser() {
        guard let sign = bytes.lastIndex(of: UInt8(ascii: "@")) else { return }
        if let colon = bytes[..<sign].firstIndex(of: UInt8(ascii: ":")) { note(bytes[(colon + 1)..<sign]) }
        hide(to: sign)
    }

    /// Whether a field of that name has hosts, which have no users: a request whose Host has one is refused, and shown all the same.
    private static func sayHosts(_ name: String) -> Bool {
        let name = name.lowercased()
        return name.hasSuffix("host") || name == "forwarded"
    }

    /// Whether the whole value is a host behind a user with a password: `ada:pw@host`.
    private static func isUserAtHost(_ value: [UInt8]) -> Bool {
        guard let sign = value.lastIndex(of: UInt8(ascii: "@")), let colon = value.firstIndex(of: UInt8(ascii: ":"))
        else { return false }
        return colon < sign && !value.contains { $0.isWhiteSpace || "\"{[<=".utf8.contains($0) }
    }

    /// Whether the whole value is an address: that of a page, or the target of another request.
    private static func isAddress(_ value: [UInt8]) -> Bool {
        guard !value.contains(where: { $0.isWhiteSpace }) else { return false }
        let scheme = value.prefix { $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: "/") }
        return value[scheme.endIndex...].starts(with: "://".utf8) || value.first == UInt8(ascii: "/")
    }

    /// The first byte that is no white space, behind a byte order mark.
    private var first: UInt8? {
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        return bytes[start...].first { !$0.isWhiteSpace }
    }

    // MARK: Pieces

    mutating func copy(to end: Int) {
        guard end > at else { return }
        output += bytes[at..<end]
        outputOrigins += origins[at..<end]
        at = end
    }

    private mutating func put(_ text: some Collection<UInt8>) {
        output += text
        outputOrigins += repeatElement(Self.nowhere, count: text.count)
    }

    /// Puts the replacement in the place of what follows up to `end`.
    mutating func hide(to end: Int, quote: UInt8? = nil) {
        guard end > at else { return }
        var value = bytes[at..<end]
        if let quote, value.count > 1, value.first == quote, value.last == quote {
            value = value.dropFirst().dropLast()
        }
        // What was hidden before counts once.
        guard !value.elementsEqual("\(NameMask.replacement)".utf8) else { return }
        count += 1
        note(value)
        if let quote { put([quote]) }
        put("\(NameMask.replacement)".utf8)
        if let quote { put([quote]) }
        at = end
    }

    /// Notes a value to be looked for elsewhere. Of one with values in it each is noted, too: they may go apart from each other.
    private mutating func note(_ value: ArraySlice<UInt8>) {
        let quote = UInt8(ascii: "\"")
        var trimmed = value.trimmed
        if trimmed.count > 1, trimmed.first == quote, trimmed.last == quote { trimmed = trimmed.dropFirst().dropLast() }
        guard trimmed.count >= Secrets.shortest else { return }
        values.append(Array(trimmed))
        let plain = trimmed.contains(UInt8(ascii: "%")) ? PlainText(trimmed, without: .form).bytes[...] : trimmed
        switch plain.first {
        case UInt8(ascii: "{"), UInt8(ascii: "["): noteStrings(plain)
        default: if plain.contains(UInt8(ascii: "<")) { noteTexts(plain) }
        }
    }

    // MARK: Texts in texts

    /// Masks what is a text of its own in the piece from `start` to `end`, which spells it so: a form's value may be JSON that has a
    /// form in it. Nothing happens where it has nothing to hide.
    ///
    /// - Returns: whether it had.
    @discardableResult
    mutating func maskInside(_ piece: Range<Int>, _ spelling: PlainText.Spelling?) -> Bool {
        guard piece.count >= Self.shortestText else { return false }
        let plain = PlainText(bytes[piece], without: spelling)
        // Where the body is cut, its last piece is.
        let isWhole = isWhole || piece.upperBound < bytes.count
        guard mayHide(plain.bytes, isWhole: isWhole) else { return false }
        guard depth < Self.deepest else {
            // So deep nobody looks.
            guard plain.bytes.contains(where: { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ":") }) else {
                return false
            }
            copy(to: piece.lowerBound)
            veil(to: piece.upperBound)
            return true
        }
        let given =
            count == 0 && !hasGiven ? [] : plain.places.dropLast().map { origins[piece.lowerBound + Int($0)] < 0 }
        let inner = Self.apply(
            mask, to: plain.bytes, type: "", isWhole: isWhole, depth: depth + 1, given: given
        ).masked
        guard inner.count > 0 else { return false }
        let known = Set(bytes[piece])
        copy(to: piece.lowerBound)
        for (byte, origin) in zip(inner.output, inner.outputOrigins) {
            guard origin != Self.nowhere else {
                // What stands in the text as itself needs no escape there; in JSON it stands behind one.
                let isPlain = spelling != .json && byte != spelling?.mark && known.contains(byte)
                put(isPlain ? [byte] : spelling?.spelled(byte) ?? [byte])
                continue
            }
            let place = Int(origin < 0 ? ~origin : origin)
            let own = piece.lowerBound + Int(plain.places[place])
            let end = piece.lowerBound + Int(plain.places[place + 1])
            output += bytes[own..<end]
            outputOrigins += origins[own..<end]
        }
        at = piece.upperBound
        count += inner.count
        values += inner.values
        return true
    }

    /// Bytes of a text in which there is a name, a sign and a value at least.
    private static let shortestText = 3

    /// Whether there may be something to hide: a name that is masked, or escapes that it may be spelled with, or a user.
    private func mayHide(_ text: [UInt8], isWhole: Bool) -> Bool {
        let signs = [UInt8(ascii: "%"), UInt8(ascii: "\\"), UInt8(ascii: "&")]
        return text.contains { signs.contains($0) } || mask.holds(text.span)
            || text.contains(UInt8(ascii: "/")) && (text.contains(UInt8(ascii: "@")) || !isWhole)
    }

    func find(_ byte: UInt8, from start: Int) -> Int? { bytes[min(start, bytes.count)...].firstIndex(of: byte) }

    func find(_ text: [UInt8], from start: Int) -> Int? {
        guard !text.isEmpty, bytes.count >= text.count, start >= 0 else { return nil }
        var start = start
        while let found = find(text[0], from: start), found + text.count <= bytes.count {
            if bytes[found..<found + text.count].elementsEqual(text) { return found }
            start = found + 1
        }
        return nil
    }

    // MARK: Forms

    /// - Parameters:
    ///   - inLines: whether a line's end is a pair's, too.
    ///   - last: where the form ends; nil: with the body.
    private mutating func maskForm(inLines: Bool = false, to last: Int? = nil) {
        let last = last ?? bytes.count
        var start = at
        while start < last {
            let end =
                bytes[start..<last].firstIndex {
                    $0 == UInt8(ascii: "&") || inLines && ($0 == ASCII.lineFeed || $0 == ASCII.carriageReturn)
                } ?? last
            let equals = bytes[start..<end].firstIndex(of: UInt8(ascii: "="))
            if let equals, mask.holds(PlainText(bytes[start..<equals], without: .form).bytes.span) {
                copy(to: equals + 1)
                hide(to: end)
            } else {
                // Tools send JSON with a form's type, and escape it: then there is no name.
                maskInside((equals.map { $0 + 1 } ?? start)..<end, .form)
            }
            start = end + 1
        }
    }

    /// Masks values by names wherever these stand in a text: in the query or the fragment of an address, behind a `;` or a `,`.
    ///
    /// Each text is looked into once: a value goes up to the text's end, though other names may stand in it.
    private mutating func maskParameters() {
        var start = at
        var seen = at
        while let equals = find(UInt8(ascii: "="), from: start) {
            var name = equals
            while name > start, Self.isOfName(bytes[name - 1]) { name -= 1 }
            let isOfForm = name == 0 || Self.isFormSign(bytes[name - 1])
            start = equals + 1
            let isMasked = mask.holds(PlainText(bytes[name..<equals], without: .form).bytes.span)
            guard isMasked || start >= seen else { continue }
            let end = endOfParameter(start, isOfForm: isOfForm, isFirst: name == 0)
            if isMasked {
                copy(to: start)
                hide(to: end)
            } else {
                maskInside(start..<end, .form)
            }
            seen = end
            start = max(start, at)
        }
    }

    /// Whether a byte may be of a parameter's name, in a text that has more than parameters.
    private static func isOfName(_ byte: UInt8) -> Bool {
        !"?&#;,<>\"'(){}=/|\r\n".utf8.contains(byte)
    }

    /// Whether behind it parameters stand as in forms.
    private static func isFormSign(_ byte: UInt8) -> Bool {
        [UInt8(ascii: "?"), UInt8(ascii: "&"), UInt8(ascii: "#"), ASCII.lineFeed, ASCII.carriageReturn].contains(byte)
    }

    /// Where the value ends that begins at `start`. Of the first one nobody knows what it is of: a list as `a=1; b=2` has spaces, which
    /// forms have not.
    private func endOfParameter(_ start: Int, isOfForm: Bool, isFirst: Bool) -> Int {
        if start < bytes.count, bytes[start] == UInt8(ascii: "\"") { return endOfString(start) }
        return bytes.indices[start...].first { index in
            switch bytes[index] {
            case UInt8(ascii: "&"), ASCII.lineFeed, ASCII.carriageReturn: true
            case UInt8(ascii: ";"), UInt8(ascii: ","):
                !isOfForm || isFirst && index + 1 < bytes.count && bytes[index + 1] == ASCII.space
            default: false
            }
        } ?? bytes.count
    }

    // MARK: Addresses

    /// Masks what stands in front of the `@` of addresses, as the access log does.
    private mutating func maskUserInfo(to last: Int) {
        var start = at
        while let colon = find(Array("://".utf8), from: start), colon < last {
            maskAuthority(from: colon + 3, to: max(colon + 3, last))
            start = max(colon + 3, at)
        }
    }

    private mutating func maskAuthority(from start: Int, to last: Int) {
        let end = bytes[start..<last].firstIndex { $0.isWhiteSpace || "/?#\"<>".utf8.contains($0) } ?? last
        guard let sign = bytes[start..<end].lastIndex(of: UInt8(ascii: "@")) else {
            // Where the body is cut, a password may have lost its `@`, and looks as a port.
            guard !isWhole, end == bytes.count, bytes[start..<end].contains(UInt8(ascii: ":")) else { return }
            copy(to: start)
            return hide(to: end)
        }
        if let colon = bytes[start..<sign].firstIndex(of: UInt8(ascii: ":")) { note(bytes[(colon + 1)..<sign]) }
        copy(to: start)
        hide(to: sign)
    }

    /// Masks the values of a path's parameters, whatever their names, as the access log does.
    private mutating func maskPath(to last: Int) {
        var start = at
        var slash = -1
        let seen = bytes[..<last]
        while start < last {
            let (sign, length) = PathParameters.next(in: seen.span, from: start)
            guard sign < last else { return }
            if slash < sign { slash = bytes[sign..<last].firstIndex(of: UInt8(ascii: "/")) ?? last }
            let end = min(slash, PathParameters.next(in: seen.span, from: sign + length).start)
            let equals = bytes[(sign + length)..<end].firstIndex(of: UInt8(ascii: "="))
            copy(to: equals.map { $0 + 1 } ?? sign + length)
            hide(to: end)
            start = end
        }
    }

    // MARK: Lines

    /// Text with names and values in its lines.
    private mutating func maskLines() {
        var start = at
        while start < bytes.count {
            let end = bytes[start...].firstIndex { $0 == ASCII.lineFeed || $0 == ASCII.carriageReturn } ?? bytes.count
            maskLine(start..<end)
            start = end + 1
        }
    }

    /// Masks what follows a masked name in a line, all of it: nobody knows where a value ends. What stands in front of the line's first
    /// sign is a name as a whole, in front of others the word there.
    private mutating func maskLine(_ line: Range<Int>) {
        var start = line.lowerBound
        // A value that was hidden before may stand in the next line, where this one's end is white space of JSON.
        while start < line.upperBound,
            let sign = bytes[start..<line.upperBound].firstIndex(where: {
                $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ":")
            })
        {
            let isFirst = start == line.lowerBound
            let name = isFirst ? bytes[start..<sign] : lastWord(start..<sign)
            start = sign + 1
            guard mask.holds(name.span) else { continue }
            if let end = endOfReplacement(start) {
                // It was hidden before, but what is no sign behind it is of the value, too.
                let next = skipSpace(end)
                start = end
                if next >= line.upperBound || ",]}&;)".utf8.contains(bytes[next]) { continue }
            }
            copy(to: start)
            let isParameter = !isFirst && bytes[sign] == UInt8(ascii: "=")
            let first = bytes[start..<line.upperBound].prefix { $0 != UInt8(ascii: "&") }
            hide(to: isParameter ? first.endIndex : line.upperBound)
            // It may as well be the first one of a form.
            if !isParameter, first.endIndex < line.upperBound { note(first) }
            start = max(start, at)
        }
    }

    /// The last word of a piece, whatever stands around it.
    private func lastWord(_ piece: Range<Int>) -> ArraySlice<UInt8> {
        func isOfWord(_ byte: UInt8) -> Bool { byte > 0x20 && !",;&?/(){}<>|".utf8.contains(byte) }
        var end = piece.upperBound
        while end > piece.lowerBound, bytes[end - 1].isWhiteSpace { end -= 1 }
        var start = end
        while start > piece.lowerBound, isOfWord(bytes[start - 1]) { start -= 1 }
        return bytes[start..<end]
    }

    /// Behind the replacement that stands there, with or without quotes.
    private func endOfReplacement(_ start: Int) -> Int? {
        var here = skipSpace(start)
        let hasQuote = here < bytes.count && bytes[here] == UInt8(ascii: "\"")
        if hasQuote { here += 1 }
        let mark = "\(NameMask.replacement)".utf8
        // One that came so is a value.
        guard bytes[min(here, bytes.count)...].starts(with: mark), origins[here] < 0 else { return nil }
        here += mark.count
        return hasQuote && here < bytes.count && bytes[here] == UInt8(ascii: "\"") ? here + 1 : here
    }

    // MARK: JSON

    /// - Parameters:
    ///   - looksInside: whether strings may be texts of their own.
    ///   - isJSON: whether all of it is; else what follows a masked name and is no value of JSON goes up to its line's end.
    private mutating func maskJSON(looksInside: Bool = true, isJSON: Bool = true) {
        var here = at
        while here < bytes.count {
            guard bytes[here] == UInt8(ascii: "\"") else {
                here += 1
                continue
            }
            let end = endOfString(here)
            let content = here + 1..<max(here + 1, isClosed(here, end) ? end - 1 : end)
            let next = skipSpace(end)
            guard next < bytes.count, bytes[next] == UInt8(ascii: ":") else {
                if looksInside { maskInside(content, .json) }
                here = end
                continue
            }
            here = end
            if mask.holds(PlainText(bytes[content], without: .json).bytes.span) {
                let value = skipSpace(next + 1)
                copy(to: value)
                let end = endOfValue(value)
                if isJSON || self.isValue(value..<end) {
                    hide(to: end, quote: UInt8(ascii: "\""))
                } else {
                    hide(
                        to: max(
                            end,
                            bytes[end...].firstIndex { $0 == ASCII.lineFeed || $0 == ASCII.carriageReturn }
                                ?? bytes.count))
                }
                here = max(here, at)
            }
        }
    }

    /// Whether a piece is a value of JSON.
    private func isValue(_ piece: Range<Int>) -> Bool {
        if bytes[piece].first == UInt8(ascii: "\"") { return isClosed(piece.lowerBound, piece.upperBound) }
        return BodyMask(Array(bytes[piece]), mask).isJSON
    }

    /// Whether the string from `start` to `end` has its second quote.
    private func isClosed(_ start: Int, _ end: Int) -> Bool {
        guard end > start + 1, bytes[end - 1] == UInt8(ascii: "\"") else { return false }
        // One behind a backslash is of the string: there the body ends.
        return end < bytes.count
            || bytes[(start + 1)..<(end - 1)].reversed().prefix { $0 == UInt8(ascii: "\\") }.count.isMultiple(of: 2)
    }

    /// Notes the strings of a value.
    private mutating func noteStrings(_ value: ArraySlice<UInt8>) {
        let inner = BodyMask(Array(value), mask)
        var here = 0
        while let quote = inner.find(UInt8(ascii: "\""), from: here) {
            noteNumbers(inner.bytes[here..<quote])
            here = inner.endOfString(quote)
            let string = inner.bytes[(quote + 1)..<max(quote + 1, inner.isClosed(quote, here) ? here - 1 : here)]
            let next = inner.skipSpace(here)
            // Names are no values.
            if next < inner.bytes.count, inner.bytes[next] == UInt8(ascii: ":") { continue }
            if string.count >= Secrets.shortest { values.append(Array(string)) }
        }
        noteNumbers(inner.bytes[here...])
    }

    private mutating func noteNumbers(_ piece: ArraySlice<UInt8>) {
        for number in piece.split(whereSeparator: { ",:[]{}".utf8.contains($0) || $0.isWhiteSpace })
        where number.count >= Secrets.shortest
            && number.contains(where: { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        {
            values.append(Array(number))
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

    func skipSpace(_ start: Int) -> Int {
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

    // MARK: Multipart

    /// - Parameter depthAround: that of what stands around the contents: one more where the boundary is a guess, which is then made of a
    ///   rest again.
    private mutating func maskMultipart(boundary: String, depthAround: Int) {
        let delimiter = Array("--\(boundary)".utf8)
        var part = bytes.starts(with: delimiter) ? 0 : find([ASCII.lineFeed] + delimiter, from: 0).map { $0 + 1 }
        // What stands around the parts is no part, and may be anything.
        maskPiece(to: part ?? bytes.count, type: "", isWhole: isWhole || part != nil, depth: depthAround)
        while let start = part {
            let head = start + delimiter.count
            if bytes[head...].starts(with: "--".utf8) {
                copy(to: head + 2)
                return maskPiece(to: bytes.count, type: "", isWhole: isWhole, depth: depthAround)
            }
            copy(to: head)
            let body = endOfHead(head)
            maskPiece(to: body ?? bytes.count, type: "", isWhole: isWhole || body != nil, depth: depthAround)
            guard let body else { return }
            let next = endOfPart(from: body, delimiter)
            let end = max(body, next?.content ?? bytes.count)
            let fields = Self.fields(of: bytes[head..<body])
            func value(of name: String) -> String? {
                fields.first { $0.prefix { $0 != ":" }.lowercased().trimmed == name }.map {
                    String($0.drop { $0 != ":" }.dropFirst()).trimmed
                }
            }
            let coding = value(of: "content-transfer-encoding")?.lowercased() ?? "8bit"
            let isHidden = fields.contains { line in
                guard line.prefix(while: { $0 != ":" }).lowercased().trimmed == "content-disposition" else {
                    return false
                }
                // One in pieces nobody reads.
                let isInPieces = ["name*0", "name*0*"].contains { Self.parameter($0, of: line) != nil }
                return isInPieces
                    || ["name", "name*"].contains { Self.parameter($0, of: line).map(holdsEscaped) == true }
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
        mask.holds(PlainText(Array(name.utf8)[...], without: .percent).bytes.span)
    }

    /// Masks a part's content, or puts the replacement in its place where its names can't be read.
    private mutating func maskPiece(to end: Int, type: String, isWhole: Bool, depth: Int) {
        guard end > at else { return }
        let given = count == 0 && !hasGiven ? [] : origins[at..<end].map { $0 < 0 }
        let (piece, isShown) = Self.apply(
            mask, to: Array(bytes[at..<end]), type: type, isWhole: isWhole, depth: depth, given: given)
        guard isShown else { return veil(to: end) }
        output += piece.output
        let known = origins[at..<end]
        outputOrigins += piece.outputOrigins.map {
            $0 == Self.nowhere ? $0 : known[known.startIndex + Int($0 < 0 ? ~$0 : $0)]
        }
        count += piece.count
        values += piece.values
        at = end
    }

    /// Puts the replacement in the place of what can't be read: it is no value that could stand elsewhere.
    mutating func veil(to end: Int) {
        guard end > at else { return }
        count += 1
        put("\(NameMask.replacement)".utf8)
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
        var start = body - 1
        while let end = find([ASCII.lineFeed] + delimiter, from: start) {
            start = end + 1
            // A line that goes on is one of the content.
            let next = end + 1 + delimiter.count
            guard next == bytes.count || bytes[next].isWhiteSpace || bytes[next] == UInt8(ascii: "-") else { continue }
            let hasReturn = end > body && bytes[end - 1] == ASCII.carriageReturn
            return (hasReturn ? end - 1 : end, end + 1)
        }
        return nil
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
}

extension UInt8 {
    var isWhiteSpace: Bool { self == ASCII.space || (0x09...0x0D).contains(self) }
}

extension ArraySlice<UInt8> {
    var trimmed: ArraySlice<UInt8> {
        var rest = drop { $0.isWhiteSpace }
        while rest.last?.isWhiteSpace == true { rest.removeLast() }
        return rest
    }
}

extension String {
    fileprivate var trimmed: String {
        String(drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }
}
