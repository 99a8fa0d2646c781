import EventLoop
import Foundation
import Proxy
import Settings
import Testing

/// What the file says of reloads and the end, and which files were read for it.
@Suite struct LifecycleSettingsTests {
    private func parse(_ lines: String) throws -> SettingsFile {
        try SettingsTestFile.parse(
            lines + "\n" + SettingsTestFile.head + "  - { name: all, match: /*, upstream: app }")
    }

    @Test("without a word nothing is watched or shared, and idle connections have a second")
    func standards() throws {
        let file = try parse("")
        #expect(file.settings.lifecycle == LifecycleSettings())
        let shown = file.effective.map { "\($0.key) \($0.value)" }
        for line in ["watch false", "reuse_port false", "drain_delay 0s", "drain_idle 1s"] {
            #expect(shown.contains(line), "\(shown)")
        }
    }

    @Test("every key is read")
    func all() throws {
        let lifecycle = try parse("watch: true\nreuse_port: true\ndrain_delay: 5s\ndrain_idle: 250ms").settings
            .lifecycle
        #expect(lifecycle.watch && lifecycle.reusePort)
        #expect(lifecycle.drainDelay == .seconds(5) && lifecycle.drainIdle == .milliseconds(250))
        #expect(try parse("drain_delay: 0s").settings.lifecycle.drainDelay == .zero)
    }

    @Test("an idle connection is kept no longer than the grace time")
    func idleWithinGrace() throws {
        #expect(try parse("timeouts: { grace: 500ms }").settings.lifecycle.drainIdle == .milliseconds(500))
        #expect(try parse("timeouts: { grace: 2s }\ndrain_idle: 2s").settings.lifecycle.drainIdle == .seconds(2))
    }

    @Test(
        "what is wrong is reported with line and column",
        arguments: [
            ("watch: yes", "1:8: \"watch\" is true or false, not \"yes\""),
            ("drain_delay: 0", "1:14: \"drain_delay\": a time needs a unit (ms, s, m, h), as in 3s"),
            ("reuse_port: 1", "1:13: \"reuse_port\" is true or false, not \"1\""),
            ("drain_idle: 26s", "1:13: \"drain_idle\" is at most \"timeouts.grace\", which is 25s here, not 26s"),
            (
                "timeouts: { grace: 2s }\ndrain_idle: 3s",
                "2:13: \"drain_idle\" is at most \"timeouts.grace\", which is 2s here, not 3s"
            ),
            // What can't be read bounds nothing.
            ("timeouts: { grace: 2 }\ndrain_idle: 1m", "1:20: \"grace\": a time needs a unit (ms, s, m, h), as in 3s"),
            ("drain_idel: 1s", "1:1: the file has no key \"drain_idel\": did you mean \"drain_idle\"?"),
        ])
    func mistakes(line: String, mistake: String) {
        let text = line + "\n" + SettingsTestFile.head + "  - { name: all, match: /*, upstream: app }"
        #expect(SettingsTestFile.mistakes(text) == [mistake])
    }

    @Test("a socket of systemd is named")
    func systemd() throws {
        let text = SettingsTestFile.head.replacing("127.0.0.1:8080", with: "[systemd:web, 127.0.0.1:1]")
        let settings = try SettingsTestFile.parse(text + "  - { name: all, match: /*, upstream: app }").settings
        #expect(settings.listen == [.systemd(name: "web"), .tcp(host: "127.0.0.1", port: 1)])
        #expect(settings.listen[0].description == "systemd:web")
    }

    @Test("the files that were read are known, also those of a file with mistakes, and those that aren't there")
    func files() throws {
        let folder = URL(filePath: "/tmp/recast-files-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "recast.yaml").path
        func write(_ text: String, to name: String) throws {
            try Data(text.utf8).write(to: folder.appending(path: name))
        }
        let text = SettingsTestFile.head + "  - { name: all, match: \"/${file:one}/${file:two}\", upstream: app }"
        try write(text, to: "recast.yaml")
        try write("first", to: "one")
        var files: [ReadFile] = []
        #expect(throws: SettingsMistakes.self) { try SettingsFile.load(path, files: &files) }
        #expect(files.map(\.path) == ["recast.yaml", "one", "two"].map { folder.appending(path: $0).path })
        #expect(files.map { $0.stamp == nil } == [false, false, true])
        try write("second", to: "two")
        let loaded = try SettingsFile.load(path, files: &files)
        #expect(loaded.settings.lifecycle.files == files && files.count == 3)
        #expect(throws: SettingsMistakes.self) { try SettingsFile.load(path + ".none", files: &files) }
        #expect(files.map(\.path) == [path + ".none"])
    }

    @Test("files of certificates are known where the file has mistakes, and are none of the settings' own")
    func certificateFiles() throws {
        let folder = URL(filePath: "/tmp/recast-files-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "recast.yaml").path
        let names = ["server.pem", "server.key", "ca.pem", "list.crl", "own.pem", "other.pem"]
        let text = """
            version: 1
            listen:
              address: 127.0.0.1:8080
              tls: { certificate: server.pem, key: server.key, client_ca: ca.pem, client_crl: list.crl }
            upstreams:
              app: { address: "a:1", tls: { ca: own.pem } }
              pinned: { address: "a:1", tls: { pinned_certificates: [other.pem, own.pem] } }
            routes:
              - { name: other, match: /other, upstream: pinned }
              - { name: all, match: /*, upstream: app }
            """
        try Data(text.utf8).write(to: URL(filePath: path))
        var files: [ReadFile] = []
        #expect(throws: SettingsMistakes.self) { try SettingsFile.load(path, files: &files) }
        #expect(files.map(\.path) == [path] + names.map { folder.appending(path: $0).path })
        // Nothing is looked at where they needn't be there.
        let loaded = try SettingsFile.load(path, withoutSecrets: true, files: &files)
        #expect(files.map(\.path) == [path] && loaded.settings.lifecycle.files == files)
    }
}
