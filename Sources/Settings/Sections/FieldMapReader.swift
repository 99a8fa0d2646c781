internal import Gateway
internal import Proxy
internal import Transcoding

/// Reads `map` and `fields` of a conversion.
struct FieldMapReader {
    let context: ReadingContext
    let values: RequestValueReader
    /// Leads to the conversion: `request`.
    let path: String

    func map(_ node: SettingsNode) -> FieldMap {
        var map = FieldMap()
        guard let section = SectionReader(node, "\"map\"", path: "\(path).map", context) else { return map }
        if let node = section.take("remove") {
            for element in context.elements(node, "\"remove\"") ?? [] {
                guard let path = context.fieldPath(element, "\"remove\"") else { continue }
                map.remove.append(path)
                section.record("remove", path.description, .line(element.position.line))
            }
        }
        if let node = section.take("rename"), let renames = SectionReader(node, "\"rename\"", context) {
            for member in renames.remaining {
                guard let from = context.fieldPath(member), let to = context.fieldPath(member.value, "the new name")
                else { continue }
                map.rename.append(.init(from: from, to: to))
                section.record("rename", "\(from) to \(to)", .line(member.position.line))
            }
        }
        map.set = assignments("set", section)
        map.append = assignments("append", section)
        section.finish()
        return map
    }

    /// Values by their places: what is set, or appended.
    private func assignments(_ key: String, _ section: SectionReader) -> [FieldMap.Assignment] {
        guard let node = section.take(key), let members = SectionReader(node, "\"\(key)\"", context) else { return [] }
        return members.remaining.compactMap { member in
            guard let path = context.fieldPath(member), let value = assigned(member.value, path) else { return nil }
            section.record(key, path.description, .line(member.position.line))
            return .init(path: path, value: value)
        }
    }

    func types(_ node: SettingsNode) -> [TypeRule] {
        guard let section = SectionReader(node, "\"fields\"", path: "\(path).fields", context) else { return [] }
        var rules: [TypeRule] = []
        for member in section.remaining {
            let words = FieldType.allCases.map(\.rawValue)
            guard let path = context.fieldPath(member),
                let word = context.word(member.value, "the type of \"\(member.key)\"", among: words),
                let type = FieldType(rawValue: word)
            else { continue }
            rules.append(TypeRule(path: path, type: type))
            section.record(member.key, word, .line(member.position.line))
        }
        return rules
    }

    // MARK: - Values that are set

    private func assigned(_ node: SettingsNode, _ path: FieldPath) -> AssignedValue? {
        if path.segments.contains(.any) {
            context.report(node.position, "a field that is set has one place: \"*\" means many")
            return nil
        }
        if case .scalar(let text, _) = node.content, text.contains("${") {
            return values.value(node, "the value of \"\(path)\"").map { value in
                switch value {
                case .text(let text): .literal(.string(text))
                case .source(let source): .source(values.index(of: source))
                }
            }
        }
        return literal(node).map(AssignedValue.literal)
    }

    /// A value as it is written down.
    func literal(_ node: SettingsNode) -> Literal? {
        switch node.content {
        case .scalar(let text, isPlain: true): return plain(text, node)
        case .scalar: return context.text(node, "a value inside a list or a mapping").map(Literal.string)
        case .sequence(let elements):
            let values = elements.map(literal)
            return values.contains(nil) ? nil : .array(values.compactMap(\.self))
        case .mapping(let members):
            let values = members.map { member in
                literal(member.value).map { Literal.Member(name: member.key, value: $0) }
            }
            return values.contains(nil) ? nil : .object(values.compactMap(\.self))
        }
    }

    /// YAML without quotes: what JSON has too, or text. What the YAML versions read differently is refused.
    private func plain(_ text: String, _ node: SettingsNode) -> Literal? {
        if node.isNull { return .null }
        switch text {
        case "true": return .bool(true)
        case "false": return .bool(false)
        default: break
        }
        if NumberText(Array(text.utf8).span) != nil { return .number(text) }
        let word = text.lowercased()
        if ["yes", "no", "on", "off", "y", "n", "true", "false", "null"].contains(word) {
            context.report(
                node.position, "\"\(text)\" is not clear: write true, false or null, or the text in quotes")
            return nil
        }
        if YAMLNumber.looksLikeNumber(word) {
            context.report(
                node.position, "\"\(text)\" is not written as JSON writes numbers: write it so, or the text in quotes")
            return nil
        }
        return context.text(node, "a value inside a list or a mapping").map(Literal.string)
    }
}

/// Numbers of YAML.
private enum YAMLNumber {
    /// Whether some YAML reads `text`, in lower case, as a number: `0x1F`, `1_000`, `+1`, `.5`, `.inf`, `007`.
    static func looksLikeNumber(_ text: String) -> Bool {
        let unsigned = text.hasPrefix("-") || text.hasPrefix("+") ? text.dropFirst() : text[...]
        if unsigned == ".inf" || text == ".nan" { return true }
        guard let first = unsigned.first, first == "." || first.isASCII && first.isNumber else { return false }
        let plain = unsigned.filter { $0 != "_" }
        if plain.hasPrefix("0o") || plain.hasPrefix("0b") { return Int(plain.dropFirst(2), radix: 8) != nil }
        return Double(plain) != nil || plain.last == "." && Double(plain.dropLast()) != nil
    }
}
