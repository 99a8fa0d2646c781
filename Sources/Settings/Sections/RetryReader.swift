internal import Gateway
internal import Proxy

/// Reads what a route says of retries, in the route or in "defaults".
struct RetryReader {
    let context: ReadingContext

    /// Statuses that a server may have answered with without having done anything for good.
    private static let statuses = 500...504
    private static let words = ["reset", "timeout"]
    private static let known =
        "known are reset, timeout and the statuses \(statuses.map(String.init).joined(separator: ", "))"

    /// Takes what `section` says and keeps the rest of `options`.
    func read(_ section: SectionReader, into options: inout RetryOptions) {
        let node = section.take("retry")
        if let node, case .scalar = node.content {
            guard context.saysOff(node, "\"retry\"") else {
                guard let text = context.text(node, "\"retry\"") else { return }
                return context.report(
                    node.position,
                    "\"retry\" is not \"\(text)\": write off, or a mapping as in retry: {attempts: 1, on: [503]}")
            }
            options.isEnabled = false
            return section.record("retry", "off", .line(node.position.line))
        }
        guard options.isEnabled || node != nil else { return section.record("retry", "off", .standard) }
        let absent = SectionReader.absent("\"retry\"", path: "retry", context)
        let part = node.map { SectionReader($0, "\"retry\"", path: "retry", context) ?? absent } ?? absent
        options.isEnabled = true
        on(part, &options)
        options.attempts = part.count("attempts", standard: Sourced(options.attempts), in: 1...5).value
        options.buffer =
            part.value("buffer", standard: Sourced(options.buffer), describe: Units.describe(bytes:)) { node, what in
                guard let size = context.size(node, what) else { return nil }
                if size <= 16 << 20 { return size }
                context.report(node.position, "\(what) is at most 16MiB")
                return nil
            }.value
        part.finish()
    }

    private func on(_ section: SectionReader, _ options: inout RetryOptions) {
        guard let node = section.take("on") else { return section.record("on", describe(options), .standard) }
        options.statuses = []
        options.onReset = false
        options.onTimeout = false
        // What the defaults ask for is taken back.
        if context.saysOff(node, "\"on\"") { return section.record("on", "off", .line(node.position.line)) }
        for element in context.elements(node, "\"on\"") ?? [] {
            guard let text = context.text(element, "\"on\"") else { continue }
            if let status = Int(text), String(status) == text {
                if Self.statuses.contains(status) {
                    if !options.statuses.contains(status) { options.statuses.append(status) }
                } else {
                    context.report(element.position, "\"on\" takes the statuses 500 to 504, not \(status)")
                }
                continue
            }
            switch text {
            case "reset": options.onReset = true
            case "timeout": options.onTimeout = true
            default:
                // `5xx`, `502-503`.
                let one = text.contains(where: \.isNumber) ? ", of which each stands for itself" : ""
                let nearest = NearestWord.of(text, among: Self.words)
                context.report(
                    element.position,
                    "\"on\" is not \"\(text)\": " + (nearest.map { "did you mean \"\($0)\"?" } ?? Self.known + one))
            }
        }
        section.record("on", describe(options), .line(node.position.line))
    }

    private func describe(_ options: RetryOptions) -> String {
        var words = options.statuses.map(String.init)
        if options.onTimeout { words.append("timeout") }
        if options.onReset { words.append("reset") }
        return words.isEmpty ? "nothing else" : words.joined(separator: ", ")
    }
}
