internal import Proxy

/// Reads the port for operators and what the proxy says of itself, at the top of the file: `admin` and `log`.
struct AdminReader {
    private let context: ReadingContext

    init(_ context: ReadingContext) {
        self.context = context
    }

    /// Takes what the top of the file says. Clients connect to `listen`, which can't be the admin port as well.
    func read(_ section: SectionReader, listen: [ListenAddress]) -> AdminSettings {
        var settings = AdminSettings()
        let standard = Sourced(settings.address)
        settings.address =
            section.value("admin", standard: standard, describe: { $0?.description ?? "off" }) { node, what in
                guard let text = context.text(node, what) else { return nil }
                if text == "off" { return .some(nil) }
                do throws(AddressFault) {
                    let address = try AddressText.listen(text)
                    if case .systemd = address {
                        throw AddressFault(reason: "it has no socket of the service manager's: write an address")
                    }
                    guard !listen.contains(address) else {
                        throw AddressFault(reason: "\(address) is listened on already")
                    }
                    return .some(address)
                } catch {
                    context.report(node.position, "\(what): \(error.reason); or off for no admin port")
                    return nil
                }
            }.value
        let log = section.part("log")
        settings.logFormat = log.word("format", standard: settings.logFormat) ?? settings.logFormat
        settings.logLevel = log.word("level", standard: settings.logLevel) ?? settings.logLevel
        log.finish()
        return settings
    }
}
