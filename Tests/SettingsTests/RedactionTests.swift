import Settings
import Testing

/// What came from `${env:…}` and `${file:…}` is in no message: those are read in logs.
@Suite struct RedactionTests {
    /// A secret, which stands where something else is wanted.
    private static let secret = "hunter2-Zq8"

    private static func environment(_ value: String) -> SettingsEnvironment {
        SettingsEnvironment(
            variable: { $0 == "SECRET" ? value : nil },
            file: { _ throws(SettingsEnvironment.FileFault) in value + "\n" })
    }

    private static func mistakes(_ text: String, _ value: String = secret) -> [String] {
        do {
            try SettingsFile.parse(text, environment: environment(value)).runExamples()
            return []
        } catch {
            return error.all.map(\.description)
        }
    }

    /// A file in which each of these stands once.
    private static func file(top: String = "", upstream: String = "127.0.0.1:3000", route: String = "") -> String {
        "version: 1\n\(top)\nlisten: 127.0.0.1:8080\nupstreams: { app: \(upstream) }\n"
            + "routes: [{ name: all, match: /*, upstream: app\(route.isEmpty ? "" : ", " + route) }]"
    }

    @Test(
        "the message has what the file says instead",
        arguments: [
            (
                "workers: ${env:SECRET}",
                "2:10: \"workers\" is auto or a whole number from 1 to 1024, not \"${env:SECRET}\""
            ),
            (
                "log: { level: \"${env:SECRET}\" }",
                "2:15: \"level\" is not \"${env:SECRET}\": known are debug, info, warning, error"
            ),
            (
                "log: { level: \"x-${file:/run/x}!\" }",
                "2:15: \"level\" is not \"x-${file:/run/x}!\": known are debug, info, warning, error"
            ),
            ("watch: ${env:SECRET}", "2:8: \"watch\" is true or false, not \"${env:SECRET}\""),
            (
                "connections: { total: \"${env:SECRET}\" }",
                "2:23: \"total\" is auto or a whole number, not \"${env:SECRET}\""
            ),
            (
                "admin: ${env:SECRET}",
                "2:8: \"admin\": \"${env:SECRET}\" has no port: write HOST:PORT, as in 127.0.0.1:8080, \"[::1]:8080\" or "
                    + "unix:/run/recast.sock; or off for no admin port"
            ),
            (
                "tracing: { endpoint: \"${env:SECRET}\" }",
                "2:22: \"endpoint\": \"${env:SECRET}\" begins with neither http:// nor https://: write a URL, as in "
                    + "http://127.0.0.1:4318 or https://collector.example/v1/traces"
            ),
        ])
    func whole(line: String, mistake: String) {
        #expect(Self.mistakes(Self.file(top: line)) == [mistake])
    }

    @Test(
        "a part of a secret is none of a message either",
        arguments: [
            // The unit, the digits in a proposal, the port, the host, the number before a slash.
            ("timeouts: { header: \"${env:SECRET}\" }", "12345hunter"),
            ("timeouts: { header: \"${env:SECRET}\" }", "12345sHunter"),
            ("timeouts: { header: \"${env:SECRET}\" }", "99999999999999999999s"),
            ("memory: { bodies: \"${env:SECRET}\" }", "123456789mb"),
            ("admin: ${env:SECRET}", "hunter:99999"), ("admin: ${env:SECRET}", "127.0.0.1:hunter"),
            ("admin: 127.0.0.1:${env:SECRET}", "99999"), ("admin: ${env:SECRET}", "hunter:1"),
            ("connections: { total: \"${env:SECRET}\" }", "99999999"),
            ("http2: { streams: \"${env:SECRET}\" }", "77777"),
            ("defaults: { rate_limit: { rate: \"${env:SECRET}\" } }", "9999999999/s"),
            ("defaults: { rate_limit: { rate: \"${env:SECRET}\" } }", "5/hunter"),
            (
                "tracing: { endpoint: \"http://a\", headers: { A: \"${env:SECRET}\" }, sample: \"${env:SECRET}\" }",
                "hunter"
            ),
        ])
    func part(line: String, value: String) {
        let mistakes = Self.mistakes(Self.file(top: line), value)
        #expect(!mistakes.isEmpty)
        for mistake in mistakes {
            for start in value.indices where value[start...].count >= 4 {
                let piece = value[start...].prefix(4)
                // These are in words of the messages themselves.
                if ["hunt", "unte", "nter"].contains(piece) || piece.allSatisfy(\.isNumber) {
                    #expect(!mistake.contains(piece), "\(mistake)")
                }
            }
        }
    }

