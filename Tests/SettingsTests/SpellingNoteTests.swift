import Settings
import Testing

/// What `check` warns of: words and paths that mean something in other programs, and stand for themselves here.
@Suite("Spellings of other programs") struct SpellingNoteTests {
    /// The codes of the warnings of one route.
    private func codes(_ route: String, lines: String = "") throws -> [String] {
        try SettingsTestFile.parse(
            """
            version: 1
            listen: 127.0.0.1:8080
            upstreams: { app: "127.0.0.1:3000" }
            routes:
              - { name: a, upstream: app, \(route) }
            \(lines)
            """
        ).notes.filter { $0.severity == .warning }.map(\.code)
    }

    @Test(
        "conditions of a route",
        arguments: [
            ("method: ANY", "method_unknown"), ("method: [GET, ALL]", "method_unknown"),
            ("method: GET|POST", "method_unknown"),
            ("method: GETT", "method_unknown"), ("method: PSOT", "method_unknown"),
            ("method: WEBSOCKET", "method_unknown"),
            ("method: PURGE", nil), ("method: [GET, HEAD, PROPFIND, REPORT, LOCK, SEARCH, QUERY]", nil),
            ("method: MOVE", nil),
            ("path: /a/<id>", "path_like_variable"), ("path: '/a/<int:id>/b'", "path_like_variable"),
            ("path: /a/...", "path_like_variable"), ("path: '/a|/b'", "path_like_variable"),
            ("path: '/a,/b'", "path_like_variable"), ("path: '/a /b'", "path_like_variable"),
            ("path: '/a/@ann'", nil), ("path: '/a;x=1'", nil), ("path: '/a/$metadata'", nil),
            ("path: '/a,b'", nil), ("path: '/{id}/*'", nil),
            ("host: _", "host_like_word"), ("host: any", "host_like_word"), ("host: localhost", nil),
            ("host: '*.default'", nil),
            ("type: application/jsn", "type_unknown"), ("type: application/x-www-form-urlencode", "type_unknown"),
            ("type: text/json", nil), ("type: application/vnd.api+json", nil), ("type: text/htm", "type_unknown"),
            ("type: text/css", nil), ("type: [application/jsonl, application/bson, application/yml]", nil),
            ("header: { X-A: '!b' }", "header_like_expression"), ("header: { X-A: /b/ }", "header_like_expression"),
            ("header: { X-A: / }", nil), ("header: { X-A: a/b }", nil), ("header: { X-Forwarded-Prefix: /b/ }", nil),
        ] as [(String, String?)])
    func match(condition: String, code: String?) throws {
        #expect(try codes("match: { \(condition) }") == [code].compactMap(\.self))
    }

    @Test(
        "what a route does with heads",
        arguments: [
            ("upgrade: websockets", "upgrade_unknown"), ("upgrade: [websocket, ws]", "upgrade_unknown"),
            ("upgrade: any", "upgrade_unknown"), ("upgrade: WebSocket", nil),
            ("upgrade: [websocket, connect-udp]", nil),
            ("trailers: all", "trailer_like_word"), ("trailers: [grpc-status, x-a]", nil),
            ("trailers: pass", "trailer_like_word"),
            ("host: keep", "host_like_word"), ("host: preserved", "host_like_word"), ("host: '*'", "host_like_word"),
            ("host: backend", nil), ("host: preserve.example", nil), ("host: upstream", nil), ("host: upstream1", nil),
            ("headers: { request: { set: { -X-A: a } } }", "header_name_sign"),
            ("headers: { response: { remove: [+X-A] } }", "header_name_sign"),
            ("headers: { request: { remove: ['X-.*'] } }", "header_name_sign"),
            ("headers: { request: { remove: ['X-*'] } }", nil),
            ("headers: { request: { set: { X-A: '{{ user }}' } } }", "template_literal"),
            ("headers: { request: { set: { X-A: '%{x}' } } }", "template_literal"),
            ("headers: { request: { set: { X-A: '%REQ(x)%' } } }", "template_literal"),
            ("headers: { request: { set: { X-A: '%[src]' } } }", "template_literal"),
            ("headers: { request: { set: { X-A: '{http.request.host}' } } }", "template_literal"),
            ("headers: { request: { set: { X-A: '{\"a\":1}', X-B: '100%', X-C: '50% (a)' } } }", nil),
            ("headers: { request: { set: { X-A: '{3F2504E0-4F89-41D3-9A0C-0305E82C3301}' } } }", nil),
            ("rewrite: { query: { q: '{id}' } }", "template_literal"), ("rewrite: { query: { q: '${path.id}' } }", nil),
        ] as [(String, String?)])
    func heads(keys: String, code: String?) throws {
        #expect(try codes("match: '/{id}', \(keys)") == [code].compactMap(\.self))
    }

