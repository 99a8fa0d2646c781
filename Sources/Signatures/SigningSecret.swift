internal import Octets

/// A secret that is shared with a sender, a key of one, or one of ours. Nothing of it is ever told: its description says its kind.
package struct SigningSecret: Sendable, CustomStringConvertible {
    package enum Material: Sendable {
        /// The bytes of an HMAC's key, or a token.
        case shared([UInt8])
        case key(SignatureKey)
        case certificate(PinnedCertificate)
    }

    /// How a secret is written in the settings.
    package enum Writing: String, Sendable, CaseIterable {
        /// The bytes of the text.
        case text
        case hex
        case base64
        /// Standard Webhooks: `whsec_` and base64 of 24 to 64 bytes, `whpk_` a public, `whsk_` a private Ed25519 key.
        case whsec
        /// A key or a certificate: PEM text, or base64 of a SubjectPublicKeyInfo.
        case pem
        /// Hex of an Ed25519 key, 32 bytes.
        case ed25519
    }

    /// Why a text is no secret.
    package struct Fault: Error, Equatable, Sendable {
        package let reason: String
    }

    package let material: Material
    /// What a signature calls it (RFC 9421 §2.3); nil: it may be called anything.
    package var keyID: String?
    /// Whether it is the secret itself, not the name of one that can't be read here.
    package private(set) var isKnown = true

    package init(_ material: Material, isKnown: Bool = true) {
        self.material = material
        self.isKnown = isKnown
    }

    /// Reads what the settings say of a secret of `scheme`. An error never shows any of it.
    ///
    /// What is a key by its look is read as one where nothing says how it is written. Others may have a public key: if its text were
    /// taken for the bytes of a shared secret, each of them could sign with it.
    ///
    /// - Parameter written: how the settings say that it is written; nil: as the scheme's secrets are.
    package init(_ text: String, for scheme: SignatureScheme, as written: Writing?) throws(Fault) {
        let text = SecretText.alone(text)
        guard written == nil, let look = Self.look(of: text) else {
            let writing = written ?? scheme.secretWriting
            // Keys have their own ends.
            if written != .text, writing != .pem, SecretText.hasBlankEnd(text) {
                let other = writing == .text ? "; where it is the secret's own, say so by the encoding text" : ""
                throw Fault(reason: "\(SecretText.blankEnd): remove that\(other)")
            }
            try self.init(text, as: writing)
            return
        }
        guard scheme.takesKeys else {
            throw Fault(
                reason: "is \(look.name), which is no shared secret, and \(scheme.name) signs with one: where its text "
                    + "is one all the same, say so by the encoding text")
        }
        guard let writing = look.writing else {
            throw Fault(
                reason: "is \(look.name), which isn't read: write it in PEM; where its text is a shared secret, say so "
                    + "by the encoding text")
        }
        do throws(Fault) {
            try self.init(look.text, as: writing)
        } catch {
            throw Fault(reason: "\(error.reason); where its text is a shared secret, say so by the encoding text")
        }
    }

    /// Whether a text is a key by its look, what that is called, how it is written, and the text without white space around it. Nil as its
    /// writing: in a way that isn't read here.
    private static func look(of text: String) -> (name: String, writing: Writing?, text: String)? {
        let plain = String(decoding: Self.trimmed(text), as: UTF8.self)
        // What other programs write in front of a key is no part of it: attributes, a comment.
        if plain.contains("-----BEGIN ") { return (name: "a key or a certificate in PEM", writing: .pem, text: plain) }
        for prefix in ["whpk_", "whsk_"] where plain.hasPrefix(prefix) {
            return (name: "a key (\(prefix)…)", writing: .whsec, text: plain)
        }
        for prefix in ["ssh-rsa ", "ssh-ed25519 ", "ecdsa-sha2-nistp", "---- BEGIN SSH2 "] where plain.hasPrefix(prefix)
        {
            return (name: "a key of SSH", writing: nil, text: plain)
        }
        if plain.hasPrefix("{"), plain.contains("\"kty\"") {
            return (name: "a key in JSON (RFC 7517)", writing: nil, text: plain)
        }
        guard let der = BinaryEncoding.base64.decode(Array(plain.utf8).span), SignatureKey(der: der.span) != nil else {
            return nil
        }
        return (name: "the base64 of a public key", writing: .pem, text: plain)
    }

    /// The text without a byte order mark and white space in front of it, and white space behind it.
    private static func trimmed(_ text: String) -> ArraySlice<UInt8> {
        var bytes = Array(text.utf8)[...]
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        while let first = bytes.first {
            if bytes.starts(with: mark) {
                bytes = bytes.dropFirst(mark.count)
            } else if first <= ASCII.space {
                bytes = bytes.dropFirst()
            } else {
                break
            }
        }
        while let last = bytes.last, last <= ASCII.space { bytes = bytes.dropLast() }
        return bytes
    }

    /// Reads a text that is written so. An error never shows any of it.
    package init(_ text: String, as writing: Writing) throws(Fault) {
        let bytes = Array(writing == .pem ? Self.trimmed(text) : Array(text.utf8)[...])
        guard !bytes.isEmpty else { throw Fault(reason: "is empty") }
        switch writing {
        case .text: material = .shared(bytes)
        case .hex, .base64:
            guard let decoded = (writing == .hex ? BinaryEncoding.hex : .base64).decode(bytes.span), !decoded.isEmpty
            else { throw Fault(reason: "is not \(writing.rawValue)") }
            material = .shared(decoded)
        case .whsec: material = try Self.standardWebhooks(text)
        case .pem:
            if text.contains("-----BEGIN CERTIFICATE-----") {
                guard let certificate = PinnedCertificate(pem: bytes) else {
                    throw Fault(reason: "is no certificate in PEM")
                }
                material = .certificate(certificate)
                return
            }
            if let key = SignatureKey(pem: bytes.span) {
                material = .key(key)
            } else if let der = BinaryEncoding.base64.decode(bytes.span), let key = SignatureKey(der: der.span) {
                material = .key(key)
            } else {
                throw Fault(reason: "is no key in PEM, nor base64 of a public key, that can be read without a password")
            }
        case .ed25519:
            guard let raw = BinaryEncoding.hex.decode(bytes.span),
                let key = SignatureKey(ed25519: raw.span, isPrivate: false)
            else { throw Fault(reason: "is no Ed25519 key: 64 digits of hex") }
            material = .key(key)
        }
    }

    /// Standard Webhooks, "Signature scheme": a text without a prefix is the base64 of an HMAC's key.
    private static func standardWebhooks(_ text: String) throws(Fault) -> Material {
        for prefix in ["whpk_", "whsk_"] where text.hasPrefix(prefix) {
            let isPrivate = prefix == "whsk_"
            guard let bytes = BinaryEncoding.base64.decode(Array(text.utf8.dropFirst(5)).span),
                // A private key is followed by its public half.
                bytes.count == 32 || isPrivate && bytes.count == 64,
                let key = SignatureKey(ed25519: bytes.span.extracting(0..<32), isPrivate: isPrivate)
            else { throw Fault(reason: "is no Ed25519 key behind \(prefix)") }
            return .key(key)
        }
        let encoded = text.hasPrefix("whsec_") ? text.utf8.dropFirst(6) : text.utf8[...]
        guard let bytes = BinaryEncoding.base64.decode(Array(encoded).span), !bytes.isEmpty else {
            throw Fault(reason: "is not whsec_ and base64")
        }
        return .shared(bytes)
    }

    /// Bytes of a shared secret; nil of a key.
    package var sharedCount: Int? {
        if case .shared(let bytes) = material { bytes.count } else { nil }
    }

    package var description: String {
        switch material {
        case .shared: "a shared secret"
        case .key(let key): key.isPrivate ? "a private key" : "a public key"
        case .certificate: "a certificate"
        }
    }
}
