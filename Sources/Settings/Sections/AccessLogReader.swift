internal import Proxy

/// Reads `access_log`: a place, or a mapping that says also what a line looks like.
struct AccessLogReader {
    private let context: ReadingContext

    init(_ context: ReadingContext) {
        self.context = context
    }

    /// Takes what the top of the file says.
    func read(_ section: SectionReader) -> (target: AccessLogTarget, form: AccessLogForm) {
        var form = AccessLogForm()
        let standard = Sourced(AccessLogTarget.stdout)
        guard let node = section.take("access_log") else {
            let absent = SectionReader.absent("\"access_log\"", path: "access_log", context)
            section.record("access_log", Self.describe(standard.value), .standard)
            readForm(absent, &form)
            return (standard.value, form)
        }
        guard case .mapping = node.content else {
            let target = target(node, "\"access_log\"") ?? standard.value
            section.record("access_log", Self.describe(target), .line(node.position.line))
            readForm(.absent("\"access_log\"", path: "access_log", context), &form)
            return (target, form)
        }
        guard let mapping = SectionReader(node, "\"access_log\"", path: "access_log", context) else {
            return (standard.value, form)
        }
        let target = mapping.value("to", standard: standard, describe: Self.describe, read: target).value
        readForm(mapping, &form)
        mapping.finish()
        return (target, form)
    }

    private func readForm(_ section: SectionReader, _ form: inout AccessLogForm) {
        let failures = context.failures
        section.word("format", into: &form.format)
        let isKnown = context.failures == failures
        section.word("query", into: &form.query)
        if form.format != .json, isKnown {
            section.refuse("fields", "needs format: json, the other format has no place for them")
        }
        let fields = section.part("fields")
        form.requestFields = names("request", fields)
        form.responseFields = names("response", fields)
        fields.finish()
    }

    /// Names of fields to be logged, in lower case.
    private func names(_ key: String, _ section: SectionReader) -> [String] {
        section.value(key, standard: Sourced([]), describe: { $0.joined(separator: ", ") }) { node, what in
            var names: [String] = []
            for element in context.elements(node, what) ?? [] {
                guard let text = context.text(element, what) else { continue }
                let name = text.lowercased()
                if let fault = Self.fault(of: name, after: names) {
                    context.report(element.position, "\(what): \(fault)")
                } else {
                    names.append(name)
                }
            }
            return names
        }.value
    }

    /// Fields of one side at most.
    private static let limit = 16
    /// What a name holds whose value is a secret, or a way to one: it is never logged.
    private static let secrets = [
        "authorization", "cookie", "token", "secret", "password", "passwd", "credential", "apikey", "api-key",
        "api_key",
        "session",
    ]

    private static func fault(of name: String, after names: [String]) -> String? {
        guard HeaderName.isValid(name), name.utf8.count <= 64 else {
            return "\"\(name)\" is no name of a field: write one, as in X-Tenant"
        }
        if let secret = secrets.first(where: name.contains) {
            return "\"\(name)\" is not logged: a field whose name holds \"\(secret)\" is taken for a secret"
        }
        if names.contains(name) { return "\"\(name)\" is written twice" }
        return names.count < limit ? nil : "at most \(limit) fields are logged"
    }

    private static func describe(_ target: AccessLogTarget) -> String {
        switch target {
        case .stdout: "stdout"
        case .off: "off"
        case .file(let path): path
        }
    }

    private func target(_ node: SettingsNode, _ what: String) -> AccessLogTarget? {
        guard let text = context.text(node, what) else { return nil }
        switch text {
        case "stdout": return .stdout
        case "off": return .off
        default:
            if text.contains("/") { return .file(path: context.environment.path(text)) }
            context.report(
                node.position,
                "\(what) is stdout, off or a path with a slash, as in /var/log/recast.log, not \"\(text)\"")
            return nil
        }
    }
}
