internal import EventLoop

/// A client's connection, whatever it speaks, as the worker keeps it: what admission and draining ask of it.
protocol ClientConnection: AnyObject {
    /// The place in the worker's list.
    var listIndex: Int { get set }
    /// Whom the connection counts for, where connections of one client are counted.
    var client: ClientKey? { get set }
    /// Whether it waits for a request, of which nothing has come.
    var isIdle: Bool { get }
    var rest: ConnectionRest { get }
    /// Calls `body` with each exchange that it serves.
    func forEachExchange(_ body: (Exchange) -> Void)

    /// For draining: ends a connection that serves no request, at once or when it has been idle for a short while, and another one as
    /// soon as it serves none.
    func closeIfIdle()
    /// The grace time of a drain is over: closes at once. What isn't whole at the client must not look so (docs/rules.md F14).
    func endByDrain()
    /// Gives the place of an idle connection to others, unless a request has just come on it, which closing would reset.
    /// Returns whether it did.
    func closeIfQuiet() -> Bool
    /// Gives the place of a slow head to others: with an answer where part of it has come. Returns whether it did.
    func evictHead() -> Bool
}

/// What a connection does that serves no request, and since when.
enum ConnectionRest {
    case none
    /// Between two requests, with nothing to send.
    case idle(since: UInt64)
    /// Part of a head has arrived, or nothing yet on a new connection.
    case head(since: UInt64)
}
