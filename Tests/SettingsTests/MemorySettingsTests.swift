import Proxy
import Testing

@testable import Settings

@Suite("Settings of memory, spools and framing")
struct MemorySettingsTests {
    private func parse(_ top: String, upstream: String = "127.0.0.1:3000") throws -> SettingsFile {
        try SettingsTestFile.parse(
            """
            version: 1
            listen: 127.0.0.1:80
            \(top)
            upstreams: { app: \(upstream) }
            routes: [{ name: all, match: "/*", upstream: app }]
            """)
    }

    @Test("the standards")
    func standards() throws {
        let file = try parse("")
        #expect(file.settings.memory == MemorySettings())
        #expect(file.settings.memory.bodies == nil && file.settings.memory.wait == .seconds(1))
        #expect(file.settings.memory.spoolTotal == 1 << 30)
        #expect(file.settings.upstreams[0].framing == .auto)
        let shown = Dictionary(uniqueKeysWithValues: file.effective.map { ($0.key, $0.value) })
        #expect(shown["memory.bodies"] == "auto" && shown["memory.wait"] == "1s" && shown["spool.total"] == "1GiB")
        #expect(shown["upstreams.app.framing"] == "auto" && shown["upstreams.app.spool.memory"] == "256KiB")
        #expect(shown["upstreams.app.spool.disk"] == "64MiB" && shown["upstreams.app.spool.dir"] == "/tmp")
    }

    @Test("everything said")
    func everything() throws {
        let file = try parse(
            "memory: { bodies: 64MiB, wait: 250ms }\nspool: { total: 2GiB }",
            upstream:
                "{ address: \"127.0.0.1:3000\", framing: length, spool: { memory: 1KiB, disk: 0B, dir: /spool } }")
        #expect(file.settings.memory.bodies == 64 << 20 && file.settings.memory.wait == .milliseconds(250))
        #expect(file.settings.memory.spoolTotal == 2 << 30)
        let upstream = file.settings.upstreams[0]
        #expect(upstream.framing == .length)
        #expect(upstream.spool.memory == 1024 && upstream.spool.disk == 0 && upstream.spool.directory == "/spool")
        let shown = Dictionary(uniqueKeysWithValues: file.effective.map { ($0.key, $0.value) })
        #expect(shown["memory.bodies"] == "64MiB" && shown["upstreams.app.spool.dir"] == "/spool")
    }

    @Test("auto can be written, and chunked")
    func words() throws {
        let file = try parse("memory: { bodies: auto }", upstream: "{ address: \"a:1\", framing: chunked }")
        #expect(file.settings.memory.bodies == nil && file.settings.upstreams[0].framing == .chunked)
    }

    @Test(
        "what can't be",
        arguments: [
            ("memory: { bodies: 1023KiB }", "3:19: \"bodies\" is at least 1MiB, not 1023KiB"),
            (
                "memory: { bodies: much }",
                "3:19: \"bodies\": a size is a whole number and a unit, as in 64KiB, not \"much\"; it may also be auto"
            ),
            ("memory: { wait: 0s }", "3:17: \"wait\": a time is longer than nothing: 0s"),
            ("memory: { body: 1MiB }", "3:11: \"memory\" has no key \"body\": known are bodies, wait"),
            ("spool: { disk: 1MiB }", "3:10: \"spool\" has no key \"disk\": it stands in \"spool\" of an upstream"),
            (
                "memory: 64MiB",
                "3:9: \"memory\" is a mapping of keys to values, not a single value: its keys are bodies, wait"
            ),
        ])
    func mistakes(top: String, mistake: String) {
        #expect(
            SettingsTestFile.mistakes(
                """
                version: 1
                listen: 127.0.0.1:80
                \(top)
                upstreams: { app: "a:1" }
                routes: [{ name: all, match: "/*", upstream: app }]
                """) == [mistake])
    }

    @Test(
        "an upstream's spool is no larger than what all of them have together, and follows where it isn't written",
        arguments: [
            ("", "", "64MiB", nil), ("spool: { total: 64MiB }", "", "64MiB", nil),
            ("spool: { total: 63MiB }", "", "63MiB", nil), ("spool: { total: 0B }", "", "0B", nil),
            ("spool: { total: 2GiB }", "spool: { disk: 1GiB }", "1GiB", nil),
            ("spool: { total: 2MiB }", "spool: { disk: 2047KiB }", "2047KiB", nil),
            ("spool: { total: 2MiB }", "spool: { disk: 2MiB }", "2MiB", nil),
            (
                "spool: { total: 2MiB }", "spool: { disk: 2049KiB }", nil,
                "5:69: \"disk\" is at most \"spool.total\", which is 2MiB here, not 2049KiB"
            ),
            (
                "", "spool: { disk: 1025MiB }", nil,
                "5:69: \"disk\" is at most \"spool.total\", which is 1GiB here, not 1025MiB"
            ),
            (
                "spool: { total: 0B }", "spool: { memory: 0B }", nil,
                "5:61: \"spool\" has neither memory nor disk: give one of them a size"
            ),
        ] as [(String, String, String?, String?)])
    func spoolOfAll(top: String, spool: String, shown: String?, mistake: String?) throws {
        let text = """
            version: 1
            listen: 127.0.0.1:80
            routes: [{ name: all, match: "/*", upstream: app }]
            \(top)
            upstreams: { app: { address: "a:1", framing: length, \(spool) } }
            """
        #expect(SettingsTestFile.mistakes(text) == [mistake].compactMap(\.self))
        guard let shown else { return }
        let file = try SettingsTestFile.parse(text)
        #expect(file.effective.contains { $0.key == "upstreams.app.spool.disk" && $0.value == shown })
    }

    @Test("a folder where no file can be made is a mistake, said where the spool stands")
    func folder() {
        var environment = SettingsTestFile.environment
        environment.folderFault = { $0 == "/none" ? "doesn't exist" : nil }
        let text = """
            version: 1
            listen: 127.0.0.1:80
            upstreams: { app: { address: "a:1", framing: length, spool: { dir: /none } } }
            routes: [{ name: all, match: "/*", upstream: app }]
            """
        #expect {
            try SettingsFile.parse(text, environment: environment)
        } throws: { error in
            (error as? SettingsMistakes)?.all.map(\.description) == [
                "3:61: the folder of spooled bodies, /none, doesn't exist"
            ]
        }
    }
}
