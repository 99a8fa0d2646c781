import Gateway
import Settings
import Testing

/// What `check` warns of: rules for pictures and for envelopes that can never do what they say.
@Suite struct BodyNoteTests {
    /// Warnings, and the notes of pictures.
    private func notes(_ route: String) throws -> [String] {
        try SettingsTestFile.parseRoutes("  - { name: a, upstream: app, \(route) }").notes
            .filter { $0.severity == .warning || $0.code.hasPrefix("image") }
            .map { "\($0.line):\($0.column) \($0.severity.rawValue) \($0.code)" }
    }

    @Test(
        "a type that is let in, and that the conversion doesn't read",
        arguments: [
            ("text/html", "json -> form", true), ("application/json", "json -> form", false),
            ("application/vnd.api+json", "json -> form", false), ("'*/*'", "json -> form", false),
            ("'application/*'", "json -> form", false), ("'text/*'", "json -> form", false),
            ("text/json", "json -> form", false),
            ("'text/*'", "form -> json", true), ("'image/*'", "xml -> json", false),
            ("image/svg+xml", "xml -> json", false),
            ("'application/*'", "text -> json", true), ("'*/*'", "multipart -> json", false),
            ("'text/*'", "xml -> json", false), ("'multipart/*'", "multipart -> json", false),
            ("'multipart/*'", "form -> json", true), ("'multipart/*'", "json -> form", true),
            ("'image/*'", "form -> json", true),
            ("text/plain", "text -> json", false), ("application/x-www-form-urlencoded", "form -> json", false),
            ("application/x-plist", "bplist -> json", false),
            ("[application/json, text/html]", "json -> form", true),
            (
                "[application/json, text/html]",
                "{ decode: { as: json }, encode: { as: form }, on_other_type: pass }", false
            ),
            ("text/html", "{ decode: { as: json }, encode: { as: form }, on_other_type: pass }", true),
            ("[application/json, multipart/form-data]", "{ decode: { as: auto }, encode: { as: form } }", false),
        ])
    func matchTypes(types: String, conversion: String, isNoted: Bool) throws {
        let found = try notes("match: { path: /a, type: \(types) }, request: \(conversion)")
        #expect(found == (isNoted ? ["5:13 warning match_type"] : []))
    }

    @Test(
        "a key that nothing of its route heeds",
        arguments: [
            ("codings: [gzip]", ["5:52"]), ("codings: off", []), ("codings: { ask: true }", ["5:52"]),
            ("codings: [gzip], request: form -> json", []), ("codings: [gzip], response: form -> json", []),
            ("codings: [gzip], response: { status_from: code }", []),
            ("codings: [gzip], response: { pass: true }", ["5:52"]),
            ("codings: [gzip], verify: 'github(secret: 0123456789abcdef)'", []),
            ("no_transform: convert", ["5:52"]), ("no_transform: pass", []),
            ("no_transform: convert, response: form -> json", ["5:52"]),
            ("no_transform: convert, request: form -> json", []),
            ("limits: { signed: 1MiB, body: 1MiB, response: 1MiB }", ["5:62", "5:88"]),
            ("limits: { signed: 1MiB }, verify: 'github(secret: 0123456789abcdef)'", []),
            ("limits: { signed: 1MiB }, sign: 'github(secret: 0123456789abcdef)'", []),
            ("limits: { response: 1MiB }, response: form -> json", []),
            ("limits: { response: 1MiB }, response: { problem: true }", []),
        ])
    func unused(keys: String, places: [String]) throws {
        let route = "match: { path: /a }, \(keys)"
        #expect(try notes(route) == places.map { "\($0) warning key_unused" })
        // What is said for all routes is for those that heed it.
        let file = try SettingsTestFile.parse(
            """
            version: 1
            listen: 127.0.0.1:8080
            upstreams: { app: 127.0.0.1:3000 }
            defaults: { codings: [gzip], no_transform: convert, limits: { signed: 1MiB, response: 1MiB } }
            routes: [{ name: a, match: /a, upstream: app }]
            """)
        #expect(!file.notes.contains { $0.code == "key_unused" })
    }

