internal import Proxy
internal import Serialization

/// Reads `files`: one word for all files of a side, or a mapping of fields to what becomes of each.
struct FileRuleReader {
    private let context: ReadingContext

    init(_ context: ReadingContext) {
        self.context = context
    }

    /// Appends the rules to the plan and gives the policy for all other files where one is written. `policies` are the
    /// words that fit the side.
    func read(
        _ options: SectionReader, _ policies: [FilePolicy], _ side: String, _ plan: inout ConversionPlan
    ) -> FilePolicy? {
        guard let node = options.take("files") else { return nil }
        guard case .mapping = node.content else {
            return policy(node, policies, side, options)
        }
        guard let section = SectionReader(node, "\"files\"", context) else { return nil }
        var rest: FilePolicy?
        // `stream` is every rule's, since one may be about a file's name or size alone.
        let words = policies.isEmpty ? [.base64] : FilePolicy.allCases.filter { $0 == .stream || policies.contains($0) }
        for member in section.remaining {
            guard let value = section.take(member.key) else { continue }
            if member.key == "*", case .scalar = value.content {
                rest = policy(value, policies, side, options)
            } else if let rule = rule(member, value, words) {
                plan.files.append(rule)
                options.record("files.\(member.key)", rule.policy.rawValue, .line(member.position.line))
            }
        }
        return rest
    }

    private func policy(
        _ node: SettingsNode, _ policies: [FilePolicy], _ side: String, _ options: SectionReader
    ) -> FilePolicy? {
        guard let text = context.text(node, "\"files\"") else { return nil }
        if policies.isEmpty {
            context.report(
                node.position, "\(side) has no files of its own: name the fields, as in files: {photo: base64}")
            return nil
        }
        if text == FilePolicy.stream.rawValue, !policies.contains(.stream) {
            context.report(
                node.position, "\(side) can't hold files: write \(policies.map(\.rawValue).joined(separator: ", "))")
            return nil
        }
        guard let word = word(node, "\"files\"", among: policies) else { return nil }
        options.record("files", word.rawValue, .line(node.position.line))
        return word
    }

    /// One of the policies that fit. `object` resembles `reject` and would be taken for a slip of the pen.
    private func word(_ node: SettingsNode, _ what: String, among policies: [FilePolicy]) -> FilePolicy? {
        if context.text(node, what) == FilePolicy.object.rawValue, !policies.contains(.object) {
            context.report(node.position, "\(what): only files of multipart that become JSON can be objects")
            return nil
        }
        return context.word(node, what, among: policies.map(\.rawValue)).flatMap(FilePolicy.init)
    }

    /// The rule for one field: a word, or a mapping.
    private func rule(_ member: SettingsNode.Member, _ value: SettingsNode, _ policies: [FilePolicy]) -> FileRule? {
        let path = context.fieldPath(member)
        let what = "the file \"\(member.key)\""
        if case .scalar = value.content {
            guard let word = word(value, what, among: policies) else { return nil }
            return path.map { FileRule(path: $0, policy: word) }
        }
        guard let section = SectionReader(value, what, context) else { return nil }
        var policy = policies.contains(.stream) ? FilePolicy.stream : .base64
        let from = section.take("from")
        if let from, let word = context.text(from, "\"from\"") {
            if word == "data_url" {
                context.report(from.position, "\"from: data_url\" is not available yet: base64 is")
            } else if context.word(from, "\"from\"", among: ["base64"]) != nil {
                policy = .base64
            }
        }
        if let node = section.take("do") {
            if from != nil { context.report(node.position, "\(what) has \"from\" or \"do\", not both") }
            policy = word(node, "\"do\"", among: policies) ?? policy
        }
        let filename = section.take("filename").flatMap(filename)
        let type = section.take("type").flatMap(mediaType)
        let max = section.take("max").flatMap { context.size($0, "\"max\"") }
        section.notYet("types", "facts")
        section.finish()
        return path.map { FileRule(path: $0, policy: policy, filename: filename, mediaType: type, max: max) }
    }

    /// A name, or `${field.PATH}` alone.
    private func filename(_ node: SettingsNode) -> FileRule.Filename? {
        guard let pieces = context.pieces(node, "\"filename\"") else { return nil }
        if case .reference("field", let name, _, let offset)? = pieces.first, pieces.count == 1 {
            // The path stands behind `${field.`.
            return context.fieldPath(name, in: node, offset: offset + 8).map(FileRule.Filename.field)
        }
        if case .literal(let name)? = pieces.first, pieces.count == 1 { return .literal(name) }
        context.report(node.position, "\"filename\" is a name, or ${field.PATH} alone")
        return nil
    }

    private func mediaType(_ node: SettingsNode) -> String? {
        guard let text = context.text(node, "\"type\"") else { return nil }
        let essence = text.prefix { $0 != ";" }
        do {
            let range = try MediaRange(parsing: String(essence))
            if range.description.contains("*") || !text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) {
                context.report(node.position, "\"type\" is one media type, as in image/jpeg")
                return nil
            }
            return text
        } catch {
            context.report(context.position(in: node, byte: error.offset), "\"type\": \(error.reason)")
            return nil
        }
    }
}
