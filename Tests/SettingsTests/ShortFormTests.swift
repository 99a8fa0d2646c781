import Settings
import Testing

/// Mistakes inside of short forms, `json -> form(nulls: omit)`: the file's lines and columns, and no word of signs that nobody wrote.
@Suite struct ShortFormTests {
    private static let unread =
        "the options can't be read on from here: a comma parts them, and each is a key, a colon, a space and a value"

    @Test(
        "what is wrong in parentheses is told where it stands in the file",
        arguments: [
            (
                "request: \"json -> form(nulls: omit, nulls: omit)\"",
                "43: the key \"nulls\" occurs twice, first in line 6"
            ),
            (
                "request: \"form(arrays: auto, arrays: auto) -> json\"",
                "36: the key \"arrays\" occurs twice, first in line 6"
            ),
            (
                "verify: \"github(secret: a-long-enough-secret, secret: another-long-secret)\"",
                "53: the key \"secret\" occurs twice, first in line 6"
            ),
            (
                "sign: 'github(secret: a-long-enough-secret, secret: another-long-secret)'",
                "51: the key \"secret\" occurs twice, first in line 6"
            ),
            (
                "request: \"form -> json(files: {a: drop, a: drop})\"",
                "47: the key \"a\" occurs twice, first in line 6"
            ),
            ("request: \"form -> json(,)\"", "30: nothing stands before this comma: one is between two elements alone"),
            (
                "request: \"form -> json(order: sorted,, numbers: exact)\"",
                "44: nothing stands before this comma: one is between two elements alone"
            ),
            ("request: \"form -> json(order: sorted})\"", "43: this } closes nothing that is open here"),
            (
                "request: \"form -> json(order: sorted numbers: exact)\"",
                "51: a value with a colon and a space in it is read as a key: put it in quotes, or a comma is missing before the key"
            ),
            ("request: 'form -> json(order: \"a\" b)'", "41: \(unread)"),
            (
                "request: \"form -> json(order: sorted}, {numbers: exact)\"",
                "43: this } closes nothing that is open here"
            ),
            (
                "request: \"form -> json(order: ])\"",
                "37: this ] closes nothing that is open here"
            ),
            (
                "request: \"form -> json(order: [)\"",
                "37: this [ is not closed: a comma parts its elements, and ] ends them"
            ),
            (
                "request: \"form -> json(order: [sorted)\"",
                "37: this [ is not closed: a comma parts its elements, and ] ends them"
            ),
            (
                "request: \"form -> json(files: {a: drop)\"",
                "37: this { is not closed: a comma parts its elements, and } ends them"
            ),
            (
                "request: \"form -> json(order: sorted #1)\"",
                "44: a # begins a comment in YAML, which goes on to the end of the line: put the value in quotes"
            ),
            (
                "request: \"form -> json(order: 'sorted)\"",
                "37: this quote is not closed: close it, or double it where it is part of the text"
            ),
            ("request: \"form -> json(order: @)\"", "37: a value can't begin with @ in YAML: put it in quotes"),
            (
                "request: \"form -> json(order: *a)\"",
                "37: a value that begins with * is an alias in YAML: put it in quotes; a path that takes all is \"/*\""
            ),
            ("request: \"form -> json(order: !x sorted)\"", "37: YAML tags mean nothing here: remove !x"),
            ("request: \"form -> json(order: sorted\"", "29: this parenthesis is never closed"),
            (
                "request: \"form -> json(order: sorted, match: /a/{b})\"",
                "55: a value with { in it, within ( ), { } or [ ], is read as two: put it in quotes"
            ),
        ])
    func parentheses(line: String, mistake: String) {
        let text = """
            version: 1
            listen: 127.0.0.1:8080
            upstreams: { app: "127.0.0.1:3000" }
            routes:
              - { name: one, match: /one, upstream: app }
              - { \(line), name: two, match: /two, upstream: app }
            """
        #expect(SettingsTestFile.mistakes(text) == ["6:\(mistake)"])
    }

    @Test("in the middle of a file's block, too, and where the text is folded the value's own line is told")
    func lines() {
        let route = "  - name: a\n    match: /*\n    upstream: app\n    request: "
        #expect(
            SettingsTestFile.mistakesOfRoutes(route + "\"json -> form(nulls: omit, nulls: omit)\"") == [
                "8:41: the key \"nulls\" occurs twice, first in line 8"
            ])
        #expect(
            SettingsTestFile.mistakesOfRoutes(route + ">\n      json -> form(nulls: omit,\n      nulls: omit)\n") == [
                "8:14: the key \"nulls\" occurs twice, first in line 8"
            ])
    }

    @Test(
        "limits of the command line have no braces either",
        arguments: [
            ("body: 1MiB, body: 2MiB", "13: the key \"body\" occurs twice, first in line 1"),
            (",", "1: nothing stands before this comma: one is between two elements alone"),
            ("body: 1MiB}", "11: this } closes nothing that is open here"),
            ("body: 1MiB, filds: 5", "13: \"limits\" has no key \"filds\": did you mean \"fields\"?"),
        ])
    func limits(text: String, mistake: String) {
        do throws(SettingsMistakes) {
            _ = try Conversions.parseLimits(text)
            Issue.record("taken: \(text)")
        } catch {
            #expect(error.all.map { "\($0.column): \($0.message)" } == [mistake])
        }
    }
}
