import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// Filenames that a rule takes from other fields: whose file a text names, and what is no name.
@Suite("Filenames")
struct FilenameTests {
    private static let f = "application/octet-stream"

    /// The file at `place` is named by the text at `name`.
    private static func rule(_ place: String, _ name: String, from source: FileSource? = nil) -> FileRule {
        FileRule(path: path(place), policy: .stream, source: source, filename: .field(path(name)))
    }

    private static func row(
        _ from: BodyEncoding, _ input: String, _ expected: String, sources: [String] = [], _ rules: FileRule...,
        change: (inout ConversionPlan) -> Void = { _ in }
    ) -> PipelineRow {
        PipelineRow(from, .multipart, input, expected, sources: sources) { plan in
            plan.files = rules
            change(&plan)
        }
    }

    /// Fields are put together before they go out.
    private static func gathered(_ plan: inout ConversionPlan) {
        plan.types = [TypeRule(path: path("z"), type: .integer)]
    }

    private static func dots(_ plan: inout ConversionPlan) { plan.fieldDecoding.nesting = .dots }

    private static func php(_ plan: inout ConversionPlan) {
        plan.fieldDecoding = FieldDecodingOptions(dialect: .php)
        plan.fieldEncoding = FieldEncodingOptions(dialect: .php)
        plan.rewritesNames = true
    }

    // MARK: Elements

    private static let element = rule("p[*].d", "p[*].n")
    private static let made = rule("p[*].d", "p[*].n", from: .base64)
    private static let both = multipart("p[0][n]=A", "p[1][n]=B", "p[0][d]:x=a", "p[1][d]:y=b")

