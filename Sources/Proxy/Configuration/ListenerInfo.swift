/// What a connection must know of the listener that it came through.
final class ListenerInfo {
    /// The port that the client connected to; 0 for a unix socket.
    let port: Int
    /// X-Forwarded-Proto and, where there is a port, X-Forwarded-Port, as lines: of connections without TLS, and with it.
    let schemeLines: [UInt8]
    let securedSchemeLines: [UInt8]
    /// What connections begin TLS with; nil: the address is one of plain text. It belongs to the listener and not to the
    /// settings in effect: those may not know an address any more while connections still wait there.
    var tls: ServerTLS?
    /// What is served there; the listener's for the same reason.
    var service: ListenerService
    /// What is spoken there; the listener's for the same reason.
    var versions: HTTPVersions

    init(
        port: Int = 0, tls: ServerTLS? = nil, service: ListenerService = .http, versions: HTTPVersions = .all
    ) {
        self.service = service
        self.port = port
        self.tls = tls
        self.versions = versions
        let portLine = port > 0 ? "X-Forwarded-Port: \(port)\r\n" : ""
        schemeLines = Array("X-Forwarded-Proto: http\r\n\(portLine)".utf8)
        securedSchemeLines = Array("X-Forwarded-Proto: https\r\n\(portLine)".utf8)
    }
}
