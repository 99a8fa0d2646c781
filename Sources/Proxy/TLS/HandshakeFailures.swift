internal import EventLoop
internal import Logging

/// Tells of handshakes that failed, once in ten seconds at most: anybody can make them fail as often as they like.
struct HandshakeFailures {
    private var nextTime: UInt64 = 0
    private var untold = 0

    private static let interval: UInt64 = 10_000_000_000

    mutating func tell(_ error: TLSError, peer: SocketAddress, _ worker: Worker) {
        // A peer that only looks whether the port is open has done nothing wrong.
        if error.reason == .closed || error.reason == .reset { return }
        let now = worker.loop.now
        guard now >= nextTime else {
            untold += 1
            return
        }
        let others = untold == 0 ? "" : "; \(untold) more since the last such line"
        nextTime = now + Self.interval
        untold = 0
        worker.logger.warning("the TLS handshake with \(peer) failed: \(error)\(others)")
    }
}
