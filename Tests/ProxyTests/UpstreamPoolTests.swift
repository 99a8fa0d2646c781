import Proxy
import Testing

/// Which upstream connections are kept for the next exchange, and for how long.
@Suite struct UpstreamPoolTests {
    private let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

    @Test("F19 a connection that ended its exchange cleanly serves the next one, whoever the client is")
    func reused() throws {
        try withRig { rig in
            for _ in 0..<3 {
                let response = try rig.exchange(get).response
                #expect(response.text == "ok")
            }
            #expect(try rig.exchange(post("/", "text/plain", "body")).request.text == "body")
            #expect(rig.upstreams.count == 1)
        }
    }

    @Test(
        "a connection is not used again when its end, its state or its peer's will is unclear",
        arguments: [
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok!",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
            "HTTP/1.1 204 No Content\r\n\r\nbody",
        ])
    func notReused(answer: String) throws {
        try withRig { rig in
            let first = try rig.exchange(get, answer: answer)
            #expect(first.response.status == (answer.contains("204") ? 204 : 200))
            try rig.until("the connection is closed") { rig.upstreams[0].isOver }
            #expect(try rig.exchange(get).response.text == "ok")
            #expect(rig.upstreams.count == 2)
            // What was more than the response reached nobody.
            rig.settle()
            #expect(first.client.rest.isEmpty)
        }
    }

    @Test(
        "an error behind more content than a server reads at once may have left some of it unread: the connection isn't used again",
        arguments: [
            (65_536, 413, true), (65_537, 413, false), (65_537, 500, false), (65_537, 200, true), (65_537, 303, true),
            (10, 500, true),
        ])
    func errorBehindContent(count: Int, status: Int, isReused: Bool) throws {
        try withRig { rig in
            let body = String(repeating: "x", count: count)
            let answer = "HTTP/1.1 \(status) Any\r\nContent-Length: 2\r\n\r\nok"
            let first = try rig.exchange(post("/", "text/plain", body), answer: answer)
            #expect(first.request.body.count == count)
            #expect(first.response.status == status)
            if !isReused { try rig.until("the connection is closed") { rig.upstreams[0].isOver } }
            #expect(try rig.exchange(post("/", "text/plain", "next")).request.text == "next")
            #expect(rig.upstreams.count == (isReused ? 1 : 2))
        }
    }

    @Test("an HTTP/1.0 upstream that keeps its connection is used again")
    func oldVersionKeepAlive() throws {
        try withRig { rig in
            let answer = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok"
            for _ in 0..<2 {
                let response = try rig.exchange(get, answer: answer).response
                #expect(response.text == "ok")
            }
            #expect(rig.upstreams.count == 1)
        }
    }

    @Test("a response that the connection's end completes leaves nothing to use again")
    func untilClose() throws {
        try withRig { rig in
            let client = try rig.connect(sending: get)
            _ = try rig.request()
            rig.upstreams[0].send("HTTP/1.1 200 OK\r\n\r\nok")
            rig.upstreams[0].halfClose()
            #expect(try rig.response(to: client).text == "ok")
            try rig.until("the connection is closed") { rig.upstreams[0].isOver }
            client.send(get)
            _ = try rig.request(on: 1)
            rig.upstreams[1].send(ok)
            #expect(try rig.response(to: client).text == "ok")
        }
    }

    @Test("F19 an idle connection is closed after its time, and the next request gets a new one")
    func idleTime() throws {
        try withRig { settings in
            settings.upstreams[0].idle = .milliseconds(40)
        } _: { rig in
            _ = try rig.exchange(get)
            try rig.until("the idle connection is closed") { rig.upstreams[0].hasEnded }
            #expect(rig.upstreams[0].failure == nil)
            #expect(try rig.exchange(get).response.text == "ok")
            #expect(rig.upstreams.count == 2)
        }
    }

    @Test("an idle connection that the upstream closes or resets is forgotten", arguments: [false, true])
    func closedWhileIdle(reset: Bool) throws {
        try withRig { rig in
            _ = try rig.exchange(get)
            if reset { rig.upstreams[0].reset() } else { rig.upstreams[0].close() }
            rig.settle()
            #expect(try rig.exchange(get).response.text == "ok")
            #expect(rig.upstreams.count == 2)
        }
    }

