import Octets
import Serialization
import TestSupport
import Testing

/// What is read of a content before it is handed on: charsets, Content-Transfer-Encoding, bodies in parts.
@Suite("Multipart contents")
struct MultipartContentTests {
    /// Parts as `name=content`, files as `name:filename:type=content`, or the error's code.
    static func read(
        _ body: [UInt8], type: String = "multipart/form-data; boundary=b",
        _ change: (inout FieldDecodingOptions) -> Void
    ) -> String {
        let plan = plan(.multipart, .json) { plan in
            change(&plan.fieldDecoding)
            plan.fieldEncoding.files = .object
        }
        let whole = ConversionRun.run(plan, .whole(body), type: type)
        for cut in Recut.cuts(of: body, splits: 200) {
            let run = ConversionRun.run(plan, cut, type: type, highWatermark: 1)
            #expect(run.failure == whole.failure, "\(cut)")
            if whole.failure == nil { #expect(run == whole, "\(cut)") }
        }
        return whole.result
    }

    static func body(_ parts: (headers: String, content: [UInt8])...) -> [UInt8] {
        var body: [UInt8] = []
        for part in parts {
            body += Array("--b\r\nContent-Disposition: form-data; name=\(part.headers)\r\n\r\n".utf8) + part.content
            body += Array("\r\n".utf8)
        }
        return body + Array("--b--\r\n".utf8)
    }

    static func text(_ charset: String) -> String { "a\r\nContent-Type: text/plain; charset=\(charset)" }

    static let charsets: [(String, [UInt8], String)] = [
        ("iso-8859-1", [0xE9, 0x80], "é€"), ("ISO-8859-1", [0x81, 0x41], "\u{81}A"), ("\"latin1\"", [0xFF], "ÿ"),
        ("windows-1251", [0xCF, 0xF0], "Пр"), ("koi8-r", [0xF0, 0xD2], "Пр"), ("iso-8859-15", [0xA4], "€"),
        ("shift_jis", [0x82, 0xA0, 0x41, 0xB1], "あAｱ"), ("euc-jp", [0xA4, 0xA2], "あ"),
        ("iso-2022-jp", [0x1B, 0x24, 0x42, 0x24, 0x22, 0x1B, 0x28, 0x42, 0x41], "あA"), ("gbk", [0xC4, 0xE3], "你"),
        ("gb18030", [0x94, 0x39, 0xDA, 0x33], "💩"), ("big5", [0xA7, 0x41], "你"), ("euc-kr", [0xB0, 0xA1], "가"),
        ("utf-16le", [0x3D, 0xD8, 0xA9, 0xDC], "💩"), ("utf-16be", [0x00, 0xE9], "é"), ("ibm866", [0x8F], "П"),
        ("macintosh", [0x8E], "é"), ("utf-8", Array("é".utf8), "é"), ("us-ascii", Array("a".utf8), "a"),
    ]

    @Test("a text part is read in the charset that its Content-Type names", arguments: charsets.indices)
    func partCharset(_ index: Int) {
        let (label, bytes, expected) = Self.charsets[index]
        #expect(Self.read(Self.body((Self.text(label), bytes))) { _ in } == "{\"a\":\"\(expected)\"}")
    }

    static let faults: [(String, [UInt8], InvalidUTF8Policy, String)] = [
        ("shift_jis", [0x41, 0x82], .reject, "!charset_invalid a"),
        ("shift_jis", [0xA0], .reject, "!charset_invalid a"),
        ("shift_jis", [0x41, 0x82], .replace, "{\"a\":\"A\u{FFFD}\"}"),
        ("utf-16le", [0x3D, 0xD8], .reject, "!charset_invalid a"),
        ("utf-16le", [0x41], .reject, "!charset_invalid a"), ("windows-1253", [0xAA], .reject, "!charset_invalid a"),
        ("windows-1253", [0xAA, 0x41], .replace, "{\"a\":\"\u{FFFD}A\"}"),
        ("windows-1253", [0xAA], .latin1, "{\"a\":\"ª\"}"),
        ("klingon", [0x41], .reject, "!multipart_charset a"),
        ("x-user-defined", [0x41], .reject, "!multipart_charset a"),
        ("utf-8", [0xE9], .reject, "!multipart_invalid_utf8 a"),
    ]

    @Test("what is no text of its charset is refused, or replaced where that is said", arguments: faults.indices)
    func fault(_ index: Int) {
        let (label, bytes, policy, expected) = Self.faults[index]
        #expect(Self.read(Self.body((Self.text(label), bytes))) { $0.invalidUTF8 = policy } == expected)
    }

    @Test("charset is for names and for texts that name none; a part's own goes first")
    func option() {
        let body = Self.body(
            ("a", [0xE9]), ("b\r\nContent-Type: text/plain; charset=utf-8", Array("é".utf8)),
            (Self.text("koi8-r"), [0xF0]))
        let latin1: (inout FieldDecodingOptions) -> Void = { $0.charsets = [Charset(label: "latin1")!] }
        #expect(Self.read(body, latin1) == "{\"a\":[\"é\",\"П\"],\"b\":\"é\"}")
        let name =
            Array("--b\r\nContent-Disposition: form-data; name=\"".utf8) + [0xE9] + Array("\"\r\n\r\nx\r\n--b--".utf8)
        #expect(Self.read(name, latin1) == "{\"é\":\"x\"}")
        #expect(Self.read(name) { _ in } == "!multipart_invalid_utf8")
    }

    @Test("the charset of a body's Content-Type is taken where it is listed")
    func declared() {
        let body = Self.body(("a", [0xE9]))
        let type = "multipart/form-data; boundary=b; charset=iso-8859-1"
        #expect(Self.read(body, type: type) { _ in } == "!unsupported_charset")
        let listed: (inout FieldDecodingOptions) -> Void = { $0.charsets = [.utf8, Charset(label: "iso-8859-1")!] }
        #expect(Self.read(body, type: type, listed) == "{\"a\":\"é\"}")
        #expect(Self.read(body, listed) == "!multipart_invalid_utf8 a")
        #expect(
            Self.read(body, type: "multipart/form-data; boundary=b; charset=koi8-r", listed) == "!unsupported_charset")
    }

