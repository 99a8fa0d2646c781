import Gateway
import HTTPWire
import Proxy
import Testing
import Transcoding

/// What of a request's head goes upstream, and what is added.
@Suite struct RequestHeadTests {
    @Test("F1 fields of the hop, and those that Connection names, stay behind; all others pass as they came")
    func hopByHop() throws {
        try withRig { rig in
            let (request, _, _) = try rig.exchange(
                "GET /p?q=1 HTTP/1.1\r\nHost: Shop.Example:81\r\nConnection: keep-alive, x-mine\r\nX-Mine: 1\r\n"
                    + "Keep-Alive: timeout=5\r\nProxy-Connection: close\r\nTE: trailers\r\nTrailer: x\r\n"
                    + "Proxy-Authorization: secret\r\nX-Two: a\r\nx-two: b\r\nAccept:  */* \r\nX-Empty:\r\n\r\n")
            #expect(request.startLine == "GET /p?q=1 HTTP/1.1")
            #expect(
                Set(request.names) == [
                    "host", "x-two", "accept", "x-empty", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host",
                    "x-forwarded-port", "via", "x-request-id",
                ])
            #expect(request["Host"] == "shop.example:81")
            #expect(request["X-Two"] == "a|b")
            #expect(request["Accept"] == "*/*")
            #expect(request["X-Empty"] == "")
        }
    }

    @Test("what the client says of who it is gets replaced")
    func forwarded() throws {
        try withRig { rig in
            let (request, _, _) = try rig.exchange(
                "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 9.9.9.9\r\nX-Forwarded-Proto: https\r\n"
                    + "X-Forwarded-Host: evil\r\nX-Forwarded-Port: 1\r\nForwarded: for=9.9.9.9\r\n"
                    + "X-Real-IP: 9.9.9.9\r\n\r\n")
            #expect(request["X-Forwarded-For"] == "127.0.0.1")
            #expect(request["X-Forwarded-Proto"] == "http")
            #expect(request["X-Forwarded-Host"] == "a")
            #expect(request["X-Forwarded-Port"] != "1")
            #expect(request["Forwarded"] == nil)
            #expect(request["X-Real-IP"] == nil)
        }
    }

    @Test("a client on a unix socket has no address to forward")
    func forwardedFromUnixSocket() throws {
        try withRig(unix: true) { rig in
            let (request, _, _) = try rig.exchange("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 9.9.9.9\r\n\r\n")
            #expect(request["X-Forwarded-For"] == nil)
            #expect(request["X-Forwarded-Proto"] == "http")
        }
    }

    @Test("a request id is kept, is made where there is none or it is too long, and comes back with the response")
    func requestID() throws {
        try withRig { rig in
            let kept = try rig.exchange("GET / HTTP/1.1\r\nHost: a\r\nX-Request-Id: abc-1\r\n\r\n")
            #expect(kept.request["X-Request-Id"] == "abc-1")
            #expect(kept.response["X-Request-Id"] == "abc-1")
            kept.client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            let made = try rig.request()
            rig.upstreams[0].send(ok)
            let id = try #require(made["X-Request-Id"])
            #expect(id.count == 32 && id.allSatisfy { $0.isHexDigit && !$0.isUppercase })
            #expect(try rig.response(to: kept.client)["X-Request-Id"] == id)
            kept.client.send(
                "GET / HTTP/1.1\r\nHost: a\r\nX-Request-Id: \(String(repeating: "x", count: 129))\r\n\r\n")
            let next = try #require(try rig.request()["X-Request-Id"])
            #expect(next.count == 32 && next != id)
            rig.upstreams[0].send("HTTP/1.1 200 OK\r\nX-Request-Id: theirs\r\nContent-Length: 0\r\n\r\n")
            #expect(try rig.response(to: kept.client)["X-Request-Id"] == "theirs")
        }
    }

    @Test(
        "F7 a method that usually has a body says that it has none; others say what the client said",
        arguments: [
            ("POST", "0"), ("PUT", "0"), ("PATCH", "0"), ("GET", nil), ("DELETE", nil), ("OPTIONS", nil),
            ("PURGE", nil),
        ] as [(String, String?)])
    func noBody(method: String, length: String?) throws {
        try withRig { rig in
            let (silent, _, _) = try rig.exchange("\(method) / HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(silent["Content-Length"] == length)
            #expect(silent["Transfer-Encoding"] == nil)
            let (told, _, _) = try rig.exchange("\(method) / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
            #expect(told["Content-Length"] == "0")
            #expect(told["Transfer-Encoding"] == nil)
        }
    }

    @Test("names with an underscore are dropped: CGI reads them as the name with a hyphen")
    func underscore() throws {
        try withRig { rig in
            let (request, _, _) = try rig.exchange(
                "GET / HTTP/1.1\r\nHost: a\r\nX_Tenant: 1\r\nx_y: 2\r\nx-y: 3\r\n\r\n")
            #expect(request["X_Tenant"] == nil)
            #expect(request["x_y"] == nil)
            #expect(request["x-y"] == "3")
        }
    }

    @Test("F2 fields that speak of the body's old bytes go when it is converted, and stay when it is not")
    func bodyFields() throws {
        let fields = ["Content-MD5", "Content-Digest", "Repr-Digest", "Digest", "Range", "If-Range"]
        let lines = fields.map { "\($0): v\r\n" }.joined() + "If-Match: e\r\nContent-Language: en\r\n"
        try withRig([convert(.form, .json, "/c"), forward(index: 1)]) { rig in
            let converted = try rig.exchange(post("/c", formType, "a=1", fields: lines)).request
            for field in fields { #expect(converted[field] == nil, "\(field)") }
            #expect(converted["Content-Type"] == "application/json")
            #expect(converted["If-Match"] == "e")
            #expect(converted["Content-Language"] == "en")
            #expect(converted["Content-Length"] == "9")
            #expect(converted.text == #"{"a":"1"}"#)
        }
        try withRig { rig in
            let plain = try rig.exchange(post("/", formType, "a=1", fields: lines)).request
            for field in fields { #expect(plain[field] == "v", "\(field)") }
            #expect(plain["Content-Type"] == formType)
        }
    }

    @Test("a rewritten target is what the upstream sees, and the fields stay")
    func rewrite() throws {
        let rewrite = Rewrite(
            path: [.literal("/orders.php/"), .variable(0)],
            query: [.init(name: "id", value: .path(0, "id")), .init(name: "from", value: .clientAddress)])
        try withRig([forward("/api/{id}", rewrite: rewrite)]) { rig in
            let (request, _, _) = try rig.exchange(
                "DELETE /api/7%2F8?id=9&x=%20 HTTP/1.1\r\nHost: a\r\nX-A: 1\r\n\r\n")
            #expect(request.startLine == "DELETE /orders.php/7%2F8?x=%20&id=7%2F8&from=127.0.0.1 HTTP/1.1")
            #expect(request["X-A"] == "1")
        }
    }

    @Test("a target in absolute form goes on in origin form, its authority as Host")
    func absoluteForm() throws {
        try withRig { rig in
            let (request, _, _) = try rig.exchange("GET http://B.example/x?y HTTP/1.1\r\nHost: b.example\r\n\r\n")
            #expect(request.startLine == "GET /x?y HTTP/1.1")
            #expect(request["Host"] == "b.example")
        }
    }

    @Test("a value for the rewritten target that is not UTF-8 is refused before the upstream is asked")
    func unreadableSource() throws {
        let rewrite = Rewrite(query: [.init(name: "t", value: .header("x-t"))])
        try withRig([forward(rewrite: rewrite)], unix: true) { rig in
            let client = try rig.connect()
            client.send(Array("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nX-T: ".utf8) + [0xFF])
            client.send("\r\n\r\nbody")
            let response = try rig.response(to: client)
            #expect(response.status == 400)
            #expect(response.text.contains("source_invalid_utf8"))
            // The body was read and dropped, so the connection goes on.
            rig.answers = [ok]
            client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try rig.response(to: client).status == 200)
            #expect(rig.upstreams.count == 1)
        }
    }
}
