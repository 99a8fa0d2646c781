internal import EventLoop

/// One worker's socket for an address of the settings, before the worker accepts on it.
struct BoundListener: Sendable {
    /// The address as the settings name it: with port 0 where the system chose one.
    let name: ListenAddress
    let socket: ListeningSocket

    /// Connections that may wait to be accepted; the system caps it (`net.core.somaxconn`).
    private static let backlog = 1024

    /// Opens sockets on `names` for `workers` workers: each gets one of its own for a TCP address, and a duplicate of the
    /// same for a unix socket and for one that the service manager holds. All or none: what was opened is closed on a failure.
    /// - Parameters:
    ///   - modes: who may connect to unix sockets that are opened.
    ///   - lifecycle: says whether other processes may listen there too.
    ///   - replaced: addresses of ours that are being closed, or will be. One that takes up the port of such a one may be opened beside
    ///     it.
    ///   - kept: addresses that are listened on already, and stay.
    ///   - inherited: sockets of the service manager, used where they fit.
    ///   - takesPlaces: false leaves the clients of an address that another process shares to that, until `takePlaces`.
    static func open(
        _ names: [ListenAddress], modes: [ListenAddress: SocketMode], workers: Int, lifecycle: LifecycleSettings,
        replaced: [ListenAddress] = [], kept: [ListenAddress] = [], inherited: InheritedSockets = InheritedSockets(),
        takesPlaces: Bool = true
    ) throws(ServerError) -> [[BoundListener]] {
        try checkInherited(kept + names, inherited)
        var opened = [[BoundListener]](repeating: [], count: workers)
        do throws(ServerError) {
            for name in names {
                let sharing: Sharing =
                    lifecycle.reusePort
                    ? .always : replaced.contains { $0.port == name.port && name.port != nil } ? .ifNeeded : .never
                try open(name, mode: modes[name], sharing: sharing, inherited: inherited, into: &opened)
            }
        } catch {
            for endpoint in opened.joined() { endpoint.socket.close() }
            throw error
        }
        if takesPlaces { try takePlaces(opened) }
        return opened
    }

    /// Opens one socket on `name`, as above: that of a port which one thread serves.
    static func open(
        _ name: ListenAddress, mode: SocketMode?, lifecycle: LifecycleSettings, takesPlace: Bool
    ) throws(ServerError) -> BoundListener {
        let modes = mode.map { [name: $0] } ?? [:]
        let opened = try open([name], modes: modes, workers: 1, lifecycle: lifecycle, takesPlaces: takesPlace)
        guard let socket = opened[0].first else { preconditionFailure("an address was opened and has no socket") }
        return socket
    }

    /// Lets clients come to sockets that were opened without taking their places. Where that fails all are closed.
    ///
    /// It is done when all that can fail has been: a process that ends as it starts, or a reload that is refused, has taken no client and
    /// no unix socket from the one that serves there.
    static func takePlaces(_ opened: [[BoundListener]]) throws(ServerError) {
        for endpoint in opened.joined() {
            do throws(LoopError) {
                try endpoint.socket.takePlace()
            } catch {
                for endpoint in opened.joined() { endpoint.socket.close() }
                throw .listen(endpoint.name.description, reason: error.description)
            }
        }
    }

    /// Throws where two of `names` are one socket of the service manager: each connection there would be served as either of them says, in
    /// plain text where TLS was asked for. Two sockets that are bound to one address are as bad: the system picks one of them.
    private static func checkInherited(
        _ names: [ListenAddress], _ inherited: InheritedSockets
    ) throws(ServerError) {
        var seen: [(name: ListenAddress, socket: ListeningSocket)] = []
        for name in names {
            let sockets = inherited.fitting(name)
            for socket in sockets {
                guard let other = seen.first(where: { $0.socket.isPlace(of: socket) })?.name else { continue }
                guard case .systemd = name else {
                    throw .listen(other.description, reason: "it is \(name), which is listed too")
                }
                guard case .systemd = other else {
                    throw .listen(name.description, reason: "it is \(other), which is listed too")
                }
                throw .listen(
                    name.description, reason: "it is \(socket.address), and so is \(other), which is listed too")
            }
            seen += sockets.map { (name: name, socket: $0) }
        }
    }

    /// Whether an address may be opened where others listen already that let others do so.
    private enum Sharing {
        case always
        /// Where it is in use, since that may be by a socket of our own that is about to be closed. Each of those shares with later ones,
        /// so that nobody is let in here who could not be there already. Where it isn't in use any more, nobody else is let in.
        case ifNeeded
        case never
    }

    /// Opens the first socket on `address`.
    private static func open(
        _ address: SocketAddress, mode: SocketMode?, sharing: Sharing
    ) throws(LoopError) -> ListeningSocket {
        func open(_ sharing: ListeningSocket.Sharing) throws(LoopError) -> ListeningSocket {
            try ListeningSocket.open(
                address, sharing: sharing, backlog: backlog, mode: mode?.bits, takesPlace: false)
        }
        if case .always = sharing { return try open(.anybody) }
        do throws(LoopError) {
            return try open(.laterOnes)
        } catch {
            guard case .ifNeeded = sharing, case .addressInUse = error else { throw error }
            return try open(.anybody)
        }
    }

    private static func open(
        _ name: ListenAddress, mode: SocketMode?, sharing: Sharing, inherited: InheritedSockets,
        into opened: inout [[BoundListener]]
    ) throws(ServerError) {
        if case .systemd(let wanted) = name { return try share(inherited.named(wanted), as: name, into: &opened) }
        guard let address = SocketAddress.parse(name.description) else {
            throw .listen(name.description, reason: "it is not an address")
        }
        if let socket = inherited.socket(for: address) { return try share([socket], as: name, into: &opened) }
        do throws(LoopError) {
            let first = try open(address, mode: mode, sharing: sharing)
            opened[0].append(BoundListener(name: name, socket: first))
            for worker in opened.indices.dropFirst() {
                let socket =
                    address.isUnix
                    ? try first.duplicate()
                    : try ListeningSocket.open(
                        first.address, sharing: .anybody, backlog: backlog, takesPlace: false)
                opened[worker].append(BoundListener(name: name, socket: socket))
            }
        } catch {
            throw .listen(name.description, reason: error.description)
        }
    }

    /// Gives each worker its duplicate of `sockets`, which stay open for the next settings.
    private static func share(
        _ sockets: [ListeningSocket], as name: ListenAddress, into opened: inout [[BoundListener]]
    ) throws(ServerError) {
        guard !sockets.isEmpty else {
            throw .listen(name.description, reason: "the service manager gave no socket of that name")
        }
        do throws(LoopError) {
            for worker in opened.indices {
                for socket in sockets {
                    opened[worker].append(BoundListener(name: name, socket: try socket.duplicate()))
                }
            }
        } catch {
            throw .listen(name.description, reason: error.description)
        }
    }
}

extension ListenAddress {
    /// The port of a TCP address that names one.
    fileprivate var port: Int? {
        guard case .tcp(_, let port) = self, port != 0 else { return nil }
        return port
    }
}

extension InheritedSockets {
    /// Those that are used for `name`.
    fileprivate func fitting(_ name: ListenAddress) -> [ListeningSocket] {
        if case .systemd(let wanted) = name { return named(wanted) }
        guard !sockets.isEmpty, let address = SocketAddress.parse(name.description) else { return [] }
        return socket(for: address).map { [$0] } ?? []
    }
}
