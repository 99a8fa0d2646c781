import CertificateSupport
import EventLoop
import Glibc
import Octets
import Testing

/// Options of a server with these certificates.
func serverOptions(_ names: String...) -> TLSServerOptions {
    TLSServerOptions(identities: names.map(Certificates.identity))
}

/// Options of a client that trusts the tests' authority.
func clientOptions(_ change: (inout TLSClientOptions) -> Void = { _ in }) -> TLSClientOptions {
    var options = TLSClientOptions()
    options.authorities = Certificates.path("ca.pem")
    change(&options)
    return options
}

/// A probe that also notes the handshake.
final class SecureProbe: StreamHandler {
    let probe = Probe()
    var facts: TLSFacts?
    var onSecured: ((Stream) -> Void)?
    /// Whether a peer that is refused gets time to read why.
    var lingers = false

    func secured(_ stream: Stream) {
        #expect(facts == nil)
        facts = stream.tlsFacts
        onSecured?(stream)
    }
    func received(_ bytes: Span<UInt8>, on stream: Stream) -> Int {
        #expect(facts != nil || lingers)
        #expect(bytes.count > 0)
        return probe.received(bytes, on: stream)
    }
    func refused(_ stream: Stream) -> Bool {
        if lingers { stream.shutdownWrite() }
        return lingers
    }
    func ended(_ stream: Stream) { probe.ended(stream) }
    func drained(_ stream: Stream) { probe.drained(stream) }
    func failed(_ stream: Stream, _ errno: Int32) { probe.failed(stream, errno) }
    func peerGone(_ stream: Stream) { probe.peerGone(stream) }
}

/// Both ends of a TLS connection on one loop.
final class SecurePair {
    let loop: EventLoop
    let server: Stream
    let client: Stream
    let atServer = SecureProbe()
    let atClient = SecureProbe()

    init(
        _ loop: EventLoop, server: TLSServerContext, client: TLSClientContext, endpoint: String = "a.example",
        descriptors: (Int32, Int32)? = nil
    ) {
        self.loop = loop
        let (near, far) = descriptors ?? socketPair()
        self.server = Stream(loop: loop, descriptor: near, tls: .server(server), handler: atServer)
        self.client = Stream(loop: loop, descriptor: far, tls: .client(client, endpoint: endpoint), handler: atClient)
    }

    /// Runs the loop until `condition` holds, for half a minute at most: timers have their time, however fast ticks go by.
    func until(_ condition: () -> Bool) {
        let deadline = ContinuousClock.now + .seconds(30)
        while !condition() {
            guard ContinuousClock.now < deadline else {
                Issue.record("it never came true")
                return
            }
            loop.afterTick(AtTickEnd {})
            loop.stop()
            loop.run()
        }
    }

    var isSecured: Bool { atServer.facts != nil && atClient.facts != nil }

    func close() {
        for probe in [atServer, atClient] {
            probe.probe.forget()
            probe.onSecured = nil
        }
        server.close()
        client.close()
    }
}

/// Runs `body` with both ends, after the handshake unless `waits` is false.
func withSecurePair(
    server: TLSServerOptions? = nil, client: TLSClientOptions? = nil, endpoint: String = "a.example",
    tcp: Bool = false, buffer: Int32? = nil, waits: Bool = true, _ body: (SecurePair) throws -> Void
) throws {
    try withLoop { loop in
        let descriptors = try tcp ? tcpPair() : socketPair(buffer: buffer)
        let pair = SecurePair(
            loop, server: try TLSServerContext(server ?? serverOptions("server")),
            client: try TLSClientContext(client ?? clientOptions()), endpoint: endpoint, descriptors: descriptors)
        if waits { pair.until { pair.isSecured } }
        try body(pair)
        pair.close()
    }
}