    @Test("_charset_ names the charset of the texts after it where that is said, and is a field where not")
    func hint() {
        let body = Self.body(("_charset_", Array("iso-8859-1".utf8)), ("a", [0xE9]), (Self.text("koi8-r"), [0xF0]))
        #expect(Self.read(body) { $0.charsetHint = .use } == "{\"a\":[\"é\",\"П\"]}")
        #expect(Self.read(body) { _ in } == "!multipart_invalid_utf8 a")
        #expect(Self.read(Self.body(("_charset_", [0x41]))) { _ in } == "{\"_charset_\":\"A\"}")
        for label in ["klingon", "", String(repeating: "x", count: 65)] {
            #expect(
                Self.read(Self.body(("_charset_", Array(label.utf8)))) { $0.charsetHint = .use }
                    == "!charset_unknown _charset_")
        }
    }

    @Test("a text that is only copied keeps its bytes and its charset, one that is read goes on in UTF-8")
    func copied() {
        let body = Self.body((Self.text("iso-8859-1"), [0xE9]))
        let copied = ConversionRun.run(plan(.multipart, .multipart), .whole(body))
        #expect(copied.output.bytes.contains(0xE9) && !copied.output.bytes.contains(0xC3))
        #expect(String(decoding: copied.output.bytes, as: UTF8.self).contains("charset=iso-8859-1"))
        let read = plan(.multipart, .multipart) { plan in
            plan.files = [FileRule(path: path("f"), policy: .stream, filename: .field(path("a")))]
        }
        #expect(ConversionRun.run(read, .whole(body)).result.contains("text/plain; charset=utf-8\r\n\r\né\r\n"))
        #expect(ConversionRun.run(plan(.multipart, .form), .whole(body)).result == "a=%C3%A9")
    }

    @Test("every label is read in any case and with white space around it")
    func labels() {
        for label in ["UTF-8", " latin1\t", "Shift-JIS", "ks_c_5601-1987", "x-cp1252", "unicode"] {
            #expect(Charset(label: label)?.isInstalled == true, "\(label)")
        }
        for label in ["", "utf8 utf8", "replacement", "utf-7", "x-user-defined"] {
            #expect(Charset(label: label) == nil)
        }
    }

    // MARK: Content-Transfer-Encoding

    static let transfers: [(String, String, String)] = [
        ("7bit", "a=b", "a=b"), ("BINARY", "a=b", "a=b"), ("base64", "VGVzdCAxMjM=", "Test 123"),
        ("Base64", "VGVz\r\ndCAx\r\n\r\nMjM=\r\n", "Test 123"), ("base64", "", ""), ("base64", "VGVz!", "!"),
        ("base64", "VGV", "!"), ("base64", "VG Vz", "!"), ("base64", "VGVz=", "!"),
        ("quoted-printable", "a=3Db=E2=82=AC", "a=b€"), ("Quoted-Printable", "a =\r\nb", "a b"),
        ("quoted-printable", "a \t\r\nb ", "a\r\nb"), ("quoted-printable", "a=  \r\nb", "ab"),
        ("quoted-printable", "=3d", "="), ("quoted-printable", "a=", "!"), ("quoted-printable", "a=3", "!"),
        ("quoted-printable", "a=3X", "!"), ("quoted-printable", "a=X", "!"), ("quoted-printable", "é", "!"),
        ("quoted-printable", "a\u{1}", "!"), ("quoted-printable", "a\rb", "!"), ("quoted-printable", "a\nb", "!"),
        ("quoted-printable", "=  b", "!"), ("quoted-printable", "a=\rb", "!"), ("x-uuencode", "a", "?"),
    ]

    @Test("a Content-Transfer-Encoding is decoded where that is said", arguments: transfers.indices)
    func transfer(_ index: Int) {
        let (encoding, content, expected) = Self.transfers[index]
        let headers = "\r\nContent-Transfer-Encoding: \(encoding)"
        let escaped = expected.replacing("\r\n", with: "\\r\\n")
        let decode: (inout FieldDecodingOptions) -> Void = { $0.transferEncoding = .decode }
        let text = Self.read(Self.body(("a" + headers, Array(content.utf8))), decode)
        let file = Self.read(Self.body(("a; filename=f" + headers, Array(content.utf8))), decode)
        switch expected {
        case "!": #expect(text == "!multipart_transfer_content a" && file == text)
        case "?": #expect(text == "!multipart_transfer_encoding a" && file == text)
        default:
            #expect(text == "{\"a\":\"\(escaped)\"}")
            #expect(!file.hasPrefix("!"))
        }
        let isIdentity = encoding.lowercased() == "7bit" || encoding.lowercased() == "binary"
        #expect(
            Self.read(Self.body(("a" + headers, Array(content.utf8)))) { _ in }.hasPrefix(
                "!multipart_transfer_encoding") != isIdentity)
    }

    @Test("at most 998 blanks wait for the end of a line", arguments: [997, 998, 999])
    func blanks(_ count: Int) {
        let content = Array((String(repeating: " ", count: count) + "x").utf8)
        let plan = plan(.multipart, .json) { $0.fieldDecoding.transferEncoding = .decode }
        let body = Self.body(("a\r\nContent-Transfer-Encoding: quoted-printable", content))
        #expect((ConversionRun.run(plan, .whole(body)).failure == nil) == (count <= 998))
    }

    @Test("encoding and charset are undone in turn, and neither goes on")
    func transferAndCharset() {
        let headers = Self.text("iso-8859-1") + "\r\nContent-Transfer-Encoding: quoted-printable"
        #expect(Self.read(Self.body((headers, Array("=E9".utf8)))) { $0.transferEncoding = .decode } == "{\"a\":\"é\"}")
        let copied = ConversionRun.run(
            plan(.multipart, .multipart) { $0.fieldDecoding.transferEncoding = .decode },
            .whole(Self.body(("a; filename=f\r\nContent-Transfer-Encoding: base64", Array("QQ==".utf8)))))
        #expect(copied.result.contains("\r\n\r\nA\r\n") && !copied.result.contains("Transfer"))
    }
}
