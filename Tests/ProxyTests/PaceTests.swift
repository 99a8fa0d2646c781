import EventLoop
import Gateway
import Testing
import Transcoding

@testable import Proxy

/// How fast bodies must and may flow, and how long an exchange may take. The times are short; the bounds on them are not.
@Suite struct PaceTests {
    private let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

    private func paced(
        _ change: (inout RateOptions) -> Void, timeouts: (inout RouteTimeouts) -> Void = { _ in },
        request: RequestRule = .forward
    ) -> Route {
        var options = RouteOptions()
        change(&options.rate)
        var times = RouteTimeouts()
        timeouts(&times)
        guard let path = try? PathPattern(parsing: "/*") else { preconditionFailure("a bad path") }
        return Route(
            index: 0, name: "r0", match: RouteMatch(path: path), upstream: 0, timeouts: times, request: request,
            options: options)
    }

    /// Lets `time` pass: for what must not happen within it.
    private func pass(_ time: Duration, _ rig: ProxyRig) throws {
        var isOver = false
        let timer = Timer(loop: rig.loop) { isOver = true }
        timer.set(after: time.nanoseconds)
        try rig.until("\(time) have passed") { isOver }
    }

    // MARK: At least

    @Test("R39: a body that comes too slowly: 408, and the upstream's request is aborted", arguments: [true, false])
    func slowBody(converted: Bool) throws {
        let plan = RequestRule.convert(
            ConversionPlan(inputs: [.form], output: .json), otherTypes: .reject, sources: [])
        let route = paced(
            { rate in
                rate.minimumRequest = 10_000
                rate.grace = .milliseconds(100)
            }, request: converted ? plan : .forward)
        try withRig([route]) { rig in
            let client = try rig.connect(sending: String(post("/", formType, "a=1&b=2").dropLast(4)))
            // The gap never gets long: it is the rate that is too low.
            var sent = 0
            let timer = Timer(loop: rig.loop) {}
            timer.set(after: 30_000_000)
            try rig.until("an answer") {
                if !timer.isSet, sent < 3 {
                    client.send("x")
                    sent += 1
                    timer.set(after: 30_000_000)
                }
                return client.has()
            }
            let response = try rig.response(to: client)
            #expect(response.status == 408 && response.text.contains(#""code":"body_too_slow""#))
            #expect(response["Connection"] == "close")
            try rig.until("the end") { client.isOver && rig.upstreams.allSatisfy(\.isOver) }
            #expect(rig.upstreams.count == (converted ? 0 : 1) && !rig.upstreams.contains { $0.has() })
            #expect(rig.worker.counters.admission.count(of: .bodyRate) == 1)
            #expect(try rig.logLines().first?["flags"] as? String == "CT")
        }
    }

    @Test("time in which the upstream holds the body back doesn't count as the client's")
    func heldBody() throws {
        let route = paced {
            $0.minimumRequest = 1_000_000
            $0.grace = .milliseconds(200)
        }
        try withRig([route], unix: true) { rig in
            rig.upstreamIsPaused = true
            let body = String(repeating: "b", count: 3_000_000)
            let client = try rig.connect(sending: post("/", "text/plain", body))
            let upstream = try rig.upstream()
            rig.settle()
            #expect(client.queued > 0)
            try pass(.milliseconds(600), rig)
            #expect(!client.isOver && !client.has())
            upstream.resume()
            #expect(try rig.request().body.count == body.count)
            upstream.send(ok)
            #expect(try rig.response(to: client).status == 200)
            #expect(rig.worker.counters.admission.count(of: .bodyRate) == 0)
        }
    }

    @Test("a client that takes a response too slowly is cut, long before its time without progress is over")
    func slowClient() throws {
        let route = paced {
            $0.minimumResponse = 10_000_000
            $0.grace = .milliseconds(100)
        }
        try withRig([route], unix: true) { rig in
            let client = try rig.connect(sending: get)
            client.pause()
            _ = try rig.request()
            rig.upstreams[0].send("HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n")
            rig.upstreams[0].send(String(repeating: "a", count: 3_000_000))
            try rig.until("the exchange is given up") { rig.upstreams[0].isOver }
            #expect(rig.worker.counters.admission.count(of: .responseRate) == 1)
            #expect(rig.worker.counters.admission.count(of: .write) == 0)
            #expect(try rig.logLines().first?["flags"] as? String == "CS")
        }
    }

