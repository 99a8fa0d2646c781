import Foundation
import Proxy
import Settings
import Testing

/// docs/settings.md says every key and its default. Its file is read here, and compared with one that says nothing.
@Suite struct SettingsPageTests {
    private static let page = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../docs/settings.md").standardizedFileURL

    /// A file that says no more than it must; what is off unless it is written, and has keys of its own, is there.
    private static let bare = """
        version: 1
        listen: 127.0.0.1:8080
        tracing: { endpoint: "http://127.0.0.1:4318" }
        upstreams:
          app: { address: 127.0.0.1:3000, framing: length, health: { active: { path: /healthz } } }
          new: 127.0.0.1:3001
        routes:
          - name: orders
            match: "/orders/*"
            upstream: app
            request: json -> form
            response: json -> form
            retry: { attempts: 1 }
            compress: { plain: false }
            rate_limit: 100/s
            shadow: { upstream: new }
        """

    /// What conversions have is on pages of their own, what a route matches has no default, and what the second upstream is has the first.
    private func isListed(_ value: EffectiveValue) -> Bool {
        !["request.", "response.", "match.", "rewrite.", "verify.", "upstreams.new."].contains(
            where: value.key.hasPrefix)
    }

    private func values(_ file: SettingsFile) -> [EffectiveValue] {
        (file.effective + file.effectiveOfRoutes[0]).filter(isListed)
    }

    private func block() throws -> String {
        let text = try String(contentsOf: Self.page, encoding: .utf8)
        let start = try #require(text.range(of: "```yaml\n"))
        let end = try #require(text.range(of: "```", range: start.upperBound..<text.endIndex))
        return String(text[start.upperBound..<end.lowerBound])
    }

    @Test("the page of all settings has every key, and where it doesn't say otherwise its value is the default")
    func page() throws {
        let text = try block()
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let environment = SettingsEnvironment(
            variable: { _ in nil },
            file: { path throws(SettingsEnvironment.FileFault) in throw SettingsEnvironment.FileFault(path) })
        let file = try SettingsFile.parse(text, environment: environment)
        try file.runExamples()
        let bare = try SettingsFile.parse(Self.bare, environment: environment)
        // In its short form a key has another name here.
        let known = Dictionary(values(bare).map { ($0.key == "access_log" ? "access_log.to" : $0.key, $0.value) }) {
            $1
        }
        var checked = 0
        for value in values(file) {
            guard case .line(let line) = value.origin else {
                Issue.record("the page says nothing of \(value.key), which is \(value.value)")
                continue
            }
            // Off, or chosen by the system, unless it is written.
            if lines[line - 1].contains("# default: ") { continue }
            checked += 1
            if let standard = known[value.key] {
                #expect(value.value == standard, "\(value.key), line \(line) of the block")
            } else {
                Issue.record("nobody knows the default of \(value.key): say it, as # default: off")
            }
        }
        #expect(checked > 90)
        let listed = Set(values(file).map(\.key))
        for key in known.keys { #expect(listed.contains(key), "the page has no \(key)") }
    }
}
