import EventLoop
import Proxy
import Testing

/// The orderly end: `Worker.drain`.
@Suite struct DrainTests {
    private let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

    @Test("with no connection, draining is over at once")
    func empty() throws {
        try withRig { rig in
            var calls = 0
            rig.drain { calls += 1 }
            #expect(calls == 1)
        }
    }

    @Test("idle connections are closed, an exchange in flight ends with Connection: close, and then it is over, once")
    func inFlight() throws {
        try withRig { rig in
            let (_, _, idle) = try rig.exchange(get)
            let busy = try rig.connect(sending: get)
            _ = try rig.request()
            let silent = try rig.connect()
            rig.settle()
            var calls = 0
            rig.drain { calls += 1 }
            try rig.until("idle connections are closed") { idle.isOver && silent.isOver }
            rig.settle()
            #expect(calls == 0 && !busy.isOver)
            #expect(idle.failure == nil && silent.failure == nil)
            #expect(throws: (any Error).self) { try rig.connect() }
            rig.upstreams[0].send(ok)
            let response = try rig.response(to: busy)
            #expect(response.text == "ok")
            #expect(response["Connection"] == "close")
            try rig.until("it is over") { busy.isOver && calls > 0 }
            rig.settle()
            #expect(calls == 1)
        }
    }

    @Test("a request whose head had begun is still served, and so is one that is refused")
    func begunHead() throws {
        try withRig([forward("/a")]) { rig in
            let first = try rig.connect(sending: "GET /a HTTP/1.1\r\n")
            let second = try rig.connect(sending: "GET /b HTTP/1.1\r\n")
            rig.settle()
            var calls = 0
            rig.drain { calls += 1 }
            rig.settle()
            #expect(calls == 0)
            first.send("Host: a\r\n\r\n")
            second.send("Host: a\r\n\r\n")
            _ = try rig.request()
            rig.upstreams[0].send(ok)
            for (client, status) in [(first, 200), (second, 404)] {
                let response = try rig.response(to: client)
                #expect(response.status == status)
                #expect(response["Connection"] == "close")
            }
            try rig.until("it is over") { calls == 1 }
        }
    }

    @Test("a response that had begun goes to its end, and the connection is closed after it")
    func begunResponse() throws {
        try withRig { rig in
            let client = try rig.connect(sending: get)
            _ = try rig.request()
            rig.upstreams[0].send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
            try rig.until("half of it") { client.text.hasSuffix("ab") }
            var calls = 0
            rig.drain { calls += 1 }
            rig.settle()
            rig.upstreams[0].send("cd")
            #expect(try rig.response(to: client).text == "abcd")
            try rig.until("it is over") { client.isOver && calls == 1 }
        }
    }

    @Test("an answer that promised more is followed by a next request, whose answer is the last")
    func promised() throws {
        try withRig { settings in
            settings.lifecycle.drainIdle = .seconds(20)
        } _: { rig in
            let client = try rig.connect(sending: get)
            _ = try rig.request()
            rig.upstreams[0].send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
            try rig.until("half of it") { client.text.hasSuffix("ab") }
            var calls = 0
            rig.drain { calls += 1 }
            rig.upstreams[0].send("cd")
            #expect(try rig.response(to: client)["Connection"] != "close")
            rig.settle()
            #expect(!client.isOver && calls == 0)
            client.send(get)
            _ = try rig.request()
            rig.upstreams[0].send(ok)
            #expect(try rig.response(to: client)["Connection"] == "close")
            try rig.until("it is over") { client.isOver && calls == 1 }
        }
    }

    @Test("a request that has arrived when its connection is to be closed is served")
    func atTheMoment() throws {
        try withRig { settings in
            settings.lifecycle.drainIdle = .zero
        } _: { rig in
            let (_, _, client) = try rig.exchange(get)
            rig.settle()
            client.send(get)
            rig.drain {}
            _ = try rig.request()
            rig.upstreams[0].send(ok)
            let response = try rig.response(to: client)
            #expect(response.status == 200 && response["Connection"] == "close")
        }
    }

    @Test("who had connected before the drain is accepted and served")
    func accepted() throws {
        try withRig { settings in
            settings.lifecycle.drainIdle = .seconds(20)
        } _: { rig in
            // The loop has not turned since: the connection waits in the listener's queue.
            let client = try rig.connect()
            client.send(get)
            rig.drain {}
            _ = try rig.request()
            rig.upstreams[0].send(ok)
            #expect(try rig.response(to: client).status == 200)
        }
    }

    @Test("after the grace period it is over whatever is in flight, once")
    func grace() throws {
        try withRig { settings in
            settings.grace = .milliseconds(40)
        } _: { rig in
            let client = try rig.connect(sending: get)
            _ = try rig.request()
            var calls = 0
            rig.drain { calls += 1 }
            try rig.until("it is over") { calls == 1 }
            client.close()
            rig.settle()
            #expect(calls == 1)
        }
    }

    @Test(
        "what the grace time cuts is logged with what the client had of it: the status of a head, else 503",
        arguments: [
            ("nothing", "", 503), ("an interim response", "HTTP/1.1 103 Early Hints\r\n\r\n", 503),
            ("a head", "HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\n", 201),
            ("half of a body", "HTTP/1.1 203 So So\r\nContent-Length: 4\r\n\r\nab", 203),
        ])
    func cutOff(name: String, answer: String, status: Int) throws {
        try withRig { settings in
            settings.grace = .milliseconds(40)
        } _: { rig in
            let client = try rig.connect(sending: get)
            _ = try rig.request()
            if !answer.isEmpty {
                rig.upstreams[0].send(answer)
                try rig.until(name) { client.text.hasSuffix(answer.suffix(2)) }
            }
            var calls = 0
            rig.drain { calls += 1 }
            try rig.until("it is over") { calls == 1 }
            let lines = try rig.logLines()
            #expect(lines.map { $0["status"] as? Int } == [status])
            #expect(lines.map { $0["flags"] as? String } == ["GT"])
        }
    }
}
