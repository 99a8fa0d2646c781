internal import HTTP2

/// What requests of HTTP/2 leave behind for the next ones of the same worker: of a request nothing is to be allocated, and an idle
/// connection holds none of it.
///
/// SAFETY of `@exclusivity(unchecked)`: one thread uses it, and nobody is called while the list is changed.
final class HTTP2Spares {
    /// As many as there are spare streams.
    private static let most = 256
    /// Bytes that the buffer of a spare keeps: enough for the head of most responses.
    static let keptCapacity = 2048

    let streams = HTTP2StreamSpares()
    @safe @exclusivity(unchecked) private var downstreams: [HTTP2Downstream] = []

    func take(_ stream: HTTP2Stream, on connection: HTTP2Connection) -> HTTP2Downstream {
        let downstream = downstreams.popLast() ?? HTTP2Downstream(connection.worker)
        downstream.attach(to: stream, on: connection)
        return downstream
    }

    /// Takes one that nobody will call any more.
    func give(_ downstream: HTTP2Downstream) {
        if downstreams.count < Self.most { downstreams.append(downstream) }
    }

    /// Lets go of all, which hold the worker.
    func removeAll() { downstreams.removeAll() }
}
