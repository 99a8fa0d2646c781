import Gateway
import Proxy
import Testing

@testable import Settings

/// What the settings' own composition of YAML's events does: aliases, bounds, tags, doubled keys, places.
@Suite struct YAMLTextTests {
    private static let head = "version: 1\nlisten: 127.0.0.1:8080\nupstreams: { app: 127.0.0.1:3000 }\n"

    @Test(
        "an alias is what its anchor stands at, the latest of that name; within itself it is none",
        arguments: [
            ("a: &x [1]\nb: *x", true), ("a: &x [1]\nb: &x [2]\nc: *x", true),
            ("a: &x { b: &y 1 }\nc: *y\nd: *x", true),
            ("a: &x [*x]", false), ("a: *x\nb: &x 1", false), ("&k a: 1\nb: *k", true),
        ])
    func aliases(text: String, isRead: Bool) {
        let mistakes = SettingsTestFile.mistakes(text)
        #expect(mistakes.contains { $0.contains("is an alias in YAML") } == !isRead, "\(mistakes)")
    }

    @Test("an alias says what its anchor's text says")
    func aliasText() throws {
        let text = """
            routes:
              - { name: a, match: /a, upstream: &u app }
              - { name: b, match: &m { method: POST, path: /b }, upstream: *u }
            """
        let settings = try SettingsTestFile.parse(Self.head + text).settings
        #expect(settings.routes.map(\.name) == ["a", "b"])
        let mistaken = "routes: [{ name: a, match: /a, upstream: &u ap }, { name: b, match: /b, upstream: *u }]"
        #expect(
            SettingsTestFile.mistakes(Self.head + mistaken).contains { $0.hasPrefix("4:") && $0.contains("\"ap\"") })
    }

    /// A list of `count` values, of which an alias repeats the half.
    private func values(_ count: Int) -> String {
        // The mapping, its two keys and the two lists count too.
        let half = (count - 5) / 2
        let rest = (count - 5) - 2 * half
        let list = Array(repeating: "x", count: half).joined(separator: ",")
        return "a: &a [\(list)]\n" + (rest == 1 ? "b: [*a, x]" : "b: [*a]")
    }

    @Test("the values of a text are bounded, those that aliases repeat included")
    func bound() {
        // One alias more is a list within the other.
        for (count, isRead) in [(-1, true), (0, true), (1, false)] {
            let text = values(YAMLText.maximumNodes + count - 1)
            let isRefused = SettingsTestFile.mistakes(text).contains {
                $0.contains("there are more than 100000 values")
            }
            #expect(isRefused == !isRead, "\(count)")
        }
    }

    @Test("collections within each other are bounded, through aliases too")
    func depth() {
        func nested(_ depth: Int, _ inner: String) -> String {
            String(repeating: "[", count: depth) + inner + String(repeating: "]", count: depth)
        }
        let bound = YAMLText.maximumDepth
        func isRefused(_ text: String) -> Bool {
            SettingsTestFile.mistakes(text).contains { $0.contains("stand within each other") }
        }
        for (depth, refused) in [(bound - 1, false), (bound, false), (bound + 1, true), (100_000, true)] {
            // The file's own mapping is one, the innermost value stands in all.
            #expect(isRefused("a: " + nested(depth - 1, "x")) == refused, "\(depth)")
        }
        let anchored = "a: &a \(nested(30, "x"))\n"
        for (depth, refused) in [(bound - 31, false), (bound - 30, true)] {
            #expect(isRefused(anchored + "b: " + nested(depth, "*a")) == refused, "\(depth)")
        }
    }

    @Test(
        "a tag is refused by name wherever it stands",
        arguments: [
            ("version: !!int 1", "1:10: YAML tags mean nothing here: remove tag:yaml.org,2002:int"),
            ("version: ! 1", "1:10: YAML tags mean nothing here: remove !"),
            ("version: !mine \"1\"", "1:10: YAML tags mean nothing here: remove !mine"),
            ("version: !!seq [1]", "1:10: YAML tags mean nothing here: remove tag:yaml.org,2002:seq"),
            ("!!map {version: 1}", "1:1: YAML tags mean nothing here: remove tag:yaml.org,2002:map"),
        ])
    func tags(text: String, mistake: String) {
        #expect(SettingsTestFile.mistakes(text).contains(mistake))
    }

    @Test("each doubled key is told, in whatever quotes, and other mistakes beside")
    func doubled() {
        let text = """
            version: 1
            "version": 1
            upstreams: { app: 127.0.0.1:3000, 'app': 127.0.0.1:3001, "\\u0061pp": 127.0.0.1:3002 }
            lisen: 127.0.0.1:80
            routes: [{ name: all, match: "/*", upstream: app }]
            """
        let mistakes = SettingsTestFile.mistakes(text)
        #expect(mistakes.filter { $0.contains("occurs twice") }.count == 3)
        #expect(mistakes.contains("2:1: the key \"version\" occurs twice, first in line 1"))
        #expect(mistakes.contains { $0.hasPrefix("4:1: ") })
    }

    @Test(
        "what libyaml refuses before it counts lines has its place by bytes",
        arguments: [
            ("a: 1\nb: é\u{7}", "2:5"), ("\u{0}", "1:1"), ("a: \"é\"\n\n\u{FFFE}", "3:1"), ("é\u{8}", "1:2"),
        ])
    func control(text: String, place: String) {
        #expect(SettingsTestFile.mistakes(text) == ["\(place): this is not YAML: control characters are not allowed"])
    }

    @Test("a text that is cut anywhere is read or refused with a place, and nothing else")
    func cuts() throws {
        let text =
            Self.head + """
                defaults: &d { limits: { body: 1MiB } } # a remark
                routes:
                  - name: "a\\tb"
                    match: 'it''s'
                    request: >-
                      form -> json
                  - *d
                ...
                """
        let scalars = Array(text.unicodeScalars)
        for end in 0...scalars.count {
            let part = String(String.UnicodeScalarView(scalars[..<end]))
            let lines = part.split(separator: "\n", omittingEmptySubsequences: false).count
            for mistake in SettingsTestFile.mistakes(part) {
                let line = try #require(mistake.split(separator: ":").first.flatMap { Int($0) })
                #expect(line >= 1 && line <= lines + 1, "\(end): \(mistake)")
            }
        }
    }
}
