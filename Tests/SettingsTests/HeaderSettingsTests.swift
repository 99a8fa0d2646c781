import Gateway
import Proxy
import Settings
import Testing

/// What the settings say of header rules and of paths: read, refused with its place, and shown.
@Suite struct HeaderSettingsTests {
    private func route(_ keys: String) -> String { "  - { name: all, match: \"/{id}\", upstream: app, \(keys) }" }

    private func rules(_ keys: String) throws -> HeaderRules {
        try #require(SettingsTestFile.parseRoutes(route(keys)).settings.routes.first).options.headers
    }

    private func top(_ lines: String, _ route: String = "") -> String {
        "version: 1\n\(lines)\nlisten: 127.0.0.1:8080\nupstreams: { app: \"127.0.0.1:3000\" }\n"
            + "routes: [{ name: all, match: /*, upstream: app\(route) }]"
    }

    @Test("rules are read, with every source")
    func read() throws {
        let rules = try rules(
            """
            headers: { request: { set: { X-Api-Key: "Bearer ${env:HOST}", X-Id: "${path.id}", X-N: 7 },
                add: { X-Q: ["${query.q}", "a ${client.ip} ${header.Host} b"] }, remove: [Cookie, "X-Internal-*"] },
                response: { set: { Strict-Transport-Security: max-age=63072000 }, remove: Server } }
            """)
        #expect(
            rules.request.set == [
                .init(name: "X-Api-Key", value: .literalMix([.literal("Bearer 10.0.0.9")]), text: "Bearer ${env:HOST}"),
                .init(name: "X-Id", value: .literalMix([.source(.path(0, "id"))]), text: "${path.id}"),
                .init(name: "X-N", value: .literalMix([.literal("7")]), text: "7"),
            ])
        #expect(
            rules.request.add.map(\.value) == [
                .literalMix([.source(.query("q"))]),
                .literalMix([
                    .literal("a "), .source(.clientAddress), .literal(" "), .source(.header("host")), .literal(" b"),
                ]),
            ])
        #expect(rules.request.remove == [.init(name: "cookie"), .init(name: "x-internal-", isPrefix: true)])
        #expect(rules.response.remove == [.init(name: "server")])
        #expect(rules.response.set.map(\.name) == ["Strict-Transport-Security"])
    }

    @Test("a secret that another one is a part of is shown by its own reference, in whichever order they are read")
    func nestedSecrets() throws {
        for (first, second) in [("STAGE", "KEY"), ("KEY", "STAGE")] {
            let fields = "X-A: \"${env:\(first)}\", X-B: \"Bearer ${env:\(second)}\""
            let file = try SettingsTestFile.parse(top("", ", headers: { request: { set: { \(fields) } } }"))
            let shown = file.effectiveOfRoutes[0].filter { $0.key.hasPrefix("headers") }.map(file.redacted)
            let values = shown.map(\.value)
            #expect(values == ["${env:\(first)}", "Bearer ${env:\(second)}"])
        }
    }

    @Test(
        "a secret stands by its reference in a target, however it is escaped",
        arguments: [
            ("/q?api_key=prod-sk_77", "/q?api_key=${env:KEY}"),
            ("/q?a=1&api_key=prod%2Dsk%5f77&b=2", "/q?a=1&api_key=${env:KEY}&b=2"),
            ("/q?a=xprod-sk_77y+z", "/q?a=x${env:KEY}y z"),
            ("/prod-sk_77/x?prod-sk_77=1", "/${env:KEY}/x?${env:KEY}=1"),
            ("/q?a=prod&b=s3cret", "/q?a=${env:STAGE}&b=${file:/run/secret}"), ("/q?a=%41+b&c", "/q?a=%41+b&c"),
            // Too short to be looked for, but as the value that the route sets.
            ("/q?pin=%3742&b=742", "/q?pin=${env:PIN}&b=742"), ("/", "/"), ("/q?", "/q?"),
        ])
    func targets(target: String, shown: String) throws {
        let file = try SettingsTestFile.parse(
            top(
                "",
                ", rewrite: { query: { pin: \"${env:PIN}\", a: 1 } }, headers: { request: { set: { X-A: \"${env:STAGE}\", "
                    + "X-B: \"Bearer ${env:KEY}\", X-C: \"${file:/run/secret}\" } } }"))
        #expect(file.redacted(target: target, ofRoute: 0) == shown)
    }

    @Test("a path with a secret is shown as the settings write it")
    func secretPath() throws {
        let file = try SettingsTestFile.parse(top("", ", rewrite: \"/x/${env:PIN}\""))
        #expect(file.redacted(target: "/x/742?a=1", ofRoute: 0) == "/x/${env:PIN}?a=1")
    }

    @Test("a secret stands by its reference in what is shown, and defaults show where they come from")
    func shown() throws {
        let file = try SettingsTestFile.parse(
            top(
                "defaults: { headers: { request: { set: { X-Key: \"${file:/run/secret}\" }, remove: [Cookie] } } }",
                ", headers: { request: { set: { X-More: \"${env:HOST}\" }, remove: [X-A] } }"))
        let values = file.effectiveOfRoutes[0].filter { $0.key.hasPrefix("headers") }.map(file.redacted).map {
            "\($0.key) \($0.value) \($0.origin)"
        }
        #expect(
            values == [
                "headers.request.remove cookie, x-a line(5)",
                "headers.request.set.X-Key ${file:/run/secret} line(2)",
                "headers.request.set.X-More ${env:HOST} line(5)",
            ])
        #expect(file.settings.routes[0].options.headers.request.set[0].value == .literalMix([.literal("s3cret")]))
    }

    @Test(
        "fields that frame, route or belong to a connection are refused by name, and the message names the setting",
        arguments: [
            ("Content-Length", "frames the body"), ("content_length", "frames the body"),
            ("TRANSFER-ENCODING", "frames the body"), ("Trailer", "\"trailers\""), ("TE", "\"trailers\""),
            ("Connection", "one connection"), ("Keep-Alive", "one connection"), ("Proxy-Connection", "one connection"),
            ("HTTP2-Settings", "one connection"), ("Upgrade", "\"upgrade\""), ("Expect", "\"expect_continue\""),
            ("Proxy-Authorization", "never passes"), ("Host", "\"host\""), ("Via", "\"via\""),
            ("X-Request-Id", "the id that the log"), ("X-Forwarded-For", "\"forwarded\""),
        ])
    func refused(name: String, reason: String) {
        for rule in ["set: { \(name): x }", "add: { \(name): x }", "remove: [\(name)]"] {
            let mistakes = SettingsTestFile.mistakesOfRoutes(route("headers: { request: { \(rule) } }"))
            #expect(
                mistakes.count == 1 && mistakes[0].lowercased().contains("\"\(name.lowercased())\"")
                    && mistakes[0].contains(reason),
                "\(mistakes)")
        }
    }

    @Test(
        "fields that only some routes write are refused there and nowhere else",
        arguments: [
            ("Content-Type", "request: json -> form", "", ""),
            ("Content-Type", "request: json -> multipart", "", "boundary"),
            ("Content-Encoding", "request: json -> form", "", "conversion makes"),
            ("Forwarded", "forwarded: forwarded", "", "\"forwarded\""), ("Forwarded", "real_ip: false", "", ""),
            ("X-Forwarded-For", "forwarded: off", "", ""), ("X-Forwarded-Proto", "real_ip: false", "", ""),
            ("X-Real-IP", "real_ip: true", "", "\"real_ip\""),
            ("Accept-Encoding", "response: json -> form", "", "\"codings\""),
            ("Accept-Encoding", "request: json -> form", "", ""),
            ("Content-Type", "real_ip: false", "response", ""),
            ("Content-Type", "response: json -> multipart", "response", "boundary"),
            ("Content-Encoding", "compress: { plain: true }", "response", "\"compress\""),
            ("Date", "real_ip: false", "response", "time of the answer"),
            ("Via", "real_ip: false", "response", "\"via_responses\""),
            ("X-Request-Id", "real_ip: false", "response", ""),
        ])
    func refusedHere(name: String, keys: String, side: String, reason: String) {
        let side = side.isEmpty ? "request" : side
        let mistakes = SettingsTestFile.mistakesOfRoutes(
            route("\(keys), headers: { \(side): { remove: [\(name)] } }"))
        if reason.isEmpty {
            #expect(mistakes == [])
        } else {
            #expect(mistakes.count == 1 && mistakes[0].contains(reason), "\(mistakes)")
        }
    }

    @Test(
        "what a signature writes, or its readers take in the place of that, no rule can write, and each may take away",
        arguments: [
            ("webhook-id", true), ("Webhook_Signature", true), ("svix-id", true), ("X-Hub-Signature-256", false),
        ])
    func signed(name: String, isSigned: Bool) {
        let sign = "sign: 'standard-webhooks(secret: \"whsec_bG9uZyBlbm91Z2ggdG8gYmUgb25l\")'"
        for rule in ["set: { \(name): x }", "add: { \(name): x }"] {
            let mistakes = SettingsTestFile.mistakesOfRoutes(route("\(sign), headers: { request: { \(rule) } }"))
            #expect(mistakes.count == (isSigned ? 1 : 0), "\(mistakes)")
            #expect(mistakes.allSatisfy { $0.contains("\"\(name)\" is written by \"sign\"") }, "\(mistakes)")
            #expect(SettingsTestFile.mistakesOfRoutes(route("\(sign), headers: { response: { \(rule) } }")) == [])
            #expect(SettingsTestFile.mistakesOfRoutes(route("headers: { request: { \(rule) } }")) == [])
        }
        #expect(SettingsTestFile.mistakesOfRoutes(route("\(sign), headers: { request: { remove: [\(name)] } }")) == [])
    }

    @Test("what defaults say and a route can't have is told at the route")
    func defaults() {
        #expect(
            SettingsTestFile.mistakes(
                top(
                    "defaults: { headers: { request: { set: { Content-Type: a/b } } } }", ", request: json -> multipart"
                ))
                == [
                    "5:18: the rule of \"defaults\" for the header \"Content-Type\" can't hold here: it has the boundary "
                        + "between the parts that the conversion writes"
                ])
    }

    @Test(
        "what is wrong with a rule is told with its place",
        arguments: [
            (
                "request: { set: { X-A: \"${field.a}\" } }",
                "the header \"X-A\" takes no ${field.a}: a header takes ${header.NAME}, ${path.NAME}, ${query.NAME}, ${client.ip}, "
                    + "${env:NAME} and ${file:PATH}; a body is not read for it"
            ),
            (
                "request: { set: { X-A: \"\" } }",
                "the header \"X-A\" has no value: to take the field away, write remove: [X-A]"
            ),
            (
                "request: { set: { X-A: \"  \" } }",
                "the header \"X-A\" has no value: to take the field away, write remove: [X-A]"
            ),
            (
                "request: { set: { X-A: \"a\\r\\nb\" } }",
                "the header \"X-A\" holds a line end or another control character, which no field can"
            ),
            (
                "request: { set: { X-A: \"a\\0\" } }",
                "the header \"X-A\" holds a line end or another control character, which no field can"
            ),
            ("request: { set: { X-A: [a, b] } }", "the header \"X-A\" is a single value, not a list"),
            ("request: { set: { \"X A\": b } }", "\"X A\" is no name of a header"),
            ("request: { set: { \"X-*\": b } }", "\"X-*\" has a star: only \"remove\" takes one, at the end"),
            (
                "request: { set: { X-A: a, x-a: b } }",
                "\"set\" has \"x-a\" twice, as case is no matter: \"add\" takes a list"
            ),
            (
                "request: { remove: [\"X-*-Y\"] }",
                "\"X-*-Y\": a star stands at the end, behind what the names begin with, as in X-Internal-*"
            ),
            (
                "request: { remove: [\"*\"] }",
                "\"*\": a star stands at the end, behind what the names begin with, as in X-Internal-*"
            ),
            ("request: { remov: [A] }", "\"request\" has no key \"remov\": did you mean \"remove\"?"),
            ("requests: { remove: [A] }", "\"headers\" has no key \"requests\": did you mean \"request\"?"),
            ("request: [A]", "\"request\" is a mapping of keys to values, not a list"),
            (
                "request: { set: { X-A: \"${path.no}\" } }",
                "the route's path has no variable \"no\": only \"id\" is known"
            ),
            (
                "request: { set: { X-A: \"\(String(repeating: "v", count: 8193))\" } }",
                "the header \"X-A\" is longer than 8192 bytes"
            ),
        ])
    func mistakes(rule: String, message: String) {
        let mistakes = SettingsTestFile.mistakesOfRoutes(route("headers: { \(rule) }"))
        #expect(mistakes.count == 1 && mistakes[0].hasSuffix(": \(message)"), "\(mistakes)")
        #expect(mistakes[0].hasPrefix("5:"))
    }

    @Test("a variable of a path is no default")
    func pathInDefaults() {
        #expect(
            SettingsTestFile.mistakes(top("defaults: { headers: { request: { set: { X-A: \"${path.id}\" } } } }")) == [
                "2:48: ${path.id} is of a route's path: write this in the route"
            ])
    }

    @Test("what becomes of segments is read")
    func paths() throws {
        func paths(_ lines: String) throws -> PathRules {
            try SettingsTestFile.parse(top(lines)).settings.forwarding.paths
        }
        #expect(try paths("workers: 1") == PathRules())
        #expect(PathRules().dotSegments == .reject && PathRules().emptySegments == .ignore)
        let rules = try paths("paths: { dot_segments: normalize, empty_segments: merge }")
        #expect(rules.dotSegments == .normalize && rules.emptySegments == .merge)
        #expect(
            SettingsTestFile.mistakes(top("paths: { dot_segments: merge }")) == [
                "2:24: \"dot_segments\" is not \"merge\": known are reject, pass, normalize"
            ])
    }

    @Test("a path that no request can have is a mistake, and a rewrite has no dot segments")
    func segments() {
        func route(_ path: String, _ more: String = "") -> String {
            "  - { name: all, match: \"\(path)\", upstream: app\(more) }"
        }
        for path in ["/a/../b", "/a/%2e/b"] {
            let mistakes = SettingsTestFile.mistakesOfRoutes(route(path))
            #expect(mistakes.count == 1 && mistakes[0].contains("has a dot segment"), "\(mistakes)")
        }
        let mistakes = SettingsTestFile.mistakesOfRoutes(route("/a//b"))
        #expect(mistakes.count == 1 && mistakes[0].contains("has an empty segment"), "\(mistakes)")
        for path in ["/base/../x", "/%2e%2e/${path.*}", "/..;${path.*}"] {
            let mistakes = SettingsTestFile.mistakesOfRoutes(route("/*", ", rewrite: \"\(path)\""))
            #expect(mistakes.count == 1 && mistakes[0].contains("has no dot segments"), "\(mistakes)")
        }
    }
}
