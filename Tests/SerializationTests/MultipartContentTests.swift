import Foundation
import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

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
        // A byte order mark decides, at the start alone, and is none of the text.
        ("utf-16", [0xFE, 0xFF, 0x00, 0x61, 0xD8, 0x3D, 0xDC, 0xA9], "a💩"), ("utf-16", [0xFF, 0xFE, 0x61, 0x00], "a"),
        ("utf-16", [0x61, 0x00, 0xFF, 0xFE], "a\u{FEFF}"), ("utf-16le", [0xFE, 0xFF, 0x00, 0x61], "a"),
        ("utf-16be", [0xFF, 0xFE, 0x61, 0x00], "a"), ("utf-16be", [0xFE, 0xFF, 0x00, 0x61, 0xFE, 0xFF], "a\u{FEFF}"),
        ("utf-16", [0xFE, 0xFF], ""), ("utf-16", [0xFF, 0xFE, 0xFF, 0xFE], "\u{FEFF}"),
        ("utf-16", [0x3D, 0xD8, 0xA9, 0xDC], "💩"),
        ("windows-1252", [0xFE, 0xFF], "þÿ"), ("utf-8", Array("\u{FEFF}a".utf8), "\u{FEFF}a"),
        // What iconv keeps back goes before the ASCII behind it, and a trail byte isn't ASCII.
        ("big5", [0x61, 0x88, 0x62, 0x62, 0xA7, 0x41], "a\u{CA}\u{304}b你"),
        ("shift_jis", [0x61, 0x5C, 0x83, 0x5C, 0x5C, 0x7E, 0x62], "a\\\\ソ\\\\~b"),
        ("windows-1258", [0x61, 0x41, 0xCC, 0x62], "aA\u{300}b"),
        ("windows-1251", Array("plain ".utf8) + [0xCF, 0x2C, 0xF0] + Array(" plain".utf8), "plain П,р plain"),
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
        ("utf-16", [0xFE, 0xFF, 0xD8, 0x3D], .reject, "!charset_invalid a"),
        ("utf-16", [0xFE], .reject, "!charset_invalid a"), ("utf-16", [0xFE], .replace, "{\"a\":\"\u{FFFD}\"}"),
        ("utf-16", [0xFE, 0xFF, 0xD8, 0x3D, 0x00, 0x61], .replace, "{\"a\":\"\u{FFFD}a\"}"),
        ("utf-16", [0x00, 0xDC, 0x61, 0x00], .reject, "!charset_invalid a"),
        ("utf-16le", [0x41], .reject, "!charset_invalid a"), ("windows-1253", [0xAA], .reject, "!charset_invalid a"),
        ("windows-1253", [0xAA, 0x41], .replace, "{\"a\":\"\u{FFFD}A\"}"),
        ("windows-1253", [0xAA], .latin1, "{\"a\":\"ª\"}"),
        ("windows-1253", [0x61, 0xE1, 0xAA, 0x62], .reject, "!charset_invalid a"),
        ("windows-1253", [0x61, 0xE1, 0xAA, 0xAA, 0xE1, 0x62], .replace, "{\"a\":\"aα\u{FFFD}\u{FFFD}αb\"}"),
        ("windows-1253", [0x61, 0xE1, 0xAA, 0xE1, 0x62], .latin1, "{\"a\":\"aαªαb\"}"),
        ("klingon", [0x41], .reject, "!multipart_charset a"),
        ("x-user-defined", [0x41], .reject, "!multipart_charset a"),
        ("utf-8", [0xE9], .reject, "!multipart_invalid_utf8 a"),
    ]

    @Test("what is no text of its charset is refused, or replaced where that is said", arguments: faults.indices)
    func fault(_ index: Int) {
        let (label, bytes, policy, expected) = Self.faults[index]
        #expect(Self.read(Self.body((Self.text(label), bytes))) { $0.invalidUTF8 = policy } == expected)
    }

    @Test("A mark of one text says nothing of the next one")
    func marks() {
        let big: [UInt8] = [0xFE, 0xFF, 0x00, 0x61], little: [UInt8] = [0x62, 0x00]
        let body = Self.body(
            (Self.text("utf-16"), big), (Self.text("utf-16"), little), (Self.text("utf-16"), big),
            (Self.text("utf-16be"), [0x00, 0x63]))
        #expect(Self.read(body) { _ in } == #"{"a":["a","b","a","c"]}"#)
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

    @Test("a fault in a content that is decoded stands where that begins, however it is cut")
    func transferOffset() throws {
        let headers = "a\r\nContent-Transfer-Encoding: base64"
        for (content, charset) in [("eHh4eHh4eHh4eHh4eHh4eHh4eHh4/w==", "utf-8"), ("eHjYAA==", "utf-16be")] {
            let head = headers + (charset == "utf-8" ? "" : "\r\nContent-Type: text/plain; charset=\(charset)")
            let body = Self.body((head, Array(content.utf8)))
            let plan = plan(.multipart, .json) { plan in
                plan.fieldDecoding.transferEncoding = .decode
                plan.fieldDecoding.charsets = [Charset(label: "utf-8")!, Charset(label: "utf-16be")!]
            }
            let start = try #require(String(decoding: body, as: UTF8.self).range(of: content))
            let offset = String(decoding: body, as: UTF8.self)[..<start.lowerBound].utf8.count
            for cut in Recut.cuts(of: body) {
                let failure = ConversionRun.run(plan, cut).failure
                #expect(failure?.offset == offset, "\(String(describing: failure)) \(cut)")
            }
        }
    }

    // MARK: Bodies in parts

    static func mixed(_ inner: String, type: String = "multipart/mixed; boundary=c") -> [UInt8] {
        body(("a", Array("1".utf8)), ("f\r\nContent-Type: \(type)", Array(inner.utf8)), ("z", Array("2".utf8)))
    }

    static let inner =
        "--c\r\nContent-Disposition: file; filename=\"x.txt\"\r\nContent-Type: text/plain\r\n\r\nX\r\n--c\r\n"
        + "content-disposition: attachment; filename=y.bin; name=q\r\n\r\n\r\n--\r\n--c\r\n\r\nZ\r\n--c--\r\n"

    static let bodies: [(String, String, String)] = [
        (
            inner, "multipart/mixed; boundary=c",
            "a=1|f:x.txt:text/plain=X|f:y.bin=\r\n--|f:blob=Z|z=2"
        ),
        ("--c--", "multipart/mixed; boundary=c", "a=1|z=2"),
        ("--c--\r\nepilogue", "Multipart/Mixed;boundary=\"c\"", "a=1|z=2"),
        (
            "preamble\r\n--c\r\n\r\nx\r\n--c--", "multipart/mixed; boundary=c",
            "a=1|f:blob=x|z=2"
        ),
        ("--c\r\n\r\nx", "multipart/mixed; boundary=c", "!multipart_truncated f"),
        ("", "multipart/mixed; boundary=c", "!multipart_boundary_not_found"),
        ("--c\r\n\r\nx\r\n--cc--", "multipart/mixed; boundary=c", "!multipart_delimiter f"),
        ("--c\r\nX\r\n\r\n\r\n--c--", "multipart/mixed; boundary=c", "!multipart_header_name"),
        ("x", "multipart/mixed", "!multipart_boundary_missing f"),
        ("x", "multipart/mixed; boundary=", "!multipart_content_type f"),
        (
            "--c\r\nContent-Type: multipart/mixed; boundary=d\r\n\r\n--d--\r\n--c--", "multipart/mixed; boundary=c",
            "a=1|f:blob:multipart/mixed; boundary=d=--d--|z=2"
        ),
    ]

    @Test("the parts of a multipart/mixed part become files where that is said", arguments: bodies.indices)
    func flatten(_ index: Int) {
        let (inner, type, expected) = Self.bodies[index]
        let body = Self.mixed(inner, type: type)
        let flattened = plan(.multipart, .multipart) { $0.fieldDecoding.mixed = .flatten }
        let whole = ConversionRun.run(flattened, .whole(body))
        #expect((whole.failure == nil ? summary(ofMultipart: whole.output.bytes) : whole.result) == expected)
        for cut in Recut.cuts(of: body) {
            let run = ConversionRun.run(flattened, cut, highWatermark: 1)
            #expect(run.failure == whole.failure, "\(cut)")
            if whole.failure == nil { #expect(run == whole, "\(cut)") }
        }
    }

    // MARK: Files without a filename

    /// A text, a picture and a document without filenames, and a file with one.
    static let unnamed = body(
        ("t", Array("x".utf8)), ("p\r\nContent-Type: Image/PNG; q=1", [0xFF, 0x00]),
        ("j\r\nContent-Type: application/json", Array("{}".utf8)), ("f; filename=n\r\nContent-Type: text/x", [0xFE]))

    @Test("a part without a filename is a file where file_types has its type, and else a text")
    func fileTypes() throws {
        let images = [try #require(MediaPattern("image/*"))]
        #expect(
            Self.read(Self.unnamed) { $0.fileTypes = images }
                == #"{"p":{"content_type":"Image/PNG; q=1","data":"/wA="},"#
                + #""f":{"filename":"n","content_type":"text/x","data":"/g=="},"t":"x","j":"{}"}"#)
        let all = [try #require(MediaPattern("*/*"))]
        #expect(
            Self.read(Self.body(("t", [0x41]), ("p\r\nContent-Type: text/plain; charset=utf-16", [0xFF]))) {
                $0.fileTypes = all
            } == #"{"p":{"content_type":"text/plain; charset=utf-16","data":"/w=="},"t":"A"}"#)
        let others = [try #require(MediaPattern("image/gif")), try #require(MediaPattern("+xml"))]
        for types in [[], others] {
            #expect(Self.read(Self.unnamed) { $0.fileTypes = types } == "!multipart_invalid_utf8 p")
        }
    }

    @Test("the error of bytes that aren't text names the setting that is about them")
    func fileTypesFault() {
        for (type, setting) in [
            ("image/png", "file_types"), ("Text/Plain", "invalid_utf8"), ("text/x; a=b", "invalid_utf8"),
        ] {
            let body = Self.body(("p\r\nContent-Type: \(type)", [0xFF]))
            #expect(ConversionRun.run(plan(.multipart, .json), .whole(body)).failure?.setting == setting, "\(type)")
        }
        let bare = ConversionRun.run(plan(.multipart, .json), .whole(Self.body(("p", [0xFF]))))
        #expect(bare.failure?.setting == "invalid_utf8")
    }

    @Test(
        "a file that came without a filename goes out without one where parts pass, and as blob where names are spelled anew"
    )
    func fileTypesPassing() throws {
        let images = [try #require(MediaPattern("image/*"))]
        let body = Self.body(("p\r\nContent-Type: image/png", [0x41]), ("f; filename=n", [0x42]), ("t", [0x43]))
        let changes: [(name: String, filename: String, change: (inout ConversionPlan) -> Void)] = [
            ("p", "", { _ in }),
            ("q", "", { $0.map.rename = [.init(from: path("p"), to: path("q"))] }),
            (
                "p", "; filename=\"blob\"",
                { ($0.rewritesNames, $0.fieldEncoding) = (true, FieldEncodingOptions(dialect: .php)) }
            ),
        ]
        for (name, filename, change) in changes {
            let passing = plan(.multipart, .multipart) { plan in
                change(&plan)
                plan.fieldDecoding.fileTypes = images
            }
            let whole = ConversionRun.run(passing, .whole(body))
            #expect(
                whole.result.replacing("\r\n", with: "|")
                    == "--BOUNDARY|Content-Disposition: form-data; name=\"\(name)\"\(filename)|Content-Type: image/png||A|"
                    + "--BOUNDARY|Content-Disposition: form-data; name=\"f\"; filename=\"n\"||B|"
                    + "--BOUNDARY|Content-Disposition: form-data; name=\"t\"||C|--BOUNDARY--|")
            for cut in Recut.cuts(of: body) { #expect(ConversionRun.run(passing, cut, highWatermark: 1) == whole) }
        }
    }

    @Test("a multipart/mixed part is a text, unless it is refused")
    func opaque() {
        let body = Self.mixed("--c--\r\n")
        #expect(Self.read(body) { _ in } == #"{"a":"1","f":"--c--\r\n","z":"2"}"#)
        #expect(Self.read(body) { $0.mixed = .reject } == "!multipart_mixed f")
    }

    @Test("the parts of all bodies are counted together", arguments: [5, 6, 7])
    func parts(_ limit: Int) {
        let flattened = plan(.multipart, .multipart) { plan in
            plan.fieldDecoding.mixed = .flatten
            plan.limits.parts = limit
        }
        let run = ConversionRun.run(flattened, .whole(Self.mixed(Self.inner)))
        #expect(run.failure?.code == (limit < 6 ? "limit_parts" : nil))
    }

    @Test("an error within says where it is in the whole body")
    func offset() throws {
        let body = Self.mixed("--c\r\n\r\nx\r\n--cX")
        let run = ConversionRun.run(plan(.multipart, .multipart) { $0.fieldDecoding.mixed = .flatten }, .whole(body))
        #expect(body[try #require(run.failure?.offset)] == UInt8(ascii: "X"))
    }

    // MARK: Other headers

    @Test("no parameter of a Content-Disposition goes on but the name and the filename")
    func parameters() {
        let body = Self.body(
            ("a; size=\"1; name=\\\"b\\\"\"; xname=c", [0x41]),
            ("f; xfilename=g; filename=f; creation-date=\"x\"", [0x42]))
        let run = ConversionRun.run(plan(.multipart, .multipart), .whole(body))
        #expect(
            run.result.replacing("\r\n", with: "|")
                == "--BOUNDARY|Content-Disposition: form-data; name=\"a\"||A|"
                + "--BOUNDARY|Content-Disposition: form-data; name=\"f\"; filename=\"f\"||B|--BOUNDARY--|")
    }

    @Test("the headers of a part go on as they came, and none can be made by a value")
    func headers() throws {
        let body = Self.body(
            ("a\r\nX-A: 1\r\nX-B:  2\r\n 3", [0x41]), ("f; filename=f\r\nContent-ID: <x>\r\nContent-Length: 1", [0x42]))
        for change: (inout ConversionPlan) -> Void in [
            { _ in }, { $0.map.rename = [.init(from: path("f"), to: path("g"))] },
        ] {
            let result = ConversionRun.run(plan(.multipart, .multipart, change), .whole(body)).result
            #expect(result.contains("name=\"a\"\r\nX-A: 1\r\nX-B: 2 3\r\n\r\nA\r\n"))
            #expect(result.contains("; filename=\"f\"\r\nContent-ID: <x>\r\n\r\nB"))
            #expect(!result.contains("Content-Length") && !result.contains("Content-Type"))
        }
        let json = #"{"a\"\r\nX: y":"1","n":"f\r\nX: y\"","f":"QQ=="}"#
        let made = ConversionRun.run(
            plan(.json, .multipart) { plan in
                plan.files = [FileRule(path: path("f"), policy: .base64, filename: .field(path("n")))]
            }, .whole(Array(json.utf8)))
        var decoder = Multipart.Decoder(
            boundary: try Multipart.boundary("multipart/form-data; boundary=BOUNDARY"), options: .init(),
            limits: .init())
        let parts = FieldRecorder.record(.whole(made.output.bytes), with: &decoder).parts
        #expect(parts.count == 3 && parts.allSatisfy { $0.otherFields.isEmpty })
        #expect(made.result.contains("name=\"a%22%0D%0AX: y\"") && made.result.contains("filename=\"f%0D%0AX: y%22\""))
    }
}