    @Test("a client that reads now and then isn't cut, though it takes several times its time without progress")
    func steadyClient() throws {
        let route = paced {
            $0.minimumResponse = 1_000
            $0.grace = .milliseconds(900)
        }
        try withRig([route], unix: true) { settings in
            settings.client.write = .milliseconds(800)
        } _: { rig in
            let client = try rig.connect(sending: get)
            client.pause()
            _ = try rig.request()
            rig.upstreams[0].send("HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n")
            rig.upstreams[0].send(String(repeating: "a", count: 3_000_000))
            // One read of the loop is far more than the rate asks for, and far less than all.
            var looks = 0
            let timer = Timer(loop: rig.loop) {}
            try rig.until("five reads") {
                if !timer.isSet {
                    let before = client.reads
                    client.resume()
                    while client.reads == before, !client.isOver {
                        rig.loop.stop()
                        rig.loop.run()
                    }
                    client.pause()
                    looks += 1
                    timer.set(after: 300_000_000)
                }
                return looks == 5 || client.isOver
            }
            #expect(!client.isOver)
            client.resume()
            #expect(try rig.response(to: client).body.count == 3_000_000)
        }
    }

    // MARK: At most

    @Test("an upload goes as fast as the route says, and isn't too slow for that", arguments: [true, false])
    func slowedUpload(converted: Bool) throws {
        let plan = RequestRule.convert(
            ConversionPlan(inputs: [.form], output: .json), otherTypes: .reject, sources: [])
        let route = paced(
            { rate in
                rate.request = 10_000
                rate.minimumRequest = 1_000_000
                rate.grace = .milliseconds(50)
            }, timeouts: { $0.bodyGap = .milliseconds(60) }, request: converted ? plan : .forward)
        try withRig([route]) { rig in
            let body = "a=" + String(repeating: "b", count: 6_000)
            let start = rig.loop.now
            let client = try rig.connect(sending: post("/", formType, body))
            let seen = try rig.request()
            // At most two bursts of 1 KiB come at once; the rest takes its time.
            #expect(rig.loop.now - start > 250_000_000)
            #expect(seen.text == (converted ? #"{"a":"\#(body.dropFirst(2))"}"# : body))
            rig.upstreams[0].send(ok)
            #expect(try rig.response(to: client).status == 200)
            #expect(rig.worker.counters.admission.count(of: .bodyRate) == 0)
        }
    }

    @Test("what is slowed down waits with the client, not here")
    func slowedUploadIsNotGathered() throws {
        try withRig([paced { $0.request = 1000 }], unix: true) { rig in
            let client = try rig.connect(sending: post("/", "text/plain", String(repeating: "b", count: 4_000_000)))
            let upstream = try rig.upstream()
            try rig.until("some of it") { upstream.received.count > 1500 }
            #expect(upstream.received.count < 6_000)
            // The loop's buffer and the system's.
            #expect(client.sent < 1_000_000)
        }
    }

    @Test(
        "a response goes as fast as the route says, and arrives whole, however its end is told",
        arguments: ["Content-Length: 30000", "Transfer-Encoding: chunked", "Connection: close"])
    func slowedResponse(framing: String) throws {
        try withRig([paced { $0.response = 50_000 }]) { rig in
            let client = try rig.connect(sending: get)
            _ = try rig.request()
            let body = (0..<30_000).map { _ in UInt8.random(in: .min ... .max) }
            let start = rig.loop.now
            rig.upstreams[0].send("HTTP/1.1 200 OK\r\n\(framing)\r\n\r\n")
            if framing.hasPrefix("Transfer") { rig.upstreams[0].send("7530\r\n") }
            rig.upstreams[0].send(body)
            if framing.hasPrefix("Transfer") { rig.upstreams[0].send("\r\n0\r\n\r\n") }
            if framing.hasPrefix("Connection") {
                // What the system hasn't taken would go with the stream.
                try rig.until("all of it is sent") { rig.upstreams[0].queued == 0 }
                rig.upstreams[0].close()
            }
            #expect(try rig.response(to: client).body == body)
            #expect(rig.loop.now - start > 250_000_000)
        }
    }

    @Test("one direction's rate is not the other's")
    func otherDirection() throws {
        try withRig([paced { $0.response = 1 }]) { rig in
            let client = try rig.connect(sending: post("/", "text/plain", String(repeating: "b", count: 500_000)))
            #expect(try rig.request().body.count == 500_000)
            rig.upstreams[0].send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1")
            #expect(try rig.response(to: client).text == "1")
        }
    }

    @Test("a client that leaves while it is slowed down leaves nothing behind", arguments: [true, false])
    func leaving(resets: Bool) throws {
        try withRig([paced { $0.request = 1000 }]) { rig in
            let client = try rig.connect(sending: post("/", "text/plain", String(repeating: "b", count: 4_000)))
            let upstream = try rig.upstream()
            try rig.until("some of it") { upstream.received.count > 500 }
            if resets {
                client.reset()
                try rig.until("the upload is cut") { upstream.isOver }
                #expect(!upstream.has())
            } else {
                // All of the request has been sent: it is served.
                client.halfClose()
                #expect(try rig.request().body.count == 4_000)
                upstream.send(ok)
                #expect(try rig.response(to: client).status == 200)
                try rig.until("the end") { client.isOver }
            }
        }
    }

