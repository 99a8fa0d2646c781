import EventLoop
import Gateway
import Proxy
import Testing

/// F11: who answers `Expect: 100-continue`.
@Suite struct ContinueTests {
    private let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"
    private let proceed = "HTTP/1.1 100 Continue\r\n\r\n"

    private func routes() throws -> [Route] { [try plain { $0.expectContinue = .forward }] }

    /// What the upstream has received, once its head is whole.
    private func upstreamHead(_ rig: ProxyRig) throws -> RigPeer {
        let peer = try rig.upstream()
        try rig.until("a head at the upstream") { peer.text.contains("\r\n\r\n") }
        return peer
    }

    @Test("F11 Expect goes on, the upstream's 100 comes back, and then the body goes")
    func relayed() throws {
        try withRig(try routes()) { rig throws in
            let client = try rig.connect(sending: head)
            let peer = try upstreamHead(rig)
            #expect(peer.text.contains("Expect: 100-continue\r\n"))
            rig.settle()
            #expect(client.received.isEmpty)
            peer.send(proceed)
            try rig.until("the client is told to go on") { client.text == proceed }
            client.send("body")
            let request = try rig.request()
            #expect(request.text == "body")
            peer.send(ok)
            _ = try rig.response(to: client)
            #expect(try rig.response(to: client).status == 200)
            // Everything ended cleanly: both connections go on.
            client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try rig.request()
            #expect(rig.upstreams.count == 1)
        }
    }

    @Test("F11 a client whose content isn't wanted is given no time to send it, however slowly it reads the answer")
    func owesNothing() throws {
        try withRig(
            [try plain(timeouts: { $0.bodyGap = .milliseconds(40) }) { $0.expectContinue = .forward }], unix: true
        ) {
            rig throws in
            let client = try rig.connect(sending: head)
            let peer = try upstreamHead(rig)
            client.pause()
            let content = String(repeating: "a", count: 3_000_000)
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 3000003\r\n\r\n" + content)
            rig.settle()
            #expect(peer.queued > 0)
            client.resume()
            try rig.until("all that has come") { client.received.count > 3_000_000 }
            let start = rig.loop.now
            try rig.until("the time of a body is over") { rig.loop.now - start > 120_000_000 }
            peer.send("end")
            #expect(try rig.response(to: client).text == content + "end")
            #expect(try rig.logLines().first?["flags"] == nil)
        }
    }

    @Test("F11 a request whose content isn't wanted has its time, too, when that was sent all the same")
    func isBounded() throws {
        try withRig([try plain(timeouts: { $0.request = .milliseconds(200) }) { $0.expectContinue = .forward }]) {
            rig throws in
            let client = try rig.connect(sending: head)
            let peer = try upstreamHead(rig)
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf")
            try rig.until("half of the answer") { client.text.hasSuffix("half") }
            client.send("body")
            try rig.until("the end") { client.isOver && peer.isOver }
            #expect(client.text.hasSuffix("half"))
            #expect(try rig.logLines().first?["flags"] as? String == "UT")
        }
    }

    @Test("F11 an upstream that says nothing for a second doesn't hold the body; its late 100 is not passed on")
    func silent() throws {
        try withRig(try routes()) { rig throws in
            let client = try rig.connect(sending: head)
            let peer = try upstreamHead(rig)
            let start = rig.loop.now
            try rig.until("the client is told to go on") { client.text == proceed }
            #expect(rig.loop.now - start >= 900_000_000)
            peer.send(proceed)
            client.send("body")
            #expect(try rig.request().text == "body")
            peer.send(ok)
            _ = try rig.response(to: client)
            #expect(try rig.response(to: client).status == 200)
        }
    }

    @Test(
        "F11 a final answer instead of 100 is sent on, the body isn't, and neither connection is used again",
        arguments: [true, false])
    func refused(sendsAnyway: Bool) throws {
        try withRig(try routes()) { rig throws in
            let client = try rig.connect(sending: head)
            let peer = try upstreamHead(rig)
            let seen = peer.received.count
            peer.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 6\r\n\r\n")
            try rig.until("the answer's head") { client.text.contains("401 Unauthorized") }
            if sendsAnyway { client.send("body") }
            rig.settle()
            peer.send("denied")
            let response = try rig.response(to: client)
            #expect(response.status == 401 && response.text == "denied" && response["Connection"] == "close")
            try rig.until("both are closed") { peer.isOver && client.isOver }
            #expect(peer.received.count == seen)
        }
    }

    @Test("F11 a client that doesn't wait is not waited for")
    func impatient() throws {
        try withRig(try routes()) { rig throws in
            rig.answers = [ok]
            let client = try rig.connect(sending: head + "body")
            #expect(try rig.response(to: client).status == 200)
            #expect(rig.upstreams[0].text.hasSuffix("body"))
        }
    }

    @Test("F11 a body that is converted is asked for here, and the upstream sees no Expect")
    func converted() throws {
        try withRig([try formToJSON { $0.expectContinue = .forward }]) { rig throws in
            let client = try rig.connect(
                sending: "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: \(formType)\r\nContent-Length: 3\r\n"
                    + "Expect: 100-continue\r\n\r\n")
            try rig.until("the client is told to go on") { client.text == proceed }
            #expect(rig.upstreams.isEmpty)
            client.send("a=1")
            let request = try rig.request()
            #expect(request["Expect"] == nil && request.text == #"{"a":"1"}"#)
        }
    }

    @Test("F11 an upstream that leaves before its 100 is a 502, and one that never takes the connection says nothing")
    func gone() throws {
        try withRig(try routes()) { rig throws in
            let client = try rig.connect(sending: head)
            try upstreamHead(rig).close()
            #expect(try rig.response(to: client).status == 502)
        }
    }
}
