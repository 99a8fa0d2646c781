internal import Proxy

/// Reads `access_log`: a place, or a mapping that says also what a line looks like.
struct AccessLogReader {
    let context: ReadingContext

    /// A field that is to be logged, and where it is named.
    fileprivate struct LoggedName {
        /// In lower case.
        let name: String
        let what: String
        let position: SettingsNode.Position
    }

    /// What `access_log` says.
    struct Log {
        var target = AccessLogTarget.stdout
        var form = AccessLogForm()
        fileprivate var names: [LoggedName] = []
    }

    /// Takes what the top of the file says.
    func read(_ section: SectionReader) -> Log {
        var log = Log()
        let standard = Sourced(log.target)
        guard let node = section.take("access_log") else {
            let absent = SectionReader.absent("\"access_log\"", path: "access_log", context)
            section.record("access_log", Self.describe(standard.value), .standard)
            readForm(absent, &log)
            return log
        }
        guard case .mapping = node.content else {
            log.target = target(node, "\"access_log\"") ?? standard.value
            section.record("access_log", Self.describe(log.target), .line(node.position.line))
            readForm(.absent("\"access_log\"", path: "access_log", context), &log)
            return log
        }
        guard let mapping = SectionReader(node, "\"access_log\"", path: "access_log", context) else { return log }
        log.target = mapping.value("to", standard: standard, describe: Self.describe, read: target).value
        readForm(mapping, &log)
        mapping.finish()
        return log
    }

    /// Reports the fields of `log` that are credentials or signatures of routes, which have been read by now.
    func refuseCredentials(_ log: Log) {
        for logged in log.names {
            guard let user = context.credentialFields[logged.name]?.user else { continue }
            context.report(
                logged.position,
                "\(logged.what): \"\(logged.name)\" is not logged: \(user) goes by it, so that it is taken for a secret"
            )
        }
        guard log.target != .off else { return }
        for name in Self.alwaysLogged {
            guard let credential = context.credentialFields[name] else { continue }
            context.report(
                credential.position,
                "\(credential.user) goes by \"\(name)\", which stands in each line of the access log: take another field for a "
                    + "secret, or write access_log: off")
        }
    }

    /// Fields of requests that have members of their own.
    private static let alwaysLogged = ["host", "user-agent", "referer", "x-request-id", "traceparent"]

    private func readForm(_ section: SectionReader, _ log: inout Log) {
        let failures = context.failures
        section.word("format", into: &log.form.format)
        let isKnown = context.failures == failures
        section.word("query", into: &log.form.query)
        if log.form.format != .json, isKnown {
            section.refuse("fields", "needs format: json, the other format has no place for them")
        }
        let fields = section.part("fields")
        log.form.requestFields = names("request", fields, &log)
        log.form.responseFields = names("response", fields, &log)
        fields.finish()
    }

    /// Names of fields to be logged, in lower case.
    private func names(_ key: String, _ section: SectionReader, _ log: inout Log) -> [String] {
        section.value(key, standard: Sourced([]), describe: { $0.joined(separator: ", ") }) { node, what in
            var names: [String] = []
            for element in context.elements(node, what) ?? [] {
                guard let text = context.text(element, what) else { continue }
                let name = text.lowercased()
                if let fault = Self.fault(of: name, after: names) {
                    context.report(element.position, "\(what): \(fault)")
                } else {
                    names.append(name)
                    log.names.append(LoggedName(name: name, what: what, position: element.position))
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
            if text.contains("/") {
                let path = context.environment.path(text)
                if !context.environment.lacksSecrets, let reason = context.environment.logFault(path) {
                    context.report(node.position, "\(what): \(path) can't be opened: \(reason)")
                }
                return .file(path: path)
            }
            context.report(
                node.position,
                "\(what) is stdout, off or a path with a slash, as in /var/log/recast.log, not \"\(text)\"")
            return nil
        }
    }
}
