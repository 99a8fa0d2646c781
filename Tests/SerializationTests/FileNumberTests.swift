import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// The numbers of files in whose names `[]` stands. What is expected of PHP is what PHP 8.2.36 has in `$_FILES` of the same files.
@Suite("Numbers of files")
struct FileNumberTests {
    private static func row(
        _ reader: Dialect, _ writer: Dialect, _ parts: String, _ expected: String, to output: BodyEncoding = .multipart,
        _ change: (inout ConversionPlan) -> Void = { _ in }
    ) -> PipelineRow {
        PipelineRow(.multipart, output, parts, expected) { plan in
            plan.fieldDecoding = FieldDecodingOptions(dialect: reader)
            plan.fieldEncoding = FieldEncodingOptions(dialect: writer)
            plan.rewritesNames = writer != .recast && writer != .whatwg
            change(&plan)
        }
    }

    private func checkCuts(_ row: PipelineRow) {
        for cut in Recut.cuts(of: Array(row.input.utf8), splits: 60) {
            let run = ConversionRun.run(row.plan, cut)
            #expect(run.violations.isEmpty, "\(row), \(cut)")
            let isBody = run.failure == nil && row.plan.output == .multipart
            let result = isBody ? summary(ofMultipart: run.output.bytes) : run.result
            #expect(result == row.expected, "\(row), \(cut)")
        }
    }

    static let php: [PipelineRow] = [
        row(.php, .php, multipart("a[0]:x=A", "a[]:y=B"), "a[0]:x=A|a[1]:y=B"),
        row(.php, .php, multipart("a[5]:x=A", "a[]:y=B"), "a[5]:x=A|a[6]:y=B"),
        row(.php, .php, multipart("a[-5]:x=A", "a[]:y=B"), "a[-5]:x=A|a[-4]:y=B"),
        row(.php, .php, multipart("a[x]:x=A", "a[]:y=B"), "a[x]:x=A|a[0]:y=B"),
        row(.php, .php, multipart("a[]:x=A", "a[]:y=B", "b[]:z=C"), "a[0]:x=A|a[1]:y=B|b[0]:z=C"),
        row(.php, .php, multipart("a[0][b]:x=A", "a[]:y=B"), "a[0][b]:x=A|a[1]:y=B"),
        row(.php, .php, multipart("a[0][b]:x=A", "a[][b]:y=B"), "a[0][b]:x=A|a[1][b]:y=B"),
        row(.php, .php, multipart("a[][b]:x=A", "a[][c]:y=B"), "a[0][b]:x=A|a[1][c]:y=B"),
        row(.php, .php, multipart("a[][]:x=A", "a[0][]:y=B"), "a[0][0]:x=A|a[0][1]:y=B"),
        row(
            .php, .php, multipart("a[k][]:x=A", "a[][]:y=B", "a[k][]:z=C"),
            "a[k][0]:x=A|a[0][0]:y=B|a[k][1]:z=C"),
        // What overwrites here overwrites there.
        row(.php, .php, multipart("a[]:x=A", "a[0]:y=B", "a[]:z=C"), "a[0]:x=A|a[0]:y=B|a[1]:z=C"),
        row(.php, .php, multipart("a[]:x=A", "a:y=B", "a[]:z=C"), "a[0]:x=A|a:y=B|a[0]:z=C"),
        row(.php, .php, multipart("a.b[]:x=A", "a_b[]:y=B"), "a_b[0]:x=A|a_b[1]:y=B"),
        row(.php, .php, multipart("a[9223372036854775807]:x=A", "a[]:y=B"), "!files_order a[]"),
        // Fields have numbers of their own, unless files are texts beside them.
        row(.php, .php, multipart("a[]=1", "a[]:x=A", "a[]=2"), "a[0]:x=A|a[0]=1|a[1]=2"),
        row(.php, .php, multipart("a=1", "a[]:x=A"), "a[0]:x=A|a=1"),
        row(.php, .php, multipart("a[]=1", "a[]:x=A"), "!files_shared_root a") { $0.fieldEncoding.files = .base64 },
        row(.php, .php, multipart("a[5]:x=A", "a[]:y=B"), "a[5]=QQ==|a[6]=Qg==") { $0.fieldEncoding.files = .base64 },
        // PHP takes no file whose brackets don't fit, which would be another one's.
        row(.php, .php, multipart("a[b]:x=A", "a[b]c:y=B"), "a[b]:x=A"),
        row(.php, .php, multipart("a[7]c:x=A", "a[]:y=B"), "a[0]:y=B"),
        row(.php, .php, multipart("a[b:x=A", "a]:y=B", "a[[b]]:z=C", "a[b]=1", "a[c]d=2"), "a[b]=1|a[c]=2"),
        // Where no numbers go out the server counts.
        row(.php, .php, multipart("a[5]:x=A", "a[]:y=B"), "a[5]:x=A|a[]:y=B") { $0.fieldEncoding.arrays = .brackets },
    ]

