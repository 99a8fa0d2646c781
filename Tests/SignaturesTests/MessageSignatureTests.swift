import Octets
import Testing

@testable import Signatures

/// Structured fields (RFC 9651), as they are read and written again.
@Suite("Structured fields")
struct StructuredFieldTests {
    @Test(
        "Dictionaries are read, and written as §4.1 says",
        arguments: [
            ("", ""), ("a", "a"), ("a=1", "a=1"), ("a=1,b=2", "a=1, b=2"), (" a=1 \t,\t b=?0 ", "a=1, b=?0"),
            ("a=\"b\\\"\\\\c\"", "a=\"b\\\"\\\\c\""), ("a=:AQ==:", "a=:AQ==:"), ("a=:AQ:", "a=:AQ==:"),
            ("a=::", "a=::"),
            ("a=(1  \"b\" c:d/e);f;g=-7", "a=(1 \"b\" c:d/e);f;g=-7"), ("a=()", "a=()"), ("a=( )", "a=()"),
            ("a;b=1;b=2;c", "a;b=2;c"), ("a=1.50", "a=1.5"), ("a=-1.0", "a=-1.0"), ("a=@-5", "a=@-5"),
            ("*a_-.*=tok:/en*", "*a_-.*=tok:/en*"), ("a=?1;x", "a;x"), ("a=%\"f%c3%bc\"", "a=%\"f%c3%bc\""),
            ("a=999999999999999", "a=999999999999999"), ("a=123456789012.123", "a=123456789012.123"), ("a;  b", "a;b"),
        ])
    func dictionaries(_ text: String, _ expected: String) throws {
        let members = try StructuredField.dictionary(Array(text.utf8).span)
        #expect(String(decoding: StructuredField.text(members), as: UTF8.self) == expected)
    }

    @Test(
        "What is none is refused",
        arguments: [
            "A=1", "1", "a=", "a=1,", ",a", "a,,b", "a=1;", "a=1;B", "a=\"b", "a=\"\\n\"", "a=\"\u{E4}\"", "a=:A*:",
            "a=:AQ==",
            "a=(1", "a=(1,2)", "a=(1)2", "a=(\"a\"\"b\")", "a=1.", "a=.5", "a=1.2345", "a=1234567890123.1",
            "a=1000000000000000",
            "a=-", "a=?2", "a=?", "a=@1.5", "a=%\"%C3\"", "a=%\"%4\"", "a=%x", "a=1,a=2", "a b", "a=1 b", "a=\t1", "=1",
        ])
    func faults(_ text: String) {
        #expect(throws: StructuredField.Fault.self) { try StructuredField.dictionary(Array(text.utf8).span) }
    }

    @Test("Lists and items", arguments: [("a, (b c);d, \"e\"", true), ("a,", false), ("(a", false), ("", true)])
    func lists(_ text: String, _ isOne: Bool) throws {
        if isOne {
            let members = try StructuredField.list(Array(text.utf8).span)
            #expect(String(decoding: StructuredField.text(members), as: UTF8.self) == text)
        } else {
            #expect(throws: StructuredField.Fault.self) { try StructuredField.list(Array(text.utf8).span) }
        }
        #expect(throws: StructuredField.Fault.self) { try StructuredField.item(Array("a, b".utf8).span) }
        #expect(try StructuredField.item(Array(" 7;a ".utf8).span).value == .integer(7))
    }

    @Test("Of many names each is told from the others, and what comes twice is seen", arguments: [1, 7, 8, 9, 10, 300])
    func manyNames(_ count: Int) throws {
        let names = (0..<count).map { "k\($0)" }
        func dictionary(_ names: [String]) throws -> [String] {
            try StructuredField.dictionary(Array(names.joined(separator: ", ").utf8).span).map(\.key)
        }
        #expect(try dictionary(names) == names)
        for twice in Set([0, count / 2, count - 1]) {
            #expect(throws: StructuredField.Fault.self) { _ = try dictionary(names + [names[twice]]) }
            let text = "a;" + (names + ["\(names[twice])=7"]).joined(separator: ";")
            let parameters = try StructuredField.item(Array(text.utf8).span).parameters
            #expect(parameters.map(\.name) == names)
            #expect(parameters[twice].value == .integer(7))
        }
    }

