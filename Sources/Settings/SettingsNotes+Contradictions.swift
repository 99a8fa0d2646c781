internal import Gateway
internal import Proxy
internal import Transcoding

/// Settings that are fine one by one, and of which one takes from another what it says.
extension SettingsNotes {
    var contradictionNotes: [SettingsNote] {
        trustNotes + offNotes + checkNotes + certificateNotes
            + settings.routes.indices.flatMap { memoryNotes($0) + signedNotes($0) + retryNotes($0) }
    }

    // MARK: Memory

    /// Bodies that a route's limits let in, and for which the process can never have the memory. What `auto` is depends on the machine.
    private func memoryNotes(_ index: Int) -> [SettingsNote] {
        guard let budget = settings.memory.bodies else { return [] }
        let route = settings.routes[index]
        let answers = route.responses.compactMap {
            if case .convert(let answer) = $0.action { answer.plan } else { nil }
        }
        let plans = answers + [route.conversion, route.shadow?.trial?.conversion].compactMap { $0?.plan }
        var notes: [SettingsNote] = []
        let bodies = Units.describe(bytes: budget)
        // While a document grows, what is held for it is up to twice what is in it. What passes value by value is none.
        if plans.contains(where: \.holdsDocuments), route.limits.tree > budget / 2 {
            notes.append(
                note(
                    .warning, "tree_beyond_memory", index,
                    "limits.tree lets in documents of \(Units.describe(bytes: route.limits.tree)), and memory.bodies, \(bodies), has "
                        + "room for some of half its own size: longer ones are a 503 each time",
                    "limits.tree below half of memory.bodies refuses them for good, with 413"))
        }
        if !answers.isEmpty, route.responseLimit > budget {
            notes.append(
                note(
                    .warning, "response_beyond_memory", index,
                    "limits.response lets in converted responses of \(Units.describe(bytes: route.responseLimit)), for which "
                        + "memory.bodies, \(bodies), has no room: they are a 503 each time",
                    "limits.response below memory.bodies refuses them for good, with 502"))
        }
        return notes
    }

    /// Content that may be held for its signature, and never comes: the limit of bodies refuses it before.
    private func signedNotes(_ index: Int) -> [SettingsNote] {
        let route = settings.routes[index]
        // What a conversion has made of a body may be longer than it was.
        let signed = [route.verification?.limit, route.conversion == nil ? route.signing?.limit : nil].compactMap(
            \.self
        ).max()
        guard let signed, signed > route.limits.body, writes("limits.signed", in: effectiveOfRoutes[index]) else {
            return []
        }
        return [
            note(
                .note, "signed_beyond_body", index,
                "limits.signed holds content of \(Units.describe(bytes: signed)), of which limits.body, "
                    + "\(Units.describe(bytes: route.limits.body)), lets in no more than that",
                "limits.body says how long it may be")
        ]
    }

    // MARK: Retries

    /// Methods of which a request may be sent again though it was sent as a whole.
    private static let repeatable: Set = ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE"]

    /// Conditions of `retry.on` that can never be.
    private func retryNotes(_ index: Int) -> [SettingsNote] {
        let route = settings.routes[index]
        let retry = route.options.retry
        guard retry.isEnabled, retry.hasConditions else { return [] }
        var notes: [SettingsNote] = []
        // What all routes have is meant for those that have such methods.
        if !route.match.methods.isEmpty, route.match.methods.allSatisfy({ !Self.repeatable.contains($0) }),
            saysItself("retry.on", index)
        {
            let methods = route.match.methods.joined(separator: ", ")
            notes.append(
                note(
                    .warning, "retry_method", index,
                    "\"retry.on\" does nothing for \(methods): what was sent may have been done, and would be done twice",
                    "GET, HEAD, OPTIONS, PUT, DELETE and TRACE are sent again"))
        }
        if retry.onTimeout, let whole = route.timeouts.request, whole <= route.timeouts.firstByte {
            notes.append(
                note(
                    .note, "retry_timeout", index,
                    "\"timeout\" of \"retry.on\" never comes: timeouts.request, \(Units.describe(whole)), is over no later than "
                        + "timeouts.first_byte, \(Units.describe(route.timeouts.firstByte))",
                    "a shorter first_byte leaves time for another try"))
        }
        return notes
    }

