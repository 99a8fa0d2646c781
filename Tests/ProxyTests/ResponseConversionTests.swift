import Gateway
import Proxy
import Testing
import Transcoding

/// Responses that are converted: the body, the head that goes with it, and both connections after it.
@Suite struct ResponseConversionTests {
    private let body = #"{"a":{"b":[1,2]},"c":"x y"}"#
    private let converted = "a%5Bb%5D%5B%5D=1&a%5Bb%5D%5B%5D=2&c=x%20y"

    @Test("a converted response has the output's type and a length, however the upstream frames its body")
    func framings() throws {
        try withRig([convertBack()]) { rig in
            let client = try rig.connect()
            let answers = [answer(body), chunkedAnswer(body), chunkedAnswer(body, chunk: 1000)]
            for text in answers {
                client.send(getRequest)
                _ = try rig.request()
                try rig.upstream().send(text)
                let response = try rig.response(to: client)
                #expect(response.startLine == "HTTP/1.1 200 OK")
                #expect(response.text == converted)
                #expect(response["Content-Type"] == formType)
                #expect(response["Content-Length"] == "\(converted.utf8.count)")
                #expect(!response.isChunked && response["Connection"] == nil)
            }
            #expect(rig.upstreams.count == 1, "both connections serve on")
            client.send(getRequest)
            _ = try rig.request()
            try rig.upstream().send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n\(body)")
            rig.settle()
            #expect(client.rest.isEmpty, "a body without a length may still go on")
            try rig.upstream().close()
            let response = try rig.response(to: client)
            #expect(response.text == converted && !response.isChunked && response["Connection"] == nil)
            client.send(getRequest)
            _ = try rig.request(on: 1)
            try rig.upstream(1).send(answer("[]"))
            #expect(try rig.response(to: client).status == 502)
        }
    }

    @Test("the bytes are the same wherever the upstream's writes end")
    func cuts() throws {
        try withRig([convertBack()], unix: true) { rig in
            let client = try rig.connect()
            let text = Array(chunkedAnswer(body, chunk: 9).utf8)
            for cut in stride(from: 1, to: text.count, by: 3) {
                client.send(getRequest)
                _ = try rig.request()
                let upstream = try rig.upstream()
                upstream.send(Array(text[..<cut]))
                rig.settle()
                #expect(client.rest.isEmpty, "nothing goes out before all is there")
                upstream.send(Array(text[cut...]))
                #expect(try rig.response(to: client).text == converted)
            }
            #expect(rig.upstreams.count == 1)
        }
    }

