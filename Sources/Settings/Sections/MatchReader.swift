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
        var match: RouteMatch?
        if let node = section.take("path") {
            match = path(node).map { RouteMatch(path: $0) }
            if let match { section.record("path", match.path.text, .line(node.position.line)) }
        } else {
            match = (try? PathPattern(parsing: "/*")).map { RouteMatch(path: $0) }
            section.record("path", "/*", .standard)
        }
        if let node = section.take("method") {
            match?.methods = list(node, "\"method\"", section, method)
        }
        if let node = section.take("host") {
            match?.hosts = list(node, "\"host\"", section) { node, text in
                pattern(node) { () throws(PatternFault) in try HostPattern(parsing: text) }
            }
        }
        if let node = section.take("type") {
            match?.types = list(node, "\"type\"", section) { node, text in
                pattern(node) { () throws(PatternFault) in try MediaRange(parsing: text) }
            }
        }
        if let node = section.take("header") { match?.headers = headers(node, section) }
        section.refuse("query", "is nothing that a route is found by: known are path, method, host, type, header")
        section.finish()
        return context.failures == failures ? match : nil
    }

    private func path(_ node: SettingsNode) -> PathPattern? {
        context.text(node, "\"path\"").flatMap { text in
            pattern(node) { () throws(PatternFault) in try PathPattern(parsing: text) }
        }
    }

    private func pattern<Pattern>(
        _ node: SettingsNode, _ parse: () throws(PatternFault) -> Pattern
    ) -> Pattern? {
        do {
            return try parse()
        } catch {
            context.report(context.position(in: node, byte: error.offset), error.reason)
            return nil
        }
    }

    private func list<Element: Hashable>(
        _ node: SettingsNode, _ what: String, _ section: SectionReader,
        _ read: (SettingsNode, String) -> Element?
    ) -> [Element] {
        var elements: [Element] = []
        for element in context.elements(node, what) ?? [] {
            guard let text = context.text(element, what), let value = read(element, text) else { continue }
            if elements.contains(value) { context.report(element.position, "\(what) has \"\(text)\" twice") }
            elements.append(value)
        }
        let key = what.filter { $0 != "\"" }
        section.record(key, elements.map { "\($0)" }.joined(separator: ", "), .line(node.position.line))
        return elements
    }

    private func method(_ node: SettingsNode, _ text: String) -> String? {
        if text == "CONNECT" {
            context.report(node.position, "CONNECT is never forwarded")
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
