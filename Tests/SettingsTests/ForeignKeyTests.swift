import Testing

@testable import Settings

/// What `check` says of keys that other proxies' settings have.
@Suite("Keys of other proxies") struct ForeignKeyTests {
    private static let head = "version: 1\nlisten: 127.0.0.1:8080\n"

    /// The end of the one mistake of a file, behind the key's name.
    private func hint(_ text: String) -> String? {
        let found = SettingsTestFile.mistakes(text)
        #expect(found.count == 1, "\(found)")
        return found.first?.firstRange(of: "\": ").map { String(found[0][$0.upperBound...]) }
    }

    @Test(
        "at the top of the file",
        arguments: [
            ("client_max_body_size: 10m", "write limits: {body: 100MiB} in a route or under \"defaults\""),
            ("keepalive_timeout: 65", "write timeouts: {keep_alive: 75s}"),
            ("worker_processes: 4", "write workers: auto"), ("entryPoints: {}", "write listen: 127.0.0.1:8080"),
            ("metrics: true", "write status: 0.0.0.0:9902, which answers /metrics"),
            ("static_resources: {}", "write routes: [{name: all, match: \"/*\", upstream: app}]"),
        ])
    func file(line: String, expected: String) {
        let rest = "upstreams: { app: \"127.0.0.1:3000\" }\nroutes: [{ name: all, match: /*, upstream: app }]\n"
        #expect(hint(Self.head + rest + line) == expected)
    }

    @Test(
        "in a route, under \"defaults\" and in \"match\"",
        arguments: [
            ("proxy_pass: http://a", "write upstream: app"),
            ("timeout: 5s", "write timeouts: {first_byte: 30s, gap: 60s}"),
            ("strip_prefix: /a", "write match: \"/a/*\" and rewrite: \"/${path.*}\""),
            ("mirror: new", "write shadow: {upstream: NAME}"), ("websocket: true", "write upgrade: [websocket]"),
            ("forwardAuth: a", "write authorize: [{basic: {NAME: \"${env:PASSWORD}\"}}]"),
            ("transform: a", "write request: form -> json"), ("path_rewrite: a", "write rewrite: \"/b/${path.*}\""),
            ("return: 404", "no route answers by itself: name an upstream that does"),
            ("match: { path: /a, contentType: a/b }", "write type: application/json"),
            ("match: { path: /a, regex: a }", "a path is no expression: {name} is a segment, and * ends it"),
        ])
    func route(keys: String, expected: String) {
        let match = keys.hasPrefix("match") ? "" : "match: /*, "
        let upstreams = "upstreams: { app: \"127.0.0.1:3000\" }\n"
        #expect(hint(Self.head + upstreams + "routes: [{ name: all, \(match)upstream: app, \(keys) }]") == expected)
        if match.isEmpty { return }
        let routes = "routes: [{ name: all, match: /*, upstream: app }]\n"
        // What "defaults" don't take stands in a route.
        let ofRoutes = ["proxy_pass", "strip_prefix", "mirror", "forwardAuth", "transform", "path_rewrite"]
        let ofDefaults = ofRoutes.contains { keys.hasPrefix($0) } ? "\(expected) in a route" : expected
        #expect(hint(Self.head + upstreams + routes + "defaults: { \(keys) }") == ofDefaults)
    }

    @Test(
        "in an upstream and its TLS, and in a listener's",
        arguments: [
            ("url: http://a", "write address: 127.0.0.1:3000"), ("connect_timeout: 5s", "write connect: 3s"),
            ("max_fails: 3", "write health: {passive: {failures: 5, ejection: 10s}}"),
            ("lb-policy: x", "write balance: round_robin"), ("http2: true", "write http: 2"),
            ("tls: { insecureSkipVerify: true }", "write verify: false"), ("tls: { ca_file: a }", "write ca: ca.pem"),
        ])
    func upstream(keys: String, expected: String) {
        let routes = "routes: [{ name: all, match: /*, upstream: app.b }]\n"
        let text = "upstreams: { app.b: { address: \"127.0.0.1:3000\", \(keys) } }\n" + routes
        #expect(hint(Self.head + text) == expected)
    }

    @Test("no key of ours is called another proxy's where it stands")
    func own() {
        let all = [
            "listen", "upstreams", "routes", "workers", "timeouts", "limits", "status", "http2", "tls", "defaults",
        ]
        for key in all { #expect(ForeignKeys.hint(for: key, in: .file) == nil, "\(key)") }
        let ofRoutes = [
            "match", "upstream", "rewrite", "timeouts", "limits", "headers", "retry", "upgrade", "host", "request",
        ]
        for key in ofRoutes { #expect(ForeignKeys.hint(for: key, in: .route) == nil, "\(key)") }
        for key in ["address", "tls", "health", "connect", "http", "resolve", "queue", "balance"] {
            #expect(ForeignKeys.hint(for: key, in: .upstream) == nil, "\(key)")
        }
    }
}
