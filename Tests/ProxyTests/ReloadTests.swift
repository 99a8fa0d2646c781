import EventLoop
import Gateway
import Proxy
import Testing
import Transcoding

/// New settings while exchanges run: `Worker.adopt`.
@Suite struct ReloadTests {
    private let get = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"

    /// The rig's settings with other routes, as `change` makes them.
    private func adopt(
        _ rig: ProxyRig, _ routes: [Route], _ change: (inout ProxySettings) -> Void = { _ in }
    ) throws {
        var settings = rig.settings
        settings.routes = routes
        change(&settings)
        try rig.worker.adopt(settings)
    }

    @Test(
        "fault 64: an exchange in flight ends on its route, the next one on the same connection doesn't find it any more"
    )
    func inFlight() throws {
        try withRig([forward("/a")]) { rig in
            let client = try rig.connect(sending: get)
            _ = try rig.request()
            try adopt(rig, [forward("/b")])
            rig.upstreams[0].send(ok)
            let first = try rig.response(to: client)
            #expect(first.status == 200 && first["Connection"] != "close")
            client.send(get)
            #expect(try rig.response(to: client).status == 404)
            #expect(try rig.exchange("GET /b HTTP/1.1\r\nHost: a\r\n\r\n").response.status == 200)
        }
    }

    @Test("a body that was half read goes on through the conversion that it began with")
    func halfBody() throws {
        try withRig([convert(.form, .json, "/a")]) { rig in
            let request = post("/a", formType, "first=1&second=2")
            let client = try rig.connect(sending: String(request.dropLast(8)))
            rig.settle()
            try adopt(rig, [forward("/b")])
            client.send(String(request.suffix(8)))
            #expect(try rig.request().text == #"{"first":"1","second":"2"}"#)
            rig.upstreams[0].send(ok)
            #expect(try rig.response(to: client).status == 200)
        }
    }

    @Test("a pool is carried over when its upstream is the same, and closes what is idle when it isn't")
    func pools() throws {
        try withRig([forward("/a")]) { rig in
            _ = try rig.exchange(get)
            try adopt(rig, [forward("/a"), forward("/b", index: 1)])
            _ = try rig.exchange(get)
            #expect(rig.upstreams.count == 1)
            try adopt(rig, [forward("/a")]) { $0.upstreams[0].maxIdlePerLoop += 1 }
            try rig.until("the old pool's connection is closed") { rig.upstreams[0].isOver }
            #expect(rig.upstreams[0].failure == nil)
            _ = try rig.exchange(get)
            #expect(rig.upstreams.count == 2)
        }
    }

    // MARK: What is known of addresses

    /// Answers what the upstreams were asked: the second address fails its checks and its requests.
    private func answer(_ rig: ProxyRig) {
        for peer in rig.upstreams where !peer.isOver && peer.has() {
            _ = peer.take()
            peer.send(peer.localPort == rig.port(1) ? "HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno" : ok)
        }
    }

    private func state(_ rig: ProxyRig, _ index: Int) -> EndpointSnapshot.State {
        rig.worker.upstreams[0].endpoints[index].state
    }

    /// Sends requests until the second address is in another state.
    private func fail(_ rig: ProxyRig) throws {
        let client = try rig.connect()
        var asked = 0
        while state(rig, 1) == .healthy, asked < 50 {
            client.send(get)
            asked += 1
            try rig.until("an answer") {
                answer(rig)
                return client.has()
            }
            _ = client.take()
        }
        #expect(state(rig, 1) != .healthy)
    }

    /// A change of an upstream's settings, and whether what is known of an address holds behind it.
    struct Change: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let isKept: Bool
        let make: @Sendable (inout UpstreamSettings) -> Void

