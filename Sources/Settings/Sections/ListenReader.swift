internal import EventLoop
internal import Proxy

/// Where connections are accepted, and what is spoken there.
struct Listening {
    var addresses: [ListenAddress] = []
    var listeners: [ListenAddress: ListenerSettings] = [:]
    /// Addresses that take what comes to an earlier one, or the other way round.
    var overlaps: [(position: SettingsNode.Position, address: ListenAddress, earlier: ListenAddress)] = []
}

/// Reads `listen`: an address, a mapping with an address and TLS, or a list of them.
struct ListenReader {
    let context: ReadingContext

    func read(_ file: SectionReader) -> Listening {
        var listening = Listening()
        var taken = TakenAddresses()
        guard let node = file.required("listen", example: "127.0.0.1:8080") else { return listening }
        for element in elements(node) {
            let section: SectionReader?
            let addressNode: SettingsNode
            if case .mapping = element.content {
                guard let mapping = SectionReader(element, "\"listen\"", context),
                    let found = mapping.required("address", example: "0.0.0.0:8443")
                else { continue }
                section = mapping
                addressNode = found
            } else {
                section = nil
                addressNode = element
            }
            let address = self.address(addressNode)
            if let address {
                if let same = taken.same(as: address) {
                    context.report(addressNode.position, AddressFault.taken(address, as: same).reason)
                } else if let earlier = taken.overlapping(address) {
                    listening.overlaps.append((addressNode.position, address, earlier))
                }
                listening.addresses.append(address)
                taken.insert(address)
            }
            guard let section else { continue }
            let name = address?.description ?? ""
            var settings = ListenerSettings()
            settings.service = service(section, name)
            section.knows("http")
            if settings.service.versions == .all {
                settings.versions = versions(section, name)
            } else {
                section.refuse("http", "is for listeners that serve http: gRPC is spoken in HTTP/2 alone")
                settings.versions = settings.service.versions
            }
            if settings.service == .externalProcessing {
                if let count = buffer(section, name) { settings.buffer = count }
            } else {
                section.refuse("buffer", "is for listeners that serve ext_proc")
            }
            settings.mode = SocketModeReader(context: context).read(section, at: address, path: "listen.\(name)")
            if let node = section.take("tls") { settings.tls = serverTLS(node, name, settings.versions) }
            if let address { listening.listeners[address] = settings }
            section.finish()
        }
        file.record(
            "listen", listening.addresses.map(\.description).joined(separator: ", "), .line(node.position.line))
        return listening
    }

    /// What is served at an address.
    private func service(_ section: SectionReader, _ address: String) -> ListenerService {
        guard let node = section.take("serves") else { return .http }
        let words = ListenerService.allCases.map(\.rawValue)
        guard let word = context.word(node, "\"serves\"", among: words), let service = ListenerService(rawValue: word)
        else { return .http }
        context.record("listen.\(address).serves", word, .line(node.position.line))
        return service
    }

    /// Bytes that a data plane takes of one body in one message.
    private func buffer(_ section: SectionReader, _ address: String) -> Int? {
        guard let node = section.take("buffer"), let count = context.size(node, "\"buffer\"", in: Self.buffers)
        else { return nil }
        context.record("listen.\(address).buffer", Units.describe(bytes: count), .line(node.position.line))
        return count
    }

    private static let buffers = 1024...(256 << 20)

    /// The versions of HTTP that are taken at an address.
    private func versions(_ section: SectionReader, _ address: String) -> HTTPVersions {
        guard let node = section.take("http") else { return .all }
        var versions: HTTPVersions = []
        for element in context.elements(node, "\"http\"") ?? [] {
            switch context.word(element, "\"http\"", among: ["1.1", "2"]) {
            case "1.1": versions.insert(.http1)
            case "2": versions.insert(.http2)
            default: break
            }
        }
        let names = [versions.contains(.http2) ? "2" : nil, versions.contains(.http1) ? "1.1" : nil].compactMap(\.self)
        context.record("listen.\(address).http", names.joined(separator: ", "), .line(node.position.line))
        // A mistake was reported.
        return versions.isEmpty ? .all : versions
    }

    private func elements(_ node: SettingsNode) -> [SettingsNode] {
        if case .mapping = node.content { return [node] }
        return context.elements(node, "\"listen\"") ?? []
    }

    private func address(_ node: SettingsNode) -> ListenAddress? {
        guard let text = context.text(node, "\"listen\"") else { return nil }
        do throws(AddressFault) {
            return try AddressReader.listen(text, hints: .listener)
        } catch {
            let list = AddressReader.list(text, reads: { (try? AddressReader.listen($0)) != nil })
            context.report(node.position, list ?? error.reason)
            return nil
        }
    }

    // MARK: TLS

    private func serverTLS(_ node: SettingsNode, _ address: String, _ versions: HTTPVersions) -> ServerTLS? {
        guard let section = SectionReader(node, "\"tls\"", path: "listen.\(address).tls", context) else { return nil }
        let files = TLSFileReader(context)
        let failures = context.failures
        var identities: [TLSIdentity] = []
        if let identity = files.identity(section, index: 0, isNeeded: true) { identities.append(identity) }
        if let list = section.take("certificates") {
            for element in context.elements(list, "\"certificates\"") ?? [] {
                guard let pair = SectionReader(element, "a certificate of \"certificates\"", context) else { continue }
                if let identity = files.identity(pair, index: identities.count, isNeeded: true) {
                    identities.append(identity)
                }
                pair.finish()
            }
            section.record(
                "certificates", identities.dropFirst().map(\.certificate).joined(separator: ", "),
                .line(list.position.line))
        }
        var options = TLSServerOptions(identities: identities)
        options.takesHTTP1 = versions.contains(.http1)
        options.takesHTTP2 = versions.contains(.http2)
        section.knows("client_ca", "client_auth")
        options.clientAuthorities = files.path(section, "client_ca", .authorities)
        let mode =
            options.clientAuthorities == nil ? nil : section.word("client_auth", standard: options.clientCertificate)
        if options.clientAuthorities == nil {
            section.refuse("client_auth", "needs \"client_ca\": the authorities that client certificates come from")
            section.refuse("client_crl", "needs \"client_ca\": the authorities that client certificates come from")
        }
        options.clientCertificate = mode ?? options.clientCertificate
        options.revocations = files.path(section, "client_crl", .revocations)
        files.versions(section, &options.minimum, &options.maximum)
        section.finish()
        guard context.failures == failures, !context.environment.lacksSecrets else { return nil }
        do throws(TLSFileError) {
            let tls = try ServerTLS(options)
            files.tell(tls.context.loadedFiles, of: "listener \(address)")
            return tls
        } catch {
            files.report(error, node)
            return nil
        }
    }
}

/// The addresses that are listened on already, found without comparing each with each.
private struct TakenAddresses {
    /// The first of those that are the same, by its canonical spelling.
    private var spellings: [ListenAddress: ListenAddress] = [:]
    private var ofPort: [Int: [ListenAddress]] = [:]

    func same(as address: ListenAddress) -> ListenAddress? { spellings[address.canonical] }

    func overlapping(_ address: ListenAddress) -> ListenAddress? {
        guard case .tcp(_, let port) = address else { return nil }
        return ofPort[port]?.first { $0.overlaps(address) }
    }

    mutating func insert(_ address: ListenAddress) {
        spellings[address.canonical] = spellings[address.canonical] ?? address
        if case .tcp(_, let port) = address { ofPort[port, default: []].append(address) }
    }
}
