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
