internal import Gateway
internal import HTTPWire
internal import Proxy
internal import Settings
internal import Signatures
internal import Transcoding

/// What `recast explain` prints of one body.
struct Explanation {
    var route: Route
    /// Nil where data planes forward the route's requests.
    var upstream: UpstreamSettings?
    /// Nil where bodies are forwarded as they are.
    var plan: ConversionPlan?
    var effective: [EffectiveValue]
    /// A text that says something of the settings as it is shown: with what stands there in the place of secrets, and without passwords
    /// of URLs.
    var redacted: (String) -> String
    /// A target as it is shown: with what stands in the settings in the place of secrets.
    var redactedTarget: (String) -> String
    /// The sample's Content-Type.
    var type: String
    var values: SampleRequest.Values
    var trace: ConversionTrace?
    /// Fields that the upstream may answer with; nil: the response was not asked for.
    var answered: [SampleRequest.Header]?
    /// What came of the body as a response: then the fields are the client's, and nothing is said of the request. Nil: it is a request.
    var found: SampleResponse?
    private var isResponse: Bool { found != nil }
    /// Whether each entry of the JSON says by which path `map` and `fields` name it.
    var namesPlaces = false

    // MARK: - What the upstream sees

    private var requestLine: String {
        guard writesQuery, let trace, !trace.output.isEmpty else {
            return "\(values.method) \(redactedTarget(values.target))"
        }
        let separator = values.target.contains("?") ? "&" : "?"
        let target = "\(values.target)\(separator)\(String(decoding: trace.output, as: UTF8.self))"
        return "\(values.method) \(redactedTarget(target))"
    }

    private var writesQuery: Bool { plan?.writesQuery == true }

    /// The fields of the head that the route writes: of the body, and by its rules, which have the last word.
    private var fields: [(name: String, value: String)] {
        let rules = route.options.headers.request
        let ruled = values.headers.map { ($0.name, redacted($0.value)) }
        return bodyFields.filter { !rules.removes($0.name, isOurs: true) } + ruled
    }

    /// The fields that the client gets of those of the upstream, and what the route's rules write; nil when it was not asked for.
    private var responseFields: [SampleRequest.Header]? {
        answered.map { answered in
            let own = bodyFields.map { SampleRequest.Header(name: $0.name, value: $0.value) }
            let fields = isResponse ? own : answered.filter { passes($0, among: answered) }
            let ruled = values.responseHeaders.map { SampleRequest.Header(name: $0.name, value: redacted($0.value)) }
            return fields.filter { !route.options.headers.response.removes($0.name) } + ruled
        }
    }

    /// Whether a field of the upstream's response goes on: none of the hop does, or of the framing (RFC 9110 §7.6.1).
    private func passes(_ header: SampleRequest.Header, among all: [SampleRequest.Header]) -> Bool {
        let known = KnownField.find(Array(header.name.utf8).span)
        guard !known.isHopByHop, known != .contentLength else { return false }
        let options = all.lazy.filter { $0.name.lowercased() == "connection" }.flatMap {
            $0.value.split(separator: ",")
        }
        return !options.contains { $0.lowercased().filter { $0 != " " } == header.name.lowercased() }
    }

    private var bodyFields: [(name: String, value: String)] {
        guard let trace else {
            guard let found else { return [] }
            let count = found.problem?.count ?? found.bodyCount
            return [("Content-Type", found.type ?? type), ("Content-Length", String(count))]
        }
        if writesQuery { return [("Content-Length", "0")] }
        let framing = length(of: trace).map { ("Content-Length", String($0)) } ?? ("Transfer-Encoding", "chunked")
        return [("Content-Type", String(decoding: trace.contentType, as: UTF8.self)), framing]
    }

    /// The length that the converted body goes on with, where it comes with one; nil: in chunks.
    private func length(of trace: ConversionTrace) -> Int? {
        let count = trace.output.count
        if !isResponse, route.signing != nil { return count }
        switch isResponse ? .auto : upstream?.framing ?? .auto {
        case .length: return count
        case .chunked: return count == 0 ? 0 : nil
        case .auto:
            guard trace.outgrewHolding else { return count }
            // What has no length to go by is held, as long as there is room for it.
            guard !isResponse, let upstream, count <= upstream.spool.most else { return trace.announcedLength }
            return trace.announcedLength ?? count
        }
    }

    private var input: String {
        guard let plan else { return "any" }
        return plan.readsQuery ? "query" : plan.inputs.map(\.rawValue).joined(separator: ", ")
    }
    private var output: String {
        if found?.problem != nil { return "problem" }
        return writesQuery ? "query" : plan?.output.rawValue ?? "the same"
    }

