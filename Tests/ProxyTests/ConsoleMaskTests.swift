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
