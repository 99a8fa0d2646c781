import ContentCoding
import Gateway
import Proxy
import Testing
import Transcoding

/// After a refusal: the answer says that the connection ends, or the connection goes on. Never neither.
@Suite struct RefusalConnectionTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        var path = "/c"
        var type = jsonType
        let body: String
        let status: Int
        var testDescription: String { name }
    }

    private static let filler = String(repeating: "[1,2,3],\n", count: 4000)

    static let cases: [Case] = [
        Case(name: "a fault at the start", body: "{]" + filler, status: 400),
        Case(
            name: "a fault behind 4 KiB", body: "{\"a\":\"" + String(repeating: "x", count: 5000) + "\"]" + filler,
            status: 400),
        Case(name: "a fault at the end", body: "{\"a\":[" + filler, status: 400),
        Case(name: "too deep", body: "{\"a\":[[[[[[1]]]]]],\"c\":[" + filler + "1]}", status: 413),
        Case(name: "what the output can't say", body: "{\"a\":{\"b\":[]},\"c\":[" + filler + "1]}", status: 422),
        Case(name: "another type", type: "text/plain", body: filler, status: 415),
        Case(name: "no route", path: "/none", body: filler, status: 404),
        Case(name: "a body that is too long", path: "/short", body: filler, status: 413),
        Case(name: "a length that is demanded", path: "/length", body: filler, status: 411),
        Case(name: "no method of the route", path: "/get", body: filler, status: 405),
    ]

    private func routes() throws -> [Route] {
        var limits = Limits()
        limits.depth = 5
        var short = Limits()
        short.body = 10
        var options = RouteOptions()
        options.forwarding.requiresLength = true
        let get = Route(
            index: 3, name: "r3", match: RouteMatch(path: try PathPattern(parsing: "/get"), methods: ["GET"]),
            upstream: 0)
        return [
            convert(.json, .form, "/c", limits: limits), forward("/short", index: 1, limits: short),
            forward("/length", index: 2, options: options), get, forward("/ok", index: 4),
        ]
    }

    @Test(
        "H1: a pooled client's next request is served, or it was told that none is", arguments: cases,
        [nil] + Coding.allCases)
    func next(item: Case, coding: Coding?) throws {
        let body = coding.map { BodyCodingTests.encoded(item.body, $0) } ?? Array(item.body.utf8)
        let coded = coding.map { "Content-Encoding: \($0.rawValue)\r\n" } ?? ""
        let head = "POST \(item.path) HTTP/1.1\r\nHost: a\r\nContent-Type: \(item.type)\r\n\(coded)"
        for isChunked in [false, true] where isChunked || item.status != 411 {
            for isCut in [false, true] {
                try withRig(try routes()) { rig in
                    rig.answers = [ok]
                    let client = try rig.connect()
                    let size = String(body.count, radix: 16)
                    let message =
                        isChunked
                        ? Array((head + "Transfer-Encoding: chunked\r\n\r\n\(size)\r\n").utf8) + body
                            + Array("\r\n0\r\n\r\n".utf8)
                        : Array((head + "Content-Length: \(body.count)\r\n\r\n").utf8) + body
                    let cut = isCut ? message.count - min(body.count, 30) : message.count
                    client.send(Array(message[..<cut]))
                    rig.settle()
                    client.send(Array(message[cut...]))
                    let response = try rig.response(to: client)
                    #expect(response.status == item.status)
                    if response["Connection"] == "close" {
                        try rig.until("the end") { client.isOver }
                        #expect(client.failure == nil)
                    } else {
                        rig.settle()
                        #expect(!client.isOver)
                        client.send("POST /ok HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx")
                        #expect(try rig.response(to: client).text == "ok")
                    }
                }
            }
        }
    }

    @Test(
        "H1: a short coded body that is refused behind 4 KiB leaves the connection as it is", arguments: Coding.allCases
    )
    func goesOn(_ coding: Coding) throws {
        try withRig(try routes()) { rig in
            rig.answers = [ok]
            let client = try rig.connect()
            for item in Self.cases.prefix(5) {
                let body = BodyCodingTests.encoded(item.body, coding)
                client.send(
                    Array(
                        ("POST /c HTTP/1.1\r\nHost: a\r\nContent-Type: \(jsonType)\r\nContent-Encoding: \(coding.rawValue)\r\n"
                            + "Content-Length: \(body.count)\r\n\r\n").utf8) + body)
                let response = try rig.response(to: client)
                #expect(response.status == item.status && response["Connection"] == nil, "\(item.name)")
            }
            client.send("GET /ok HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try rig.response(to: client).text == "ok")
        }
    }

    // MARK: OPTIONS *

    @Test(
        "H3: OPTIONS * is answered here with what the host's routes take",
        arguments: [
            "", "Max-Forwards: 0\r\n", "Max-Forwards: 7\r\n", "Via: 1.1 recast, 1.1 recast, 1.1 recast, 1.1 recast\r\n",
        ])
    func asterisk(fields: String) throws {
        let post = Route(
            index: 0, name: "r0", match: RouteMatch(path: try PathPattern(parsing: "/a"), methods: ["POST", "GET"]),
            upstream: 0)
        let put = Route(
            index: 1, name: "r1", match: RouteMatch(path: try PathPattern(parsing: "/b"), methods: ["PUT", "GET"]),
            upstream: 0)
        try withRig([post, put]) { rig in
            let client = try rig.connect()
            for target in ["*", "http://a"] {
                for body in ["\r\n", "Content-Length: 3\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"] {
                    let client = body.hasPrefix("T") ? try rig.connect() : client
                    client.send("OPTIONS \(target) HTTP/1.1\r\nHost: a\r\n\(fields)\(body)")
                    let response = try rig.response(to: client, .none)
                    #expect(response.status == 204)
                    #expect(response["Allow"] == "POST, GET, PUT, OPTIONS")
                    #expect(response["Content-Length"] == nil && response["X-Request-Id"] != nil)
                }
            }
            #expect(rig.upstreams.isEmpty)
            client.send("OPTIONS * HTTP/1.1\r\nHost: a\r\nMax-Forwards: x\r\n\r\n")
            expectProblem(try rig.response(to: client), 400, "http_bad_max_forwards")
            client.send("OPTIONS /none HTTP/1.1\r\nHost: a\r\n\r\n")
            expectProblem(try rig.response(to: client), 404, "no_route")
        }
    }

    @Test("H8: a length is read in one way, zeros in front or not", arguments: ["0", "00", "000000"])
    func zeros(_ length: String) throws {
        try withRig([convertBack()]) { rig in
            let client = try rig.connect(sending: "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try rig.request()
            rig.upstreams[0].send(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nETag: \"x\"\r\nContent-Length: \(length)\r\n\r\n")
            let response = try rig.response(to: client, .none)
            // Nothing would be converted, so nothing changes.
            #expect(response["ETag"] == "\"x\"")
        }
    }

    @Test("H5: an upstream that speaks another protocol is a 502 at once, with no more to come")
    func otherProtocol() throws {
        let start = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
        for text in ["220 mail ESMTP", "SSH-2.0", "\u{16}\u{3}\u{1}", start + "+OK"] {
            try withRig { rig in
                let client = try rig.connect(sending: "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                _ = try rig.request()
                rig.upstreams[0].send(text)
                if text.hasPrefix("HTTP") { _ = try rig.response(to: client, .none) }
                expectProblem(try rig.response(to: client), 502, "upstream_bad_response")
                try rig.until("the connection is closed") { rig.upstreams[0].isOver }
            }
        }
    }
}
