internal import Gateway
internal import Proxy
internal import Transcoding

/// Reads `when` and `accept` of a response rule, and `accept` of a request.
struct ResponseConditionReader {
    private let context: ReadingContext

    init(_ context: ReadingContext) {
        self.context = context
    }

    /// `when`: the responses that a rule is for.
    func condition(_ node: SettingsNode, path: String) -> ResponseCondition? {
        guard let section = SectionReader(node, "\"when\"", path: path, context) else { return nil }
        let failures = context.failures
        var condition = ResponseCondition()
        condition.statuses = statuses(section)
        condition.types = types(section)
        condition.accept = section.list("accept") { node, text in
            let range = context.pattern(text, node, MediaRange.init(parsing:))
            if let range, range.description.contains("*") {
                context.report(
                    node.position, "\"accept\" names a media type that the client may take, without a star")
                return nil
            }
            return range
        }
        if section.remaining.isEmpty, condition == ResponseCondition(), context.failures == failures {
            context.report(node.position, "\"when\" is empty: leave it out, or name status, type or accept")
        }
        section.finish()
        return context.failures == failures ? condition : nil
    }

    /// `accept`: the responses that are good for a rule's conversion, which is `plan`.
    func accepted(
        _ node: SettingsNode, path: String, for plan: ConversionPlan?
    ) -> (statuses: [StatusRange], types: [ResponseTypePattern])? {
        guard let section = SectionReader(node, "\"accept\"", path: path, context) else { return nil }
        let failures = context.failures
        let statuses = statuses(section)
        let typeNode = section.remaining.first { $0.key == "type" }
        let types = types(section)
        if let typeNode, let plan { checkReadsOne(plan, typeNode) }
        section.finish()
        return context.failures == failures ? (statuses, types) : nil
    }

    /// `accept` of a request: other types that a body for its conversion, which is `plan`, comes under.
    func acceptedOfRequest(_ node: SettingsNode, path: String, for plan: ConversionPlan?) -> [MediaPattern]? {
        guard let section = SectionReader(node, "\"accept\"", path: path, context) else { return nil }
        defer { section.finish() }
        guard let typeNode = section.remaining.first(where: { $0.key == "type" }) else {
            _ = section.required("type", example: "text/plain")
            return nil
        }
        let types: [MediaPattern] = section.list("type") { node, text in
            let type = MediaPattern(text)
            if type == nil {
                context.report(node.position, "\"\(text)\" is no media type: write text/plain, text/*, +json or */*")
            }
            return type
        }
        if let plan {
            if plan.inputs == [.raw] {
                context.report(typeNode.position, "raw reads bodies of any type: remove \"type\"")
            }
            checkReadsOne(plan, typeNode)
        }
        return types
    }

    /// Sees that a body of another type than its own could only be read in one way.
    private func checkReadsOne(_ plan: ConversionPlan, _ typeNode: SettingsNode.Member) {
        if plan.readsQuery {
            return context.report(typeNode.position, "\"type\" is about a body, and query reads none: remove it")
        }
        guard plan.inputs.count != 1 || plan.inputs == [.multipart] else { return }
        context.report(
            typeNode.position,
            "\"type\" says what is read as one encoding, and multipart needs its own type for the boundary: "
                + "remove it, or decode form, json or another single encoding")
    }

    private func statuses(_ section: SectionReader) -> [StatusRange] {
        section.patterns("status", StatusRange.init(parsing:))
    }

    private func types(_ section: SectionReader) -> [ResponseTypePattern] {
        section.patterns("type", ResponseTypePattern.init(parsing:))
    }
}
