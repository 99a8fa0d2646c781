import Foundation
import Settings
import TestSupport
import Testing

/// Settings that are checked where neither variables nor files of them are: any value may come from one, and whatever else is
/// wrong is told all the same.
@Suite struct NoSecretsTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../..").standardizedFileURL

    private static let environment: SettingsEnvironment = {
        var environment = SettingsEnvironment(
            variable: { _ in nil },
            file: { path throws(SettingsEnvironment.FileFault) in
                Issue.record("the file \(path) is opened")
                throw SettingsEnvironment.FileFault(path)
            })
        environment.lacksSecrets = true
        environment.folderFault = { folder in
            Issue.record("the folder \(folder) is looked at")
            return "isn't there"
        }
        environment.logFault = { path in
            Issue.record("the log \(path) is looked at")
            return "isn't there"
        }
        return environment
    }()

    /// All places of TLS, on both sides.
    private static let tls = """
        version: 1
        listen:
          - { address: "0.0.0.0:8443", tls: { certificate: a.pem, key: a.key, client_ca: b.pem, client_auth: required, client_crl: c.pem, min_version: "1.2", max_version: "1.3" } }
          - { address: "0.0.0.0:8444", tls: { certificate: a.pem, certificates: [{ certificate: d.pem, key: d.key }] } }
        access_log: { to: /var/log/recast.log }
        upstreams:
          a: { address: "a.example:443", tls: { ca: a.pem, certificate: b.pem, key: b.key, crl: c.pem, name: a.example, sni: b.example, verify: true, verify_name: true } }
          b: { address: "b.example:443", tls: { pins: ["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="], session_resumption: true } }
          c: { address: "unix:/run/c.sock", tls: { pinned_certificates: [a.pem], name: c.example } }
          d: { address: "d.example:80", framing: length, spool: { memory: 0B, disk: 1MiB, dir: /var/spool/recast } }
        routes:
          - { name: a, match: "/a/*", upstream: a }
          - { name: b, match: "/b/*", upstream: b }
          - { name: c, match: "/c/*", upstream: c }
          - { name: d, match: "/d/*", upstream: d }
        """

    /// Files that are fine, with their names.
    private static func files() throws -> [(name: String, text: String)] {
        let page = try String(contentsOf: root.appending(path: "docs/settings.md"), encoding: .utf8)
        let start = try #require(page.range(of: "```yaml\n"))
        let end = try #require(page.range(of: "```", range: start.upperBound..<page.endIndex))
        var files = [("tls", tls), ("settings.md", String(page[start.upperBound..<end.lowerBound]))]
        let folder = root.appending(path: "config")
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        where name.hasSuffix(".yaml") {
            files.append((name, try String(contentsOf: folder.appending(path: name), encoding: .utf8)))
        }
        return files
    }

    private static func mistakes(_ text: String) -> [String] {
        do throws(SettingsMistakes) {
            try SettingsFile.parse(text, environment: environment).runExamples()
            return []
        } catch {
            return error.all.map(\.description)
        }
    }

    @Test(
        "each single value may come from a variable or a file that isn't there, and what else is wrong is told",
        arguments: ["${env:NO_SUCH}", "${file:/no/such}"])
    func everyValue(reference: String) throws {
        // A value behind a key, or in a list: up to what ends it, without a colon that would make it a key.
        let scalar = try Regex(
            #"(?:: |\[ ?|, |- )("[^"\n]*"|[^\s"{}\[\],#:-][^,}\]#:\n]*(?::[^ ,}\]#\n][^,}\]#:\n]*)*)(?=\s*(?:[,}\]#\n]|$))"#,
            as: (Substring, Substring).self)
        var found = 0
        for (name, text) in try Self.files() {
            #expect(Self.mistakes(text) == [], "\(name)")
            for match in text.matches(of: scalar) {
                let value = match.output.1
                let line = text[..<value.startIndex].split(separator: "\n", omittingEmptySubsequences: false)
                // Comments are no values, and a text with a colon and a space behind it is a key's.
                if line.last?.contains("# ") == true || line.last?.hasPrefix("#") == true { continue }
                found += 1
                guard tries(number: found) else { continue }
                let changed = text[..<value.startIndex] + "\"\(reference)\"" + text[value.endIndex...]
                #expect(Self.mistakes(String(changed)) == [], "\(name), line \(line.count): \(value)")
                let wrong = Self.mistakes(changed + "\nnonsense: 1\n")
                #expect(wrong.count == 1 && wrong[0].contains("nonsense"), "\(name), line \(line.count): \(value)")
            }
        }
        #expect(found > 500)
    }

    @Test(
        "what depends on two values is not judged by one",
        arguments: [
            "upstreams: { app: { address: \"127.0.0.1:3000\", resolve: { min: \"${env:A}\", max: 500ms } } }",
            "upstreams: { app: { address: \"127.0.0.1:3000\", resolve: { min: 1h, max: \"${env:A}\" } } }",
            "upstreams: { app: { address: \"a:1\", health: { passive: { ejection: 1h, max_ejection: \"${env:A}\" } } } }",
            "upstreams: { app: \"a:1\" }\naccess_log: { to: stdout, format: \"${env:A}\", fields: { request: [X-A] } }",
            "upstreams: { app: { address: [\"${env:A}:80\", \"${env:B}:80\"] } }",
        ])
    func pairs(keys: String) {
        let text = "version: 1\nlisten: 127.0.0.1:8080\n\(keys)\nroutes: [{ name: a, match: \"/a\", upstream: app }]"
        #expect(Self.mistakes(text) == [])
    }

    @Test("routes that differ in what isn't here are not taken for one another, and name what they may name")
    func routes() throws {
        let text = """
            version: 1
            listen: 127.0.0.1:8080
            upstreams: { app: "127.0.0.1:3000", b: "127.0.0.1:3001" }
            routes:
              - { name: "${env:N1}", match: { path: "/*", host: "${env:H1}" }, upstream: app }
              - { name: "${env:N2}", match: { path: "/*", host: "${env:H2}" }, upstream: app, headers: { request: { set: { X-A: "${env:S}" } } } }
              - { name: c, match: { path: "/c", type: "${env:T}" }, upstream: b }
              - { name: d, match: "/d", upstream: app, request: json -> form, trailers: "${env:OFF}", upgrade: "${file:/off}" }
            """
        #expect(Self.mistakes(text) == [])
        let file = try SettingsFile.parse(text, environment: Self.environment)
        #expect(!file.notes.contains { $0.code == "upstream_unused" })
    }

    @Test("an example is run where nothing that its body goes through is missing, else its line is told")
    func examples() throws {
        func text(_ keys: String) -> String {
            """
            version: 1
            listen: 127.0.0.1:8080
            upstreams: { app: "127.0.0.1:3000" }
            routes:
              - name: a
                match: "/a"
                upstream: app
                \(keys)
                examples:
                  - { in: { a: 1 }, out_fields: [ "a=2" ] }
            """
        }
        let header = text("request: json -> form\n    headers: { request: { set: { X-A: \"${env:S}\" } } }")
        #expect(Self.mistakes(header).count == 1 && Self.mistakes(header)[0].contains("example"))
        let set = text("request: { decode: { as: json }, map: { set: { b: \"${file:/b}\" } }, encode: { as: form } }")
        #expect(Self.mistakes(set) == [])
        let file = try SettingsFile.parse(set, environment: Self.environment)
        #expect(file.unresolvedLines == [8, 10])
    }

    @Test(
        "what is wrong in the text of such a value itself is told",
        arguments: [
            "headers: { request: { set: { X-A: \"${env:A} ${hedaer.x}\" } } }",
            "headers: { request: { set: { X-A: \"${env:A} ${path.nobody}\" } } }",
            "headers: { request: { set: { X-A: \"${file:/a}${client.port}\" } } }",
            "headers: { request: { set: { X-A: \"${env:A} ${header.a b}\" } } }",
            "headers: { request: { set: { \"X A\": \"${env:A}\" } } }",
            "rewrite: \"/${env:A}/${path.nobody}\"", "rewrite: \"/${env:A}/${header.x}\"",
            "timeouts: { request: \"${env:A}${header.x}\" }",
            "timeouts: { request: [\"${env:A}\"] }", "limits: \"${env:A}\"",
        ])
    func inTheText(keys: String) {
        let text = """
            version: 1
            listen: 127.0.0.1:8080
            upstreams: { app: "127.0.0.1:3000" }
            routes: [{ name: a, match: "/a", upstream: app, \(keys) }]
            """
        #expect(Self.mistakes(text).count == 1, "\(Self.mistakes(text))")
    }
}
