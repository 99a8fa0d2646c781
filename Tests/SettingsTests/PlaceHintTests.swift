import Testing

@testable import Settings

/// Hints of where a key belongs that stands in another place, and of what was meant by a value.
@Suite struct PlaceHintTests {
    private static let head = "version: 1\nlisten: 127.0.0.1:8080\n"
    private static let upstreams = "upstreams: { app: \"127.0.0.1:3000\" }\n"
    private static let routes = "routes: [{ name: all, match: /*, upstream: app }]\n"

    /// The one mistake of a file, without its place.
    private func mistake(_ text: String) -> String? {
        let found = SettingsTestFile.mistakes(text)
        #expect(found.count == 1, "\(found)")
        return found.first.map { String($0.split(separator: " ", maxSplits: 1)[1]) }
    }

    @Test(
        "a key of another level is told with where that is",
        arguments: [
            (
                "timeouts: { header: 5s }",
                "\"timeouts\" has no key \"header\": it stands in \"timeouts\" at the top of the file"
            ),
            (
                "timeouts: { grace: 5s }",
                "\"timeouts\" has no key \"grace\": it stands in \"timeouts\" at the top of the file"
            ),
            (
                "timeouts: { keep_alive: 5s }",
                "\"timeouts\" has no key \"keep_alive\": it stands in \"timeouts\" at the top of the file"
            ),
            ("watch: true", "a route has no key \"watch\": it stands at the top of the file"),
            ("access_log: off", "a route has no key \"access_log\": it stands at the top of the file"),
            ("trusted: []", "a route has no key \"trusted\": it stands at the top of the file"),
            ("admin: off", "a route has no key \"admin\": it stands at the top of the file"),
            ("workers: 2", "a route has no key \"workers\": it stands at the top of the file"),
            ("max_connections: 2", "a route has no key \"max_connections\": it stands in an upstream"),
            ("health: {}", "a route has no key \"health\": it stands in an upstream"),
            ("console: on", "a route has no key \"console\": it stands in \"admin\" at the top of the file"),
            ("match: { path: /a, upstream: app }", "\"match\" has no key \"upstream\": it stands in the route itself"),
            (
                "match: { query: { x: 1 } }",
                "\"query\" is nothing that a route is found by: known are path, method, host, type, header"
            ),
            ("rate: { grace: 1s }", "\"rate\" has no key \"grace\": known are request, response"),
            ("headers: { rename: {} }", "\"headers\" has no key \"rename\": known are request, response"),
        ])
    func routeKeys(keys: String, expected: String) {
        let text = Self.head + Self.upstreams
        let match = keys.hasPrefix("match") ? "" : "match: /*, "
        #expect(mistake(text + "routes: [{ name: all, \(match)upstream: app, \(keys) }]") == expected)
    }

    @Test(
        "a section names the keys that it asks for under conditions, too",
        arguments: [
            ("framing: chunked, qqqqqqqq: 1", "spool"), ("tls: { qqqqqqqq: 1 }", "key"),
            ("tls: { pins: [], qqqqqqqq: 1 }", "pinned_certificates"),
        ])
    func conditionalKeys(keys: String, known: String) {
        let app = "upstreams: { app: { address: \"127.0.0.1:3000\", \(keys) } }\n"
        let found = SettingsTestFile.mistakes(Self.head + app + Self.routes)
            .filter { $0.contains("\"qqqqqqqq\": known are ") }
        #expect(found.count == 1 && found.allSatisfy { $0.contains(", \(known)") }, "\(found)")
    }

