internal import Gateway
internal import Proxy
internal import Transcoding

/// Reads `status_from` and `problem` of a response rule: what is made of the envelope that a service answers with.
struct EnvelopeReader {
    let context: ReadingContext
    /// Leads to the rule, for the effective values.
    let path: String

    // MARK: status_from: errcode | off | {path, map, default, look, as}

    /// Nil where none is wanted, and where it can't be read.
    func status(_ node: SettingsNode) -> StatusRule? {
        if context.saysOff(node, "\"status_from\"") { return nil }
        if case .scalar = node.content { return short(node) }
        guard let section = SectionReader(node, "\"status_from\"", path: "\(path).status_from", context) else {
            return nil
        }
        let failures = context.failures
        let node = section.required("path", example: "errcode")
        let path = node.flatMap { place($0, "\"path\"") }
        if let node, let path { section.record("path", path.description, .line(node.position.line)) }
        var rule = StatusRule(path: path ?? FieldPath([]))
        if let node = section.take("map") { rule.map = map(node) }
        if let node = section.take("default"), let outcome = outcome(node, "\"default\"") {
            rule.standard = outcome
            section.record("default", outcome.description, .line(node.position.line))
        } else {
            section.record("default", rule.standard.description, .standard)
        }
        readLook(section, &rule.look, &rule.encoding)
        section.finish()
        return context.failures == failures ? rule : nil
    }

    /// The path alone; all else is standard.
    private func short(_ node: SettingsNode) -> StatusRule? {
        guard let path = place(node, "\"status_from\"") else { return nil }
        let rule = StatusRule(path: path)
        context.record("\(self.path).status_from.path", path.description, .line(node.position.line))
        context.record("\(self.path).status_from.default", rule.standard.description, .standard)
        context.record("\(self.path).status_from.look", Units.describe(bytes: rule.look), .standard)
        return rule
    }

    private func map(_ node: SettingsNode) -> [StatusRule.Entry] {
        guard let section = SectionReader(node, "\"map\"", path: "\(path).status_from.map", context) else { return [] }
        var entries: [StatusRule.Entry] = []
        if section.remaining.isEmpty {
            context.report(
                node.position,
                "\"map\" is empty: leave it out where the value is the status itself, or write a value, as in 0: 200")
        }
        for member in section.remaining {
            let key: StatusRule.Key
            do throws(PatternFault) {
                key = try StatusRule.Key(parsing: member.key)
            } catch {
                context.report(member.position, error.reason)
                continue
            }
            guard let outcome = outcome(member.value, "the status of \"\(member.key)\"") else { continue }
            entries.append(StatusRule.Entry(key, outcome))
            section.record(member.key, outcome.description, .line(member.position.line))
        }
        return entries
    }

    private func outcome(_ node: SettingsNode, _ what: String) -> StatusRule.Outcome? {
        guard let text = context.text(node, what) else { return nil }
        if text == "unchanged" { return .unchanged }
        guard let status = Int(text), String(status) == text else {
            context.report(node.position, "\(what) is a status or \"unchanged\", not \"\(text)\"")
            return nil
        }
        if let fault = StatusRule.fault(of: status) {
            context.report(node.position, "\(what): \(fault)")
            return nil
        }
        return .status(status)
    }

    // MARK: problem: true | off | {detail, title, type, look, as}

    /// Nil where none is wanted, and where it can't be read.
    func problem(_ node: SettingsNode) -> ProblemRule? {
        if context.saysOff(node, "\"problem\"") { return nil }
        if case .scalar = node.content {
            guard context.bool(node, "\"problem\"") == true else { return nil }
            context.record("\(path).problem", "true", .line(node.position.line))
            return ProblemRule()
        }
        guard let section = SectionReader(node, "\"problem\"", path: "\(path).problem", context) else { return nil }
        let failures = context.failures
        var rule = ProblemRule()
        if let node = section.take("detail") {
            rule.detail = (context.elements(node, "\"detail\"") ?? []).compactMap { place($0, "\"detail\"") }
            section.record(
                "detail", rule.detail.map(\.description).joined(separator: ", "), .line(node.position.line))
        }
        if let node = section.take("title") {
            rule.title = place(node, "\"title\"")
            section.record("title", rule.title?.description ?? "", .line(node.position.line))
        }
        if let node = section.take("type"), let type = context.text(node, "\"type\"") {
            if type.isEmpty || !type.utf8.allSatisfy(Self.isURIByte) {
                context.report(node.position, "\"type\" is a URI, as in https://example.com/problems/order")
            }
            rule.type = type
            section.record("type", type, .line(node.position.line))
        }
        readLook(section, &rule.look, &rule.encoding)
        section.finish()
        return context.failures == failures ? rule : nil
    }

    /// What a URI reference can have (RFC 3986 §2).
    private static func isURIByte(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7F && !"\"<>\\^`{|}".utf8.contains(byte)
    }

    // MARK: What both have

    /// A path to one value.
    private func place(_ node: SettingsNode, _ what: String) -> FieldPath? {
        guard let path = context.fieldPath(node, what) else { return nil }
        if path.segments.contains(.any) {
            context.report(node.position, "\(what) has one place: \"*\" means many")
            return nil
        }
        return path
    }

    private func readLook(_ section: SectionReader, _ look: inout Int, _ encoding: inout BodyEncoding?) {
        let node = section.remaining.first { $0.key == "look" }
        look = section.size("look", standard: Sourced(look)).value
        if let node, look > StatusRule.longestLook {
            context.report(
                node.value.position,
                "\"look\" is at most \(Units.describe(bytes: StatusRule.longestLook)), which is held in memory")
        }
        guard let node = section.take("as") else { return }
        let words = StatusRule.encodings.map(\.rawValue)
        guard let word = context.word(node, "\"as\"", among: words) else { return }
        encoding = BodyEncoding(rawValue: word)
        section.record("as", word, .line(node.position.line))
    }
}
