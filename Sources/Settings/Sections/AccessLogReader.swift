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
        form.format = section.word("format", standard: form.format) ?? form.format
        form.query = section.word("query", standard: form.query) ?? form.query
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
            if text.contains("/") { return .file(path: text) }
            context.report(
                node.position,
                "\(what) is stdout, off or a path with a slash, as in /var/log/recast.log, not \"\(text)\"")
            return nil
        }
    }
}