    /// Whether a key stands in the route, and not under "defaults", which may stand behind the routes, too.
    private func saysItself(_ key: String, _ index: Int) -> Bool {
        guard index < effectiveOfRoutes.count,
            case .line(let line)? = effectiveOfRoutes[index].first(where: { $0.key == key })?.origin
        else { return false }
        return inherited[key] != .line(line)
    }

    /// Whether a key stands in the file, the route's own or that of "defaults".
    private func writes(_ key: String, in values: [EffectiveValue]) -> Bool { line(of: key, in: values) != nil }

    private func line(of key: String, in values: [EffectiveValue]) -> Int? {
        if case .line(let line)? = values.first(where: { $0.key == key })?.origin { line } else { nil }
    }

    // MARK: Checks of upstreams

    /// Checks that may take longer than the time from one to the next.
    private var checkNotes: [SettingsNote] {
        settings.upstreams.enumerated().compactMap { index, upstream in
            guard let active = upstream.health.active, active.timeout > active.interval else { return nil }
            return note(
                .note, ofUpstream: index, "check_timeout",
                "a check that nobody answers takes health.active.timeout, \(Units.describe(active.timeout)), and the next one waits "
                    + "for its end, not for interval, \(Units.describe(active.interval))",
                "a timeout of at most the interval finds within fall times interval that an address hangs")
        }
    }

    // MARK: What is off

    /// Keys of what is off itself.
    private var offNotes: [SettingsNote] {
        var notes: [SettingsNote] = []
        func note(_ code: String, _ subject: String, off switched: String, _ keys: (String) -> Bool, _ hint: String) {
            guard effective.contains(where: { $0.key == switched && $0.value == "off" }) else { return }
            for value in effective where value.key != switched && keys(value.key) {
                guard case .line(let line) = value.origin, value.value != "false" else { continue }
                notes.append(
                    SettingsNote(
                        severity: .note, code: code, line: line, column: 1, subject: subject,
                        message: "\(value.key) does nothing while \(subject) is off", hint: hint))
            }
        }
        note("admin_off", "admin", off: "admin", { $0.hasPrefix("admin.") }, "an address opens the port")
        note(
            "access_log_off", "access_log", off: "access_log.to", { $0.hasPrefix("access_log.") },
            "to: stdout or a path writes the log")
        note(
            "via_off", "via", off: "via", { $0 == "via_responses" || $0 == "loop_limit" },
            "a name is written to Via, and loops are seen by it")
        return notes
    }

    // MARK: Peers

    /// What is taken of certificates that no listener asks for. One for all routes, as they may have it from "defaults".
    private var certificateNotes: [SettingsNote] {
        func takes(_ edits: HeaderEdits) -> Bool { (edits.set + edits.add).contains(where: \.value.readsCertificate) }
        guard !effective.contains(where: { $0.key.hasPrefix("listen.") && $0.key.hasSuffix(".tls.client_ca") }),
            let index = settings.routes.firstIndex(where: {
                takes($0.options.headers.request) || takes($0.options.headers.response)
            })
        else { return [] }
        return [
            note(
                .warning, "certificate_never", index,
                "it writes a value of the client's certificate, which no listener asks for: it is empty each time",
                "client_ca of a listener's \"tls\" asks for one")
        ]
    }

    private var trustNotes: [SettingsNote] {
        guard let written = effective.first(where: { $0.key == "trusted" }), case .line(let line) = written.origin,
            settings.listen.contains(where: { settings.listener(at: $0).service.forwards && !$0.isLocal })
        else { return [] }
        let peers = written.value.split(separator: ", ")
        var notes: [SettingsNote] = []
        func note(_ code: String, _ message: String, _ hint: String) {
            notes.append(
                SettingsNote(
                    severity: .note, code: code, line: line, column: 1, subject: "trusted", message: message, hint: hint
                ))
        }
        if peers.contains(where: { $0.hasSuffix("/0") }) {
            note(
                "trusted_anybody", "whoever connects may say by X-Forwarded-For who its client is",
                "the networks of the proxies alone, where others reach the listener")
        }
        // This host's own connections aren't counted.
        let areElsewhere = peers.contains { $0 != "unix" && $0 != "::1" && !$0.hasPrefix("127.") }
        if areElsewhere, settings.admission.perClient == .standard {
            note(
                "proxies_counted",
                "of connections.per_client each of these addresses has as much as a client, 256 connections, and beyond a 429",
                "connections: { per_client: off } counts none")
        }
        return notes
    }
}
