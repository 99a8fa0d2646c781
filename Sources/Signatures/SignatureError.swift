package import Transcoding

/// Why a request isn't taken for its sender's, or can't be signed: the fault, and what more there is to say of it for whoever mends it.
package struct SignatureError: Error, Hashable, Sendable {
    package let fault: SignatureFault
    private let more: More?

    private indirect enum More: Hashable, Sendable {
        case lacking(String)
        case limit(ConversionError)
    }

    private init(_ fault: SignatureFault, _ more: More) {
        self.fault = fault
        self.more = more
    }

    package init(_ fault: SignatureFault) {
        self.fault = fault
        more = nil
    }

    package static let missing = SignatureError(.missing)
    package static let duplicated = SignatureError(.duplicated)
    package static let malformed = SignatureError(.malformed)
    package static let mismatch = SignatureError(.mismatch)
    package static let expired = SignatureError(.expired)
    package static let future = SignatureError(.future)
    package static let replayed = SignatureError(.replayed)
    package static let tooLong = SignatureError(.tooLong)
    package static let body = SignatureError(.body)
    package static let certificate = SignatureError(.certificate)
    package static let topic = SignatureError(.topic)
    package static let unfetched = SignatureError(.unfetched)

    /// This is missing: a field of the head, a field of a form, or a member of JSON by its pointer (RFC 6901).
    static func lacking(_ field: String) -> SignatureError { SignatureError(.missing, .lacking(field)) }

    /// The body's fields pass one of the limits by which it is read.
    static func limit(_ error: ConversionError) -> SignatureError { SignatureError(.tooLong, .limit(error)) }

    /// What is missing, where that is one thing.
    package var field: String? { if case .lacking(let field)? = more { field } else { nil } }

    /// Of a body whose fields pass a limit that isn't one of signatures: which one.
    package var limit: ConversionError? { if case .limit(let error)? = more { error } else { nil } }

    /// One sentence for a person.
    package var detail: String { limit?.reason ?? fault.detail(lacking: field) }
}
