internal import Gateway
internal import Proxy
internal import Transcoding

/// Reads `files`: one word for all files of a side, or a mapping of fields to what becomes of each.
struct FileRuleReader {
    let context: ReadingContext

    /// Appends the rules to the plan and gives the policy for all other files where one is written. `policies` are the
    /// words that fit the side.
    func read(
        _ options: SectionReader, _ policies: [FilePolicy], _ side: String, _ plan: inout ConversionPlan
    ) -> FilePolicy? {
        guard let node = options.take("files") else { return nil }
        guard case .mapping = node.content else {
            return policy(node, policies, side, options, plan)
        }
        guard let section = SectionReader(node, "\"files\"", context) else { return nil }
        var rest: FilePolicy?
        // `stream` is every rule's, since one may be about a file's name or size alone.
        let words = policies.isEmpty ? [.base64] : FilePolicy.allCases.filter { $0 == .stream || policies.contains($0) }
        for member in section.remaining {
            let value = member.value
            if member.key == "*", case .scalar = value.content {
                rest = policy(value, policies, side, options, plan)
            } else if let rule = rule(member, value, words, options.path, plan) {
                // What is said of reading a field and what becomes of its picture may stand on two sides.
                if let image = rule.image, case .mapping(let members) = value.content, members.count == 1,
                    let index = plan.files.firstIndex(where: { $0.path == rule.path })
                {
                    plan.files[index].image = image
                    continue
                }
                plan.files.append(rule)
                options.record("files.\(member.key)", rule.policy.rawValue, .line(member.position.line))
            }
        }
        return rest
    }

    private func policy(
        _ node: SettingsNode, _ policies: [FilePolicy], _ side: String, _ options: SectionReader,
        _ plan: ConversionPlan
    ) -> FilePolicy? {
        guard let text = context.text(node, "\"files\"") else { return nil }
        // What fields become is said of each: this is about what comes as a file.
        guard plan.inputs.contains(where: \.hasFiles) else {
            let input = policies.isEmpty ? side : "what comes in"
            context.report(
                node.position, "\(input) has no files of its own: name the fields, as in files: {photo: base64}")
            return nil
        }
        if text == FilePolicy.stream.rawValue, !policies.contains(.stream) {
            context.report(
                node.position, "\(side) can't hold files: write \(policies.map(\.rawValue).joined(separator: ", "))")
            return nil
        }
        guard let word = word(node, "\"files\"", among: policies, plan) else { return nil }
        options.record("files", word.rawValue, .line(node.position.line))
        return word
    }

    /// One of the policies that fit. `object` resembles `reject` and would be taken for a slip of the pen.
    private func word(
        _ node: SettingsNode, _ what: String, among policies: [FilePolicy], _ plan: ConversionPlan
    ) -> FilePolicy? {
        if context.text(node, what) == FilePolicy.object.rawValue, !policies.contains(.object) {
            // A document's field can be an object that is a file.
            if what != "\"files\"", plan.output.hasFiles, plan.inputs.contains(where: \.hasObjects) { return .object }
            context.report(node.position, "\(what): \(FilePolicy.objectFault)")
            return nil
        }
        return context.word(node, what, among: policies.map(\.rawValue)).flatMap(FilePolicy.init)
    }

    /// The rule for one field: a word, or a mapping. `side` leads to `files`, for the effective values.
    private func rule(
        _ member: SettingsNode.Member, _ value: SettingsNode, _ policies: [FilePolicy], _ side: String,
        _ plan: ConversionPlan
    ) -> FileRule? {
        let path = context.fieldPath(member)
        let what = "the file \"\(member.key)\""
        if case .scalar = value.content {
            guard let word = word(value, what, among: policies, plan) else { return nil }
            return path.map { FileRule(path: $0, policy: word) }
        }
        guard let section = SectionReader(value, what, context) else { return nil }
        var policy = policies.contains(.stream) ? FilePolicy.stream : .base64
        var source: FileSource?
        let from = section.take("from")
        if let from, let word = fileSource(from) {
            // Base64 is also a policy, and says on input without files of its own what it says here.
            (policy, source) =
                word == .base64 && !plan.inputs.contains(where: \.hasFiles) ? (.base64, nil) : (policy, word)
            if !plan.output.hasFiles { (policy, source) = (.base64, word == .base64 ? nil : word) }
        }
        var hasPolicy = false
        if let node = section.take("do") {
            hasPolicy = true
            if from != nil { context.report(node.position, "\(what) has \"from\" or \"do\", not both") }
            policy = word(node, "\"do\"", among: policies, plan) ?? policy
        }
        let name = section.take("name").flatMap(partName)
        let filename = section.take("filename").flatMap(filename)
        let type = section.take("type").flatMap(mediaType)
        let max = section.take("max").flatMap { context.size($0, "\"max\"") }
        let types = section.take("types").map { context.mediaPatterns($0, "\"types\"") } ?? []
        var image: ImageRule?
        if let node = section.take("image") {
            image = ImageRuleReader(context: context).read(
                node, of: what, path: "\(side).files.\(member.key).image", plan)
            if policy == .drop || policy == .reject {
                context.report(node.position, "\(what) has an \"image\" and goes nowhere")
            }
            if type != nil {
                context.report(node.position, "\(what) has \"type\" and \"image\": the type is the picture's own")
            }
            // Base64 is what a picture is where there are no files.
            if from == nil, !hasPolicy, !plan.output.hasFiles || !plan.inputs.contains(where: \.hasFiles) {
                policy = .base64
            }
        }
        section.finish()
        return path.map {
            var rule = FileRule(
                path: $0, policy: policy, source: source, name: name, filename: filename, mediaType: type, max: max,
                types: types)
            rule.image = image
            return rule
        }
    }

    private func fileSource(_ node: SettingsNode) -> FileSource? {
        let words = FileSource.allCases.map(\.rawValue)
        return context.word(node, "\"from\"", among: words).flatMap(FileSource.init)
    }

    /// The name of a part, in which `{index}` stands for a number.
    private func partName(_ node: SettingsNode) -> FileNameTemplate? {
        guard let text = context.text(node, "\"name\"") else { return nil }
        if let name = FileNameTemplate(text) { return name }
        context.report(node.position, "\"name\" is a name in which {index} may stand for a number, as in photo{index}")
        return nil
    }

    /// A name, or `${field.PATH}` alone.
    private func filename(_ node: SettingsNode) -> FileRule.Filename? {
        guard let pieces = context.pieces(node, "\"filename\"", sources: ["${field.PATH}"]) else { return nil }
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