    /// The header rules in effect, as the settings write them.
    private var headerRules: [EffectiveValue] { effective.filter { $0.key.hasPrefix("headers.") } }

    private var match: String {
        let conditions = effective.filter { $0.key.hasPrefix("match.") }
        return conditions.map { "\($0.key.dropFirst(6)) \($0.value)" }.joined(separator: ", ")
    }

    /// Whose requests the route takes, and how it signs them: what the bytes are that are signed, and nothing of a secret.
    private var guards: [(what: String, name: String, lines: [(key: String, value: String)])] {
        var parts: [(what: String, name: String, lines: [(key: String, value: String)])] = []
        if route.limitsRate {
            let rules = effective.filter { $0.key.hasPrefix("rate_limit.") }
            let rate = rules.first { $0.key == "rate_limit.rate" }?.value ?? ""
            let others = rules.filter { $0.key != "rate_limit.rate" }
            parts.append(("rate_limit", rate, others.map { (String($0.key.dropFirst("rate_limit.".count)), $0.value) }))
        }
        if let rule = effective.first(where: { $0.key == "authorize" }), route.authorization != nil {
            parts.append(("authorize", rule.value, []))
        }
        if let rule = effective.first(where: { $0.key == "verify" }), let verification = route.verification {
            parts.append(("verify", rule.value, shown(verification.summary)))
        }
        if let shadow = route.shadow {
            let rules = effective.filter { $0.key.hasPrefix("shadow.") }.map {
                (key: String($0.key.dropFirst("shadow.".count)), value: $0.value)
            }
            let target = rules.first { $0.key == "upstream" }?.value
            let names = [target, shadow.trial == nil ? nil : "convert"].compactMap(\.self)
            parts.append(("shadow", names.joined(separator: ", "), rules.filter { $0.key != "upstream" }))
        }
        if let rule = effective.first(where: { $0.key == "sign" }), let signing = route.signing {
            parts.append(("sign", rule.value, shown(signing.summary)))
        }
        return parts
    }

    /// What a summary says as it is shown: it is made of the settings themselves, in which secrets stand.
    private func shown(_ summary: [(key: String, value: String)]) -> [(key: String, value: String)] {
        summary.map { ($0.key, redacted($0.value)) }
    }

    // MARK: - Text

    var text: String { Self.shown(openingLines + lines) }

    /// What is to be known without the body: where that can't be converted, all that can be said.
    var opening: String { Self.shown(openingLines) }

    private var openingLines: [String] {
        var lines = [
            "route \(route.name): \(match)",
            upstream.map { upstream in
                let addresses = upstream.addresses.map(\.description).joined(separator: ", ")
                return redacted("upstream \(upstream.name): \(addresses)")
            } ?? "no upstream: a data plane forwards what goes on",
            bodyLine,
        ]
        for part in guards { lines += block("\(part.what): \(part.name)", part.lines) }
        for image in images { lines += block("image: \(image.field)", image.shown) }
        for envelope in envelopes { lines += block("response: \(envelope.name)", envelope.shown) }
        if let found, !found.findings.isEmpty { lines += block("found in the body", found.findings) }
        return lines
    }

    /// What becomes of the body.
    private var bodyLine: String {
        let side = isResponse ? "response" : "request"
        if plan != nil { return "\(side): \(input) -> \(output), here \(type)" }
        guard let found else { return "\(side): forwarded as it came" }
        return "\(side): \(found.problem == nil ? "as it came" : "a problem is made of it"), here \(type)"
    }

    private var lines: [String] {
        var lines = [""]
        if trace != nil { lines += rows + [""] }
        if !isResponse {
            lines += [requestLine]
            lines += fields.map { "\($0.name): \($0.value)" }
            if !headerRules.isEmpty { lines += [""] + headerRules.map { "\($0.key): \($0.value)" } }
            lines += responseFields == nil ? [] : [""]
        }
        if let responseFields {
            lines += ["the response to the client"]
            if let found { lines.append(found.statusLine) }
            lines += responseFields.map { "\($0.name): \($0.value)" }
        }
        let notes = plan?.notes() ?? []
        if !notes.isEmpty {
            lines.append("")
            lines += notes.map { redacted("note: \($0)") }
        }
        return lines
    }

    /// Names and values may hold anything, those of the settings too.
    private static func shown(_ lines: [String]) -> String { lines.map { PlainText.line($0) + "\n" }.joined() }

    /// A heading, and what is said below it.
    private func block(_ heading: String, _ lines: [(key: String, value: String)]) -> [String] {
        [heading] + lines.map { "  \($0.key.padded(to: 12)) \($0.value)" }
    }

