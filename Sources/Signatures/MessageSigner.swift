internal import Octets

/// Makes the fields that sign a message of ours, as a sender of the scheme would.
package struct MessageSigner: Sendable {
    private let scheme: SignatureScheme
    private let secret: SigningSecret

    /// Why a scheme and a secret can't sign.
    package struct Fault: Error, Equatable, Sendable {
        package let reason: String
    }

    /// - Parameter secret: shared, or a private key.
    package init(_ scheme: SignatureScheme, secret: SigningSecret) throws(Fault) {
        self.scheme = scheme
        self.secret = secret
        if scheme.special != nil, scheme.special != .twilio, scheme.special != .mandrill {
            throw Fault(reason: "\(scheme.name) signs in the body, or with a certificate of its own")
        }
        if case .certificate = secret.material { throw Fault(reason: "a certificate can't sign") }
        if case .key(let key) = secret.material, !key.isPrivate { throw Fault(reason: "a public key can't sign") }
        guard scheme.special != nil || method != nil else {
            throw Fault(reason: "\(scheme.name) isn't signed with \(secret)")
        }
        if scheme.special != nil, secret.sharedCount == nil {
            throw Fault(reason: "\(scheme.name) isn't signed with \(secret)")
        }
    }

    /// The kind of signature that the secret makes.
    private var method: SignatureScheme.Method? {
        scheme.methods.first { method in
            switch (method.algorithm, secret.material) {
            case (.hmac, .shared), (.equal, .shared): true
            case (.key(let form), .key(let key)): form.fits(key.kind)
            default: false
            }
        }
    }

    /// What is signed, part by part.
    package struct Message: Sendable {
        package var method = "POST"
        /// Scheme, authority, path and query.
        package var url = ""
        package var id = ""
        /// Milliseconds since 1970.
        package var time = 0
        package var contentType = ""

        package init() {}

        /// Path and query.
        var target: String {
            guard let slashes = url.range(ofText: "://") else { return url }
            guard let slash = url[slashes...].firstIndex(of: "/") else { return "/" }
            return String(url[slash...])
        }
    }

    /// The fields, in the order in which they are written. Throws where the content can't be read in the way that it is signed.
    package func sign(_ message: Message, _ content: Span<UInt8>) throws(SignatureFault) -> [(
        name: String, value: String
    )] {
        if let special = scheme.special { return try sign(special, message, content) }
        guard let method else { preconditionFailure("a signer without a method") }
        let time = SignedTime.text(message.time, scheme.timestampUnit)
        if let separator = scheme.separator, message.id.utf8.contains(separator) { throw .malformed }
        var signed: [UInt8] = []
        for piece in scheme.layout.pieces {
            switch piece {
            case .literal(let bytes): signed += bytes
            case .id: signed += Array(message.id.utf8)
            case .timestamp: signed += Array(time.utf8)
            case .method: signed += Array(message.method.utf8)
            case .url: signed += Array(message.url.utf8)
            case .decodedURL: signed += SignedURL(base: message.url, target: []).decoded
            case .path: signed += Array(message.target.utf8)
            case .body: signed.append(contentsOf: content)
            }
        }
        let signature = make(method.algorithm, signed.span)
        var fields: [(name: String, value: String)] = []
        if let name = scheme.idHeaders.first { fields.append((name, message.id)) }
        if case .headers(let names)? = scheme.timestamp, let name = names.first { fields.append((name, time)) }
        guard let header = scheme.headers.first else { return fields }
        switch scheme.value {
        case .plain(let prefix): fields.append((header, prefix + signature))
        case .list(let separator, let pair, let timestampName):
            let pair = Unicode.Scalar(pair)
            let element = "\(method.name)\(pair)\(signature)"
            let first = timestampName.map { "\($0)\(pair)\(time)\(Unicode.Scalar(separator))" } ?? ""
            fields.append((header, first + element))
        }
        return fields
    }

    private func make(_ algorithm: SignatureAlgorithm, _ signed: Span<UInt8>) -> String {
        switch (algorithm, secret.material) {
        case (.hmac(let digest), .shared(let key)): return encode(Digest.hmac(signed, key: key.span, digest))
        case (.key(let form), .key(let key)):
            let message = form == .ed25519 ? signed.copied() : Digest.of(signed, form.digest)
            guard let signature = key.sign(form, message.span) else { preconditionFailure("a key that doesn't sign") }
            return encode(signature)
        case (.equal, .shared(let token)): return String(decoding: token, as: UTF8.self)
        default: preconditionFailure("a signer without a method")
        }
    }

    private func encode(_ bytes: [UInt8]) -> String {
        String(decoding: scheme.encoding.encode(bytes.span), as: UTF8.self)
    }

    private func sign(
        _ special: SignatureScheme.Special, _ message: Message, _ content: Span<UInt8>
    ) throws(SignatureFault) -> [(name: String, value: String)] {
        guard case .shared(let key) = secret.material, let header = scheme.headers.first else { return [] }
        let contentType = Array(message.contentType.utf8)
        var signed = Array(message.url.utf8)
        if let suffix = try SenderCheck.formSuffix(special, content, contentType: contentType.span) {
            signed += suffix
        } else if content.count > 0, special == .twilio {
            let name = "bodySHA256="
            guard message.url.contains(name) else { throw .missing }
        }
        return [(header, encode(Digest.hmac(signed.span, key: key.span, .sha1)))]
    }
}

extension String {
    /// Where a text ends that stands in this one; nil where it doesn't.
    fileprivate func range(ofText text: String) -> Index? {
        var at = startIndex
        while at < endIndex {
            if self[at...].hasPrefix(text) { return index(at, offsetBy: text.count) }
            at = index(after: at)
        }
        return nil
    }
}
