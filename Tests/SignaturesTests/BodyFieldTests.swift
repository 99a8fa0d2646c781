import Octets
import Testing
import Transcoding

@testable import Signatures

/// What is signed inside of bodies, of which most is nobody's matter.
@Suite("Fields inside bodies")
struct BodyFieldTests {
    static let now = 1_700_000_000_000
    static let key = "a secret of some length"

    private func signature(_ signed: [UInt8], _ algorithm: DigestAlgorithm, _ encoding: BinaryEncoding) -> String {
        let mac = Digest.hmac(signed.span, key: Array(Self.key.utf8).span, algorithm)
        return String(decoding: encoding.encode(mac.span), as: UTF8.self)
    }

    private func settings(_ name: String) throws -> SignatureVerifier.Options {
        try requestOptions(name, SigningSecret(.shared(Array(Self.key.utf8))))
    }

    private func error(_ sample: SampleWebhook, _ settings: SignatureVerifier.Options) -> SignatureError? {
        do throws(SignatureError) {
            _ = try sample.replayKey(settings, now: Self.now)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        "Members are found by their names, whatever stands beside them",
        arguments: [
            (#"{"a":"1"}"#, "1"),
            (#" { "b" : [ {"a":"2"} , [ ] , { } ] , "a" : "1" } "#, "1"),
            (#"{"a":1.5e3}"#, "1.5e3"),
            ("\u{FEFF}{\"a\":-0}", "-0"), (#"{"\u0061":"\u00e4\ud83d\ude00\n\/\""}"#, "\u{E4}\u{1F600}\n/\""),
            (#"{"b":"\ud800","\udc00":1,"a":"1"}"#, "1"), (#"{"b":1,"b":2,"a":"1"}"#, "1"),
            (#"{"A":"2","a":"1"}"#, "1"), (#"{"b":{"a":"2"}}"#, nil), (#"{"a":null}"#, nil),
            (#"{"a":true,"b":false}"#, nil), (#"{"a":{"a":"1"}}"#, nil), (#"{"a":["1"]}"#, nil),
            (#"["a","1"]"#, nil), ("{}", nil), ("1", nil), (#"{"aa":"1"}"#, nil),
        ] as [(String, String?)])
    func members(_ json: String, _ expected: String?) throws {
        let found = try MemberSearch.texts(at: ["/a"], in: Array(json.utf8).span)
        #expect(found == (expected.map { ["/a": Array($0.utf8)] } ?? [:]))
    }

    @Test("Members in members, and names with a slash")
    func pointers() throws {
        let json = Array(#"{"x":1,"a":{"c":"3","b":"2"},"s/t~":"4"}"#.utf8)
        let slash = MemberSearch.pointer(to: "s/t~")
        #expect(slash == "/s~1t~0")
        let found = try MemberSearch.texts(at: ["/a/b", "/a/c", "/a/d", "/x/y", slash], in: json.span)
        #expect(found == ["/a/b": [0x32], "/a/c": [0x33], slash: [0x34]])
    }

    @Test(
        "What is no JSON text, or can't be told, is refused",
        arguments: [
            ("", .body), (" ", .body), ("{", .body), (#"{"a""#, .body), (#"{"a":"#, .body), (#"{"a":1"#, .body),
            (#"{"a":1,}"#, .body), (#"{"a":1}}"#, .body), (#"{a:1}"#, .body), (#"{"b":[1,]}"#, .body),
            (#"{"b":[1}}"#, .body), (#"{"b":{"c":1]}"#, .body), (#"{"b":01}"#, .body), (#"{"b":1.}"#, .body),
            (#"{"b":1e}"#, .body), (#"{"b":-}"#, .body), (#"{"b":+1}"#, .body), (#"{"b":tru}"#, .body),
            (#"{"b":"\x"}"#, .body), (#"{"b":"\u00g0"}"#, .body), ("{\"b\":\"\n\"}", .body),
            (#"{"b":"\"}"#, .body), (#"{"b":"\u00"#, .body), ("{} x", .body), (#"{"b" 1}"#, .body),
            (#"{"b":1 "a":1}"#, .body), ("[1 2]", .body), (#"{"a":"\ud800"}"#, .body),
            (#"{"a":1,"a":1}"#, .duplicated), (#"{"a":1,"\u0061":null}"#, .duplicated),
        ] as [(String, SignatureFault)])
    func refused(_ json: String, _ fault: SignatureFault) {
        #expect(throws: SignatureError(fault)) {
            _ = try MemberSearch.texts(at: ["/a"], in: Array(json.utf8).span)
        }
    }

    @Test("A text that isn't asked for may be no UTF-8; one that is may not")
    func invalidText() throws {
        let front = Array(#"{"b":"x"#.utf8) + [0xFC] + Array(#"","a":""#.utf8)
        let good = front + Array(#"1"}"#.utf8)
        #expect(try MemberSearch.texts(at: ["/a"], in: good.span) == ["/a": [0x31]])
        let bad = front + [0xFC] + Array(#""}"#.utf8)
        #expect(throws: SignatureError.body) { _ = try MemberSearch.texts(at: ["/a"], in: bad.span) }
    }

    @Test("A time in a body is found however much stands beside it")
    func linear() throws {
        let settings = try self.settings("linear")
        let time = #""webhookTimestamp":\#(Self.now)"#
        func nested(_ count: Int) -> String {
            String(repeating: #"{"a":["#, count: count) + "1" + String(repeating: "]}", count: count)
        }
        let data = [
            "[" + Array(repeating: "1", count: 40_000).joined(separator: ",") + "]",
            "[" + Array(repeating: #"{"id":1,"name":"x"}"#, count: 10_000).joined(separator: ",") + "]", nested(200),
            nested(100_000), #"{"\#(String(repeating: "k", count: 5000))":1}"#, String(repeating: "7", count: 5000),
            #"{"a":1,"a":2}"#, #""\ud83d""#,
        ]
        for value in data {
            for body in [#"{"data":\#(value),\#(time)}"#, #"{\#(time),"data":\#(value)}"#] {
                let signature = self.signature(Array(body.utf8), .sha256, .hex)
                let sample = SampleWebhook(body, [("Linear-Signature", signature)])
                #expect(error(sample, settings) == nil, "\(body.prefix(60))")
            }
        }
    }

    /// A body of Mailgun's with `more` beside what is signed.
    private func mailgun(form more: [UInt8]) -> SampleWebhook {
        let mac = signature(Array("1700000000tok".utf8), .sha256, .hex)
        var sample = SampleWebhook("", [("Content-Type", "application/x-www-form-urlencoded \t; charset=utf-8")])
        sample.body = Array("timestamp=1700000000&".utf8) + more + Array("&token=tok&signature=\(mac)".utf8)
        return sample
    }

    private func mailgun(parts more: [UInt8]) -> SampleWebhook {
        let mac = signature(Array("1700000000tok".utf8), .sha256, .hex)
        func part(_ name: String, _ content: String) -> String {
            "--b\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(content)\r\n"
        }
        var sample = SampleWebhook("", [("Content-Type", "multipart/form-data; boundary=b")])
        sample.body =
            Array((part("timestamp", "1700000000") + part("token", "tok")).utf8) + more
            + Array((part("signature", mac) + "--b--\r\n").utf8)
        return sample
    }

    @Test("Of inbound mail only what is signed is looked at")
    func mailgun() throws {
        let settings = try self.settings("mailgun")
        func part(_ head: String, _ content: [UInt8]) -> [UInt8] {
            Array("--b\r\nContent-Disposition: form-data; \(head)\r\n\r\n".utf8) + content + Array("\r\n".utf8)
        }
        let lines = (0..<20).map { "\r\nX-\($0): 1" }.joined()
        let long = String(repeating: "n", count: 3000)
        let forms: [[UInt8]] = [
            Array((0..<1500).map { "f\($0)=1" }.joined(separator: "&").utf8), Array("\(long)=1".utf8),
            Array("subject=%FC&x%FF=1".utf8), [UInt8(ascii: "s"), UInt8(ascii: "="), 0xFC],
        ]
        for form in forms { #expect(error(mailgun(form: form), settings) == nil, "\(form.count)") }
        let parts: [[UInt8]] = [
            (0..<1500).flatMap { part("name=\"f\($0)\"", [0x31]) }, part("name=\"\(long)\"", [0x31]),
            part("name=\"s\"\(lines)", [0x31]), part("name=\"s\"", [0xFC]),
            part("name=\"s\"\r\nContent-Type: text/plain; charset=no-such", [0xFC]),
            part("name=\"token\"; filename=\"token\"", [0x31]),
            part("name=\"s\"\r\nContent-Transfer-Encoding: base64", Array("eA==".utf8)),
        ]
        for part in parts { #expect(error(mailgun(parts: part), settings) == nil, "\(part.count)") }
        #expect(error(mailgun(form: Array("token=tok".utf8)), settings) == .duplicated)
        #expect(error(mailgun(parts: part("name=\"token\"", [0x31])), settings) == .duplicated)
        var sample = mailgun(form: Array("a=1".utf8))
        sample.body.append(0xFC)
        #expect(error(sample, settings) == .body)
    }

    @Test("Where all fields are signed, the route's limits and charsets hold", arguments: ["twilio", "mandrill"])
    func all(_ name: String) throws {
        var settings = try self.settings(name)
        func sample(_ form: String, _ fields: String) -> SampleWebhook {
            let signature = self.signature(Array("https://hooks.example.com/hook\(fields)".utf8), .sha1, .base64)
            return SampleWebhook(
                form,
                [("Content-Type", "application/x-www-form-urlencoded\t; a=b"), (settings.scheme.headers[0], signature)])
        }
        // Twilio counts the same value of a name once.
        let signed = String(repeating: "a1", count: name == "twilio" ? 1 : 1001)
        let many = sample(Array(repeating: "a=1", count: 1001).joined(separator: "&"), signed)
        let refusal = error(many, settings)
        #expect(refusal?.fault == .tooLong)
        #expect(refusal?.limit?.code == "limit_fields")
        #expect(refusal?.limit?.setting == "limits.fields")
        var limits = Limits()
        limits.fields = 1001
        settings.reading = SignedBodyReading(limits)
        #expect(error(many, settings) == nil)
        #expect(error(sample("A=%FC", "A\u{FC}"), settings) == .body)
        for (change, text) in [
            ({ $0.charsets = [Charset(label: "windows-1252")].compactMap { $0 } }, "\u{FC}"),
            ({ $0.invalidUTF8 = .replace }, "\u{FFFD}"), ({ $0.invalidUTF8 = .latin1 }, "\u{FC}"),
        ] as [((inout FieldDecodingOptions) -> Void, String)] {
            var options = FieldDecodingOptions()
            change(&options)
            settings.reading = SignedBodyReading(Limits(), options)
            #expect(error(sample("A=%FC", "A\(text)"), settings) == nil, "\(text)")
        }
        // A signer reads as it is told, too.
        var signer = try MessageSigner(settings.scheme, secret: settings.secrets[0])
        var message = MessageSigner.Message()
        message.url = "https://hooks.example.com/hook"
        message.contentType = "application/x-www-form-urlencoded"
        #expect(throws: SignatureError.self) { try signer.sign(message, many.body.span) }
        signer.reading = .all(of: many.body.count)
        #expect(try signer.sign(message, many.body.span).first?.value == many.fields[1].value)
    }

    @Test("What is missing has a name")
    func missing() throws {
        let form = (name: "Content-Type", value: "application/x-www-form-urlencoded")
        let time = (name: "webhook-timestamp", value: "1700000000")
        let rows: [(String, [(name: String, value: String)], String, String)] = [
            ("github", [], "{}", "X-Hub-Signature-256"),
            ("slack", [("X-Slack-Signature", "v0=00")], "a", "X-Slack-Request-Timestamp"),
            ("shopify", [], "{}", "X-Shopify-Hmac-Sha256"),
            ("shopify", [("X-Shopify-Hmac-Sha256", "AA==")], "{}", "X-Shopify-Topic"),
            ("svix", [], "{}", "webhook-signature"),
            ("svix", [("svix-signature", "v1,AA=="), ("webhook-id", "a"), time], "{}", "svix-timestamp"),
            ("svix", [("webhook-signature", "v1,AA=="), ("svix-id", "a"), time], "{}", "webhook-id"),
            ("stripe", [("Stripe-Signature", "v1=00")], "{}", "t in Stripe-Signature"),
            ("linear", [("Linear-Signature", "00")], "{}", "/webhookTimestamp"),
            ("twilio", [form], "a=1", "X-Twilio-Signature"),
            ("twilio", [("X-Twilio-Signature", "AA==")], "a=1", "Content-Type"),
            ("twilio", [("X-Twilio-Signature", "AA=="), ("Content-Type", "application/json")], "{}", "bodySHA256"),
            ("mandrill", [("X-Mandrill-Signature", "AA==")], "a=1", "Content-Type"),
            ("mailgun", [form], "timestamp=1&signature=00", "token"),
            ("mailgun", [], #"{"signature":{"token":"a"}}"#, "/signature/signature"),
            ("http-message-signatures", [], "", "Signature-Input"),
            ("http-message-signatures", [("Signature-Input", "s=()")], "", "Signature"),
        ]
        for (name, fields, body, lacking) in rows {
            let error = self.error(SampleWebhook(body, fields), try settings(name))
            #expect(error?.fault == .missing, "\(name) \(lacking)")
            #expect(error?.field == lacking, "\(name)")
            #expect(error?.detail.contains(lacking) == true)
        }
    }
}
