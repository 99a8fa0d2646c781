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
    ///   - lifecycle: says whether other processes may listen there too.
    ///   - replaced: addresses that will be closed. One that takes up the port of such a one may be opened beside it.
    ///   - inherited: sockets of the service manager, used where they fit.
    static func open(
        _ names: [ListenAddress], workers: Int, lifecycle: LifecycleSettings, replaced: [ListenAddress] = [],
        inherited: InheritedSockets = InheritedSockets()
    ) throws(ServerError) -> [[BoundListener]] {
        var opened = [[BoundListener]](repeating: [], count: workers)
        do throws(ServerError) {
            for name in names {
                let sharing: ListeningSocket.Sharing =
                    lifecycle.reusePort || replaced.contains { $0.port == name.port && name.port != nil }
                    ? .anybody : .laterOnes
                try open(name, sharing: sharing, inherited: inherited, into: &opened)
            }
        } catch {
            for endpoint in opened.joined() { endpoint.socket.close() }
            throw error
        }
        return opened
    }

    private static func open(
        _ name: ListenAddress, sharing: ListeningSocket.Sharing, inherited: InheritedSockets,
        into opened: inout [[BoundListener]]
    ) throws(ServerError) {
        if case .systemd(let wanted) = name { return try share(inherited.named(wanted), as: name, into: &opened) }
        guard let address = SocketAddress.parse(name.description) else {
            throw .listen(name.description, reason: "it is not an address")
        }
        if let socket = inherited.socket(for: address) { return try share([socket], as: name, into: &opened) }
        do throws(LoopError) {
            let first = try ListeningSocket.open(address, sharing: sharing, backlog: backlog)
            opened[0].append(BoundListener(name: name, socket: first))
            for worker in opened.indices.dropFirst() {
                let socket =
                    address.isUnix
                    ? try first.duplicate()
                    : try ListeningSocket.open(first.address, sharing: .anybody, backlog: backlog)
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
