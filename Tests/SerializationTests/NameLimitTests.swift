import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// `limits.key` is of the names that come out, whatever they were when they came in; and what comes out is taken back.
@Suite("The limit of names that come out")
struct NameLimitTests {
    private static let limit = 12

    struct Row: Sendable, CustomTestStringConvertible {
        let title: String
        let plan: ConversionPlan
        /// A body whose name comes out with 12 bytes, and the same with one more byte in the name.
        let fitting: [UInt8], longer: [UInt8]
        var type: String?
        var testDescription: String { title }
    }

    /// `before` name `after`; a name is a unit that becomes some bytes, as often as makes 12 of them.
    private static func row(
        _ title: String, _ input: BodyEncoding, _ output: BodyEncoding, _ unit: [UInt8], becoming size: Int,
        type: String? = nil, fixed: Int = 0, more: String = "x", before: String, after: String,
        _ change: (inout ConversionPlan) -> Void = { _ in }
    ) -> Row {
        let plan = plan(input, output) {
            $0.limits.key = limit
            change(&$0)
        }
        let name = Array(repeatElement(unit, count: (limit - fixed) / size).joined())
        return Row(
            title: "\(title): \(input) -> \(output)", plan: plan,
            fitting: Array(before.utf8) + name + Array(after.utf8),
            longer: Array(before.utf8) + name + Array(more.utf8) + Array(after.utf8), type: type)
    }

    private static let part = ("--b\r\nContent-Disposition: form-data; name=\"", "\"\r\n\r\n1\r\n--b--\r\n")
    private static let flat: [BodyEncoding] = [.form, .multipart, .json, .bplist]
    private static let latin1 = Charset(label: "iso-8859-1")!
    private static let shiftJIS = Charset(label: "shift_jis")!

    static let rows: [Row] = flat.flatMap { output in
        let form = ("", "=1")
        let member = ("{\"", "\":1}")
        let key = ("<plist><dict><key>", "</key><true/></dict></plist>")
        var rows = [
            row("escapes", .form, output, Array("%41".utf8), becoming: 1, before: form.0, after: form.1),
            row("escapes", .json, output, Array("\\u00e4".utf8), becoming: 2, before: member.0, after: member.1),
            row("pairs", .json, output, Array("\\ud83d\\ude00".utf8), becoming: 4, before: member.0, after: member.1),
            row("references", .plist, output, Array("&#228;".utf8), becoming: 2, before: key.0, after: key.1),
        ]
        for (input, around) in [(BodyEncoding.form, form), (.multipart, part)] {
            for (title, bytes, size, policy) in [
                ("mended", [0xFF], 3, InvalidUTF8Policy.replace), ("latin1", [0xFF], 2, .latin1),
                ("UTF-8", Array("é".utf8), 2, .reject),
            ] as [(String, [UInt8], Int, InvalidUTF8Policy)] {
                rows.append(
                    row(title, input, output, bytes, becoming: size, before: around.0, after: around.1) {
                        $0.fieldDecoding.invalidUTF8 = policy
                    })
            }
            for (charset, bytes, size) in [(latin1, [0xE4], 2), (shiftJIS, [0x82, 0xA0], 3)]
                as [(Charset, [UInt8], Int)]
            {
                rows.append(
                    row("charset", input, output, bytes, becoming: size, before: around.0, after: around.1) {
                        $0.fieldDecoding.charsets = [charset]
                    })
            }
        }
        for policy in [InvalidUTF8Policy.replace, .latin1] {
            let size = policy == .replace ? 3 : 2
            rows.append(
                row("qs", .form, output, [0xFF], becoming: size, before: form.0, after: form.1) {
                    $0.fieldDecoding = .init(dialect: .qs)
                    $0.fieldDecoding.invalidUTF8 = policy
                })
        }
        if output == .form || output == .multipart {
            for (input, around) in [(BodyEncoding.form, ("x[", "]=1")), (.multipart, (part.0 + "x[", "]" + part.1))] {
                rows.append(
                    row(
                        "renamed", input, output, [UInt8(ascii: "a")], becoming: 1, fixed: 5, before: around.0,
                        after: around.1
                    ) { $0.map.rename = [.init(from: path("x"), to: path("yyy"))] })
            }
        }
        // A line end is two bytes to whoever reads multipart.
        let line = output == .multipart ? 2 : 1
        rows += [
            row("line ends", .json, output, Array("\\n".utf8), becoming: line, before: member.0, after: member.1),
            row("line ends", .form, output, Array("%0D".utf8), becoming: line, before: form.0, after: form.1),
            row("line ends", .multipart, output, Array("%0A".utf8), becoming: line, before: part.0, after: part.1),
        ]
        return rows
    }

