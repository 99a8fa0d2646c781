import Octets
import Testing

@testable import Proxy

/// What the console shows in the place of values by their names, in bodies that are whole, and in those that are cut anywhere.
@Suite struct ConsoleMaskTests {
    private let mask = NameMask(["password", "token", "api_key"])

    @Test(
        "a name is masked that holds a word, whatever its case and the signs between",
        arguments: [
            ("password", true), ("Password", true), ("user[password]", true), ("user.password_confirmation", true),
            ("X-Csrf-Token", true), ("accessToken", true), ("apiKey", true), ("API KEY", true), ("api-key-2", true),
            ("pass", false), ("word", false), ("tok en", true), ("", false), ("name", false), ("apikee", false),
        ])
    func names(name: String, isMasked: Bool) {
        #expect(mask.holds(name) == isMasked)
    }

    @Test("a mask of no words, or of words without letters, masks nothing")
    func noWords() {
        for words in [[], ["-", " "]] {
            #expect(NameMask(words).isEmpty)
            #expect(!NameMask(words).holds("password"))
        }
    }

    struct Body: Sendable, CustomTestStringConvertible {
        var type: String
        var text: String
        var shown: String
        var testDescription: String { text }

        init(_ type: String, _ text: String, _ shown: String) {
            self.type = type
            self.text = text
            self.shown = shown
        }
    }

    private static let form = "application/x-www-form-urlencoded"
    private static let json = "application/json"
    private static let xml = "application/xml"
    private static let multipart = "multipart/form-data; boundary=\"b d\""

