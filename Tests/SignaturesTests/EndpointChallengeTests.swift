import Octets
import Signatures
import Testing

/// What senders' challenges are answered with, and what nobody may have signed by them.
@Suite("Endpoint challenges")
struct EndpointChallengeTests {
    static let secrets = [SigningSecret(.shared(Array("secret".utf8)))]

    func answer(_ challenge: EndpointChallenge, content: String) -> String? {
        challenge.answer(content: Array(content.utf8).span, secrets: Self.secrets).map {
            String(decoding: $0.content, as: UTF8.self)
        }
    }

    func answer(_ challenge: EndpointChallenge, query: String, token: String? = nil) throws(SignatureError) -> String {
        let answer = try challenge.answer(
            query: Array(query.utf8).span, secrets: Self.secrets, token: token.map { Array($0.utf8) })
        return String(decoding: answer.content, as: UTF8.self)
    }

    @Test(
        "Signed content that asks is answered",
        arguments: [
            (
                EndpointChallenge.slack, #"{"type":"url_verification","challenge":"a\"\u00e4"}"#,
                #"{"challenge":"a\"ä"}"#
            ),
            (.discord, #"{"type":1}"#, #"{"type":1}"#),
            (
                .zoom, #"{"event":"endpoint.url_validation","payload":{"plainToken":"abc"}}"#,
                #"{"plainToken":"abc","encryptedToken":"9946dad4e00e913fc8be8e5d3f7e110a4a9e832f83fb09c345285d78638d8a0e"}"#
            ),
        ])
    func asked(_ challenge: EndpointChallenge, _ content: String, _ expected: String) {
        #expect(answer(challenge, content: content) == expected)
    }

    @Test("Content that says nothing needs no signature")
    func unsigned() {
        func answers(_ challenge: EndpointChallenge, _ form: String) -> Bool {
            challenge.answer(unsigned: Array(form.utf8).span) != nil
        }
        for (form, isAnswered) in [
            ("mandrill_events=%5B%5D", true), ("mandrill_events=[]", true), ("mandrill_events=%5B+%5D%0A", true),
            ("mandrill_events=", false), ("mandrill_events=%5B%7B%7D%5D", false),
            ("mandrill_events=[]&mandrill_events=[]", false), ("events=[]", false), ("", false), ("[]", false),
        ] {
            #expect(answers(.mandrill, form) == isAnswered, "\(form)")
            #expect((answer(.mandrill, content: form) != nil) == isAnswered, "\(form)")
            for other in [EndpointChallenge.slack, .intercom, .woocommerce, .dropbox] { #expect(!answers(other, form)) }
        }
        func pings(_ challenge: EndpointChallenge, _ type: String, _ length: Int) -> Bool {
            challenge.isPing(contentType: Array(type.utf8).span, length: length)
        }
        let form = "application/x-www-form-urlencoded"
        for (type, length, isPing) in [
            (form, 64, true), (form, 65, false), (form.uppercased() + "; charset=UTF-8", 12, true),
            ("application/json", 12, false), ("", 12, false), (form + "\t; charset=utf-8", 12, true),
            (form + "X", 12, false), (form + "-x; a=b", 12, false),
        ] {
            #expect(pings(.woocommerce, type, length) == isPing, "\(type) \(length)")
            #expect(!pings(.mandrill, type, length))
        }
    }

    @Test(
        "Other content is none",
        arguments: [EndpointChallenge.slack, .zoom, .discord, .meta, .x, .dropbox, .intercom, .mandrill, .woocommerce])
    func others(_ challenge: EndpointChallenge) {
        for content in [
            "", "{", "[]", "{}", "null", #"{"type":2}"#, #"{"type":{"a":1}}"#, #"{"type":"url_verification"}"#,
            #"{"type":"URL_VERIFICATION","challenge":"x"}"#, #"{"event":"endpoint.url_validation","payload":{}}"#,
            #"{"event":"endpoint.url_validation","payload":"abc"}"#,
            // What the HMAC of could be a signature.
            #"{"event":"endpoint.url_validation","payload":{"plainToken":"v0:1:{}"}}"#,
            #"{"event":"endpoint.url_validation","payload":{"plainToken":""}}"#,
        ] { #expect(answer(challenge, content: content) == nil, "\(content)") }
    }

    @Test("Content longer than 4 KiB is none: n - 1, n, n + 1")
    func length() {
        let frame = #"{"type":1,"a":""}"#.utf8.count
        for (count, isAnswered) in [(4095, true), (4096, true), (4097, false)] {
            let content = #"{"type":1,"a":""# + String(repeating: "x", count: count - frame) + #""}"#
            #expect((answer(.discord, content: content) != nil) == isAnswered)
        }
    }

    @Test("Queries that ask are answered")
    func queries() throws {
        #expect(try answer(.dropbox, query: "challenge=a%20b") == "a b")
        #expect(
            try answer(.meta, query: "hub.mode=subscribe&hub.verify_token=t&hub.challenge=7", token: "t") == "7")
        #expect(
            try answer(.x, query: "crc_token=abc")
                == #"{"response_token":"sha256=mUba1OAOkT/Ivo5dP34RCkqegy+D+wnDRShdeGONig4="}"#)
        for token in ["YWJj", "YWI%3D", "YQ%3D%3D", "MGVhNj-_.%2B/9"] {
            #expect(throws: Never.self, "\(token)") { _ = try answer(.x, query: "crc_token=\(token)") }
        }
    }

    @Test("A body that anybody can have signed as a token is none of X's", arguments: [1, 3, .max])
    func tokensAsBodies(_ cut: Int) throws {
        let secret = SigningSecret(.shared(Array("secret".utf8)))
        for (body, fault) in [
            ("YWJj", .body), ("admin=true", .body), ("123", .body), ("true", .body), ("{}", nil), ("[1]", nil),
            ("", nil),
            (" 1", nil), (String(repeating: "x", count: 4096), .body), (String(repeating: "x", count: 4097), nil),
        ] as [(String, SignatureFault?)] {
            let mac = Digest.hmac(Array(body.utf8).span, key: Array("secret".utf8).span, .sha256)
            let signature = "sha256=" + String(decoding: BinaryEncoding.base64.encode(mac.span), as: UTF8.self)
            let sample = SampleWebhook(body, [("X-Twitter-Webhooks-Signature", signature)])
            #expect(sample.verify(try options("twitter", secret), now: 0, cut: cut) == fault, "\(body.prefix(20))")
        }
    }

    @Test(
        "Others are refused",
        arguments: [
            (EndpointChallenge.meta, "hub.mode=subscribe&hub.verify_token=T&hub.challenge=7", SignatureFault.mismatch),
            (.meta, "hub.mode=subscribe&hub.challenge=7", .missing),
            (.meta, "hub.verify_token=t&hub.challenge=7", .missing),
            (.meta, "hub.mode=subscribe&hub.verify_token=t&hub.verify_token=t&hub.challenge=7", .missing),
            (.meta, "hub.mode=subscribe&hub.verify_token=t&hub.challenge=", .malformed),
            (.x, "crc_token=%7B%7D", .malformed),
            (.x, "crc_token=a%20b", .malformed), (.x, "crc_token=", .malformed),
            (.x, "crc_token=a&crc_token=b", .malformed),
            // Forms, and JSON texts.
            (.x, "crc_token=admin%3Dtrue", .malformed), (.x, "crc_token=abc%3D%3D%3D", .malformed),
            (.x, "crc_token=a%3D", .malformed), (.x, "crc_token=%3D", .malformed),
            (.x, "crc_token=abc%3Dabc%3D", .malformed),
            (.x, "crc_token=a%26b", .malformed), (.x, "crc_token=123", .malformed),
            (.x, "crc_token=-1.5e3", .malformed),
            (.x, "crc_token=true", .malformed), (.x, "crc_token=false", .malformed), (.x, "crc_token=null", .malformed),
            (.dropbox, "challenge=", .malformed), (.dropbox, "", .malformed),
            (.slack, "challenge=x", .missing),
        ])
    func refused(_ challenge: EndpointChallenge, _ query: String, _ fault: SignatureFault) {
        #expect(throws: SignatureError(fault)) { try answer(challenge, query: query, token: "t") }
    }

    @Test("A text that comes back has 4 KiB at most")
    func longQueries() throws {
        for (count, isAnswered) in [(4095, true), (4096, true), (4097, false)] {
            let text = String(repeating: "x", count: count)
            if isAnswered {
                #expect(try answer(.dropbox, query: "challenge=\(text)") == text)
            } else {
                #expect(throws: SignatureError.malformed) { try answer(.dropbox, query: "challenge=\(text)") }
            }
        }
    }

    @Test("Without a token that was agreed on nothing is answered")
    func noToken() {
        #expect(throws: SignatureError.missing) {
            try answer(.meta, query: "hub.mode=subscribe&hub.verify_token=&hub.challenge=7")
        }
    }
}

/// Contents that are signed as they come.
@Suite("Signing in pieces")
struct SigningTests {
    @Test("Any cut gives the same fields", arguments: SenderTests.rows)
    func cuts(_ row: SenderTests.Row) throws {
        let scheme = try #require(SenderPresets.find(row.name))
        let signer = try MessageSigner(scheme, secret: row.signing)
        var message = MessageSigner.Message()
        message.url = "https://hooks.example.com/hook?a=b"
        message.id = "msg_1"
        message.time = SenderTests.now
        message.contentType = "application/x-www-form-urlencoded"
        let content = Array("a=1&b=2&c=%C3%A4".utf8)
        let atOnce = try signer.begin(message)
        atOnce.update(content.span)
        let whole = try atOnce.finish()
        #expect(whole.map(\.name) == signer.names)
        #expect(Set(signer.names).isSubset(of: signer.readNames))
        for cut in 0...content.count {
            let signing = try signer.begin(message)
            signing.update(content.span.extracting(0..<cut))
            signing.update(content.span.extracting(cut..<content.count))
            #expect(try signing.finish().map(\.value) == whole.map(\.value))
        }
    }
}
