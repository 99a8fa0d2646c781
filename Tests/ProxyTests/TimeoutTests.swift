import EventLoop
import Gateway
import Proxy
import Testing
import Transcoding

/// Every phase has its time, and an end when that is over. The times are short; nothing here depends on how short.
@Suite struct TimeoutTests {
    private let short = Duration.milliseconds(40)
    private let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

    @Test(
        "a head that doesn't end: 408, whatever of it has come",
        arguments: ["G", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: a\r\n"])
    func head(sent: String) throws {
        try withRig { settings in
            settings.client.header = short
        } _: { rig in
            let client = try rig.connect(sending: sent)
            let response = try rig.response(to: client)
            #expect(response.status == 408)
            #expect(response.text.contains("head_timeout"))
            #expect(response["Connection"] == "close")
            try rig.until("the end") { client.isOver }
            #expect(rig.upstreams.isEmpty)
            let line = try #require(try rig.logLines().first)
            #expect(line["status"] as? Int == 408)
            #expect(line["flags"] as? String == "CT")
        }
    }

    @Test("a connection that never sends a byte is closed without a word")
    func silent() throws {
        try withRig { settings in
            settings.client.header = short
        } _: { rig in
            let client = try rig.connect()
            try rig.until("the end") { client.isOver }
            #expect(client.received.isEmpty)
            #expect(try rig.logLines().isEmpty)
        }
    }

    @Test("a connection that sends no next request is closed without a word")
    func keepAlive() throws {
        try withRig { settings in
            settings.client.keepAlive = short
        } _: { rig in
            let (_, _, client) = try rig.exchange(get)
            try rig.until("the end") { client.isOver }
            #expect(client.failure == nil && client.rest.isEmpty)
        }
    }

    @Test("R39 a body that stops arriving: 408, and the upstream's request is aborted", arguments: [true, false])
    func body(converted: Bool) throws {
        let short = short
        let route = converted ? convert(.form, .json) { $0.bodyGap = short } : forward { $0.bodyGap = short }
        try withRig([route]) { rig in
            let client = try rig.connect(sending: String(post("/", formType, "a=1&b=2").dropLast()))
            let response = try rig.response(to: client)
            #expect(response.status == 408)
            #expect(response.text.contains("body_timeout"))
            #expect(response["Connection"] == "close")
            try rig.until("the end") { client.isOver && rig.upstreams.allSatisfy(\.isOver) }
            #expect(rig.upstreams.count == (converted ? 0 : 1))
            #expect(!rig.upstreams.contains { $0.has() })
            #expect(try rig.logLines().first?["flags"] as? String == "CT")
        }
    }

    @Test("a body that stops arriving behind an early answer: the answer goes on to its end")
    func bodyBehindAnswer() throws {
        let short = short
        try withRig([forward { $0.bodyGap = short }]) { rig in
            let client = try rig.connect(sending: String(post("/", "text/plain", "0123456789").dropLast(5)))
            let upstream = try rig.upstream()
            try rig.until("part of the request") { upstream.text.hasSuffix("01234") }
            upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf")
            let start = rig.loop.now
            try rig.until("the body's time is over") { rig.loop.now - start > 120_000_000 }
            #expect(client.text.hasSuffix("half") && !client.isOver)
            // What comes now is wanted by no one.
            client.send("567")
            upstream.send("more")
            let response = try rig.response(to: client)
            #expect(response.text == "halfmore" && response["Connection"] == "close")
            try rig.until("the end") { client.isOver && upstream.isOver }
            #expect(client.failure == nil && client.rest.isEmpty && upstream.text.hasSuffix("01234"))
            let line = try #require(try rig.logLines().first)
            #expect(line["status"] as? Int == 200 && line["flags"] as? String == "CT")
        }
    }

    @Test("a body that stops arriving behind a whole answer: the rest of it is cut, and the log says why")
    func bodyBehindWholeAnswer() throws {
        let short = short
        try withRig([forward { $0.bodyGap = short }]) { rig in
            let client = try rig.connect(sending: String(post("/", "text/plain", "0123456789").dropLast(5)))
            let upstream = try rig.upstream()
            try rig.until("part of the request") { upstream.text.hasSuffix("01234") }
            upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            let response = try rig.response(to: client)
            #expect(response.text == "ok" && response["Connection"] == "close")
            try rig.until("the end") { client.isOver && upstream.isOver }
            #expect(upstream.text.hasSuffix("01234"))
            let line = try #require(try rig.logLines().first)
            #expect(line["status"] as? Int == 200 && line["flags"] as? String == "CT")
            #expect(line["code"] as? String == "body_timeout")
        }
    }

    @Test("a client that sends and doesn't read is held to its time for reading, also when its request is whole")
    func sendsButNeverReads() throws {
        try withRig([forward()], unix: true) { settings in
            settings.client.write = .milliseconds(400)
        } _: { rig in
            let client = try rig.connect(paused: true)
            let request = post("/", "text/plain", String(repeating: "b", count: 2_000))
            client.send(String(request.dropLast(1_000)))
            let upstream = try rig.upstream()
            try rig.until("part of the request") { upstream.received.count > 1_000 }
            // An early answer, of which more waits than may.
            upstream.send(
                "HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n" + String(repeating: "a", count: 3_000_000))
            rig.settle()
            #expect(upstream.queued > 0)
            client.send(String(request.suffix(1_000).prefix(500)))
            try rig.until("more of the request") {
                upstream.text.hasSuffix("\r\n\r\n" + String(repeating: "b", count: 1_500))
            }
            client.send(String(request.suffix(500)))
            try rig.until("the upload is whole") { upstream.has() }
            try rig.until("the exchange is given up") { upstream.isOver }
            #expect(try rig.logLines().first?["flags"] as? String == "CS")
        }
    }

    @Test("an upstream that doesn't answer: 504, and its connection is closed")
    func firstByte() throws {
        let short = short
        try withRig([forward { $0.firstByte = short }]) { rig in
            let client = try rig.connect(sending: get)
            let response = try rig.response(to: client)
            #expect(response.status == 504)
            #expect(response.text.contains("upstream_timeout"))
            try rig.until("the upstream's connection ends") { rig.upstreams[0].isOver }
            #expect(!client.isOver)
            #expect(try rig.logLines().first?["flags"] as? String == "UT")
        }
    }

    @Test("an upstream that stops in its head: 504")
    func inHead() throws {
        let short = short
        try withRig([forward { $0.firstByte = short }]) { rig in
            let client = try rig.connect(sending: get)
            _ = try rig.request()
            rig.upstreams[0].send("HTTP/1.1 200 OK\r\n")
            #expect(try rig.response(to: client).status == 504)
        }
    }

    @Test("an upstream that stops in its body: the client is cut and sees no end of the body")
    func gap() throws {
        let short = short
        try withRig([forward { $0.gap = short }]) { rig in
            let client = try rig.connect(sending: get)
            _ = try rig.request()
            rig.upstreams[0].send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
            try rig.until("the end") { client.isOver && rig.upstreams[0].isOver }
            #expect(client.text.contains("half"))
            #expect(!client.has())
            #expect(try rig.logLines().first?["flags"] as? String == "UT")
        }
    }
}
