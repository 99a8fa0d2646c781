import Settings
import Testing

/// What `check` says of settings that a data plane takes the place of (docs/ext-proc.md).
@Suite("Notes of settings that are a data plane's")
struct DataPlaneNoteTests {
    private static let processor = "{ address: 127.0.0.1:9000, serves: ext_proc }"

    /// The codes that are noted, and what the notes say, of one route with these lines.
    private func notes(_ route: String, _ file: String = "", listen: String = processor) throws -> [(
        code: String, text: String
    )] {
        let file = try SettingsTestFile.parse(
            "version: 1\nlisten: [\(listen)]\n\(file)\nroutes:\n  - name: a\n    match: /a\n    \(route)")
        return file.notes.filter { $0.code.contains("data_plane") }.map { ($0.code, $0.description) }
    }

    @Test(
        "a key that does nothing there is named, with who decides",
        arguments: [
            ("retry: { attempts: 3 }", "\"retry\" does", "retry_policy"),
            ("timeouts: { first_byte: 2s }", "\"timeouts.first_byte\" does", "timeout"),
            ("timeouts: { tunnel: 2h }", "\"timeouts.tunnel\"", "timeouts"),
            ("min_rate: 1KiB/s", "\"min_rate\" does", "timeouts"),
            ("forwarded: forwarded", "\"forwarded\"", "use_remote"),
            ("real_ip: true", "\"real_ip\"", "use_remote"),
            ("expect_continue: forward", "\"expect_continue\"", "manager"),
            ("upgrade: [websocket]", "\"upgrade\"", "upgrade_configs"),
            ("host: upstream", "\"host\" does", "host_rewrite"),
            ("half_close: abort", "\"half_close\"", "manager"),
            ("retry: { attempts: 3 }\n    real_ip: true", "\"real_ip\", \"retry\" do", "retry_policy"),
        ])
    func owned(_ route: String, _ keys: String, _ owner: String) throws {
        let found = try notes(route)
        #expect(found.map(\.code) == ["data_plane_owns"])
        #expect(found.first?.text.contains(keys) == true, "\(found)")
        #expect(found.first?.text.contains(owner) == true, "\(found)")
    }

    @Test(
        "of what all routes have by defaults; of a route's upstream; and not where requests are forwarded here, too"
    )
    func places() throws {
        let upstreams = "upstreams: { app: 127.0.0.1:3000 }"
        #expect(
            try notes("request: form -> json", "defaults: { retry: { attempts: 3 } }").map(\.code) == [
                "data_plane_owns"
            ])
        #expect(try notes("upstream: app", upstreams).map(\.code) == ["data_plane_owns"])
        #expect(
            try notes("upstream: app\n    real_ip: true", upstreams, listen: "127.0.0.1:8080, \(Self.processor)")
                .isEmpty)
        #expect(try notes("upstream: app\n    real_ip: true", upstreams, listen: "127.0.0.1:8080").isEmpty)
    }

    @Test(
        "what works there, or is turned off, isn't noted",
        arguments: [
            "timeouts: { request: 5s }", "retry: off", "upgrade: off", "forwarded: off", "real_ip: false",
            "rate: { request: 1MiB/s }", "underscores: reject",
            "headers: { request: { set: { X-A: b }, remove: [X-Env] } }",
            "rate_limit: { key: header.x-key, rate: 10/s }", "compress: { plain: true }", "require_length: true",
        ])
    func others(_ route: String) throws { #expect(try notes(route).isEmpty) }

    @Test(
        "what Envoy does under a rule of its own alone",
        arguments: [
            ("host: other.example", "data_plane_host", "allow_all_routing"),
            ("headers: { request: { set: { X-Envoy-Max-Retries: \"3\" } } }", "data_plane_fields", "allow_envoy"),
            ("headers: { response: { add: { x-envoy-a: b } } }", "data_plane_fields", "allow_envoy"),
            ("headers: { request: { remove: [X-Envoy-Internal] } }", "data_plane_fields", "allow_envoy"),
        ])
    func ruled(_ route: String, _ code: String, _ rule: String) throws {
        let found = try notes(route)
        #expect(found.map(\.code) == [code])
        #expect(found.first?.text.contains(rule) == true)
    }

    @Test(
        "the address of a client that is the data plane",
        arguments: [
            ("rate_limit: { key: client, rate: 10/s }", true),
            ("headers: { request: { set: { X-A: \"${client.ip}\" } } }", true),
            ("headers: { request: { set: { X-A: \"${header.x-b}\" } } }", false),
            ("rate_limit: { key: header.x-a, rate: 10/s }", false),
        ])
    func client(_ route: String, _ isNoted: Bool) throws {
        #expect(try notes(route).map(\.code) == (isNoted ? ["client_is_data_plane"] : []))
        #expect(try notes(route, "trusted: [127.0.0.0/8]").isEmpty)
        // Clients of the other listener are known by themselves, those of this one aren't.
        let both = "127.0.0.1:8080, \(Self.processor)"
        #expect(
            try notes(route + "\n    upstream: app", "upstreams: { app: 127.0.0.1:3000 }", listen: both).map(\.code)
                == (isNoted ? ["client_is_data_plane"] : []))
        #expect(
            try notes(route + "\n    upstream: app", "upstreams: { app: 127.0.0.1:3000 }", listen: "127.0.0.1:8080")
                .isEmpty)
    }
}
