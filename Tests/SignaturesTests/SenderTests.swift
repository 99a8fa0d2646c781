import Octets
import Signatures
import Testing

/// Each sender's requests, as its own scheme signs them, and what nobody may get through with.
@Suite("Senders")
struct SenderTests {
    static let now = 1_700_000_000_000

    /// A sender with a secret to sign with and one to verify with.
    struct Row: CustomTestStringConvertible, Sendable {
        var name: String
        var signing: SigningSecret
        var verifying: SigningSecret
        var testDescription: String { name }
    }

    static let rows: [Row] = SenderPresets.all.compactMap { scheme in
        switch scheme.name {
        // Signed in the body, or by a key that is the sender's own.
        case "mailgun", "sns", "paypal", "sendgrid": return nil
        case "discord":
            let bytes = BinaryEncoding.hex.decode(Array(TestKeys.ed25519Private.utf8).span) ?? []
            guard let key = SignatureKey(ed25519: bytes.span, isPrivate: true),
                let verifying = try? SigningSecret(TestKeys.ed25519Public, as: .ed25519)
            else { return nil }
            return Row(name: scheme.name, signing: SigningSecret(.key(key)), verifying: verifying)
        case "standard-webhooks", "svix":
            guard let secret = try? SigningSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", as: .whsec) else {
                return nil
            }
            return Row(name: scheme.name, signing: secret, verifying: secret)
        default:
            let secret = SigningSecret(.shared(Array("a secret of some length".utf8)))
            return Row(name: scheme.name, signing: secret, verifying: secret)
        }
    }

    /// A request that the row's sender has signed.
    static func sample(_ row: Row, at time: Int = now) throws -> (SampleWebhook, SignatureVerifier.Options) {
        var sample = SampleWebhook(
            row.name == "mandrill" || row.name == "twilio"
                ? "b=2&a=1&a=0&a=0&c=%C3%A4+x" : #"{"webhookTimestamp":\#(time),"a":[1,2]}"#)
        let contentType =
            row.name == "mandrill" || row.name == "twilio" ? "application/x-www-form-urlencoded" : "application/json"
        sample.fields = [("Content-Type", contentType)]
        let options = try options(row.name, row.verifying)
        var message = MessageSigner.Message()
        message.url = "https://hooks.example.com/hook?x=1%27&y=%2F"
        sample.target = "/hook?x=1%27&y=%2F"
        message.id = "msg_1"
        message.time = time
        message.contentType = contentType
        sample.fields += try MessageSigner(options.scheme, secret: row.signing).sign(message, sample.body.span)
        for name in options.scheme.requiredHeaders + options.scheme.idHeaders.prefix(1) {
            if !sample.fields.contains(where: { $0.name == name }) { sample.fields.append((name, "x")) }
        }
        return (sample, options)
    }

    @Test("there is a row for nearly every preset")
    func rowCount() { #expect(Self.rows.count == SenderPresets.all.count - 4) }

    @Test("what it signs is taken, however it is cut", arguments: rows)
    func signed(_ row: Row) throws {
        let (sample, options) = try Self.sample(row)
        for cut in [1, 2, 7, .max] { #expect(sample.verify(options, now: Self.now, cut: cut) == nil) }
    }

    @Test("What is signed is taken, and what nobody takes isn't signed", arguments: rows)
    func agreement(_ row: Row) throws {
        let options = try options(row.name, row.verifying)
        let signer = try MessageSigner(options.scheme, secret: row.signing)
        let texts = [
            "", "x", "a=1&b=%C3%A4", "mandrill_events=%5B%5D", "a=%zz", "{", "[1]", #"{"a":1}"#,
            #"{"a":1,"webhookTimestamp":\#(Self.now)}"#, #"{"webhookTimestamp":"soon"}"#,
        ]
        for body in texts.map({ Array($0.utf8) }) + [Array(0...255)] {
            for type in ["application/x-www-form-urlencoded", "application/json", "text/plain", "multipart/mixed", ""] {
                var sample = SampleWebhook()
                sample.body = body
                if !type.isEmpty { sample.fields = [("Content-Type", type)] }
                var message = MessageSigner.Message()
                message.url = "https://hooks.example.com/hook"
                message.id = "msg_1"
                message.time = Self.now
                message.contentType = type
                let what = "\(String(decoding: body, as: UTF8.self)) of the type \(type)"
                guard let fields = try? signer.sign(message, body.span) else {
                    #expect(["twilio", "mandrill", "linear", "x"].contains(row.name), "\(what) isn't signed")
                    continue
                }
                sample.fields += fields
                for name in options.scheme.requiredHeaders where !fields.contains(where: { $0.name == name }) {
                    sample.fields.append((name, "x"))
                }
                #expect(sample.verify(options, now: Self.now) == nil, "\(what)")
            }
        }
        // What the four refuse.
        var message = MessageSigner.Message()
        message.url = "https://hooks.example.com/hook"
        message.contentType = "text/plain"
        let refused: [(name: String, body: String, field: String?)] = [
            ("mandrill", "x", nil), ("twilio", "x", "bodySHA256"), ("linear", "", nil),
            ("linear", #"{"a":1}"#, "/webhookTimestamp"), ("linear", #"{"webhookTimestamp":"soon"}"#, nil),
            ("x", "x", nil), ("x", "admin=true", nil),
        ]
        for (name, body, field) in refused where name == row.name {
            do throws(SignatureError) {
                _ = try signer.sign(message, Array(body.utf8).span)
                Issue.record("\(name) signs \(body)")
            } catch {
                #expect(error.field == field, "\(name) \(body)")
            }
        }
    }

    @Test("with another secret beside it too, in either order; with that alone not", arguments: rows)
    func rotated(_ row: Row) throws {
        let (sample, original) = try Self.sample(row)
        var options = original
        let other = SigningSecret(.shared(Array("another".utf8)))
        options.secrets = [other, row.verifying]
        #expect(sample.verify(options, now: Self.now) == nil)
        options.secrets = [row.verifying, other]
        #expect(sample.verify(options, now: Self.now) == nil)
        options.secrets = [other]
        #expect(sample.verify(options, now: Self.now) == .mismatch)
        options.secrets = []
        #expect(sample.verify(options, now: Self.now) == .mismatch)
    }

    @Test("a body that was changed is refused", arguments: rows.filter { $0.name != "gitlab-token" })
    func changedBody(_ row: Row) throws {
        let (sample, options) = try Self.sample(row)
        for at in sample.body.indices {
            var other = sample
            // A letter of the form or of the JSON text's names and values, so that it can still be read.
            guard ASCII.isAlpha(other.body[at]) || ASCII.isDigit(other.body[at]) else { continue }
            other.body[at] = other.body[at] == UInt8(ascii: "7") ? UInt8(ascii: "8") : UInt8(ascii: "7")
            #expect(other.verify(options, now: Self.now) != nil, "byte \(at)")
        }
        var longer = sample
        longer.body.append(ASCII.space)
        #expect(longer.verify(options, now: Self.now) != nil)
        var shorter = sample
        shorter.body.removeLast()
        #expect(shorter.verify(options, now: Self.now) != nil)
        var none = sample
        none.body = []
        #expect(none.verify(options, now: Self.now) != nil)
    }

    @Test("what needs none of the content is told from what does", arguments: rows)
    func content(_ row: Row) throws {
        var (sample, options) = try Self.sample(row)
        #expect(try sample.verifier(options, now: Self.now).readsContent == (row.name != "gitlab-token"))
        options.remembers = true
        #expect(try sample.verifier(options, now: Self.now).readsContent)
        sample.body = []
        options.remembers = false
        let faultWithoutContent = sample.verify(options, now: Self.now)
        #expect((faultWithoutContent == nil) == (row.name == "gitlab-token"))
    }

    @Test("without a field, with one twice, or with one changed, it is refused", arguments: rows)
    func fields(_ row: Row) throws {
        let (sample, options) = try Self.sample(row)
        // The content's type decides what is signed of Twilio's and Mandrill's requests alone.
        for at in sample.fields.indices where sample.fields[at].name != "Content-Type" {
            let field = sample.fields[at]
            var without = sample
            without.fields.remove(at: at)
            #expect(without.verify(options, now: Self.now) == .missing, "without \(field.name)")
            var twice = sample
            twice.fields.append(field)
            // Of RFC 9421 all lines of a field are one value, which is another one then.
            let fault = twice.verify(options, now: Self.now)
            #expect(options.scheme.special == .httpMessage ? fault != nil : fault == .duplicated, "\(field.name) twice")
            guard !options.scheme.requiredHeaders.contains(field.name) else { continue }
            for index in field.value.utf8.indices {
                let offset = field.value.utf8.distance(from: field.value.utf8.startIndex, to: index)
                var bytes = Array(field.value.utf8)
                // Letters of hex are the same in either case.
                bytes[offset] = bytes[offset] == UInt8(ascii: "5") ? UInt8(ascii: "6") : UInt8(ascii: "5")
                var other = sample
                other.fields[at].value = String(decoding: bytes, as: UTF8.self)
                // The last character of base64 may have bits that stand for nothing.
                if other.verify(options, now: Self.now) == nil {
                    #expect(Self.isSameSignature(options, field.value, other.fields[at].value))
                }
            }
        }
    }

    private static func isSameSignature(_ options: SignatureVerifier.Options, _ one: String, _ other: String) -> Bool {
        guard options.scheme.encoding != .hex else { return false }
        func bytes(_ text: String) -> [UInt8]? {
            let text =
                text.split(separator: ",").last.map { String($0.split(separator: "=", maxSplits: 1).last ?? "") } ?? ""
            return options.scheme.encoding.decode(Array(text.utf8).span)
        }
        return bytes(one) == bytes(other)
    }

    @Test("a time is taken up to its tolerance, at n-1, n and n+1", arguments: rows)
    func times(_ row: Row) throws {
        let (sample, options) = try Self.sample(row)
        let (past, future) = options.scheme.tolerance
        for step in [-1, 0] {
            #expect(sample.verify(options, now: Self.now + (past ?? 1_000_000_000) + step) == nil)
            #expect(sample.verify(options, now: Self.now - (future ?? 1_000_000_000) - step) == nil)
        }
        if let past { #expect(sample.verify(options, now: Self.now + past + 1) == .expired) }
        if let future { #expect(sample.verify(options, now: Self.now - future - 1) == .future) }
    }

    @Test("the published requests of GitHub, Slack, Square and Paddle are taken")
    func published() throws {
        let github = try SignatureVector.named("github-1")
        var sample = SampleWebhook(github.signed, [("X-Hub-Signature-256", "sha256=" + github.signature)])
        #expect(sample.verify(try options("github", SigningSecret("mysecret", as: .text)), now: Self.now) == nil)

        let slack = try SignatureVector.named("slack-docs")
        sample = SampleWebhook(
            String(slack.signed.dropFirst("v0:1531420618:".count)),
            [("X-Slack-Signature", "v0=" + slack.signature), ("X-Slack-Request-Timestamp", "1531420618")])
        #expect(
            sample.verify(try options("slack", SigningSecret(slack.key ?? "", as: .text)), now: 1_531_420_700_000)
                == nil)

        let square = try SignatureVector.named("square-2")
        let url = "https://webhook.site/webhooks"
        sample = SampleWebhook(
            String(square.signed.dropFirst(url.count)), [("x-square-hmacsha256-signature", square.signature)])
        sample.target = "/webhooks"
        var settings = try options("square", SigningSecret("signature-key", as: .text))
        settings.publicURL = "https://webhook.site"
        #expect(sample.verify(settings, now: Self.now) == nil)

        let paddle = try SignatureVector.named("paddle-2")
        sample = SampleWebhook(#"{"data": "value"}"#, [("Paddle-Signature", "ts=1698796800;h1=\(paddle.signature)")])
        let sent = 1_698_796_800_000
        for (now, fault) in [
            (sent + 2000, nil), (sent + 5000, nil), (sent + 5001, SignatureFault.expired), (sent - 60_000, nil),
        ] {
            #expect(sample.verify(try options("paddle", SigningSecret("VALID_SECRET", as: .text)), now: now) == fault)
        }
    }

    @Test("Twilio: the published forms, ports and JSON")
    func twilio() throws {
        let form = "Digits=1234&CallSid=CA1234567890ABCDE&To=%2B18005551212&Caller=%2B14158675309&From=%2B14158675309"
        let rows: [(String, String, String, String)] = [
            ("twilio-form", "https://mycompany.com", "/myapp.php?foo=1&bar=2", form),
            ("twilio-form", "https://mycompany.com:443", "/myapp.php?foo=1&bar=2", form),
            ("twilio-form-http80", "http://mycompany.com", "/myapp.php?foo=1&bar=2", form),
            ("twilio-form-http80", "http://mycompany.com:80", "/myapp.php?foo=1&bar=2", form),
            ("twilio-form-http1234", "http://mycompany.com:1234", "/myapp.php?foo=1&bar=2", form),
            ("twilio-credentials-443", "https://user:pass@mycompany.com", "/myapp.php?foo=1&bar=2", form),
            (
                "twilio-json", "https://mycompany.com",
                "/myapp.php?foo=1&bar=2&bodySHA256=0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620",
                #"{"property": "value", "boolean": true}"#
            ),
            (
                "twilio-json-only-hash", "https://mycompany.com",
                "/myapp.php?bodySHA256=0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620",
                #"{"property": "value", "boolean": true}"#
            ),
        ]
        for (name, base, target, body) in rows {
            let vector = try SignatureVector.named(name)
            var sample = SampleWebhook(body, [("X-Twilio-Signature", vector.signature)])
            sample.fields.append(
                ("Content-Type", name.contains("json") ? "application/json" : "application/x-www-form-urlencoded"))
            sample.target = target
            var settings = try options("twilio", SigningSecret("12345", as: .text))
            settings.publicURL = base
            #expect(sample.verify(settings, now: Self.now) == nil, "\(name) \(base)")
            settings.publicURL = "https://other.com"
            #expect(sample.verify(settings, now: Self.now) == .mismatch)
            settings.publicURL = base
            sample.body.append(UInt8(ascii: "1"))
            #expect(sample.verify(settings, now: Self.now) != nil)
        }
        // A body that nothing signs.
        let bare = SignedSample.twilioWithoutHash
        #expect(bare.verify(try options("twilio", SigningSecret("12345", as: .text)), now: Self.now) == .missing)
    }

    @Test("Mailgun: events, routes as a form and as multipart")
    func mailgun() throws {
        let vector = try SignatureVector.named("mailgun-php")
        let time = "1403645220"
        let token = String(vector.signed.dropFirst(time.count))
        let settings = try options("mailgun", SigningSecret(vector.key ?? "", as: .text))
        let json =
            #"{"signature":{"timestamp":"\#(time)","token":"\#(token)","signature":"\#(vector.signature)"},"event-data":{}}"#
        let form = "timestamp=\(time)&token=\(token)&signature=\(vector.signature)&subject=a"
        let parts = [("timestamp", time), ("token", token), ("signature", vector.signature)]
        let multipart =
            parts.map { "--b\r\nContent-Disposition: form-data; name=\"\($0.0)\"\r\n\r\n\($0.1)\r\n" }.joined()
            + "--b\r\nContent-Disposition: form-data; name=\"a\"; filename=\"a.txt\"\r\n\r\nx\r\n--b--\r\n"
        let bodies = [
            (json, "application/json"), (form, "application/x-www-form-urlencoded"),
            (multipart, "multipart/form-data; boundary=b"),
        ]
        for (body, type) in bodies {
            let sample = SampleWebhook(body, [("Content-Type", type)])
            #expect(sample.verify(settings, now: Self.now) == nil, "\(type)")
            for (from, to) in [
                (token, "x" + token), (time, "1" + time.dropFirst() + "0"),
                (vector.signature, "00" + vector.signature.dropFirst(2)),
            ] {
                let other = SampleWebhook(body.replacing(from, with: to), [("Content-Type", type)])
                #expect(other.verify(settings, now: Self.now) == .mismatch, "\(type) \(from)")
            }
            let cut = SampleWebhook(body.replacing("token", with: "tokem"), [("Content-Type", type)])
            #expect(cut.verify(settings, now: Self.now) == .missing)
        }
        let twice = SampleWebhook(form + "&token=x", [("Content-Type", bodies[1].1)])
        #expect(twice.verify(settings, now: Self.now) == .duplicated)
        let broken = SampleWebhook("{", [("Content-Type", "application/json")])
        #expect(broken.verify(settings, now: Self.now) == .body)
    }

    @Test("Twilio and Mandrill sign no files, so a body that has one is refused", arguments: ["twilio", "mandrill"])
    func files(_ name: String) throws {
        let secret = SigningSecret(.shared(Array("12345".utf8)))
        let settings = try options(name, secret)
        func part(_ head: String, _ content: String) -> String {
            "--b\r\nContent-Disposition: form-data; \(head)\r\n\r\n\(content)\r\n"
        }
        let text = part("name=\"a\"", "1")
        // A body in a part is the part's text, which is signed as any other.
        let mixed =
            "--b\r\nContent-Disposition: form-data; name=\"m\"\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n"
            + "--c\r\nContent-Disposition: file; filename=\"x\"\r\n\r\n1\r\n--c--\r\n"
        for (parts, signed, fault) in [
            (text, "a1", nil), (text + part("name=\"f\"; filename=\"x\"", "1"), "a1", .body),
            (part("name=\"f\"; filename=\"\"", ""), "", .body), (part("name=\"f\"; filename=\"x\"", "1"), "", .body),
            (part("name=\"f\"; filename*=UTF-8''x", "1") + text, "a1", .body), (text + mixed, "a1", .mismatch),
        ] as [(String, String, SignatureFault?)] {
            let message = Array(("https://hooks.example.com/hook" + signed).utf8)
            let mac = Digest.hmac(message.span, key: Array("12345".utf8).span, .sha1)
            let sample = SampleWebhook(
                parts + "--b--\r\n",
                [
                    ("Content-Type", "multipart/form-data; boundary=b"),
                    (
                        settings.scheme.headers[0],
                        String(decoding: BinaryEncoding.base64.encode(mac.span), as: UTF8.self)
                    ),
                ])
            #expect(sample.verify(settings, now: Self.now) == fault, "\(parts)")
            // We don't sign what we would not take.
            var sent = MessageSigner.Message()
            sent.url = "https://hooks.example.com/hook"
            sent.contentType = "multipart/form-data; boundary=b"
            if fault == .body {
                let signer = try MessageSigner(settings.scheme, secret: secret)
                #expect(throws: SignatureError.body) { try signer.sign(sent, sample.body.span) }
            }
        }
    }

    @Test("A token in a list is the secret itself")
    func tokenInList() throws {
        var scheme = SignatureScheme(name: "custom")
        scheme.headers = ["X-Token"]
        scheme.value = .list(separator: UInt8(ascii: ","), pair: UInt8(ascii: "="), timestamp: nil)
        scheme.methods = [.init(name: "v1", algorithm: .equal)]
        let settings = SignatureVerifier.Options(
            scheme: scheme, secrets: [SigningSecret(.shared(Array("gehéim".utf8)))])
        for (value, fault) in [
            ("v1=gehéim", nil), ("v0=x, v1=gehéim", nil), ("v1=x,v1=gehéim", nil), ("v1=geheim", .mismatch),
            ("v1=", .mismatch),
            ("gehéim", .malformed),
        ] as [(String, SignatureFault?)] {
            #expect(SampleWebhook("{}", [("X-Token", value)]).verify(settings, now: Self.now) == fault, "\(value)")
        }
    }

    @Test("The URL that we sign is the one that we would verify, with a slash at the base's end or without")
    func signedURL() {
        for base in ["https://h.example", "https://h.example/", "https://h.example/a", "https://h.example/a/"] {
            var message = MessageSigner.Message()
            message.read(head: Array("POST /sg?x=1 HTTP/1.1\r\nHost: a\r\n".utf8).span, base: base, isSecure: false)
            #expect(message.url == (base.hasSuffix("/") ? String(base.dropLast()) : base) + "/sg?x=1")
            #expect(Array(message.url.utf8) == SignedURL(base: base, target: Array("/sg?x=1".utf8)).bytes)
        }
    }

    @Test("of a list several signatures may be one that holds; versions that aren't known are skipped")
    func lists() throws {
        let row = try #require(Self.rows.first { $0.name == "stripe" })
        let (sample, options) = try Self.sample(row)
        let value = try #require(sample.fields.last?.value)
        let signature = String(value.split(separator: "=")[1...].joined(separator: "=").dropFirst(0))
        let time = value.split(separator: ",")[0]
        let hex = String(signature.split(separator: "=").last ?? "")
        let rows: [(String, SignatureFault?)] = [
            ("v1=\(hex),\(time)", nil), ("\(time),v1=00,v1=\(hex)", nil), ("\(time),v1=zz,v1=\(hex)", nil),
            ("\(time), v1=\(hex)", nil), ("\(time),v0=\(hex)", .malformed), ("\(time),v1=00", .mismatch),
            ("v1=\(hex)", .missing), ("\(time),\(time),v1=\(hex)", .duplicated), ("t=Infinity,v1=\(hex)", .malformed),
            ("\(time)", .malformed), ("", .missing), ("\(time),v1=\(hex),v2=\(hex)", nil),
        ]
        for (value, fault) in rows {
            var other = sample
            other.fields[other.fields.count - 1].value = value
            #expect(other.verify(options, now: Self.now) == fault, "\(value)")
        }
    }

    /// A vector of Standard Webhooks, the version of its signature, and what it is verified by.
    private static func standardWebhook(_ name: String) throws -> (SignatureVector, version: String, SigningSecret) {
        let vector = try SignatureVector.named(name)
        let isPublic = name.hasSuffix("a")
        let secret = try SigningSecret((isPublic ? "whpk_" : "whsec_") + (vector.key_base64 ?? ""), as: .whsec)
        return (vector, isPublic ? "v1a" : "v1", secret)
    }

    @Test("of a list the first 16 signatures are looked at: each one by a key costs as much as the content")
    func longLists() throws {
        for name in ["standard-webhooks-v1", "standard-webhooks-v1a"] {
            let (vector, version, secret) = try Self.standardWebhook(name)
            let settings = try options("standard-webhooks", secret)
            let other = String(repeating: "A", count: vector.signature.utf8.count - 2) + "=="
            for (count, fault) in [(15, nil), (16, .mismatch), (120, .mismatch)] as [(Int, SignatureFault?)] {
                // Versions that aren't known don't count, nor does what can't be read. Of 120 the field has 13 KiB, of 16.
                let front = String(repeating: "v2,AA== \(version),! \(version),\(other) ", count: count)
                let sample = SampleWebhook(
                    #"{"test": 2432232314}"#,
                    [
                        ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"), ("webhook-timestamp", "1614265330"),
                        ("webhook-signature", "\(front)\(version),\(vector.signature)"),
                    ])
                #expect(sample.verify(settings, now: 1_614_265_330_000) == fault, "\(name) \(count)")
            }
        }
    }

    @Test("Standard Webhooks: Ed25519, and the names of Svix")
    func standardWebhooks() throws {
        for name in ["standard-webhooks-v1", "standard-webhooks-v1a"] {
            let (vector, version, secret) = try Self.standardWebhook(name)
            for prefix in ["webhook", "svix"] {
                var sample = SampleWebhook(
                    #"{"test": 2432232314}"#,
                    [
                        ("\(prefix)-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"), ("\(prefix)-timestamp", "1614265330"),
                        ("\(prefix)-signature", "v2,AA== \(version),\(vector.signature)"),
                    ])
                let settings = try options("standard-webhooks", secret)
                #expect(sample.verify(settings, now: 1_614_265_330_000) == nil)
                sample.set("\(prefix)-id", "msg.2")
                #expect(sample.verify(settings, now: 1_614_265_330_000) == .malformed)
            }
        }
    }

    @Test("names of certificates' places are SNS' and PayPal's, or refused")
    func certificatePlaces() throws {
        let body =
            #"{"Type":"Notification","MessageId":"1","SignatureVersion":"2","Signature":"AAAA","SigningCertURL":"PLACE"}"#
        let rows: [(String, SignatureFault)] = [
            ("https://sns.us-east-1.amazonaws.com/a.pem", .mismatch),
            ("https://sns.cn-north-1.amazonaws.com.cn/a.pem", .mismatch),
            ("http://sns.us-east-1.amazonaws.com/a.pem", .certificate),
            ("https://sns.us-east-1.amazonaws.com.evil.com/a.pem", .certificate),
            ("https://sns.a.b.amazonaws.com/a.pem", .certificate),
            ("https://sns.us-east-1.amazonaws.com/a.txt", .certificate),
            ("https://u@sns.us-east-1.amazonaws.com/a.pem", .certificate),
            ("https://sns.x.amazonaws.com/a.pem", .certificate),
        ]
        let settings = try options("sns", SigningSecret(SignedSample.rsaPublicKey, as: .pem))
        for (url, fault) in rows {
            #expect(
                SampleWebhook(body.replacing("PLACE", with: url)).verify(settings, now: Self.now) == fault, "\(url)")
        }
    }

    @Test("SNS: each type of message, both versions of its signature")
    func sns() throws {
        let settings = try options("sns", SigningSecret(SignedSample.rsaPublicKey, as: .pem))
        guard case .key(let key) = try SigningSecret(SignedSample.rsaPrivateKey, as: .pem).material else { return }
        let members = [
            ("Message", "a \"quoted\" \u{E9}\n"), ("MessageId", "m1"), ("SubscribeURL", "https://x/"), ("Subject", "s"),
            ("Timestamp", "2026-01-01T00:00:00Z"), ("Token", "t"), ("TopicArn", "arn"),
        ]
        for (type, absent) in [("Notification", ["SubscribeURL", "Token"]), ("SubscriptionConfirmation", ["Subject"])] {
            for version in ["1", "2"] {
                let all = (members + [("Type", type)]).filter { !absent.contains($0.0) }
                let signed = Array(all.map { "\($0.0)\n\($0.1)\n" }.joined().utf8)
                let digest: DigestAlgorithm = version == "1" ? .sha1 : .sha256
                let made = key.sign(.rsaPKCS1(digest), Digest.of(signed.span, digest).span)
                let signature = try #require(made)
                let rest = [
                    ("SignatureVersion", version), ("SigningCertURL", "https://sns.us-east-1.amazonaws.com/a.pem"),
                    ("Signature", String(decoding: BinaryEncoding.base64.encode(signature.span), as: UTF8.self)),
                ]
                func body(_ members: [(String, String)]) -> String {
                    let pairs = members.map { name, value in
                        let escaped = value.replacing("\"", with: "\\\"").replacing("\n", with: "\\n").replacing(
                            "\u{E9}", with: "\\u00e9")
                        return "\"\(name)\":\"\(escaped)\""
                    }
                    return "{" + pairs.joined(separator: ",") + "}"
                }
                #expect(SampleWebhook(body(rest + all)).verify(settings, now: Self.now) == nil, "\(type) \(version)")
                // Readers that don't tell cases apart take the last of both, and one that isn't there for what isn't signed.
                for name in [
                    "message", "MESSAGE", "meSSageid", "Me\u{17F}\u{17F}age", "m\\u0065ssage", "\\u004Dessage",
                    "subject",
                    "topicarn", "to\u{212A}en", "subscribeUrl",
                ] {
                    for more in [all + [(name, "evil")], [(name, "evil")] + all] {
                        let fault = SampleWebhook(body(rest + more)).verify(settings, now: Self.now)
                        #expect(fault == (name == "\\u004Dessage" ? .duplicated : .body), "\(name)")
                    }
                }
                for name in ["Messages", "essage", "MessageAttributes", "m\u{E9}ssage", "UnsubscribeURL"] {
                    let more = all + [(name, "other")]
                    #expect(SampleWebhook(body(rest + more)).verify(settings, now: Self.now) == nil, "\(name)")
                }
                for (topics, fault) in [
                    (["arn"], nil), (["b", "ar*"], nil), (["*"], nil), (["ar"], .topic), (["arnx*"], .topic),
                    ([], .topic),
                ] as [([String], SignatureFault?)] {
                    var settings = settings
                    settings.topics = SenderTopics(topics)
                    #expect(SampleWebhook(body(rest + all)).verify(settings, now: Self.now) == fault, "\(topics)")
                }
                for index in all.indices {
                    var other = all
                    other[index].1 += "x"
                    let fault = SampleWebhook(body(rest + other)).verify(settings, now: Self.now)
                    #expect(fault == (other[index].0 == "Type" ? .malformed : .mismatch), "\(other[index].0)")
                    other.remove(at: index)
                    #expect(
                        SampleWebhook(body(rest + other)).verify(settings, now: Self.now) != nil,
                        "without \(all[index].0)")
                }
            }
        }
    }

    @Test("SNS: a topic's name tells its account")
    func topicNames() {
        let front = "arn:aws:sns:eu-west-1:123456789012:"
        for name in ["orders", "orders.fifo", "a-b_c", "*", "orders*"] { #expect(SenderTopics.isName(front + name)) }
        for name in ["arn:aws-cn:sns:cn-north-1:123456789012:x", "arn:aws-us-gov:sns:us-gov-west-1:123456789012:*"] {
            #expect(SenderTopics.isName(name))
        }
        for name in [
            "", "*", "arn:*", "arn:aws:sns:*", "arn:aws:sns:eu-west-1:*", "arn:aws:sns:eu-west-1:*:orders",
            "arn:aws:sns:eu-west-1:12345678901*:a", "arn:aws:sns:eu-west-1::a", "arn:aws:sqs:eu-west-1:123456789012:a",
            "orders", front, front + "*a", front + "a:b", front + "a b", front + "\u{E9}", " " + front + "a",
        ] { #expect(!SenderTopics.isName(name), "\(name)") }
    }

    @Test("PayPal: id, time, webhook and the content's CRC")
    func payPal() throws {
        var settings = try options("paypal", SigningSecret(SignedSample.rsaPublicKey, as: .pem))
        settings.webhookID = "4JH86294D6297924G"
        guard case .key(let key) = try SigningSecret(SignedSample.rsaPrivateKey, as: .pem).material else { return }
        #expect(Digest.crc32(Array("123456789".utf8).span) == 0xCBF4_3926)
        let body = #"{"id":"WH-1"}"#
        let crc = Digest.crc32(Array(body.utf8).span)
        let signed = Array("t1|2015-05-18T15:45:13Z|4JH86294D6297924G|\(crc)".utf8)
        let made = key.sign(.rsaPKCS1(.sha256), Digest.of(signed.span, .sha256).span)
        let signature = try #require(made)
        let sample = SampleWebhook(
            body,
            [
                ("PAYPAL-TRANSMISSION-ID", "t1"), ("PAYPAL-TRANSMISSION-TIME", "2015-05-18T15:45:13Z"),
                ("PAYPAL-CERT-URL", "https://api.paypal.com/v1/notifications/certs/CERT"),
                ("PAYPAL-AUTH-ALGO", "SHA256withRSA"),
                (
                    "PAYPAL-TRANSMISSION-SIG",
                    String(decoding: BinaryEncoding.base64.encode(signature.span), as: UTF8.self)
                ),
            ])
        #expect(sample.verify(settings, now: Self.now) == nil)
        for field in sample.fields {
            var without = sample
            without.fields.removeAll { $0.name == field.name }
            #expect(without.verify(settings, now: Self.now) == .missing, "\(field.name)")
        }
        var other = sample
        other.body.append(ASCII.space)
        #expect(other.verify(settings, now: Self.now) == .mismatch)
        for url in [
            "https://api.paypal.com.evil.com/x", "http://api.paypal.com/x", "https://paypal.com/x",
            "https://a@api.paypal.com/x",
        ] {
            var other = sample
            other.set("PAYPAL-CERT-URL", url)
            #expect(other.verify(settings, now: Self.now) == .certificate, "\(url)")
        }
        settings.webhookID = "other"
        #expect(sample.verify(settings, now: Self.now) == .mismatch)
    }

    @Test("SendGrid's published events are taken, and with another key they are not")
    func sendGrid() throws {
        for name in ["sendgrid-1", "sendgrid-1-wrong-key", "sendgrid-2-multi"] {
            let vector = try SignatureVector.named(name)
            let sample = SampleWebhook(
                String(vector.signed.dropFirst(10)),
                [
                    ("X-Twilio-Email-Event-Webhook-Signature", vector.signature),
                    ("X-Twilio-Email-Event-Webhook-Timestamp", String(vector.signed.prefix(10))),
                ])
            let settings = try options("sendgrid", SigningSecret(vector.key_base64 ?? "", as: .pem))
            #expect(sample.verify(settings, now: Self.now, cut: 7) == (vector.valid ? nil : .mismatch), "\(name)")
        }
    }
}
