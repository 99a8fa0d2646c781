import Proxy
import Settings
import Testing
import Transcoding

/// `examples` in routes: what can be wrong with one, and what they say when they run.
@Suite struct ExampleTests {
    private static func route(_ request: String, _ example: String) -> String {
        """
          - name: r
            match: "/orders/{id}"
            upstream: app
            request: \(request)
            examples: \(example)
        """
    }

    @Test(
        "what is wrong with an example is reported with line and column",
        arguments: [
            ("json -> form", "[]", "9:15: \"examples\" is a list of at least one example, as in [{in: …, out: …}]"),
            (
                "json -> form", "{ in: {} }",
                "9:15: \"examples\" is a list of at least one example, as in [{in: …, out: …}]"
            ),
            ("json -> form", "[x]", "9:16: an example is a mapping of keys to values, not a single value"),
            ("json -> form", "[{ out: {} }]", "9:16: an example needs \"in\" or \"in_fields\""),
            (
                "form -> json", "[{ in: a=1, in_fields: [a=1], out: {} }]",
                "9:38: an example has one of \"in\" or \"in_fields\", not more"
            ),
            (
                "json -> form", "[{ in: {} }]",
                "9:16: an example needs \"out\", \"out_fields\", \"out_text\" or \"error\""
            ),
            (
                "json -> form", "[{ in: {}, out: {}, error: x }]",
                "9:42: an example has one of \"out\", \"out_fields\", \"out_text\" or \"error\", not more"
            ),
            (
                "json -> form", "[{ in: {}, outs: {}, out: {} }]",
                "9:26: an example has no key \"outs\": did you mean \"out\"?"
            ),
            ("json -> form", "[{ in_fields: [a=1], out: {} }]", "9:29: \"in_fields\" is for form and multipart input"),
            ("form -> json", "[{ in_fields: [a], out: {} }]", "9:30: \"a\" has no \"=\": write NAME=VALUE"),
            (
                "form -> json", "[{ in: a=1, out_fields: [a=1] }]",
                "9:39: \"out_fields\" is for form and multipart output: write \"out\" for json"
            ),
            (
                "form -> multipart", "[{ in: a=1, out_text: x }]",
                "9:37: every multipart body has a boundary of its own: write \"out_fields\" or \"out\""
            ),
            (
                "form -> bplist", "[{ in: a=1, out_text: x }]",
                "9:37: a body in bplist is no text: write \"out\""
            ),
            ("form -> raw", "[{ in: a=1, out: {} }]", "9:32: a raw body has no structure: write \"out_text\""),
            ("raw -> multipart", "[{ in: {a: 1}, out: {} }]", "9:22: a raw body is a text"),
            (
                "auto -> json", "[{ in: a=1, out: {} }]",
                "9:22: with the input auto, say what the text is, as in type: application/json"
            ),
            (
                "multipart -> json", "[{ in: x, out: {} }]",
                "9:22: multipart is read by its boundary: say type: multipart/form-data; boundary=…"
            ),
            ("json -> form", "[{ in: {}, error: Field }]", "9:33: \"error\" is a code, as in field_null"),
            (
                "json -> form", "[{ in: {a: yes}, out: {} }]",
                "9:26: \"yes\" is not clear: write true, false or null, or the text in quotes"
            ),
            ("json -> form", "[{ in: {}, path: orders, out: {} }]", "9:32: a path begins with a slash"),
            (
                "json -> form", "[{ in: {}, path: /other, out: {} }]",
                "9:16: the route's path /orders/{id} doesn't take /other"
            ),
            (
                "json -> form", "[{ in: {}, query: \"?a=1\", out: {} }]",
                "9:33: a query is written without the question mark"
            ),
            ("json -> form", "[{ in: {}, header: { \"a b\": x }, out: {} }]", "9:36: \"a b\" is no name of a header"),
            (
                "json -> form", "[{ in: {}, header: { Content-Type: x }, out: {} }]",
                "9:36: the Content-Type of an example is its \"type\""
            ),
            (
                "json -> form", "[{ in: {}, header: x, out: {} }]",
                "9:34: \"header\" is a mapping of keys to values, not a single value"
            ),
        ])
    func mistakes(request: String, example: String, mistake: String) {
        #expect(SettingsTestFile.mistakesOfRoutes(Self.route(request, example)) == [mistake])
    }

