import EventLoop
import Proxy
import Testing

/// Several addresses of one upstream: how requests are spread, and which addresses get none.
@Suite struct BalanceTests {
    private let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

    private func state(_ rig: ProxyRig, _ index: Int) -> EndpointSnapshot.State {
        rig.worker.upstreams[0].endpoints[index].state
    }

    @Test("round robin: one after the other")
    func roundRobin() throws {
        try withRig(addresses: 3) { rig in
            rig.answers = Array(repeating: ok, count: 30)
            let client = try rig.connect()
            for _ in 0..<30 {
                client.send(get)
                #expect(try rig.response(to: client).text == "ok")
            }
            // One connection to each, used again.
            #expect(rig.upstreams.count == 3)
            for peer in rig.upstreams {
                #expect(peer.text.split(separator: "GET / ").count == 10)
            }
        }
    }

    @Test("least requests: the address with the fewest on their way")
    func leastRequests() throws {
        try withRig(addresses: 2) {
            $0.upstreams[0].balance = .leastRequests
        } _: { rig in
            // The first one hangs on one address; all that follow go to the other.
            _ = try rig.connect(sending: get)
            _ = try rig.request()
            let client = try rig.connect()
            for _ in 0..<4 {
                client.send(get)
                _ = try rig.request(on: 1)
                rig.upstreams[1].send(ok)
                #expect(try rig.response(to: client).text == "ok")
            }
            #expect(rig.upstreams.count == 2)
        }
    }

    @Test("F20 a: an address that refuses is passed over for the next, whatever the method; then it is left alone")
    func nextAddress() throws {
        try withRig(addresses: 2) { rig in
            rig.stopListening(1)
            rig.answers = Array(repeating: ok, count: 40)
            let client = try rig.connect()
            for _ in 0..<20 {
                client.send(post("/", "text/plain", "x"))
                #expect(try rig.response(to: client).text == "ok")
            }
            #expect(state(rig, 1) == .dead)
            #expect(rig.worker.upstreams[0].endpoints[1].connectFailures == 5)
            #expect(state(rig, 0) == .healthy)
        }
    }

    @Test("row 35: when all addresses are dead the answer is 503 at once, and it is over within seconds")
    func allDead() throws {
        try withRig(addresses: 3) { settings in
            settings.upstreams[0].addresses.removeFirst()
        } _: { rig in
            rig.stopListening(1)
            rig.stopListening(2)
            let client = try rig.connect()
            for _ in 0..<5 {
                client.send(get)
                expectProblem(try rig.response(to: client), 502, "upstream_unreachable")
            }
            client.send(get)
            let response = try rig.response(to: client)
            expectProblem(response, 503, "upstream_unavailable")
            #expect(response["Retry-After"] == "1")
            #expect(rig.worker.upstreams[0].isDown)
            try rig.listenAgain(2)
            let start = rig.loop.now
            try rig.until("it is found again") { !rig.worker.upstreams[0].isDown }
            #expect(rig.loop.now - start < 5_000_000_000)
            rig.answers = [ok]
            client.send(get)
            #expect(try rig.response(to: client).text == "ok")
        }
    }

    @Test("row 14: a single address that refuses is asked each time, and serves the moment it listens")
    func singleAddress() throws {
        try withRig(addresses: 2) { settings in
            settings.upstreams[0].addresses.removeFirst()
        } _: { rig in
            rig.stopListening(1)
            let client = try rig.connect()
            for _ in 0..<12 {
                client.send(get)
                expectProblem(try rig.response(to: client), 502, "upstream_unreachable")
            }
            try rig.listenAgain(1)
            rig.answers = [ok]
            client.send(get)
            #expect(try rig.response(to: client).text == "ok")
            #expect(state(rig, 0) == .healthy)
        }
    }

    @Test("row 34: gateway errors in a row take an address out; after its time one request shows whether it is well")
    func ejection() throws {
        try withRig(addresses: 2) { settings in
            settings.upstreams[0].health.passive.failures = 3
            settings.upstreams[0].health.passive.ejection = .milliseconds(100)
            settings.upstreams[0].connect = .milliseconds(100)
        } _: { rig in
            // Each connection tells by its first answer which address it is for.
            let bad = rig.port(1)
            func answer(_ isWell: Bool) throws {
                let client = try rig.connect(sending: get)
                var asked: RigPeer?
                try rig.until("a request") {
                    asked = rig.upstreams.first { !$0.isOver && $0.has() }
                    return asked != nil
                }
                let peer = try #require(asked)
                _ = peer.take()
                let isBad = peer.localPort == bad && !isWell
                peer.send(isBad ? "HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno" : ok)
                #expect(try rig.response(to: client).status == (isBad ? 503 : 200))
                client.close()
            }
            for _ in 0..<6 { try answer(false) }
            guard case .ejected = state(rig, 1) else { Issue.record("\(state(rig, 1))"); return }
            #expect(rig.worker.upstreams[0].endpoints[1].ejections == 1)
            // Whether the time is over or not: all are answered, and in the end it is well again.
            try rig.pass(120)
            #expect(state(rig, 1) == .ejected(milliseconds: 0))
            for _ in 0..<4 { try answer(true) }
            #expect(state(rig, 1) == .healthy)
        }
    }

    @Test("the last fit address is not ejected for its errors")
    func lastOneStays() throws {
        try withRig { settings in
            settings.upstreams[0].health.passive.failures = 2
        } _: { rig in
            rig.answers = Array(repeating: "HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno", count: 6)
            let client = try rig.connect()
            for _ in 0..<6 {
                client.send(get)
                #expect(try rig.response(to: client).text == "no")
            }
            #expect(state(rig, 0) == .healthy)
        }
    }

    @Test("active checks take an address out and bring it back")
    func activeChecks() throws {
        try withRig(addresses: 2) { settings in
            var active = ActiveHealthSettings(path: "/healthz?x=1")
            active.interval = .milliseconds(40)
            active.fall = 2
            active.rise = 2
            settings.upstreams[0].health.active = active
        } _: { rig in
            func answerChecks(_ isWell: Bool) {
                for peer in rig.upstreams where !peer.isOver && peer.has() {
                    let request = peer.take()
                    #expect(request?.startLine == "GET /healthz?x=1 HTTP/1.1")
                    let isBad = peer.localPort == rig.port(1) && !isWell
                    peer.send("HTTP/1.1 \(isBad ? "500" : "204") X\r\nContent-Length: 0\r\n\r\n")
                }
            }
            try rig.until("the second one fails") {
                answerChecks(false)
                return state(rig, 1) == .failingChecks
            }
            #expect(state(rig, 0) == .healthy)
            #expect(rig.worker.upstreams[0].endpoints.map(\.ejections) == [0, 1])
            try rig.until("it passes again") {
                answerChecks(true)
                return state(rig, 1) == .healthy
            }
            #expect(rig.worker.upstreams[0].endpoints.map(\.ejections) == [0, 1], "coming back is no ejection")
        }
    }
}
