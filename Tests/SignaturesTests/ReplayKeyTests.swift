import Octets
import Signatures
import Testing

/// What requests are known by when they come again: the same for each spelling that is taken, another one for what its sender has
/// signed anew.
@Suite("Replay keys")
struct ReplayKeyTests {
    static let now = SenderTests.now

    /// The other texts that stand for the same signature, or for a list with the same one in it.
    static func spellings(_ scheme: SignatureScheme, _ value: String) -> [String] {
        var texts = [value, " " + value + "\t"]
        switch scheme.value {
        case .plain(let prefix):
            texts += spellings(scheme.encoding, String(value.dropFirst(prefix.count))).map { prefix + $0 }
        case .list(let separator, let pair, _):
            let (separator, pair) = (String(Unicode.Scalar(separator)), String(Unicode.Scalar(pair)))
            let elements = value.split(separator: separator).map(String.init)
            let name = scheme.methods[0].name
            texts.append(elements.reversed().joined(separator: separator))
            texts += ["v0\(pair)00", "\(name)\(pair)AAAA", "\(name)\(pair)?", "x"].flatMap {
                [value + separator + $0, $0 + separator + value]
            }
            let last = elements.last?.split(separator: pair, maxSplits: 1).last.map(String.init) ?? ""
            texts += spellings(scheme.encoding, last).map { value.replacing(last, with: $0) }
        }
        return texts
    }

    private static func spellings(_ encoding: BinaryEncoding, _ text: String) -> [String] {
        if encoding == .hex { return [text.uppercased(), text.lowercased()] }
        return [text.replacing("=", with: "")]
    }

