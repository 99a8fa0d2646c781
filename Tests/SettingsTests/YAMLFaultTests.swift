import Proxy
import Settings
import Testing

/// Texts that are no YAML: the message says what a person did, at the place where it was done (O9).
@Suite struct YAMLFaultTests {
    private static let head = "version: 1\nlisten: 127.0.0.1:8080\nupstreams: { app: \"127.0.0.1:3000\" }\n"

    @Test(
        "the message says what to do, at the line where the mistake is",
        arguments: [
            (
                "routes:\n  -name: a\n    match: /a\n",
                "5:3: a space is missing behind this dash: an element of a list begins with \"- \""
            ),
            (
                "routes:\n  - name: a\n    match: /a\n  -{ name: b, match: /b }\n",
                "7:3: a space is missing behind this dash: an element of a list begins with \"- \""
            ),
            (
                "routes:\n  -name: a\n",
                "5:3: \"routes\" is a list of at least one route: a space is missing behind the dash of \"-name\""
            ),
            (
                "routes:\n  - { name: a, match: /a, upstream: app } x\n",
                "5:43: nothing but a comment can stand behind the } that ends a value, and a comment has a space in front"
            ),
            (
                "workers: - auto\n",
                "4:10: a list can't begin in the line of its key: write [a, b], or each element in a line of its own below, behind "
                    + "\"- \""
            ),
            ("routes:\n\t- name: a\n", "5:1: a tab indents this line: YAML takes spaces only"),
            ("routes:\n  - name: a\n\t  match: /a\n", "6:1: a tab indents this line: YAML takes spaces only"),
            ("routes:\n  - name: a\n  \tmatch: /a\n", "6:3: a tab indents this line: YAML takes spaces only"),
            (
                "routes:\n  - { name: a, match: *, upstream: app }\n",
                "5:23: a value that begins with * is an alias in YAML: put it in quotes; a path that takes all is \"/*\""
            ),
            (
                "routes:\n  - name: a\n    match: *\n    upstream: app\n",
                "6:12: a value that begins with * is an alias in YAML: put it in quotes; a path that takes all is \"/*\""
            ),
            (
                "routes:\n  - { name: a, match: *all, upstream: app }\n",
                "5:23: a value that begins with * is an alias in YAML: put it in quotes; a path that takes all is \"/*\""
            ),
            (
                "routes:\n  - { name: a, match: &, upstream: app }\n",
                "5:23: a value that begins with & is an anchor in YAML: put it in quotes"
            ),
            (
                "routes:\n  - { name: a, match: [\n",
                "5:23: this [ is not closed before the text ends: a comma parts its elements, and ] ends them"
            ),
            ("routes:\n  - { name: @a }\n", "5:13: a value can't begin with @ in YAML: put it in quotes"),
            ("routes:\n  - name: `a\n", "5:11: a value can't begin with ` in YAML: put it in quotes"),
            (
                "routes:\n  - name: a\n    match: /a\n    upstream: app\n  name: b\n  match: /b\n",
                "8:3: this is no element of the list that begins in line 5: each begins with \"- \" in column 3"
            ),
            (
                "routes:\n  - name: a\n    match: \"/a\n    upstream: app\n  - name: b\n    match: /b\n",
                "6:12: this quote is not closed in its line: close it, or double it where it is part of the text"
            ),
            (
                "routes:\n  - name: a\n    match: '/a\n    upstream: app\n  - { name: 'b' }\n",
                "6:12: this quote is not closed in its line: close it, or double it where it is part of the text"
            ),
            (
                "routes:\n  - name: a\n    request: form -> json(order: sorted)\n",
                "6:32: a value with a colon and a space in it is read as a key: put it in quotes"
            ),
            (
                "routes:\n  - name: a\n      match: /a\n",
                "6:12: this key stands deeper than those before it: the keys of one mapping begin in one column, and what is in "
                    + "it stands behind a line that ends in a colon"
            ),
            (
                "routes:\n  - { name: a, match: /a\n  - { name: b }\n",
                "6:5: the { of line 5 is not closed before this: a comma parts its elements, and } ends them"
            ),
            (
                "routes:\n  - { name: a, request: json -> form(dialect: php) }\n",
                "5:45: a value with a colon and a space in it is read as a key: put it in quotes, or a comma is missing before the key"
            ),
            (
                "routes:\n  - { name: a,\n      match: /a\n      upstream: app }\n",
                "7:15: a value with a colon and a space in it is read as a key: put it in quotes, or a comma is missing before the key"
            ),
            (
                "routes:\n  - { name: a, match: /a/{id}, upstream: app }\n",
                "5:26: a value with { in it, within { } or [ ], is read as two: put it in quotes"
            ),
            (
                "routes:\n  - { name: a, match: /a, rewrite: /b/${path.id} }\n",
                "5:40: a value with { in it, within { } or [ ], is read as two: put it in quotes"
            ),
            (
                "admin: [::1]:9901\n",
                "4:8: an address in brackets is a list in YAML: put it in quotes, as in \"[::1]:8080\""
            ),
            (
                "admin: [2001:db8::1]:9901\n",
                "4:8: an address in brackets is a list in YAML: put it in quotes, as in \"[::1]:8080\""
            ),
            (
                "upstreams: { app: [fe80::1]:3000 }\n",
                "4:19: an address in brackets is a list in YAML: put it in quotes, as in \"[::1]:8080\""
            ),
            (
                "workers:2\nroutes:\n  - { name: a }\n",
                "4:8: a space is missing behind this colon: a key ends in a colon and a space, as in key: value"
            ),
            (
                "routes:\n  - name: a\n    match:/a\n    upstream: app\n",
                "6:10: a space is missing behind this colon: a key ends in a colon and a space, as in key: value"
            ),
            (
                "routes:\n  - name:a\n    match: /a\n    upstream: app\n",
                "5:9: a space is missing behind this colon: a key ends in a colon and a space, as in key: value"
            ),
            (
                "routes:\n  - name: a\n    match: /a\n    upstream:app\n",
                "7:13: a space is missing behind this colon: a key ends in a colon and a space, as in key: value"
            ),
        ])
    func places(text: String, mistake: String) {
        #expect(SettingsTestFile.mistakes(Self.head + text) == [mistake])
    }

