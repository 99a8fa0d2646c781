internal import Gateway
internal import Proxy
internal import Transcoding

/// Reads `examples` of a route.
struct ExampleReader {
    private static let inputs = ["in", "in_fields"]
    private static let outputs = ["out", "out_fields", "out_text", "error"]

    let context: ReadingContext
    let route: Route
    /// Whether nothing of the route that a body goes through is a placeholder.
    let isKnown: Bool

    func read(_ node: SettingsNode) -> [RouteExample] {
        guard let plan = route.conversion?.plan else {
            context.report(node.position, "\"examples\" are for routes that convert: add \"request\" or remove them")
            return []
        }
        guard case .sequence(let nodes) = node.content, !nodes.isEmpty else {
            context.report(node.position, "\"examples\" is a list of at least one example, as in [{in: …, out: …}]")
            return []
        }
        return nodes.compactMap { example($0, plan) }
    }

    private func example(_ node: SettingsNode, _ plan: ConversionPlan) -> RouteExample? {
        guard let section = SectionReader(node, "an example", context) else { return nil }
        let failures = context.failures
        let typeNode = section.take("type")
        let type = typeNode.flatMap { context.text($0, "\"type\"") }
        let request = request(section)
        let input = input(section, plan, type: type)
        let expectation = expectation(section, plan)
        section.finish()
        guard let input, let expectation, context.failures == failures else { return nil }
        do {
            _ = try request.values(for: route)
        } catch {
            context.report(node.position, error.reason)
            return nil
        }
        let isKnown = isKnown && !context.isUnresolved(node)
        if !isKnown { context.noteUnjudged(line: node.position.line) }
        return RouteExample(
            node.position, request: request, type: type, input: input, expectation: expectation, isKnown: isKnown)
    }

    // MARK: - The request

    private func request(_ section: SectionReader) -> SampleRequest {
        var request = SampleRequest()
        if let node = section.take("path"), let path = context.text(node, "\"path\"") {
            if !path.hasPrefix("/") { context.report(node.position, "a path begins with a slash") }
            request.path = path
        }
        if let node = section.take("query"), let query = context.text(node, "\"query\"") {
            if query.hasPrefix("?") { context.report(node.position, "a query is written without the question mark") }
            request.query = query
        }
        if let node = section.take("client"), let client = context.text(node, "\"client\"") { request.client = client }
        if let node = section.take("header"), let fields = SectionReader(node, "\"header\"", context) {
            for member in fields.remaining {
                guard let value = context.text(member.value, "the header \"\(member.key)\"") else { continue }
                if !HeaderName.isValid(member.key) {
                    context.report(member.position, "\"\(member.key)\" is no name of a header")
                } else if member.key.lowercased() == "content-type" {
                    context.report(member.position, "the Content-Type of an example is its \"type\"")
                }
                request.headers.append(.init(name: member.key, value: value))
            }
        }
        return request
    }

    // MARK: - What comes in

    /// The one of `keys` that is there.
    private func one(_ section: SectionReader, of keys: [String]) -> (key: String, node: SettingsNode)? {
        let found = keys.compactMap { key in section.take(key).map { (key: key, node: $0) } }
        let words = keys.map { "\"\($0)\"" }
        let list = "\(words.dropLast().joined(separator: ", ")) or \(words.last ?? "")"
        if found.isEmpty { context.report(section.position, "an example needs \(list)") }
        if found.count > 1 { context.report(found[1].node.position, "an example has one of \(list), not more") }
        return found.count == 1 ? found[0] : nil
    }

    private func input(_ section: SectionReader, _ plan: ConversionPlan, type: String?) -> RouteExample.Input? {
        guard let (key, node) = one(section, of: Self.inputs) else { return nil }
        if key == "in_fields" {
            guard plan.inputs.contains(.form) || plan.inputs.contains(.multipart) else {
                context.report(node.position, "\"in_fields\" is for form and multipart input")
                return nil
            }
            return fields(node, "\"in_fields\"").map { .fields($0.compactMap(RouteExample.Field.init)) }
        }
        if case .scalar = node.content {
            let text = node.isNull ? "" : context.text(node, "\"in\"")
            guard let text else { return nil }
            if type == nil, plan.inputs.count > 1 || plan.inputs == [.multipart] {
                context.report(
                    node.position,
                    plan.inputs.count > 1
                        ? "with the input auto, say what the text is, as in type: application/json"
                        : "multipart is read by its boundary: say type: multipart/form-data; boundary=…")
                return nil
            }
            return .text(text)
        }
        if plan.inputs == [.raw] {
            context.report(node.position, "a raw body is a text")
            return nil
        }
        return literal(node).map(RouteExample.Input.document)
    }

    /// A value, as a map has it.
    private func literal(_ node: SettingsNode) -> Literal? {
        let values = RequestValueReader(context, variables: nil)
        return FieldMapReader(context: context, values: values, path: "examples").literal(node)
    }

    /// A list of `name=value`.
    private func fields(_ node: SettingsNode, _ what: String) -> [String]? {
        if case .sequence(let elements) = node.content, elements.isEmpty { return [] }
        let failures = context.failures
        let texts = (context.elements(node, what) ?? []).compactMap { element -> String? in
            guard let text = context.text(element, what) else { return nil }
            if !text.contains("="), what == "\"in_fields\"" {
                context.report(element.position, "\"\(text)\" has no \"=\": write NAME=VALUE")
            }
            return text
        }
        return context.failures == failures ? texts : nil
    }

    // MARK: - What comes out

    private func expectation(_ section: SectionReader, _ plan: ConversionPlan) -> RouteExample.Expectation? {
        guard let (key, node) = one(section, of: Self.outputs) else { return nil }
        switch key {
        case "out_fields":
            guard plan.output == .form || plan.output == .multipart else {
                context.report(
                    node.position,
                    "\"out_fields\" is for form and multipart output: write \"out\" for \(plan.output.rawValue)")
                return nil
            }
            return fields(node, "\"out_fields\"").map(RouteExample.Expectation.fields)
        case "out_text":
            if plan.output == .multipart && plan.outputWithoutFiles == nil || plan.output.isBinary {
                context.report(
                    node.position,
                    plan.output == .multipart
                        ? "every multipart body has a boundary of its own: write \"out_fields\" or \"out\""
                        : "a body in \(plan.output.rawValue) is no text: write \"out\"")
                return nil
            }
            if node.isNull { return .text("") }
            return context.text(node, "\"out_text\"").map(RouteExample.Expectation.text)
        case "error":
            guard let code = context.text(node, "\"error\"") else { return nil }
            let isCode =
                !code.isEmpty
                && code.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x5F || (0x30...0x39).contains($0) }
            if !isCode { context.report(node.position, "\"error\" is a code, as in field_null") }
            return .error(code)
        default:
            if plan.output == .raw {
                context.report(node.position, "a raw body has no structure: write \"out_text\"")
                return nil
            }
            return literal(node).map(RouteExample.Expectation.document)
        }
    }
}
