import Serialization
import TestSupport
import Testing
import Transcoding

/// Of two faults in a body the first one in the order of its bytes is told, however the body is cut.
@Suite("The order of faults")
struct FaultOrderTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var plan: ConversionPlan
        var body: [UInt8]
        var type: String?
        var code: String
        var testDescription: String { "\(plan.inputs[0]) -> \(plan.output), \(code)" }

        init(_ plan: ConversionPlan, _ body: [UInt8], type: String? = nil, _ code: String) {
            (self.plan, self.body, self.type, self.code) = (plan, body, type, code)
        }

        init(_ plan: ConversionPlan, _ body: String, _ code: String) { self.init(plan, Array(body.utf8), code) }
    }

    private static func small(_ input: BodyEncoding, _ output: BodyEncoding) -> ConversionPlan {
        SerializationTests.plan(input, output) { plan in
            plan.limits.field = 3
            plan.limits.tree = 60
            plan.fieldDecoding.transferEncoding = .decode
        }
    }

    private static func part(_ head: String, _ content: [UInt8]) -> [UInt8] {
        Array("--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\(head)\r\n".utf8) + content
            + Array("\r\n--b--".utf8)
    }

    private static let text = [UInt8](repeating: UInt8(ascii: "x"), count: 200)
    private static let multipartType = "multipart/form-data; boundary=b"

    static let rows: [Row] = [
        // What comes behind a text that the output has no place for, or no room.
        Row(plan(.json, .form), #""ab\q""#, "root_not_object"),
        Row(plan(.json, .form), #""a\nb\ud800x""#, "root_not_object"),
        Row(plan(.json, .form), "\"ab\u{1}\"", "root_not_object"),
        Row(plan(.json, .form), Array("\"ab".utf8) + [0xFF], "root_not_object"),
        Row(plan(.json, .form), Array("\"a\u{E9}".utf8) + [0xC3, 0x22], "root_not_object"),
        Row(small(.json, .xml), "[\"\(String(repeating: "x", count: 200))\\q", "limit_tree"),
        Row(small(.text, .json), text + [0xFF], "limit_tree"),
        Row(small(.plist, .xml), Array("<plist><string>".utf8) + text + Array("<b>".utf8), "limit_tree"),
        Row(small(.plist, .xml), Array("<plist><string>".utf8) + text + [0xFF], "limit_tree"),
        Row(small(.plist, .xml), Array("<plist><string>".utf8) + text, "limit_tree"),
        Row(small(.multipart, .json), part("", text + [0xFF]), type: multipartType, "limit_field"),
        Row(
            small(.multipart, .json), part("Content-Type: text/plain; charset=euc-jp\r\n", text + [0xFF]),
            type: multipartType, "limit_field"),
        Row(
            small(.multipart, .json),
            part("Content-Transfer-Encoding: base64\r\n", Array(String(repeating: "eHh4", count: 50).utf8) + [0x21]),
            type: multipartType, "limit_field"),
        Row(
            SerializationTests.plan(.form, .multipart) { plan in
                plan.files = [
                    FileRule(path: path("a"), policy: .base64, types: [MediaPattern("image/*")!])
                ]
            }, "a=AAAA!", "file_type"),
        Row(small(.plist, .xml), "bplist0x", "plist_unsupported_version"),
        Row(SerializationTests.plan(.plist, .xml) { $0.limits.tree = 4 }, "bplist0x", "limit_tree"),
        // What is wrong in front of the end that the body may have.
        Row(SerializationTests.plan(.json, .json) { $0.limits.body = 9 }, #"{"a":1,,"b":2}"#, "json_unexpected_byte"),
        Row(SerializationTests.plan(.json, .json) { $0.limits.body = 7 }, #"{"a":1,,"b":2}"#, "limit_body"),
        Row(SerializationTests.plan(.form, .json) { $0.limits.body = 5 }, "a=%FF&b=2", "form_invalid_utf8"),
    ]

    @Test("the first one is told, by the same words", arguments: rows)
    func first(row: Row) {
        for cut in Recut.cuts(of: row.body) {
            let run = ConversionRun.run(row.plan, cut, type: row.type)
            #expect(run.failure?.code == row.code, "\(cut)")
            if run.failure?.code != row.code { return }
        }
    }
}