    @Test(
        "an option of an output that is about values which never come",
        arguments: [
            ("form -> json(booleans: numeric)", true), ("form(types: safe) -> json(booleans: numeric)", false),
            ("form -> json(booleans: literal)", false), ("json -> form(booleans: numeric)", false),
            ("auto -> json(booleans: numeric)", false),
            ("multipart(json_parts: parse) -> form(booleans: numeric)", false),
            ("xml -> json(booleans: numeric)", true), ("xml(recognize: booleans) -> json(booleans: numeric)", false),
            ("form -> json(remove_nulls: keys)", true), ("form(nulls: key) -> json(remove_nulls: keys)", false),
            ("form -> json(remove_nulls: off)", false), ("plist -> json(remove_nulls: deep)", true),
            ("json -> json(remove_nulls: true)", false), ("multipart -> form(remove_nulls: deep)", true),
            // An input for files in which none was chosen.
            ("multipart -> json(remove_nulls: deep)", false),
            ("text(field: a) -> json(order: sorted)", true), ("form -> json(order: sorted)", false),
            ("raw -> multipart(order: sorted)", true), ("xml -> json(order: sorted)", false),
            ("{ decode: form, fields: { a: boolean }, encode: { as: json, booleans: numeric } }", false),
            ("{ decode: form, fields: { a: json }, encode: { as: json, remove_nulls: deep } }", false),
            ("{ decode: form, map: { set: { a: [{ b: true }] } }, encode: { as: json, booleans: numeric } }", false),
            ("{ decode: form, map: { set: { a: null } }, encode: { as: json, remove_nulls: keys } }", false),
            ("{ decode: form, map: { set: { a: b } }, encode: { as: json, remove_nulls: keys } }", true),
            (
                "{ decode: form, fields: { a: integer }, blanks: null, encode: { as: json, remove_nulls: keys } }",
                false
            ),
            ("{ decode: { as: text, field: a }, map: { set: { b: c } }, encode: { as: json, order: sorted } }", false),
        ])
    func idle(conversion: String, isNoted: Bool) throws {
        let quoted = conversion.hasPrefix("{") ? conversion : "'\(conversion)'"
        for key in ["request", "response"] {
            let file = try SettingsTestFile.parseRoutes("  - { name: a, upstream: app, match: /a, \(key): \(quoted) }")
            let found = file.notes.filter { $0.code == "key_unused" }
            #expect(found.count == (isNoted ? 1 : 0), "\(key): \(found)")
            #expect(found.allSatisfy { $0.severity == .warning && $0.line == 5 })
            #expect(found.allSatisfy { $0.subject == (key == "request" ? "route a" : "route a, response") })
        }
    }

    @Test(
        "what an idle option is for, where it stands, and what the input has that would use it",
        arguments: [
            ("form -> json(booleans: numeric)", "booleans", "types: safe, or a field of the type boolean or json", 65),
            (
                "xml -> json(booleans: numeric)", "booleans",
                "recognize: booleans, or a field of the type boolean or json", 64
            ),
            ("raw -> multipart(booleans: numeric)", "booleans", "a field of the type boolean or json", 69),
            ("form -> json(remove_nulls: keys)", "nulls", "nulls: key, blanks: null, or a field of the type json", 65),
            (
                "xml(empty: string) -> json(remove_nulls: keys)", "nulls",
                "empty: null, recognize: nulls, blanks: null, or a field of the type json", 79
            ),
            ("plist -> json(remove_nulls: keys)", "nulls", "blanks: null, or a field of the type json", 66),
            ("raw -> multipart(order: sorted)", "the order of several fields", "an input that has more than one", 69),
        ])
    func idleText(conversion: String, use: String, remedies: String, column: Int) throws {
        let route = "  - { name: a, upstream: app, match: /a, request: '\(conversion)' }"
        let found = try #require(SettingsTestFile.parseRoutes(route).notes.first { $0.code == "key_unused" })
        #expect(found.message.hasSuffix("is for \(use), and none of them can come here"))
        #expect(found.hint == "it counts with \(remedies)")
        #expect(found.description == "route a: \(found.message); it counts with \(remedies)")
        #expect(found.column == column)
    }

