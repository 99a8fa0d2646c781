internal import Gateway
internal import HTTPWire
internal import Proxy

/// Reads `tracing`: where spans go, and of which requests there are any.
struct TracingReader {
    let context: ReadingContext

    /// Fields that each request to the collector has anyway, or that are of its connection.
    private static let ownFields = [
        "connection", "content-length", "content-type", "host", "transfer-encoding", "user-agent",
    ]

    /// Takes what the top of the file says; nil where it says nothing, or `off`.
    func read(_ section: SectionReader) -> TracingSettings? {
        guard let node = section.take("tracing") else {
            section.record("tracing", "off", .standard)
            return nil
        }
        if case .scalar = node.content {
            if context.saysOff(node, "\"tracing\"") {
                section.record("tracing", "off", .line(node.position.line))
            } else if context.text(node, "\"tracing\"") != nil {
                context.report(
                    node.position,
                    "\"tracing\" is off, or says where spans go, as in tracing: { endpoint: http://127.0.0.1:4318 }")
            }
            return nil
        }
        guard let part = SectionReader(node, "\"tracing\"", path: "tracing", context) else { return nil }
        let endpoint = part.required("endpoint", example: "http://127.0.0.1:4318")
        var settings = TracingSettings(isSecure: false, host: "127.0.0.1", port: 4318, target: "/v1/traces")
        if let endpoint, let text = context.text(endpoint, "\"endpoint\"") {
            do throws(AddressFault) {
                settings = try CollectorText.endpoint(text)
                part.record("endpoint", text, .line(endpoint.position.line))
            } catch {
                context.report(endpoint.position, "\"endpoint\": \(error.reason)")
            }
        }
        settings.sample = part.share("sample", standard: settings.sample, "all requests from 0% to 100%")
        part.word("parent", into: &settings.parent)
        settings.service =
            part.value("service", standard: Sourced(settings.service), describe: { $0 }) { node, what in
                guard let text = context.text(node, what) else { return nil }
                if (1...255).contains(text.utf8.count) { return text }
                context.report(node.position, "\(what) is a name of at most 255 bytes")
                return nil
            }.value
        if let node = part.take("headers") { settings.headers = headers(node, part) }
        let failures = context.failures
        settings.queue = part.count("queue", standard: Sourced(settings.queue), in: 1...1_000_000).value
        // A queue that is full below a batch would wait for the interval each time.
        let queue = part.bound("queue", settings.queue, since: failures)
        settings.batch = part.count("batch", standard: settings.batch, in: 1...10_000, notAbove: queue).value
        settings.interval = part.time("interval", standard: Sourced(settings.interval)).value
        settings.timeout = part.time("timeout", standard: Sourced(settings.timeout)).value
        part.finish()
        return endpoint == nil ? nil : settings
    }

    private func headers(_ node: SettingsNode, _ section: SectionReader) -> [TracingSettings.Header] {
        guard let part = SectionReader(node, "\"headers\"", context) else { return [] }
        var headers: [TracingSettings.Header] = []
        for member in part.remaining {
            guard HeaderName.isValid(member.key), member.key.utf8.count <= 256 else {
                context.report(member.position, "\"\(member.key)\" is no name of a header")
                continue
            }
            let name = member.key.lowercased()
            if Self.ownFields.contains(name) {
                context.report(member.position, "\"\(member.key)\" is written by Recast itself: remove it")
                continue
            }
            if headers.contains(where: { $0.name.lowercased() == name }) {
                context.report(member.position, "\"headers\" has \"\(member.key)\" twice, as case is no matter")
                continue
            }
            guard let value = context.text(member.value, "the header \"\(member.key)\"") else { continue }
            guard value.utf8.count <= 8192, value.unicodeScalars.allSatisfy({ (0x20..<0x7F).contains($0.value) })
            else {
                context.report(
                    member.value.position,
                    "the header \"\(member.key)\" is a text of at most 8192 characters of ASCII, without line ends")
                continue
            }
            headers.append(.init(name: member.key, value: value))
            section.record("headers.\(member.key)", value, .line(member.position.line))
        }
        return headers
    }
}

/// What the settings write of a collector.
enum CollectorText {
    /// Where OTLP sends traces if nothing else is said.
    private static let standardPath = "/v1/traces"

    /// `http://127.0.0.1:4318/v1/traces`; without a path, or with `/`, that is OTLP's own.
    static func endpoint(_ text: String) throws(AddressFault) -> TracingSettings {
        let example = "as in http://127.0.0.1:4318 or https://collector.example/v1/traces"
        let isSecure = text.hasPrefix("https://")
        guard isSecure || text.hasPrefix("http://") else {
            throw AddressFault(reason: "\"\(text)\" begins with neither http:// nor https://: write a URL, \(example)")
        }
        let rest = text.dropFirst(isSecure ? 8 : 7)
        guard rest.utf8.allSatisfy({ 0x20 < $0 && $0 < 0x7F && $0 != UInt8(ascii: "#") && $0 != UInt8(ascii: "\\") })
        else {
            throw AddressFault(reason: "\"\(text)\" is no URL without a fragment: write one, \(example)")
        }
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        var authority = String(rest[..<end])
        if authority.contains("@") {
            throw AddressFault(reason: "a URL with a password is none here: write \"headers: {Authorization: …}\"")
        }
        let hasPort = authority.last != "]" && authority.lastIndex(of: ":") != nil
        if !hasPort { authority += isSecure ? ":443" : ":80" }
        guard case .tcp(let host, let port) = try AddressReader.upstream(authority), let port = UInt16(exactly: port)
        else { throw AddressFault(reason: "\"\(text)\" is no URL: write one, \(example)") }
        var target = String(rest[end...])
        if target.isEmpty || target == "/" { target = standardPath }
        if target.hasPrefix("?") { target = "/" + target }
        return TracingSettings(isSecure: isSecure, host: host, port: port, target: target)
    }
}
