import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// What a trace says of a body, and that it is what the conversion of the same body does.
@Suite struct ConversionTraceTests {
    /// A trace in one line for each entry: `from > to [rule, rule]`.
    private static func lines(_ trace: ConversionTrace) -> [String] {
        (trace.sent + trace.removed).map { entry in
            let kind = entry.isFile ? "file " : ""
            let rules = entry.rules.isEmpty ? "" : " [\(entry.rules.joined(separator: ", "))]"
            return "\(kind)\(entry.source ?? "-") > \(entry.target ?? "-")\(rules)"
        }
    }

    private static func trace(
        _ plan: ConversionPlan, _ body: String, sources: [String] = []
    ) throws -> ConversionTrace {
        let type = Array(ConversionRun.defaultType(plan.inputs[0]).utf8)
        return try ConversionTrace.make(
            plan: plan, contentType: type.span, sources: sources.map { Array($0.utf8) }, body: Array(body.utf8).span)
    }

    struct Sample: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var plan: ConversionPlan
        var body: String
        var lines: [String]
        var sources: [String] = []
    }

    static let samples: [Sample] = [
        Sample(
            testDescription: "names of arrays and objects",
            plan: plan(.json, .form) { $0.fieldEncoding.arrays = .indices },
            body: #"{"a":{"b":"x"},"c":["y",{"d":"z"}],"e":"w"}"#,
            lines: [
                "a.b > a[b] [nesting: brackets]", "c[0] > c[0] [arrays: indices]",
                "c[1].d > c[1][d] [arrays: indices, nesting: brackets]", "e > e",
            ]),
        Sample(
            testDescription: "a joined array and a JSON text have one name for all of their values",
            plan: plan(.json, .form) {
                $0.fieldEncoding.arrays = .comma
                $0.fieldEncoding.nesting = .json
            }, body: #"{"a":["x","","y"],"b":{"c":1,"d":[null]}}"#,
            lines: [
                "a[0] > a [arrays: comma]", "a[1] > a [arrays: comma]", "a[2] > a [arrays: comma]",
                "b.c > b [nesting: json]", "b.d[0] > b [arrays: comma, nesting: json]",
            ]),
        Sample(
            testDescription: "headers of text parts that go out with none",
            plan: plan(.multipart, .multipart) { ($0.rewritesNames, $0.fieldEncoding.arrays) = (true, .comma) },
            body: PartHeadTests.body("b|text/x|1", "l[]|text/y|2", "l[]||3"),
            lines: [
                "b > b", "l[] > l [arrays: comma, without Content-Type, X-Meta]", "l[] > l [arrays: comma]",
            ]),
        Sample(
            testDescription: "and of those that become a form, as they pass",
            plan: plan(.multipart, .form), body: PartHeadTests.body("b|text/x|1", "a||2"),
            lines: ["b > b [without Content-Type, X-Meta]", "a > a"]),
        Sample(
            testDescription: "parameters of a Content-Disposition that go no further",
            plan: plan(.multipart, .multipart) { $0.map.rename = [.init(from: path("b"), to: path("c"))] },
            body: PartHeadTests.body(
                "a\"; size=\"3|text/x|1", "f\"; Size=\"3\"; filename=\"x\"; creation-date=\"y||2", "b\"; q=\"|| 3",
                "d||4"),
            lines: [
                "a > a [without Content-Disposition's size]",
                "file f > f [without Content-Disposition's Size, creation-date]",
                "b > c [without Content-Disposition's q, map.rename b to c]", "d > d",
            ]),
        Sample(
            testDescription: "and in a document, beside other headers",
            plan: plan(.multipart, .json) { ($0.fieldDecoding.types, $0.fieldEncoding.files) = (.safe, .base64) },
            body: PartHeadTests.body("a\"; size=\"3|text/x|1", "f\"; filename=\"x\"; size=\"3||2"),
            lines: [
                "file f > f [without Content-Disposition's size, files: base64]",
                "a > a [without Content-Disposition's size, types: safe, without Content-Type, X-Meta]",
            ]),
        Sample(
            testDescription: "a text that is written as JSON again keeps them",
            plan: plan(.multipart, .multipart) {
                ($0.fieldDecoding.nesting, $0.fieldEncoding.nesting, $0.rewritesNames) = (.json, .json, true)
            }, body: PartHeadTests.body(#"p|application/json|{"x":1}"#), lines: ["p > p [nesting: json]"]),
        Sample(
            testDescription: "a document has no place for them",
            plan: plan(.multipart, .json), body: PartHeadTests.body("b|text/x|1"),
            lines: ["b > b [without Content-Type, X-Meta]"]),
        Sample(
            testDescription: "empty names",
            plan: plan(.json, .json), body: #"{"":1,"a":{"":[2]}}"#,
            lines: [" > ", "a.[0] > a.[0]"]),
        Sample(
            testDescription: "empty names of parts", plan: plan(.multipart, .multipart),
            body: PartHeadTests.body("||1"), lines: [" > "]),
        Sample(
            testDescription: "nulls and empty containers by their rules",
            plan: plan(.json, .form) {
                $0.fieldEncoding.nulls = .omit
                $0.fieldEncoding.empties = .marker
            }, body: #"{"a":null,"b":[],"c":{},"d":[null]}"#,
            lines: [
                "b > b[] [arrays: auto, empties: marker]", "c > c [nesting: brackets, empties: marker]",
                "d > d[] [arrays: auto, empties: marker]", "a > - [nulls: omit]", "d[0] > - [nulls: omit]",
            ]),
        Sample(
            testDescription: "remove, rename, set and append",
            plan: plan(.json, .form) {
                $0.map.remove = [path("token"), path("items[*].secret")]
                $0.map.rename = [.init(from: path("user_id"), to: path("user.id"))]
                $0.map.set = [
                    .init(path: path("source"), value: .literal(.string("slack"))),
                    .init(path: path("items[0].sku"), value: .source(0)),
                ]
                $0.map.append = [.init(path: path("tags"), value: .literal(.string("new")))]
            }, body: #"{"token":"t","items":[{"sku":"A","secret":1}],"user_id":7,"tags":"old"}"#,
            lines: [
                "- > items[0][sku] [map.set items[0].sku, arrays: auto, nesting: brackets]",
                "tags > tags[] [arrays: auto]", "- > tags[] [map.append tags, arrays: auto]",
                "user_id > user[id] [map.rename user_id to user.id, nesting: brackets]", "- > source [map.set source]",
                "token > - [map.remove token]", "items[0].secret > - [map.remove items[*].secret]",
                "items[0].sku > - [map.set items[0].sku]",
            ], sources: ["S"]),
        Sample(
            testDescription: "declared types",
            plan: plan(.form, .json) {
                $0.types = [
                    TypeRule(path: path("n"), type: .integer), TypeRule(path: path("l"), type: .array),
                    TypeRule(path: path("j"), type: .json),
                ]
            }, body: "n=1&l=x&j=%7B%22k%22%3A%5B1%2Cnull%5D%7D&s=y",
            lines: [
                "n > n [fields n: integer]", "l > l[0] [fields l: array]", "j > j.k[0] [fields j: json]",
                "j > j.k[1] [fields j: json]", "s > s",
            ]),
        Sample(
            testDescription: "names that become structure, repeated ones and inferred types",
            plan: plan(.form, .json) { $0.fieldDecoding.types = .safe }, body: "a[x]=1&b=2&a[y]=z&b=3&c[]=q",
            lines: [
                "a[x] > a.x [types: safe]", "a[y] > a.y", "b > b[0] [types: safe]", "b > b[1] [types: safe]",
                "c[] > c[0]",
            ]),
        Sample(
            testDescription: "repeated fields of which the last one counts",
            plan: plan(.form, .json) { $0.fieldDecoding.duplicates = .last }, body: "a=1&a=2",
            lines: ["a > a", "a > - [duplicates: last]"]),
        Sample(
            testDescription: "repeated members of which the first one counts",
            plan: plan(.json, .form) { $0.jsonDuplicates = .first }, body: #"{"a":1,"a":{"b":2}}"#,
            lines: ["a > a", "a > - [duplicates: first]"]),
        Sample(
            testDescription: "nulls that are removed",
            plan: plan(.json, .json) { $0.removeNulls = .deep }, body: #"{"a":null,"b":[null,1]}"#,
            lines: ["b[1] > b[0]", "a > - [remove_nulls: deep]", "b[0] > - [remove_nulls: deep]"]),
        Sample(
            testDescription: "sorted members", plan: plan(.json, .json) { $0.fieldEncoding.order = .sorted },
            body: #"{"b":1,"a":{"d":2,"c":3}}"#, lines: ["a.c > a.c", "a.d > a.d", "b > b"]),
        Sample(
            testDescription: "fields that pass under their names",
            plan: plan(.form, .multipart) {
                $0.map.remove = [path("t")]
                $0.map.rename = [.init(from: path("a"), to: path("b"))]
                $0.map.set = [.init(path: path("s"), value: .literal(.number("1")))]
            }, body: "a[x]=1&t=2&s=3&u=4",
            lines: [
                "- > s [map.set]", "a[x] > b[x] [map.rename a to b]", "u > u", "t > - [map.remove t]",
                "s > - [map.set s]",
            ]),
        Sample(
            testDescription: "files by their rules",
            plan: plan(.multipart, .json) {
                $0.fieldEncoding.files = .object
                $0.files = [FileRule(path: path("d"), policy: .drop), FileRule(path: path("t"), policy: .base64)]
                $0.map.rename = [.init(from: path("p"), to: path("photo"))]
            }, body: multipart("x=1", "p:a.jpg=AA", "d:b.jpg=BB", "t:c.jpg=CC"),
            lines: [
                "file p > photo [map.rename p to photo, files: object]", "file t > t [files.t: base64]", "x > x",
                "file d > - [files.d: drop]",
            ]),
        Sample(
            testDescription: "files that stay files, in arrays",
            plan: plan(.multipart, .multipart) {
                $0.rewritesNames = true
                $0.fieldEncoding.arrays = .indices
            }, body: multipart("f[]:a=A", "f[]:b=B", "x[]=1"),
            lines: ["file f[] > f[0]", "file f[] > f[1]", "x[] > x[0] [arrays: indices]"]),
        Sample(
            testDescription: "a dialect that sorts holds the document and is traced all the same",
            plan: plan(.json, .form) { $0.fieldEncoding = .init(dialect: .afnetworking) },
            body: #"{"b":1,"a":{"d":[2,1],"c":null}}"#,
            lines: [
                "a.c > a[c] [nesting: brackets, nulls: key]", "a.d[0] > a[d][] [arrays: brackets, nesting: brackets]",
                "a.d[1] > a[d][] [arrays: brackets, nesting: brackets]", "b > b",
            ]),
        Sample(
            testDescription: "a dialect that sorts the elements of arrays too",
            plan: plan(.json, .form) { $0.fieldEncoding = .init(dialect: .alamofire) }, body: #"{"a":["y","x"]}"#,
            lines: ["a[1] > a[] [arrays: brackets]", "a[0] > a[] [arrays: brackets]"]),
        Sample(
            testDescription: "what a dialect that sorts leaves empty, and what it writes for that",
            plan: plan(.json, .form) {
                $0.fieldEncoding = .init(dialect: .afnetworking)
                $0.fieldEncoding.nulls = .omit
                $0.fieldEncoding.empties = .marker
            }, body: #"{"b":[],"a":{"d":[null]}}"#,
            lines: [
                "a.d > a[d][] [arrays: brackets, nesting: brackets, empties: marker]",
                "b > b[] [arrays: brackets, empties: marker]", "a.d[0] > - [nulls: omit]",
            ]),
        Sample(
            testDescription: "a joined array and a JSON text in a document that is sorted",
            plan: plan(.json, .form) {
                $0.fieldEncoding = .init(dialect: .afnetworking)
                $0.fieldEncoding.arrays = .comma
                $0.fieldEncoding.nesting = .json
            }, body: #"{"c":{"d":1,"e":[2]},"b":["y","x"],"a":"y"}"#,
            lines: [
                "a > a", "b[0] > b [arrays: comma]", "b[1] > b [arrays: comma]", "c.d > c [nesting: json]",
                "c.e[0] > c [arrays: comma, nesting: json]",
            ]),
        Sample(
            testDescription: "what a dialect leaves out",
            plan: plan(.json, .form) { $0.fieldEncoding = .init(dialect: .php) },
            body: #"{"a":null,"b":"x","c":[]}"#,
            lines: ["b > b", "a > - [nulls: omit]", "c > - [empties: omit]"]),
        Sample(
            testDescription: "what another library overwrites",
            plan: plan(.form, .json) { $0.fieldDecoding = .init(dialect: .php) }, body: "a=1&a=2&b[]=3",
            lines: ["a > a", "b[] > b[0]", "a > - [dialect: php]"]),
        Sample(
            testDescription: "an output that is multipart only with a file",
            plan: plan(.json, .multipart) {
                $0.outputWithoutFiles = .form
                $0.files = [FileRule(path: path("p"), policy: .base64)]
            }, body: #"{"q":["x"]}"#, lines: ["q[0] > q[] [arrays: auto]"]),
        Sample(
            testDescription: "an object that becomes a file",
            plan: plan(.json, .multipart) { $0.files = [FileRule(path: path("p"), policy: .object)] },
            body: #"{"p":{"filename":"a.txt","data":"aGk="}}"#,
            lines: ["file p.filename > p [files.p: from object]", "file p.data > p [files.p: from object]"]),
        Sample(
            testDescription: "a value that is one part with a JSON text",
            plan: plan(.json, .multipart) { $0.jsonParts = [path("p")] }, body: #"{"p":{"a":[1]},"q":"x"}"#,
            lines: ["p.a[0] > p [parts]", "q > q"]),
        Sample(
            testDescription: "a text that becomes a file",
            plan: plan(.json, .multipart) { $0.files = [FileRule(path: path("p"), policy: .base64)] },
            body: #"{"p":"aGk=","q":"x"}"#, lines: ["file p > p [files.p: from base64]", "q > q"]),
        Sample(
            testDescription: "a rule that drops a field of a document",
            plan: plan(.json, .multipart) { $0.files = [FileRule(path: path("p"), policy: .drop)] },
            body: #"{"p":"aGk=","q":"x"}"#, lines: ["q > q", "p > - [files: drop]"]),
        Sample(
            testDescription: "a whole body that is one text",
            plan: plan(.json, .text) { $0.outputField = "a" }, body: #"{"a":"x"}"#, lines: ["a > the body"]),
        Sample(
            testDescription: "a whole body that is one file", plan: plan(.raw, .multipart), body: "x",
            lines: ["file file > file"]),
        Sample(
            testDescription: "nulls that a property list leaves out",
            plan: plan(.json, .plist) { $0.propertyListEncoding.nulls = .omit }, body: #"{"a":null,"b":1}"#,
            lines: ["b > b", "a > - [nulls: omit]"]),
        Sample(
            testDescription: "nulls and empty arrays that XML leaves out",
            plan: plan(.json, .xml) {
                $0.xmlEncoding.nulls = .omit
                $0.xmlEncoding.empties = .omit
            }, body: #"{"r":{"a":null,"b":[],"c":[null,null],"d":[[],[null]],"e":1}}"#,
            lines: [
                "r.e > r.e", "r.a > - [nulls: omit]", "r.b > - [empties: omit]", "r.c[0] > - [nulls: omit]",
                "r.c[1] > - [nulls: omit]", "r.d[0] > - [empties: omit]", "r.d[1][0] > - [nulls: omit]",
            ]),
        Sample(
            testDescription: "elements of XML", plan: plan(.xml, .json), body: #"<r x="1"><a>b</a><a>c</a></r>"#,
            lines: ["r.@x > r.@x", "r.a[0] > r.a[0]", "r.a[1] > r.a[1]"]),
    ]

    @Test("each value is traced from its name in the input to its name in the output", arguments: samples)
    func provenance(_ sample: Sample) throws {
        let trace = try Self.trace(sample.plan, sample.body, sources: sample.sources)
        #expect(Self.lines(trace) == sample.lines)
    }

    @Test(
        "a trace has the names that the conversion writes, in their order, and counts what it counts",
        arguments: samples)
    func agreement(_ sample: Sample) throws {
        let trace = try Self.trace(sample.plan, sample.body, sources: sample.sources)
        let run = ConversionRun.run(sample.plan, .whole(Array(sample.body.utf8)), sources: sample.sources)
        #expect(trace.accounting == run.accounting)
        if sample.plan.output == .form || sample.plan.output == .multipart {
            #expect(Self.distinct(trace.sent.compactMap(\.target)) == Self.distinct(try Self.names(trace, sample.plan)))
        }
        // What came in went out, or was left out by a rule.
        let all = trace.sent + trace.removed
        let files = all.filter { $0.isFile && $0.source != nil }
        #expect(Set(files.map { $0.target ?? $0.source }).count == run.accounting.files)
        #expect(trace.removed.count == run.accounting.removed)
    }

    static let tables =
        PipelineRowTests.pairs + PipelineRowTests.options + PipelineRowTests.files + MapTableTests.fields
        + MapTableTests.typed + MapTableTests.appendedFields + PipelineContractTests.rows + DialectPipelineTests.table

    @Test("every row of the tables of pipelines is traced as it is converted", arguments: tables)
    func agreementOfTables(_ row: PipelineRow) throws {
        let type = ConversionRun.defaultType(row.plan.inputs[0])
        let sources = row.sources
        let run = ConversionRun.run(row.plan, .whole(Array(row.input.utf8)), sources: sources)
        let trace: ConversionTrace
        do throws(ConversionError) {
            trace = try ConversionTrace.make(
                plan: row.plan, contentType: Array(type.utf8).span, sources: sources.map { Array($0.utf8) },
                body: Array(row.input.utf8).span)
        } catch {
            #expect(error == run.failure)
            return
        }
        #expect(run.failure == nil)
        #expect(trace.accounting == run.accounting)
        guard row.plan.output == .form || row.plan.output == .multipart else { return }
        guard !trace.contentType.starts(with: "application/json".utf8) else { return }
        #expect(Self.distinct(trace.sent.compactMap(\.target)) == Self.distinct(try Self.names(trace, row.plan)))
    }

    @Test("every scalar of a document is in its trace once", arguments: samples)
    func completeness(_ sample: Sample) throws {
        guard !sample.plan.inputs[0].isFlat, !sample.body.contains("[]"), !sample.body.contains("{}") else { return }
        let trace = try Self.trace(sample.plan, sample.body, sources: sample.sources)
        let fields = (trace.sent + trace.removed).filter { !$0.isFile && $0.source != nil }.count
        #expect(fields == trace.accounting.fields)
    }

    @Test("a rule that is written for a value's path, with the types behind the map, is a rule for that value")
    func places() throws {
        func paths(_ plan: ConversionPlan, _ body: String) throws -> [String] {
            let trace = try Self.trace(plan, body)
            return (trace.sent + trace.removed).map { entry in
                let path = entry.path.map { "\($0) \($0.withoutElements) \(plan.map.place(of: $0))" } ?? "-"
                return "\(entry.source ?? "-"): \(path)"
            }
        }
        var tree = plan(.form, .json)
        tree.map.remove = [path("t")]
        tree.map.rename = [
            .init(from: path("items[*].qty"), to: path("items[*].count")),
            .init(from: path("user"), to: path("who.it")),
        ]
        tree.types = [TypeRule(path: path("items[*].count"), type: .integer)]
        #expect(
            try paths(tree, "t=1&items[0][qty]=2&items[0][a.b]=c&user[name]=d&tags[]=e&tags[]=f") == [
                "items[0][a.b]: items[*].\"a.b\" items[*].\"a.b\" items[*].\"a.b\"",
                "items[0][qty]: items[*].qty items[*].qty items[*].count", "tags[]: tags[*] tags tags[*]",
                "tags[]: tags[*] tags tags[*]", "user[name]: user.name user.name who.it.name", "t: t t t",
            ])
        // What passes by name has its path from that; what stands in a field's document has that document's.
        var names = plan(.form, .form)
        names.map.remove = [path("t")]
        #expect(
            try paths(names, "t=1&a[0][b]=2&c[]=3") == [
                "a[0][b]: a[*].b a[*].b a[*].b", "c[]: c[*] c c[*]", "t: t t t",
            ])
        var document = plan(.form, .json)
        document.document = DocumentRule(path("payload"))
        #expect(
            try paths(document, "payload=%7B%22a%22%3A%5B%7B%22b%22%3A1%7D%5D%7D") == ["payload: a[*].b a[*].b a[*].b"])
        #expect(
            try paths(plan(.json, .form), #"{"a":[[1]],"":2}"#) == ["a[0][0]: a[*][*] a a[*][*]", ": \"\" \"\" \"\""])
    }

    @Test("a body that is refused is refused with the conversion's error")
    func refusal() {
        #expect(throws: ConversionError.self) { try Self.trace(plan(.json, .form), #"{"a":{}}"#) }
        do throws(ConversionError) {
            _ = try ConversionTrace.make(
                plan: plan(.json, .form), contentType: Array("application/json".utf8).span,
                body: Array(#"{"a":{}}"#.utf8).span)
        } catch {
            #expect(error.code == "field_empty")
        }
    }

    /// Neighbours that are equal, once: a joined array is one field, and `a[]` repeats.
    private static func distinct(_ names: [String]) -> [String] {
        names.reduce(into: []) { if $0.last != $1 { $0.append($1) } }
    }

    private static func names(_ trace: ConversionTrace, _ plan: ConversionPlan) throws -> [String] {
        let parts: [FieldRecorder.Part]
        if !trace.contentType.starts(with: "multipart/".utf8) {
            var decoder = Form.Decoder(options: .init(), limits: .init())
            parts = FieldRecorder.record(.whole(trace.output), with: &decoder).parts
        } else {
            let boundary = try Multipart.Boundary(contentType: trace.contentType.span, limits: .init())
            var decoder = Multipart.Decoder(boundary: boundary, options: .init(), limits: .init())
            parts = FieldRecorder.record(.whole(trace.output), with: &decoder).parts
        }
        return parts.map { String(decoding: $0.name.bytes, as: UTF8.self) }
    }
}