    @Test("in the first line, too")
    func firstLine() {
        #expect(
            SettingsTestFile.mistakes("version:1\nlisten: 127.0.0.1:8080\n") == [
                "1:8: a space is missing behind this colon: a key ends in a colon and a space, as in key: value"
            ])
    }

    @Test(
        "what stands behind the end of the settings, or in front of their first column",
        arguments: [
            (
                "  version: 1\nlisten: 127.0.0.1:8080\n",
                "2:1: this line begins further left than the first one: the keys of one mapping begin in one column"
            ),
            (
                "{ \"version\": 1 }\n\"workers\": 2\n",
                "2:1: the settings have ended in front of this line: all of a file is one mapping of keys to values"
            ),
            (
                "# a\n---\nversion: 1\n...\nworkers: 2\n",
                "5:1: the settings have ended in front of this line: all of a file is one mapping of keys to values"
            ),
        ])
    func ended(text: String, mistake: String) {
        #expect(SettingsTestFile.mistakes(text) == [mistake])
    }

    @Test("a tab where one may be, and quotes that are closed, are blamed for nothing")
    func innocent() {
        let text = "a: \"x # y\"  # it's \"fine\"\nb: 'it''s'\nc: x\"y\nd: [\"1\", '2']\ne: \"a\\\"b\"\nf: @\n"
        #expect(SettingsTestFile.mistakes(text) == ["6:4: a value can't begin with @ in YAML: put it in quotes"])
    }

    @Test("two routes without a dash between them, and a list without any, are told what is missing")
    func dashes() {
        #expect(
            SettingsTestFile.mistakes(
                Self.head + "routes:\n  - name: a\n    match: /a\n    upstream: app\n\n    name: b\n")
                == ["9:5: the key \"name\" occurs twice, first in line 5: each route begins with \"- \""])
        #expect(
            SettingsTestFile.mistakes(Self.head + "routes:\n  name: a\n  match: /a\n  upstream: app\n")
                == ["5:3: \"routes\" is a list of at least one route: write \"- \" before the first key of each"])
    }

    @Test("a byte order mark says nothing, and moves no column")
    func mark() throws {
        let text = Self.head + "routes: [{ name: all, match: /*, upstream: app }]\n"
        #expect(try SettingsTestFile.parse("\u{FEFF}" + text).settings.routes.count == 1)
        #expect(SettingsTestFile.mistakes("\u{FEFF}verson: 1\n" + text).first?.hasPrefix("1:1: ") == true)
    }
}