    @Test("an idle option of one of several response rules is that rule's")
    func idleInSecond() throws {
        let rules = "[{ when: { status: 4xx }, pass: true }, { convert: 'form -> json(booleans: numeric)' }]"
        let file = try SettingsTestFile.parseRoutes("  - { name: a, upstream: app, match: /a, response: \(rules) }")
        #expect(file.notes.filter { $0.code == "key_unused" }.map(\.subject) == ["route a, response 2"])
    }

    @Test(
        "a name that a rename can't write",
        arguments: [(1024, true), (1025, false)])
    func longName(count: Int, isFine: Bool) {
        let name = String(repeating: "n", count: count)
        for (conversion, isBounded) in [("form", true), ("multipart", true), ("json", false)] {
            let mistakes = SettingsTestFile.mistakesOfRoutes(
                "  - { name: a, upstream: app, match: /a, "
                    + "request: { decode: form, map: { rename: { a: \(name) } }, encode: \(conversion) } }")
            let expected =
                "5:51: \"map.rename\" (\"a\"): the new name is longer than 1024 bytes (limits.key), so that no field can "
                + "have it"
            #expect(mistakes == (isFine || !isBounded ? [] : [expected]), "\(conversion)")
        }
    }

    @Test(
        "a rule of responses whose conversion never comes to its work",
        arguments: [
            ("convert: json -> xml", []), ("when: { status: 200, type: application/json }, convert: json -> xml", []),
            ("when: { status: 204 }, convert: json -> xml", ["response_unconverted"]),
            ("when: { status: [204-206, 304] }, convert: json -> xml", ["response_unconverted"]),
            ("when: { status: [204, 203] }, convert: json -> xml", []),
            ("when: { status: 2xx }, convert: json -> xml", []),
            ("when: { type: text/html }, convert: json -> xml", ["response_type"]),
            ("when: { type: [text/html, application/json] }, convert: json -> xml", []),
            ("when: { type: +json }, convert: json -> xml", []),
            ("when: { type: +xml }, convert: json -> xml", ["response_type"]),
            ("when: { type: 'text/*' }, convert: json -> xml", []),
            ("when: { type: text/html }, convert: json -> xml, accept: { type: text/html }", []),
            ("when: { type: text/html }, convert: json -> xml, accept: { type: 'text/*' }", []),
            ("when: { type: 'text/*' }, convert: json -> xml, accept: { type: text/html }", []),
            ("when: { type: text/html }, convert: json -> xml, accept: { type: text/plain }", ["response_type"]),
            ("when: { status: 404 }, convert: json -> xml, accept: { status: 200 }", ["response_status"]),
            ("when: { status: [404, 200] }, convert: json -> xml, accept: { status: 200 }", []),
            ("when: { status: 4xx }, convert: json -> xml, accept: { status: [200, 404] }", []),
        ] as [(String, [String])])
    func responses(rule: String, codes: [String]) throws {
        #expect(try notes("match: /a, response: { \(rule) }") == codes.map { "5:13 warning \($0)" })
    }

    @Test("a type that is matched and not converted is no matter for a warning")
    func plainTypes() throws {
        #expect(try notes("match: { path: /a, type: text/html }") == [])
    }

    @Test(
        "trailers of requests that go on with a length",
        arguments: [
            ("framing: auto", "trailers: [X-Sum]", false), ("framing: length", "trailers: [X-Sum]", true),
            ("framing: chunked", "trailers: [X-Sum]", false), ("framing: length", "trailers: off", false),
            ("framing: length", "require_length: true", false),
            ("http: 2, framing: length", "trailers: [X-Sum]", false),
            ("framing: auto", "trailers: [X-Sum], verify: 'github(secret: a-long-enough-secret)'", true),
            ("framing: chunked", "trailers: [X-Sum], verify: 'github(secret: a-long-enough-secret)'", false),
            ("framing: auto", "trailers: [X-Sum], sign: 'github(secret: a-long-enough-secret)'", true),
            ("framing: chunked", "trailers: [X-Sum], sign: 'github(secret: a-long-enough-secret)'", false),
        ])
    func trailers(upstream: String, route: String, isNoted: Bool) throws {
        let file = try SettingsTestFile.parse(
            """
            version: 1
            listen: 127.0.0.1:8080
            upstreams: { app: { address: "127.0.0.1:9", \(upstream) } }
            routes: [ { name: a, match: /a, upstream: app, \(route) } ]
            """)
        let found = file.notes.filter { $0.code == "trailers_dropped" }
        #expect(found.map(\.severity) == (isNoted ? [.note] : []))
        #expect(found.allSatisfy { $0.route == "a" })
    }

