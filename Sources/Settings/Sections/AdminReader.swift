internal import Gateway
internal import Proxy

/// Reads the port for operators and what the proxy says of itself, at the top of the file: `admin` and `log`.
struct AdminReader {
    let context: ReadingContext

    /// Takes what the top of the file says. Clients connect to `listen`, which can't be a port for operators as well.
    func read(_ section: SectionReader, listen: [ListenAddress]) -> AdminSettings {
        var settings = AdminSettings()
        var hosts: [HostPattern]?
        var hasConsole = false
        let standard = Sourced(settings.address)
        settings.address =
            section.value("admin", standard: standard, describe: Self.describe) { node, what in
                guard case .mapping = node.content else { return address(node, what, of: "admin", besides: listen) }
                guard let mapping = SectionReader(node, what, path: "admin", context) else { return nil }
                hosts = self.hosts(mapping)
                settings.console = console(mapping)
                hasConsole = true
                return address(in: mapping, of: "admin", besides: listen, mode: &settings.mode)
            }.value
        if let hosts { settings.hosts = hosts } else { section.record("admin.hosts", "", .standard) }
        if !hasConsole { section.record("admin.console", "off", .standard) }
        if settings.address == nil { settings.console = nil }
        let taken = listen + [settings.address].compactMap(\.self)
        settings.status =
            section.value("status", standard: standard, describe: Self.describe) {
                node, what in
                guard case .mapping = node.content else { return address(node, what, of: "status", besides: taken) }
                guard let mapping = SectionReader(node, what, path: "status", context) else { return nil }
                return address(in: mapping, of: "status", besides: taken, mode: &settings.statusMode)
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
            let address = try AddressReader.listen(text)
            if case .systemd = address {
                throw AddressFault(reason: "it has no socket of the service manager's: write an address")
            }
            if let same = taken.first(where: { $0.isSame(as: address) }) {
                throw AddressFault.taken(address, as: same)
            }
            if let other = taken.first(where: { $0.overlaps(address) }) { throw AddressFault.overlap(address, other) }
            return .some(address)
        } catch {
            context.report(node.position, "\(what): \(error.reason); or off for no \(port) port")
            return nil
        }
    }

    /// As above, of a mapping, which may say who connects to a unix socket.
    private func address(
        in mapping: SectionReader, of port: String, besides taken: [ListenAddress], mode: inout SocketMode?
    ) -> ListenAddress?? {
        let node = mapping.required("address", example: port == "admin" ? "127.0.0.1:9901" : "0.0.0.0:9902")
        let found = node.flatMap { address($0, "\"address\"", of: port, besides: taken) }
        mode = SocketModeReader(context: context).read(mapping, at: found ?? nil, path: port)
        mapping.finish()
        return found
    }

    /// What the console keeps; nil where it isn't wanted.
    private func console(_ section: SectionReader) -> ConsoleSettings? {
        guard let node = section.take("console") else {
            section.record("console", "off", .standard)
            return nil
        }
        var settings = ConsoleSettings()
        if case .scalar = node.content {
            guard let word = context.word(node, "\"console\"", among: ["on", "off"]) else { return nil }
            section.record("console", word, .line(node.position.line))
            return word == "on" ? settings : nil
        }
        guard let part = SectionReader(node, "\"console\"", path: "admin.console", context) else { return nil }
        settings.entries =
            part.count("entries", standard: Sourced(settings.entries), in: 1...ConsoleSettings.greatestEntries).value
        settings.body = part.size("body", standard: Sourced(settings.body), in: 0...ConsoleSettings.greatestBody).value
        settings.mask =
            part.value(
                "mask", standard: Sourced(settings.mask), describe: { $0.isEmpty ? "off" : $0.joined(separator: ", ") }
            ) {
                node, what in mask(node, what)
            }.value
        part.finish()
        return settings
    }

    /// Words in the names of fields.
    private func mask(_ node: SettingsNode, _ what: String) -> [String]? {
        if context.saysOff(node, what) { return [] }
        var words: [String] = []
        for element in context.elements(node, what) ?? [] {
            guard let word = context.text(element, what) else { continue }
            // What has none of these would hide everything.
            guard
                word.unicodeScalars.contains(where: { $0.properties.isAlphabetic || $0.properties.numericType != nil })
            else {
                context.report(element.position, "\(what) has words with a letter or a digit, not \"\(word)\"")
                continue
            }
            words.append(word)
        }
        return words
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
