import EventLoop
import Glibc
import Octets
import Testing

/// Somebody on the way between the two ends of a connection: passes bytes on in pieces, cuts, changes or ends it.
final class TLSRelay {
    /// What becomes of a piece on its way to the other end.
    typealias Change = (_ bytes: [UInt8], _ relay: TLSRelay) -> [UInt8]

    private final class Side: StreamHandler {
        unowned let relay: TLSRelay
        var other: Stream?
        var change: Change = { bytes, _ in bytes }
        var passesEnd = true
        init(_ relay: TLSRelay) { self.relay = relay }

        func received(_ bytes: Span<UInt8>, on stream: Stream) -> Int {
            var piece = min(relay.slice, bytes.count)
            // What goes together: a slice of 1 byte is one system call, and at the other end one read.
            var rest = [UInt8](capacity: piece)
            for index in 0..<piece { rest.append(bytes[index]) }
            piece = rest.count
            let changed = change(rest, relay)
            if !changed.isEmpty { other?.write(changed.span) }
            if piece < bytes.count {
                stream.pauseReading()
                stream.loop.afterTick(AtTickEnd { stream.resumeReading() })
            }
            return piece
        }
        func ended(_ stream: Stream) { if passesEnd { other?.shutdownWrite() } }
        func drained(_ stream: Stream) {}
        func failed(_ stream: Stream, _ errno: Int32) { other?.abort() }
    }

    var slice = Int.max
    private var fromServer: Side!
    private var fromClient: Side!
    private var serverSide: Stream!
    private var clientSide: Stream!

    /// The two sockets that server and client use.
    let descriptors: (Int32, Int32)

    init(_ loop: EventLoop) throws {
        let (server, near) = try tcpPair()
        let (client, far) = try tcpPair()
        descriptors = (server, client)
        fromServer = Side(self)
        fromClient = Side(self)
        serverSide = Stream(loop: loop, descriptor: near, handler: fromServer)
        clientSide = Stream(loop: loop, descriptor: far, handler: fromClient)
        fromServer.other = clientSide
        fromClient.other = serverSide
    }

    /// Changes what the server sends.
    func changeAnswers(_ change: @escaping Change) { fromServer.change = change }

    /// Ends the connection to the client, with a FIN or a reset, in the middle of whatever is going on.
    func cutClient(reset: Bool) {
        if reset { clientSide.abort() } else { clientSide.shutdownWrite() }
    }

    func end() {
        fromServer.other = nil
        fromClient.other = nil
        serverSide.close()
        clientSide.close()
    }
}

extension [UInt8] {
    init(capacity: Int) {
        self.init()
        reserveCapacity(capacity)
    }
}

/// As `withSecurePair`, with a relay between the ends.
func withRelayedPair(
    server: TLSServerOptions? = nil, waits: Bool = true, prepare: (TLSRelay) -> Void = { _ in },
    _ body: (SecurePair, TLSRelay) throws -> Void
) throws {
    try withLoop { loop in
        let relay = try TLSRelay(loop)
        prepare(relay)
        let pair = SecurePair(
            loop, server: try TLSServerContext(server ?? serverOptions("server")),
            client: try TLSClientContext(clientOptions()), descriptors: relay.descriptors)
        if waits { pair.until { pair.isSecured } }
        try body(pair, relay)
        pair.close()
        relay.end()
    }
}
