import Gateway
import Proxy
import Settings
import Testing

/// `admin`, `log` and `access_log`.
@Suite struct ObserveSettingsTests {
    private func parse(_ lines: String) throws -> SettingsFile {
        try SettingsTestFile.parse(lines + "\n" + SettingsTestFile.head + "  - { name: all, match: /*, upstream: app }")
    }

    @Test("without a line there is no admin port, and logs are as they are by default")
    func standards() throws {
        let file = try parse("")
        #expect(file.settings.admin.address == nil && file.settings.admin.note == nil)
        #expect(file.settings.admin.logFormat == .text && file.settings.admin.logLevel == .info)
        #expect(file.settings.accessLog == .stdout)
        #expect(file.settings.accessLogForm.format == .json && file.settings.accessLogForm.query == .redact)
        let shown = Dictionary(uniqueKeysWithValues: file.effective.map { ($0.key, $0.value) })
        #expect(shown["admin"] == "off" && shown["log.format"] == "text" && shown["log.level"] == "info")
        #expect(shown["access_log"] == "stdout" && shown["access_log.format"] == "json")
        #expect(shown["access_log.query"] == "redact")
    }

    @Test(
        "where the admin port is, and whether that is noted",
        arguments: [
            ("127.0.0.1:9901", "127.0.0.1:9901", false), ("\"[::1]:1\"", "[::1]:1", false),
            ("localhost:9901", "127.0.0.1:9901", false), ("unix:/run/a.sock", "unix:/run/a.sock", false),
            ("0.0.0.0:9901", "0.0.0.0:9901", true), ("10.0.0.5:9901", "10.0.0.5:9901", true),
            ("\"[::]:9901\"", "[::]:9901", true), ("off", "off", false),
        ])
    func admin(text: String, shown: String, isNoted: Bool) throws {
        let file = try parse("admin: \(text)")
        #expect((file.settings.admin.address?.description ?? "off") == shown)
        #expect((file.settings.admin.note != nil) == isNoted)
        #expect(file.effective.first { $0.key == "admin" }?.value == shown)
    }

    @Test("the long form of the admin port, and the port that only tells")
    func doors() throws {
        let file = try parse(
            "admin: { address: 0.0.0.0:9901, hosts: [Recast.Internal, \"*.ops.example\"] }\nstatus: 0.0.0.0:9902")
        #expect(file.settings.admin.address?.description == "0.0.0.0:9901")
        #expect(file.settings.admin.hosts.map(\.description) == ["recast.internal", "*.ops.example"])
        #expect(file.settings.admin.status?.description == "0.0.0.0:9902")
        let shown = Dictionary(uniqueKeysWithValues: file.effective.map { ($0.key, $0.value) })
        #expect(shown["admin"] == "0.0.0.0:9901" && shown["admin.hosts"] == "recast.internal, *.ops.example")
        #expect(shown["status"] == "0.0.0.0:9902")
        let bare = Dictionary(uniqueKeysWithValues: try parse("").effective.map { ($0.key, $0.value) })
        #expect(bare["admin.hosts"] == "" && bare["status"] == "off")
        #expect(try parse("admin: { address: off }").settings.admin.address == nil)
        #expect(try parse("status: \"unix:/run/s.sock\"").settings.admin.status?.description == "unix:/run/s.sock")
    }

    @Test(
        "what is no port for operators, and no field for the log",
        arguments: [
            ("admin: { hosts: [a] }", "needs \"address\""), ("admin: { address: 127.0.0.1:1, host: a }", "hosts"),
            ("admin: { address: 127.0.0.1:1, hosts: [\"a:80\"] }", "without its port"),
            ("admin: { address: 127.0.0.1:1, hosts: [\"\"] }", "empty"),
            ("admin: 127.0.0.1:8080", "listened on already"), ("status: 127.0.0.1:8080", "listened on already"),
            ("admin: 127.0.0.1:1\nstatus: 127.0.0.1:1", "listened on already; or off for no status port"),
            ("status: systemd:web", "no socket of the service manager's"), ("status: [127.0.0.1:1]", "status"),
            ("access_log: { fields: { request: [Cookie] } }", "taken for a secret"),
            ("access_log: { fields: { response: [Set-Cookie] } }", "taken for a secret"),
            ("access_log: { fields: { request: [authorization] } }", "taken for a secret"),
            ("access_log: { fields: { request: [X-Api-Key] } }", "taken for a secret"),
            ("access_log: { fields: { request: [X-Auth-Token] } }", "taken for a secret"),
            ("access_log: { fields: { request: [\"a b\"] } }", "no name of a field"),
            ("access_log: { fields: { request: [\"\"] } }", "no name of a field"),
            ("access_log: { fields: { request: [X-A, x-a] } }", "written twice"),
            ("access_log: { fields: { requests: [X-A] } }", "request"),
            ("access_log: { format: combined, fields: { request: [X-A] } }", "needs format: json"),
        ])
    func mistakes(text: String, reason: String) {
        do {
            _ = try parse(text)
            Issue.record("taken: \(text)")
        } catch let mistakes as SettingsMistakes {
            #expect(mistakes.all.contains { $0.message.contains(reason) }, "\(mistakes.all)")
        } catch {
            Issue.record(error)
        }
    }

