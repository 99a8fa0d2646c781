internal import Gateway
internal import Proxy

/// Reads `match`: a path, or a mapping of conditions.
struct MatchReader {
    let context: ReadingContext

    /// Nil when a part of it could not be read.
    func read(_ node: SettingsNode) -> RouteMatch? {
        if case .mapping = node.content { return conditions(node) }
        guard let path = path(node) else { return nil }
        context.record("match.path", path.text, .line(node.position.line))
        return RouteMatch(path: path)
    }

    private func conditions(_ node: SettingsNode) -> RouteMatch? {
        guard let section = SectionReader(node, "\"match\"", path: "match", context) else { return nil }
        let failures = context.failures
        var path: PathPattern?
        if let node = section.take("path") {
            path = self.path(node)
            if let path { section.record("path", path.text, .line(node.position.line)) }
        } else {
            path = try? PathPattern(parsing: "/*")
            section.record("path", "/*", .standard)
        }
        let methods = section.list("method", method)
        let hosts = section.patterns("host", HostPattern.init(parsing:))
        let types = section.patterns("type", MediaRange.init(parsing:))
        let headers = section.take("header").map { self.headers($0, section) } ?? []
        section.refuse("query", "is nothing that a route is found by: known are path, method, host, type, header")
        section.finish()
        guard let path, context.failures == failures else { return nil }
        return RouteMatch(path: path, methods: methods, hosts: hosts, types: types, headers: headers)
    }

    private func path(_ node: SettingsNode) -> PathPattern? {
        context.text(node, "\"path\"").flatMap { context.pattern($0, node, PathPattern.init(parsing:)) }
    }

    private func method(_ node: SettingsNode, _ text: String) -> String? {
        if text == "CONNECT" {
            context.report(node.position, "CONNECT is never forwarded")
            return nil
        }
        if text.contains("*") {
            context.report(
                node.position, "no star stands for methods: leave \"method\" out where a route takes any of them")
            return nil
        }
        if HeaderName.isValid(text), text == text.uppercased(), text.utf8.count <= 32 { return text }
        context.report(
            node.position,
            HeaderName.isValid(text.uppercased()) && text.utf8.count <= 32
                ? "methods are in capitals: write \"\(text.uppercased())\", not \"\(text)\""
                : "\"\(text)\" is no method")
        return nil
    }

    private func headers(_ node: SettingsNode, _ section: SectionReader) -> [HeaderCondition] {
        guard let fields = SectionReader(node, "\"header\"", context) else { return [] }
        var conditions: [HeaderCondition] = []
        for member in fields.remaining {
            let name = member.key.lowercased()
            if !HeaderName.isValid(name) {
                context.report(member.position, "\"\(member.key)\" is no name of a header")
            }
            if conditions.contains(where: { $0.name == name }) {
                context.report(member.position, "the header \"\(name)\" occurs twice: write its values as a list")
            }
            let what = "the header \"\(name)\""
            let values = (context.elements(member.value, what) ?? []).compactMap { context.text($0, what) }
            conditions.append(HeaderCondition(name: name, values: values))
            section.record("header.\(name)", values.joined(separator: ", "), .line(member.position.line))
        }
        return conditions
    }
}
