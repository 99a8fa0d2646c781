internal import Gateway
internal import Proxy
internal import Transcoding

/// Reads what a route does with responses: `response: xml -> json`, one rule, or a list of rules.
struct ResponseRuleReader {
    let context: ReadingContext
    /// The variables of the route's path.
    let variables: [String?]?
    /// What notes call the rule at hand.
    var which = ""

    private static let example = "convert: json -> form"
    /// The keys of the two ways to write a conversion.
    private static let conversionKeys = ["decode", "map", "fields", "blanks", "encode", "accept", "on_other_type"]

    /// `route` holds `response`. Nil when something can't be read.
    func read(_ route: SectionReader, limits: Limits) -> [ResponseRule]? {
        guard let node = route.take("response") else {
            route.record("response", "forward", .standard)
            return []
        }
        let failures = context.failures
        var rules: [(rule: ResponseRule, line: Int)] = []
        func add(_ node: SettingsNode, path: String, which: String) {
            var reader = self
            reader.which = which
            guard let rule = reader.rule(node, path: path, limits: limits) else { return }
            if let cover = rules.first(where: { $0.rule.condition.covers(rule.condition) }) {
                context.report(
                    node.position,
                    "the rule can never hold: the rule in line \(cover.line) takes every response before it")
            }
            rules.append((rule, node.position.line))
        }
        if case .sequence(let nodes) = node.content {
            if nodes.isEmpty {
                context.report(node.position, "\"response\" is an empty list: leave it out or write a rule")
            }
            for (index, node) in nodes.enumerated() {
                add(node, path: "response[\(index)]", which: ResponseRule.which(index, of: nodes.count))
            }
        } else {
            add(node, path: "response", which: ResponseRule.which(0, of: 1))
        }
        return context.failures == failures ? rules.map(\.rule) : nil
    }

    private func rule(_ node: SettingsNode, path: String, limits: Limits) -> ResponseRule? {
        let values = RequestValueReader(context, variables: variables)
        if case .scalar = node.content {
            let reader = BodyConversionReader(context, values: values, "\"response\"", path: path)
            guard let plan = checked(reader.short(node), at: node, limits) else { return nil }
            _ = context.otherTypes(nil, path: path, standard: .pass)
            return ResponseRule(ResponseCondition(), .convert(ResponseConversion(plan)))
        }
        guard let section = SectionReader(node, "a rule of \"response\"", path: path, context) else { return nil }
        defer { section.finish() }
        let when = section.take("when")
        var condition: ResponseCondition? = ResponseCondition()
        if let when { condition = ResponseConditionReader(context).condition(when, path: "\(path).when") }
        let failures = context.failures
        let envelope = EnvelopeReader(context: context, path: path)
        let status = section.take("status_from").flatMap(envelope.status)
        let problem = section.take("problem").flatMap(envelope.problem)
        guard context.failures == failures else {
            for key in ["pass", "convert"] + Self.conversionKeys { _ = section.take(key) }
            return nil
        }
        if let condition, problem != nil, status == nil, !condition.statuses.isEmpty,
            condition.statuses.allSatisfy({ $0.range.upperBound < 400 })
        {
            context.report(
                node.position,
                "\"problem\" is for statuses from 400 on, and \"when\" lets none in: add 4xx, or \"status_from\"")
            for key in ["pass", "convert"] + Self.conversionKeys { _ = section.take(key) }
            return nil
        }
        if let pass = section.take("pass") {
            for key in ["convert"] + Self.conversionKeys {
                section.refuse(key, "has no meaning beside \"pass\", which forwards the response as it is")
            }
            guard let value = context.bool(pass, "\"pass\"") else { return nil }
            if !value {
                context.report(pass.position, "\"pass\" is true, or the rule converts: \(Self.example)")
                return nil
            }
            section.record("pass", "true", .line(pass.position.line))
            return condition.map { ResponseRule($0, .forward, status: status, problem: problem) }
        }
        let isConverted = section.remaining.contains { $0.key == "convert" || Self.conversionKeys.contains($0.key) }
        if status != nil || problem != nil, !isConverted {
            return condition.map { ResponseRule($0, .forward, status: status, problem: problem) }
        }
        guard let conversion = conversion(section, node, values, path: path, limits), let condition else { return nil }
        return ResponseRule(condition, .convert(conversion), status: status, problem: problem)
    }

    private func conversion(
        _ section: SectionReader, _ node: SettingsNode, _ values: RequestValueReader, path: String, _ limits: Limits
    ) -> ResponseConversion? {
        let has = { (key: String) in section.remaining.contains { $0.key == key } }
        guard has("convert") || has("decode") || has("encode") else {
            for key in Self.conversionKeys { _ = section.take(key) }
            context.report(
                node.position,
                "a rule of \"response\" says \"pass: true\" or \"\(Self.example)\", or has \"status_from\" or \"problem\""
            )
            return nil
        }
        let reader = BodyConversionReader(context, values: values, "\"convert\"", path: path)
        let plan: ConversionPlan?
        if let convert = section.take("convert") {
            var short = reader.short(convert)
            for key in ["decode", "encode"] {
                section.refuse(key, "stands beside \"convert\", which says the same: remove one")
            }
            reader.readFields(section, &short)
            plan = checked(short, at: convert, limits)
        } else {
            plan = checked(reader.long(section), at: node, limits)
        }
        let accept = section.take("accept")
        let other = context.otherTypes(section.take("on_other_type"), path: path, standard: .pass)
        guard let plan, let other else {
            if let accept { _ = ResponseConditionReader(context).accepted(accept, path: "\(path).accept", for: nil) }
            return nil
        }
        var conversion = ResponseConversion(plan)
        conversion.otherTypes = other
        conversion.sources = values.sources
        if let accept {
            let accepted = ResponseConditionReader(context).accepted(accept, path: "\(path).accept", for: plan)
            guard let accepted else { return nil }
            conversion.acceptedStatuses = accepted.statuses
            conversion.acceptedTypes = accepted.types
        }
        return conversion
    }

    /// The plan with the route's limits, when it can hold for a response.
    private func checked(_ plan: ConversionPlan?, at node: SettingsNode, _ limits: Limits) -> ConversionPlan? {
        guard var plan else { return nil }
        if plan.readsQuery || plan.writesQuery {
            context.report(node.position, "a response has no query: write the encoding of a body")
            return nil
        }
        if plan.files.contains(where: { $0.image != nil }) {
            context.report(node.position, "\"image\" is for files of requests: responses keep theirs")
            return nil
        }
        plan.limits = limits
        let failures = context.failures
        context.check(plan, at: node.position, of: which)
        return context.failures == failures ? plan : nil
    }
}

extension ResponseRule {
    /// What notes call the rule with that index, behind the route's name.
    static func which(_ index: Int, of count: Int) -> String { count == 1 ? ", response" : ", response \(index + 1)" }
}