    @Test("half an upload and a FIN, while it is slowed down, is no whole one")
    func cutWhileSlow() throws {
        try withRig([paced { $0.request = 2000 }]) { rig in
            let client = try rig.connect(sending: String(post("/", "text/plain", text(4_000)).dropLast(100)))
            client.halfClose()
            let upstream = try rig.upstream()
            try rig.until("the upload is cut") { upstream.isOver }
            #expect(!upstream.has())
            try rig.until("the client's connection, too") { client.isOver }
        }
    }

    // MARK: The whole exchange

    @Test("an upload that takes longer than the exchange may: 408; an answer that does: 504, or a cut")
    func deadline() throws {
        let route = paced({ _ in }, timeouts: { $0.request = .milliseconds(60) })
        try withRig([route]) { rig in
            let client = try rig.connect(sending: String(post("/", "text/plain", "abc").dropLast()))
            let response = try rig.response(to: client)
            #expect(response.status == 408 && response.text.contains(#""code":"request_timeout""#))
            try rig.until("the end") { client.isOver && rig.upstreams.allSatisfy(\.isOver) }
            let other = try rig.connect(sending: get)
            let late = try rig.response(to: other)
            #expect(late.status == 504 && late.text.contains("request_timeout"))
            let third = try rig.connect(sending: get)
            let upstream = try rig.upstream(2)
            upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab")
            try rig.until("the cut") { third.isOver }
            #expect(third.text.hasSuffix("ab"))
            #expect(rig.worker.counters.admission.count(of: .request) == 3)
            // The upload that wasn't whole is nobody's fault but the client's.
            #expect(rig.worker.current.pools[0].tally.timeouts == 1)
            let lines = try rig.logLines()
            #expect(lines.map { $0["flags"] as? String } == ["CT", "UT", "UT"])
            #expect(lines.map { $0["code"] as? String } == Array(repeating: "request_timeout", count: 3))
        }
    }

    @Test("an exchange that is in time leaves no deadline for the next one on its connection")
    func deadlineMet() throws {
        let route = paced({ _ in }, timeouts: { $0.request = .milliseconds(150) })
        try withRig([route]) { rig in
            rig.answers = [ok, ok]
            let client = try rig.connect(sending: get)
            #expect(try rig.response(to: client).status == 200)
            try pass(.milliseconds(250), rig)
            client.send(get)
            #expect(try rig.response(to: client).status == 200)
        }
    }

    // MARK: Slow heads and fast ones

    @Test("R39: a head byte by byte has the time of a head, not that of each byte")
    func slowHead() throws {
        try withRig { settings in
            settings.client.header = .milliseconds(150)
        } _: { rig in
            let client = try rig.connect(sending: "G")
            let timer = Timer(loop: rig.loop) {}
            try rig.until("an answer") {
                if !timer.isSet, !client.isOver {
                    client.send("E")
                    timer.set(after: 10_000_000)
                }
                return client.has() || client.isOver
            }
            #expect(try rig.response(to: client).status == 408)
            #expect(rig.worker.counters.admission.count(of: .head) == 1)
        }
    }

    @Test("F22 a thousand requests in one segment are answered in their order")
    func pipelined() throws {
        try withRig { settings in
            settings.upstreams[0].requestsPerConnection = 10_000
        } _: { rig in
            let numbers = Array(1000..<2000)
            rig.answers = numbers.map { "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\($0)" }
            let client = try rig.connect(sending: String(repeating: get, count: numbers.count))
            for number in numbers { #expect(try rig.response(to: client).text == "\(number)") }
            #expect(rig.upstreams.count == 1)
        }
    }

    @Test("thousands of requests at once, all refused, leave other connections their turn")
    func fairness() throws {
        try withRig([forward("/a")]) { rig in
            let hog = try rig.connect()
            let other = try rig.connect()
            rig.settle()
            let count = 5_000
            hog.send(String(repeating: get, count: count))
            other.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
            try rig.until("the other's request") { rig.upstreams.first?.has() == true }
            #expect(hog.text.split(separator: "HTTP/1.1 404").count < count / 2)
            var answers = 0
            try rig.until("all answers") {
                while let message = hog.take() {
                    #expect(message.status == 404)
                    answers += 1
                }
                return answers == count
            }
        }
    }
}

private func text(_ count: Int) -> String { String(repeating: "x", count: count) }