    @Test(
        "Every spelling of a signature that is taken has the same key, however the content is cut",
        arguments: SenderTests.rows.filter { !["gitlab-token", "http-message-signatures"].contains($0.name) })
    func spelt(_ row: SenderTests.Row) throws {
        var (sample, options) = try SenderTests.sample(row)
        options.remembers = true
        let key = try sample.replayKey(options, now: Self.now)
        #expect(!key.isEmpty)
        for cut in [1, 2, 7] { #expect(try sample.replayKey(options, now: Self.now, cut: cut) == key) }
        let header = options.scheme.headers[0]
        let value = try #require(sample.fields.first { $0.name == header }?.value)
        for spelling in Self.spellings(options.scheme, value) {
            var other = sample
            other.set(header, spelling)
            #expect(try other.replayKey(options, now: Self.now) == key, "\(spelling)")
        }
        // Of which secret it is depends on what a sender has left of several signatures.
        options.secrets.insert(SigningSecret(.shared(Array("another".utf8))), at: 0)
        #expect(try sample.replayKey(options, now: Self.now) == key)
        // A field that isn't signed has no say.
        for name in options.scheme.requiredHeaders {
            var other = sample
            other.set(name, "another")
            #expect(try other.replayKey(options, now: Self.now) == key, "\(name)")
        }
        options.remembers = false
        #expect(try sample.replayKey(options, now: Self.now) == [])
    }

    @Test("What is signed anew has another key, and of a sender with ids the same one", arguments: SenderTests.rows)
    func anew(_ row: SenderTests.Row) throws {
        var (one, options) = try SenderTests.sample(row)
        options.remembers = true
        let (other, _) = try SenderTests.sample(row, at: Self.now + 1000)
        let keys = (try one.replayKey(options, now: Self.now), try other.replayKey(options, now: Self.now + 1000))
        // A ping without a time is the same request.
        let isSame = one.body == other.body && one.fields.map(\.value) == other.fields.map(\.value)
        let hasID = ["standard-webhooks", "svix"].contains(row.name)
        if row.name != "gitlab-token" { #expect((keys.0 == keys.1) == (isSame || hasID)) }
        one.body = Array("x=1".utf8)
        #expect(row.name == "gitlab-token" || one.verify(options, now: Self.now) != nil)
    }

    /// A scheme that settings can write, over time and content.
    static func generic(_ algorithm: SignatureAlgorithm, _ signed: String) throws -> SignatureScheme {
        var scheme = SignatureScheme(name: "custom")
        scheme.headers = ["X-Signature"]
        scheme.methods = [.init(algorithm: algorithm)]
        scheme.layout = try SignedLayout(parsing: signed)
        return scheme
    }

    /// The order of P-256 less a number, which makes a second signature of a first.
    static func negated(_ number: ArraySlice<UInt8>) -> [UInt8] {
        let order = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"
        var result = BinaryEncoding.hex.decode(Array(order.utf8).span) ?? []
        var borrow = 0
        for (at, byte) in zip(result.indices.reversed(), number.reversed()) {
            let difference = Int(result[at]) - Int(byte) - borrow
            result[at] = UInt8(truncatingIfNeeded: difference)
            borrow = difference < 0 ? 1 : 0
        }
        precondition(number.count >= 32 || borrow == 0)
        return result
    }

    static func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var bytes = Array(bytes.drop { $0 == 0 })
        if bytes[0] >= 0x80 { bytes.insert(0, at: 0) }
        return [2, UInt8(bytes.count)] + bytes
    }

    @Test("The second signature that anybody can make of one by ECDSA has the key of the first")
    func ecdsa() throws {
        let vectors = SignatureVector.all.filter { $0.algorithm.hasPrefix("ecdsa-p256") && $0.valid }
        #expect(vectors.count >= 2)
        for vector in vectors {
            let isRaw = vector.algorithm.hasSuffix("raw")
            let bytes = vector.signatureBytes
            let other: [UInt8]
            if isRaw {
                other = Array(bytes[..<32]) + Self.negated(bytes[32...])
            } else {
                // SEQUENCE { r, s }, each below 128 bytes.
                let start = 4 + Int(bytes[3]) + 2
                let s = Self.integer(Self.negated(bytes[start...].drop { $0 == 0 })[...])
                let body = Array(bytes[2..<(start - 2)]) + s
                other = [0x30, UInt8(body.count)] + body
            }
            var scheme = try Self.generic(.key(isRaw ? .ecdsaRaw(.sha256) : .ecdsaDER(.sha256)), "{body}")
            scheme.encoding = .base64
            let key = BinaryEncoding.base64.encode(vector.keyBytes.span)
            let secret = try SigningSecret(String(decoding: key, as: UTF8.self), as: .pem)
            var options = SignatureVerifier.Options(scheme: scheme, secrets: [secret])
            options.remembers = true
            let keys = try [bytes, other].map { signature in
                let text = String(decoding: BinaryEncoding.base64.encode(signature.span), as: UTF8.self)
                return try SampleWebhook(vector.signed, [("X-Signature", text)]).replayKey(options, now: Self.now)
            }
            #expect(bytes != other)
            #expect(keys[0] == keys[1], "\(vector.name)")
        }
    }

    @Test("Where nothing parts an id from what follows it, the signed bytes are the key")
    func shiftedIDs() throws {
        let secret = Array("a secret of some length".utf8)
        var scheme = try Self.generic(.hmac(.sha256), "{id}{body}")
        scheme.idHeaders = ["X-Delivery"]
        let mac = Digest.hmac(Array("abc".utf8).span, key: secret.span, .sha256)
        let text = String(decoding: BinaryEncoding.hex.encode(mac.span), as: UTF8.self)
        var options = SignatureVerifier.Options(scheme: scheme, secrets: [SigningSecret(.shared(secret))])
        options.remembers = true
        let keys = try [("a", "bc"), ("ab", "c")].map { id, body in
            try SampleWebhook(body, [("X-Signature", text), ("X-Delivery", id)]).replayKey(options, now: Self.now)
        }
        #expect(keys[0] == keys[1])
        // Mailgun signs its time and its token, one behind the other.
        let vector = try SignatureVector.named("mailgun-php")
        var mailgun = try requestOptions("mailgun", SigningSecret(vector.key ?? "", as: .text))
        mailgun.remembers = true
        let forms = try [10, 9].map { count in
            try SampleWebhook(
                "timestamp=\(vector.signed.prefix(count))&token=\(vector.signed.dropFirst(count))&signature=\(vector.signature)",
                [("Content-Type", "application/x-www-form-urlencoded")]
            ).replayKey(mailgun, now: Self.now)
        }
        #expect(forms[0] == forms[1])
    }

    @Test("Twilio: the port that its libraries add has no say")
    func ports() throws {
        let row = try #require(SenderTests.rows.first { $0.name == "twilio" })
        var (sample, options) = try SenderTests.sample(row)
        options.remembers = true
        let key = try sample.replayKey(options, now: Self.now)
        sample.host += ":443"
        #expect(try sample.replayKey(options, now: Self.now) == key)
    }

    @Test("SNS: a line end in another member than the message could make it a part of another one")
    func lineEnds() throws {
        let body =
            #"{"Type":"Notification","MessageId":"1","SignatureVersion":"2","Signature":"AAAA","Message":"a\nb","Subject":"s","TopicArn":"t","Timestamp":"0","SigningCertURL":"https://sns.us-east-1.amazonaws.com/a.pem"}"#
        let settings = try requestOptions("sns", SigningSecret(SignedSample.rsaPublicKey, as: .pem))
        #expect(SampleWebhook(body).verify(settings, now: Self.now) == .mismatch)
        for (from, to) in [
            (#""1""#, #""1\nSubject\ns""#), (#""s""#, #""s\nx""#), (#""t""#, #""\nt""#), (#""0""#, #""0\n""#),
        ] {
            #expect(
                SampleWebhook(body.replacing(from, with: to)).verify(settings, now: Self.now) == .malformed, "\(to)")
        }
    }

    @Test("RFC 9421: neither labels nor their order have a say, and of two signatures that hold none is taken")
    func messageSignatures() throws {
        var (sample, options) = try MessageSignatureTests.signed(MessageSignatureTests.keys[0])
        options.remembers = true
        let now = MessageSignatureTests.now
        let key = try sample.replayKey(options, now: now)
        #expect(!key.isEmpty)
        var other = sample
        for at in other.fields.indices {
            other.fields[at].value = other.fields[at].value.replacing("sig1=", with: "x=")
        }
        #expect(try other.replayKey(options, now: now) == key)
        let input = try #require(sample.fields.first { $0.name == "Signature-Input" }?.value)
        let signature = try #require(sample.fields.first { $0.name == "Signature" }?.value)
        // The same one under another name, and one that doesn't hold, are no second.
        for (more, value) in [(input, signature), (input.replacing("created=1", with: "created=2"), signature)] {
            other = sample
            other.fields.append(("Signature-Input", more.replacing("sig1=", with: "x=")))
            other.fields.append(("Signature", value.replacing("sig1=", with: "x=")))
            #expect(try other.replayKey(options, now: now) == key)
        }
        let (second, _) = try MessageSignatureTests.signed(MessageSignatureTests.keys[0]) {
            $0.messageSignature.label = "other"
            $0.messageSignature.components = ["@method", "@target-uri"]
        }
        other = sample
        other.fields += second.fields.filter { $0.name.hasPrefix("Signature") }
        #expect(other.verify(options, now: now) == .duplicated)
        options.remembers = false
        #expect(other.verify(options, now: now) == nil)
    }
}