    @Test(
        "a picture that never comes, or passes as it is",
        arguments: [
            ("match: /a", "multipart", "max: 60", "", ""),
            ("match: { path: /a, method: [GET, HEAD] }", "multipart", "max: 60", "", "warning image_without_body"),
            ("match: { path: /a, method: [GET, POST] }", "multipart", "max: 60", "", ""),
            ("match: /a", "auto", "max: 60", "", "warning image_unread"),
            ("match: /a", "json", "max: 60", "", ""),
            ("match: /a", "multipart", "max: 60", ", on_other_type: pass", "note image_passed"),
            ("match: /a", "multipart", "max: 60", ", map: { remove: [photo] }", "warning image_removed"),
            ("match: /a", "multipart", "max: 60", ", map: { remove: [other, photo.a] }", ""),
            ("match: /a", "multipart", "max: 60", ", map: { remove: ['*'] }", "warning image_removed"),
            ("match: /a", "multipart", "max: 60", ", map: { set: { photo: a } }", "warning image_removed"),
            // The one file of a raw body has a name of its own.
            ("match: /a", "raw", "max: 60", "", "warning image_field"),
            ("match: /a", "raw, field: photo", "max: 60", "", ""),
            ("match: /a", "raw, field: 'photo[a]'", "max: 60", "", ""),
            ("match: /a", "raw, field: image", "max: 60", "", "warning image_field"),
            ("match: /a", "raw", "max: 60", ", map: { rename: { file: photo } }", ""),
            ("match: /a", "raw, field: photo", "max: 60", ", map: { rename: { photo: a } }", "warning image_field"),
            ("match: /a", "raw, field: photo", "max: 60", ", map: { remove: [photo] }", "warning image_removed"),
        ])
    func pictures(match: String, input: String, image: String, more: String, expected: String) throws {
        let found = try notes(
            "\(match), request: { decode: { as: \(input) }, encode: { as: multipart, files: { photo: { image: { \(image) } } } }\(more) }"
        )
        #expect(found == (expected.isEmpty ? [] : ["5:13 \(expected)"]))
    }

    @Test(
        "types that let no picture in",
        arguments: [
            ("[application/pdf, image/gif]", true), ("[image/png, application/pdf]", false), ("image/*", false),
            ("'*/*'", false), ("application/octet-stream", false), ("image/jpg", false), ("image/svg+xml", true),
        ])
    func types(types: String, isNoted: Bool) throws {
        let found = try notes(
            "match: /a, request: { decode: { as: multipart }, encode: { as: multipart, files: { photo: { types: \(types), image: { max: 9 } } } } }"
        )
        #expect(found == (isNoted ? ["5:13 warning image_types"] : []))
    }

    @Test("base64 that is read is no matter for a warning, on whichever side it is said")
    func read() throws {
        let both = "files: { photo: { from: base64, image: { max: 9 } } }"
        #expect(try notes("match: /a, request: { decode: { as: auto }, encode: { as: multipart, \(both) } }") == [])
        #expect(try notes("match: /a, request: { decode: { as: json }, encode: { as: json, \(both) } }") == [])
    }

