import Proxy
import Testing
import Transcoding

/// How bodies are framed on the way up and on the way back.
@Suite struct BodyFramingTests {
    // MARK: Up

    @Test("F3 F7 a small converted body goes out with its length, in one write with its head")
    func smallConverted() throws {
        try withRig([convert(.form, .json)], unix: true) { rig in
            rig.answers = [ok]
            let client = try rig.connect(sending: post("/", formType, "a=1&b[]=2"))
            _ = try rig.response(to: client)
            // The upstream reads in every tick, so what was written in one tick but in two pieces came in one read too;
            // `smallConvertedInPieces` shows that nothing goes before the end.
            #expect(rig.upstreams[0].reads == 1)
            let text = rig.upstreams[0].text
            #expect(text.contains("Content-Length: 19\r\n"))
            #expect(text.hasSuffix("\r\n\r\n" + #"{"a":"1","b":["2"]}"#))
            #expect(!text.contains("Transfer-Encoding"))
        }
    }

    @Test("however a small converted body is cut, the upstream hears nothing before its end, and then a length")
    func smallConvertedInPieces() throws {
        try withRig([convert(.form, .json)]) { rig in
            let request = post("/", formType, "a=1&b=2")
            let client = try rig.connect()
            for byte in request.utf8.dropLast() {
                client.send([byte])
                rig.settle()
                #expect(rig.upstreams.isEmpty)
            }
            client.send([UInt8(ascii: "2")])
            let seen = try rig.request()
            #expect(seen["Content-Length"] == "17")
            #expect(seen.text == #"{"a":"1","b":"2"}"#)
            rig.upstreams[0].send(ok)
            #expect(try rig.response(to: client).status == 200)
        }
    }

    @Test("a small converted body that came in chunks goes out with its length")
    func smallConvertedFromChunks() throws {
        try withRig([convert(.json, .form)]) { rig in
            let (request, _, _) = try rig.exchange(
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "4\r\n{\"a\"\r\n7;x=y\r\n:[1,2]}\r\n0\r\nX-Trailer: 1\r\n\r\n")
            #expect(request["Content-Length"] == "19")
            #expect(request.text == "a%5B%5D=1&a%5B%5D=2")
            #expect(request["X-Trailer"] == nil)
        }
    }

