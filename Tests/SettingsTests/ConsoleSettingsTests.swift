import Proxy
import Settings
import Testing

@Suite struct ConsoleSettingsTests {
    private func text(_ admin: String) -> String {
        "admin: \(admin)\n" + SettingsTestFile.head + "  - { name: all, match: /*, upstream: app }"
    }

    private func parse(_ console: String) throws -> SettingsFile {
        try SettingsTestFile.parse(text("{ address: 127.0.0.1:9901, console: \(console) }"))
    }

    @Test(
        "there is no console unless it is wanted, and where operators ask",
        arguments: ["off", "127.0.0.1:9901", "{ address: 127.0.0.1:9901 }", "{ address: off, console: on }"])
    func off(admin: String) throws {
        let file = try SettingsTestFile.parse(text(admin))
        #expect(file.settings.admin.console == nil)
        guard !admin.contains("on") else { return }
        #expect(file.effective.first { $0.key == "admin.console" }?.value == "off")
    }

    @Test("what holds where nothing is said", arguments: ["on", "{}"])
    func standards(console: String) throws {
        #expect(try parse(console).settings.admin.console == ConsoleSettings())
    }

    @Test("how much is kept", arguments: [("1", "0B"), ("200", "16KiB"), ("10000", "1MiB")])
    func bounds(entries: String, body: String) throws {
        let file = try parse("{ entries: \(entries), body: \(body) }")
        #expect(file.settings.admin.console?.entries == Int(entries))
        let shown = Dictionary(uniqueKeysWithValues: file.effective.map { ($0.key, $0.value) })
        #expect(shown["admin.console.entries"] == entries)
        #expect(shown["admin.console.body"] == body)
    }

    @Test("which names are masked", arguments: [("[ssn, X-Key]", ["ssn", "X-Key"]), ("pin", ["pin"]), ("off", [])])
    func masks(mask: String, words: [String]) throws {
        #expect(try parse("{ mask: \(mask) }").settings.admin.console?.mask == words)
    }

    @Test(
        "what can't be is told with its place",
        arguments: [
            ("{ entries: 0 }", "\"entries\""), ("{ entries: 10001 }", "\"entries\""),
            ("{ body: 1025KiB }", "at most 1MiB"),
            ("{ mask: ['-'] }", "a letter or a digit"), ("{ mask: [] }", "empty list"),
            ("{ entires: 5 }", "did you mean"),
            ("yes", "\"console\" is not \"yes\""), ("[on]", "mapping"),
        ])
    func mistakes(console: String, reason: String) {
        let mistakes = SettingsTestFile.mistakes(text("{ address: 127.0.0.1:9901, console: \(console) }"))
        #expect(mistakes.count == 1)
        #expect(mistakes.first?.contains(reason) == true, "\(mistakes)")
    }
}