    @Test("at the limit a name goes on and is taken back; with one byte more it is refused", arguments: rows)
    func limits(_ row: Row) throws {
        for cut in Recut.cuts(of: row.fitting, splits: 60) {
            let run = ConversionRun.run(row.plan, cut, type: row.type)
            #expect(run.failure == nil && run.violations.isEmpty, "\(cut)")
        }
        let output = ConversionRun.run(row.plan, .whole(row.fitting), type: row.type).output.bytes
        let back = SerializationTests.plan(row.plan.output, .json) { $0.limits.key = Self.limit }
        let type = row.plan.output == .multipart ? "multipart/form-data; boundary=BOUNDARY" : nil
        #expect(ConversionRun.run(back, .whole(output), type: type).failure == nil)
        for cut in Recut.cuts(of: row.longer, splits: 60) {
            let run = ConversionRun.run(row.plan, cut, type: row.type)
            #expect(run.failure?.code == "limit_key", "\(cut)")
        }
    }

    @Test("a filename is written as far as the reader of ours takes its line, at n - 1, n and n + 1")
    func filenames() throws {
        let line = "Content-Disposition: form-data; name=\"f\"; filename=\"\"; filename*=UTF-8''".utf8.count
        let rows: [(String, Int, Int, FilenameStyle)] = [
            ("\u{e4}", 8, line, .both), ("\u{e4}", 2, line - 19, .plain), ("\"", 3, line - 19, .both),
            ("a", 1, line - 19, .both),
        ]
        for (character, size, fixed, style) in rows {
            for count in [10, 700] {
                for change in -1...1 {
                    let limit = fixed + size * count + change
                    let plan = plan(.json, .multipart) {
                        $0.limits.partHeaderLine = limit
                        $0.limits.key = 4096
                        $0.fieldEncoding.filenames = style
                        $0.files = [FileRule(path: path("f"), policy: .stream, source: .object)]
                    }
                    let name = String(repeating: character == "\"" ? "\\\"" : character, count: count)
                    let body = "{\"f\":{\"filename\":\"\(name)\",\"data\":\"eA==\"}}"
                    let run = ConversionRun.run(plan, .whole(Array(body.utf8)))
                    guard change >= 0 else {
                        #expect(run.failure?.code == "limit_part_header_line" && run.failure?.field == "f")
                        #expect(run.output.bytes.isEmpty)
                        continue
                    }
                    let back = SerializationTests.plan(.multipart, .multipart) { $0.limits.partHeaderLine = limit }
                    let type = "multipart/form-data; boundary=BOUNDARY"
                    #expect(run.failure == nil)
                    #expect(ConversionRun.run(back, .whole(run.output.bytes), type: type).failure == nil)
                }
            }
        }
    }

