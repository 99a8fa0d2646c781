internal import Gateway
internal import Proxy

/// Reads the port for operators and what the proxy says of itself, at the top of the file: `admin` and `log`.
struct AdminReader {
    private let context: ReadingContext

    init(_ context: ReadingContext) {
        self.context = context
    }

    /// Takes what the top of the file says. Clients connect to `listen`, which can't be a port for operators as well.
    func read(_ section: SectionReader, listen: [ListenAddress]) -> AdminSettings {
        var settings = AdminSettings()
        var hosts: [HostPattern]?
        let standard = Sourced(settings.address)
        settings.address =
            section.value("admin", standard: standard, describe: Self.describe) { node, what in
                guard case .mapping = node.content else { return address(node, what, of: "admin", besides: listen) }
                guard let mapping = SectionReader(node, what, path: "admin", context) else { return nil }
                hosts = self.hosts(mapping)
                let found = mapping.required("address", example: "127.0.0.1:9901")
                mapping.finish()
                return found.flatMap { address($0, "\"address\"", of: "admin", besides: listen) }
            }.value
        if let hosts { settings.hosts = hosts } else { section.record("admin.hosts", "", .standard) }
        let taken = listen + [settings.address].compactMap(\.self)
        settings.status =
            section.value("status", standard: standard, describe: Self.describe) {
                address($0, $1, of: "status", besides: taken)
            }.value
        let log = section.part("log")
        log.word("format", into: &settings.logFormat)
        log.word("level", into: &settings.logLevel)
        log.finish()
        return settings
    }

    private static func describe(_ address: ListenAddress?) -> String { address?.description ?? "off" }

    /// Where to listen, or `off`, which is nil inside.
    private func address(
        _ node: SettingsNode, _ what: String, of port: String, besides taken: [ListenAddress]
    ) -> ListenAddress?? {
        guard let text = context.text(node, what) else { return nil }
        if text == "off" { return .some(nil) }
        do throws(AddressFault) {
            let address = try AddressText.listen(text)
            if case .systemd = address {
                throw AddressFault(reason: "it has no socket of the service manager's: write an address")
            }
            guard !taken.contains(address) else { throw AddressFault(reason: "\(address) is listened on already") }
            return .some(address)
        } catch {
            context.report(node.position, "\(what): \(error.reason); or off for no \(port) port")
            return nil
        }
    }

    /// Names, as a route's `match.host` has them.
    private func hosts(_ section: SectionReader) -> [HostPattern] {
        var hosts: [HostPattern] = []
        guard let node = section.take("hosts") else {
            section.record("hosts", "", .standard)
            return hosts
        }
        for element in context.elements(node, "\"hosts\"") ?? [] {
            guard let text = context.text(element, "\"hosts\"") else { continue }
            do throws(PatternFault) {
                hosts.append(try HostPattern(parsing: text))
            } catch {
                context.report(element.position, "\"hosts\": \(error.reason)")
            }
        }
        section.record("hosts", hosts.map(\.description).joined(separator: ", "), .line(node.position.line))
        return hosts
    }
}
