internal import EventLoop

/// One address on which the admin server listens, and who is connected there: 64 at most.
final class AdminDoor {
    /// What can be asked there.
    enum Surface {
        /// All, by callers of the port under a name that is its own.
        case commands
        /// What `AdminEndpoint.isStatus` holds for, by anybody.
        case status
    }

    let surface: Surface
    private let loop: EventLoop
    private let handle: (AdminRequest, AdminDoor, @escaping (AdminResponse) -> Void) -> Void
    private var listener: Listener?
    private var connections: [ObjectIdentifier: AdminConnection] = [:]

    private static let connectionLimit = 64

    /// Listens on `address`.
    /// - Parameter handle: answers a request, at once or later.
    init(
        loop: EventLoop, address: ListenAddress, surface: Surface,
        handle: @escaping (AdminRequest, AdminDoor, @escaping (AdminResponse) -> Void) -> Void
    ) throws(ServerError) {
        self.loop = loop
        self.surface = surface
        self.handle = handle
        guard let socketAddress = SocketAddress.parse(address.description) else {
            throw .listen(address.description, reason: "it is not an address")
        }
        do throws(LoopError) {
            listener = try Listener(loop: loop, address: socketAddress, backlog: 64) { [unowned self] descriptor, _ in
                accept(descriptor)
            }
        } catch {
            throw .listen(address.description, reason: error.description)
        }
    }

    /// Where it listens, with the real port.
    var address: SocketAddress? { listener?.address }

    func close() {
        listener?.close()
        listener = nil
        for connection in connections.values { connection.close() }
    }

    private func accept(_ descriptor: Int32) {
        let connection = AdminConnection(descriptor, loop: loop) { [unowned self] request, respond in
            handle(request, self, respond)
        } onEnd: { [unowned self] ended in
            connections[ObjectIdentifier(ended)] = nil
        }
        // One too many is let go at once: the holder of the others is no operator.
        guard connections.count < Self.connectionLimit else { return connection.close() }
        connections[ObjectIdentifier(connection)] = connection
    }
}
