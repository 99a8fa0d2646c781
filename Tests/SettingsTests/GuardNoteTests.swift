import Settings
import Testing

/// What `check` says of guarded paths beside which another route leads to the same server (docs/threats.md).
@Suite("Notes of guards that a wider route passes")
struct GuardNoteTests {
    private static let verify = "verify: { preset: github, secret: a-secret-of-some-length }"
    private static let authorize = "authorize: { bearer: a-token-of-some-length }"
    private static let limit = "rate_limit: 5/m"

    /// The messages of `guard_beside`, with the route's name in front.
    private func notes(_ routes: String, defaults: String = "{}") throws -> [String] {
        let file = try SettingsTestFile.parse(
            """
            version: 1
            listen: 127.0.0.1:8080
            upstreams: { app: "127.0.0.1:3000", other: "127.0.0.1:3001" }
            defaults: \(defaults)
            routes:
            \(routes.split(separator: "\n").map { "  - { \($0) }" }.joined(separator: "\n"))
            """)
        return file.notes.filter { $0.code == "guard_beside" }.map {
            #expect($0.severity == .note)
            return "\($0.route ?? "-"): \($0.message)"
        }
    }

    /// A route that guards, and the one beside it.
    private func notes(_ guarding: String, beside: String) throws -> [String] {
        try notes("name: a, upstream: app, \(guarding)\nname: rest, upstream: app, \(beside)")
    }

    @Test(
        "each guard, and what goes around it",
        arguments: [
            ("match: /hooks/a, \(verify)", "a request for /hooks/a/", "\"verify\""),
            ("match: /hooks/a/, \(verify)", "a request for /hooks/a ", "\"verify\""),
            ("match: /hooks/a, \(authorize)", "a request for /hooks/a/", "\"authorize\""),
            ("match: /login, \(limit)", "a request for /login/", "\"rate_limit\""),
            ("match: /login, \(limit), \(authorize)", "a request for /login/", "\"authorize\" and \"rate_limit\""),
            ("match: /admin/*, \(authorize)", "a request for /Admin/* ", "\"authorize\""),
            ("match: /ADMIN/*, \(authorize)", "a request for /aDMIN/* ", "\"authorize\""),
            ("match: \"/{id}/*\", \(authorize)", nil, ""),
            ("match: /%61dmin/*, \(authorize)", "a request for /%61Dmin/* ", "\"authorize\""),
            (
                "match: { path: /a, type: application/json }, \(limit)", "a request for /a of another type",
                "\"rate_limit\""
            ),
            ("match: { path: /a, header: { x-v: b } }, \(limit)", "a request for /a of another type", "\"rate_limit\""),
            ("match: /out, rewrite: /in, \(verify)", "a request for /in ", "\"verify\""),
            ("match: \"/out/{id}\", rewrite: \"/in/${path.id}\", \(verify)", "a request for /in/x ", "\"verify\""),
            ("match: /a, limits: { body: 1KiB }", nil, ""),
        ] as [(String, String?, String)])
    func guards(route: String, way: String?, missing: String) throws {
        let found = try notes(route, beside: "match: \"/*\"")
        guard let way else {
            #expect(found.isEmpty)
            return
        }
        #expect(
            found.count == 1 && found[0].hasPrefix("a: \(way)") && found[0].contains("without \(missing): "), "\(found)"
        )
    }

    @Test(
        "which routes are ways around it",
        arguments: [
            ("match: \"/*\"", true), ("match: \"/hooks/*\"", true), ("match: \"/{x}/{y}/\"", true),
            ("match: \"/other/*\"", false), ("match: \"/hooks/{x}\"", false),
            ("match: { path: \"/*\", method: [GET, POST] }", true), ("match: { path: \"/*\", method: GET }", false),
            ("match: { path: \"/*\", host: a.example }", true), ("match: { path: \"/*\", host: \"*.example\" }", true),
            ("match: { path: \"/*\", host: b.test }", false),
            ("match: \"/*\", \(authorize)", false), ("match: \"/*\", \(verify)", false),
            ("match: \"/*\", \(limit)", true),
            ("match: \"/*\", rewrite: \"/v1/${path.*}\"", false), ("match: \"/*\", rewrite: { query: { a: b } }", true),
        ])
    func ways(beside: String, isNoted: Bool) throws {
        let guarding = "match: { path: /hooks/a, method: POST, host: a.example }, \(Self.verify)"
        #expect(try notes(guarding, beside: beside).count == (isNoted ? 1 : 0))
    }

    @Test("another upstream is no way, nor what a guard takes before, nor a limit that all have")
    func others() throws {
        let guarding = "name: a, upstream: app, match: /hooks/a, \(Self.verify)"
        #expect(try notes("\(guarding)\nname: rest, match: \"/*\", upstream: other").isEmpty)
        #expect(
            try notes(
                "\(guarding)\nname: all, match: \"/hooks/*\", upstream: app, \(Self.authorize)\n"
                    + "name: rest, match: \"/*\", upstream: app"
            ) == [
                // The other case begins with a letter that the second guard spells, too.
                "a: a request for /Hooks/a goes by the route rest to the same upstream, without \"verify\": many servers take "
                    + "letters of either case for the same",
                "all: a request for /Hooks/* goes by the route rest to the same upstream, without \"authorize\": many servers "
                    + "take letters of either case for the same",
            ])
        #expect(
            try notes(
                "name: a, upstream: app, match: /a, \(Self.limit)\nname: rest, match: \"/*\", upstream: app",
                defaults: "{ rate_limit: 100/s }"
            ).isEmpty)
    }
}