    @Test(
        "an envelope that is never looked at, and a map that never decides",
        arguments: [
            ("when: { status: 200 }, status_from: code", []),
            ("when: { status: 204 }, status_from: code", ["status_from_unseen"]),
            ("when: { status: [204, 304] }, status_from: code, problem: true", ["status_from_unseen"]),
            ("when: { status: [204, 200] }, status_from: code", []),
            ("when: { type: text/html }, status_from: code", ["status_from_type"]),
            ("when: { type: text/html }, status_from: { path: code, as: json }", []),
            ("when: { type: [text/html, application/json] }, status_from: code", []),
            ("when: { type: +json }, status_from: code", []),
            ("when: { type: +zip }, status_from: code", ["status_from_type"]),
            ("when: { type: 'text/*' }, status_from: code", []), ("when: { type: '*/*' }, status_from: code", []),
            ("when: { type: 'image/*' }, status_from: code", ["status_from_type"]),
            ("when: { status: 4xx, type: image/png }, problem: true", ["problem_type"]),
            ("status_from: { path: 'a[0]', as: xml }", []), ("status_from: { path: '[0].a', as: json }", []),
            ("status_from: { path: '[0].a', as: xml }", ["status_from_path"]),
            ("status_from: { path: '[0]', as: form }", ["status_from_path"]),
            ("status_from: { path: a, map: { 0: unchanged } }", ["status_from_unchanged"]),
            ("status_from: { path: a, map: { 0: unchanged }, default: 502 }", []),
            ("status_from: { path: a, map: { 0-9: 400, 3-9: 500 } }", ["status_from_covered"]),
            ("status_from: { path: a, map: { 3-9: 500, 0-9: 400 } }", []),
            ("status_from: { path: a, map: { 0-9: 400, 9-10: 500, 5: 404 } }", []),
            ("status_from: { path: a, map: { \(String(repeating: "x", count: 1024)): 400 } }", []),
            ("status_from: { path: a, map: { ? \(String(repeating: "x", count: 1025)) : 400 } }", ["status_from_long"]),
            ("when: { status: 2xx }, status_from: { path: a, map: { 0: 201 } }, problem: true", ["problem_never"]),
            ("when: { status: 2xx }, status_from: { path: a, map: { 0: 201 }, default: 502 }, problem: true", []),
            ("when: { status: 2xx }, status_from: a, problem: true", []),
            ("status_from: { path: a, map: { 0: 201 } }, problem: true", []),
        ] as [(String, [String])])
    func envelopes(rule: String, codes: [String]) throws {
        #expect(try notes("match: /a, response: { \(rule) }") == codes.map { "5:13 warning \($0)" })
    }

    @Test("answers to HEAD have no body")
    func head() throws {
        let rule = "response: [{ when: { status: 200 }, status_from: a }, { problem: true }]"
        #expect(
            try notes("match: { path: /a, method: HEAD }, \(rule)") == [
                "5:13 warning status_from_unseen", "5:13 warning problem_unseen",
            ])
        #expect(try notes("match: { path: /a, method: [HEAD, GET] }, \(rule)") == [])
    }

    @Test("the effective values of a picture, written and standard")
    func effective() throws {
        let file = try SettingsTestFile.parseRoutes(
            "  - name: a\n    match: /a\n    upstream: app\n    request:\n      decode: { as: multipart }\n"
                + "      encode: { as: multipart, files: { a.b: { image: { max: 9, height: 7, pixels: 2000k, metadata: drop } } } }"
        )
        let values = file.effectiveOfRoutes[0].filter { $0.key.contains(".image.") }
        #expect(
            values.map { "\($0.key.dropFirst("request.encode.files.".count)) = \($0.value)" } == [
                "a.b.image.max = 9", "a.b.image.height = 7", "a.b.image.quality = 85", "a.b.image.metadata = drop",
                "a.b.image.pixels = 2M", "a.b.image.on_other = reject",
            ])
        #expect(values.map { $0.origin == .standard } == [false, false, true, false, false, true])
        let short = try SettingsTestFile.parseRoutes(
            "  - { name: a, match: /a, upstream: app, response: { status_from: a.b } }")
        let shown = short.effectiveOfRoutes[0].filter { $0.key.contains("status_from") }
        #expect(
            shown.map { "\($0.key) = \($0.value)" } == [
                "response.status_from.path = a.b", "response.status_from.default = unchanged",
                "response.status_from.look = 64KiB",
            ])
    }
}