    @Test(
        "a field that a route takes for a secret is not logged",
        arguments: [
            ("authorize: { header: X-Auth, keys: [a-key] }", "x-auth", "authorize"),
            ("authorize: [{ bearer: a }, { header: x-door, key: a-key }]", "X-Door", "authorize"),
            ("verify: { header: X-Sig, secret: a-long-enough-secret }", "X-Sig", "verify"),
            ("verify: { header: X-Pass, algorithm: equal, secret: a-long-enough-secret }", "x-pass", "verify"),
            ("verify: { header: X-Sig, list: { signature: v1 }, secret: a-long-enough-secret }", "X-SIG", "verify"),
            ("verify: \"github(secret: a-long-enough-secret)\"", "X-Hub-Signature-256", "verify"),
            ("verify: { preset: svix, secret: \"whsec_c2VjcmV0c2VjcmV0c2VjcmV0\" }", "svix-signature", "verify"),
            ("verify: { preset: rfc9421, secret: { value: a-long-enough-secret, id: a } }", "Signature", "verify"),
        ])
    func credentials(keys: String, field: String, user: String) throws {
        func mistakes(_ log: String, in route: String) -> [String] {
            SettingsTestFile.mistakes(
                "access_log: { \(log) }\n" + SettingsTestFile.head
                    + "  - { name: a, match: /*, upstream: app, \(route) }")
        }
        for side in ["request", "response"] {
            let log = "fields: { \(side): [X-Tenant, \(field)] }"
            let found = mistakes(log, in: keys)
            #expect(
                found.count == 1 && found[0].hasPrefix("1:")
                    && found[0].hasSuffix(
                        "\"\(side)\": \"\(field.lowercased())\" is not logged: \"\(user)\" of the route \"a\" goes by it, "
                            + "so that it is taken for a secret"),
                "\(found)")
            #expect(mistakes(log, in: "timeouts: { gap: 1s }").isEmpty)
            #expect(mistakes("fields: { \(side): [X-Tenant] }", in: keys).isEmpty)
        }
    }

    @Test(
        "a secret is in no field that each line has",
        arguments: ["User-Agent", "referer", "X-Request-ID", "Host", "traceparent"])
    func alwaysLogged(field: String) {
        for keys in [
            "authorize: { header: \(field), key: a }", "verify: { header: \(field), secret: a-long-enough-secret }",
        ] {
            func mistakes(_ target: String) -> [String] {
                SettingsTestFile.mistakes(
                    "access_log: \(target)\n" + SettingsTestFile.head
                        + "  - { name: a, match: /*, upstream: app, \(keys) }")
            }
            let found = mistakes("stdout")
            #expect(found.count == 1 && found[0].contains("which stands in each line of the access log"), "\(found)")
            #expect(mistakes("off").isEmpty)
        }
    }

    @Test("chosen fields of the access log, up to 16 of each side")
    func chosenFields() throws {
        let form = try parse("access_log: { fields: { request: [X-Tenant, Accept], response: [X-Cache] } }").settings
            .accessLogForm
        #expect(form.requestFields == ["x-tenant", "accept"] && form.responseFields == ["x-cache"])
        let names = (1...16).map { "X-\($0)" }
        let list = { (names: [String]) in "access_log: { fields: { request: [\(names.joined(separator: ", "))] } }" }
        #expect(try parse(list(names)).settings.accessLogForm.requestFields.count == 16)
        #expect(throws: SettingsMistakes.self) { try parse(list(names + ["X-17"])) }
    }

    @Test("the long form of the access log, and the operational log")
    func logs() throws {
        let file = try parse(
            "access_log: { to: /var/log/a.log, format: combined, query: drop }\nlog: { format: json, level: debug }")
        #expect(file.settings.accessLog == .file(path: "/var/log/a.log"))
        #expect(file.settings.accessLogForm.format == .combined && file.settings.accessLogForm.query == .drop)
        #expect(file.settings.admin.logFormat == .json && file.settings.admin.logLevel == .debug)
        #expect(file.effective.first { $0.key == "access_log.to" }?.value == "/var/log/a.log")
        #expect(try parse("access_log: { query: keep }").settings.accessLog == .stdout)
    }

    @Test("what came from outside of the file is shown as where it came from")
    func redaction() throws {
        let file = try SettingsTestFile.parseRoutes(
            """
              - name: all
                match: { path: /*, header: { a: "Bearer ${file:/run/secret}", b: "${env:HOST}" } }
                upstream: app
            """)
        let values = file.effectiveOfRoutes[0]
        #expect(values.contains { $0.value.contains("s3cret") })
        let shown = values.map(file.redacted)
        #expect(!shown.contains { $0.value.contains("s3cret") || $0.value.contains("10.0.0.9") })
        #expect(shown.contains { $0.value.contains("Bearer ${file:/run/secret}") })
        #expect(shown.map(\.key) == values.map(\.key) && shown.map(\.origin) == values.map(\.origin))
    }
}
