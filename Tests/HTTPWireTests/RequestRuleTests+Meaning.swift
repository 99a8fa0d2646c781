import HTTPWire
import Testing

/// R17 to R37: what the fields of a request mean, and which combinations are refused.
extension RequestRuleTests {
    @Test("R17 one Host, which is a host and a port, in lower case")
    func r17() {
        expect([
            "GET / HTTP/1.1^": "400 http_missing_host",
            "GET / HTTP/1.0^": "ok",
            "GET /~Host: a.test^": "400 http_repeated_host",
            "GET / HTTP/1.0\r\nHost: a\r\nHost: a^": "400 http_repeated_host",
            "GET / HTTP/1.1\r\nHost:^": "400 http_bad_host",
            "GET / HTTP/1.1\r\nHost: a b^": "400 http_bad_host",
            "GET / HTTP/1.1\r\nHost: a/b^": "400 http_bad_host",
            "GET / HTTP/1.1\r\nHost: u@a^": "400 http_bad_host",
            "GET / HTTP/1.1\r\nHost: a,b^": "400 http_bad_host",
            "GET / HTTP/1.1\r\nHost: a:80x^": "400 http_bad_host",
            "GET / HTTP/1.1\r\nHost: a:80:80^": "400 http_bad_host",
            "GET / HTTP/1.1\r\nHost: a:65536^": "400 http_bad_host",
            "GET / HTTP/1.1\r\nHost: [::1^": "400 http_bad_host",
            "GET / HTTP/1.1\r\nHost: [::1]x^": "400 http_bad_host",
            "GET / HTTP/1.1\r\nHost: []^": "400 http_bad_host",
            "GET / HTTP/1.1\r\nHost: [fe80::1%25eth0]^": "400 http_bad_host",
            "GET / HTTP/1.1\r\nHost: [::1]:8080^": "ok",
        ])
        #expect(Self.request("GET / HTTP/1.1\r\nHost: My_Svc.Test:8080^")?.host == "my_svc.test:8080")
        #expect(Self.request("GET / HTTP/1.1\r\nHost: A.test:^")?.fields == ["Host: a.test"])
        #expect(Self.request("GET http://B.test/ HTTP/1.1\r\nHost: b.TEST:80^")?.host == "b.test")
    }

    @Test("R18 a name with _ must not imitate a framing or routing field")
    func r18() throws {
        expect([
            "GET /~Content_Length: 5^": "400 http_underscore_alias",
            "GET /~transfer_encoding: chunked^": "400 http_underscore_alias",
            "GET /~X_Forwarded-For: 1^": "400 http_underscore_alias",
            "GET /~X_A: 1^": "ok",
        ])
        var head = MessageHead()
        var parser = RequestParser()
        let bytes = Array(Self.expand("GET /~X_A: 1^").utf8)
        #expect(try parser.parse(bytes.span, into: &head) == bytes.count)
        #expect(head.hasUnderscore(0) == false)
        #expect(head.hasUnderscore(1) == true)
    }

    @Test("R19 Content-Length is one line of digits up to Int.max")
    func r19() {
        expect([
            "POST /~Content-Length: 0^": "ok",
            "POST /~Content-Length: 05^hello": "ok",
            "POST /~Content-Length: ^": "400 http_bad_content_length",
            "POST /~Content-Length: +5^": "400 http_bad_content_length",
            "POST /~Content-Length: 5,5^": "400 http_bad_content_length",
            "POST /~Content-Length: 0x5^": "400 http_bad_content_length",
            "POST /~Content-Length: 5\r\nContent-Length: 5^": "400 http_repeated_content_length",
            "POST /~Content-Length: 9223372036854775807^": "413 http_body_too_large",
            "POST /~Content-Length: 9223372036854775808^": "400 http_bad_content_length",
            "POST /~Content-Length: 9999999999999999999^": "400 http_bad_content_length",
            "POST /~Content-Length: 18446744073709551621^": "400 http_bad_content_length",
        ])
    }

    @Test("R20 a length beyond the body limit is refused before the body is read, a chunked body when it passes it")
    func r20() throws {
        var limits = WireLimits()
        limits.body = 10
        for (length, isFine) in [(9, true), (10, true), (11, false)] {
            let data = String(repeating: "x", count: length)
            let known = Array(Self.expand("POST /~Content-Length: \(length)^").utf8)
            let run = TestConnection.run(known + (isFine ? Array(data.utf8) : []), limits: limits)
            #expect(run.verdict == (isFine ? "ok" : "413 http_body_too_large"))
            let chunked = "POST /~Transfer-Encoding: chunked^5\r\nhello\r\n\(String(length - 5, radix: 16))\r\n"
            let body = isFine ? String(repeating: "x", count: length - 5) + "\r\n0\r\n\r\n" : ""
            let other = TestConnection.run(Array(Self.expand(chunked + body).utf8), limits: limits)
            #expect(other.verdict == (isFine ? "ok" : "413 http_body_too_large"))
        }
    }

