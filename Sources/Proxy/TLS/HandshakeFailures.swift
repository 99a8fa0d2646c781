internal import EventLoop
internal import Logging

/// Tells of handshakes that failed, once in ten seconds at most: anybody can make them fail as often as they like.
struct HandshakeFailures {
    private var limit = LineLimit()

    mutating func tell(_ error: TLSError, peer: SocketAddress, _ worker: Worker) {
        // A peer that only looks whether the port is open has done nothing wrong.
        if error.reason == .closed || error.reason == .reset { return }
        guard let others = limit.next(worker.loop.now) else { return }
        worker.logger.warning("the TLS handshake with \(peer) failed: \(error)\(others)")
    }
}
