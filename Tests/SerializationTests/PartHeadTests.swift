import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// What the heads of text parts say besides names goes on with the texts, also where these go through a tree.
@Suite("Heads of text parts")
struct PartHeadTests {
    /// A part `name|type|content`, with a header of its own where it has a type.
    static func body(_ parts: String...) -> String {
        parts.map { part in
            let pieces = part.split(separator: "|", omittingEmptySubsequences: false)
            let lines = pieces[1].isEmpty ? "" : "\r\nContent-Type: \(pieces[1])\r\nX-Meta: m"
            return "--b\r\nContent-Disposition: form-data; name=\"\(pieces[0])\"\(lines)\r\n\r\n\(pieces[2])\r\n"
        }.joined() + "--b--\r\n"
    }

    static let parts = body("b|text/x|1", "a||2", "l[]|text/y|3", "l[]||4", "o[k]|application/json|{}")
    static let passed = "b:text/x=1|a=2|l[]:text/y=3|l[]=4|o[k]:application/json={}"

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var expected: String
        /// Parts that go out with the header of their own.
        var headers: Int
        var body = PartHeadTests.parts
        var change: @Sendable (inout ConversionPlan) -> Void = { _ in }
    }

    static let rows: [Row] = [
        Row(testDescription: "streaming", expected: passed, headers: 3),
        Row(testDescription: "a map, streaming", expected: passed.replacing("b:", with: "z:"), headers: 3) {
            $0.map.rename = [.init(from: path("b"), to: path("z"))]
        },
        Row(
            testDescription: "order: sorted",
            expected: "a=2|b:text/x=1|l[]:text/y=3|l[]=4|o[k]:application/json={}", headers: 3
        ) { $0.fieldEncoding.order = .sorted },
        // Dialects that hold a document, of which elements may be written past the events.
        Row(
            testDescription: "dialect: afnetworking",
            expected: "a=2|b:text/x=1|l[]:text/y=3|l[]=4|o[k]:application/json={}", headers: 3
        ) { ($0.rewritesNames, $0.fieldEncoding) = (true, FieldEncodingOptions(dialect: .afnetworking)) },
        Row(
            testDescription: "dialect: alamofire",
            expected: "a=2|b:text/x=1|l[]:text/y=3|l[]=4|o[k]:application/json={}", headers: 3
        ) { ($0.rewritesNames, $0.fieldEncoding) = (true, FieldEncodingOptions(dialect: .alamofire)) },
        Row(
            testDescription: "dialect: php, order: sorted",
            expected: "a=2|b:text/x=1|l[0]:text/y=3|l[1]=4|o[k]:application/json={}", headers: 3
        ) {
            ($0.rewritesNames, $0.fieldEncoding) = (true, FieldEncodingOptions(dialect: .php))
            $0.fieldEncoding.order = .sorted
        },
        Row(
            testDescription: "arrays: indices",
            expected: "b:text/x=1|a=2|l[0]:text/y=3|l[1]=4|o[k]:application/json={}", headers: 3
        ) { ($0.rewritesNames, $0.fieldEncoding.arrays) = (true, .indices) },
        Row(
            testDescription: "arrays: repeat",
            expected: "b:text/x=1|a=2|l:text/y=3|l=4|o[k]:application/json={}", headers: 3
        ) { ($0.rewritesNames, $0.fieldEncoding.arrays) = (true, .repeated) },
        Row(testDescription: "nesting: dots", expected: passed.replacing("o[k]", with: "o.k"), headers: 3) {
            ($0.rewritesNames, $0.fieldEncoding.nesting) = (true, .dots)
        },
        // What is joined is several parts no more, and a text in a text is none.
        Row(
            testDescription: "arrays: comma", expected: "b:text/x=1|a=2|l=3,4|o[k]:application/json={}", headers: 2
        ) { ($0.rewritesNames, $0.fieldEncoding.arrays) = (true, .comma) },
        Row(
            testDescription: "arrays: json", expected: #"b:text/x=1|a=2|l=["3","4"]|o[k]:application/json={}"#,
            headers: 2
        ) { ($0.rewritesNames, $0.fieldEncoding.arrays) = (true, .json) },
        Row(
            testDescription: "nesting: json", expected: #"b:text/x=1|a=2|l=["3","4"]|o={"k":"{}"}"#, headers: 1
        ) { ($0.rewritesNames, $0.fieldEncoding.nesting) = (true, .json) },
        Row(
            testDescription: "parts",
            expected: #"b:text/x=1|a=2|l:application/json=["3","4"]|o[k]:application/json={}"#,
            headers: 2
        ) { $0.jsonParts = [path("l")] },
        Row(
            testDescription: "a text of JSON that becomes one again", expected: #"p:application/json={"x":[1]}"#,
            headers: 1,
            body: body(#"p|application/json|{"x": [1]}"#)
        ) {
            ($0.fieldDecoding.nesting, $0.fieldEncoding.nesting, $0.rewritesNames) = (.json, .json, true)
        },
        Row(
            testDescription: "and one that becomes several parts", expected: "p[x][]=1|p[x][]=2", headers: 0,
            body: body(#"p|application/json|{"x": [1,2]}"#)
        ) { ($0.fieldDecoding.nesting, $0.rewritesNames) = (.json, true) },
        Row(
            testDescription: "json_parts: parse", expected: #"p={"x":1}|q=t"#, headers: 0,
            body: body(#"p|application/json|{"x": 1}"#, #"q|application/json|"t""#).replacing(
                "name=\"p\"", with: "name=\"p\"")
        ) {
            // What is no text of JSON any more must not be called one.
            $0.fieldDecoding.jsonParts = .parse
            $0.jsonParts = []
            $0.fieldEncoding.nesting = .brackets
            $0.map.set = [.init(path: path("p"), value: .literal(.string(#"{"x":1}"#)))]
        },
        // Types.
        Row(testDescription: "fields", expected: passed.replacing("a=", with: "a[]="), headers: 3) {
            $0.types = [
                TypeRule(path: path("b"), type: .integer), TypeRule(path: path("a"), type: .array),
                TypeRule(path: path("l[*]"), type: .number),
            ]
        },
        Row(testDescription: "types: safe", expected: passed, headers: 3) { $0.fieldDecoding.types = .safe },
        Row(
            testDescription: "a type of JSON, written as such", expected: #"o={"k":{}}"#, headers: 0,
            body: body("o[k]|application/json|{}")
        ) {
            $0.types = [TypeRule(path: path("o.k"), type: .json)]
            ($0.rewritesNames, $0.fieldEncoding.nesting) = (true, .json)
        },
        Row(
            testDescription: "a type of JSON in a part of its own", expected: #"k:application/json={"x":1}"#,
            headers: 1,
            body: body(#"k|application/json|{"x":1}"#)
        ) {
            $0.types = [TypeRule(path: path("k"), type: .json)]
            ($0.rewritesNames, $0.fieldEncoding.nesting) = (true, .json)
        },
        Row(
            testDescription: "duplicates: last", expected: "b:text/y=2", headers: 1,
            body: body("b|text/x|1", "b|text/y|2")
        ) {
            $0.fieldDecoding.duplicates = .last
        },
        Row(
            testDescription: "repeated", expected: "b[]:text/x=1|b[]:text/y=2", headers: 2,
            body: body("b|text/x|1", "b|text/y|2")
        ) {
            $0.fieldEncoding.order = .sorted
        },
        Row(testDescription: "append", expected: "b[]:text/x=1|b[]=9", headers: 1, body: body("b|text/x|1")) {
            $0.map.append = [.init(path: path("b"), value: .literal(.string("9")))]
        },
        Row(
            testDescription: "auto", expected: "f:f:c/d=z|b:text/x=1", headers: 1,
            body: body("b|text/x|1").replacing(
                "--b--",
                with:
                    "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\nContent-Type: c/d\r\n\r\nz\r\n--b--"
            )
        ) {
            $0.outputWithoutFiles = .form
            $0.fieldEncoding.order = .sorted
        },
    ]

    @Test("a text part keeps its head where it stays a part of its own", arguments: rows)
    func kept(_ row: Row) {
        let plan = plan(.multipart, .multipart, row.change)
        let body = Array(row.body.utf8)
        for cut in [Cut.whole(body), .every(1, of: body), .every(7, of: body)] {
            let run = ConversionRun.run(plan, cut)
            #expect(run.failure == nil)
            #expect(summary(ofMultipart: run.output.bytes) == row.expected)
            let text = String(decoding: run.output.bytes, as: UTF8.self)
            #expect(text.split(separator: "X-Meta: m").count - 1 == row.headers)
        }
    }

    @Test("under each dialect, held documents and others", arguments: Dialect.allCases)
    func dialects(_ dialect: Dialect) {
        for order in [MemberOrder.input, .sorted] {
            let plan = plan(.multipart, .multipart) {
                $0.fieldEncoding = FieldEncodingOptions(dialect: dialect)
                $0.fieldEncoding.order = order
                $0.rewritesNames = true
            }
            let body = Array(Self.body("b|text/x|1", "a||2", "c|text/z|3").utf8)
            let run = ConversionRun.run(plan, .whole(body))
            let parts = summary(ofMultipart: run.output.bytes).split(separator: "|").sorted()
            #expect(parts == ["a=2", "b:text/x=1", "c:text/z=3"], "\(dialect) \(order)")
        }
    }

    @Test("a reader's dialect leaves heads where they are", arguments: Dialect.allCases)
    func readers(_ dialect: Dialect) {
        let plan = plan(.multipart, .multipart) { $0.fieldDecoding = FieldDecodingOptions(dialect: dialect) }
        #expect(convert(plan, Self.body("b|text/x|1", "a||2", "c|text/z|3")) == "b:text/x=1|a=2|c:text/z=3")
    }

    @Test("heads count against the tree's limit, at n - 1, n and n + 1")
    func limit() {
        func least(_ body: String) -> Int {
            (1...2000).first { tree in
                let plan = plan(.multipart, .multipart) {
                    $0.fieldEncoding.order = .sorted
                    $0.limits.tree = tree
                }
                return ConversionRun.run(plan, .whole(Array(body.utf8))).failure == nil
            } ?? 0
        }
        let plain = least(Self.body("b||1"))
        // A node, and the bytes of both headers but for the name of the first.
        #expect(least(Self.body("b|text/x|1")) == plain + Tree.nodeCost + "text/xX-Metam".utf8.count)
        #expect(plain > 0)
    }

    @Test("after restart, nothing is left of another body's heads")
    func restart() throws {
        let plan = plan(.multipart, .multipart) { $0.fieldEncoding.order = .sorted }
        let type = Array("multipart/form-data; boundary=b".utf8)
        let conversion = try Conversion.make(plan: plan, contentType: type.span)
        for (body, count) in [
            (Self.body("b|text/x|1"), 1), (Self.body("b||1"), 0), (Self.body("a||1", "b|text/y|2"), 1),
        ] {
            try conversion.restart(contentType: type.span, sources: [])
            let output = try conversion.convert(Array(body.utf8)) + conversion.convertEnd()
            #expect(String(decoding: output, as: UTF8.self).split(separator: "X-Meta").count - 1 == count)
        }
    }
}
