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

    package let options: SignatureVerifier.Options
    package let failure: Failure
    /// Bytes of content that are held until its signature is known; 413 beyond (`limits.signed`).
    package let limit: Int

    /// What the sender is called: in logs, metrics and the field that the upstream gets.
    package var sender: String { options.scheme.name }

    /// Bytes of content where no setting says otherwise, 1 MiB: webhooks are small.
    public static let standardLimit = 1024 * 1024

    package init(_ options: SignatureVerifier.Options, failure: Failure, limit: Int) {
        self.options = options
        self.failure = failure
        self.limit = limit
    }
}