/// What `check` says of settings that are fine, and of settings for another machine (O9).
@Suite struct SettingsNoteTests {
    private func notes(_ lines: String, routes: String = "routes: [{ name: all, match: /*, upstream: app }]") throws
        -> [String]
    {
        try SettingsTestFile.parse("version: 1\n\(lines)\n\(routes)").notes.map {
            "\($0.line):\($0.column) \($0.severity.rawValue) \($0.code)"
        }
    }

    @Test("an upstream that no route names is noted, with its place")
    func unused() throws {
        #expect(
            try notes("listen: 127.0.0.1:8080\nupstreams:\n  app: 127.0.0.1:3000\n  old: 127.0.0.1:3001") == [
                "5:3 warning upstream_unused"
            ])
    }

    @Test(
        "an upstream that is an address of ours is noted, however it is written",
        arguments: [
            ("127.0.0.1:8080", "127.0.0.1:8080", true), ("0.0.0.0:8080", "localhost:8080", true),
            ("0.0.0.0:8080", "127.0.0.9:8080", true), ("\"[::]:8080\"", "\"[::1]:8080\"", true),
            ("\"[::1]:8080\"", "localhost:8080", true), ("127.0.0.1:8080", "0.0.0.0:8080", true),
            ("unix:/run/a.sock", "unix:/run/a.sock", true), ("10.0.0.1:8080", "10.0.0.1:8080", true),
            ("127.0.0.1:8080", "127.0.0.1:8081", false), ("10.0.0.1:8080", "127.0.0.1:8080", false),
            ("0.0.0.0:8080", "\"[::1]:8080\"", false), ("\"[::]:8080\"", "127.0.0.1:8080", false),
            ("\"[::]:8080\"", "\"[::]:8080\"", true), ("\"[::]:8080\"", "0.0.0.0:8080", false),
            ("0.0.0.0:8080", "\"[::]:8080\"", false), ("0.0.0.0:8080", "0.0.0.0:8080", true),
            ("127.0.0.1:8080", "\"[::]:8080\"", false), ("\"[::1]:8080\"", "\"[::]:8080\"", true),
            ("\"[::1]:8080\"", "0.0.0.0:8080", false), ("\"[::1]:8080\"", "127.0.0.1:8080", false),
            ("\"[::]:8080\"", "localhost:8080", true), ("0.0.0.0:8080", "LocalHost.:8080", true),
            ("127.0.0.1:8080", "app.localhost:8080", true), ("10.0.0.1:8080", "localhost:8080", false),
            ("0.0.0.0:8080", "127.0.0.example:8080", false), ("0.0.0.0:8080", "app.example:8080", false),
            ("127.0.0.1:8080", "\"[::ffff:127.0.0.1]:8080\"", true), ("0.0.0.0:8080", "\"[::ffff:7f00:9]:8080\"", true),
            ("\"[::]:8080\"", "\"[2001:db8::1]:8080\"", false),
            ("\"[2001:db8::1]:8080\"", "\"[2001:db8:0::1]:8080\"", true),
            ("unix:/run/a.sock", "unix:/run//x/../a.sock", true), ("unix:/run/a.sock", "unix:/run/b.sock", false),
            ("0.0.0.0:8080", "10.0.0.5:8080", false), ("127.0.0.1:0", "127.0.0.1:8080", false),
        ])
    func ours(listen: String, upstream: String, isNoted: Bool) throws {
        #expect(
            try notes("listen: \(listen)\nupstreams:\n  app: \(upstream)")
                == (isNoted ? ["4:3 warning upstream_is_listener"] : []))
        #expect(
            try notes("listen: 127.0.0.1:1\nadmin: \(listen)\nupstreams:\n  app: \(upstream)").contains {
                $0 == "5:3 warning upstream_is_admin"
            } == (isNoted))
    }

    @Test("a route that can be walked around is noted where segments pass")
    func walked() throws {
        let routes =
            "routes:\n  - { name: admin, match: /admin/*, upstream: app }\n  - { name: rest, match: /*, upstream: app }"
        let lines = "listen: 127.0.0.1:8080\nupstreams: { app: \"127.0.0.1:3000\" }"
        #expect(try notes(lines, routes: routes) == [])
        #expect(
            try notes(lines + "\npaths: { empty_segments: pass }", routes: routes) == [
                "6:13 warning route_walked_around"
            ])
        #expect(
            try notes(lines + "\npaths: { dot_segments: pass }", routes: routes) == ["6:13 warning route_walked_around"]
        )
    }

    @Test(
        "what means something else in another proxy is noted",
        arguments: [
            ("match: \"/api/.*\"", "path_like_expression"), ("match: \"/(a|b)/x\"", "path_like_expression"),
            ("match: \"/[0-9]+\"", "path_like_expression"), ("match: \"/a/:id\"", "path_colon"),
            ("match: /a, rewrite: /x/$1", "dollar_literal"),
            ("match: /a, headers: { request: { set: { X-A: $host } } }", "dollar_literal"),
            ("match: /a, headers: { response: { add: { X-A: \"a-$1\" } } }", "dollar_literal"),
            ("match: /a, host: $host", "dollar_literal"),
            ("match: \"/{id}\", rewrite: /x, addresses: outer", "addresses_one_way"),
            ("match: \"/a/*/{id}\", rewrite: \"/${path.id}\", addresses: outer", "addresses_one_way"),
            ("match: \"/a/*/{id}\", addresses: outer", nil), ("match: \"/{id}\", rewrite: /x", nil),
            ("match: \"/{id}\", rewrite: \"/x${path.id}\", addresses: outer", nil),
            ("match: /a, rewrite: { query: { q: \"$arg_x\" } }", "dollar_literal"),
            ("match: \"/{id}\", rewrite: { query: { q: \"${path.id}-$1\" } }", "dollar_literal"),
            (
                "match: /a, request: { decode: { as: form }, map: { set: { a: \"$host\" } }, encode: { as: json } }",
                "dollar_literal"
            ),
            (
                "match: /a, request: { decode: { as: form }, map: { set: { a: [1, { b: \"x$uri\" }] } }, encode: { as: json } }",
                "dollar_literal"
            ),
            (
                "match: /a, request: { decode: { as: form }, map: { append: { a: \"${client.ip} $host\" } }, encode: { as: json } }",
                "dollar_literal"
            ),
            (
                "match: /a, response: { decode: { as: json }, map: { set: { a: \"$host\" } }, encode: { as: xml } }",
                "dollar_literal"
            ),
            ("match: { header: { X-V: \"^[0-9]+$\" } }", "header_like_expression"),
            ("match: { header: { X-V: \"*\" } }", "header_like_expression"),
            ("match: { header: { X-V: [a, \"v1.*\"] } }", "header_like_expression"),
            ("match: { header: { X-V: \"v1*\" } }", "header_like_expression"),
            ("match: { header: { X-V: \"~ab\" } }", "header_like_expression"),
            ("match: /a, rewrite: \"/base/*\"", "path_like_expression"),
            ("match: /a, rewrite: { path: \"/base/(.*)\" }", "path_like_expression"),
            ("match: \"/{id}\", rewrite: \"/b/${path.id}/*\"", "path_like_expression"),
            ("match: /a, rewrite: \"/base/:id\"", "path_colon"),
            ("match: { header: { Accept: \"*/*\", X-V: \"text/*\", X-W: \"a(b)\" } }", nil),
            ("match: \"/{id}\", rewrite: { path: \"/b/${path.id}\", query: { q: \"${path.id} $ 5\" } }", nil),
            ("match: /a, host: api.example", nil), ("match: /a, host: upstream", nil),
            ("match: /a, upgrade: [websocket]", nil), ("match: /.well-known/*", nil), ("match: \"/a:b\"", nil),
            ("match: /a, headers: { request: { set: { X-A: \"a $ b\" } } }", nil),
        ])
    func foreign(keys: String, code: String?) throws {
        let lines = "listen: 127.0.0.1:8080\nupstreams: { app: \"127.0.0.1:3000\" }"
        let found = try notes(lines, routes: "routes: [{ name: all, upstream: app, \(keys) }]")
            .filter { $0.contains(" warning ") }
        #expect(found == (code.map { ["4:18 warning \($0)"] } ?? []))
    }

    @Test(
        "an upgrade that HTTP/2 doesn't have is noted",
        arguments: [
            ("1.1", "[websocket]", nil), ("2", "[websocket]", "upgrade_in_http2"), ("2", "off", nil), ("2", nil, nil),
        ] as [(String, String?, String?)])
    func upgrade(version: String, protocols: String?, code: String?) throws {
        let lines = "listen: 127.0.0.1:8080\nupstreams: { app: { address: \"127.0.0.1:3000\", http: \(version) } }"
        let upgrade = protocols.map { ", upgrade: \($0)" } ?? ""
        let found = try notes(lines, routes: "routes: [{ name: all, upstream: app, match: /a\(upgrade) }]")
        #expect(found == (code.map { ["4:18 warning \($0)"] } ?? []))
    }

    private static let withoutSecrets: SettingsEnvironment = {
        var environment = SettingsTestFile.environment
        environment.lacksSecrets = true
        return environment
    }()

    @Test("settings without their secrets are checked but for what depends on them")
    func withoutSecrets() throws {
        let text = """
            version: 1
            listen: { address: "0.0.0.0:8443", tls: { certificate: /no/such.pem, key: "${env:KEY_FILE}" } }
            workers: "${env:NO_SUCH}"
            upstreams:
              app: { address: "${env:APP}:3000", tls: { ca: /no/ca.pem } }
            routes:
              - name: all
                match: "/${env:PREFIX}/*"
                upstream: app
                headers: { request: { set: { X-Key: "${file:/no/key}" } } }
                timeouts: { request: "${env:SECONDS}" }
            """
        let file = try SettingsFile.parse(text, environment: Self.withoutSecrets)
        #expect(file.unresolvedLines == [2, 3, 5, 8, 10, 11])
        #expect(file.settings.routes.count == 1)
        #expect(SettingsTestFile.mistakes(text).count >= 5)
    }

    @Test("what is wrong besides is told all the same, in the line of an unknown value, too")
    func mistakesWithoutSecrets() {
        let text =
            "version: 1\nlisten: 127.0.0.1:8080\nupstreams: { app: \"${env:APP}\", b: nowhere }\n"
            + "routes: [{ name: all, match: \"${env:P}\", upstream: ap, limits: { bdy: 1 } }]"
        do throws(SettingsMistakes) {
            _ = try SettingsFile.parse(text, environment: Self.withoutSecrets)
            Issue.record("it has mistakes")
        } catch {
            #expect(error.all.map { "\($0.line):\($0.column)" } == ["3:36", "4:52", "4:66"])
        }
    }

    @Test("a mistake says its kind, its route and its hint apart")
    func parts() throws {
        let text =
            "version: 1\nlisten: 127.0.0.1:8080\nupstreams: { app: \"127.0.0.1:3000\" }\nroutes: [{ name: all, match: /*, upstream: ap }]"
        do throws(SettingsMistakes) {
            _ = try SettingsFile.parse(text, environment: SettingsTestFile.environment)
            Issue.record("it has a mistake")
        } catch {
            let mistake = try #require(error.all.first)
            #expect(mistake.route == "all" && mistake.code == .setting && mistake.hint == "did you mean \"app\"?")
        }
    }
}
