import Gateway
import Proxy
import Settings
import Testing
import Transcoding

/// `status_from` and `problem` of a response rule. A route in the tables stands in line 5.
@Suite struct EnvelopeSettingsTests {
    private func rule(_ text: String) throws -> ResponseRule {
        try SettingsTestFile.parseRoutes("  - { name: a, match: /a, upstream: app, response: { \(text) } }")
            .settings.routes[0].responses[0]
    }

    @Test("all that status_from may say")
    func status() throws {
        let long = try rule(
            "when: { status: 200 }, status_from: { path: error.code, map: { 0: 200, 40000-40099: 400, 4xx: 404, missing: 404, "
                + "E-1: unchanged, null: 503 }, default: 502, look: 4KiB, as: json }")
        let status = try #require(long.status)
        #expect(status.path.description == "error.code" && status.look == 4096 && status.encoding == .json)
        #expect(status.standard == .status(502))
        #expect(
            status.map == [
                .init(.text(Array("0".utf8)), .status(200)), .init(.range(40000...40099), .status(400)),
                .init(.range(400...499), .status(404)), .init(.missing, .status(404)),
                .init(.text(Array("E-1".utf8)), .unchanged), .init(.text(Array("null".utf8)), .status(503)),
            ])
        let short = try #require(try rule("status_from: 'errors[0].status'").status)
        #expect(short.path.description == "errors[0].status" && short.map == nil && short.standard == .unchanged)
        #expect(short.look == 64 << 10 && short.encoding == nil)
    }

    @Test("all that problem may say, beside pass, a conversion, or alone")
    func problem() throws {
        let plain = try rule("when: { status: 4xx }, problem: true")
        #expect(plain.problem == ProblemRule() && plain.status == nil)
        if case .convert = plain.action { Issue.record("it converts nothing") }
        #expect(try rule("pass: true, problem: false").problem == nil)
        let long = try rule(
            "convert: xml -> json, problem: { detail: [error.text, m], title: t, type: 'https://a.example/b', look: 1MiB, as: xml }"
        )
        let problem = try #require(long.problem)
        #expect(problem.detail.map(\.description) == ["error.text", "m"] && problem.title?.description == "t")
        #expect(problem.type == "https://a.example/b" && problem.look == 1 << 20 && problem.encoding == .xml)
        guard case .convert = long.action else {
            Issue.record("it converts")
            return
        }
    }

    @Test("the effective values name them")
    func effective() throws {
        let file = try SettingsTestFile.parseRoutes(
            "  - { name: a, match: /a, upstream: app, response: [{ status_from: { path: c, map: { 0: 200 } }, problem: true }] }"
        )
        let shown = file.effectiveOfRoutes[0].map { "\($0.key) = \($0.value)" }
        for wanted in [
            "response[0].status_from.path = c", "response[0].status_from.map.0 = 200",
            "response[0].status_from.default = unchanged",
            "response[0].status_from.look = 64KiB", "response[0].problem = true",
        ] { #expect(shown.contains(wanted), "\(wanted)") }
    }

    @Test(
        "what is wrong is reported with line and column",
        arguments: [
            ("status_from: { map: { 0: 200 } }", "\"status_from\" needs \"path\", as in path: errcode"),
            ("status_from: 'a[*]'", "\"status_from\" has one place: \"*\" means many"),
            ("status_from: { path: 'a.[' }", "path"),
            ("status_from: { path: a, map: {} }", "\"map\" is empty: leave it out"),
            ("status_from: { path: a, map: { 0: 199 } }", "the status of \"0\": a status is from 200 to 599, not 199"),
            ("status_from: { path: a, map: { 0: 600 } }", "the status of \"0\": a status is from 200 to 599, not 600"),
            (
                "status_from: { path: a, map: { 0: 204 } }",
                "a response with status 204 has no content, and this one has"
            ),
            ("status_from: { path: a, map: { 0: 206 } }", "a response with status 206 is a range of another"),
            ("status_from: { path: a, map: { 9-1: 400 } }", "the range \"9-1\" ends before it begins"),
            ("status_from: { path: a, default: bad }", "\"default\" is a status or \"unchanged\", not \"bad\""),
            ("status_from: { path: a, look: 2MiB }", "\"look\" is at most 1MiB, which is held in memory"),
            ("status_from: { path: a, as: raw }", "\"as\" is not \"raw\""),
            ("status_from: { path: a, code: b }", "\"status_from\" has no key \"code\""),
            ("problem: maybe", "\"problem\" is true or false, not \"maybe\""),
            ("problem: { type: 'a b' }", "\"type\" is a URI, as in https://example.com/problems/order"),
            ("problem: { detail: 'a[*]' }", "\"detail\" has one place"),
            ("problem: { status: a }", "\"problem\" has no key \"status\""),
            ("when: { status: [2xx, 300-399] }, problem: true", "\"problem\" is for statuses from 400 on"),
            ("status_from: { path: a, map: { 0: 200, '0': 400 } }", "0"),
            ("problem: false", "a rule of \"response\" says \"pass: true\" or \"convert: json -> form\", or has"),
        ])
    func mistakes(rule: String, wanted: String) {
        let mistakes = SettingsTestFile.mistakesOfRoutes(
            "  - { name: a, match: /a, upstream: app, response: { \(rule) } }")
        #expect(mistakes.contains { $0.hasPrefix("5:") && $0.contains(wanted) }, "\(mistakes)")
    }
}
