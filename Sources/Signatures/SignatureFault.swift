/// Why a request is not taken for its sender's. The reasons are told in logs, metrics and answers; none of them holds a byte of a
/// secret, of an expected signature or of the body.
package enum SignatureFault: String, Sendable, CaseIterable {
    /// A field that the signature stands in, or that is signed, is missing.
    case missing
    /// A field that may come once came more often: which one was meant can't be known.
    case duplicated
    /// The signature, the time or what holds them can't be read.
    case malformed
    /// The signature is no secret's over these bytes.
    case mismatch
    /// The time that was signed is too long ago.
    case expired
    /// The time that was signed is too far ahead.
    case future
    /// The same request came before.
    case replayed
    /// The content is longer than what is held until its signature is known.
    case tooLong = "too_long"
    /// The body can't be read in the way that its signature needs.
    case body
    /// The certificate that the sender names is none of those that are pinned, isn't the sender's, or is out of its time.
    case certificate
    /// The message is of a topic that isn't taken: another customer of the sender's has sent it.
    case topic
    /// What the sender keeps on its own server can't be fetched now: its certificate, or the page that confirms a subscription.
    case unfetched

    /// For an answer's detail, with what is missing where that is known.
    package func detail(lacking field: String?) -> String {
        guard self == .missing, let field else { return detail }
        return "the request has no \(field), which its signature needs"
    }

    /// For an answer's detail.
    package var detail: String {
        switch self {
        case .missing: "the request has no signature, or not all that is signed"
        case .duplicated: "the request has more than one signature, or of what is signed, where one is taken"
        case .malformed: "the signature or its time can't be read"
        case .mismatch: "the signature doesn't match the request"
        case .expired: "the signature is too old"
        case .future: "the signature's time lies ahead"
        case .replayed: "the request came before"
        case .tooLong: "the content is longer than what can be verified"
        case .body: "the body can't be read for its signature"
        case .certificate: "the certificate of the signature isn't trusted"
        case .topic: "the message is of a topic that the route doesn't take"
        case .unfetched: "what the sender keeps on its own server can't be fetched now"
        }
    }
}