    @Test("No cut of a field is read beyond its end")
    func cuts() {
        let text = Array("sig=(\"@method\" \"a\";bs);created=1;keyid=\"k\", b=:AQ==:, c=%\"x\", d=1.5".utf8)
        for end in text.indices { _ = try? StructuredField.dictionary(Array(text[..<end]).span) }
    }
}

/// Signatures by RFC 9421, and digests by RFC 9530.
@Suite("HTTP message signatures")
struct MessageSignatureTests {
    static let created = 1_618_884_473
    static let body = #"{"hello": "world"}"#
    static let digest =
        "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:"

    static func secret(_ text: String, _ writing: SigningSecret.Writing, id: String? = nil) throws -> SigningSecret {
        var secret = try SigningSecret(text, as: writing)
        secret.keyID = id
        return secret
    }

    static func scheme(_ change: (inout SignatureScheme) -> Void = { _ in }) -> SignatureScheme {
        var scheme = SignatureScheme.httpMessageSignatures
        change(&scheme)
        return scheme
    }

    /// The request of appendix B.2, with the signature of B.2.5.
    static func published() throws -> (SampleWebhook, SigningSecret) {
        let vector = try SignatureVector.named("rfc9421-b25")
        var sample = SampleWebhook(body)
        sample.target = "/foo?param=Value&Pet=dog"
        sample.fields = [
            ("Date", "Tue, 20 Apr 2021 02:07:55 GMT"), ("Content-Type", "application/json"),
            ("Content-Digest", digest),
            (
                "Signature-Input",
                "sig-b25=(\"date\" \"@authority\" \"content-type\");created=1618884473;keyid=\"test-shared-secret\""
            ), ("Signature", "sig-b25=:\(vector.signature):"),
        ]
        return (sample, try secret(vector.key_base64 ?? "", .base64, id: "test-shared-secret"))
    }

    @Test("The published signature holds, and not with another key, name, component or field")
    func vector() throws {
        let (sample, secret) = try Self.published()
        let scheme = Self.scheme {
            $0.messageSignature.components = ["date", "@authority"]
            $0.messageSignature.needsDigest = false
        }
        var options = SignatureVerifier.Options(scheme: scheme, secrets: [secret])
        options.publicURL = "https://EXAMPLE.com:443"
        #expect(sample.verify(options, now: Self.created * 1000) == nil)
        #expect(sample.verify(options, now: (Self.created + 301) * 1000) == .expired)
        #expect(sample.verify(options, now: (Self.created - 301) * 1000) == .future)
        for index in sample.fields.indices.dropLast(2) where sample.fields[index].name != "Content-Digest" {
            var other = sample
            other.fields[index].value += "x"
            #expect(other.verify(options, now: Self.created * 1000) == .mismatch)
        }
        options.publicURL = "https://example.org"
        #expect(sample.verify(options, now: Self.created * 1000) == .mismatch)
        let renamed = try Self.secret(
            "uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMtDQ==", .base64,
            id: "other")
        var settings = SignatureVerifier.Options(scheme: scheme, secrets: [renamed])
        settings.publicURL = "https://example.com"
        #expect(sample.verify(settings, now: Self.created * 1000) == .mismatch)
        settings = .init(scheme: Self.scheme(), secrets: [secret])
        settings.publicURL = "https://example.com"
        #expect(sample.verify(settings, now: Self.created * 1000) == .missing)
    }

    static let keys: [(name: String, signing: SigningSecret, verifying: SigningSecret)] = {
        var keys: [(name: String, signing: SigningSecret, verifying: SigningSecret)] = []
        let shared = SigningSecret(.shared(Array("a secret of some length".utf8)))
        keys.append(("hmac-sha256", shared, shared))
        if let signing = try? SigningSecret(SignedSample.rsaPrivateKey, as: .pem),
            let verifying = try? SigningSecret(SignedSample.rsaPublicKey, as: .pem)
        {
            keys.append(("rsa-pss-sha512", signing, verifying))
            keys.append(("rsa-v1_5-sha256", signing, verifying))
        }
        let bytes = BinaryEncoding.hex.decode(Array(TestKeys.ed25519Private.utf8).span) ?? []
        if let key = SignatureKey(ed25519: bytes.span, isPrivate: true),
            let verifying = try? SigningSecret(TestKeys.ed25519Public, as: .ed25519)
        {
            keys.append(("ed25519", SigningSecret(.key(key)), verifying))
        }
        return keys
    }()

