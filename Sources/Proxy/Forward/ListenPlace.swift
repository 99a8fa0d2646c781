/// What a connection must know of the listener that it came through.
final class ListenPlace {
    /// The port that the client connected to; 0 for a unix socket.
    var port = 0
}
