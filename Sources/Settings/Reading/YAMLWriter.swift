internal import Octets

/// Writes settings as YAML that its reader takes for the same: mappings and lists of more than texts in lines of their own,
/// whatever does not look the same plain in double quotes.
struct YAMLWriter {
    /// The lines so far, each with its end.
    private(set) var text = ""

    /// A mapping's members, each from a column on.
    mutating func write(_ members: [SettingsNode.Member], indent: Int) {
        for member in members { write(member, indent: indent, lead: String(repeating: " ", count: indent)) }
    }

    /// Writes one member behind `lead`, which ends at the column `indent`.
    private mutating func write(_ member: SettingsNode.Member, indent: Int, lead: String) {
        text += lead + Self.key(member.key) + ":"
        write(value: member.value, indent: indent)
    }

    /// Writes a value behind the colon of a key that stands at the column `indent`.
    private mutating func write(value: SettingsNode, indent: Int) {
        if let short = Self.short(value) {
            text += " \(short)\n"
            return
        }
        text += "\n"
        switch value.content {
        case .scalar: break
        case .mapping(let members): write(members, indent: indent + 2)
        case .sequence(let elements): write(elements: elements, indent: indent + 2)
        }
    }

    private mutating func write(elements: [SettingsNode], indent: Int) {
        let lead = String(repeating: " ", count: indent) + "- "
        for element in elements {
            if let short = Self.short(element) {
                text += "\(lead)\(short)\n"
                continue
            }
            switch element.content {
            case .mapping(let members):
                for (index, member) in members.enumerated() {
                    let own = index == 0 ? lead : String(repeating: " ", count: indent + 2)
                    write(member, indent: indent + 2, lead: own)
                }
            case .sequence(let inner):
                text += "\(lead.dropLast())\n"
                write(elements: inner, indent: indent + 2)
            case .scalar: break
            }
        }
    }

    /// What fits in one line: a text, nothing, an empty collection, a list of texts.
    private static func short(_ node: SettingsNode) -> String? {
        switch node.content {
        case .scalar(let text, let isPlain): return scalar(text, isPlain: isPlain)
        case .mapping(let members): return members.isEmpty ? "{}" : nil
        case .sequence(let elements):
            var texts: [String] = []
            for element in elements {
                guard case .scalar(let text, let isPlain) = element.content else { return nil }
                texts.append(scalar(text, isPlain: isPlain))
            }
            return "[\(texts.joined(separator: ", "))]"
        }
    }

    /// A name as a mapping's key.
    static func key(_ name: String) -> String { scalar(name, isPlain: true, isKey: true) }

    /// A text that is one, whatever it looks like.
    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x22: quoted += "\\\""
            case 0x5C: quoted += "\\\\"
            case 0x20...0x7E, 0xA0...0x2027, 0x202A...0xD7FF, 0xE000...0xFEFE, 0xFF00...0xFFFD, 0x10000...0x10FFFF:
                quoted.unicodeScalars.append(scalar)
            default:
                let digits = String(scalar.value, radix: 16, uppercase: true)
                quoted += "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
            }
        }
        return quoted + "\""
    }

    /// - Parameter isPlain: whether it stood without quotes, so that it may be a number, a boolean or nothing.
    private static func scalar(_ text: String, isPlain: Bool, isKey: Bool = false) -> String {
        if isPlain, text.isEmpty, !isKey { return "null" }
        // What looks like more than a text is made of these characters only, so the quotes change nothing for others.
        return isPlain && staysPlain(text) ? text : quoted(text)
    }

    /// Whether it is read as the same without quotes, in a list between brackets, too.
    private static func staysPlain(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard let first = bytes.first, let last = bytes.last, bytes.count <= 200 else { return false }
        func isWord(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        let isNegative = first == UInt8(ascii: "-") && bytes.count > 1 && isWord(bytes[1])
        guard isWord(first) || isNegative || "/.$(~+".utf8.contains(first), last != ASCII.space else { return false }
        for (index, byte) in bytes.enumerated() where !isWord(byte) {
            if byte == UInt8(ascii: ":") {
                // One that begins a value, or would between brackets.
                guard index + 1 < bytes.count else { return false }
                guard isWord(bytes[index + 1]) || bytes[index + 1] == UInt8(ascii: "/") else { return false }
            } else if !" /.$()~+-*@=;<>%".utf8.contains(byte) {
                return false
            }
        }
        return true
    }
}
