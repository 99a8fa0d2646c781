internal import Proxy

/// Reads the port for operators and what the proxy says of itself, at the top of the file: `admin` and `log`.
struct AdminReader {
    private let context: ReadingContext

    init(_ context: ReadingContext) {
        self.context = context
    }

    /// Takes what the top of the file says.
    func read(_ section: SectionReader) -> AdminSettings {
        var settings = AdminSettings()
        let standard = Sourced(settings.address)
        settings.address =
            section.value("admin", standard: standard, describe: { $0?.description ?? "off" }) { node, what in
                guard let text = context.text(node, what) else { return nil }
                if text == "off" { return .some(nil) }
                do throws(AddressFault) {
                    return .some(try AddressText.listen(text))
                } catch {
                    context.report(node.position, "\(what): \(error.reason); or off for no admin port")
                    return nil
                }
            }.value
        if let node = section.take("log") {
            guard let log = SectionReader(node, "\"log\"", path: "log", context) else { return settings }
            readLog(log, &settings)
            log.finish()
        } else {
            readLog(.absent("\"log\"", path: "log", context), &settings)
        }
        return settings
    }

    private func readLog(_ section: SectionReader, _ settings: inout AdminSettings) {
        settings.logFormat = section.word("format", standard: settings.logFormat) ?? settings.logFormat
        settings.logLevel = section.word("level", standard: settings.logLevel) ?? settings.logLevel
    }
}
