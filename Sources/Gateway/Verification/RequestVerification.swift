package import Signatures

/// How a route sees whose requests it gets: what `verify` says in the settings, ready for use.
public final class RequestVerification: Sendable {
    /// What becomes of a request that isn't the sender's.
    package enum Failure: Hashable, Sendable {
        /// It is answered with this status: 400, 401 or 403.
        case status(Int)
        /// It goes on, and the upstream is told.
        case report
    }

    /// How what a sender keeps on its own server is fetched.
    package struct Fetching: Hashable, Sendable {
        /// A PEM file of authorities; nil: those of the system.
        package var authorities: String?
        /// SHA-256 of what that file had when the settings were read, so that another content is another trust.
        package var authoritiesDigest: [UInt8] = []
        /// Whom to connect to in place of the sender's host; nil: that host, port 443.
        package var address: (host: String, port: UInt16)? { host.map { ($0, port) } }
        package var host: String?
        package var port: UInt16 = 443

        package init() {}
    }

    package let options: SignatureVerifier.Options
    package let failure: Failure
    /// Bytes of content that are held until its signature is known; 413 beyond (`limits.signed`).
    package let limit: Int
    /// How the requests that came are remembered; nil: not at all.
    package let replay: ReplayMemory.Options?
    /// The sender's challenges, which are answered here; nil where it has none.
    package let challenge: EndpointChallenge?
    /// Whether they go to the upstream instead.
    package let forwardsChallenges: Bool
    /// What was agreed on with a sender whose challenges have a token.
    package let challengeToken: [UInt8]?
    /// How certificates and confirmations are fetched; nil: not at all.
    package let fetching: Fetching?

    /// What the sender is called: in logs, metrics and the field that the upstream gets.
    package var sender: String { options.scheme.name }

    /// The same, with the fields of bodies read so.
    func reading(_ reading: SignedBodyReading) -> RequestVerification {
        var options = options
        options.reading = reading
        return RequestVerification(
            options, failure: failure, limit: limit, replay: replay, forwardsChallenges: forwardsChallenges,
            challengeToken: challengeToken, fetching: fetching)
    }

    /// What is signed and looked at, for people.
    package var summary: [(key: String, value: String)] {
        var lines = options.scheme.summary
        if let topics = options.topics { lines.append(("topics", topics.description)) }
        if options.scheme.signsURL { lines.append(("url", options.publicURL ?? "the request's own")) }
        switch failure {
        case .status(let status): lines.append(("otherwise", "\(status)"))
        case .report: lines.append(("otherwise", "forwarded, with Recast-Verified: failed"))
        }
        if fetching != nil {
            lines.append(("certificates", "those that are pinned, or fetched from the sender's host"))
        }
        if challenge != nil { lines.append(("challenges", forwardsChallenges ? "forwarded" : "answered here")) }
        if let replay { lines.append(("replays", "409 within \(replay.time / 1_000_000_000) s")) }
        return lines
    }

    /// Bytes of content where no setting says otherwise, 1 MiB: webhooks are small.
    public static let standardLimit = 1024 * 1024

    package init(
        _ options: SignatureVerifier.Options, failure: Failure, limit: Int, replay: ReplayMemory.Options? = nil,
        forwardsChallenges: Bool = false, challengeToken: [UInt8]? = nil, fetching: Fetching? = nil
    ) {
        var options = options
        options.remembers = replay != nil
        self.options = options
        self.failure = failure
        self.limit = limit
        self.replay = replay
        challenge = options.scheme.challenge
        self.forwardsChallenges = forwardsChallenges
        self.challengeToken = challengeToken
        self.fetching = fetching
    }
}

/// What came of a verification.
package enum VerificationResult: Hashable, Sendable {
    case verified
    /// The sender's challenge: it was answered here, or goes on as the settings say.
    case challenge
    case failed(SignatureFault)

    /// For logs and metrics.
    package var name: String {
        switch self {
        case .verified: "verified"
        case .challenge: "challenge"
        case .failed(let fault): fault.rawValue
        }
    }
}
