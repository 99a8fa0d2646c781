import Testing

@testable import Proxy

/// Limits of an upstream and the queue behind them.
@Suite struct UpstreamLimitTests {
    private let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

    @Test("the queue is first come, first served, and bounded", arguments: [true, false])
    func queue(byConnections: Bool) throws {
        try withRig { settings in
            if byConnections { settings.upstreams[0].maxConnections = 1 } else { settings.upstreams[0].maxRequests = 1 }
            settings.upstreams[0].queue.size = 2
            settings.upstreams[0].queue.timeout = .seconds(50)
        } _: { rig in
            var clients: [RigPeer] = []
            for index in 0..<3 {
                clients.append(try rig.connect(sending: "GET /\(index) HTTP/1.1\r\nHost: a\r\n\r\n"))
                try rig.until("it waits") { rig.worker.upstreams[0].queued == index && rig.upstreams.count == 1 }
            }
            // One too many.
            let late = try rig.connect(sending: get)
            let response = try rig.response(to: late)
            expectProblem(response, 503, "upstream_overloaded")
            #expect(response["Retry-After"] == "1")
            for index in 0..<3 {
                #expect(try rig.request().startLine == "GET /\(index) HTTP/1.1")
                rig.upstreams[0].send(ok)
                #expect(try rig.response(to: clients[index]).text == "ok")
            }
            #expect(rig.upstreams.count == 1)
            #expect(rig.worker.upstreams[0].queued == 0)
        }
    }

    @Test("a request waits no longer than it may")
    func deadline() throws {
        try withRig { settings in
            settings.upstreams[0].maxRequests = 1
            settings.upstreams[0].queue.timeout = .milliseconds(40)
        } _: { rig in
            let first = try rig.connect(sending: get)
            _ = try rig.request()
            let second = try rig.connect(sending: get)
            expectProblem(try rig.response(to: second), 503, "upstream_overloaded")
            rig.upstreams[0].send(ok)
            #expect(try rig.response(to: first).text == "ok")
        }
    }

    @Test("a client that leaves the queue frees its place at once, and nothing is sent for it")
    func leave() throws {
        try withRig { settings in
            settings.upstreams[0].maxRequests = 1
            settings.upstreams[0].queue.size = 1
            settings.upstreams[0].queue.timeout = .seconds(50)
        } _: { rig in
            let first = try rig.connect(sending: get)
            _ = try rig.request()
            let second = try rig.connect(sending: "GET /gone HTTP/1.1\r\nHost: a\r\n\r\n")
            try rig.until("it waits") { rig.worker.upstreams[0].queued == 1 }
            second.reset()
            try rig.until("its place is free") { rig.worker.upstreams[0].queued == 0 }
            let third = try rig.connect(sending: "GET /third HTTP/1.1\r\nHost: a\r\n\r\n")
            try rig.until("it waits") { rig.worker.upstreams[0].queued == 1 }
            rig.upstreams[0].send(ok)
            #expect(try rig.response(to: first).text == "ok")
            #expect(try rig.request().startLine == "GET /third HTTP/1.1")
            rig.upstreams[0].send(ok)
            #expect(try rig.response(to: third).text == "ok")
        }
    }

    @Test("an idle connection to one address makes room for one to another")
    func makesRoom() throws {
        try withRig(addresses: 2) { settings in
            settings.upstreams[0].maxConnections = 1
        } _: { rig in
            rig.answers = Array(repeating: ok, count: 4)
            let client = try rig.connect()
            for _ in 0..<4 {
                client.send(get)
                #expect(try rig.response(to: client).text == "ok")
                #expect(rig.worker.upstreams[0].connections <= 1)
            }
        }
    }

    @Test("parts of a limit are the limit together, and one each at least")
    func shares() {
        for (limit, workers, parts) in [
            (5, 4, [2, 1, 1, 1]), (8, 4, [2, 2, 2, 2]), (7, 4, [2, 2, 2, 1]), (1, 1, [1]), (2, 4, [1, 1, 1, 1]),
        ] {
            #expect((0..<workers).map { WorkerShare(number: $0, of: workers).share(of: limit) } == parts)
        }
    }

    @Test("the request that may try an address again is not spent on one that can't be sent")
    func probe() throws {
        try withRig(addresses: 2) { settings in
            settings.upstreams[0].maxConnections = 1
            settings.upstreams[0].queue.timeout = .seconds(50)
            settings.upstreams[0].health.passive.failures = 1
            settings.upstreams[0].health.passive.ejection = .milliseconds(60)
        } _: { rig in
            // One of the two answers badly and is taken out.
            let client = try rig.connect(sending: get)
            _ = try rig.request()
            rig.upstreams[0].send("HTTP/1.1 503 No\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno")
            #expect(try rig.response(to: client).status == 503)
            let bad = rig.upstreams[0].localPort
            client.send(get)
            _ = try rig.request(on: 1)
            #expect(rig.upstreams[1].localPort != bad)
            try rig.pass(120)
            // Now it may be tried, and there is no room for a connection to it yet.
            let second = try rig.connect(sending: get)
            try rig.until("it waits") { rig.worker.upstreams[0].queued == 1 }
            rig.upstreams[1].send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
            #expect(try rig.response(to: client).text == "ok")
            _ = try rig.request(on: 2)
            #expect(rig.upstreams[2].localPort == bad)
            rig.upstreams[2].send(ok)
            #expect(try rig.response(to: second).text == "ok")
            #expect(rig.worker.upstreams[0].endpoints.allSatisfy { $0.state == .healthy })
        }
    }

    @Test("what a failed connection took is given back to the queue")
    func afterFailure() throws {
        try withRig { settings in
            settings.upstreams[0].maxRequests = 1
            settings.upstreams[0].queue.timeout = .seconds(50)
        } _: { rig in
            let first = try rig.connect(sending: post("/", "text/plain", "x"))
            _ = try rig.request()
            let second = try rig.connect(sending: get)
            try rig.until("it waits") { rig.worker.upstreams[0].queued == 1 }
            rig.upstreams[0].reset()
            expectProblem(try rig.response(to: first), 502, "upstream_closed")
            _ = try rig.request(on: 1)
            rig.upstreams[1].send(ok)
            #expect(try rig.response(to: second).text == "ok")
            #expect(rig.worker.upstreams[0].inFlight == 0)
        }
    }
}