    @Test("a converted body beyond 256 KiB that can't be padded is held until its length is known, and is whole")
    func largeConverted() throws {
        try withRig([convert(.json, .form)]) { rig in
            let value = String(repeating: "x", count: 900_000)
            let (request, _, _) = try rig.exchange(post("/", jsonType, #"{"a":"\#(value)"}"#))
            #expect(!request.isChunked)
            #expect(request["Content-Length"] == "900002")
            #expect(request.text == "a=" + value)
        }
    }

    /// Large files of a multipart body, with the fields around them.
    private func files(_ contents: [String]) -> String {
        contents.enumerated().map { number, content in
            "--x\r\nContent-Disposition: form-data; name=\"f\(number)\"; filename=\"n\"\r\nContent-Type: a/b\r\n\r\n\(content)\r\n"
                + "--x\r\nContent-Disposition: form-data; name=\"t\(number)\"\r\n\r\n\(number)\r\n"
        }.joined() + "--x--\r\n"
    }

    @Test("a file passes from multipart to multipart whole, however long its pieces are", arguments: ["POST", "PUT"])
    func passedFiles(method: String) throws {
        try withRig([convert(.multipart, .multipart)]) { rig in
            let line = "0123456789abcdef\r\n- 0123456789abcdef\r\n--"
            let contents = [30_000, 1, 1_700, 20_000].map { String(repeating: line, count: $0 / 4) }
            let body = "\r\n" + files(contents)
            let head = "\(method) / HTTP/1.1\r\nHost: a\r\nContent-Type: \(multipartType)\r\n"
            for framing in [
                "Content-Length: \(body.utf8.count)\r\n\r\n\(body)",
                "Transfer-Encoding: chunked\r\n\r\n\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n0\r\n\r\n",
            ] {
                let (request, response, _) = try rig.exchange(head + framing)
                #expect(request.isChunked == framing.hasPrefix("T") && response.status == 200)
                if request.isChunked { #expect(request.chunks.max() ?? 0 > 64 << 10) }
                let boundary = try #require(request["Content-Type"]?.split(separator: "boundary=").last)
                let expected = body.replacing("\r\n--x", with: "\r\n--\(boundary)").utf8.dropFirst(2)
                // As bytes: a difference would fill the screen.
                #expect(request.body.starts(with: expected))
                #expect(request.body.dropFirst(expected.count).allSatisfy { $0 == 13 || $0 == 10 || $0 == 32 })
                #expect(request.isChunked == (request.body.count == expected.count))
            }
        }
    }

    @Test("what is held of a body has its exact length, whatever it becomes of")
    func shortBodies() throws {
        for count in [400, 800] {
            try withRig([convert(.json, .multipart)]) { rig in
                let body = "{\"name\":[" + Array(repeating: "\"b\"", count: count).joined(separator: ",") + "]}"
                let (request, response, _) = try rig.exchange(post("/", jsonType, body))
                #expect(!request.isChunked && request.text.hasSuffix("--\r\n"))
                #expect(request.text.ranges(of: "name=\"name[]\"").count == count)
                #expect(request.body.count > count * 70 && response.status == 200)
            }
        }
    }

    @Test("a converted body around 256 KiB is whole, with a length", arguments: -2...2)
    func aroundTheHold(over: Int) throws {
        try withRig([convert(.json, .form)]) { rig in
            let value = String(repeating: "x", count: 256 << 10 - 2 + over)
            let (request, response, _) = try rig.exchange(post("/", jsonType, #"{"a":"\#(value)"}"#))
            #expect(request.text == "a=" + value && response.status == 200)
            #expect(!request.isChunked && rig.upstreams[0].text.hasSuffix("xx"))
        }
    }

    @Test("one that came in chunks is held up to 64 KiB", arguments: -1...1)
    func aroundTheHoldOfChunks(over: Int) throws {
        try withRig([convert(.json, .form)]) { rig in
            let value = String(repeating: "x", count: 64 << 10 - 2 + over)
            let body = #"{"a":"\#(value)"}"#
            let (request, response, _) = try rig.exchange(
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + String(body.utf8.count, radix: 16) + "\r\n\(body)\r\n0\r\n\r\n")
            #expect(request.text == "a=" + value && response.status == 200)
            #expect(request.isChunked == (over >= 0))
        }
    }

    @Test("a document that is read whole has its length, how long its written form may be")
    func wholeDocument() throws {
        try withRig([
            convert(
                .json, .form, plan: { $0.types = [TypeRule(path: FieldPath([.key(Array("n".utf8))]), type: .integer)] })
        ]) {
            rig in
            let texts = Array(repeating: "\"" + String(repeating: "é", count: 500) + "\"", count: 200).joined(
                separator: ",")
            let (request, response, _) = try rig.exchange(post("/", jsonType, "{\"n\":1,\"t\":[\(texts)]}"))
            #expect(!request.isChunked && response.status == 200)
            #expect(request.body.count > 600_000 && request.text.hasPrefix("n=1&t%5B%5D=%C3%A9"))
        }
    }

    @Test("F7 a plain body keeps its length, and its bytes")
    func plainLength() throws {
        try withRig { rig in
            for count in [1, 65_535, 65_536, 65_537, 200_000, 1_000_000] {
                let body = String(repeating: "b", count: count)
                let (request, response, client) = try rig.exchange(post("/", "text/plain", body))
                #expect(request["Content-Length"] == "\(count)")
                #expect(request["Transfer-Encoding"] == nil)
                #expect(request.body == Array(body.utf8))
                #expect(response.status == 200)
                client.close()
                rig.settle()
                rig.upstreams[rig.upstreams.count - 1].close()
                rig.settle()
            }
        }
    }

    @Test("a plain chunked body stays chunked; chunk extensions and trailers stay behind")
    func plainChunked() throws {
        try withRig { rig in
            let (request, _, _) = try rig.exchange(
                "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nX: 1\r\n\r\n"
            )
            #expect(request.isChunked)
            #expect(request["Content-Length"] == nil)
            #expect(request.text == "abcde")
            #expect(!rig.upstreams[0].text.contains("a=b"))
            #expect(!rig.upstreams[0].text.contains("X: 1"))
            let empty = try rig.exchange("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
            #expect(empty.request.isChunked)
            #expect(empty.request.body.isEmpty)
        }
    }

    @Test("a GET on a converting route is forwarded untouched")
    func getOnConvertingRoute() throws {
        try withRig([convert(.form, .json)]) { rig in
            let (request, _, _) = try rig.exchange("GET /x?a=1 HTTP/1.1\r\nHost: a\r\nRange: bytes=0-1\r\n\r\n")
            #expect(request.startLine == "GET /x?a=1 HTTP/1.1")
            #expect(request["Range"] == "bytes=0-1")
            #expect(request["Content-Length"] == nil)
            #expect(request["Content-Type"] == nil)
        }
    }

    // MARK: Back

    private func get(_ version: String = "1.1", _ method: String = "GET") -> String {
        "\(method) / HTTP/\(version)\r\nHost: a\r\n\r\n"
    }

    @Test("a response with a length keeps it, for HTTP/1.1 and 1.0", arguments: ["1.1", "1.0"])
    func responseLength(version: String) throws {
        try withRig { rig in
            let (_, response, client) = try rig.exchange(get(version), answer: ok)
            #expect(response.startLine == "HTTP/1.1 200 OK")
            #expect(response["Content-Length"] == "2")
            #expect(response.text == "ok")
            #expect(response["Connection"] == (version == "1.1" ? nil : "close"))
            rig.settle()
            #expect(client.isOver == (version == "1.0"))
        }
    }

    @Test("a chunked response stays chunked for HTTP/1.1")
    func responseChunked() throws {
        try withRig { rig in
            let (_, response, client) = try rig.exchange(
                get(), answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n")
            #expect(response.isChunked)
            #expect(response.text == "abcde")
            rig.settle()
            #expect(!client.isOver)
        }
    }

    @Test("F8 a chunked response is framed by the connection's end for HTTP/1.0")
    func responseChunkedToOldClient() throws {
        try withRig { rig in
            let (_, response, client) = try rig.exchange(
                get("1.0"), answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
                .untilClose)
            #expect(response["Transfer-Encoding"] == nil)
            #expect(response["Content-Length"] == nil)
            #expect(response["Connection"] == "close")
            #expect(response.text == "ab")
            #expect(client.hasEnded && client.failure == nil)
        }
    }

    @Test("F8 a response until the connection's end is chunked for HTTP/1.1, and stays what it is for 1.0")
    func responseUntilClose() throws {
        for version in ["1.1", "1.0"] {
            try withRig { rig in
                let client = try rig.connect(sending: get(version))
                _ = try rig.request()
                rig.upstreams[0].send("HTTP/1.1 200 OK\r\n\r\nab")
                rig.settle()
                #expect(!client.isOver)
                rig.upstreams[0].send("cd")
                rig.upstreams[0].close()
                let response = try rig.response(to: client, version == "1.1" ? .framed : .untilClose)
                #expect(response.isChunked == (version == "1.1"))
                #expect(response.text == "abcd")
                #expect(client.failure == nil)
            }
        }
    }

    @Test("bytes of a response are passed on as they come, its head before there is any")
    func responseStreams() throws {
        try withRig { rig in
            let client = try rig.connect(sending: get())
            _ = try rig.request()
            rig.upstreams[0].send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n")
            try rig.until("the head") { client.text.hasSuffix("\r\n\r\n") }
            rig.upstreams[0].send("ab")
            try rig.until("the first half") { client.text.hasSuffix("\r\n\r\nab") }
            rig.upstreams[0].send("cd")
            #expect(try rig.response(to: client).text == "abcd")
        }
    }

    @Test("F8 F9 the answer to HEAD has the length of GET's and no body, and the connections go on")
    func head() throws {
        try withRig { rig in
            let (request, response, client) = try rig.exchange(
                get("1.1", "HEAD"), answer: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", .none)
            #expect(request.startLine.hasPrefix("HEAD "))
            #expect(response["Content-Length"] == "5")
            client.send(get())
            _ = try rig.request()
            rig.upstreams[0].send(ok)
            #expect(try rig.response(to: client).text == "ok")
            #expect(rig.upstreams.count == 1)
        }
    }

    @Test("F9 204 and 304 have no body whatever their fields say, and the connections go on", arguments: [204, 304])
    func noContent(status: Int) throws {
        try withRig { rig in
            let length = status == 304 ? "Content-Length: 5\r\n" : ""
            let (_, response, client) = try rig.exchange(
                get(), answer: "HTTP/1.1 \(status) X\r\n\(length)ETag: e\r\n\r\n", .none)
            #expect(response.status == status)
            #expect(response["ETag"] == "e")
            #expect(response["Content-Length"] == nil)
            #expect(response["Transfer-Encoding"] == nil)
            try goesOn(client, of: rig, connections: 1)
        }
    }

    @Test(
        "F9 a 205 has no body whatever its fields say, and only one that says so leaves a connection that can go on",
        arguments: [
            ("Content-Length: 0", 1), ("Content-Length: 5", 2), ("Transfer-Encoding: chunked", 2), ("ETag: e", 2),
        ])
    func resetContent(field: String, connections: Int) throws {
        try withRig { rig in
            let (_, response, client) = try rig.exchange(get(), answer: "HTTP/1.1 205 X\r\n\(field)\r\n\r\n")
            #expect(response.status == 205)
            #expect(response["Content-Length"] == "0")
            try goesOn(client, of: rig, connections: connections)
        }
    }

    @Test(
        "F9 a 204 that frames content leaves no connection that can go on",
        arguments: [
            ("Content-Length: 0", 1), ("ETag: e", 1), ("Content-Length: 5", 2), ("Transfer-Encoding: chunked", 2),
        ])
    func noContent(field: String, connections: Int) throws {
        try withRig { rig in
            let (_, response, client) = try rig.exchange(get(), answer: "HTTP/1.1 204 X\r\n\(field)\r\n\r\n", .none)
            #expect(response.status == 204)
            try goesOn(client, of: rig, connections: connections)
        }
    }

    /// The client's next request is answered, over the last of so many connections to the upstream.
    private func goesOn(_ client: RigPeer, of rig: ProxyRig, connections: Int) throws {
        client.send(get())
        _ = try rig.request(on: connections - 1)
        rig.upstreams[connections - 1].send(ok)
        #expect(try rig.response(to: client).text == "ok")
        #expect(rig.upstreams.count == connections)
    }

    @Test("F1 F26 hop-by-hop fields of a response stay behind, Date is added where there is none, the rest passes")
    func responseFields() throws {
        try withRig { rig in
            let (_, response, _) = try rig.exchange(
                get(),
                answer: "HTTP/1.1 201 Made It\r\nConnection: x-a\r\nX-A: 1\r\nKeep-Alive: x\r\nSet-Cookie: a\r\n"
                    + "Set-Cookie: b\r\nServer: s\r\nContent-Length: 0\r\n\r\n")
            #expect(response.startLine == "HTTP/1.1 201 Made It")
            #expect(response["X-A"] == nil)
            #expect(response["Keep-Alive"] == nil)
            #expect(response["Connection"] == nil)
            #expect(response["Set-Cookie"] == "a|b")
            #expect(response["Server"] == "s")
            #expect(response["Date"]?.hasSuffix(" GMT") == true)
        }
    }

    @Test(
        "F1 a response keeps what is for all who get it, whatever its Connection says, which isn't used again")
    func protectedResponseFields() throws {
        let fields = [
            "Set-Cookie": "a", "Content-Type": "text/plain", "Cache-Control": "no-store", "Vary": "Origin",
            "ETag": "\"a\"", "Location": "/a", "Content-Encoding": "gzip", "Date": "Mon, 30 Nov 2026 22:00:00 GMT",
        ]
        for (name, value) in fields {
            try withRig { rig in
                let (_, response, _) = try rig.exchange(
                    get(),
                    answer: "HTTP/1.1 200 OK\r\nConnection: \(name.lowercased()), x-a\r\nX-A: 1\r\n"
                        + "\(name): \(value)\r\nContent-Length: 2\r\n\r\nok")
                #expect(response["X-A"] == nil)
                #expect(response[name] == value)
                try rig.until("its end") { rig.upstreams[0].hasEnded }
            }
        }
    }

    @Test("F30 statuses beyond 599 pass, those below 100 are a 502 that says so", arguments: [600, 999, 0, 99])
    func unusualStatus(_ status: Int) throws {
        try withRig { rig in
            let digits = String(String(1000 + status).dropFirst())
            let (_, response, _) = try rig.exchange(
                get(), answer: "HTTP/1.1 \(digits) Denied\r\nContent-Length: 2\r\n\r\nok")
            if status < 100 {
                #expect(response.status == 502)
                #expect(response.text.contains("can't be read: the status is less than 100"))
            } else {
                #expect(response.startLine == "HTTP/1.1 \(status) Denied")
                #expect(response.text == "ok")
            }
        }
    }

    @Test(
        "The answer to what can't be read of an upstream's field names the field",
        arguments: ["X-Note: a\u{1}b", "X-Note: \u{7F}", "X-Note: \(String(repeating: "a", count: 20_000))"])
    func namedField(_ line: String) throws {
        try withRig { rig in
            let (_, response, _) = try rig.exchange(
                get(), answer: "HTTP/1.1 200 OK\r\nX-A: b\r\n\(line)\r\nContent-Length: 2\r\n\r\nok")
            #expect(response.status == 502)
            #expect(response.text.contains(": X-Note\""))
        }
    }

    @Test("F10 interim responses pass to HTTP/1.1, but not 100, and none to 1.0", arguments: ["1.1", "1.0"])
    func interim(version: String) throws {
        try withRig { rig in
            let client = try rig.connect(sending: get(version))
            _ = try rig.request()
            rig.upstreams[0].send(
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\nConnection: y\r\n\r\n" + ok)
            try rig.until("the answer") { client.text.hasSuffix("ok") }
            #expect(!client.text.contains("HTTP/1.1 100"))
            #expect(
                client.text.hasPrefix(version == "1.1" ? "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" : "HTTP/1.1 200")
            )
        }
    }
}