    @Test("bytes on an idle connection close it, and are nobody's answer")
    func bytesWhileIdle() throws {
        try withRig { rig in
            let (_, _, client) = try rig.exchange(get)
            rig.upstreams[0].send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
            try rig.until("the connection is closed") { rig.upstreams[0].isOver }
            client.send(get)
            _ = try rig.request(on: 1)
            rig.upstreams[1].send(ok)
            #expect(try rig.response(to: client).text == "ok")
        }
    }

    @Test("F19 no more idle connections are kept than the setting says; the one used last is used first")
    func bounded() throws {
        try withRig { settings in
            settings.upstreams[0].maxIdlePerLoop = 2
        } _: { rig in
            var clients: [RigPeer] = []
            for index in 0..<3 {
                clients.append(try rig.connect(sending: get))
                _ = try rig.request(on: index)
            }
            for index in [0, 2, 1] {
                rig.upstreams[index].send(ok)
                #expect(try rig.response(to: clients[index]).text == "ok")
            }
            try rig.until("the third is closed") { rig.upstreams[1].isOver }
            #expect(!rig.upstreams[0].isOver && !rig.upstreams[2].isOver)
            clients[0].send(get)
            _ = try rig.request(on: 2)
            rig.upstreams[2].send(ok)
            #expect(try rig.response(to: clients[0]).text == "ok")
        }
    }

    @Test("F19 bytes or an end that come in the very tick of a request don't become its answer")
    func lateBytesOnIdleConnection() throws {
        for poison in ["HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nPOISON", nil] {
            try withRig { rig in
                let (_, response, client) = try rig.exchange(get)
                #expect(response.text == "ok")
                rig.settle()
                // The loop hears of both at once, and of the client first.
                client.send(get)
                if let poison { rig.upstreams[0].send(poison) } else { rig.upstreams[0].halfClose() }
                _ = try rig.request(on: 1)
                rig.upstreams[1].send(ok)
                #expect(try rig.response(to: client).text == "ok")
                try rig.until("the old connection ends") { rig.upstreams[0].isOver }
                #expect(!rig.upstreams[0].has())
            }
        }
    }

    @Test("F13 an answer that comes before the request's end is passed on at once, and the upload goes on")
    func earlyResponse() throws {
        try withRig { rig in
            let request = post("/", "text/plain", String(repeating: "b", count: 10_000))
            let client = try rig.connect(sending: String(request.dropLast(5_000)))
            let upstream = try rig.upstream()
            try rig.until("part of the request") { upstream.received.count > 5_000 }
            upstream.send("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
            let response = try rig.response(to: client)
            #expect(response.status == 413)
            #expect(response.text == "no")
            #expect(response["Connection"] == "close")
            client.send(String(repeating: "b", count: 5_000))
            #expect(try rig.request().body.count == 10_000)
            try rig.until("the client's connection ends") { client.isOver }
            #expect(client.failure == nil)
        }
    }

    @Test("F13 an upstream that answers early and closes ends the upload; the client gets its answer, never a reset")
    func earlyResponseAndEnd() throws {
        for ending in ["Connection: close\r\n", ""] {
            try withRig { rig in
                let request = post("/", "text/plain", String(repeating: "b", count: 10_000))
                let client = try rig.connect(sending: String(request.dropLast(5_000)))
                let upstream = try rig.upstream()
                try rig.until("part of the request") { upstream.received.count > 5_000 }
                upstream.send("HTTP/1.1 413 Too Large\r\n\(ending)Content-Length: 2\r\n\r\nno")
                upstream.close()
                let response = try rig.response(to: client)
                #expect(response.status == 413)
                client.send(String(repeating: "b", count: 5_000))
                try rig.until("the client's connection ends") { client.isOver }
                #expect(client.failure == nil)
                #expect(!upstream.has())
                #expect(try rig.exchange(get).response.text == "ok")
                #expect(rig.upstreams.count == 2)
            }
        }
    }

    @Test("F13 an upstream that answers early and then resets is still heard")
    func earlyResponseThenReset() throws {
        try withRig { rig in
            let client = try rig.connect(
                sending: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\nx")
            let upstream = try rig.upstream()
            try rig.until("part of the request") { upstream.received.last == UInt8(ascii: "x") }
            upstream.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno")
            upstream.close()
            client.send(String(repeating: "x", count: 100_000))
            #expect(try rig.response(to: client).status == 401)
        }
    }
}
