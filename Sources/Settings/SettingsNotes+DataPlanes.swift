internal import Gateway
internal import Proxy

/// Settings that a data plane takes the place of: behind listeners of `ext_proc` it forwards requests by itself, and all connections
/// are its own.
extension SettingsNotes {
    var dataPlaneNotes: [SettingsNote] {
        let services = settings.listen.map { settings.listener(at: $0).service }
        guard services.contains(where: { !$0.forwards }) else { return [] }
        let isForwardedHere = services.contains(where: \.forwards)
        return settings.routes.indices.flatMap {
            (isForwardedHere ? [] : ownedNotes($0) + ruledNotes($0)) + clientNotes($0)
        }
    }

    /// What a route may say of how its requests are forwarded, by the beginning of the key, and who decides it instead.
    private static let owned = [
        (key: "upstream", owner: "Envoy's clusters"), (key: "retry", owner: "its retry_policy"),
        (key: "timeouts.first_byte", owner: "its route's timeout"),
        (key: "timeouts.gap", owner: "its stream_idle_timeout"),
        (key: "timeouts.body_gap", owner: "its stream_idle_timeout"),
        (key: "timeouts.tunnel", owner: "its route's timeouts"),
        (key: "min_rate", owner: "its timeouts"), (key: "forwarded", owner: "its use_remote_address"),
        (key: "real_ip", owner: "its use_remote_address"), (key: "expect_continue", owner: "its connection manager"),
        (key: "half_close", owner: "its connection manager"), (key: "upgrade", owner: "its upgrade_configs"),
    ]

    /// What the settings say of the route, or of all, and no standard does.
    private func written(_ index: Int) -> [EffectiveValue] {
        guard index < effectiveOfRoutes.count else { return [] }
        return effectiveOfRoutes[index].filter { $0.origin != .standard }
    }

    private func ownedNotes(_ index: Int) -> [SettingsNote] {
        var found: [(key: String, owner: String)] = []
        for value in written(index) {
            let isUpstreamsHost = value.key == "host" && settings.routes[index].options.forwarding.host == .upstream
            let entry: (key: String, owner: String)? =
                isUpstreamsHost
                ? (key: "host", owner: "its host_rewrite_literal")
                : Self.owned.first { value.key == $0.key || value.key.hasPrefix("\($0.key).") }
            // What turns something off asks for nothing.
            guard let entry, !["off", "false"].contains(value.value), !found.contains(where: { $0.key == entry.key })
            else { continue }
            found.append(entry)
        }
        if found.isEmpty { return [] }
        let keys = found.map { "\"\($0.key)\"" }.joined(separator: ", ")
        var owners: [String] = []
        for entry in found where !owners.contains(entry.owner) { owners.append(entry.owner) }
        return [
            note(
                .warning, "data_plane_owns", index,
                "\(keys) \(found.count == 1 ? "does" : "do") nothing behind ext_proc: the data plane forwards",
                "what counts there is \(owners.joined(separator: ", "))")
        ]
    }

    /// Changes that Envoy makes under `mutation_rules` alone, and leaves out without a word otherwise.
    private func ruledNotes(_ index: Int) -> [SettingsNote] {
        var notes: [SettingsNote] = []
        if case .fixed = settings.routes[index].options.forwarding.host {
            notes.append(
                note(
                    .note, "data_plane_host", index,
                    "Envoy changes the host under a rule of its own alone, and ignores it else",
                    "mutation_rules: { allow_all_routing: true } beside its processing_mode allows it"))
        }
        let asksForEnvoys = written(index).contains { value in
            let key = value.key.lowercased()
            return key.hasPrefix("headers.")
                && (key.contains(".x-envoy-")
                    || key.hasSuffix(".remove") && value.value.lowercased().contains("x-envoy-"))
        }
        if asksForEnvoys {
            notes.append(
                note(
                    .note, "data_plane_fields", index,
                    "Envoy changes fields of its own (X-Envoy-*) under a rule of its own alone, and ignores it else",
                    "mutation_rules: { allow_envoy: true } beside its processing_mode allows it"))
        }
        return notes
    }

    /// The client's address where all connections are a data plane's, and nothing says that it tells of its clients.
    private func clientNotes(_ index: Int) -> [SettingsNote] {
        guard settings.forwarding.trusted.isEmpty else { return [] }
        var uses: [String] = []
        if settings.routes[index].options.rateLimit?.key == .client { uses.append("\"rate_limit\" by client") }
        if written(index).contains(where: { $0.value.contains("${client.ip}") }) { uses.append("${client.ip}") }
        if uses.isEmpty { return [] }
        return [
            note(
                .warning, "client_is_data_plane", index,
                "behind ext_proc \(uses.joined(separator: " and ")) \(uses.count == 1 ? "takes" : "take") the data "
                    + "plane for the one client of all requests",
                "trusted, with the addresses that it connects from, takes the client from X-Forwarded-For")
        ]
    }
}
