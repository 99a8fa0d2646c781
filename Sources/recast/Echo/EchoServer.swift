internal import EventLoop
internal import Glibc

/// A small upstream that answers every request with what it received, parsed: for trying things out.
///
/// It is made for people and tests: one thread, no time-outs.
final class EchoServer {
    private let loop: EventLoop
    private var listener: Listener?
    private var connections: [ObjectIdentifier: EchoConnection] = [:]

    /// Listens on `address` and serves until SIGTERM, SIGINT or SIGQUIT. `ready` hears the bound address.
    static func run(address: SocketAddress, ready: (SocketAddress) -> Void) throws(LoopError) {
        ignoreSignalsOfWrites()
        let loop = try EventLoop()
        let server = EchoServer(loop: loop)
        let listener = try Listener(loop: loop, address: address, reusePort: false, backlog: 128) { [unowned server] in
            server.accept($0, $1)
        }
        server.listener = listener
        handOverSignals {
            for number in [SIGTERM, SIGINT, SIGQUIT] { loop.onSignal(number) { [unowned loop] in loop.stop() } }
        }
        ready(listener.address)
        loop.run()
        listener.close()
    }

    /// Listens on a free port of this machine, and serves on a thread of its own until the process ends. Returns its address.
    static func start() throws(LoopError) -> SocketAddress {
        guard let any = SocketAddress.parse("127.0.0.1:0") else { throw .system(call: "bind", errno: EINVAL) }
        ignoreSignalsOfWrites()
        let socket = try ListeningSocket.open(any, sharing: .none, backlog: 128)
        // The handle is dropped: the thread ends with the process.
        _ = try startThread(name: "echo") {
            do throws(LoopError) {
                let loop = try EventLoop()
                let server = EchoServer(loop: loop)
                server.listener = Listener(loop: loop, socket: socket) { [unowned server] in server.accept($0, $1) }
                loop.run()
            } catch {
                StandardStreams.report("recast: the echo ended: \(error)")
            }
        }
        return socket.address
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