    @Test("R21 Transfer-Encoding is exactly chunked")
    func r21() {
        expect([
            "POST /~Transfer-Encoding: chunked^0\r\n\r\n": "ok",
            "POST /~Transfer-Encoding: CHUNKED^0\r\n\r\n": "ok",
            "POST /~Transfer-Encoding: gzip, chunked^": "501 http_unknown_transfer_coding",
            "POST /~Transfer-Encoding: gzip,chunked^": "501 http_unknown_transfer_coding",
            "POST /~Transfer-Encoding: chunked, gzip^": "400 http_bad_transfer_encoding",
            "POST /~Transfer-Encoding: gzip^": "400 http_bad_transfer_encoding",
            "POST /~Transfer-Encoding: identity^": "400 http_bad_transfer_encoding",
            "POST /~Transfer-Encoding: chunked, chunked^": "400 http_bad_transfer_encoding",
            "POST /~Transfer-Encoding: ,chunked^": "400 http_bad_transfer_encoding",
            "POST /~Transfer-Encoding: chunked,^": "400 http_bad_transfer_encoding",
            "POST /~Transfer-Encoding: chunked;q=1^": "400 http_bad_transfer_encoding",
            "POST /~Transfer-Encoding: xchunked^": "400 http_bad_transfer_encoding",
            "POST /~Transfer-Encoding:^": "400 http_bad_transfer_encoding",
            "POST /~Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked^": "400 http_bad_transfer_encoding",
        ])
    }

    @Test("R22 Content-Length and Transfer-Encoding together are refused")
    func r22() {
        expect([
            "POST /~Content-Length: 5\r\nTransfer-Encoding: chunked^": "400 http_length_and_transfer_encoding",
            "POST /~Transfer-Encoding: x\r\nContent-Length: 5^": "400 http_length_and_transfer_encoding",
        ])
    }

    @Test("R23 Transfer-Encoding in HTTP/1.0 is refused")
    func r23() {
        expect([
            "POST / HTTP/1.0\r\nTransfer-Encoding: chunked^": "400 http_transfer_encoding_in_1_0"
        ])
    }

