import Foundation
import Glibc
import Proxy
import Testing

@testable import Settings

/// How the files are read that settings stand in, and that they name.
@Suite struct FileReadingTests {
    private func withFolder(_ body: (String) throws -> Void) throws {
        let folder = "/tmp/recast-files-\(UInt64.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body(folder)
    }

    /// What is wrong with a file that holds `bytes`.
    private func mistake(_ bytes: [UInt8]) throws -> String? {
        var found: String?
        try withFolder { folder in
            try Data(bytes).write(to: URL(filePath: folder + "/a.yaml"))
            do throws(SettingsMistakes) {
                _ = try SettingsFile.load(folder + "/a.yaml")
            } catch {
                found = "\(error.all[0])".replacing(folder, with: "")
            }
        }
        return found
    }

    @Test(
        "a byte that is no text is told with its place",
        arguments: [
            ([0xFF], "1:1: the file /a.yaml is not UTF-8 in line 1"),
            (Array("version: 1\n# é ".utf8) + [0xE9, 0x0A], "2:5: the file /a.yaml is not UTF-8 in line 2"),
            (Array("version: 1\n".utf8) + [0xC3], "2:1: the file /a.yaml is not UTF-8 in line 2"),
            ([0xFF, 0xFE, 0x61, 0], "1:1: the file /a.yaml is not UTF-8, but UTF-16: save it as UTF-8"),
        ] as [([UInt8], String)])
    func place(bytes: [UInt8], expected: String) throws {
        #expect(try mistake(bytes) == expected)
    }

    @Test(
        "the access log's path begins at the file's folder",
        arguments: [("./logs/a", "FOLDER/logs/a"), ("../a", "/tmp/a"), ("/tmp/a", "/tmp/a")])
    func accessLog(path: String, expected: String) throws {
        try withFolder { folder in
            try FileManager.default.createDirectory(atPath: folder + "/logs", withIntermediateDirectories: false)
            try Self.writeSettings(accessLog: path, to: folder)
            guard case .file(path: let found) = try SettingsFile.load(folder + "/a.yaml").settings.accessLog else {
                Issue.record("no file")
                return
            }
            #expect(URL(filePath: found).standardized.path == expected.replacing("FOLDER", with: folder))
        }
    }

    @Test(
        "an access log that nobody can open is a mistake",
        arguments: [
            ("./none/a", "FOLDER/./none/a can't be opened: its folder, FOLDER/./none, doesn't exist"),
            ("./logs", "FOLDER/./logs can't be opened: it is a folder"),
            ("./logs/", "FOLDER/./logs/ can't be opened: it names a folder"),
            ("./a.yaml/a", "FOLDER/./a.yaml/a can't be opened: FOLDER/./a.yaml is no folder"),
            ("/dev/null/a", "/dev/null/a can't be opened: /dev/null is no folder"),
        ])
    func closedLog(path: String, expected: String) throws {
        try withFolder { folder in
            try FileManager.default.createDirectory(atPath: folder + "/logs", withIntermediateDirectories: false)
            for (log, key) in [(path, "access_log"), ("{ to: \(path) }", "to")] {
                try Self.writeSettings(accessLog: log, to: folder)
                #expect {
                    _ = try SettingsFile.load(folder + "/a.yaml")
                } throws: { error in
                    let found = (error as? SettingsMistakes)?.all.map(\.description) ?? []
                    return found.count == 1
                        && found[0].hasSuffix("\"\(key)\": " + expected.replacing("FOLDER", with: folder))
                }
            }
        }
    }

    private static func writeSettings(accessLog: String, to folder: String) throws {
        let text = """
            version: 1
            listen: 127.0.0.1:8080
            access_log: \(accessLog)
            upstreams: { app: 127.0.0.1:3000 }
            routes: [{ name: all, match: "/*", upstream: app }]
            """
        try Data(text.utf8).write(to: URL(filePath: folder + "/a.yaml"))
    }

    @Test("what can't be read says why")
    func reasons() throws {
        try withFolder { folder in
            func reason(_ name: String) -> String? {
                do throws(SettingsEnvironment.FileFault) {
                    _ = try SettingsEnvironment.readBytes(folder + name)
                    return nil
                } catch {
                    return error.reason.replacing(folder, with: "")
                }
            }
            try Data().write(to: URL(filePath: folder + "/file"))
            #expect(reason("/file") == nil)
            #expect(reason("/none") == "there is no file /none")
            #expect(
                reason("/caf\u{FFFD}.yaml")
                    == "the file /caf\u{FFFD}.yaml isn't found: names of files that are given here must be UTF-8")
            #expect(reason("/") == "the file / can't be read: Is a directory")
            #expect(reason("/file/a") == "the file /file/a can't be read: Not a directory")
        }
    }

    @Test("a pipe is read to its end, and one that gives nothing is not waited for any longer", .timeLimit(.minutes(1)))
    func pipes() throws {
        try withFolder { folder in
            let path = folder + "/fifo"
            #expect(unsafe mkfifo(path, 0o600) == 0)
            let fault = SettingsEnvironment.FileFault(
                "the file \(path) is a pipe or a device, of which nothing came for 1 s")
            #expect(throws: fault) { try SettingsEnvironment.readBytes(path, within: 1000) }
            let writer = Thread {
                let end = unsafe open(path, O_WRONLY)
                for text in ["one ", "two"] {
                    _ = unsafe write(end, text, text.utf8.count)
                    usleep(10_000)
                }
                close(end)
            }
            writer.start()
            let bytes = try SettingsEnvironment.readBytes(path, within: 30_000)
            #expect(bytes == Array("one two".utf8))
        }
    }
}
