internal import CSignatures
internal import Octets

/// A public key, or a private one, of OpenSSL's; it doesn't change, and threads may share it.
@safe
package final class SignatureKey: @unchecked Sendable {
    package enum Kind: Sendable { case ed25519, p256, p384, rsa, other }

    // SAFETY: the key is only read, and OpenSSL's keys may be read by several threads at once.
    private let key: OpaquePointer

    /// The first private key, public key or certificate in PEM text; nil where there is none that can be read without a password.
    package convenience init?(pem text: Span<UInt8>) {
        // SAFETY: the text is read during the call, here and below.
        unsafe self.init(text.withUnsafeBufferPointer { unsafe recast_key_pem($0.baseAddress, $0.count) })
    }

    /// A SubjectPublicKeyInfo (RFC 5280 §4.1.2.7).
    package convenience init?(der bytes: Span<UInt8>) {
        // SAFETY: the bytes are read during the call.
        unsafe self.init(bytes.withUnsafeBufferPointer { unsafe recast_key_der($0.baseAddress, $0.count) })
    }

    /// The 32 bytes of an Ed25519 key (RFC 8032 §5.1.5).
    package convenience init?(ed25519 bytes: Span<UInt8>, isPrivate: Bool) {
        // SAFETY: the bytes are read during the call.
        unsafe self.init(
            bytes.withUnsafeBufferPointer { unsafe recast_key_ed25519($0.baseAddress, $0.count, isPrivate) })
    }

    private init?(_ key: OpaquePointer?) {
        // SAFETY: it is kept, and freed once.
        guard let key = unsafe key else { return nil }
        unsafe self.key = key
    }

    // SAFETY: nobody else has it.
    deinit { unsafe recast_key_free(key) }

    package var kind: Kind {
        // SAFETY: the key is read alone.
        switch unsafe recast_key_kind(key) {
        case Int32(RECAST_KEY_ED25519): .ed25519
        case Int32(RECAST_KEY_P256): .p256
        case Int32(RECAST_KEY_P384): .p384
        case Int32(RECAST_KEY_RSA): .rsa
        default: .other
        }
    }

    // SAFETY: the key is read alone, here and below.
    package var isPrivate: Bool { unsafe recast_key_is_private(key) }

    /// Bits of an RSA key, or of the curve.
    // SAFETY: as above.
    package var bits: Int { unsafe Int(recast_key_bits(key)) }

    /// Whether `signature` is this key's. `message` is the digest of what was signed, but for Ed25519 that itself.
    package func verify(_ form: SignatureForm, _ message: Span<UInt8>, _ signature: Span<UInt8>) -> Bool {
        // SAFETY: both are read during the call.
        unsafe message.withUnsafeBufferPointer { message in
            unsafe signature.withUnsafeBufferPointer { signature in
                unsafe recast_verify(
                    key, form.number, form.digest.rawValue, message.baseAddress, message.count, signature.baseAddress,
                    signature.count)
            }
        }
    }

    /// The signature; nil where this key can't make it.
    package func sign(_ form: SignatureForm, _ message: Span<UInt8>) -> [UInt8]? {
        // SAFETY: the message is read during the call, and no more is written than there is room for.
        let signature = unsafe [UInt8](unsafeUninitializedCapacity: 1024) { room, count in
            count = unsafe message.withUnsafeBufferPointer {
                unsafe recast_sign(
                    key, form.number, form.digest.rawValue, $0.baseAddress, $0.count, room.baseAddress, room.count)
            }
        }
        return signature.isEmpty ? nil : signature
    }
}

/// A signature by a private key.
package enum SignatureForm: Hashable, Sendable {
    /// RFC 8032; over the message itself.
    case ed25519
    /// A sequence of two integers in DER (RFC 3279 §2.2.3).
    case ecdsaDER(DigestAlgorithm)
    /// r and s, each as long as the curve (RFC 9421 §3.3.4).
    case ecdsaRaw(DigestAlgorithm)
    /// RSASSA-PKCS1-v1_5 (RFC 8017 §8.2).
    case rsaPKCS1(DigestAlgorithm)
    /// RSASSA-PSS with a salt as long as the digest (RFC 8017 §8.1).
    case rsaPSS(DigestAlgorithm)

    /// Of what is signed; Ed25519 signs the message itself.
    package var digest: DigestAlgorithm {
        switch self {
        case .ed25519: .sha512
        case .ecdsaDER(let digest), .ecdsaRaw(let digest), .rsaPKCS1(let digest), .rsaPSS(let digest): digest
        }
    }

    fileprivate var number: Int32 {
        switch self {
        case .ed25519: Int32(RECAST_SIGN_ED25519)
        case .ecdsaDER: Int32(RECAST_SIGN_ECDSA_DER)
        case .ecdsaRaw: Int32(RECAST_SIGN_ECDSA_RAW)
        case .rsaPKCS1: Int32(RECAST_SIGN_RSA_PKCS1)
        case .rsaPSS: Int32(RECAST_SIGN_RSA_PSS)
        }
    }

    /// Whether such a key makes such signatures.
    package func fits(_ kind: SignatureKey.Kind) -> Bool {
        switch self {
        case .ed25519: kind == .ed25519
        case .ecdsaDER, .ecdsaRaw: kind == .p256 || kind == .p384
        case .rsaPKCS1, .rsaPSS: kind == .rsa
        }
    }
}

/// A certificate in PEM text that is pinned: its key is trusted because the settings name it.
package struct PinnedCertificate: Sendable {
    package let key: SignatureKey
    private let text: [UInt8]

    /// nil where the text holds no certificate.
    package init?(pem text: [UInt8]) {
        guard let key = SignatureKey(pem: text.span), !key.isPrivate else { return nil }
        self.key = key
        self.text = text
    }

    /// Whether one of its names is `name`, or below it where that begins with a dot.
    package func isFor(_ name: String) -> Bool {
        // SAFETY: both are read during the call.
        unsafe text.span.withUnsafeBufferPointer { unsafe recast_certificate_is_for($0.baseAddress, $0.count, name) }
    }

    /// Whether `now`, in seconds since 1970, lies within its time.
    package func isCurrent(_ now: Int) -> Bool {
        // SAFETY: the text is read during the call.
        unsafe text.span.withUnsafeBufferPointer {
            unsafe recast_certificate_is_current($0.baseAddress, $0.count, Int64(now))
        }
    }
}