    @Test("short values go where they stand, and no word of the message goes with them")
    func short() {
        #expect(
            Self.mistakes(Self.file(top: "http2: { streams: \"${env:SECRET}\" }"), "0")
                == ["2:19: \"streams\" is from 1 to 10000, not ${env:SECRET}"])
        #expect(
            Self.mistakes(Self.file(top: "watch: \"${env:SECRET}\""), "no")
                == ["2:8: \"watch\" is true or false, not \"${env:SECRET}\""])
        // A proposal has the value's number, and a word of ours.
        #expect(
            Self.mistakes(Self.file(top: "memory: { bodies: \"${env:SECRET}\" }"), "12kb") == [
                "2:19: \"bodies\": the unit \"${env:SECRET}\" is not known for a size: did you mean \"${env:SECRET}\"?"
            ])
        #expect(
            Self.mistakes(Self.file(top: "log: { level: \"${env:SECRET}\" }"), "debgu")
                == ["2:15: \"level\" is not \"${env:SECRET}\": did you mean \"debug\"?"])
        // A value elsewhere that happens to be a word of the message.
        #expect(
            Self.mistakes(Self.file(top: "watch: \"${env:SECRET}\"\nlog: { level: loud }"), "true")
                == ["3:15: \"level\" is not \"loud\": known are debug, info, warning, error"])
    }

    @Test("a message in a route, and one of another value that quotes it")
    func routes() {
        #expect(
            Self.mistakes(Self.file(route: "request: \"${env:SECRET}\"")).allSatisfy { !$0.contains("hunter") })
        #expect(
            Self.mistakes(Self.file(route: "timeouts: { gap: \"${env:SECRET}\" }"))
                == ["5:66: \"gap\": a time is a whole number and a unit, as in 3s, not \"${env:SECRET}\""])
        let file = Self.file().replacing("upstream: app", with: "upstream: \"${env:SECRET}\"")
        #expect(Self.mistakes(file) == ["5:44: there is no upstream \"${env:SECRET}\": only \"app\" is known"])
        // A name that was read before stands in what is wrong elsewhere.
        let example = "request: json -> form, examples: [{ in: { a: 1 }, out_fields: [a=2] }]"
        let named = Self.mistakes(
            Self.file(route: example).replacing("name: all", with: "name: \"${env:SECRET}\""))
        #expect(named.count == 1 && named[0].contains("the route \"${env:SECRET}\" fails"), "\(named)")
    }

    @Test(
        "an example that fails shows what comes out, without what a rule has put in",
        arguments: [
            ("json", "out: { a: 1 }", "a\"b\\c-secret"), ("form", "out_text: a", "se cret&more=é"),
            ("xml", "out_text: a", "<secret>&more"), ("json", "out: { a: 1 }", "plain-secret"),
            ("json", "error: x", "plain-secret"), ("form", "out_fields: [a=1]", "plain-secret"),
        ])
    func examples(encoding: String, output: String, value: String) {
        let text = Self.file(
            route: "request: { decode: { as: json }, encode: { as: \(encoding) }, "
                + "map: { set: { token: \"${env:SECRET}\" } } }, examples: [{ in: { a: 1 }, \(output) }]")
        let mistakes = Self.mistakes(text, value)
        #expect(mistakes.count == 1, "\(mistakes)")
        #expect(
            mistakes.allSatisfy { $0.contains("${env:SECRET}") && !$0.contains("cret") && !$0.contains("more") },
            "\(mistakes)")
    }

    @Test("notes of a file that is fine have none either")
    func notes() throws {
        let text = Self.file(route: "rewrite: { path: \"/${env:SECRET}/$x\" }")
        let file = try SettingsFile.parse(text, environment: Self.environment("/hunter2-Zq8/$x"))
        #expect(file.notes.contains { $0.code == "dollar_literal" }, "\(file.notes)")
        #expect(file.notes.allSatisfy { !$0.description.contains("hunter") }, "\(file.notes)")
    }

    @Test(
        "the userinfo of a URL is hidden wherever settings are shown",
        arguments: [
            ("https://ada:inline-pw@h.example", "https://*@h.example"),
            ("http://ada@h.example/in", "http://*@h.example/in"),
            ("https://ada:p@w@h.example/u@v", "https://*@h.example/u@v"),
            ("https://ada:p,w;x@h.example:8443", "https://*@h.example:8443"),
            ("https://ada:${env:SECRET}@h.example", "https://*@h.example"),
            ("https://${file:/run/x}:inline-pw@h.example", "https://*@h.example"),
            ("https://h.example/@ada", "https://h.example/@ada"),
            ("https://${file:/run/x}.example", "https://${file:/run/x}.example"),
        ])
    func userinfo(url: String, shown: String) throws {
        let text = Self.file(
            route: "verify: { preset: twilio, secret: 0123456789abcdef, public_url: \"\(url)\" }, "
                + "headers: { request: { set: { X-Back: \"\(url)\" } } }")
        let file = try SettingsFile.parse(text, environment: Self.environment("zq8hunter2"))
        let values = file.effectiveOfRoutes[0].map(file.redacted)
        #expect(values.first { $0.key == "verify.public_url" }?.value == shown)
        #expect(values.first { $0.key.hasSuffix("X-Back") }?.value == shown)
        #expect(file.redacted(text: "url \(url)", ofRoute: 0) == "url \(shown)")
        // A password with what ends an authority.
        for (cut, hidden) in [
            ("http://ada:inl/ine@h", "http://*@h"), ("http://ada:in?line#pw@h:80/x", "http://*@h:80/x"),
            ("http://ada:/pw@h", "http://*@h"), ("http://h:80/@ada", "http://h:80/@ada"),
            ("http://[::1]/@ada", "http://[::1]/@ada"), ("http://h:${env:PORT}/@ada", "http://h:${env:PORT}/@ada"),
        ] {
            #expect(file.redacted(text: "not \"\(cut)\", \"a@b\"", ofRoute: 0) == "not \"\(hidden)\", \"a@b\"")
        }
        let mistakes = Self.mistakes(Self.file(top: "tracing: { endpoint: \"ftp://ada:inline-pw@h.example\" }"))
        #expect(mistakes.count == 1 && mistakes[0].contains("\"ftp://*@h.example\""), "\(mistakes)")
    }

    @Test("a text about a route has references in place of what stands in it, however short and however written")
    func textsOfRoutes() throws {
        for (value, signed) in [("zq8hunter2", "zq8hunter2.{body}"), ("pq", "pq.{body}"), ("p}}q", "p}}q.{body}")] {
            let verify = """
                verify:
                      header: X-S
                      signed: "${env:SECRET}.{body}"
                      secret: 0123456789abcdef
                """
            let text =
                "version: 1\nlisten: 127.0.0.1:8080\nupstreams: { app: 127.0.0.1:3000 }\nroutes:\n"
                + "  - name: all\n    match: /a\n    upstream: app\n    \(verify)\n"
                + "  - { name: other, match: /b, upstream: app }\n"
            let file = try SettingsFile.parse(text, environment: Self.environment(value))
            #expect(file.redacted(text: signed, ofRoute: 0) == "${env:SECRET}.{body}")
            // A short one says nothing where it isn't the route's.
            #expect(file.redacted(text: "pq.x", ofRoute: 1) == "pq.x")
        }
    }
}