    @Test(
        "a key of routes at the top, and one of the file or of an upstream there",
        arguments: [
            ("compress: true", "it stands in a route or under \"defaults\""),
            ("headers: {}", "it stands in a route or under \"defaults\""),
            ("retry: off", "it stands in a route or under \"defaults\""),
            ("rate_limit: 1/s", "it stands in a route or under \"defaults\""),
            ("verify: {}", "it stands in a route"), ("authorize: {}", "it stands in a route"),
            ("response: json -> form", "it stands in a route"),
            ("request: form -> json", "it stands in a route, or did you mean \"requests\"?"),
            ("balance: round_robin", "it stands in an upstream"),
            ("first_byte: 1s", "it stands in \"timeouts\" of a route or under \"defaults\""),
            ("console: on", "it stands in \"admin\""),
        ])
    func fileKeys(line: String, hint: String) {
        let key = line.prefix { $0 != ":" }
        #expect(
            mistake(Self.head + Self.upstreams + Self.routes + line) == "the file has no key \"\(key)\": \(hint)")
    }

    @Test(
        "under \"defaults\", and in an upstream",
        arguments: [
            ("access_log: off", "it stands at the top of the file"),
            ("trusted: []", "it stands at the top of the file"),
            ("admin: off", "it stands at the top of the file"), ("verify: {}", "it stands in a route"),
            ("request: form -> json", "it stands in a route"), ("balance: round_robin", "it stands in an upstream"),
        ])
    func defaultKeys(line: String, hint: String) {
        let key = line.prefix { $0 != ":" }
        #expect(
            mistake(Self.head + Self.upstreams + Self.routes + "defaults: { \(line) }")
                == "\"defaults\" has no key \"\(key)\": \(hint)")
    }

    @Test(
        "in an upstream",
        arguments: [
            ("retry: off", "it stands in a route or under \"defaults\""), ("rewrite: /a", "it stands in a route"),
            ("workers: 2", "it stands at the top of the file"), ("interval: 1s", "it stands in \"health.active\""),
        ])
    func upstreamKeys(line: String, hint: String) {
        let key = line.prefix { $0 != ":" }
        #expect(
            mistake(
                Self.head + "upstreams: { app.b: { address: \"a:1\", \(line) } }\n"
                    + Self.routes.replacing("app", with: "app.b"))
                == "the upstream \"app.b\" has no key \"\(key)\": \(hint)")
    }

    @Test("defaults' timeouts lead to the file's")
    func defaultTimeouts() {
        #expect(
            mistake(Self.head + Self.upstreams + Self.routes + "defaults: { timeouts: { header: 1s } }")
                == "\"timeouts\" has no key \"header\": it stands in \"timeouts\" at the top of the file")
        #expect(
            mistake(Self.head + Self.upstreams + Self.routes + "timeouts: { connect: 1s }")
                == "\"connect\" is set per upstream: upstreams: {NAME: {address: …, connect: 3s}}")
    }

    @Test("whatever a hint is, it is told apart for programs")
    func parts() {
        let mistake = SettingsMistake(
            line: 1, column: 1, message: "a route has no key \"watch\": it stands at the top of the file")
        #expect(mistake.hint == "it stands at the top of the file")
    }

    @Test(
        "what was meant by a value",
        arguments: [
            ("timeouts: { gap: 1m30s }", "\"gap\": a time is one whole number and one unit: did you mean \"90s\"?"),
            ("timeouts: { gap: 1h 30m }", "\"gap\": a time is one whole number and one unit: did you mean \"90m\"?"),
            ("timeouts: { gap: 1.5s }", "\"gap\": a time is one whole number and one unit: did you mean \"1500ms\"?"),
            (
                "timeouts: { gap: 0.0001s }",
                "\"gap\": the unit \".0001s\" is not known for a time: known are ms, s, m, h"
            ),
            (
                "timeouts: { gap: 5 minutes }",
                "\"gap\": the unit \" minutes\" is not known for a time: did you mean \"5m\"?"
            ),
            ("timeouts: { gap: 5m! }", "\"gap\": the unit \"m!\" is not known for a time: known are ms, s, m, h"),
            (
                "limits: { body: 1.5MiB }",
                "\"body\": a size is one whole number and one unit: did you mean \"1536KiB\"?"
            ),
            (
                "rate_limit: 100/s burst=5",
                "\"rate\" of \"rate_limit\" is the rate alone, as in 100/s, not \"100/s burst=5\": write rate_limit: { rate: 100/s, "
                    + "burst: 5 }"
            ),
            (
                "rate_limit: \"10/m, nodelay\"",
                "\"rate\" of \"rate_limit\" is the rate alone, as in 100/s, not \"10/m, nodelay\": write rate_limit: { rate: 10/m, "
                    + "burst: … }"
            ),
            (
                "rate_limit: 100/minute",
                "\"rate\" of \"rate_limit\": the unit \"minute\" is not known for a time: did you mean \"100/m\"?"
            ),
            (
                "retry: { on: [5xx] }",
                "\"on\" is not \"5xx\": known are reset, timeout and the statuses 500, 501, 502, 503, 504, of which each stands for "
                    + "itself"
            ),
            (
                "retry: { on: 502-503 }",
                "\"on\" is not \"502-503\": known are reset, timeout and the statuses 500, 501, 502, 503, 504, of which each stands "
                    + "for itself"
            ),
            (
                "retry: { on: [closed] }",
                "\"on\" is not \"closed\": known are reset, timeout and the statuses 500, 501, 502, 503, 504"
            ),
            (
                "compress: gzip",
                "\"compress\" is true, off or a mapping, not \"gzip\": write compress: { codings: [gzip] }"
            ),
            (
                "compress: [br, gzip]",
                "\"compress\" is true, off or a mapping, not a list: write compress: { codings: [br, gzip] }"
            ),
            (
                "compress: yes",
                "\"compress\" is true, off or a mapping, not \"yes\": write compress: { codings: [gzip] }"
            ),
        ])
    func values(keys: String, expected: String) {
        #expect(
            mistake(Self.head + Self.upstreams + "routes: [{ name: all, match: /*, upstream: app, \(keys) }]")
                == expected)
    }
}
