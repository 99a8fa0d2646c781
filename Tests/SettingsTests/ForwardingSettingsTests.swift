import Gateway
import Proxy
import Settings
import Testing

/// What the settings say of heads: read, refused with its place, and shown.
@Suite struct ForwardingSettingsTests {
    private func route(_ keys: String) -> String { "  - { name: all, match: /*, upstream: app, \(keys) }" }

    private func options(_ keys: String) throws -> ForwardingOptions {
        try #require(SettingsTestFile.parseRoutes(route(keys)).settings.routes.first).options.forwarding
    }

    private func top(_ lines: String) -> String {
        "version: 1\n\(lines)\nlisten: 127.0.0.1:8080\nupstreams: { app: \"127.0.0.1:3000\" }\n"
            + "routes: [{ name: all, match: /*, upstream: app }]"
    }

    @Test("a route's words about heads are read")
    func read() throws {
        #expect(try options("host: preserve") == ForwardingOptions())
        #expect(try options("host: upstream").host == .upstream)
        #expect(try options("host: \"API.example:8080\"").host == .fixed("api.example:8080"))
        #expect(try options("forwarded: forwarded").forwarded == .forwarded)
        #expect(try options("forwarded: x-forwarded").forwarded == .xForwarded)
        #expect(try options("forwarded: off").forwarded == .off)
        #expect(try options("real_ip: true").realIP)
        #expect(try options("underscores: pass").underscores == .pass)
        #expect(try options("require_length: true").requiresLength)
        #expect(try options("expect_continue: forward").expectContinue == .forward)
        #expect(try options("no_transform: convert").noTransform == .convert)
        #expect(try options("half_close: abort").halfClose == .abort)
        #expect(try options("addresses: outer").addresses == .outer)
        #expect(try options("trailers: [X-Sum, content-digest]").trailers == ["x-sum", "content-digest"])
        #expect(try options("trailers: off").trailers == [])
        #expect(try options("upgrade: off").upgrade == [])
        #expect(try options("upgrade: false").upgrade == [])
        #expect(try options("upgrade: [WebSocket, tls/1.2]").upgrade == ["websocket", "tls/1.2"])
    }