    @Test(
        "of a part's headers those count that are written, at n - 1, n and n + 1",
        arguments: [
            // A file that came without a type gets that of its rule.
            ("; filename=\"a\"", [], 2), ("; filename=\"a\"", ["X-Y: 1"], 3),
            ("; filename=\"a\"", ["Content-Type: a/b", "X-Y: 1"], 3),
            ("", [], 1), ("", ["X-Y: 1"], 2), ("", ["Content-Type: text/plain"], 2),
            // What goes on in another line is written in one, and a transfer encoding not at all.
            ("", ["X-Y: 1\r\n 2"], 2), ("; filename=\"a\"", ["Content-Transfer-Encoding: 8bit"], 2),
        ])
    func lines(disposition: String, headers: [String], written: Int) {
        let type = "multipart/form-data; boundary=BOUNDARY"
        let all = (["Content-Disposition: form-data; name=\"f\"\(disposition)"] + headers).joined(separator: "\r\n")
        let body = "--b\r\n\(all)\r\n\r\n1\r\n--b--\r\n"
        let came = all.split(separator: "\r\n").count
        for limit in max(1, written - 1)...written + 1 {
            let plan = plan(.multipart, .multipart) {
                $0.limits.partHeaders = limit
                $0.files = [FileRule(path: path("f"), policy: .stream, mediaType: "a/b")]
            }
            let run = ConversionRun.run(plan, .whole(Array(body.utf8)))
            #expect(run.failure?.code == (limit < max(came, written) ? "limit_part_headers" : nil), "\(limit)")
            if run.failure == nil {
                #expect(ConversionRun.run(plan, .whole(run.output.bytes), type: type).failure == nil)
            } else if limit >= came {
                #expect(run.failure?.field == "f" && run.output.bytes.isEmpty)
            }
        }
    }

    @Test(
        "each line of a part is written as long as the reader takes it, and only what is written counts",
        arguments: [
            ("X-Y: \(String(repeating: "1", count: 60))\r\n \(String(repeating: "2", count: 60))", 126),
            ("X-Y:\(String(repeating: "1", count: 95))", 100),
            ("Content-Type:text/\(String(repeating: "a", count: 81))", 100),
        ])
    func longLines(header: String, length: Int) {
        let type = "multipart/form-data; boundary=BOUNDARY"
        let body = "--b\r\nContent-Disposition: form-data; name=\"f\"\r\n\(header)\r\n\r\n1\r\n--b--\r\n"
        for limit in length - 1...length + 1 {
            let plan = plan(.multipart, .multipart) { $0.limits.partHeaderLine = limit }
            let run = ConversionRun.run(plan, .whole(Array(body.utf8)))
            #expect(run.failure?.code == (limit < length ? "limit_part_header_line" : nil), "\(limit)")
            if run.failure == nil {
                #expect(ConversionRun.run(plan, .whole(run.output.bytes), type: type).failure == nil)
            }
        }
        // A header that isn't passed on takes nothing of the output's bytes.
        let dropped =
            "--b\r\nContent-Disposition:form-data;name=f;filename=a\r\nContent-Transfer-Encoding:8bit\r\n\r\n1\r\n--b--\r\n"
        let whole = "Content-Disposition: form-data; name=\"f\"; filename=\"a\"Content-Type: application/octet-stream"
            .utf8.count
        for limit in whole - 1...whole + 1 {
            let plan = plan(.multipart, .multipart) {
                $0.limits.partHeaderBytes = limit
                $0.files = [FileRule(path: path("f"), policy: .stream, mediaType: "application/octet-stream")]
            }
            let run = ConversionRun.run(plan, .whole(Array(dropped.utf8)))
            #expect(run.failure?.code == (limit < whole ? "limit_part_header_bytes" : nil), "\(limit)")
        }
    }

    @Test("all headers of a part together have the limit that the reader has")
    func headers() throws {
        let type = "multipart/form-data; boundary=BOUNDARY"
        let head = "Content-Disposition: form-data; name=\"f\"; filename=\"\u{e4}\""
        let came = "Content-Disposition: form-data; name=\"f\"; filename*=UTF-8''%C3%A4"
        let body = "--b\r\n\(came)\r\nX-Y: 12345\r\n\r\n1\r\n--b--\r\n"
        let whole = head.utf8.count + 19 + 6 + "X-Y: 12345".utf8.count
        for limit in whole - 1...whole + 1 {
            let plan = plan(.multipart, .multipart) { $0.limits.partHeaderBytes = limit }
            let run = ConversionRun.run(plan, .whole(Array(body.utf8)))
            #expect(run.failure?.code == (limit < whole ? "limit_part_header_bytes" : nil))
            if limit >= whole {
                #expect(ConversionRun.run(plan, .whole(run.output.bytes), type: type).failure == nil)
            }
        }
    }
}