    @Test("PHP: one above the greatest of the array so far, each [] a new element, apart from fields", arguments: php)
    func phpNumbers(_ row: PipelineRow) { checkCuts(row) }

    static let pairs: [(first: String, second: String, expected: String)] = [
        ("a[][b]", "a[][c]", #"{"a":[{"b":"QQ=="},{"c":"Qg=="}]}"#), ("a[0]", "a[]", #"{"a":["QQ==","Qg=="]}"#),
        ("a[5]", "a[]", #"{"a":{"5":"QQ==","6":"Qg=="}}"#), ("a[x]", "a[]", #"{"a":{"x":"QQ==","0":"Qg=="}}"#),
        ("a[]", "a[x]", "!files_order a[x]"), ("a[]", "a[0]", "!files_order a[0]"),
        ("a", "a[b]", "!form_conflict a[b]"), ("a[b]", "a", "!form_conflict a"),
        ("a[9223372036854775807]", "a[]", "!files_order a[]"),
    ]

    @Test("PHP: files stand in a document as in $_FILES, or are refused", arguments: pairs)
    func phpDocuments(_ pair: (first: String, second: String, expected: String)) {
        let parts = multipart("\(pair.first):x=A", "\(pair.second):y=B")
        checkCuts(Self.row(.php, .recast, parts, pair.expected, to: .json) { $0.fieldEncoding.files = .base64 })
    }

    @Test("where brackets alone make arrays, PHP's elements are as many; Rack goes on with the last one")
    func elements() {
        let parts = multipart("a[][b]:x=A", "a[][c]:y=B")
        let apart = Self.row(.php, .recast, parts, #"{"a":[{"b":"QQ=="},{"c":"Qg=="}]}"#, to: .json) {
            $0.fieldDecoding.arrays = .brackets
            $0.fieldEncoding.files = .base64
        }
        let joined = Self.row(.rack, .recast, parts, #"{"a":[{"b":"QQ==","c":"Qg=="}]}"#, to: .json) {
            $0.fieldEncoding.files = .base64
        }
        checkCuts(apart)
        checkCuts(joined)
    }

    @Test(
        "PHP: a file is left out, and counted, where the brackets of its name don't fit",
        arguments: [
            ("a", true), ("a[x]", true), ("a[b][c]", true), ("a[b", false), ("a]", false), ("a[b]c", false),
            ("a[b]c[d]", false), ("a[[b]", false), ("a[[b]]", false), ("a[b]]", false), ("a[[b][c", false),
            ("[", false), ("]", false),
        ])
    func phpFileNames(_ name: String, _ isTaken: Bool) {
        let body = Array(multipart("\(name):x=A").utf8)
        let run = ConversionRun.run(Self.row(.php, .php, "", "").plan, .whole(body))
        #expect(run.failure == nil && run.accounting.removed == (isTaken ? 0 : 1))
        #expect(summary(ofMultipart: run.output.bytes) == (isTaken ? "\(name):x=A" : ""))
    }

    static let others: [PipelineRow] = [
        // Ours and Rack group, and know no numbers beside [].
        row(.recast, .php, multipart("a[]:x=A", "a[]:y=B"), "a[0]:x=A|a[1]:y=B"),
        row(.recast, .php, multipart("a[][b]:x=A", "a[][c]:y=B", "a[][b]:z=C"), "a[0][b]:x=A|a[0][c]:y=B|a[1][b]:z=C"),
        row(.recast, .php, multipart("a[0]:x=A", "a[]:y=B"), "!form_conflict a[]"),
        row(.recast, .php, multipart("a[]:x=A", "a[0]:y=B"), "!form_conflict a[0]"),
        row(.recast, .php, multipart("a[x]:x=A", "a[]:y=B"), "!form_conflict a[]"),
        row(.recast, .php, multipart("a[0][b]:x=A", "a[][b]:y=B"), "!form_conflict a[][b]"),
        row(.recast, .php, multipart("a:x=A", "a:y=B"), "a:x=A|a:y=B"),
        row(.rack, .php, multipart("a[][b]:x=A", "a[][c]:y=B", "a[][b]:z=C"), "a[0][b]:x=A|a[0][c]:y=B|a[1][b]:z=C"),
        row(.rack, .php, multipart("a[0]:x=A", "a[]:y=B"), "!form_conflict a[]"),
        // qs merges.
        row(.qs, .qs, multipart("a[]:x=A", "a[]:y=B"), "a[0]:x=A|a[1]:y=B"),
        row(.qs, .qs, multipart("a[0]:x=A", "a[]:y=B", "a[]:z=C"), "a[0]:x=A|a[1]:y=B|a[2]:z=C"),
        row(.qs, .qs, multipart("a[5]:x=A", "a[]:y=B"), "a[5]:x=A|a[0]:y=B"),
        row(.qs, .qs, multipart("a[]:x=A", "a[0]:y=B"), "a[0]:x=A|a[1]:y=B"),
        row(.qs, .qs, multipart("a[0]:x=A", "a[0][b]:y=B"), "a[0]:x=A|a[1][b]:y=B"),
        row(.qs, .qs, multipart("a[][b]:x=A", "a[][c]:y=B"), "a[0][b]:x=A|a[0][c]:y=B"),
        row(.qs, .qs, multipart("a[][b]:x=A", "a[][b]:y=B"), "a[0][b]:x=A|a[0][b]:y=B"),
        row(.qs, .qs, multipart("[]:x=A", "[]:y=B"), "0:x=A|1:y=B"),
        row(.qs, .php, multipart("0:x=A", "[]:y=B"), "0:x=A|1:y=B"),
        row(
            .qs, .php, multipart("a[999999999]:x=A", "a[1000000000]:y=B", "a[0]:z=C", "a[]:w=D"),
            "a[999999999]:x=A|a[1000000000]:y=B|a[0]:z=C|a[1000000001]:w=D"),
        row(.qs, .qs, multipart("a[]=1", "a[]:x=A"), "a[0]:x=A|a[0]=1"),
        row(.qs, .php, multipart("a[0]:x=A", "a[]:y=B"), "a[0]:x=A|a[1]:y=B"),
        row(.qs, .php, multipart("a[][b]:x=A", "a[][b]:y=B"), "!files_order a[][b]"),
        row(.qs, .php, multipart("a[0][b]:x=A", "a[][b]:y=B"), "!files_order a[][b]"),
    ]

    @Test("the dialect that reads counts, and no server loses a file by the numbers", arguments: others)
    func otherNumbers(_ row: PipelineRow) { checkCuts(row) }

    @Test("places of files are held within limits.tree")
    func limit() {
        let head = "--b\r\nContent-Disposition: form-data; filename=\"x\"; name="
        let parts = (0..<40).map { head + "\"a[\($0)]\"\r\n\r\nA\r\n" }
        let body = Array((parts.joined() + "--b--\r\n").utf8)
        let plan = plan(.multipart, .multipart) {
            $0.fieldDecoding = FieldDecodingOptions(dialect: .php)
            $0.fieldEncoding = FieldEncodingOptions(dialect: .php)
            $0.rewritesNames = true
            $0.limits.tree = 1024
        }
        #expect(ConversionRun.run(plan, .whole(body)).failure?.code == "limit_tree")
    }
}