    /// A request that we have signed.
    static func signed(
        _ key: (name: String, signing: SigningSecret, verifying: SigningSecret), _ content: String = body,
        _ change: (inout SignatureScheme) -> Void = { _ in }
    ) throws -> (SampleWebhook, SignatureVerifier.Options) {
        let scheme = scheme {
            $0.messageSignature.algorithm = key.name
            change(&$0)
        }
        var message = MessageSigner.Message()
        message.url = "https://hooks.example.com/hook?x=1&y=a+b%20c"
        message.time = created * 1000
        message.fields = [("Content-Type", "application/json"), ("X-Two", "1"), ("X-Two", "2 ")]
        var sample = SampleWebhook(content)
        sample.target = "/hook?x=1&y=a+b%20c"
        sample.fields = message.fields
        let content = Array(content.utf8)
        sample.fields += try MessageSigner(scheme, secret: key.signing).sign(message, content.span)
        var options = SignatureVerifier.Options(scheme: scheme, secrets: [key.verifying])
        options.publicURL = "https://hooks.example.com"
        return (sample, options)
    }

    static let now = created * 1000

    @Test(
        "Of a URL without a path the query ends the authority, and the path is a slash",
        arguments: ["", "?x=1", "?next=/y", "/", "/?x=1", "?"])
    func emptyPath(_ rest: String) throws {
        let key = Self.keys[0]
        let scheme = Self.scheme { $0.messageSignature.components = ["@authority", "@path", "@query", "@target-uri"] }
        var message = MessageSigner.Message()
        message.url = "https://hooks.example.com\(rest)"
        message.time = Self.created * 1000
        let fields = try MessageSigner(scheme, secret: key.signing).sign(message, Span())
        var options = SignatureVerifier.Options(scheme: scheme, secrets: [key.verifying])
        options.publicURL = "https://hooks.example.com"
        var sample = SampleWebhook("", fields)
        // As a client sends it.
        sample.target = rest.hasPrefix("/") ? rest : "/" + rest
        #expect(sample.verify(options, now: Self.now) == nil)
        sample.target += "z"
        #expect(sample.verify(options, now: Self.now) == .mismatch)
    }

