internal import EventLoop
internal import HTTPWire
internal import Logging

/// What a connection must know of the listener that it came through.
final class ListenerInfo {
    /// Its address, for the operator.
    let name: String
    /// The port that the client connected to; 0 for a unix socket.
    let port: Int
    /// X-Forwarded-Proto and, where there is a port, X-Forwarded-Port, as lines: of connections without TLS, and with it.
    let schemeLines: [UInt8]
    let securedSchemeLines: [UInt8]
    /// They belong to the listener and not to the settings in effect: those may not know an address any more while connections
    /// still wait there.
    var settings: ListenerSettings
    /// Which lines of clients that can't be served are told, by the word for why.
    private var faultLines = LineLimits<String>()

    init(name: String = "", port: Int = 0, _ settings: ListenerSettings = ListenerSettings()) {
        self.name = name
        self.port = port
        self.settings = settings
        let portLine = port > 0 ? "X-Forwarded-Port: \(port)\r\n" : ""
        schemeLines = Array("X-Forwarded-Proto: http\r\n\(portLine)".utf8)
        securedSchemeLines = Array("X-Forwarded-Proto: https\r\n\(portLine)".utf8)
    }
}

// What is told of clients that can't be served, each reason once in ten seconds at most: anybody can be one as often as they like.
extension ListenerInfo {
    /// Tells of a handshake that failed.
    func tell(_ error: TLSError, peer: SocketAddress, now: UInt64) {
        let word: String
        switch error.reason {
        // A peer that only looks whether the port is open has done nothing wrong.
        case .closed, .reset: return
        // Its number is the client's choice.
        case .alert: word = "alert"
        default: word = error.word
        }
        guard let others = faultLines.next(word, now) else { return }
        OperationalLog.logger.warning("listener \(name): the TLS handshake with \(peer) failed: \(error)\(others)")
    }

    /// Tells of a client that speaks another protocol than HTTP.
    func tell(_ error: WireError, peer: SocketAddress, now: UInt64) {
        guard let others = faultLines.next(error.code, now) else { return }
        OperationalLog.logger.warning("listener \(name): \(peer) can't be served: \(error.reason)\(others)")
    }
}