    /// From where, to where, by which rules.
    private var rows: [String] {
        let entries = (trace?.sent ?? []) + (trace?.removed ?? [])
        if entries.isEmpty { return ["  nothing came in"] }
        // An empty name can't be seen; others are escaped first, so that the columns stand below each other.
        func shown(_ name: String?) -> String? { name.map { $0.isEmpty ? "\"\"" : PlainText.line($0) } }
        let sources = entries.map { "\($0.isFile ? "file " : "")\(shown($0.source) ?? "(the route)")" }
        let targets = entries.map { shown($0.target) ?? "left out" }
        let sourceWidth = sources.map(\.count).max() ?? 0
        let targetWidth = targets.map(\.count).max() ?? 0
        return entries.indices.map { index in
            let arrow = entries[index].target == nil ? "  " : "->"
            let rules = entries[index].rules.joined(separator: ", ")
            let (source, target) = (sources[index].padded(to: sourceWidth), targets[index].padded(to: targetWidth))
            let row = "  \(source) \(arrow) \(target)  \(rules)"
            return String(row.reversed().drop { $0 == " " }.reversed())
        }
    }

    // MARK: - JSON

    var json: String { document.json + "\n" }

    /// What `json` writes.
    var document: Literal { object(moved + shown) }

    /// Where fields went, and what is to be known of that: names, and no value.
    var moves: String { object(moved).json }

    private var moved: [(String, Literal)] {
        func entries(_ entries: [ConversionTrace.Entry]) -> Literal {
            .array(
                entries.map { entry in
                    object(
                        [
                            ("kind", .string(entry.isFile ? "file" : "field")), ("from", optional(entry.source)),
                            ("to", optional(entry.target)), ("rules", texts(entry.rules)),
                        ] + (namesPlaces ? [("places", places(entry))] : []))
                })
        }
        let notes = (plan?.notes() ?? []).map { note in
            object([
                ("code", .string(note.code)), ("outcome", .string(note.outcome.rawValue)),
                ("what", .string(redacted(note.what))), ("effect", .string(redacted(note.effect))),
                ("remedy", optional(note.remedy.map(redacted))),
            ])
        }
        return [
            ("route", .string(route.name)), ("upstream", upstream.map { .string($0.name) } ?? .null),
            ("input", .string(type)),
            ("output", .string(output)), ("sent", entries(trace?.sent ?? [])),
            ("removed", entries(trace?.removed ?? [])), ("notes", .array(notes)),
        ]
    }

    /// Where `map` finds the field, what it has made of that place, and where a type is declared for it; null where no rule can name it.
    private func places(_ entry: ConversionTrace.Entry) -> Literal {
        guard let plan, let path = entry.path, !path.withoutElements.segments.isEmpty else { return .null }
        let place = plan.map.place(of: path)
        return object([
            ("map", .string(path.withoutElements.description)), ("now", .string(place.withoutElements.description)),
            ("fields", .string(place.description)),
        ])
    }

    private var shown: [(String, Literal)] {
        [
            (
                "request",
                isResponse
                    ? .null
                    : object([
                        ("method", .string(values.method)),
                        ("target", .string(String(requestLine.drop { $0 != " " }.dropFirst()))),
                        ("headers", object(fields.map { ($0.name, .string($0.value)) })),
                    ])
            ),
            (
                "guards",
                .array(
                    guards.map { part in
                        object([("kind", .string(part.what)), ("name", .string(part.name))] + strings(part.lines))
                    })
            ),
            (
                "images",
                .array(images.map { object([("field", .string($0.field))] + strings($0.lines)) })
            ),
            (
                "envelopes",
                .array(
                    envelopes.map { envelope in
                        let map: Literal = envelope.map.map { object(strings($0)) } ?? .null
                        let status = envelope.status.map { object(strings($0) + [("map", map)]) }
                        return object([
                            ("when", object(strings(envelope.condition))), ("status_from", status ?? .null),
                            ("problem", envelope.problem.map { object(strings($0)) } ?? .null),
                        ])
                    })
            ),
            ("header_rules", object(headerRules.map { (String($0.key.dropFirst(8)), .string($0.value)) })),
            (
                "response",
                responseFields.map { fields in
                    let list = fields.map { object([("name", .string($0.name)), ("value", .string($0.value))]) }
                    return object([("status", found.map { number($0.status) } ?? .null), ("headers", .array(list))])
                } ?? .null
            ),
            ("found", found.map { object(strings($0.findings)) } ?? .null),
        ]
    }

    private func strings(_ lines: [(key: String, value: String)]) -> [(String, Literal)] {
        lines.map { ($0.key, .string($0.value)) }
    }
}
