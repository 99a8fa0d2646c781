internal import Transcoding

/// Puts `${env:…}` and `${file:…}` back into messages in place of what came from there: messages end in logs, and what comes from
/// outside of the file is a secret more often than not (docs/principles.md 12).
struct Redaction {
    /// A value of the file in which something was put in.
    struct Node: Hashable {
        var position: SettingsNode.Position
        /// As messages call it: they begin with it, and it is never a part of the value.
        var what: String
        /// As the file has it, and as it was read.
        var source: String
        var text: String

        /// Whether a place is one in this value. Places in what was put in are behind where its reference ends.
        func holds(_ place: SettingsNode.Position) -> Bool {
            let count = max(source.unicodeScalars.count, text.unicodeScalars.count) + 2
            return place.line == position.line
                && (position.column..<position.column + count).contains(place.column)
        }
    }

    /// The longest first: one may be a part of another, of which the rest would stay.
    private let secrets: [EffectiveValue.Secret]
    private let nodes: [Node]

    init(_ secrets: [EffectiveValue.Secret], _ nodes: [Node] = []) {
        self.secrets = secrets.filter { !$0.text.isEmpty }.sorted { $0.text.utf8.count > $1.text.utf8.count }
        self.nodes = nodes
    }

    /// What a text holds of shorter words by chance is no secret there.
    private static let shortest = 4
    /// Where a word stands without quotes, it may be one of the message's own.
    private static let shortestAnywhere = 8

    /// Whether a text is so long that where it stands it is no other word by chance.
    static func isLookedForAnywhere(_ text: String) -> Bool { text.utf8.count >= shortest }

    /// A message about the place.
    func message(_ message: String, at place: SettingsNode.Position) -> String {
        if secrets.isEmpty { return message }
        let own = nodes.filter { $0.holds(place) }
        let head = own.map(\.what).first { message.hasPrefix($0) } ?? ""
        var rest = String(message.dropFirst(head.count))
        for node in own { rest = hide(node, in: rest) }
        return head + others(in: rest, line: place.line)
    }

    /// A text that quotes bodies, in which a secret may be escaped as JSON, forms and XML do.
    func document(_ text: String) -> String {
        var text = text
        for secret in secrets where secret.text.utf8.count >= Self.shortest {
            for form in Self.forms(of: secret.text) { text = text.replacing(form, with: secret.reference) }
        }
        return text
    }

    private static func forms(of text: String) -> Set<String> {
        var encoded = ""
        for byte in text.utf8 {
            if byte < 0x80,
                "-._*".utf8.contains(byte) || Character(Unicode.Scalar(byte)).isLetter
                    || Character(Unicode.Scalar(byte)).isNumber
            {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += byte == 0x20 ? "+" : "%" + (digits.count == 1 ? "0" : "") + digits
            }
        }
        let markup = text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
        let json = String(Literal.string(text).json.dropFirst().dropLast())
        return [text, json, encoded, encoded.replacing("+", with: "%20"), markup]
    }

    // MARK: - The value itself

    /// A message about `node` may quote all of it, or the part that is wrong.
    private func hide(_ node: Node, in message: String) -> String {
        let own = secrets.filter { node.source.contains($0.reference) }
        var message = Self.replace(node.text, with: node.source, in: message)
        for secret in own { message = Self.replace(secret.text, with: secret.reference, in: message) }
        let hint = message.firstRange(of: ": did you mean ")?.lowerBound ?? message.endIndex
        message = Self.quoted(message) { part, at in
            if part.contains("${") { return nil }
            let isProposed = at >= hint
            // A number with its unit mended is the value's own number.
            if isProposed, !own.isEmpty, part.first?.isNumber == true { return node.source }
            // A word that is proposed may be a part of anything.
            if isProposed, part.utf8.count < Self.shortest { return nil }
            return own.contains { Self.shares(part, $0.text) } ? node.source : nil
        }
        return Self.unquoted(message) { word in
            own.contains { Self.shares(word, $0.text) } ? node.source : nil
        }
    }

    /// Replaces what stands without quotes behind a "not" and is no word: a number that is out of bounds.
    private static func unquoted(_ message: String, _ replace: (String) -> String?) -> String {
        var result = ""
        var rest = message[...]
        while let found = rest.firstRange(of: " not ") {
            let word = rest[found.upperBound...].prefix { $0 != " " && $0 != ";" && $0 != "," }
            result += rest[..<found.upperBound]
            result += word.contains(where: \.isNumber) ? replace(String(word)) ?? String(word) : String(word)
            rest = rest[word.endIndex...]
        }
        return result + rest
    }

    /// Replaces a text; a short one where it is a whole word.
    static func replace(_ text: String, with other: String, in message: String) -> String {
        if text.isEmpty { return message }
        if text.utf8.count >= shortest { return message.replacing(text, with: other) }
        var result = ""
        var rest = message[...]
        while let found = rest.firstRange(of: text) {
            let before = (result + rest[..<found.lowerBound]).last
            let isWord = !isLetter(before) && !isLetter(rest[found.upperBound...].first)
            result += rest[..<found.lowerBound] + (isWord ? other[...] : rest[found])
            rest = rest[found.upperBound...]
        }
        return result + rest
    }

    private static func isLetter(_ character: Character?) -> Bool {
        character.map { $0.isLetter || $0.isNumber || $0 == "_" } ?? false
    }

    /// Whether `part` is a part of `text`, letters in either case, or has a long one of it.
    private static func shares(_ part: String, _ text: String) -> Bool {
        let (part, text) = (Array(part.lowercased().utf8), Array(text.lowercased().utf8))
        if part.isEmpty { return false }
        let count = min(part.count, shortest)
        return (0...part.count - count).contains { holds(text, part[$0..<$0 + count]) }
    }

    private static func holds(_ text: [UInt8], _ part: ArraySlice<UInt8>) -> Bool {
        guard text.count >= part.count else { return false }
        return (0...text.count - part.count).contains { text[$0..<$0 + part.count] == part }
    }

    // MARK: - Other values

    /// A message may quote other values than its own: names that were read before.
    private func others(in message: String, line: Int) -> String {
        var message = message
        for secret in secrets where secret.text.utf8.count >= Self.shortestAnywhere {
            message = message.replacing(secret.text, with: secret.reference)
        }
        return Self.quoted(message) { part, _ in
            var hidden = part
            for secret in secrets {
                if secret.text.utf8.count >= Self.shortest {
                    hidden = hidden.replacing(secret.text, with: secret.reference)
                } else if secret.line == line, hidden == secret.text {
                    hidden = secret.reference
                }
            }
            return hidden == part ? nil : hidden
        }
    }

    /// Replaces what stands in quotes, by what `replace` gives.
    private static func quoted(
        _ message: String, _ replace: (String, String.Index) -> String?
    ) -> String {
        var result = ""
        var rest = message[...]
        while let start = rest.firstIndex(of: "\"") {
            let first = rest.index(after: start)
            guard let end = rest[first...].firstIndex(of: "\"") else { break }
            result += rest[..<first]
            result += replace(String(rest[first..<end]), first) ?? String(rest[first..<end])
            result.append("\"")
            rest = rest[rest.index(after: end)...]
        }
        return result + rest
    }
}