    @Test("What we sign we verify, with each algorithm, and no byte of it may differ", arguments: keys.indices)
    func algorithms(_ index: Int) throws {
        let key = Self.keys[index]
        #expect(Self.keys.count == 4)
        let (sample, options) = try Self.signed(key)
        #expect(sample.verify(options, now: Self.now) == nil)
        var other = sample
        other.body = Array(#"{"hello": "worlD"}"#.utf8)
        #expect(other.verify(options, now: Self.now) == .mismatch)
        other = sample
        other.target += "&z"
        #expect(other.verify(options, now: Self.now) == .mismatch)
        for place in sample.fields.indices where !["X-Two"].contains(sample.fields[place].name) {
            let value = Array(sample.fields[place].value.utf8)
            for at in stride(from: 0, to: value.count, by: 5) {
                var changed = value
                changed[at] ^= 1
                guard changed[at] > 0x20, changed[at] < 0x7F else { continue }
                other = sample
                other.fields[place].value = String(decoding: changed, as: UTF8.self)
                #expect(other.verify(options, now: Self.now) != nil, "\(other.fields[place])")
            }
        }
    }

    @Test(
        "What must be covered is covered",
        arguments: [
            (["@method", "@authority", "@path", "@query"], true), (["@method", "@authority", "@request-target"], true),
            (["@method", "@target-uri"], true), (["@method", "@authority", "@path"], false), (["@target-uri"], false),
            (["@method", "@path", "@query"], false), (["@method"], false), ([], false),
        ])
    func cover(_ components: [String], _ isEnough: Bool) throws {
        let (sample, options) = try Self.signed(Self.keys[0]) { $0.messageSignature.components = components }
        var settings = SignatureVerifier.Options(scheme: Self.scheme(), secrets: options.secrets)
        settings.publicURL = options.publicURL
        #expect(sample.verify(settings, now: Self.now) == (isEnough ? nil : .missing))
        // What the settings name must be there, whatever else is.
        settings = .init(
            scheme: Self.scheme { $0.messageSignature.components = components + ["x-two"] }, secrets: options.secrets)
        settings.publicURL = options.publicURL
        #expect(sample.verify(settings, now: Self.now) == .missing)
    }

    @Test("The query is covered even where there is none, so that none can be cut off")
    func noQuery() throws {
        for (components, fault) in [
            (["@method", "@authority", "@path"], .missing), (["@method", "@authority", "@path", "@query"], nil),
            (["@method", "@target-uri"], nil), (["@method", "@authority", "@request-target"], nil),
        ] as [([String], SignatureFault?)] {
            let (_, options) = try Self.signed(Self.keys[0])
            let scheme = Self.scheme { $0.messageSignature.components = components }
            var message = MessageSigner.Message()
            message.url = "https://hooks.example.com/hook"
            message.time = Self.created * 1000
            var sample = SampleWebhook("")
            sample.fields = try MessageSigner(scheme, secret: Self.keys[0].signing).sign(message, [UInt8]().span)
            var settings = SignatureVerifier.Options(scheme: Self.scheme(), secrets: options.secrets)
            settings.publicURL = options.publicURL
            #expect(sample.verify(settings, now: Self.now) == fault, "\(components)")
            settings = .init(
                scheme: Self.scheme { $0.messageSignature.components = components }, secrets: options.secrets)
            settings.publicURL = options.publicURL
            #expect(sample.verify(settings, now: Self.now) == nil, "\(components), as the settings say")
        }
    }

    /// A base that is written by hand, signed with the shared key, and the request that has it.
    func handmade(_ input: String, _ lines: String, _ fields: [(String, String)]) -> SignatureFault? {
        var sample = SampleWebhook("")
        sample.target = "/p/a?x=1&y=a+b%20c&q=1&q=2"
        let parameters = input.split(separator: "(", maxSplits: 1).last.map { "(" + $0 } ?? ""
        let base = lines + "\"@signature-params\": \(parameters)"
        let mac = Digest.hmac(Array(base.utf8).span, key: Array("a secret of some length".utf8).span, .sha256)
        sample.fields =
            fields + [
                ("Signature-Input", "s=" + input),
                ("Signature", "s=:" + String(decoding: BinaryEncoding.base64.encode(mac.span), as: UTF8.self) + ":"),
            ]
        var options = SignatureVerifier.Options(
            scheme: Self.scheme {
                $0.messageSignature.components = []
                $0.tolerance = (nil, nil)
            }, secrets: [Self.keys[0].verifying])
        options.publicURL = "https://h.example:8443"
        return sample.verify(options, now: Self.now)
    }

    @Test(
        "Components and their parameters",
        arguments: [
            (
                "(\"@scheme\" \"@authority\")", "\"@scheme\": https\n\"@authority\": h.example:8443\n",
                nil as SignatureFault?
            ),
            ("(\"@request-target\")", "\"@request-target\": /p/a?x=1&y=a+b%20c&q=1&q=2\n", nil),
            ("(\"@path\" \"@query\")", "\"@path\": /p/a\n\"@query\": ?x=1&y=a+b%20c&q=1&q=2\n", nil),
            ("(\"@query-param\";name=\"y\")", "\"@query-param\";name=\"y\": a%20b%20c\n", nil),
            ("(\"@query-param\";name=\"q\")", "", .duplicated), ("(\"@query-param\";name=\"z\")", "", .missing),
            ("(\"x-a\")", "\"x-a\": 1, 2\n", nil), ("(\"x-a\";bs)", "\"x-a\";bs: :MQ==:, :Mg==:\n", nil),
            ("(\"x-d\";key=\"b\")", "\"x-d\";key=\"b\": (1 2);c\n", nil), ("(\"x-d\";key=\"z\")", "", .malformed),
            // Several of one field and of the query, which are read once, and what a second look finds that the first didn't ask for.
            (
                "(\"x-d\";key=\"a\" \"x-d\" \"x-d\";bs \"x-d\";key=\"b\")",
                "\"x-d\";key=\"a\": 1\n\"x-d\": a=1,  b=( 1 2 );c\n\"x-d\";bs: :YT0xLCAgYj0oIDEgMiApO2M=:\n"
                    + "\"x-d\";key=\"b\": (1 2);c\n", nil
            ),
            (
                "(\"@query-param\";name=\"y\" \"@query-param\";name=\"x\")",
                "\"@query-param\";name=\"y\": a%20b%20c\n\"@query-param\";name=\"x\": 1\n", nil
            ),
            ("(\"@query-param\";name=\"y\" \"@query-param\";name=\"q\")", "", .duplicated),
            ("(\"x-d\";key=\"a\" \"x-d\";key=\"z\")", "", .malformed), ("(\"x-none\";key=\"a\")", "", .missing),
            ("(\"x-a\";key=\"a\")", "", .malformed), ("(\"x-d\";key=1)", "", .malformed),
            ("(\"priority\";sf)", "\"priority\";sf: u=1, i\n", nil), ("(\"x-d\";sf)", "", .malformed),
            ("(\"x-none\")", "", .missing), ("(\"X-A\")", "", .malformed), ("(\"@status\")", "", .malformed),
            ("(\"@method\";req)", "", .malformed), ("(\"x-a\";tr)", "", .malformed),
            ("(\"x-a\" \"x-a\")", "", .malformed),
            ("(x-a)", "", .malformed), ("(\"@method\");created=1.5", "\"@method\": POST\n", .malformed),
            ("(\"@method\");expires=1", "", .expired), ("(\"@method\");alg=\"none\"", "\"@method\": POST\n", .mismatch),
            ("(\"@method\");keyid=\"k\";nonce=\"n\";tag=\"t\";more", "\"@method\": POST\n", nil),
        ])
    func components(_ input: String, _ lines: String, _ fault: SignatureFault?) {
        let fields = [("X-A", "1"), ("x-a", " 2 "), ("X-D", "a=1,  b=( 1 2 );c"), ("Priority", "u=1,i")]
        #expect(handmade(input, lines, fields) == fault)
    }

    @Test("Fields of signatures that are missing, broken, or of another label")
    func fields() throws {
        let (sample, options) = try Self.signed(Self.keys[0])
        func without(_ name: String) -> SampleWebhook {
            var other = sample
            other.fields.removeAll { $0.name == name }
            return other
        }
        #expect(without("Signature").verify(options, now: Self.now) == .missing)
        #expect(without("Signature-Input").verify(options, now: Self.now) == .missing)
        #expect(without("Content-Digest").verify(options, now: Self.now) == .missing)
        for (name, value) in [
            ("Signature", "sig1=1"), ("Signature", "sig1"), ("Signature", "("), ("Signature", "sig2=:AQ==:"),
            ("Signature-Input", "sig1=1"), ("Signature-Input", "sig1=("),
        ] {
            var other = without(name)
            other.fields.append((name, value))
            #expect(other.verify(options, now: Self.now) == .malformed, "\(name): \(value)")
        }
        // The same label twice could mean two things; another one beside it is none of ours.
        var twice = sample
        twice.fields.append(("Signature", "sig1=:AQ==:"))
        #expect(twice.verify(options, now: Self.now) == .malformed)
        var more = sample
        more.fields.insert(("Signature-Input", "other=(\"x-none\");created=1"), at: 0)
        more.fields.append(("Signature", "other=:AQ==:"))
        #expect(more.verify(options, now: Self.now) == nil)
        for (label, fault) in [("sig1", nil), ("other", .missing), ("none", .missing)] as [(String, SignatureFault?)] {
            var settings = SignatureVerifier.Options(
                scheme: Self.scheme {
                    $0.messageSignature.label = label
                    $0.tolerance = (nil, nil)
                }, secrets: options.secrets)
            settings.publicURL = options.publicURL
            #expect(more.verify(settings, now: Self.now) == fault)
        }
    }

    @Test("A digest counts by what is covered of it")
    func digests() throws {
        let (sample, options) = try Self.signed(Self.keys[0])
        let own = try #require(sample.fields.first { $0.name == "Content-Digest" }).value
        for (value, fault) in [
            (own, nil), ("md5=:AQ==:", .mismatch), (own + ", md5=:AQ==:", .mismatch), ("sha-256=1", .mismatch),
        ] as [(String, SignatureFault?)] {
            var other = sample
            other.fields.removeAll { $0.name == "Content-Digest" }
            other.fields.append(("Content-Digest", value))
            #expect(other.verify(options, now: Self.now) == fault)
        }
        // Where a digest that is covered says nothing that is known, the content isn't covered.
        for value in ["md5=:AQ==:", "sha-256=1", "("] {
            #expect(throws: SignatureError.malformed) { try ContentDigests(Array(value.utf8), only: nil) }
        }
        let both = Array((own + ", sha-512=:AQ==:").utf8)
        for (only, isHeld) in [("sha-256", true), ("sha-512", false)] {
            let digests = try ContentDigests(both, only: Array(only.utf8))
            digests.update(Array(Self.body.utf8).span)
            #expect(digests.hold() == isHeld)
        }
        #expect(throws: SignatureError.malformed) { try ContentDigests(both, only: Array("md5".utf8)) }
    }
}