    @Test("what stands under defaults holds for routes that say nothing")
    func defaults() throws {
        let text = top("defaults: { host: upstream, underscores: reject, upgrade: off, timeouts: { tunnel: 5m } }")
        let route = try #require(SettingsTestFile.parse(text).settings.routes.first)
        #expect(route.options.forwarding.host == .upstream)
        #expect(route.options.forwarding.underscores == .reject)
        #expect(route.options.forwarding.upgrade == [])
        #expect(route.timeouts.tunnel == .seconds(300))
        let other = try #require(
            SettingsTestFile.parseRoutes(self.route("timeouts: { tunnel: 2h }")).settings.routes.first)
        #expect(other.timeouts.tunnel == .seconds(7200))
        #expect(RouteTimeouts().tunnel == .seconds(3600))
    }

    @Test("the top's words about heads are read")
    func readTop() throws {
        func settings(_ lines: String) throws -> ForwardingSettings {
            try SettingsTestFile.parse(top(lines)).settings.forwarding
        }
        #expect(try settings("workers: 1") == ForwardingSettings())
        #expect(ForwardingSettings().via == "recast" && ForwardingSettings().loopLimit == 8)
        #expect(try settings("via: gate-1").via == "gate-1")
        #expect(try settings("via: off").via == nil)
        #expect(try settings("via: false").via == nil)
        #expect(try settings("via: \"true\"").via == "true")
        #expect(try settings("via_responses: true").addsViaToResponses)
        #expect(try settings("loop_limit: 3").loopLimit == 3)
        #expect(try settings("http_minor: 505").refusesLaterMinor)
        #expect(try !settings("http_minor: accept").refusesLaterMinor)
        #expect(try settings("target_characters: strict").refusesUnwiseBytes)
        #expect(try !settings("malformed_escapes: pass").refusesBadPercent)
        let trusted = try settings("trusted: [ 10.0.0.0/8, \"fd00::/8\", unix ]").trusted
        #expect(trusted.unix && trusted.networks.count == 2)
        #expect(trusted.networks.first == TrustedPeers.Network(parsing: "10.0.0.0/8"))
        #expect(try settings("trusted: 127.0.0.1").trusted.networks.count == 1)
    }

    @Test(
        "what is wrong is reported with its place",
        arguments: [
            (
                "host: \"a b\"",
                "\"host\" is preserve, upstream, or a host as in api.example or api.example:8080, not \"a b\""
            ),
            (
                "host: \"a:b\"",
                "\"host\" is preserve, upstream, or a host as in api.example or api.example:8080, not \"a:b\""
            ),
            ("forwarded: both", "\"forwarded\" is not \"both\": "),
            ("real_ip: 1", "\"real_ip\" is true or false, not \"1\""),
            ("expect_continue: yes", "\"expect_continue\" is not \"yes\": "),
            ("trailers: [content-length]", "\"content-length\" is a field that frames, routes, "),
            ("trailers: [Cookie]", "\"Cookie\" is a field that frames, routes, "),
            ("trailers: [a_b]", "\"a_b\" holds _, which servers read as -"),
            ("trailers: [a b]", "\"a b\" is no name of a field"),
            ("trailers: []", "\"trailers\" is an empty list"),
            (
                "upgrade: true",
                "\"upgrade\" is no switch: write off or names, or \"true\" in quotes where that is a name"
            ),
            ("upgrade: [websocket, no]", "\"upgrade\" is no switch: "),
            ("trailers: yes", "\"trailers\" is no switch: "),
            ("host: true", "\"host\" is no switch: write preserve, upstream, or a host as in api.example, or "),
            ("host: false", "\"host\" is no switch: "), ("upgrade: h2c", "\"h2c\" is never passed on"),
            ("authorize: { header: X-K, keys: [\"a key \"] }", "a key of \"X-K\" begins or ends with white space"),
            ("authorize: { bearer: \" token\" }", "a token of \"bearer\" begins or ends with white space"),
            ("upgrade: [a/b/c]", "\"a/b/c\" is no protocol"),
            ("upgrade: websocket, request: form -> json", "\"upgrade\" is for routes that convert nothing"),
            ("trailers: x, response: json -> form", "\"trailers\" is for routes that convert nothing"),
        ])
    func mistakes(keys: String, mistake: String) throws {
        let found = SettingsTestFile.mistakesOfRoutes(route(keys))
        #expect(found.count == 1)
        let first = try #require(found.first)
        #expect(first.hasPrefix("5:") && first.contains(mistake), "\(first)")
    }

    @Test(
        "what is wrong at the top is reported with its place",
        arguments: [
            ("via: true", "2:6: \"via\" is no switch: write off or a name, or \"true\" in quotes where that is a name"),
            ("via: No", "2:6: \"via\" is no switch: "),
            ("via: a b", "2:6: \"via\" is off, or a name of at most 64 letters"),
            ("loop_limit: 0", "2:13: \"loop_limit\" is from 1 to 100, not 0"),
            ("http_minor: \"1.1\"", "2:13: \"http_minor\" is not \"1.1\": "),
            ("trusted: [10.0.0.1/8]", "2:11: \"10.0.0.1/8\" is no network: "),
            ("trusted: all", "2:10: \"all\" is no network: "),
            ("malformed_escapes: drop", "2:20: \"malformed_escapes\" is not \"drop\": "),
            ("timeouts: { tunnel: 1h }", "2:13: \"tunnel\" is a route's"),
        ])
    func mistakesAtTheTop(line: String, mistake: String) throws {
        let found = SettingsTestFile.mistakes(top(line))
        #expect(found.count == 1)
        let first = try #require(found.first)
        #expect(first.contains(mistake), "\(first)")
    }

    @Test("`recast routes` shows where each value comes from")
    func effective() throws {
        let file = try SettingsTestFile.parseRoutes(route("host: upstream, upgrade: off"))
        let values = try #require(file.effectiveOfRoutes.first)
        func value(_ key: String) -> String? { values.first { $0.key == key }?.value }
        #expect(value("host") == "upstream")
        #expect(value("upgrade") == "off")
        #expect(value("forwarded") == "x-forwarded")
        #expect(value("timeouts.tunnel") != nil)
        #expect(file.effective.contains { $0.key == "via" && $0.value == "recast" })
        #expect(file.effective.contains { $0.key == "trusted" && $0.value == "none" })
    }
}