        init(_ what: String, _ isKept: Bool, _ make: @escaping @Sendable (inout UpstreamSettings) -> Void) {
            testDescription = what
            self.isKept = isKept
            self.make = make
        }
    }

    static let changesOfChecks: [Change] = [
        Change("another key", true) { $0.maxIdlePerLoop += 1 },
        Change("another pace", true) { $0.health.active?.interval = .seconds(30) },
        Change("another address", true) { $0.addresses.append(.tcp(host: "127.0.0.1", port: 9)) },
        Change("another path", false) { $0.health.active?.path = "/other" },
        Change("another host", false) { $0.health.active?.host = "other" },
        Change("other statuses", false) { $0.health.active?.statuses = [StatusRange(500...599)] },
        Change("no checks", false) { $0.health.active = nil },
        Change("another version", false) { $0.version = .http2 },
        Change("another name", false) { $0.name = "other" },
    ]

    static let changesOfFailures: [Change] = [
        Change("another key", true) { $0.maxIdlePerLoop += 1 },
        Change("a higher limit", true) { $0.health.passive.failures = 100 },
        Change("another time to connect", true) { $0.connect = .seconds(2) },
        Change("no limit", false) { $0.health.passive.failures = 0 },
        Change("other statuses", false) { $0.health.passive.statuses = [StatusRange(500...500)] },
        Change("another version", false) { $0.version = .http2 },
    ]

    @Test(
        "a pool that takes another's place knows of the checks of addresses that stay, where its own ask the same",
        arguments: changesOfChecks)
    func checksKept(change: Change) throws {
        try withRig([forward("/a")], addresses: 2) { settings in
            var active = ActiveHealthSettings(path: "/healthz")
            active.interval = .milliseconds(20)
            active.fall = 2
            settings.upstreams[0].health.active = active
            settings.upstreams[0].health.passive.failures = 0
        } _: { rig in
            try rig.until("the second one fails its checks") {
                answer(rig)
                return state(rig, 1) == .failingChecks
            }
            // Looked at before a check of the new pool: nothing runs meanwhile.
            try adopt(rig, [forward("/a")]) { change.make(&$0.upstreams[0]) }
            let isFailing = state(rig, 1) == .failingChecks
            #expect(isFailing == change.isKept)
            #expect(state(rig, 0) == .healthy)
        }
    }

    @Test("and of failures, where the same ones count", arguments: changesOfFailures)
    func failuresKept(change: Change) throws {
        try withRig([forward("/a")], addresses: 2) {
            $0.upstreams[0].health.passive.failures = 3
        } _: { rig in
            try fail(rig)
            try adopt(rig, [forward("/a")]) { change.make(&$0.upstreams[0]) }
            let isEjected = if case .ejected = state(rig, 1) { true } else { false }
            #expect(isEjected == change.isKept)
            #expect(state(rig, 0) == .healthy)
            #expect(rig.worker.upstreams[0].endpoints[1].ejections == 1)
        }
    }

    @Test("an ejection that is carried over lasts no longer than the new settings let one")
    func ejectionCut() throws {
        try withRig([forward("/a")], addresses: 2) {
            $0.upstreams[0].health.passive.failures = 3
        } _: { rig in
            try fail(rig)
            try adopt(rig, [forward("/a")]) {
                $0.upstreams[0].health.passive.ejection = .seconds(1)
                $0.upstreams[0].health.passive.maximumEjection = .seconds(2)
            }
            guard case .ejected(let left) = state(rig, 1) else {
                Issue.record("\(state(rig, 1))")
                return
            }
            #expect(left <= 2000)
        }
    }

    @Test("what couldn't be connected to is known, too, and found again", arguments: [true, false])
    func deadKept(isSame: Bool) throws {
        try withRig([forward("/a")], addresses: 2) { rig in
            rig.stopListening(1)
            try fail(rig)
            #expect(state(rig, 1) == .dead)
            try adopt(rig, [forward("/a")]) {
                $0.upstreams[0].maxIdlePerLoop += 1
                if !isSame { $0.upstreams[0].connect = .seconds(2) }
                $0.upstreams[0].health.passive.ejection = .milliseconds(20)
                $0.upstreams[0].health.passive.maximumEjection = .milliseconds(20)
            }
            let expected: EndpointSnapshot.State = isSame ? .dead : .healthy
            #expect(state(rig, 1) == expected)
            try rig.listenAgain(1)
            try rig.until("it is found again") { state(rig, 1) == .healthy }
        }
    }

    @Test("a connection in use when its pool is left is closed after its exchange, not kept")
    func connectionInUse() throws {
        try withRig([forward("/a")]) { rig in
            let client = try rig.connect(sending: get)
            _ = try rig.request()
            try adopt(rig, [forward("/a")]) { $0.upstreams[0].maxIdlePerLoop += 1 }
            rig.settle()
            #expect(!rig.upstreams[0].isOver)
            rig.upstreams[0].send(ok)
            #expect(try rig.response(to: client).status == 200)
            try rig.until("it is closed") { rig.upstreams[0].isOver }
            client.send(get)
            _ = try rig.request(on: 1)
            rig.upstreams[1].send(ok)
            #expect(try rig.response(to: client).status == 200)
        }
    }

    @Test("a hundred snapshots leave nothing behind")
    func many() throws {
        try withRig([forward("/a")]) { rig in
            for index in 0..<100 {
                try adopt(rig, [forward("/a")]) { $0.upstreams[0].maxIdlePerLoop = 8 + index }
                let client = try rig.connect(sending: get)
                _ = try rig.request(on: index)
                rig.upstreams[index].send(ok)
                #expect(try rig.response(to: client).status == 200)
                client.close()
            }
            rig.settle()
            #expect(!rig.upstreams.dropLast().contains { !$0.isOver })
        }
    }

    @Test("a listener that can't be opened changes nothing")
    func listenerInUse() throws {
        try withRig([forward("/a")]) { rig in
            guard case .tcp(_, let port) = rig.settings.upstreams[0].addresses[0] else { return }
            #expect(throws: ServerError.self) {
                try adopt(rig, [forward("/b")]) { $0.listen.append(.tcp(host: "127.0.0.1", port: port)) }
            }
            let response = try rig.exchange(get).response
            #expect(response.status == 200)
        }
    }

    @Test("an address is put back while its sockets are being closed; once they are, nobody else's is shared")
    func putBack() throws {
        try withRig([forward("/a")]) { rig in
            let probe = try ListeningSocket.open(
                SocketAddress(ipv4: 0x7F00_0001, port: 0), sharing: .none, backlog: 8)
            let address = probe.address
            probe.close()
            let added = ListenAddress.tcp(host: "127.0.0.1", port: Int(address.port))
            // The loop doesn't run meanwhile, so that none of the sockets is closed.
            for _ in 0..<3 {
                try adopt(rig, [forward("/a")]) { $0.listen.append(added) }
                try adopt(rig, [forward("/a")]) { $0.lifecycle.handshake = .milliseconds(20) }
            }
            try adopt(rig, [forward("/a")]) { $0.listen.append(added) }
            try adopt(rig, [forward("/a")]) { $0.lifecycle.handshake = .milliseconds(20) }
            try rig.until("the address is free") {
                guard let socket = try? ListeningSocket.open(address, sharing: .none, backlog: 8) else { return false }
                socket.close()
                return true
            }
            let stranger = try ListeningSocket.open(address, sharing: .anybody, backlog: 8)
            #expect(throws: ServerError.self) { try adopt(rig, [forward("/a")]) { $0.listen.append(added) } }
            stranger.close()
            try adopt(rig, [forward("/a")]) { $0.listen.append(added) }
            try adopt(rig, [forward("/a")])
            #expect(try rig.exchange(get).response.status == 200)
        }
    }
}
