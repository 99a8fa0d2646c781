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