    @Test(
        "paths of fields",
        arguments: [
            "$.a", "$", "@.a", "$[0].a", "/a/b", "#/a/b", "//a", "a['b']", "a[?(@.b)]", "a[?b]", "a[-1]", "a[1:2]",
            "a[-2:]", "a[:3]", "a?.b", "**",
            "a.**.b", "*_id", "a*", "{a}", "{{a}}", "<a>", "a,b", "a.#.b", "$request.body",
        ] as [String])
    func foreignPaths(path: String) throws {
        let text = "'\(path.replacing("'", with: "''"))'"
        #expect(
            try codes("match: /a, request: { decode: json, encode: form, map: { remove: [\(text)] } }") == [
                "field_path_foreign"
            ])
        #expect(
            try codes("match: /a, response: { status_from: { path: \(text), map: { 0: 200 } } }") == [
                "field_path_foreign"
            ])
    }

    @Test(
        "paths of fields that are fine",
        arguments: [
            "a.b", "a[*].b", "a.*", "*", "a[0]", "$ref", "@type", "#text", "$schema.a", "a-b", "a b", "user[name]",
            "a/b", "a:b", "_id",
            "-a", "a.0", "\"*\"", "\"x.y\"", "-xsi:type", "-", "hours[08:30]", "2026-12-01", "Are you sure?",
            "E-mail *",
            "Name, first name",
        ] as [String])
    func ownPaths(path: String) throws {
        #expect(try codes("match: /a, request: { decode: json, encode: form, map: { remove: ['\(path)'] } }").isEmpty)
    }

    @Test(
        "values of a map",
        arguments: [
            ("'{{b}}'", "template_literal"), ("'%{b}'", "template_literal"), ("'#{b}'", "template_literal"),
            ("'$(b)'", "template_literal"), ("'{b}'", nil), ("'100%'", nil), ("'{\"a\":{\"b\":1}}'", nil),
            ("'a}} {{'", "template_literal"),
        ] as [(String, String?)])
    func mapValues(value: String, code: String?) throws {
        #expect(
            try codes("match: /a, request: { decode: json, encode: form, map: { set: { a: \(value) } } }")
                == [code].compactMap(\.self))
    }

    @Test(
        "rules for fields of a body that has none",
        arguments: [
            ("decode: raw, encode: json, fields: { a: number }", 1),
            ("decode: raw, encode: json, fields: { file: string }", 0),
            ("decode: raw, encode: json, map: { remove: [a] }", 1),
            ("decode: raw, encode: json, map: { rename: { file: a } }, fields: { a: string }", 0),
            ("decode: { as: text, field: t }, encode: json, fields: { t: number }", 0),
            ("decode: { as: text, field: t }, encode: json, fields: { u: number, v: number }", 2),
            ("decode: { as: text, field: t }, encode: json, map: { set: { n: '1' } }, fields: { n: number }", 0),
            ("decode: text, encode: json, fields: { t: number }", 1),
            ("decode: form, encode: json, fields: { t: number }", 0),
        ] as [(String, Int)])
    func unread(request: String, count: Int) throws {
        #expect(try codes("match: /a, request: { \(request) }") == Array(repeating: "fields_unread", count: count))
    }

    @Test(
        "secrets that stand for others",
        arguments: [
            ("bearer: $API_TOKEN_OF_MINE", "secret_like_reference"),
            ("bearer: 'env:API_TOKEN_OF_MINE'", "secret_like_reference"),
            ("bearer: '{{ api_token_of_mine }}'", "secret_like_reference"),
            ("bearer: '<a token of sixteen bytes>'", "secret_like_reference"),
            ("bearer: 'Bearer a-token-of-bytes'", "bearer_scheme"), ("bearer: 0123456789abcdef", nil),
            ("bearer: '$2y-a-token-of-bytes'", nil), ("basic: { ada: $PASSWORD_OF_SIXTEEN }", "secret_like_reference"),
        ] as [(String, String?)])
    func secrets(authorize: String, code: String?) throws {
        #expect(try codes("match: /a, authorize: { \(authorize) }") == [code].compactMap(\.self))
    }

    @Test("a host that is called as the upstream itself is", arguments: [("origin", false), ("client", true)])
    func ownHost(host: String, isFound: Bool) throws {
        let warnings = try SettingsTestFile.parse(
            """
            version: 1
            listen: 127.0.0.1:8080
            upstreams: { app: "origin:3000" }
            routes:
              - { name: a, upstream: app, match: /a, host: \(host) }
            """
        ).notes.filter { $0.severity == .warning }
        #expect(warnings.map(\.code) == (isFound ? ["host_like_word"] : []))
    }

    @Test("gRPC's port of collectors")
    func tracing() throws {
        for (port, codes) in [(4317, ["tracing_port"]), (4318, [])] as [(Int, [String])] {
            #expect(try self.codes("match: /a", lines: "tracing: { endpoint: \"http://127.0.0.1:\(port)\" }") == codes)
        }
    }
}