    @Test("pipelined requests get their converted answers in order, converted ones among plain ones")
    func pipelined() throws {
        try withRig([convertBack(.json, .form, "/c"), forward(index: 1)]) { rig in
            let client = try rig.connect(
                sending: ["/c", "/p", "/c"].map { "GET \($0) HTTP/1.1\r\nHost: a\r\n\r\n" }.joined())
            for (number, wanted) in ["n=0", #"{"n":1}"#, "n=2"].enumerated() {
                _ = try rig.request()
                try rig.upstream().send(chunkedAnswer(#"{"n":\#(number)}"#))
                #expect(try rig.response(to: client).text == wanted)
            }
            #expect(rig.upstreams.count == 1)
        }
    }

    @Test("a request is converted one way and its response the other")
    func bothWays() throws {
        var plan = ConversionPlan(inputs: [.form], output: .json)
        plan.limits = Limits()
        let route = convertBack(.json, .form, request: .convert(plan, otherTypes: .reject, sources: []))
        try withRig([route]) { rig in
            for _ in 0..<3 {
                let (request, response, _) = try rig.exchange(post("/", formType, "a=1"), answer: answer(#"{"b":2}"#))
                #expect(request.text == #"{"a":"1"}"#)
                #expect(response.text == "b=2")
            }
        }
    }

    @Test(
        "a document goes to each encoding and comes back the same, by the type that the response has then",
        arguments: [BodyEncoding.json, .form, .multipart, .plist, .bplist, .xml])
    func encodings(encoding: BodyEncoding) throws {
        // A document of XML has one root element.
        let inner = #"{"a":{"b":["1","2"]},"c":"x y"}"#
        let document = encoding == .xml ? #"{"r":\#(inner)}"# : inner
        let routes = [convertBack(.json, encoding, "/out"), convertBack(encoding, .json, "/back", index: 1)]
        try withRig(routes) { rig in
            for _ in 0..<2 {
                let request = "GET /out HTTP/1.1\r\nHost: a\r\n\r\n"
                let out = try rig.exchange(request, answer: answer(document)).response
                #expect(out.status == 200)
                let type = try #require(out["Content-Type"])
                #expect(type.hasPrefix(encoding.mediaType))
                let client = try rig.connect(sending: "GET /back HTTP/1.1\r\nHost: a\r\n\r\n")
                let index = rig.upstreams.firstIndex { !$0.isOver } ?? 0
                _ = try rig.request(on: index)
                rig.upstreams[index].send(
                    "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nContent-Length: \(out.body.count)\r\n\r\n")
                rig.upstreams[index].send(out.body)
                let back = try rig.response(to: client)
                #expect(back.text == document && back["Content-Type"] == jsonType)
            }
            let head = "HTTP/1.1 200 OK\r\nContent-Type: \(encoding.mediaType);boundary=x\r\n"
            for body in ["", " "] {
                let response = try rig.exchange(
                    "GET /back HTTP/1.1\r\nHost: a\r\n\r\n",
                    answer: "\(head)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
                ).response
                #expect(response.status == 200 && response.text == body)
            }
        }
    }

    @Test("an output without a byte is a body of length 0")
    func emptyOutput() throws {
        try withRig([convertBack()]) { rig in
            let response = try rig.exchange(getRequest, answer: answer("{}")).response
            #expect(response.status == 200 && response["Content-Length"] == "0" && response["Content-Type"] == formType)
        }
    }

    @Test("a client of HTTP/1.0 gets a length, and its connection ends")
    func oldClient() throws {
        try withRig([convertBack()]) { rig in
            let (_, response, client) = try rig.exchange("GET / HTTP/1.0\r\n\r\n", answer: chunkedAnswer(body))
            #expect(response.text == converted && response["Content-Length"] == "\(converted.utf8.count)")
            try rig.until("the end") { client.isOver }
            #expect(client.failure == nil)
        }
    }

    // MARK: Heads

    @Test("what speaks of the upstream's bytes goes, a strong tag becomes weak, all else stays as it came")
    func fields() throws {
        try withRig([convertBack()]) { rig in
            let gone = [
                "Content-MD5: x", "Content-Digest: x", "Repr-Digest: x", "Digest: x", "Accept-Ranges: bytes",
                "Content-Encoding: identity",
            ]
            let kept = [
                "Server: s", "Set-Cookie: a=1", "Set-Cookie: b=2", "Last-Modified: Sat, 01 Jan 2000 00:00:00 GMT",
                "X-Own: v", "Cache-Control: max-age=5", "Vary: Origin", "Date: Sat, 01 Jan 2000 00:00:00 GMT",
            ]
            let fields = (gone + kept + [#"ETag: "v1""#, "Connection: x-hop", "X-Hop: 1"]).joined(separator: "\r\n")
            let response = try rig.exchange(
                getRequest, answer: answer(body, status: "203 Odd Words", fields: fields + "\r\n")
            ).response
            #expect(response.startLine == "HTTP/1.1 203 Odd Words")
            for line in gone { #expect(response[String(line.prefix { $0 != ":" })] == nil, "\(line)") }
            let lines = response.fields.map { "\($0.name): \($0.value)" }
            for line in kept { #expect(lines.contains(line), "\(line)") }
            #expect(response["ETag"] == #"W/"v1""# && response["X-Hop"] == nil)
            #expect(response["Content-Type"] == formType)
            for (tag, wanted) in [(#"W/"a""#, #"W/"a""#), (#""""#, #"W/"""#), ("bare", nil), ("W/", nil)] {
                let response = try rig.exchange(getRequest, answer: answer(body, fields: "ETag: \(tag)\r\n")).response
                #expect(response["ETag"] == wanted, "\(tag)")
            }
        }
    }

    @Test("the upstream is asked for whole bodies without a content coding, on routes that convert responses only")
    func request() throws {
        let passes = [ResponseRule(ResponseCondition(), .forward)]
        try withRig([convertBack(.json, .form, "/c"), respond(passes, "/p", index: 1), forward(index: 2)]) { rig in
            let fields = [
                ("Accept-Encoding", "gzip, br"), ("Range", "bytes=0-1"), ("If-Range", "\"a\""),
                ("Want-Content-Digest", "sha-256=1"), ("Accept", "*/*"), ("If-None-Match", "\"a\""),
            ]
            let lines = fields.map { "\($0): \($1)\r\n" }.joined()
            for path in ["/c", "/p", "/f"] {
                let (request, _, _) = try rig.exchange("GET \(path) HTTP/1.1\r\nHost: a\r\n\(lines)\r\n")
                for (name, value) in fields {
                    let isAsked = path == "/c" && !["Accept", "If-None-Match"].contains(name)
                    let wanted = name == "Accept-Encoding" && isAsked ? "identity" : isAsked ? nil : value
                    #expect(request[name] == wanted, "\(name) on \(path)")
                }
            }
        }
    }

    // MARK: What is not converted

    @Test("what has no body, or one of exactly one space, passes as it came")
    func untouched() throws {
        let tag = "ETag: \"v\"\r\nDigest: d\r\n"
        let cases: [(String, String, String, String?)] = [
            (answer("", fields: tag), "200", "", "0"),
            (answer("", nil, fields: tag), "200", "", "0"),
            (chunkedAnswer("").replacing("\r\n\r\n0", with: "\r\n\(tag)\r\n0"), "200", "", "0"),
            (answer(" ", fields: tag), "200", " ", "1"),
            (chunkedAnswer(" ").replacing("\r\n\r\n1", with: "\r\n\(tag)\r\n1"), "200", " ", "1"),
            ("HTTP/1.1 204 No Content\r\nContent-Type: application/json\r\n\(tag)\r\n", "204", "", nil),
            (
                "HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\nContent-Type: application/json\r\n\(tag)\r\n",
                "205", "", "0"
            ),
            (
                answer("{}", status: "206 Partial Content", fields: tag + "Content-Range: bytes 0-1/9\r\n"), "206",
                "{}", "2"
            ),
            (answer("{}", fields: tag + "Content-Range: bytes 0-1/9\r\n"), "200", "{}", "2"),
            (answer("--x--", "multipart/byteranges; boundary=x", fields: tag), "200", "--x--", "5"),
        ]
        try withRig([convertBack { $0.otherTypes = .reject }]) { rig in
            let client = try rig.connect()
            for (text, status, body, length) in cases {
                client.send(getRequest)
                _ = try rig.request()
                try rig.upstream().send(text)
                let response = try rig.response(to: client)
                #expect(response.startLine.contains(status), "\(text)")
                #expect(response.text == body && response["Content-Length"] == length, "\(text)")
                #expect(response["ETag"] == "\"v\"" && response["Digest"] == "d", "\(text)")
                #expect(response["Content-Type"] != formType, "\(text)")
            }
            #expect(rig.upstreams.count == 1)
        }
    }

    @Test("one space is told from the first byte of more, wherever the pieces end")
    func spaces() throws {
        try withRig([convertBack()]) { rig in
            let client = try rig.connect()
            for (pieces, status, body) in [
                ([" "], 200, " "), ([" ", #"{"a":1}"#], 200, "a=1"), ([#" {"a":1}"#], 200, "a=1"),
                (["  "], 502, nil), ([" ", " "], 502, nil), (["\n"], 502, nil),
            ] {
                client.send(getRequest)
                let index = rig.upstreams.lastIndex { !$0.isOver } ?? 0
                _ = try rig.request(on: index)
                rig.upstreams[index].send(chunkedAnswer("", end: ""))
                for piece in pieces {
                    rig.upstreams[index].send("\(String(piece.utf8.count, radix: 16))\r\n\(piece)\r\n")
                    rig.settle()
                }
                rig.upstreams[index].send("0\r\n\r\n")
                let response = try rig.response(to: client)
                #expect(response.status == status, "\(pieces)")
                if let body { #expect(response.text == body) }
            }
        }
    }

    @Test("a HEAD is answered with the upstream's head, less what is true only of its body")
    func head() throws {
        let fields = "ETag: \"v\"\r\nDigest: d\r\nX: y\r\n"
        try withRig([convertBack()]) { rig in
            let client = try rig.connect()
            for (type, length, isConverted) in [
                (jsonType, 10, true), (jsonType, 0, false), ("text/plain", 10, false),
            ] {
                client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
                _ = try rig.request()
                try rig.upstream().send(
                    "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nContent-Length: \(length)\r\n\(fields)\r\n")
                let response = try rig.response(to: client, .none)
                #expect(response.status == 200 && response["X"] == "y")
                #expect(response["Content-Type"] == (isConverted ? nil : type))
                #expect(response["Content-Length"] == (isConverted ? nil : "\(length)"))
                #expect(response["ETag"] == (isConverted ? "W/\"v\"" : "\"v\""))
                #expect(response["Digest"] == (isConverted ? nil : "d"))
            }
            #expect(client.rest.isEmpty && rig.upstreams.count == 1)
        }
    }

    @Test(
        "a 304 renews the converted response: its tag is weak as that one's, and nothing speaks of the upstream's own bytes"
    )
    func notModified() throws {
        try withRig([convertBack(), forward(index: 1)]) { rig in
            let client = try rig.connect(sending: getRequest)
            _ = try rig.request()
            let own = [
                "Digest: d", "Content-Type: application/json", "Content-Encoding: gzip", "Content-MD5: m",
                "Content-Length: 7",
            ]
            let fields = (own + ["Cache-Control: max-age=1"]).joined(separator: "\r\n")
            try rig.upstream().send("HTTP/1.1 304 Not Modified\r\nETag: \"v\"\r\n\(fields)\r\n\r\n")
            let response = try rig.response(to: client, .none)
            #expect(response.status == 304 && response["ETag"] == "W/\"v\"" && response["Cache-Control"] == "max-age=1")
            for field in own { #expect(response[String(field.prefix { $0 != ":" })] == nil, "\(field)") }
            #expect(client.rest.isEmpty)
            // To HEAD, too.
            client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try rig.request()
            try rig.upstream().send("HTTP/1.1 304 Not Modified\r\nETag: \"v\"\r\n\(fields)\r\n\r\n")
            let head = try rig.response(to: client, .none)
            for field in own { #expect(head[String(field.prefix { $0 != ":" })] == nil, "\(field)") }
        }
    }

    @Test("interim responses pass before a response that is held")
    func interim() throws {
        try withRig([convertBack()]) { rig in
            let client = try rig.connect(sending: getRequest)
            _ = try rig.request()
            try rig.upstream().send("HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n" + answer(body))
            let early = try rig.response(to: client, .none)
            #expect(early.status == 103 && early["Link"] == "<a>")
            #expect(try rig.response(to: client).text == converted)
        }
    }

    // MARK: Time and room

    @Test("a response of any size waits for a client that doesn't read, and reaches it whole")
    func slowClient() throws {
        let value = String(repeating: "v", count: 3_000_000)
        var limits = Limits()
        limits.field = 4_000_000
        limits.tree = 4_000_000
        try withRig([convertBack(limits: limits)], unix: true) { rig in
            let client = try rig.connect(sending: getRequest)
            client.pause()
            _ = try rig.request()
            try rig.upstream().send(answer(#"{"a":"\#(value)"}"#))
            rig.settle()
            client.resume()
            #expect(try rig.response(to: client).text == "a=\(value)")
            client.send(getRequest)
            _ = try rig.request()
            try rig.upstream().send(answer(#"{"a":1}"#))
            #expect(try rig.response(to: client).text == "a=1")
        }
    }

    /// A request of which the client sends all but 500 bytes, with its head at the upstream.
    private func halfUpload(in rig: ProxyRig) throws -> (request: String, client: RigPeer, upstream: RigPeer) {
        let request = post("/", "text/plain", String(repeating: "b", count: 1000))
        let client = try rig.connect(sending: String(request.dropLast(500)))
        let upstream = try rig.upstream()
        try rig.until("the head") { upstream.text.contains("\r\n\r\n") }
        return (request, client, upstream)
    }

    @Test("an answer before the upload's end is converted, and the upload goes on as for any other")
    func earlyAnswer() throws {
        try withRig([convertBack()]) { rig in
            let (request, client, upstream) = try halfUpload(in: rig)
            upstream.send(chunkedAnswer(body, chunk: 10, end: ""))
            rig.settle()
            #expect(client.received.isEmpty)
            client.send(String(request.suffix(500)))
            _ = try rig.request()
            upstream.send("0\r\n\r\n")
            let response = try rig.response(to: client)
            // The upload came to its end while the response was held, so the connection goes on.
            #expect(response.text == converted && response["Connection"] == nil)
            client.send(String(request.dropLast(500)))
            try rig.until("the head") { upstream.rest.count > 500 }
            upstream.send(answer(body))
            let early = try rig.response(to: client)
            #expect(early.text == converted && early["Connection"] == "close")
            client.send(String(request.suffix(500)))
            _ = try rig.request()
            try rig.until("the end") { client.isOver }
        }
    }

    @Test(
        "a connection that answered before it had the upload serves no other request, however long the conversion takes"
    )
    func earlyAnswerThatTakesTicks() throws {
        let value = String(repeating: "v", count: 3_000_000)
        var limits = Limits()
        limits.field = 4_000_000
        limits.tree = 4_000_000
        try withRig([convertBack(limits: limits)], unix: true) { rig in
            let (request, client, upstream) = try halfUpload(in: rig)
            client.pause()
            upstream.send(answer(#"{"a":"\#(value)"}"#))
            rig.settle()
            client.send(String(request.suffix(500)))
            _ = try rig.request()
            client.resume()
            #expect(try rig.response(to: client).text == "a=\(value)")
            try rig.until("the connection's end") { upstream.isOver }
        }
    }

    @Test("a drain lets a held response finish and says that the connection ends")
    func drain() throws {
        try withRig([convertBack()]) { rig in
            let client = try rig.connect(sending: getRequest)
            _ = try rig.request()
            let text = answer(body)
            try rig.upstream().send(String(text.dropLast(3)))
            rig.settle()
            var isDone = false
            rig.drain { isDone = true }
            rig.settle()
            #expect(!isDone)
            try rig.upstream().send(String(text.suffix(3)))
            let response = try rig.response(to: client)
            #expect(response.text == converted && response["Connection"] == "close")
            try rig.until("the drain's end") { isDone }
        }
    }
}
