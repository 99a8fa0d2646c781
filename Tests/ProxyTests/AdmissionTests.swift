import EventLoop
import Octets
import Testing

@testable import Proxy

/// How many connections and requests are taken, and what happens to the next one.
@Suite struct AdmissionTests {
    private let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

    // MARK: Heads

    @Test(
        "R7, R16: heads at their limits, which are the settings'",
        arguments: [(-1, true), (0, true), (1, false)])
    func heads(more: Int, fits: Bool) throws {
        let cases: [(String, Int, (inout AdmissionSettings.Head) -> Void, (Int) -> String)] = [
            ("request line", 414, { $0.requestLine = 300 }, { "GET /\(text($0 + 286)) HTTP/1.1\r\nHost: a\r\n\r\n" }),
            (
                "field line", 431, { $0.fieldLine = 300 },
                { "GET / HTTP/1.1\r\nHost: a\r\nX: \(text($0 + 297))\r\n\r\n" }
            ),
            (
                "fields", 431, { $0.fields = 3 },
                { "GET / HTTP/1.1\r\nHost: a\r\n\(String(repeating: "X: 1\r\n", count: $0 + 2))\r\n" }
            ),
            ("head", 431, { $0.bytes = 1024 }, { "GET / HTTP/1.1\r\nHost: a\r\nX: \(text($0 + 992))\r\n\r\n" }),
        ]
        for (name, status, limit, request) in cases {
            try withRig { settings in
                limit(&settings.admission.head)
            } _: { rig in
                rig.answers = [ok]
                let response = try rig.response(to: try rig.connect(sending: request(more)))
                #expect(response.status == (fits ? 200 : status), "\(name)")
            }
        }
    }

    // MARK: Shares

    @Test(
        "each worker has its share of the connections, on a unix socket too: workers all accept there",
        arguments: [ListenAddress.tcp(host: "127.0.0.1", port: 0), .unix(path: "/tmp/unused.sock")])
    func shares(address: ListenAddress) {
        for (workers, total, shares) in [
            (1, 10, [10]), (2, 10, [5, 5]), (3, 10, [4, 3, 3]), (4, 5, [2, 1, 1, 1]), (4, 3, [1, 1, 1, 1]),
        ] {
            var settings = ProxySettings(listen: [address], workers: workers, upstreams: [], routes: [])
            settings.admission.connections = total
            let found = (0..<workers).map { AdmissionLimits(settings, worker: $0).connections }
            #expect(found == shares, "\(workers) workers, \(total) connections")
        }
    }

    @Test(
        "what is said at the cap names the number of the settings, also where a worker has a share of it",
        arguments: [
            (1, "there may be 20 connections: others wait (connections.total)"),
            (2, "there may be 10 connections at this worker, its share of 20: others wait (connections.total)"),
        ])
    func capNote(workers: Int, note: String) {
        var settings = ProxySettings(
            listen: [.tcp(host: "127.0.0.1", port: 0)], workers: workers, upstreams: [], routes: [])
        settings.admission.connections = 20
        #expect(AdmissionLimits(settings).capNote == note)
    }

    // MARK: One connection

    @Test("the answer to the last request that a connection may make says so, and the connection ends")
    func requestsPerConnection() throws {
        try withRig { settings in
            settings.admission.requestsPerConnection = 3
        } _: { rig in
            rig.answers = [ok, ok, ok]
            let client = try rig.connect()
            for number in 1...3 {
                client.send(get)
                let response = try rig.response(to: client)
                #expect(response["Connection"] == (number == 3 ? "close" : nil))
            }
            try rig.until("the end") { client.isOver }
            #expect(client.failure == nil)
        }
    }

    @Test("no number and no age end a connection where there is none", arguments: [true, false])
    func connectionAge(isBound: Bool) throws {
        try withRig { settings in
            settings.admission.requestsPerConnection = 0
            settings.admission.connectionAge = isBound ? .nanoseconds(1) : nil
        } _: { rig in
            rig.answers = [ok, ok]
            let client = try rig.connect()
            rig.settle()
            client.send(get)
            #expect(try rig.response(to: client)["Connection"] == (isBound ? "close" : nil))
            if isBound {
                try rig.until("the end") { client.isOver }
            } else {
                client.send(get)
                #expect(try rig.response(to: client).status == 200)
            }
        }
    }

    // MARK: Requests in flight

