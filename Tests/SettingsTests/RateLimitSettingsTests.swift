import Foundation
import Gateway
import Proxy
import Settings
import Testing

/// What the settings say of how often clients may come: read, refused with its place, and shown.
@Suite struct RateLimitSettingsTests {
    private func route(_ value: String) -> String {
        "  - { name: all, match: \"/tenants/{tenant}/*\", upstream: app, rate_limit: \(value) }"
    }

    private func limit(_ value: String) throws -> RateLimit? {
        try #require(SettingsTestFile.parseRoutes(route(value)).settings.routes.first).options.rateLimit
    }

    @Test("a rate, alone or with what belongs to it")
    func read() throws {
        #expect(try limit("off") == nil)
        let plain = RateLimit(count: 100, per: .seconds(1))
        #expect(plain.quota == 100 && plain.entries == 100_000 && plain.tells && plain.key == .client)
        #expect(try limit("100/s") == plain)
        #expect(try limit("{ rate: 100/s }") == plain)
        #expect(try limit("{ rate: 100/s, burst: 200 }") == RateLimit(count: 100, per: .seconds(1), burst: 200))
        #expect(try limit("1/h") == RateLimit(count: 1, per: .seconds(3600)))
        #expect(try limit("60/m") == RateLimit(count: 60, per: .seconds(60)))
        #expect(try limit("5/10s") == RateLimit(count: 5, per: .seconds(10)))
        #expect(try limit("1/24h") == RateLimit(count: 1, per: .seconds(86_400)))
        #expect(try limit("1000000/s") == RateLimit(count: 1_000_000, per: .seconds(1)))
        #expect(try limit("1000/ms") == RateLimit(count: 1000, per: .milliseconds(1)))
        #expect(
            try limit("{ rate: 1/s, burst: 1000000, entries: 100, fields: false }")
                == RateLimit(count: 1, per: .seconds(1), burst: 1_000_000, entries: 100, tells: false))
        #expect(try limit("{ rate: 1/s, entries: 10000000 }")?.entries == 10_000_000)
    }

    @Test("a key")
    func keys() throws {
        func key(_ text: String) throws -> RateLimit.Key? { try limit("{ rate: 1/s, key: \(text) }")?.key }
        #expect(try key("client") == .client)
        #expect(try key("header.X-Api-Key") == .value(.header("x-api-key")))
        #expect(try key("path.tenant") == .value(.path(0, "tenant")))
        #expect(try key("query.user.id") == .value(.query("user.id")))
    }

    @Test("what stands under defaults holds for routes that say nothing, and a route has its say key by key")
    func defaults() throws {
        func limit(_ defaults: String, _ route: String) throws -> RateLimit? {
            let text =
                "version: 1\nlisten: 127.0.0.1:8080\nupstreams: { app: \"127.0.0.1:3000\" }\n"
                + "defaults: { rate_limit: \(defaults) }\nroutes: [{ name: all, match: /*, upstream: app\(route) }]"
            return try #require(SettingsTestFile.parse(text).settings.routes.first).options.rateLimit
        }
        let own = RateLimit(key: .value(.header("x-k")), count: 5, per: .seconds(1), burst: 9)
        let text = "{ key: header.x-k, rate: 5/s, burst: 9 }"
        #expect(try limit(text, "") == own)
        #expect(try limit(text, ", rate_limit: off") == nil)
        #expect(try limit("off", ", rate_limit: 7/s") == RateLimit(count: 7, per: .seconds(1)))
        var changed = own
        (changed.count, changed.period) = (7, .seconds(60))
        #expect(try limit(text, ", rate_limit: 7/m") == changed)
        #expect(try limit(text, ", rate_limit: { rate: 7/m }") == changed)
        changed = own
        changed.burst = 3
        #expect(try limit(text, ", rate_limit: { burst: 3 }") == changed)
        // Without a burst of its own the default's is that of the rate, whatever it is.
        #expect(try limit("5/s", ", rate_limit: 7/s")?.quota == 7)
    }

    @Test(
        "what is wrong is said with its place",
        arguments: [
            ("0/s", "", "\"rate\" of \"rate_limit\" is from 1 to 1000000 requests, not 0; off limits nothing"),
            ("1000001/s", "", "is from 1 to 1000000 requests, not 1000001"),
            ("99999999999999999999/s", "", "is from 1 to 1000000 requests, not 99999999999999999999"),
            ("1001/ms", "", "is at most 1000000/s, not \"1001/ms\""),
            ("100", "", "is a number of requests in a time, as in 100/s or 5/10s, not \"100\""),
            ("/s", "", "is a number of requests in a time"), ("1/", "", "is a number of requests in a time"),
            ("1/s/s", "", "is a number of requests in a time"), ("-1/s", "", "is a number of requests in a time"),
            ("1.5/s", "", "is a number of requests in a time"), ("of", "", "is a number of requests in a time"),
            ("1/sec", "", "the unit \"sec\" is not known for a time: did you mean \"1/s\"?"),
            ("1/0s", "", "a time is longer than nothing"), ("1/25h", "", "a time is at most 24h"),
            ("[1/s]", "", "\"rate_limit\" is a mapping of keys to values"),
            ("{ }", "", "\"rate_limit\" needs \"rate\", as in rate: 100/s"),
            ("{ burst: 5 }", "", "\"rate_limit\" needs \"rate\", as in rate: 100/s"),
            ("{ rate: 1/s, burst: 0 }", "0 }", "\"burst\" is from 1 to 1000000, not 0"),
            ("{ rate: 1/s, burst: 1000001 }", "1000001 }", "\"burst\" is from 1 to 1000000, not 1000001"),
            ("{ rate: 1/s, burst: many }", "many }", "\"burst\" is a whole number"),
            ("{ rate: 1/h, burst: 8785 }", "8785 }", "a burst of 8785 takes longer than a year to come back at 1/h"),
            ("{ rate: 1/s, entries: 99 }", "99 }", "\"entries\" is from 100 to 10000000, not 99"),
            ("{ rate: 1/s, entries: 10000001 }", "10000001 }", "\"entries\" is from 100 to 10000000, not 10000001"),
            ("{ rate: 1/s, fields: some }", "some }", "\"fields\" is true or false"),
            ("{ rate: 1/s, brust: 5 }", "brust", "\"rate_limit\" has no key \"brust\": did you mean \"burst\"?"),
            ("{ rate: 1/s, key: clinet }", "clinet }", "\"key\" is no \"clinet\": did you mean \"client\"?"),
            (
                "{ rate: 1/s, key: headers.x }", "headers.x }",
                "\"key\" is no \"headers.x\": did you mean \"header.NAME\"?"
            ),
            ("{ rate: 1/s, key: cookie.x }", "cookie.x }", "known are client, header.NAME, path.NAME, query.NAME"),
            ("{ rate: 1/s, key: client.ip }", "client.ip }", "\"key\" is no \"client.ip\": did you mean \"client\"?"),
            ("{ rate: 1/s, key: header. }", "header. }", "\"\" is no name of a header"),
            ("{ rate: 1/s, key: \"header.a b\" }", "\"header.a b\" }", "\"a b\" is no name of a header"),
            ("{ rate: 1/s, key: query. }", "query. }", "\"key\" has no name behind query., as in query.user"),
            (
                "{ rate: 1/s, key: path.tenent }", "path.tenent }",
                "the route's path has no variable \"tenent\": did you mean \"tenant\"?"
            ),
        ])
    func mistakes(value: String, at: String, message: String) throws {
        let mistakes = SettingsTestFile.mistakesOfRoutes(route(value))
        #expect(mistakes.count == 1)
        let mistake = try #require(mistakes.first)
        #expect(mistake.contains(message), "\(mistake)")
        let line = route(value)
        let start = try #require(line.range(of: value)).lowerBound
        let place = at.isEmpty ? start : try #require(line.range(of: at, range: start..<line.endIndex)).lowerBound
        #expect(mistake.contains("5:\(line.distance(from: line.startIndex, to: place) + 1)"), "\(mistake)")
    }

    @Test("the longest burst is taken")
    func longestBurst() throws {
        #expect(try limit("{ rate: 1/h, burst: 8784 }")?.quota == 8784)
    }

    @Test("a variable of a path is none of \"defaults\"")
    func variable() {
        let mistakes = SettingsTestFile.mistakes(
            "version: 1\nlisten: 127.0.0.1:8080\nupstreams: { app: \"127.0.0.1:3000\" }\n"
                + "defaults: { rate_limit: { rate: 1/s, key: path.tenant } }\n"
                + "routes: [{ name: all, match: \"/{tenant}\", upstream: app }]")
        #expect(mistakes.count == 1 && mistakes[0].contains("write this in the route"), "\(mistakes)")
    }

    @Test("what is in effect is shown")
    func effective() throws {
        func values(_ value: String) throws -> [String] {
            try SettingsTestFile.parseRoutes(route(value)).effectiveOfRoutes[0]
                .filter { $0.key.hasPrefix("rate_limit") }.map { "\($0.key) \($0.value)" }
        }
        #expect(try values("off") == ["rate_limit off"])
        #expect(
            try values("5/10s") == [
                "rate_limit.rate 5/10s", "rate_limit.key client", "rate_limit.burst 5", "rate_limit.entries 100000",
                "rate_limit.fields true",
            ])
        #expect(
            try values("{ key: path.tenant, rate: 60/1m, burst: 7, fields: false }") == [
                "rate_limit.rate 60/m", "rate_limit.key path.tenant", "rate_limit.burst 7", "rate_limit.entries 100000",
                "rate_limit.fields false",
            ])
    }
}