    @Test("examples of a route that converts nothing are a mistake")
    func forward() {
        let routes = "  - { name: r, match: /r, upstream: app, examples: [{ in: x, out: x }] }"
        #expect(
            SettingsTestFile.mistakesOfRoutes(routes)
                == ["5:52: \"examples\" are for routes that convert: add \"request\" or remove them"])
    }

    /// What fails when the example runs; empty when nothing does.
    private static func failures(_ routes: String) throws -> [String] {
        let file = try SettingsTestFile.parseRoutes(routes)
        do {
            try file.runExamples()
            return []
        } catch {
            return error.all.map(\.description)
        }
    }

    @Test(
        "an example whose output is what it says passes",
        arguments: [
            (
                "json -> multipart(arrays: indices)",
                "[{ in: { items: [ { sku: A, qty: 2 } ] }, out_fields: [ \"items[0][sku]=A\", \"items[0][qty]=2\" ] }]"
            ),
            ("json -> form", "[{ in: { a: 1.50, b: true }, out: { b: true, a: 1.50 } }]"),
            ("json -> form", "[{ in: { a: 1 }, out_text: a=1 }, { in: { a: [] }, error: field_empty }]"),
            ("json -> json", "[{ in: '{\"a\": 1.0}', out: { a: 1.0 } }, { in: { b: 1, a: 2 }, out: { a: 2, b: 1 } }]"),
            ("json -> json", "[{ in: \"{\", error: json_unexpected_end }]"),
            ("form -> json", "[{ in_fields: [ \"a[b]=x y&\", \"c=\" ], out: { a: { b: \"x y&\" }, c: \"\" } }]"),
            (
                "form -> json",
                "[{ in: { a: [x, z] }, out: { a: [x, z] } }, { in: \"a=%20\", out: { a: \" \" } }, { in: null, out: {} }]"
            ),
            ("multipart -> json", "[{ in_fields: [ \"a[]=x\", \"a[]=z\" ], out: { a: [x, z] } }]"),
            ("multipart -> form", "[{ in: { a: x }, out_fields: [ a=x ] }]"),
            (
                "multipart -> form",
                "[{ type: multipart/form-data; boundary=b, in: \"--b\\r\\nContent-Disposition: form-data; name=a\\r\\n\\r\\nx\\r\\n--b--\\r\\n\", out_fields: [ a=x ] }]"
            ),
            (
                "xml -> json",
                "[{ in: <a>x</a>, out: { a: x } }, { in: { a: { \"@b\": c } }, out: { a: { \"@b\": c } } }]"
            ),
            (
                "json -> xml",
                "[{ in: { a: 1 }, out: { a: 1 } }, { in: { a: 1 }, out_text: \"<?xml version=\\\"1.0\\\" encoding=\\\"UTF-8\\\"?>\\n<a>1</a>\" }]"
            ),
            ("json -> plist", "[{ in: { a: [1, true] }, out: { a: [1, true] } }]"),
            ("plist -> json", "[{ in: { a: [1, true] }, out: { a: [1, true] } }]"),
            (
                "auto -> json",
                "[{ in: { a: x }, out: { a: x } }, { type: application/x-www-form-urlencoded, in: a=x, out: { a: x } }]"
            ),
            (
                "auto -> json",
                "[{ in_fields: [ a=x ], out: { a: x } }, { type: text/csv, in: x, error: unsupported_media_type }]"
            ),
            ("query -> json", "[{ in: a=x, out: { a: x } }]"),
            ("text -> json", "[{ in: hello, out: hello }]"),
            ("raw -> multipart", "[{ in: hello, out_fields: [ file=hello ] }]"),
        ])
    func passing(request: String, examples: String) throws {
        #expect(try Self.failures(Self.route("\"\(request)\"", examples)) == [])
    }

    @Test(
        "an example whose output is something else fails at its place, with both",
        arguments: [
            (
                "json -> form", "{ in: { a: 1 }, out_fields: [ a=2 ] }",
                "expected [\"a=2\"], got [\"a=1\"]"
            ),
            ("form -> json", "{ in: a=1, out: { a: 1 } }", "expected {\"a\":1}, got {\"a\":\"1\"}"),
            ("json -> json", "{ in: { a: 1.0 }, out: { a: 1 } }", "expected {\"a\":1}, got {\"a\":1.0}"),
            ("json -> json", "{ in: { a: [1, 2] }, out: { a: [2, 1] } }", "expected {\"a\":[2,1]}, got {\"a\":[1,2]}"),
            ("json -> form", "{ in: { a: x }, out_text: a=y }", "expected \"a=y\", got \"a=x\""),
            (
                "json -> form", "{ in: { a: x }, error: field_null }",
                "expected the error field_null, got a body without an error: a=x"
            ),
            (
                "json -> form", "{ in: { a: [] }, out: {} }",
                "expected {}, got the error an empty array or object has no form here; choose empties: omit or marker, field \"a\" [field_empty]"
            ),
        ])
    func failing(request: String, example: String, failure: String) throws {
        #expect(
            try Self.failures(Self.route(request, "[\(example)]"))
                == ["9:16: the example of the route \"r\" fails: \(failure)"])
    }

    @Test("what a route takes from the head comes from the example; absent is as in a request without it")
    func sources() throws {
        let routes = """
              - name: r
                match: "/orders/{id}"
                upstream: app
                request:
                  decode: { as: json }
                  map:
                    set: { tenant: "${header.x-tenant}", id: "${path.id}", q: "${query.q}", ip: "${client.ip}" }
                  encode: { as: form }
                examples:
                  - in: {}
                    path: /orders/7%20a
                    query: q=a+b
                    client: 192.0.2.1
                    header: { X-Tenant: acme }
                    out_fields: [ tenant=acme, "id=7 a", "q=a b", ip=192.0.2.1 ]
                  - in: {}
                    out_fields: [ tenant=, id=id, q=, ip=127.0.0.1 ]
            """
        #expect(try Self.failures(routes) == [])
    }

    @Test("a body that the route passes on is compared as it came")
    func passed() throws {
        let routes = """
              - name: r
                match: /r
                upstream: app
                on_other_type: pass
                request: json -> form
                examples: [{ type: text/csv, in: "a,b", out_text: "a,b" }]
            """
        #expect(try Self.failures(routes) == [])
    }

    @Test("a sample request goes where the route's rewrite leads")
    func target() throws {
        let file = try SettingsTestFile.parseRoutes(
            """
              - name: r
                match: { path: "/orders/{id}/*", method: PUT }
                upstream: app
                rewrite: { path: "/x/${path.id}", query: { t: "${header.t}" } }
                request: json -> form
            """)
        var request = SampleRequest()
        #expect(try request.values(for: file.settings.routes[0]).target == "/x/id?t=")
        request.path = "/orders/7/a/b"
        request.query = "q=1&t=0"
        request.headers = [.init(name: "T", value: "a b")]
        let values = try request.values(for: file.settings.routes[0])
        #expect(values.method == "PUT")
        #expect(values.target == "/x/7?q=1&t=a%20b")
        request.headers = [.init(name: "T", value: "a\r\nb")]
        #expect(throws: SampleRequest.Fault.self) { try request.values(for: file.settings.routes[0]) }
    }
}
