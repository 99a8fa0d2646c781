internal import EventLoop
internal import Proxy

/// Reads `upstreams`.
struct UpstreamReader {
    let context: ReadingContext
    /// What the bodies of all upstreams may be on disk; nil where that could not be read.
    let spool: SectionReader.Bound<Int>?
    private let system = TLSSystemAnchors()

    init(context: ReadingContext, spool: SectionReader.Bound<Int>?) {
        self.context = context
        self.spool = spool
    }

    /// The upstreams, those that can't be read without an address; the names of all that are there, to check the routes
    /// against, and where they stand.
    func read(
        _ node: SettingsNode
    ) -> (upstreams: [UpstreamSettings], names: [String], positions: [SettingsNode.Position]) {
        guard let section = SectionReader(node, "\"upstreams\"", context) else { return ([], [], []) }
        let positions = section.remaining.map(\.position)
        var upstreams: [UpstreamSettings] = []
        var names: [String] = []
        for member in section.remaining {
            let name = member.key
            if !SettingsName.isValid(name) {
                context.report(member.position, "the upstream's name \"\(name)\" \(SettingsName.rule)")
            }
            // One that can't be read keeps its place, so that the routes' numbers are right.
            names.append(name)
            upstreams.append(upstream(member) ?? UpstreamSettings(name: name, addresses: []))
        }
        if names.isEmpty {
            context.report(node.position, "\"upstreams\" is empty: name one, as in app: 127.0.0.1:3000")
        }
        return (upstreams, names, positions)
    }

    private func upstream(_ member: SettingsNode.Member) -> UpstreamSettings? {
        let what = "the upstream \"\(member.key)\""
        let path = "upstreams.\(member.key)"
        context.level = .upstream(path)
        defer { context.level = .file }
        let short: Bool
        if case .mapping = member.value.content { short = false } else { short = true }
        let optional =
            short ? .absent(what, path: path, context) : SectionReader(member.value, what, path: path, context)
        guard let section = optional else { return nil }
        var addresses: [UpstreamAddress] = []
        if let node = short ? member.value : section.required("address", example: "127.0.0.1:3000") {
            addresses = self.addresses(node, what)
            section.record(
                "address", addresses.map(\.description).joined(separator: ", "), .line(node.position.line))
        }
        var upstream = UpstreamSettings(name: member.key, addresses: addresses)
        section.word("http", into: &upstream.version)
        connections(section, &upstream)
        section.word("balance", into: &upstream.balance)
        upstream.health = UpstreamHealthReader(context: context).read(section, upstream.health)
        let hasName = addresses.allSatisfy { if case .unix = $0 { false } else { true } }
        upstream.tls = UpstreamTLSReader(context: context, system: system).read(
            section, of: member.key, hasName: hasName, offersHTTP2: upstream.version == .http2)
        UpstreamFramingReader(context: context, total: spool).read(section, into: &upstream)
        section.finish()
        return upstream
    }

