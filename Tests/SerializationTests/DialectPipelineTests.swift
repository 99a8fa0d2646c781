import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// Dialects of the output in each pipeline: what is written, that it doesn't depend on cuts and pauses, and the accounting.
@Suite("Dialects in pipelines")
struct DialectPipelineTests {
    private static func row(
        _ dialect: Dialect, _ from: BodyEncoding, _ to: BodyEncoding, _ input: String, _ expected: String,
        _ change: (inout ConversionPlan) -> Void = { _ in }
    ) -> PipelineRow {
        PipelineRow(from, to, input, expected) { plan in
            plan.fieldEncoding = FieldEncodingOptions(dialect: dialect)
            change(&plan)
        }
    }

    private static let document =
        #"{"n":"p.jpg","b":[{"y":"\u00e9 +&","x":1.50},["z",true]],"a":{"2":null,"k":"v"},"e":[[],{}],"#
        + #""f":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"}"#

    static let table: [PipelineRow] = [
        row(
            .php, .json, .form, document,
            "n=p.jpg&b[0][y]=%C3%A9+%2B%26&b[0][x]=1.5&b[1][0]=z&b[1][1]=1&a[k]=v"
                + "&f=iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"),
        row(
            .qs, .json, .form, document,
            "n=p.jpg&b[0][y]=%C3%A9%20%2B%26&b[0][x]=1.5&b[1][0]=z&b[1][1]=true&a[2]=&a[k]=v"
                + "&f=iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"),
        row(
            .rack, .json, .multipart, document,
            "n=p.jpg|b[][y]=é +&|b[][x]=1.5|b[][]=z|b[][]=true|a[2]=|a[k]=v"
                + "|f=iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"),
        row(
            .afnetworking, .json, .form, document,
            "a[2]&a[k]=v&b[][x]=1.5&b[][y]=%C3%A9%20%2B%26&b[][]=z&b[][]=1"
                + "&f=iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ&n=p.jpg"),
        // A file passes while the fields are held.
        row(
            .afnetworking, .json, .multipart, #"{"l":["a",{"f":"QUJD"},"b"],"a":1}"#,
            "l[][f]:x:application/octet-stream=ABC|a=1|l[]=a|l[]=b"
        ) {
            $0.files = [FileRule(path: path("l[1].f"), policy: .base64, filename: .literal("x"))]
        },
        row(
            .php, .json, .multipart, #"{"l":["a",{"f":"QUJD"},"b"],"a":1}"#,
            "l[0]=a|l[1][f]:x:application/octet-stream=ABC|l[2]=b|a=1"
        ) {
            $0.files = [FileRule(path: path("l[1].f"), policy: .base64, filename: .literal("x"))]
        },
        row(
            .afnetworking, .json, .multipart, #"{"l":["a","QUJD","b"],"a":1}"#,
            "l[1]:x:application/octet-stream=ABC|a=1|l[0]=a|l[2]=b"
        ) {
            $0.files = [FileRule(path: path("l[1]"), policy: .base64, filename: .literal("x"))]
            $0.fieldEncoding.arrays = .indices
        },
        row(.alamofire, .json, .form, #"{"z":1,"l":["b","a"],"g":{"h":" "}}"#, "g[h]=%20&l[]=a&l[]=b&z=1"),
        // By way of a tree.
        row(.afnetworking, .json, .form, #"{"z":"1","l":["b","a"],"g":null}"#, "g&l[]=b&l[]=a&z=1") {
            $0.types = [TypeRule(path: path("z"), type: .integer)]
        },
        row(.alamofire, .json, .form, #"{"z":"1","l":["b","a"],"g":null}"#, "l[]=a&l[]=b&z=1") {
            $0.types = [TypeRule(path: path("z"), type: .integer)]
        },
        row(.php, .json, .form, #"{"z":"1","a":[1]}"#, "a[0]=1&s[0]=x&z=1") {
            $0.fieldEncoding.order = .sorted
            $0.map.set = [.init(path: path("s"), value: .literal(.array([.string("x")])))]
        },
        // From flat input: names are read and written anew, but for URLSearchParams, to which they are just texts.
        row(.php, .form, .form, "b%5B%5D=1&b[]=2&a[x]=~&k", "b[0]=1&b[1]=2&a[x]=%7E&k="),
        row(.afnetworking, .form, .form, "b[0]=1&b[1]=2&a[y]=/&a[x]=2", "a[x]=2&a[y]=/&b[]=1&b[]=2"),
        row(.alamofire, .multipart, .form, multipart("b[]=2", "b[]=1", "a=x y"), "a=x%20y&b[]=1&b[]=2"),
        row(.whatwg, .form, .form, "b%5B%5D=1&a[x=~+&k&k=2", "b[]=1&a[x=%7E+&k=&k=2"),
        row(.whatwg, .multipart, .form, multipart("b[]=2", "b=1 2"), "b[]=2&b=1+2"),
        row(
            .afnetworking, .multipart, .multipart, multipart("b[0]=2", "p[]:x.png:image/png=A", "a=1"),
            "p[]:x.png:image/png=A|a=1|b[]=2"),
        row(
            .php, .multipart, .multipart, multipart("b[]=2", "p[]:x=A", "p[]:y=B", "a=1"),
            "p[0]:x=A|p[1]:y=B|b[0]=2|a=1"),
    ]

    @Test("each pipeline writes the dialect", arguments: table)
    func writes(_ row: PipelineRow) { row.check() }

    @Test("the bytes are the same however the input is cut and the output taken, and after a restart", arguments: table)
    func recut(_ row: PipelineRow) throws {
        let input = Array(row.input.utf8)
        let whole = ConversionRun.run(row.plan, .whole(input))
        #expect(whole.failure == nil && !whole.output.bytes.isEmpty && whole.violations.isEmpty)
        for cut in Recut.cuts(of: input, splits: 100) {
            for watermark in [1, OutputBuffer.defaultHighWatermark] {
                let run = ConversionRun.run(row.plan, cut, highWatermark: watermark)
                #expect(run == whole, "\(cut), watermark \(watermark)")
                if run != whole { return }
            }
        }
        let type = Array(ConversionRun.defaultType(row.plan.inputs[0]).utf8)
        let conversion = try Conversion.make(plan: row.plan, contentType: type.span)
        for end in [input.count, input.count / 2, input.count, 0, input.count / 3] {
            _ = ConversionRun.run(conversion, .whole(Array(input[..<end])))
            try conversion.restart(contentType: type.span, sources: [])
        }
        #expect(ConversionRun.run(conversion, .every(7, of: input), highWatermark: 16) == whole)
    }

    @Test(
        "what a rule of the dialect leaves out is counted as removed",
        arguments: [
            (Dialect.php, 3), (.qs, 2), (.rack, 2), (.afnetworking, 2), (.alamofire, 3),
        ])
    func accounting(dialect: Dialect, removed: Int) {
        for types in [[], [TypeRule(path: path("x"), type: .string)]] {
            let row = Self.row(dialect, .json, .form, #"{"a":[null,1],"b":[],"c":{},"d":true}"#, "") {
                $0.types = types
            }
            let run = ConversionRun.run(row.plan, .whole(Array(row.input.utf8)))
            #expect((run.accounting.fields, run.accounting.removed) == (3, removed))
        }
    }

    @Test(
        "a document in order passes value by value: its size has no limit",
        arguments: [Dialect.php, .qs, .rack, .whatwg])
    func streaming(dialect: Dialect) {
        let row = Self.row(dialect, .json, .form, "", "") { $0.limits.tree = 100 }
        let value = String(repeating: "x", count: 5000)
        #expect(convert(row.plan, #"{"a":"\#(value)","b":["1"]}"#).hasPrefix("a=" + value + "&b"))
    }

    @Test("a sorted document is held, within limits.tree", arguments: [Dialect.afnetworking, .alamofire])
    func held(dialect: Dialect) {
        let row = Self.row(dialect, .json, .form, "", "") { $0.limits.tree = 1000 }
        #expect(convert(row.plan, #"{"b":1,"a":2}"#) == "a=2&b=1")
        let value = String(repeating: "x", count: 1000)
        #expect(convert(row.plan, #"{"a":"\#(value)"}"#) == "!limit_tree")
    }

    @Test("limits.tree holds however a document of nested arrays comes", arguments: [30_000, 46_000, 47_000, 50_000])
    func heldNested(tree: Int) {
        let row = Self.row(.afnetworking, .json, .form, "", "") {
            $0.limits.tree = tree
            $0.limits.depth = 1000
            $0.limits.keyDepth = 1000
            $0.limits.key = 64 * 1024
        }
        let depth = 990
        let body = Array(
            (#"{"a":"# + String(repeating: "[", count: depth) + #""x""# + String(repeating: "]", count: depth) + "}")
                .utf8)
        let whole = ConversionRun.run(row.plan, .whole(body))
        for end in stride(from: 1, to: body.count, by: 31) {
            let cut = Cut(name: "at \(end)", slices: [Array(body[..<end]), Array(body[end...])])
            let run = ConversionRun.run(row.plan, cut)
            #expect(run.failure?.code == whole.failure?.code && run.output == whole.output, "\(end)")
        }
    }

    @Test("Alamofire's Content-Type names the charset, the others' doesn't", arguments: Dialect.allCases)
    func contentType(dialect: Dialect) {
        let row = Self.row(dialect, .json, .form, "{}", "")
        let type = ConversionRun.run(row.plan, .whole(Array("{}".utf8))).contentType
        let parameter = dialect == .alamofire ? "; charset=utf-8" : ""
        #expect(String(decoding: type.bytes, as: UTF8.self) == "application/x-www-form-urlencoded" + parameter)
    }

    /// The finding: a program that set the output's dialect or `arrays` got the names as they had come, unless it knew `rewritesNames`.
    @Test("Names are written anew as soon as the output asks for its own")
    func rewriting() throws {
        let rows: [(String, (inout ConversionPlan) -> Void)] = [
            ("a[]=1&a[]=2", { _ in }), ("a[]=1&a[]=2", { $0.fieldEncoding = .init(dialect: .whatwg) }),
            ("a[0]=1&a[1]=2", { $0.fieldEncoding.arrays = .indices }),
            ("a[0]=1&a[1]=2", { $0.fieldEncoding = .init(dialect: .php) }),
            ("a[0]=1&a[1]=2", { $0.fieldEncoding = .init(dialect: .qs) }),
            ("a=1,2", { $0.fieldEncoding.arrays = .comma }),
            ("a[]=1&a[]=2", { ($0.rewritesNames, $0.fieldEncoding) = (false, .init(dialect: .php)) }),
        ]
        for (expected, change) in rows {
            for output in [BodyEncoding.form, .multipart] {
                var plan = ConversionPlan(inputs: [.form], output: output)
                change(&plan)
                let made = try plan.convert(
                    Array("a[]=1&a[]=2".utf8), contentType: BodyEncoding.form.mediaType)
                let read = try ConversionPlan(inputs: [output], output: .form)
                    .convert(made.body, contentType: made.contentType)
                let text = readable(String(decoding: read.body, as: UTF8.self))
                #expect(text.replacing("%2C", with: ",") == expected)
            }
        }
        var plain = ConversionPlan(inputs: [.form], output: .form)
        #expect(!plain.rewritesNames)
        plain.fieldEncoding.nesting = .dots
        #expect(plain.rewritesNames)
    }
}
