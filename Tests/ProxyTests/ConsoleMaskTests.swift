import Octets
import TestSupport
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
        // Texts in the values of others.
        Body(form, "p=%7B%22token%22%3A%22secret%2Bx%22%7D&a=%31", "p=%7B%22token%22%3A%22***%22%7D&a=%31"),
        Body(form, "p=%7b+%22to%6ben%22+%3a+1%7d", "p=%7b+%22to%6ben%22+%3a+%22***%22%7d"),
        Body(form, "p={\"token\":\"secret\"}", "p={\"token\":\"***\"}"),
        Body(form, "p=a%3D1%26token%3Dsecret%2526y&b=2", "p=a%3D1%26token%3D***&b=2"),
        Body(form, "p=a%3Db%253D1%2526token%253Dsecret&b=2", "p=a%3Db%253D1%2526token%253D***&b=2"),
        Body(form, "p=%3Ca+token%3D%22secret%22%2F%3E", "p=%3Ca+token%3D%22***%22%2F%3E"),
        Body(form, "next=https%3A%2F%2Fh%2Fp%3Ftoken%3Dsecret", "next=https%3A%2F%2Fh%2Fp%3Ftoken%3D***"),
        Body(form, "next=%252Fa%253Ftoken%253Dsecret", "next=%252Fa%253Ftoken%253D***"),
        Body(form, "next=%257B%2522token%2522%253A1%257D", "next=%257B%2522token%2522%253A%2522***%2522%257D"),
        Body(json, #"{"a":"%2Fa%3Ftoken%3Dsecret"}"#, #"{"a":"%2Fa%3Ftoken%3D***"}"#),
        Body(xml, "<a>%7B%22token%22%3A%22secret%22%7D</a>", "<a>%7B%22token%22%3A%22***%22%7D</a>"),
        Body(form, "db=sql%3A%2F%2Fada%3Asecret%40h%2Fd", "db=sql%3A%2F%2F***%40h%2Fd"),
        Body(form, "%7B%22token%22%3A%22secret%22%7D", "%7B%22token%22%3A%22***%22%7D"),
        Body(json, #"{"a":"{\"token\":\"secret\\\"y\"}","b":1}"#, #"{"a":"{\"token\":\"***\"}","b":1}"#),
        Body(json, #"{"a":"[{\"token\":1}]"}"#, #"{"a":"[{\"token\":\"***\"}]"}"#),
        Body(json, #"["{\"a\":\"{\\\"token\\\":\\\"secret\\\"}\"}"]"#, #"["{\"a\":\"{\\\"token\\\":\\\"***\\\"}\"}"]"#),
        Body(json, #"{"a":"b=1&token=secret"}"#, #"{"a":"b=1&token=***"}"#),
        Body(json, #"{"a":"see https:\/\/h\/?token=secret"}"#, #"{"a":"see https:\/\/h\/?token=***"}"#),
        Body(json, #"{"a":"<r><token>secret<\/token></r>"}"#, #"{"a":"<r><token>***<\/token></r>"}"#),
        Body(json, #"{"a":"sql://ada:secret@h/d"}"#, #"{"a":"sql://***@h/d"}"#),
        Body(
            json, #"{"a":"https://token.example/?page=2","b":"ada@h/x"}"#,
            #"{"a":"https://token.example/?page=2","b":"ada@h/x"}"#),
        Body(
            xml, "<a>{&quot;token&quot;:&quot;secret&quot;,&#34;b&#x22;:1}</a>",
            "<a>{&quot;token&quot;:&quot;***&quot;,&#34;b&#x22;:1}</a>"),
        Body(xml, "<a><![CDATA[{\"token\":\"secret\"}]]></a>", "<a><![CDATA[{\"token\":\"***\"}]]></a>"),
        Body(xml, "<a b='x=1&amp;token=secret'/>", "<a b='x=1&amp;token=***'/>"),
        // Attributes of what is masked, and names that stand in attributes.
        Body(xml, "<r><password v=\"secret\"/></r>", "<r><password v=\"***\"/></r>"),
        Body(
            xml, "<password v = \"secret\" w='y'><b c=\"secret\"/></password><b c=\"z\"/>",
            "<password v = \"***\" w='***'>***</password><b c=\"z\"/>"),
        Body(
            xml, "<t:token xmlns=\"a\" xmlns:t=\"urn:x\" t:v=\"secret\"/>",
            "<t:token xmlns=\"a\" xmlns:t=\"urn:x\" t:v=\"***\"/>"),
        Body(
            xml, "<map><string key=\"password\">secret&amp;b</string><string key=\"b\">x</string></map>",
            "<map><string key=\"password\">***</string><string key=\"b\">x</string></map>"),
        Body(xml, "<item key=\"my password\">secret</item>", "<item key=\"my password\">***</item>"),
        Body(xml, "<item key=\"my p&#97;ssword\">secret</item>", "<item key=\"my p&#97;ssword\">***</item>"),
        Body(xml, "<param Name=\"token\"><v>secret</v></param>", "<param Name=\"token\">***</param>"),
        Body(xml, "<add key=\"api_key\" value=\"secret\"/>", "<add key=\"api_key\" value=\"***\"/>"),
        Body(xml, "<token key=\"secret\"/>", "<token key=\"***\"/>"),
        Body(xml, "<input name=password value=secret>x", "<input name=password value=***>x"),
        Body(
            xml, "<p><input name=\"csrf_token\" value=\"secret\"><b>x</b></p>",
            "<p><input name=\"csrf_token\" value=\"***\"><b>x</b></p>"),
        Body(xml, "<input name=\"token\">secret</input><b>x</b>", "<input name=\"token\">***</input><b>x</b>"),
        Body(xml, "<!-- password=secret --><a/>", "<!-- password=***--><a/>"),
        Body(xml, "<?conf password=\"secret\"?><a/>", "<?conf password=***?><a/>"),
        Body(xml, "<!DOCTYPE r [<!ENTITY p \"secret\">]><r>&p;</r>", "***]><r>&p;</r>"),
        Body(
            xml, "<dict><key><![CDATA[password]]></key><string>secret</string></dict>",
            "<dict><key><![CDATA[password]]></key><string>***</string></dict>"),
        Body(
            xml, "<dict><key >pass<!-- -->word</key><string>secret</string></dict>",
            "<dict><key >pass<!-- -->word</key><string>***</string></dict>"),
        // Texts that begin as JSON, and are none.
        Body("text/plain", "[db]\nuser=bob\npassword=secret\n", "[db]\nuser=bob\npassword=***\n"),
        Body("text/plain", "[10:00:00] user=bob password=secret", "[10:00:00] user=bob password=***"),
        Body("text/plain", "10:00:00 password: secret x", "10:00:00 password:***"),
        Body("text/plain", "user: bob, password: secret", "user: bob, password:***"),
        Body("text/plain", "{password: \"secret\", 'token': 'secret'}", "{password:***"),
        Body(json, #"{"a":"5" tall","password":"secret"}"#, #"{"a":"5" tall","password":***"#),
        Body(json, #"{"password":'my secret'}"#, #"{"password":***"#),
        Body(json, #"{"password": 'abc,secret'}"#, #"{"password": ***"#),
        Body(json, #"{"password": 'a}secret'}"#, #"{"password": ***"#),
        Body(json, "{\"password\": {\n 'a': 'secret'}\n}", "{\"password\": ***\n}"),
        Body("application/yaml", "\"password\": abc]secret\nb: 1", "\"password\": ***\nb: 1"),
        Body("text/plain", "\"password\": enc(\"abc\",\"secret\")", "\"password\": ***"),
        Body("text/plain", #"x {"password": {"a": 1}, "b": 2}"#, #"x {"password": "***", "b": 2}"#),
        Body("text/plain", "password: ***, secret", "password:***"),
        Body(json, #"{"file":"[db]\npassword=secret\n"}"#, #"{"file":"[db]\npassword=***\n"}"#),
        Body(
            json, "{\"a\":1,\"token\":\"secret\"}\n{\"token\":\"secret\",\"b\":2}\n",
            "{\"a\":1,\"token\":\"***\"}\n{\"token\":\"***\",\"b\":2}\n"),
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
        Body(xml, "<a><n:token k='1'>x</n:token></a>", "<a><n:token k='***'>***</n:token></a>"),
        Body(xml, "<token><token>x</token>y</token><b>z</b>", "<token>***</token><b>z</b>"),
        Body(xml, "<a token=\"x>y\" b='1'>z</a>", "<a token=\"***\" b='1'>z</a>"),
        Body(xml, "<token/><b>1</b>", "<token/><b>1</b>"),
        Body(
            xml, "<!-- <token>a</token> --><token><![CDATA[</token>]]></token>",
            "<!-- <token>***</token> --><token>***</token>"),
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
            for secret in ["secret", "secr", "se\r\n", "x\"y", "x\\\"", "s%26", "-1.5"]
            where !body.shown.contains(secret) {
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
            ("application/json", ")]}',\n{\"token\": \"x\"}", ")]}',\n{\"token\": \"***\"}"),
            // A value in another line than its name.
            ("text/plain", "\"token\":\nx y\nb: 1", "\"token\":\n***\nb: 1"),
            ("text/plain", "\"token\":\r{\"a\":1}\rb: 1", "\"token\":\r\"***\"\rb: 1"),
            ("application/x-www-form-urlencoded", "a=%22token%22%3A%0Ax%0Ab&c=1", "a=%22token%22%3A%0A***%0Ab&c=1"),
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
        func hidden(_ values: [String], _ text: String) -> String {
            String(decoding: Secrets(values.map { Array($0.utf8) }).hide(in: Array(text.utf8)).bytes, as: UTF8.self)
        }
        #expect(hidden(["secret"], "a secret, secretly: sesecret") == "a ***, ***ly: se***")
        #expect(Secrets([Array("secret".utf8)]).hide(in: Array("a secret, secretly: sesecret".utf8)).count == 3)
        #expect(hidden([], "secret") == "secret")
        #expect(hidden(["longer"], "long") == "long")
        #expect(hidden(["short", "secret"], "short secretsecret") == "short ******")
        // Of several the longest, and no rest of any.
        #expect(hidden(["secret", "secret word", "word of"], "a secret word of") == "a ***")
        #expect(hidden(["aaaaaab", "aaaaaac"], "aaaaaaaac") == "aa***")
        #expect(hidden(["a word", "word of mine", "of mine, no"], "(a word of mine, no more)") == "(*** more)")
    }

    @Test(
        "a masked value is found however it is spelled, byte for byte beside it",
        arguments: [
            #"a&b<c>"d\e/f ü😀'%+1"#, "Simple1234", "Tr0ub&dor3", "p@ss w+rd!", "a/b/c/d/e/f", "tab\tline\n123",
            #"quo"te12345"#, #"back\slash1"#,
        ])
    func spelled(value: String) {
        let quoted = AdminValue.text(value).document.span.lossyString().dropFirst().dropLast(2)
        func json(_ text: String) -> String {
            String(AdminValue.text(text).document.span.lossyString().dropFirst().dropLast(2))
        }
        func percent(_ text: String, _ digits: String = "0123456789ABCDEF", space: String = "%20") -> String {
            let digits = Array(digits)
            var result = ""
            for byte in text.utf8 {
                let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                let escape = "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
                result += byte == 0x20 ? space : isLetter ? String(Unicode.Scalar(byte)) : escape
            }
            return result
        }
        func markup(_ text: String, _ number: (UInt32) -> String = { "&#\($0);" }) -> String {
            var result = ""
            for scalar in text.unicodeScalars {
                let isEscaped = scalar.value > 0x7F || "&<\"'".unicodeScalars.contains(scalar)
                result += isEscaped ? number(scalar.value) : String(scalar)
            }
            return result
        }
        let units = value.utf16.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
        let spellings = [
            value, String(quoted), json(json(value)), percent(value), percent(value, "0123456789abcdef", space: "+"),
            percent(json(value)), percent(percent(value)), json(percent(value)), markup(value),
            markup(value) { "&#x\(String($0, radix: 16));" },
            value.replacing("&", with: "&amp;").replacing("<", with: "&lt;"),
            markup(json(value)), json(markup(value)), percent(markup(value)), units,
            units.uppercased().replacing("\\U", with: "\\u"),
            percent(json(json(value))),
        ]
        for known in spellings {
            let secrets = Secrets([Array(known.utf8)])
            for text in [value, String(quoted), percent(json(value)), markup(value)] + (known == value ? spellings : [])
            {
                let (bytes, count) = secrets.hide(in: Array("{\"é%41&amp;\":\"\(text)\",\"n\":1}".utf8))
                #expect(
                    String(decoding: bytes, as: UTF8.self) == "{\"é%41&amp;\":\"***\",\"n\":1}", "\(known) in \(text)")
                #expect(count == 1)
            }
        }
    }

    @Test("a value of a charset of single bytes is found in UTF-8")
    func otherCharset() {
        let (bytes, _) = Secrets([Array("gr%FC%DFe-123".utf8)]).hide(in: Array("{\"a\":\"grüße-123\"}".utf8))
        #expect(String(decoding: bytes, as: UTF8.self) == "{\"a\":\"***\"}")
    }

    @Test("a value that is a file elsewhere is found in base64, and the other way")
    func base64() {
        let value = Array("the secret of a file".utf8)
        let text = Array(Base64Encoder.text(of: value.span).span.lossyString().utf8)
        #expect(
            Secrets([value]).hide(in: Array("a=".utf8) + text).bytes == Array("a=***".utf8) + text.filter { $0 == 0x3D }
        )
        #expect(Secrets([text]).hide(in: Array("a=".utf8) + value).bytes == Array("a=***".utf8))
    }

    @Test("values that are much alike are looked for in time, or nothing is shown")
    func alike() {
        let many = Secrets((0..<600).map { Array("aaaaaa\($0)".utf8) })
        let near = [UInt8](repeating: UInt8(ascii: "a"), count: 8000) + Array("599 aaaaaa59 aaaaa1".utf8)
        let shown = [UInt8](repeating: UInt8(ascii: "a"), count: 7994) + Array("*** *** aaaaa1".utf8)
        #expect(many.hide(in: near).bytes == shown)
        let text = [UInt8](repeating: UInt8(ascii: "a"), count: 300_000)
        let (bytes, count) = Secrets([Array(text.dropLast(1000)) + Array("b".utf8)]).hide(in: text)
        #expect(bytes == Array("***".utf8) && count == 1)
        #expect(Secrets([Array("aaaaaaa".utf8)]).hide(in: text).bytes == Array("***".utf8))
    }

    @Test(
        "a text of many signs is looked through once, at each depth",
        arguments: [
            "a=", "a:", "%3D", "token=", "\"", "[", "<a ", "http://", "<!---->", "<!x>", "<input name=token>",
            "<token>", "<key>", "--a\n",
            "token=a&", "\"token\":", "<input name=token></x>", ";", "%3b",
        ])
    func manySigns(piece: String) {
        let text = Array(String(repeating: piece, count: 30_000).utf8)
        for (type, before, behind) in [
            (Self.form, "a=%25", ""), (Self.json, "{\"a\":\"%", "\"}"), ("text/plain", "", ""),
            (Self.xml, "<a b='%", "'/>"),
        ] {
            let body = Array(before.utf8) + text + Array(behind.utf8)
            let (masked, isShown) = BodyMask.apply(mask, to: body, type: type)
            #expect(isShown && masked.output.count <= 2 * body.count + 3)
        }
        let head = ShownHead(
            Array("GET /?a=%25".utf8) + text + Array(" HTTP/1.1\r\nX: %".utf8) + text + Array("\r\n\r\n".utf8), mask)
        #expect(head.fields.count == 1)
        let path = ShownHead(Array("GET /;a".utf8) + text + Array(" HTTP/1.1\r\nReferer: /;".utf8) + text, mask)
        #expect(path.fields.count == 1)
    }

    @Test("of boundaries that are guessed a few are looked behind")
    func guessedBoundaries() {
        let chain = (0..<20_000).map { "--\($0)\n--\($0)--" }.joined()
        for count in [1, 2, 3, 4, 5, 20_000] {
            let text = count == 20_000 ? chain : (0..<count).map { "--\($0)\n--\($0)--" }.joined()
            let (masked, isShown) = BodyMask.apply(mask, to: Array((text + "\ntoken=secret").utf8), type: "text/plain")
            #expect(isShown && String(decoding: masked.output, as: UTF8.self) == text + "\ntoken=***")
        }
    }

    @Test("a name of the settings is masked where it stands alone or at the end of a path")
    func wholeNames() {
        let mask = mask.adding(["pw", "t"], fields: [])
        for name in [
            "pw", "PW", "user[pw]", "list[0].pw", "a.pw", "pw[]", "pw[0]", "user[pw][3]", "ns:pw", "t", "a[t]",
            "x_token",
        ] {
            #expect(mask.holds(name), "\(name)")
        }
        for name in ["pwx", "spw", "title", "count", "pw[a]", "", "a.b", "[]", "0"] {
            #expect(!mask.holds(name), "\(name)")
        }
    }

    @Test(
        "of fields of heads each value is looked for elsewhere",
        arguments: [
            ("Authorization: Bearer  secret-1", "secret-1"), ("Authorization: Bearer\tsecret-1", "secret-1"),
            ("Authorization: Token token=\"secret-1\"", "secret-1"), ("X-Token: \"secret-1\"", "secret-1"),
            ("Cookie: a=1; sid=secret-1; b=2", "secret-1"), ("Set-Cookie: sid=secret-1; Path=/; HttpOnly", "secret-1"),
        ])
    func valuesOfHeads(line: String, value: String) {
        let mask = mask.adding([], fields: ["authorization", "cookie", "set-cookie"])
        let head = ShownHead(Array("GET / HTTP/1.1\r\n\(line)\r\n\r\n".utf8), mask)
        let (bytes, count) = Secrets(head.values).hide(in: Array("{\"see\":\"\(value)\",\"a\":\"HttpOnly Path\"}".utf8))
        #expect(String(decoding: bytes, as: UTF8.self) == "{\"see\":\"***\",\"a\":\"HttpOnly Path\"}")
        #expect(count == 1)
    }

    @Test("of what is masked as a whole each value is looked for elsewhere")
    func partsOfValues() {
        for (type, text) in [
            (Self.json, #"{"token":{"a":["first-value"],"second-name":"other\u002dvalue"}}"#),
            (Self.json, #"{"tokens":["first-value",123456789,"other-value"]}"#),
            (Self.form, "token=%7B%22a%22%3A%22first-value%22%2C%22b%22%3A%22other-value%22%7D"),
            (Self.xml, "<token a='first-value'><b>other&#45;value</b></token>"),
            (Self.xml, "<token><b a='first-value'> <![CDATA[other-value]]></b></token>"),
        ] {
            let (masked, _) = BodyMask.apply(mask, to: Array(text.utf8), type: type)
            let (bytes, count) = Secrets(masked.values).hide(
                in: Array("1: first-value, 2: other-value, second-name".utf8))
            #expect(String(decoding: bytes, as: UTF8.self) == "1: ***, 2: ***, second-name", "\(text)")
            #expect(count == 2)
        }
    }

    @Test(
        "hosts have no users, and where one is written it is masked, whatever a password holds",
        arguments: [
            ("Host", "ada:pw@h", "***@h"), ("host", "token@h:80", "***@h:80"), ("Host", "ada:p, w=@x@h", "***@h"),
            ("X-Forwarded-Host", "ada:pw@h, b:pw@i", "***@i"),
            ("Forwarded", "host=\"ada:pw@h\";for=1;token=s", "***@h\";for=1;token=***"),
            ("Forwarded", "for=1;token=s", "for=1;token=***"), ("X-Ghost", "token=s, b", "token=***, b"),
            ("X-Backend", "ada:pw@h", "***@h"), ("Host", "h:80", "h:80"), ("From", "ada@h", "ada@h"),
            ("X-Note", "to: ada@h", "to: ada@h"), ("X-Time", "12:30", "12:30"),
        ])
    func hosts(name: String, value: String, shown: String) {
        for (mask, shown) in [(mask, shown), (NameMask([]), value)] {
            let head = ShownHead(Array("GET / HTTP/1.1\r\n\(name): \(value)\r\n\r\n".utf8), mask)
            #expect(head.fields.map(\.value) == [shown])
            #expect(head.fields.map(\.isMasked) == [shown != value])
        }
    }

    @Test(
        "of addresses users, parameters of paths, and by their names those of queries and fragments are masked",
        arguments: [
            ("/x;token=abc", "/x;token=***"), ("/x;jsessionid=abc/y;v=1?a=1", "/x;jsessionid=***/y;v=***?a=1"),
            ("/x%3Bsid=abc;abc/y", "/x%3Bsid=***;***/y"), ("http://ada:pw@h/x?a=b@c", "http://***@h/x?a=b@c"),
            ("https://h/cb?access_token=abc&a=1#b", "https://h/cb?access_token=***&a=1#b"),
            ("https://h/cb#access_token=abc&a=1", "https://h/cb#access_token=***&a=1"),
            ("/x#token=a?token=b", "/x#token=***"), ("*", "*"), ("h:443", "h:443"), ("/a@b/c:d", "/a@b/c:d"),
            ("//ada:pw@h/x", "//***@h/x"), ("ada:pw@h:443", "***@h:443"),
            ("/x?next=%2Fy%3Ftoken%3Dabc", "/x?next=%2Fy%3Ftoken%3D***"),
        ])
    func addresses(text: String, shown: String) {
        let bytes = Array(text.utf8)
        #expect(String(decoding: BodyMask.address(mask, bytes).output, as: UTF8.self) == shown)
        #expect(BodyMask.address(NameMask([]), bytes).output == bytes)
        let head = ShownHead(Array("GET \(text) HTTP/1.1\r\nReferer: \(text)\r\n\r\n".utf8), mask)
        #expect(head.line == "GET \(shown) HTTP/1.1")
        if text.hasPrefix("/") || text.contains("://") {
            #expect(head.fields.map(\.value) == [shown])
            #expect(head.fields[0].isMasked == (text != shown))
        }
    }

    @Test(
        "in values of fields whose names say nothing parameters are masked",
        arguments: [
            ("</a?token=abc>; rel=next", "</a?token=***"),
            ("0; url=https://h/?token=abc", "0; url=https://h/?token=***"),
            ("Digest a=\"b\", token=\"a,b\", c=d", "Digest a=\"b\", token=***, c=d"),
            ("a=1; token=abc; c=2", "a=1; token=***; c=2"),
            ("{\"token\":\"abc\",\"a\":1}", "{\"token\":\"***\",\"a\":1}"),
            ("text/html; charset=utf-8", "text/html; charset=utf-8"),
            ("application/token+json; q=1", "application/token+json; q=1"), ("Token, Cookie", "Token, Cookie"),
            ("\"token\"", "\"token\""), ("%22token%22%3A%0D%", "%22token%22%3A%0D***"),
        ])
    func fields(value: String, shown: String) {
        let head = ShownHead(Array("GET / HTTP/1.1\r\nX: \(value)\r\n\r\n".utf8), mask)
        #expect(head.fields.map(\.value) == [shown])
        #expect(head.fields[0].isMasked == (value != shown))
    }

    @Test("fields that the settings name are masked whatever they are called, and no others, nor without a mask")
    func namedFields() {
        let head = Array("GET / HTTP/1.1\r\nX-Auth: 1\r\nx-auth-user: ada\r\n\r\n".utf8)
        #expect(ShownHead(head, mask.adding([], fields: ["x-Auth"])).fields.map(\.value) == ["***", "ada"])
        #expect(ShownHead(head, NameMask([]).adding(["a"], fields: ["X-Auth"])).fields.map(\.value) == ["1", "ada"])
    }

    @Test("whatever a client sends can be masked", arguments: 0..<8)
    func anything(seed: Int) {
        let pieces = [
            "\"token\"", ":", "\r", "\n", " ", "\"", "{", "}", "[", "]", "=", "&", "%0A", "%22", "%3A", "%", "<", ">",
            "</", "/>",
            "--b", "--", "\r\n\r\n", "***", "\\", "\\\"", ",", ";", "a", "\u{E9}", "://", "@", "/", "?", "#", "token",
            "Content-Disposition: form-data; name=token", "abcdefgh", "<token>", "<![CDATA[", "]]>", "<!--", "-->",
            "&#112;",
            "<key>token</key>", "<string>", "%253D", "token%3D", "\\u0022", "\u{FEFF}", "'",
        ].map { Array($0.utf8) }
        let types = ["text/plain", Self.form, Self.json, Self.xml, "multipart/form-data; boundary=b", ""]
        var random = SplitMix(state: UInt64(seed))
        for _ in 0..<500 {
            var text = (0...random.below(12)).flatMap { _ in pieces[random.below(pieces.count)] }
            // Characters that are cut, as where a body is.
            if random.below(4) == 0 { text = Array(text.dropLast(random.below(text.count))) + [0xC2] }
            let isWhole = random.below(2) == 0
            for type in types {
                let (masked, _) = BodyMask.apply(mask, to: text, type: type, isWhole: isWhole)
                #expect(masked.at == masked.bytes.count, "\(type) \(text)")
            }
            for masked in [BodyMask.field(mask, text), BodyMask.address(mask, text), BodyMask.query(mask, text)] {
                #expect(masked.at == masked.bytes.count, "\(text)")
            }
        }
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