    @Test("R24 a request with neither has no body, whatever its method")
    func r24() {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "X"] {
            #expect(Self.request("\(method) /~\r\n")?.framing == BodyFraming.none)
            #expect(Self.request("\(method) / HTTP/1.0\r\n\r\n")?.framing == BodyFraming.none)
        }
    }

    @Test("R25 a body is framed by its fields, not by the method")
    func r25() {
        for method in ["GET", "HEAD", "DELETE", "OPTIONS", "X"] {
            let request = Self.request("\(method) /~Content-Length: 5^helloGET /next~\r\n")
            #expect(request?.framing == .length(5))
            #expect(request?.body == Array("hello".utf8))
        }
    }

    @Test("R31 Connection is a list of tokens that names nothing which must stay")
    func r31() throws {
        expect([
            "GET /~Connection: close, X-Drop^": "ok",
            "GET /~Connection: , ,close,^": "ok",
            "GET /~Connection: a b^": "400 http_bad_connection",
            "GET /~Connection: \"close\"^": "400 http_bad_connection",
        ])
        for name in [
            "Host", "content-length", "Transfer-Encoding", "Authorization", "Cookie", "Content-Type", "X-Forwarded-For",
            "X-Forwarded-Proto", "X-Forwarded-Host", "Forwarded", "X-Real-IP", "X-Request-ID", "Via",
        ] {
            expect(["GET /~Connection: \(name)^": "400 http_protected_connection_option"])
        }
        #expect(
            Self.request(
                "GET /~Connection: x-drop, TE, keep-alive\r\nX-Drop: 1\r\nX-Keep: 1\r\nX-DROP: 2\r\nTE: trailers^")?
                .fields == ["Host: a.test", "X-Keep: 1"])
        for (excess, expected) in [(-1, "ok"), (0, "ok"), (1, "400 http_bad_connection")] {
            let options = Array(repeating: "x", count: WireLimits.connectionOptions + excess).joined(separator: ",")
            expect(["GET /~Connection: \(options)^": expected])
        }
    }

    @Test("R32 the only expectation is 100-continue, and HTTP/1.0 has none")
    func r32() throws {
        expect([
            "POST /~Expect: 100-Continue\r\nContent-Length: 0^": "ok",
            "POST /~Expect:^": "ok",
            "POST /~Expect: banana^": "417 http_expectation_failed",
            "POST /~Expect: 100-continue, banana^": "417 http_expectation_failed",
            "POST /~Expect: 100-continue\r\nExpect: 100-continue^": "417 http_expectation_failed",
            "POST / HTTP/1.0\r\nExpect: banana^": "ok",
        ])
        #expect(try head("POST /~Expect: 100-Continue\r\nContent-Length: 5^").expectsContinue == true)
        #expect(try head("POST /~Expect: 100-continue\r\nContent-Length: 0^").expectsContinue == false)
        #expect(try head("GET /~Expect: 100-continue^").expectsContinue == false)
        #expect(try head("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 5^").expectsContinue == false)
    }

    @Test("R33 an upgrade is asked for by both fields, in 1.1, without body, and not to h2c alone")
    func r33() throws {
        #expect(try head("GET /~Connection: Upgrade\r\nUpgrade: websocket^").wantsUpgrade == true)
        #expect(try head("GET /~Upgrade: websocket^").wantsUpgrade == false)
        #expect(try head("GET /~Connection: Upgrade^").wantsUpgrade == false)
        #expect(try head("GET /~Connection: Upgrade\r\nUpgrade: H2C^").wantsUpgrade == false)
        #expect(try head("GET /~Connection: Upgrade\r\nUpgrade: , h2c ,\r\nUpgrade: h2c^").wantsUpgrade == false)
        for list in ["websocket, H2C", "h2c,websocket", "h2c\r\nUpgrade: x"] {
            #expect(try head("GET /~Connection: Upgrade\r\nUpgrade: \(list)^").wantsUpgrade == true)
        }
        #expect(
            try head("POST /~Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 5^").wantsUpgrade == false)
        #expect(try head("GET / HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: websocket^").wantsUpgrade == false)
        let dropped = try head("GET /~HTTP2-Settings: x\r\nUpgrade: websocket^")
        #expect(dropped.isHopByHop(1) == true)
        #expect(dropped.isHopByHop(2) == true)
    }

    @Test("R34 CONNECT and TRACE are refused, whatever comes with them")
    func r34() {
        expect([
            "CONNECT a.test:443~\r\n": "501 http_method_not_supported",
            "CONNECT a.test:443 HTTP/1.1\r\nHost: b.test:443\r\n\r\n": "501 http_method_not_supported",
            "CONNECT a.test:443 HTTP/1.1\r\n\r\n": "501 http_method_not_supported",
            "CONNECT a.test:443~Content-Length: 5^hello": "501 http_method_not_supported",
            "CONNECT a.test~\r\n": "501 http_method_not_supported",
            "CONNECT /~\r\n": "501 http_method_not_supported",
            "CONNECT http://a.test/~\r\n": "501 http_method_not_supported",
            "CONNECT *~\r\n": "501 http_method_not_supported",
            "CONNECT /%zz~\r\n": "501 http_method_not_supported",
            "TRACE /~\r\n": "501 http_method_not_supported",
            "TRACE /~Content-Length: 0^": "501 http_method_not_supported",
            "TRACE /~Content-Length: 3^abc": "501 http_method_not_supported",
            "TRACE /~Transfer-Encoding: chunked^": "501 http_method_not_supported",
            // What a target and Host must satisfy comes first.
            "TRACE a.test:443~\r\n": "400 http_bad_target",
            "TRACE * HTTP/1.1\r\nHost: a.test\r\n\r\n": "400 http_bad_target",
            "TRACE / HTTP/1.1\r\n\r\n": "400 http_missing_host",
            // Methods are case-sensitive: these are others.
            "connect /~\r\n": "ok", "Trace /~\r\n": "ok",
        ])
    }

    @Test("R35 a field with one value comes once, and Content-Type is no list")
    func r35() {
        for name in ["Content-Type", "Authorization", "Content-Location", "Content-Range"] {
            expect(["POST /~\(name): a\r\n\(name.lowercased()): a^": "400 http_repeated_field"])
        }
        expect([
            "POST /~Content-Type: application/json, text/plain^": "400 http_listed_field",
            "POST /~Content-Type: a/b; x=\"1,\\\",2\"^": "ok",
            "POST /~Accept: a\r\nAccept: b^": "ok",
        ])
    }

    @Test("R37 after close, after an error and after HTTP/1.0 nothing more is parsed")
    func r37() {
        let next = "GET /next HTTP/1.1\r\nHost: a.test\r\n\r\n"
        for first in [
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
            "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
            "BAD\r\n\r\n",
        ] {
            let run = TestConnection.run(first + next)
            #expect(run.statuses.count == 1)
            #expect(!run.requests.contains { $0.target == "/next" })
        }
    }
}
