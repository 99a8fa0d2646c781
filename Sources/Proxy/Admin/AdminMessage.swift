internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Octets

/// A whole request to the admin port.
struct AdminRequest {
    var method = Method.get
    var path = ""
    /// Names and values of the query, in their order, decoded.
    var query: [(name: String, value: String)] = []
    var contentType: String?
    var wantsJSON = false
    /// Whether it asks for server-sent events.
    var wantsEvents = false
    /// Whether a page in a browser sent it: such a page is no operator, unless it is the console with its token.
    var isFromPage = false
    /// Whether that page is one that this port has sent.
    var isFromOwnPage = false
    /// What stands in `Authorization: Bearer …`.
    var token: [UInt8]?
    /// Whether a browser says that a page of another site, or of another origin of this one, made it (Fetch Metadata).
    var isFromOtherSite = false
    /// By which host the port is called, in lower case and without port; empty in HTTP/1.0 without Host.
    private var host: [UInt8] = []
    var body: [UInt8] = []

    init(_ head: borrowing MessageHead, body: [UInt8]) {
        method = head.methodKind
        path = head.path.lossyString()
        if let text = head.query { query = Self.pairs(text) }
        if let line = head.first(.contentType) { contentType = head.value(line).lossyString() }
        if let json = Self.json { wantsJSON = AcceptField.names(json, in: head) }
        if let events = Self.events { wantsEvents = AcceptField.names(events, in: head) }
        isFromPage = head.contains(.origin)
        isFromOwnPage = Self.isFromOwnPage(head)
        token = Self.token(of: head)
        isFromOtherSite = Self.isFromOtherSite(head)
        host = head.host.copied()
        self.body = body
    }

    private static let json = try? MediaRange(parsing: "application/json")
    private static let events = try? MediaRange(parsing: "text/event-stream")

    /// The value of that name.
    func value(_ name: String) -> String? { query.first { $0.name == name }?.value }

    /// What is wrong with a parameter that isn't one of `known`, or comes twice though it is none of `lists`; nil where all may stand as
    /// they do. A filter that is spelled wrongly must not show everything, and of two levels none is the one that is meant.
    func fault(known: [String], lists: [String], hint: (String, [String]) -> String) -> String? {
        var seen: Set<String> = []
        for (name, _) in query {
            guard known.contains(name) || lists.contains(name) else {
                return known.isEmpty && lists.isEmpty
                    ? "there is no parameter \"\(name)\" here: there are none"
                    : "there is no parameter \"\(name)\" here: \(hint(name, known + lists))"
            }
            if !seen.insert(name).inserted, !lists.contains(name) { return "\"\(name)\" may come once" }
        }
        return nil
    }

    /// Whether the port is called by an address, by `localhost` or by one of `names`: no foreign name can lead to those. What
    /// sends no Host is no browser.
    func calls(oneOf names: [HostPattern]) -> Bool {
        if host.isEmpty { return true }
        let text = String(decoding: host, as: UTF8.self)
        let literal = text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text
        if SocketAddress.parseHost(literal, port: 0) != nil { return true }
        return Self.localHost.matches(host.span) || names.contains { $0.matches(host.span) }
    }

    private static let localHost = HostPattern(name: "localhost")

    /// `none` is a person who types the address, `same-origin` a page that this port has sent.
    private static func isFromOtherSite(_ head: borrowing MessageHead) -> Bool {
        let name = "sec-fetch-site"
        var start = 0
        while let line = head.first(named: name.utf8Span.span, from: start) {
            let value = head.value(line).lossyString()
            if value != "none" && value != "same-origin" { return true }
            start = line + 1
        }
        return false
    }

    /// Whether the one Origin is that by which the port is called. It speaks no TLS.
    private static func isFromOwnPage(_ head: borrowing MessageHead) -> Bool {
        guard let line = head.first(.origin) else { return false }
        let scheme = "http://"
        let origin = head.value(line)
        guard origin.count > scheme.utf8.count,
            origin.extracting(0..<scheme.utf8.count).isEqualIgnoringCase(to: scheme.utf8Span.span)
        else { return false }
        return origin.extracting(scheme.utf8.count..<origin.count).isEqualIgnoringCase(to: head.authority)
    }

    private static func token(of head: borrowing MessageHead) -> [UInt8]? {
        guard let line = head.first(.authorization) else { return nil }
        let scheme = "Bearer "
        let value = head.value(line)
        guard value.count > scheme.utf8.count,
            value.extracting(0..<scheme.utf8.count).isEqualIgnoringCase(to: scheme.utf8Span.span)
        else { return nil }
        return value.extracting(scheme.utf8.count..<value.count).copied()
    }

    private static func pairs(_ text: Span<UInt8>) -> [(name: String, value: String)] {
        var pairs: [(name: String, value: String)] = []
        var start = 0
        while start < text.count {
            let parameter = text.extracting(QueryText.nextParameter(text, &start))
            guard !parameter.isEmpty else { continue }
            let equals = Scan.firstIndex(of: UInt8(ascii: "="), in: parameter, from: 0) ?? parameter.count
            let value = parameter.extracting(min(equals + 1, parameter.count)..<parameter.count)
            pairs.append((decoded(parameter.extracting(0..<equals)), decoded(value)))
        }
        return pairs
    }

    private static func decoded(_ text: Span<UInt8>) -> String {
        var bytes: [UInt8] = []
        PercentText.decode(text, plusIsSpace: true, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// An answer of the admin port.
struct AdminResponse {
    var status = 200
    var contentType: StaticString
    var body: OutputBuffer
    /// The methods that would be taken, for a 405.
    var allow: String?
    /// Further field lines, each with CRLF.
    var fields: StaticString?
    /// Sends what follows the head, as long as the reader stays; nil where the body is all.
    var events: ((AdminEvents) -> Void)?

    /// Server-sent events, which `begin` sends.
    static func events(_ begin: @escaping (AdminEvents) -> Void) -> AdminResponse {
        AdminResponse(contentType: "text/event-stream", body: OutputBuffer(), events: begin)
    }

    static func json(_ value: AdminValue, status: Int = 200) -> AdminResponse {
        AdminResponse(status: status, contentType: "application/json", body: value.document)
    }

    /// An object that is written already.
    static func json(text: String, status: Int = 200) -> AdminResponse { json(Array(text.utf8), status: status) }

    /// As above, for bytes.
    static func json(_ document: [UInt8], status: Int = 200) -> AdminResponse {
        var body = OutputBuffer()
        body.append(document.span)
        return AdminResponse(status: status, contentType: "application/json", body: body)
    }

    static func text(_ text: String, status: Int = 200) -> AdminResponse {
        var body = OutputBuffer()
        body.append(text: text)
        return AdminResponse(status: status, contentType: "text/plain; charset=utf-8", body: body)
    }

    /// One line that says what is wrong.
    static func fault(_ status: Int, _ reason: String) -> AdminResponse {
        .json(.object([("status", .number(status)), ("error", .text(reason))]), status: status)
    }
}
