internal import EventLoop
internal import HTTPWire
internal import Octets

// `Expect: 100-continue` that goes on to the upstream (docs/rules.md F11).
extension Exchange {
    enum ContinueState {
        /// Nobody waits: the client asked for nothing, has been told to go on, or sends without being told.
        case settled
        /// The upstream is asked; the client waits. → settled, refused
        case asked
        /// The upstream has answered finally instead: the body isn't sent to it.
        case refused
    }

    /// Nanoseconds that the upstream has for its 100: 1 s, as clients do who don't wait for ever.
    private static let continueTime: UInt64 = 1_000_000_000

    /// Tells the client to send its body: route, method, type and length have been checked.
    func sendContinue() {
        continueState = .settled
        guard request.minorVersion == 1, let downstream else { return }
        responseFramed.append("HTTP/1.1 100 Continue\r\n\r\n")
        downstream.stream.write(responseFramed.span)
        responseFramed.removeAll()
    }

    /// The request's head is out: gives the upstream its time to say 100.
    func awaitContinue() {
        if continueState == .asked { upstream?.expectResponse(within: Self.continueTime) }
    }

    /// The upstream has said 100, or nothing for too long: the client goes on.
    func continueRelayed() {
        guard continueState == .asked else { return }
        upstream?.expectNothing()
        sendContinue()
        if requestPhase == .body, !isHeldBack { downstream?.expectBody(within: times.bodyGap) }
    }

    /// The client sends its body without waiting for more.
    func clientGoesOn() {
        guard continueState == .asked else { return }
        continueState = .settled
        upstream?.expectNothing()
    }

    /// The upstream has answered without having asked for the body: it doesn't get it, and its connection is not used again,
    /// because nobody knows whether it waits for the body all the same (CVE-2024-24791).
    func refuseBody() {
        guard continueState == .asked else { return }
        continueState = .refused
        upstream?.refuseReuse()
    }
}