    private func connections(_ section: SectionReader, _ upstream: inout UpstreamSettings) {
        upstream.idle = section.time("idle", standard: Sourced(upstream.idle)).value
        upstream.connect = section.time("connect", standard: Sourced(upstream.connect)).value
        let failures = context.failures
        upstream.maxConnections =
            limit("max_connections", section, none: "\(UpstreamSettings.standardConnections) for each worker")
        let connections = upstream.maxConnections.flatMap {
            section.bound("max_connections", $0, since: failures)
        }
        upstream.maxIdlePerLoop =
            section.count(
                "max_idle", standard: upstream.maxIdlePerLoop, in: 0...65535, notAbove: connections
            ).value
        upstream.maxAge = section.time("max_age", standard: Sourced(upstream.maxAge)).value
        upstream.requestsPerConnection =
            section.count(
                "requests_per_connection", standard: Sourced(upstream.requestsPerConnection), in: 1...1_000_000_000
            ).value
        // Over HTTP/1 a request has a connection of its own; of HTTP/2 it is the server that says how many one takes.
        upstream.maxRequests = limit(
            "max_requests", section, none: "as many as connections",
            by: upstream.version == .http1 ? connections : nil)
        let queue = section.part("queue")
        upstream.queue.size = queue.count("size", standard: Sourced(upstream.queue.size), in: 0...65535).value
        upstream.queue.timeout = queue.time("timeout", standard: Sourced(upstream.queue.timeout)).value
        queue.finish()
        let resolve = section.part("resolve")
        if let node = resolve.take("servers") {
            upstream.resolving.servers = servers(node)
            resolve.record(
                "servers", upstream.resolving.servers.map(\.description).joined(separator: ", "),
                .line(node.position.line))
        } else {
            resolve.record("servers", "those of /etc/resolv.conf", .standard)
        }
        let failuresBefore = context.failures
        upstream.resolving.minimum = resolve.time("min", standard: Sourced(upstream.resolving.minimum)).value
        upstream.resolving.maximum = resolve.time("max", standard: Sourced(upstream.resolving.maximum)).value
        if upstream.resolving.maximum < upstream.resolving.minimum, context.failures == failuresBefore {
            context.report(
                resolve.position,
                "\"max\" of \"resolve\", which is \(Units.describe(upstream.resolving.maximum)) here, is shorter than \"min\""
            )
        }
        resolve.finish()
    }

    /// A limit that may be left out.
    private func limit(
        _ key: String, _ section: SectionReader, none: String, by bound: SectionReader.Bound<Int>? = nil
    ) -> Int? {
        section.value(key, standard: Sourced(Int?.none), describe: { $0.map(String.init) ?? none }) { node, what in
            context.count(node, what, in: 1...1_000_000)
                .flatMap { section.bounded($0, node, what, by: bound, describe: String.init) }
        }.value
    }

    /// Address literals, with the port 53 where none is written.
    private func servers(_ node: SettingsNode) -> [UpstreamAddress] {
        (context.elements(node, "\"servers\"") ?? []).compactMap { element in
            guard let text = context.text(element, "\"servers\"") else { return nil }
            let hasPort = text.hasPrefix("[") ? !text.hasSuffix("]") : text.contains(":")
            if case .tcp(let host, let port)? = try? AddressReader.upstream(hasPort ? text : "\(text):53"),
                host.contains(":") || host.allSatisfy({ $0.isNumber || $0 == "." })
            {
                return .tcp(host: host, port: port)
            }
            context.report(
                element.position, "\"\(text)\" is no name server: write an address, as in 10.0.0.2 or 127.0.0.1:5353")
            return nil
        }
    }

    private func addresses(_ node: SettingsNode, _ what: String) -> [UpstreamAddress] {
        guard let elements = context.elements(node, "the address of \(what)") else { return [] }
        if elements.count > Self.addressLimit {
            context.report(node.position, "\(what) has at most \(Self.addressLimit) addresses")
        }
        var addresses: [UpstreamAddress] = []
        for element in elements.prefix(Self.addressLimit) {
            guard let text = context.text(element, "the address of \(what)") else { continue }
            do throws(AddressFault) {
                let address = try AddressReader.upstream(text, hints: .upstream)
                if addresses.contains(where: { $0.isSame(as: address) }) {
                    context.report(element.position, "\(what) has the address \(address) twice")
                } else {
                    addresses.append(address)
                }
            } catch {
                let list = AddressReader.list(text, reads: { (try? AddressReader.upstream($0)) != nil })
                context.report(element.position, list ?? error.reason)
            }
        }
        return addresses
    }

    private static let addressLimit = 256
}

/// The names of routes and upstreams, which stand in logs and metrics.
enum SettingsName {
    static let rule = "has 1 to 64 letters, digits and the characters - _ . only"

    static func isValid(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.unicodeScalars.allSatisfy {
                $0.isASCII && ($0.properties.isAlphabetic || "0123456789-_.".unicodeScalars.contains($0))
            }
    }
}