    static let bodies: [Body] = [
        Body(form, "a=1&password=secret&b=2", "a=1&password=***&b=2"),
        Body(form, "user%5Bpassword%5D=s%26t&token=", "user%5Bpassword%5D=***&token="),
        Body(form, "password", "password"), Body(form, "=x&&token=1", "=x&&token=***"),
        Body("\(form); charset=utf-8", "TOKEN=x", "TOKEN=***"),
        Body(json, #"{"a":1,"password":"x\"y","b":"password"}"#, #"{"a":1,"password":"***","b":"password"}"#),
        Body(json, #"{"token" : [1,{"a":"]"}] ,"b":2}"#, #"{"token" : "***" ,"b":2}"#),
        Body(json, #"{"token":{"a":{"b":1}},"b":2}"#, #"{"token":"***","b":2}"#),
        Body(json, #"{"token":-1.5e3}"#, #"{"token":"***"}"#),
        Body(json, #"{"token":null,"b":1}"#, #"{"token":"***","b":1}"#),
        Body(json, #"[{"pass\u0077ord":"x"},"token",{"b\"":1}]"#, #"[{"pass\u0077ord":"***"},"token",{"b\"":1}]"#),
        Body(json, "\u{FEFF} {\"token\":\"x\"}", "\u{FEFF} {\"token\":\"***\"}"),
        Body("text/plain", #"{"token":"x"}"#, #"{"token":"***"}"#),
        Body("", "{\"token\":\"x\ny\"}", "{\"token\":\"***\"}"),
        Body("application/vnd.api+json", #"{"token":"x"}"#, #"{"token":"***"}"#),
        Body("text/plain", "Token: x\nname: y", "Token:***\nname: y"), Body("", "hello", "hello"),
        Body(xml, "<a><password>x<b/>y</password><c>1</c></a>", "<a><password>***</password><c>1</c></a>"),
        Body(xml, "<a><n:token k='1'>x</n:token></a>", "<a><n:token k='1'>***</n:token></a>"),
        Body(xml, "<token><token>x</token>y</token><b>z</b>", "<token>***</token><b>z</b>"),
        Body(xml, "<a token=\"x>y\" b='1'>z</a>", "<a token=\"***\" b='1'>z</a>"),
        Body(xml, "<token/><b>1</b>", "<token/><b>1</b>"),
        Body(
            xml, "<!-- <token>a</token> --><token><![CDATA[</token>]]></token>",
            "<!-- <token>a</token> --><token>***</token>"),
        Body(
            "application/x-plist",
            "<plist><dict><key>token</key><string>x</string><key>b</key><string>y</string></dict></plist>",
            "<plist><dict><key>token</key><string>***</string><key>b</key><string>y</string></dict></plist>"),
        Body(
            multipart,
            "--b d\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\nse\r\ncret\r\n--b d\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--b d--\r\n",
            "--b d\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n***\r\n--b d\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--b d--\r\n"
        ),
        Body(
            multipart,
            "--b d\r\ncontent-disposition: form-data; filename=\"a;name=b\"; name=to\\\"ken\r\n\r\nx\r\n--b d--",
            "--b d\r\ncontent-disposition: form-data; filename=\"a;name=b\"; name=to\\\"ken\r\n\r\n***\r\n--b d--"),
        Body(
            multipart, "--b d\r\nContent-Disposition: form-data; name=token\r\n\r\n\r\n--b d--",
            "--b d\r\nContent-Disposition: form-data; name=token\r\n\r\n\r\n--b d--"),
    ]

    @Test("values are masked, and all else is as it was", arguments: bodies)
    func masked(body: Body) {
        let (masked, isShown) = BodyMask.apply(mask, to: Array(body.text.utf8), type: body.type)
        #expect(isShown)
        #expect(String(decoding: masked.output, as: UTF8.self) == body.shown)
    }

    @Test("of a body that is cut anywhere no masked value is shown", arguments: bodies)
    func cut(body: Body) {
        let bytes = Array(body.text.utf8.map { $0 })
        for count in 0...bytes.count {
            let (masked, isShown) = BodyMask.apply(
                mask, to: Array(bytes[..<count]), type: body.type, isWhole: count == bytes.count)
            let text = String(decoding: masked.output, as: UTF8.self)
            #expect(isShown)
            for secret in ["secret", "se\r\n", "x\"y", "x\\\"", "s%26", "-1.5"] where !body.shown.contains(secret) {
                #expect(!text.contains(secret), "\(count) bytes: \(text)")
            }
        }
    }

    @Test("a body whose names can't be read is not shown")
    func hidden() {
        #expect(!BodyMask.apply(mask, to: Array("bplist00abc".utf8), type: "application/x-plist").isShown)
        #expect(!BodyMask.apply(mask, to: Array("--b\r\n".utf8), type: "multipart/form-data").isShown)
        // Without words there is nothing to hide.
        #expect(BodyMask.apply(NameMask([]), to: Array("bplist00abc".utf8), type: "application/x-plist").isShown)
    }

    @Test(
        "bytes that are no text, and texts of which nobody knows how they spell names, are not shown",
        arguments: [
            ("application/json", Array("{\"token\":\"x\"}".utf16.flatMap { [UInt8($0), 0] })),
            ("text/plain", [0x61, 0, 0x62]),
            ("application/xml", [0xFE, 0xFF] + Array("<token>x</token>".utf16.flatMap { [0, UInt8($0)] })),
            ("application/msgpack", [0x81, 0xA5] + Array("token".utf8) + [0xA1, 0x78]), ("", [0x1F, 0x8B, 8]),
            ("application/x-protobuf", [0x0A, 0x05] + Array("token".utf8)), ("text/plain", [0xE9]),
            ("application/json; charset=utf-7", Array("{+ACI-token+ACI-:1}".utf8)),
            ("text/plain; charset=utf-16", Array("ab".utf8)),
        ] as [(String, [UInt8])])
    func unreadable(type: String, bytes: [UInt8]) {
        #expect(!BodyMask.apply(mask, to: bytes, type: type).isShown)
        #expect(!BodyMask.apply(mask, to: bytes + Array("   ".utf8), type: type, isWhole: false).isShown)
        #expect(BodyMask.apply(NameMask([]), to: bytes, type: type).isShown)
    }

    @Test(
        "a part whose names can't be read is masked as a whole, and one that has names of its own by these",
        arguments: [
            ("", "\u{0}t\u{0}o", "***"),
            ("Content-Type: application/json", "{\"token\":\"x\",\"a\":1}", "{\"token\":\"***\",\"a\":1}"),
            ("Content-Type: application/json; charset=utf-16", "{}", "***"), ("", "a=1&token=x", "a=1&token=***"),
            ("Content-Transfer-Encoding: base64", "dG9rZW4=", "***"), ("Content-Transfer-Encoding: 7bit", "abc", "abc"),
            (
                "Content-Type: multipart/mixed; boundary=c", "--c\r\nX-Token: 1\r\n\r\ntoken: 2\r\n--c--",
                "--c\r\nX-Token:***\r\n\r\ntoken:***\r\n--c--"
            ),
        ])
    func parts(field: String, content: String, shown: String) {
        func body(_ content: String) -> String {
            "token: 1\r\n--b\r\nContent-Disposition: form-data; name=a\r\n\(field)\r\n\r\n\(content)\r\n--b--\r\ntoken: 2"
        }
        // A field that isn't there is an empty line, which ends the head.
        let text = body(content).replacing("\r\n\r\n\r\n", with: "\r\n\r\n")
        let expected = body(shown).replacing("\r\n\r\n\r\n", with: "\r\n\r\n").replacing(
            "token: 1\r\n", with: "token:***\r\n"
        )
        .replacing("--\r\ntoken: 2", with: "--\r\ntoken:***")
        let (masked, isShown) = BodyMask.apply(mask, to: Array(text.utf8), type: "multipart/form-data; boundary=b")
        #expect(isShown)
        #expect(String(decoding: masked.output, as: UTF8.self) == expected)
    }

    @Test(
        "names of parts are found however their heads are written",
        arguments: [
            "Content-Disposition: form-data; name=token\n\n", "Content-Disposition: form-data;\r\n name=token\r\n\r\n",
            "Content-Disposition: form-data; name*=utf-8''t%6Fken\r\n\r\n",
        ])
    func partNames(head: String) {
        let text = "--b\r\n\(head)secret\n--b--"
        let (masked, isShown) = BodyMask.apply(mask, to: Array(text.utf8), type: "multipart/form-data; boundary=b")
        #expect(isShown && masked.count == 1)
        #expect(String(decoding: masked.output, as: UTF8.self) == text.replacing("secret", with: "***"))
    }

    @Test("of parts in parts no more are read than a few")
    func deepParts() {
        var text = "token: x"
        for depth in 0..<20 {
            let type = depth == 0 ? "text/plain" : "multipart/mixed; boundary=b\(depth - 1)"
            text = "--b\(depth)\r\nContent-Type: \(type)\r\n\r\n\(text)\r\n--b\(depth)--"
        }
        let (masked, isShown) = BodyMask.apply(mask, to: Array(text.utf8), type: "multipart/mixed; boundary=b19")
        #expect(isShown && masked.count == 1)
        #expect(!String(decoding: masked.output, as: UTF8.self).contains("token"))
    }

    @Test(
        "a body of another type than it says is masked by how it looks",
        arguments: [
            ("application/x-www-form-urlencoded", "{\"token\":\"x\"}", "{\"token\":\"***\"}"),
            ("application/json", "a=1&token=x&b=2", "a=1&token=***&b=2"),
            ("text/plain", "a=1\rtoken=x\rb=2", "a=1\rtoken=***\rb=2"),
            ("application/json", ")]}',\n{\"token\": \"x\"}", ")]}',\n{\"token\":***"),
        ])
    func otherTypes(type: String, text: String, shown: String) {
        let (masked, isShown) = BodyMask.apply(mask, to: Array(text.utf8), type: type)
        #expect(isShown && masked.count == 1)
        #expect(String(decoding: masked.output, as: UTF8.self) == shown)
    }

    @Test(
        "values that are long enough are told, so that they are hidden elsewhere",
        arguments: [(5, false), (6, true), (7, true)])
    func telling(count: Int, isTold: Bool) {
        let value = String(repeating: "v", count: count)
        let (masked, _) = BodyMask.apply(mask, to: Array("{\"token\":\"\(value)\"}".utf8), type: Self.json)
        #expect(masked.values.contains(Array(value.utf8)) == isTold)
        #expect(BodyMask.query(mask, Array("token=\(value)".utf8)).values.contains(Array(value.utf8)) == isTold)
    }

    @Test("a masked value is hidden wherever it stands")
    func secrets() {
        let (bytes, count) = Secrets.hide([Array("secret".utf8)], in: Array("a secret, secretly: sesecret".utf8))
        #expect(String(decoding: bytes, as: UTF8.self) == "a ***, ***ly: se***")
        #expect(count == 3)
        #expect(Secrets.hide([], in: Array("secret".utf8)).count == 0)
        #expect(Secrets.hide([Array("longer".utf8)], in: Array("long".utf8)).count == 0)
    }

    @Test("a head is shown with its masked fields and parameters")
    func head() {
        let text =
            "POST /a?b=1&token=abcdef HTTP/1.1\r\nHost: h\r\nX-Token:  Bearer 1234567 \r\nno colon\r\nEmpty-Token:\r\n\r\nBody: x"
        let head = ShownHead(Array(text.utf8), mask)
        #expect(head.line == "POST /a?b=1&token=*** HTTP/1.1")
        #expect(head.fields.map(\.name) == ["Host", "X-Token", "Empty-Token"])
        #expect(head.fields.map(\.value) == ["h", "***", ""])
        #expect(head.fields.map(\.isMasked) == [false, true, false])
        #expect(head.values.contains(Array("1234567".utf8)))
        #expect(head.values.contains(Array("abcdef".utf8)))
    }
}
