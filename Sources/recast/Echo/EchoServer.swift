internal import EventLoop
internal import Glibc

/// A small upstream that answers every request with what it received, parsed: for trying things out.
///
/// It is made for people and tests: one thread, no time-outs.
final class EchoServer {
    private let loop: EventLoop
    private var listener: Listener?
    private var connections: [ObjectIdentifier: EchoConnection] = [:]

    /// Listens on `address` and serves until SIGTERM or SIGINT. `ready` hears the bound address.
    static func run(address: SocketAddress, ready: (SocketAddress) -> Void) throws(LoopError) {
        ignoreSIGPIPE()
        let loop = try EventLoop()
        let server = EchoServer(loop: loop)
        let listener = try Listener(loop: loop, address: address, reusePort: false, backlog: 128) { [unowned server] in
            server.accept($0, $1)
        }
        server.listener = listener
        for number in [SIGTERM, SIGINT] { loop.onSignal(number) { [unowned loop] in loop.stop() } }
        ready(listener.address)
        loop.run()
        listener.close()
    }

    private init(loop: EventLoop) {
        self.loop = loop
    }

    private func accept(_ descriptor: Int32, _ peer: SocketAddress) {
        let connection = EchoConnection(descriptor, loop: loop) { [unowned self] in
            connections[ObjectIdentifier($0)] = nil
        }
        connections[ObjectIdentifier(connection)] = connection
    }
}
