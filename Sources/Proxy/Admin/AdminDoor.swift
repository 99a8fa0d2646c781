internal import EventLoop
internal import Logging

/// One address on which the admin server listens, and who is connected there: 64 at most.
final class AdminDoor {
    /// What can be asked there, by the name of its key in the settings.
    enum Surface: String {
        /// All, by callers of the port under a name that is its own.
        case commands = "admin"
        /// What `AdminEndpoint.isStatus` holds for, by anybody.
        case status
    }

    let surface: Surface
    /// Where it listens, or did, with the real port.
    let address: SocketAddress
    private var bound: BoundListener
    /// Whether there is no listener for it yet, which would close it.
    private var isWaiting = true
    /// Why it can't be listened on anew, as it was told: each look would tell it again.
    private var toldLost: String?
    private let mode: SocketMode?
    private let loop: EventLoop
    private let handle: (AdminRequest, AdminDoor, @escaping (AdminResponse) -> Void) -> Void
    private var listener: Listener?
    private var connections: [ObjectIdentifier: AdminConnection] = [:]
    /// Whether who comes is another process' client from now on.
    private var isLeaving = false
    /// Connections that there was no room for.
    private(set) var refused: UInt64 = 0
    private var refusalLines = LineLimit()

    private static let connectionLimit = 64

    /// Listens on `address`, beside other processes where `lifecycle` lets them, from `takePlace` on.
    /// - Parameters:
    ///   - mode: who may connect to a unix socket; nil: the process' umask decides.
    ///   - handle: answers a request, at once or later.
    init(
        loop: EventLoop, address: ListenAddress, mode: SocketMode?, lifecycle: LifecycleSettings, surface: Surface,
        handle: @escaping (AdminRequest, AdminDoor, @escaping (AdminResponse) -> Void) -> Void
    ) throws(ServerError) {
        let bound = try BoundListener.open(address, mode: mode, lifecycle: lifecycle, takesPlace: false)
        self.bound = bound
        self.mode = mode
        self.address = bound.socket.address
        self.loop = loop
        self.surface = surface
        self.handle = handle
        // The system would report one that doesn't listen yet again and again.
        if bound.socket.isListening { listen() }
    }

    private func listen() {
        isWaiting = false
        listener = Listener(loop: loop, socket: bound.socket) { [unowned self] descriptor, _ in accept(descriptor) }
    }

    /// Lets clients come, who were another process' where one shares the address.
    func takePlace() throws(ServerError) {
        do throws(LoopError) {
            try bound.socket.takePlace()
        } catch {
            throw .listen(bound.name.description, reason: error.description)
        }
        if isWaiting { listen() }
    }

    /// Whether it is a unix socket at whose path another file stands, or none.
    var isDisplaced: Bool { !isLeaving && listener?.isDisplaced == true }

    /// Listens once more where it is a unix socket whose file somebody has removed.
    func reopenIfLost(_ lifecycle: LifecycleSettings) {
        guard !isLeaving, let old = listener, old.isLost else { return }
        do throws(ServerError) {
            bound = try BoundListener.open(bound.name, mode: mode, lifecycle: lifecycle.alone, takesPlace: true)
            old.finish(after: 0) {}
            listen()
            toldLost = nil
            OperationalLog.logger.warning("the file of \(address) was gone: it is listened on anew")
        } catch {
            // Another process may have come there meanwhile.
            let reason = "\(error)"
            guard old.isLost, toldLost != reason else { return }
            toldLost = reason
            OperationalLog.logger.error(
                "the file of \(address) is gone, so that nobody finds the \(surface.rawValue) port: \(reason)")
        }
    }

    /// Leaves the address to other processes that listen there. Who is connected gets one more answer, the last on its connection.
    /// - Parameter handshake: nanoseconds for handshakes that have begun.
    func leave(after handshake: UInt64) {
        guard !isLeaving else { return }
        isLeaving = true
        for connection in connections.values { connection.answersOnce = true }
        listener?.finish(after: handshake) { [weak self] in self?.listener = nil }
    }

    func close() {
        if isWaiting { bound.socket.close() }
        isWaiting = false
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
        if connections.count >= Self.connectionLimit, !closeLongestIdle() {
            // All others are being served, or are clients that are behind: for a while, as those of somebody who wants to keep probes out.
            (longestOwing ?? connection).close()
            noteRefusal()
        }
        guard !connection.isOver else { return }
        connection.answersOnce = isLeaving
        connections[ObjectIdentifier(connection)] = connection
    }

    /// Who keeps a connection and asks nothing keeps no probe out. Returns whether there is room now.
    private func closeLongestIdle() -> Bool {
        let idle = connections.values.compactMap { connection in
            connection.idleSince.map { (since: $0, connection: connection) }
        }
        return idle.sorted { $0.since < $1.since }.contains { $0.connection.closeIfQuiet() }
    }

    /// The one whose client has owed the rest of a request, or has left answers untaken, for longest.
    private var longestOwing: AdminConnection? {
        let owing = connections.values.filter { $0.owesSince != nil }
        return owing.min { $0.owesSince ?? 0 < $1.owesSince ?? 0 }
    }

    /// One was let go at once, or before its request was whole or its answers were taken.
    private func noteRefusal() {
        refused += 1
        guard let others = refusalLines.next(loop.now) else { return }
        OperationalLog.logger.warning(
            "the \(surface.rawValue) port has \(Self.connectionLimit) connections with requests: closed one\(others)")
    }
}
