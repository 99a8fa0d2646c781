internal import CTLSShims

/// Why a TLS connection could not be made, or broke. Never tells of a key.
public struct TLSError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, in terms that an operator acts on.
    public enum Reason: Hashable, Sendable {
        /// The peer's certificate, or one above it, has run out, or doesn't hold yet.
        case expired, notYetValid
        /// The certificate is for another name.
        case wrongName
        /// Its chain leads to none of the authorities that are trusted; or it vouches for itself.
        case unknownAuthority, selfSigned
        case revoked
        /// The revocation list of its issuer has run out, or there is none: nobody knows whether it was revoked.
        case revocationsExpired, noRevocations
        /// Its key is too short or its digest too weak for the system's security level.
        case weak
        /// The chain has more bytes than are read of one.
        case chainTooLong
        /// Anything else that is wrong with it.
        case badCertificate
        /// None of the pinned keys or certificates.
        case pinMismatch
        /// A client certificate is required and none came.
        case noCertificate
        /// No version, no cipher (nor group or signature that goes with one), or no protocol of the application layer (ALPN) in common.
        case version, noCipher, noProtocol
        /// The peer speaks without TLS.
        case plainText
        /// The client's connection begins with a header of the PROXY protocol, which isn't taken.
        case proxyHeader
        /// The connection ended, or was reset, in the handshake.
        case closed, reset
        case handshakeTimeout
        /// The peer gave up with this alert (RFC 8446 §6.2).
        case alert(Int)
        /// More messages of the handshake protocol after the handshake than a peer has reason to send.
        case flood
        /// Not what TLS allows: a record that can't be read, a message out of order.
        case brokenProtocol
        /// OpenSSL had no memory.
        case noMemory
    }

    public let reason: Reason
    /// What OpenSSL says of it, where that tells more.
    public let detail: String?

    public init(_ reason: Reason, detail: String? = nil) {
        self.reason = reason
        self.detail = detail
    }

    /// Stable, in lower case with underscores: for logs, metrics and answers.
    public var word: String {
        switch reason {
        case .expired: "expired"
        case .notYetValid: "not_yet_valid"
        case .wrongName: "wrong_name"
        case .unknownAuthority: "unknown_ca"
        case .selfSigned: "self_signed"
        case .revoked: "revoked"
        case .revocationsExpired: "crl_expired"
        case .noRevocations: "no_crl"
        case .weak: "weak_certificate"
        case .chainTooLong: "chain_too_long"
        case .badCertificate: "bad_certificate"
        case .pinMismatch: "pin_mismatch"
        case .noCertificate: "no_certificate"
        case .version: "version"
        case .noCipher: "no_cipher"
        case .noProtocol: "no_application_protocol"
        case .plainText: "plain_text"
        case .proxyHeader: "proxy_header"
        case .closed: "closed"
        case .reset: "reset"
        case .handshakeTimeout: "handshake_timeout"
        case .alert(let number): "alert_\(Self.alertWord(number))"
        case .flood: "flood"
        case .brokenProtocol: "protocol"
        case .noMemory: "no_memory"
        }
    }

    public var description: String { detail.map { "\(word) (\($0))" } ?? word }

    /// OpenSSL's name of the alert with underscores; the number of one that has none.
    private static func alertWord(_ number: Int) -> String {
        // SAFETY: a constant text.
        let name = unsafe recast_tls_alert_text(Int32(number)).map { unsafe String(cString: $0) } ?? "unknown"
        return name == "unknown" ? "\(number)" : name.replacing(" ", with: "_").lowercased()
    }
}

extension TLSError {
    /// What OpenSSL's numbers mean.
    init(_ fault: recast_tls_fault) {
        // SAFETY: the texts are constant; the numbers are plain.
        let (verification, reason) = unsafe (fault.verification, fault.reason)
        if verification != 0 {
            let text = unsafe recast_tls_verification_text(verification).map { unsafe String(cString: $0) }
            self.init(Self.verification(verification), detail: text)
        } else {
            let text = unsafe fault.text.map { unsafe String(cString: $0) }
            let isLong = Int(reason) == RECAST_TLS_LONG_CHAIN
            self.init(Self.reason(reason), detail: isLong ? "its certificates have more bytes than are read" : text)
        }
    }

    /// X509_V_ERR_… of x509_vfy.h; the numbers are part of OpenSSL's interface.
    private static func verification(_ number: Int32) -> Reason {
        switch number {
        case 10: .expired
        case 9: .notYetValid
        case 62, 64: .wrongName
        case 2, 20, 21: .unknownAuthority
        case 18, 19: .selfSigned
        case 23: .revoked
        case 12: .revocationsExpired
        case 3: .noRevocations
        case 66, 67, 68: .weak
        default: .badCertificate
        }
    }

    /// SSL_R_… of sslerr.h; from 1000 on they are alerts of the peer.
    private static func reason(_ number: Int32) -> Reason {
        switch Int(number) {
        case RECAST_TLS_LONG_CHAIN: .chainTooLong
        case 1000..<1256: .alert(Int(number) - 1000)
        case 199: .noCertificate
        case 235: .noProtocol
        // no shared cipher, no suitable key share, signature algorithm or groups: 1.3 chooses them one by one.
        case 193, 101, 118, 295: .noCipher
        // unsupported protocol, wrong SSL version, no protocols available, version too low, bad legacy version. A wrong version number
        // (267) is that of a record: what comes is broken, or no TLS, as the session finds out by its first bytes.
        case 258, 266, 191, 396, 292: .version
        case 155, 156: .plainText
        default: .brokenProtocol
        }
    }
}
