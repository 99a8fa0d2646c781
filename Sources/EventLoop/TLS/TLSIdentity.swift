internal import CTLSShims

/// A certificate with the rest of its chain, and its key: two PEM files, which may be the same one.
public struct TLSIdentity: Hashable, Sendable {
    public var certificate: String
    public var key: String

    public init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }
}

/// How long what a file holds is good, in seconds since 1970.
public struct TLSFileLife: Hashable, Sendable {
    public let role: TLSFileError.Role
    /// Which of several certificates, 0 for the first.
    public let index: Int
    public let path: String
    /// A certificate's own; nil for the others.
    public let notBefore: Int64?
    /// A certificate's subject after RFC 2253, and its serial number; nil for the others.
    public let title: String?
    /// Of authorities the last one's end; of revocation lists the first end behind which an issuer's certificates are refused.
    public let notAfter: Int64
}

/// An OpenSSL context. Not changed any more once it is in use, but for the keys of tickets, which have a lock: that makes it `Sendable`.
@safe
final class TLSContextHandle: @unchecked Sendable {
    let pointer: OpaquePointer
    /// SHA-256 of each file that was read, in this order; nil where one could not be made.
    private(set) var contents: [[UInt8]]? = []

    /// - Throws: `TLSFileError` without a path when memory is out.
    init(isClient: Bool, minimum: TLSVersion, maximum: TLSVersion) throws(TLSFileError) {
        // SAFETY: the context is made here and given back in deinit.
        guard let made = unsafe recast_tls_context_create(isClient, minimum.number, maximum.number) else {
            throw TLSFileError(role: .certificate, index: 0, path: "", reason: "OpenSSL has no memory for a context")
        }
        unsafe pointer = made
    }

    deinit {
        // SAFETY: sessions hold OpenSSL's own count of references; the shim's struct is not used by them any more,
        // because each session's owner holds this object.
        unsafe recast_tls_context_free(pointer)
    }

    func use(_ identity: TLSIdentity, index: Int = 0) throws(TLSFileError) {
        // SAFETY: the text lives during the call, which copies what it needs; the same below.
        let certificates = try unsafe TLSFile.read(identity.certificate, .certificate, index) { text in
            unsafe note(text)
            return unsafe recast_tls_use_certificates(pointer, text.baseAddress, text.count)
        }
        try TLSFile.check(certificates, identity.certificate, .certificate, index)
        let key = try unsafe TLSFile.read(identity.key, .key, index) { text in
            unsafe note(text)
            return unsafe recast_tls_use_key(pointer, text.baseAddress, text.count)
        }
        try TLSFile.check(key, identity.key, .key, index)
    }

    func trust(_ path: String, _ role: TLSFileError.Role, tells: Bool) throws(TLSFileError) {
        let outcome = try unsafe TLSFile.read(path, role) { text in
            // SAFETY: as above.
            unsafe note(text)
            return unsafe recast_tls_add_anchors(pointer, text.baseAddress, text.count, tells)
        }
        try TLSFile.check(outcome, path, role)
    }

    func revoke(_ path: String) throws(TLSFileError) {
        let outcome = try unsafe TLSFile.read(path, .revocations) { text in
            // SAFETY: as above.
            unsafe note(text)
            return unsafe recast_tls_add_revocations(pointer, text.baseAddress, text.count)
        }
        try TLSFile.check(outcome, path, .revocations)
    }

    /// Notes what is used: the very bytes, so that a file that is replaced meanwhile counts as what it was here.
    private func note(_ text: UnsafeBufferPointer<CChar>) {
        var digest = [UInt8](repeating: 0, count: TLSPin.size)
        // SAFETY: the text lives during the call, and the digest has room for 32 bytes.
        let isDone = unsafe recast_tls_digest(text.baseAddress, text.count, &digest)
        if isDone { contents?.append(digest) } else { contents = nil }
    }

    /// The life of the context's own certificate, nil when it has none.
    func life(of identity: TLSIdentity, index: Int = 0) -> TLSFileLife? {
        var notBefore: Int64 = 0
        var notAfter: Int64 = 0
        // SAFETY: both are written during the call.
        guard unsafe recast_tls_validity(pointer, &notBefore, &notAfter) else { return nil }
        return TLSFileLife(
            role: .certificate, index: index, path: identity.certificate, notBefore: notBefore, title: title,
            notAfter: notAfter)
    }

    /// The lives of the files of what is trusted and of revocation lists, where there are such.
    ///
    /// - Parameter role: what is trusted: authorities, or pinned certificates, of which this is the first file.
    func lives(
        trusted: String?, _ role: TLSFileError.Role = .authorities, revocations: String?
    ) -> [TLSFileLife] {
        var end: Int64 = 0
        var lives: [TLSFileLife] = []
        // SAFETY: the number is written during the call; the same below.
        if let trusted, unsafe recast_tls_anchors_end(pointer, &end) {
            lives.append(.init(role: role, index: 0, path: trusted, notBefore: nil, title: nil, notAfter: end))
        }
        if let revocations, unsafe recast_tls_revocations_end(pointer, &end) {
            lives.append(
                .init(role: .revocations, index: 0, path: revocations, notBefore: nil, title: nil, notAfter: end))
        }
        return lives
    }
}