    @Test("one request more than may be in flight: 503 with Retry-After, and the connection goes on")
    func inFlight() throws {
        try withRig { settings in
            settings.admission.inFlight = 2
        } _: { rig in
            let first = try rig.connect(sending: get)
            let second = try rig.connect(sending: get)
            try rig.until("two are in flight") { rig.upstreams.count == 2 && rig.upstreams.allSatisfy { $0.has() } }
            let third = try rig.connect(sending: get)
            let refused = try rig.response(to: third)
            #expect(refused.status == 503 && refused.text.contains(#""code":"overloaded""#))
            #expect(refused["Retry-After"] == "1" && refused["Connection"] == nil)
            #expect(rig.worker.counters.admission.overloaded == 1)
            for upstream in rig.upstreams { upstream.send(ok) }
            #expect(try rig.response(to: first).status == 200)
            #expect(try rig.response(to: second).status == 200)
            // Refused or served: none of them counts any more.
            rig.answers = [ok, ok]
            for upstream in rig.upstreams { _ = upstream.take() }
            third.send(get)
            first.send(get)
            #expect(try rig.response(to: third).status == 200)
            #expect(try rig.response(to: first).status == 200)
            #expect(try rig.logLines().first { $0["status"] as? Int == 503 }?["flags"] as? String == "OL")
        }
    }

    @Test("a client that leaves frees its place among the requests in flight")
    func inFlightLeft() throws {
        try withRig { settings in
            settings.admission.inFlight = 1
        } _: { rig in
            let first = try rig.connect(sending: get)
            _ = try rig.request()
            first.reset()
            try rig.until("the upstream's connection ends") { rig.upstreams[0].isOver }
            rig.answers = [ok]
            #expect(try rig.response(to: try rig.connect(sending: get)).status == 200)
        }
    }

    // MARK: Connections of one client

    @Test("one connection more than a client may have: 429 and the end, at once")
    func perClient() throws {
        try withRig { settings in
            settings.admission.perClient = .count(2)
        } _: { rig in
            let first = try rig.connect()
            let second = try rig.connect()
            rig.settle()
            let third = try rig.connect()
            let refused = try rig.response(to: third)
            #expect(refused.status == 429 && refused.text.contains("too_many_connections"))
            #expect(refused["Retry-After"] == "1" && refused["Connection"] == "close")
            try rig.until("the end") { third.isOver }
            #expect(!first.isOver && !second.isOver)
            #expect(rig.worker.counters.admission.refusedPerClient == 1)
            first.close()
            try rig.until("its place is free") { rig.worker.connections.count == 1 }
            rig.answers = [ok]
            #expect(try rig.response(to: try rig.connect(sending: get)).status == 200)
        }
    }

    @Test("this host's clients are not counted where nobody asks for it")
    func loopback() throws {
        try withRig { rig in
            for _ in 0...AdmissionSettings.ClientCap.standardCount { _ = try rig.connect() }
            rig.settle()
            #expect(rig.clients.allSatisfy { !$0.isOver })
            #expect(rig.worker.connections.count == 257)
        }
    }