    static let elements: [PipelineRow] = [
        row(
            .multipart, multipart("p[0][n]=A", "p[0][d]:x=a", "p[1][n]=B", "p[1][d]:y=b"),
            "p[0][n]=A|p[0][d]:A=a|p[1][n]=B|p[1][d]:B=b", element),
        row(.multipart, both, "!files_no_filename p[0][d]", element),
        row(.multipart, multipart("p[0][n]=A", "p[0][d]:x=a", "p[1][d]:y=b"), "!files_no_filename p[1][d]", element),
        row(.multipart, multipart("p[1][n]=B", "p[0][d]:x=a"), "!files_no_filename p[0][d]", element),
        row(.multipart, multipart("p[a][n]=A", "p[a][d]:x=a"), "p[a][n]=A|p[a][d]:A=a", element),
        row(.multipart, multipart("p[a][n]=A", "p[b][d]:x=a"), "!files_no_filename p[b][d]", element),
        row(.multipart, multipart("p[0][n]=A", "p[00][d]:x=a"), "!files_no_filename p[00][d]", element),
        // Two rules, one text; and a file below the place of its rule.
        row(
            .multipart, multipart("p[0][n]=A", "p[0][d]:x=a", "p[0][e]:y=b"), "p[0][n]=A|p[0][d]:A=a|p[0][e]:A=b",
            element, rule("p[*].e", "p[*].n")),
        row(.multipart, both, "!files_no_filename p[0][d]", rule("p", "p[*].n")),
        // The path of the text leads through an array of its own: its last text is the name.
        row(
            .multipart, multipart("m[0][n]=A", "m[1][n]=B", "g:x=a"), "m[0][n]=A|m[1][n]=B|g:B=a", rule("g", "m[*].n")),
        row(
            .multipart, multipart("p[0][t][0]=A", "p[0][t][1]=B", "p[0][d]:x=a"),
            "p[0][t][0]=A|p[0][t][1]=B|p[0][d]:B=a", rule("p[*].d", "p[*].t[*]")),
        row(
            .multipart, multipart("p[0][t][0]=A", "p[1][d]:x=a"), "!files_no_filename p[1][d]",
            rule("p[*].d", "p[*].t[*]")),
        // What stands in none of the elements has the last text, in flat bodies as in documents.
        row(.json, #"{"x":{"n":"A"},"g":"QQ=="}"#, "x[n]=A|g:A:\(f)=A", rule("g", "*.n", from: .base64)),
        row(.form, "x[n]=A&g=QQ==", "x[n]=A|g:A:\(f)=A", rule("g", "*.n", from: .base64)),
        row(.multipart, multipart("x[n]=A", "y[n]=B", "g:x=a"), "x[n]=A|y[n]=B|g:B=a", rule("g", "*.n")),
        row(.multipart, multipart("x[n]=A", "y[g]:x=a"), "!files_no_filename y[g]", rule("*.g", "*.n")),
        // Several elements deep.
        row(
            .multipart, multipart("p[0][q][1][n]=A", "p[0][q][1][d]:x=a"), "p[0][q][1][n]=A|p[0][q][1][d]:A=a",
            rule("p[*].q[*].d", "p[*].q[*].n")),
        row(
            .multipart, multipart("p[0][q][1][n]=A", "p[0][q][0][d]:x=a"), "!files_no_filename p[0][q][0][d]",
            rule("p[*].q[*].d", "p[*].q[*].n")),
        row(
            .multipart, multipart("p[0][q][1][n]=A", "p[1][q][1][d]:x=a"), "!files_no_filename p[1][q][1][d]",
            rule("p[*].q[*].d", "p[*].q[*].n")),
        // Without numbers.
        row(
            .multipart, multipart("p[][n]=A", "p[][d]:x=a", "p[][n]=B", "p[][d]:y=b"),
            "p[][n]=A|p[][d]:A=a|p[][n]=B|p[][d]:B=b", element),
        row(.multipart, multipart("p[][n]=A", "p[][d]:x=a", "p[][d]:y=b"), "!files_no_filename p[][d]", element),
        row(
            .multipart, multipart("p[][n]=A", "p[][n]=B", "p[][d]:y=b"), "p[][n]=A|p[][n]=B|p[][d]:B=b", element),
        row(
            .multipart, multipart("p[][n]=A", "p[][t]=1", "p[][t]=2", "p[][d]:x=a"), "!files_no_filename p[][d]",
            element),
        row(.multipart, multipart("p[0][n]=A", "p[][d]:x=a"), "!files_no_filename p[][d]", element),
        // Other spellings, a map, and fields that are put together.
        row(.multipart, multipart("p.0.n=A", "p.0.d:x=a"), "p.0.n=A|p.0.d:A=a", element, change: dots),
        row(
            .multipart, multipart("p.0.n=A", "p.1.n=B", "p.0.d:x=a"), "!files_no_filename p.0.d", element,
            change: dots),
        row(.multipart, multipart("q[0][n]=A", "q[0][d]:x=a"), "p[0][n]=A|p[0][d]:A=a", element) {
            $0.map.rename = [.init(from: path("q"), to: path("p"))]
        },
        row(
            .multipart, multipart("q[0][n]=A", "q[1][n]=B", "q[0][d]:x=a"), "!files_no_filename p[0][d]", element
        ) { $0.map.rename = [.init(from: path("q"), to: path("p"))] },
        row(.multipart, multipart("p[0][t]=A", "p[0][d]:x=a"), "p[0][d]:A=a|p[0][n]=A", element) {
            $0.map.rename = [.init(from: path("p[*].t"), to: path("p[*].n"))]
        },
        row(.multipart, both, "!files_no_filename p[0][d]", element, change: gathered),
        row(
            .multipart, multipart("p[0][n]=A", "p[0][d]:x=a"), "p[0][d]:A=a|p[0][n]=A", element, change: gathered),
        row(.multipart, both, "!files_no_filename p[0][d]", element, change: php),
        row(
            .multipart, multipart("p[][n]=A", "p[][n]=B", "p[][d]:x=a"), "!files_no_filename p[][d]", element,
            change: php),
        row(.multipart, both, "!files_no_filename p[0][d]", element) {
            $0.fieldDecoding = FieldDecodingOptions(dialect: .qs)
        },
        row(.multipart, both, "!files_no_filename p[0][d]", element) {
            $0.fieldDecoding = FieldDecodingOptions(dialect: .rack)
        },
        // Texts that become files.
        row(.form, "p[0][n]=A&p[0][d]=QQ==", "p[0][n]=A|p[0][d]:A:\(f)=A", made),
        row(.form, "p[0][n]=A&p[1][n]=B&p[0][d]=QQ==", "!files_no_filename p[0][d]", made),
        row(.form, "p[0][n]=A&p[1][n]=B&p[0][d]=QQ==", "!files_no_filename p[0][d]", made, change: gathered),
        row(.form, "p[0][n]=A&p[0][d]=QQ==&p[1][d]=QQ==", "!files_no_filename p[1][d]", made),
        row(
            .json, #"{"p":[{"n":"A"},{"n":"B"}],"q":1}"#, "p[0][n]=A|p[1][n]=B|q=1", made),
        row(
            .json, #"{"p":[{"m":{"n":"A"},"d":"QQ=="},{"d":"Qg=="}]}"#, "!files_no_filename p[1].d",
            rule("p[*].d", "p[*].m.n", from: .base64)),
        row(
            .json, #"{"p":[{"m":{"n":"A"},"d":"QQ=="},{"m":{"n":"B"},"d":"Qg=="}]}"#,
            "p[0][m][n]=A|p[0][d]:A:\(f)=A|p[1][m][n]=B|p[1][d]:B:\(f)=B",
            rule("p[*].d", "p[*].m.n", from: .base64)),
    ]

    @Test("a text in an element of an array names files of that element", arguments: elements)
    func ofElement(_ row: PipelineRow) { row.check() }

    @Test("PHP counts files and texts without numbers apart, and pairs them so")
    func pairedByPHP() {
        let plan = plan(.multipart, .multipart) { plan in
            plan.files = [Self.element]
            Self.php(&plan)
        }
        let result = convert(plan, multipart("p[][n]=A", "p[][d]:x=a", "p[][n]=B", "p[][d]:y=b"))
        #expect(result.contains("[d]:A=a") && result.contains("[d]:B=b"), "\(result)")
    }

    @Test("the bytes are the same however the input is cut", arguments: elements.indices)
    func recut(_ index: Int) {
        let row = Self.elements[index]
        let input = Array(row.input.utf8)
        let whole = ConversionRun.run(row.plan, .whole(input))
        for cut in Recut.cuts(of: input) {
            let run = ConversionRun.run(row.plan, cut, highWatermark: 1)
            #expect(run.failure?.code == whole.failure?.code, "\(row), \(cut)")
            if whole.failure == nil { #expect(run == whole, "\(row), \(cut)") }
        }
    }

    @Test("the elements of another body of the same conversion are counted anew")
    func restartElements() throws {
        let type = Array("multipart/form-data; boundary=b".utf8)
        let plan = plan(.multipart, .multipart) { $0.files = [Self.element] }
        let conversion = try Conversion.make(plan: plan, contentType: type.span)
        // With what is left of the body before, numbers and `[]` would be mixed.
        for element in ["p[]", "p[]", "p[0]", "p[]"] {
            try conversion.restart(contentType: type.span, sources: [])
            let body = multipart("\(element)[n]=A", "\(element)[d]:x=a")
            let output = try conversion.convert(Array(body.utf8)) + conversion.convertEnd()
            #expect(String(decoding: output, as: UTF8.self).contains("filename=\"A\""))
        }
    }

    @Test("what is held of elements is within limits.tree, and beyond it refused")
    func treeLimit() throws {
        let results = (0..<4096).map { limit in
            let plan = plan(.multipart, .multipart) {
                $0.files = [Self.element]
                $0.limits.tree = limit
            }
            return convert(plan, multipart("p[0][n]=A", "p[0][d]:x=a"))
        }
        let least = try #require(results.firstIndex { !$0.hasPrefix("!limit_tree") })
        #expect(least > 0)
        #expect(results[least...].allSatisfy { $0 == "p[0][n]=A|p[0][d]:A=a" })
    }

    // MARK: Empty names

    static let empty: [PipelineRow] = [
        row(.multipart, multipart("n=", "g:x=a"), "!files_no_filename g", rule("g", "n")),
        row(.multipart, multipart("n=", "g:x=a"), "!files_no_filename g", rule("g", "n"), change: gathered),
        row(.multipart, multipart("n=A", "n=", "g:x=a"), "!files_no_filename g", rule("g", "n")),
        row(.form, "n=&g=QQ==", "!files_no_filename g", rule("g", "n", from: .base64)),
        row(.json, #"{"n":"","g":"QQ=="}"#, "!files_no_filename g", rule("g", "n", from: .base64)),
        row(.json, #"{"n":"","g":"data:a/b,x"}"#, "!files_no_filename g", rule("g", "n", from: .dataURL)),
        row(
            .json, #"{"g":{"filename":"","data":"QQ=="}}"#, "g:blob:\(f)=A",
            FileRule(path: path("g"), policy: .stream, source: .object)),
        // What the client has sent so stays so.
        row(.multipart, multipart("g:=a"), "g:=a"),
    ]

    @Test("an empty text is no filename: most servers would take the file for none", arguments: empty)
    func noName(_ row: PipelineRow) { row.check() }

    // MARK: What `set` writes

    private static func sets(_ value: AssignedValue, at place: String = "k") -> (inout ConversionPlan) -> Void {
        { $0.map.set = [.init(path: path(place), value: value)] }
    }

    private static func setsGathered(_ plan: inout ConversionPlan) {
        sets(.source(0))(&plan)
        gathered(&plan)
    }

    private static let file = rule("g", "k")
    private static let text = rule("g", "k", from: .base64)

    static let assigned: [PipelineRow] = [
        row(.multipart, multipart("g:x=a"), "k=K|g:K=a", sources: ["K"], file, change: sets(.source(0))),
        row(.multipart, multipart("k=own", "g:x=a"), "k=K|g:K=a", sources: ["K"], file, change: sets(.source(0))),
        row(.multipart, multipart("g:x=a"), "g:K=a|k=K", sources: ["K"], file, change: setsGathered),
        row(.multipart, multipart("k=own", "g:x=a"), "g:K=a|k=K", sources: ["K"], file, change: setsGathered),
        row(.form, "g=QQ==", "k=K|g:K:\(f)=A", sources: ["K"], text, change: sets(.source(0))),
        row(.json, #"{"g":"QQ=="}"#, "g:K:\(f)=A|k=K", sources: ["K"], text, change: sets(.source(0))),
        row(.json, #"{"k":"own","g":"QQ=="}"#, "k=K|g:K:\(f)=A", sources: ["K"], text, change: sets(.source(0))),
        row(.json, #"{"g":"QQ=="}"#, "g:K:\(f)=A|k=K", sources: ["K"], text, change: setsGathered),
        row(.json, #"{"k":"own","g":"QQ=="}"#, "k=K|g:K:\(f)=A", sources: ["K"], text, change: setsGathered),
        row(.multipart, multipart("g:x=a"), "k=7|g:7=a", file, change: sets(.literal(.number("7")))),
        row(
            .multipart, multipart("g:x=a"), "m[n]=K|g:K=a", rule("g", "m.n"),
            change: sets(.literal(.object([.init(name: "n", value: .string("K"))])), at: "m")),
        row(
            .multipart, multipart("g:x=a"), "m[n]=K|g:K=a", rule("g", "m.n"),
            change: sets(.literal(.string("K")), at: "m.n")),
        row(.multipart, multipart("g:x=a"), "!files_no_filename g", file, change: sets(.literal(.bool(true)))),
        row(.multipart, multipart("g:x=a"), "!files_no_filename g", sources: [""], file, change: sets(.source(0))),
        row(
            .multipart, multipart("g:x=a"), "!files_no_filename g", rule("g", "m"),
            change: sets(.literal(.string("K")), at: "m.n")),
        row(.multipart, multipart("g:x=a"), "!files_no_filename g", rule("g", "m")) { plan in
            sets(.literal(.string("K")), at: "m.n")(&plan)
            gathered(&plan)
        },
        // A text that it replaces is none of an element either.
        row(
            .multipart, multipart("p[0][n]=evil", "g:x=a"), "!files_no_filename g", sources: ["K"], rule("g", "p[*].n"),
            change: sets(.source(0), at: "p")),
        row(
            .multipart, multipart("p[0][n]=evil", "g:x=a"), "!files_no_filename g", sources: ["K"], rule("g", "p[*].n")
        ) { plan in
            sets(.source(0), at: "p")(&plan)
            gathered(&plan)
        },
        row(
            .multipart, multipart("p[0][n]=A", "g:x=a"), "g:A=a|p[0][n]=A|k=K", sources: ["K"], rule("g", "p[*].n"),
            change: setsGathered),
        // Where fields are gathered, a text names the file before the map removes it.
        row(.multipart, multipart("k=K", "g:x=a"), "g:K=a", file) { plan in
            gathered(&plan)
            plan.map.remove = [path("k")]
        },
    ]

    @Test("what set writes names files from the beginning, whatever comes at its place", arguments: assigned)
    func ofSet(_ row: PipelineRow) { row.check() }

    @Test("set names the file of a raw body")
    func ofRawBody() {
        let plan = plan(.raw, .multipart) { plan in
            var rule = Self.rule("file", "k")
            rule.mediaType = "a/b"
            plan.files = [rule]
            Self.sets(.source(0))(&plan)
        }
        #expect(convert(plan, "abc", sources: ["K"]) == "k=K|file:K:a/b=abc")
    }

    @Test("a filename from set is held to the limit of names", arguments: [7, 8, 9])
    func limit(_ length: Int) {
        let plan = plan(.multipart, .multipart) { plan in
            plan.files = [Self.file]
            plan.limits.key = 8
            Self.sets(.source(0))(&plan)
        }
        let name = String(repeating: "x", count: length)
        let result = convert(plan, multipart("g:x=a"), sources: [name])
        #expect(result == (length > 8 ? "!limit_key g" : "k=\(name)|g:\(name)=a"))
    }

    @Test("another body of the same conversion has its own names")
    func restart() throws {
        let plan = plan(.multipart, .multipart) { plan in
            plan.files = [Self.file]
            Self.sets(.source(0))(&plan)
        }
        let type = Array("multipart/form-data; boundary=b".utf8)
        let conversion = try Conversion.make(plan: plan, contentType: type.span, sources: [Array("K".utf8)])
        for name in ["K", "L"] {
            if name == "L" { try conversion.restart(contentType: type.span, sources: [Array("L".utf8)]) }
            let output = try conversion.convert(Array(multipart("g:x=a").utf8)) + conversion.convertEnd()
            #expect(String(decoding: output, as: UTF8.self).contains("filename=\"\(name)\""))
        }
    }
}
