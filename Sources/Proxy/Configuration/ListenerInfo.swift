/// What a connection must know of the listener that it came through.
final class ListenerInfo {
    /// The port that the client connected to; 0 for a unix socket.
    let port: Int
    /// X-Forwarded-Proto and, where there is a port, X-Forwarded-Port, as lines: of connections without TLS, and with it.
    let schemeLines: [UInt8]
    let securedSchemeLines: [UInt8]
    /// They belong to the listener and not to the settings in effect: those may not know an address any more while connections
    /// still wait there.
    var settings: ListenerSettings

    init(port: Int = 0, _ settings: ListenerSettings = ListenerSettings()) {
        self.port = port
        self.settings = settings
        let portLine = port > 0 ? "X-Forwarded-Port: \(port)\r\n" : ""
        schemeLines = Array("X-Forwarded-Proto: http\r\n\(portLine)".utf8)
        securedSchemeLines = Array("X-Forwarded-Proto: https\r\n\(portLine)".utf8)
    }
}