    @Test("a client is an IPv4 address or a /64 of IPv6; a unix socket's is nobody")
    func clientKeys() throws {
        func key(_ text: String) throws -> ClientKey? { ClientKey(try #require(SocketAddress.parse(text))) }
        #expect(try key("192.0.2.1:1") == key("192.0.2.1:2"))
        #expect(try key("192.0.2.1:1") != key("192.0.2.2:1"))
        #expect(try key("[2001:db8:0:1::1]:1") == key("[2001:db8:0:1:ffff:ffff:ffff:ffff]:1"))
        #expect(try key("[2001:db8:0:1::1]:1") != key("[2001:db8:0:2::1]:1"))
        #expect(try key("unix:/a") == nil)
        for (text, isLoopback) in [
            ("127.0.0.1:1", true), ("127.255.0.9:1", true), ("128.0.0.1:1", false), ("[::1]:1", true),
            ("[::2]:1", false), ("[2001:db8::1]:1", false),
        ] { #expect(try key(text)?.isLoopback == isLoopback, "\(text)") }
    }

    // MARK: All connections

    @Test("one connection more than there may be waits in the backlog until there is room")
    func total() throws {
        try withRig { settings in
            settings.admission.connections = 3
        } _: { rig in
            let clients = try (0..<3).map { _ in try rig.connect(sending: get) }
            try rig.until("three are served") { rig.upstreams.count == 3 }
            let fourth = try rig.connect(sending: get)
            rig.settle()
            #expect(rig.worker.connections.count == 3 && rig.upstreams.count == 3 && !fourth.isOver)
            #expect(rig.worker.gate.reasons == .connections)
            #expect(rig.worker.counters.admission.pauses == 1)
            clients[0].reset()
            try rig.until("the fourth is served") { rig.upstreams.count == 4 }
            // Now it has taken the last place itself.
            #expect(rig.worker.connections.count == 3)
        }
    }

    @Test("the cap holds while a drain is announced and connections are still accepted")
    func totalWhileAnnounced() throws {
        try withRig { settings in
            settings.admission.connections = 2
        } _: { rig in
            rig.worker.announceDrain()
            let clients = try (0..<2).map { _ in try rig.connect(sending: get) }
            try rig.until("two are served") { rig.upstreams.count == 2 }
            _ = try rig.connect(sending: get)
            rig.settle()
            #expect(rig.worker.connections.count == 2 && rig.upstreams.count == 2)
            clients[0].reset()
            try rig.until("the third is served") { rig.upstreams.count == 3 }
        }
    }

    @Test("an idle connection on which a request has just come keeps its place; the next one gives it")
    func evictionOfAsked() throws {
        try withRig { settings in
            settings.admission.connections = 3
        } _: { rig in
            rig.answers = [ok, ok]
            var idle: [RigPeer] = []
            for _ in 0..<2 {
                let client = try rig.connect(sending: get)
                #expect(try rig.response(to: client).status == 200)
                idle.append(client)
            }
            rig.settle()
            // It is in the system's buffer, and the loop has not turned since.
            idle[0].send(get)
            idle[0].stream.flush()
            #expect(rig.worker.evict(1) == 1)
            _ = try rig.request()
            rig.upstreams[0].send(ok)
            #expect(try rig.response(to: idle[0]).status == 200)
            try rig.until("the other is closed") { idle[1].isOver }
        }
    }

    @Test("above nine tenths the connection that is idle for longest gives its place")
    func eviction() throws {
        try withRig { settings in
            settings.admission.connections = 3
        } _: { rig in
            rig.answers = [ok, ok, ok]
            var idle: [RigPeer] = []
            for _ in 0..<2 {
                let client = try rig.connect(sending: get)
                #expect(try rig.response(to: client).status == 200)
                idle.append(client)
            }
            #expect(rig.worker.connections.count == 2)
            let third = try rig.connect(sending: get)
            #expect(try rig.response(to: third).status == 200)
            try rig.until("the oldest is closed") { idle[0].isOver }
            rig.settle()
            #expect(idle[0].failure == nil && !idle[1].isOver && !third.isOver)
            #expect(rig.worker.counters.admission.evictedIdle == 1)
        }
    }

    @Test("when nothing is idle, the slowest head gives its place, with an answer")
    func headEviction() throws {
        try withRig { settings in
            settings.admission.connections = 2
            settings.client.header = .milliseconds(1200)
        } _: { rig in
            let slow = try rig.connect(sending: "GET / HT")
            rig.settle()
            let busy = try rig.connect(sending: get)
            let response = try rig.response(to: slow)
            #expect(response.status == 503 && response["Connection"] == "close")
            try rig.until("the end") { slow.isOver }
            #expect(!busy.isOver)
            #expect(rig.worker.counters.admission.evictedHeads == 1)
        }
    }

    @Test("above nine tenths an idle connection has a quarter of its time")
    func shorterIdleTime() throws {
        try withRig { settings in
            settings.admission.connections = 20
            settings.client.keepAlive = .seconds(8)
        } _: { rig in
            #expect(rig.worker.keepAliveTime == 8_000_000_000)
            for _ in 0..<18 { _ = try rig.connect() }
            rig.settle()
            #expect(rig.worker.connections.count == 18 && rig.worker.keepAliveTime == 8_000_000_000)
            _ = try rig.connect()
            rig.settle()
            #expect(rig.worker.connections.count == 19 && rig.worker.keepAliveTime == 2_000_000_000)
        }
    }

    @Test("listeners accept again when the last reason not to is gone")
    func reasons() throws {
        try withRig { rig in
            rig.worker.gate.pause(.pressure)
            rig.worker.gate.pause(.connections)
            rig.worker.gate.resume(.connections)
            let client = try rig.connect(sending: get)
            rig.settle()
            #expect(rig.worker.connections.isEmpty && !client.isOver)
            rig.worker.gate.resume(.pressure)
            _ = try rig.request()
        }
    }

    // MARK: Metrics

    @Test("connections by state, and what was refused, evicted and timed out")
    func metrics() throws {
        try withRig { settings in
            settings.client.keepAlive = .milliseconds(40)
        } _: { rig in
            let (_, _, client) = try rig.exchange(get)
            _ = try rig.connect(sending: get)
            _ = try rig.request()
            func value(_ name: String, _ label: String) -> Double? {
                let samples = rig.worker.metricSamples()
                return samples.families[name]?.samples.first { sample in
                    sample.labels.last?.value == label && sample.labels.first?.value != "upstream"
                }?.value
            }
            #expect(value("recast_connections", "active") == 1)
            try rig.until("the idle one is closed") { client.isOver }
            #expect(value("recast_connections", "idle") == 0)
            #expect(value("recast_timeouts_total", "keep_alive") == 1)
            #expect(value("recast_timeouts_total", "head") == 0)
            #expect(value("recast_connections_refused_total", "per_client") == 0)
            #expect(value("recast_connections_accepted_total", "client") == 2)
        }
    }
}

private func text(_ count: Int) -> String { String(repeating: "x", count: count) }
