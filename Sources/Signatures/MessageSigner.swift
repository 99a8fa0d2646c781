internal import Octets

/// Makes the fields that sign a message of ours, as a sender of the scheme would.
package struct MessageSigner: Sendable {
    private let scheme: SignatureScheme
    private let secret: SigningSecret
    /// How content is read whose fields are signed.
    package var reading = SignedBodyReading()
    /// Made ready of a shared secret.
    private var hmacKey: HMACKey?

    /// Why a scheme and a secret can't sign.
    package struct Fault: Error, Equatable, Sendable {
        package let reason: String
    }

    /// Throws where nobody but the sender itself can sign so, whatever the secret is.
    package static func check(_ scheme: SignatureScheme) throws(Fault) {
        switch scheme.special {
        case nil, .twilio, .mandrill, .httpMessage: return
        case .mailgun, .sns, .payPal:
            throw Fault(reason: "\(scheme.name) signs in the body, or with a certificate of its own")
        }
    }

    /// - Parameter secret: shared, or a private key.
    package init(_ scheme: SignatureScheme, secret: SigningSecret) throws(Fault) {
        self.scheme = scheme
        self.secret = secret
        try Self.check(scheme)
        if case .certificate = secret.material { throw Fault(reason: "a certificate can't sign") }
        if case .key(let key) = secret.material, !key.isPrivate { throw Fault(reason: "a public key can't sign") }
        if scheme.special == .httpMessage {
            guard MessageSignatureAlgorithm.name(of: secret, asked: scheme.messageSignature.algorithm) != nil else {
                throw Fault(reason: "\(scheme.messageSignature.algorithm ?? scheme.name) isn't made with \(secret)")
            }
            return
        }
        guard scheme.special != nil || method != nil else {
            throw Fault(reason: "\(scheme.name) isn't signed with \(secret)")
        }
        if scheme.special != nil, secret.sharedCount == nil {
            throw Fault(reason: "\(scheme.name) isn't signed with \(secret)")
        }
        if case .hmac(let algorithm)? = method?.algorithm, case .shared(let key) = secret.material {
            hmacKey = HMACKey(algorithm, key.span)
        }
    }

    /// A signer for settings that are only looked at: its secret can't be read here, so it can't sign.
    package init(unknown scheme: SignatureScheme) {
        self.scheme = scheme
        secret = SigningSecret(.shared([]), isKnown: false)
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
        /// The fields that it is sent with, in their order.
        package var fields: [(name: String, value: String)] = []

        package init() {}

        /// Takes what is signed of a request's head, as HTTP/1 writes it: its target, its Host and its Content-Type, and its fields.
        ///
        /// - Parameters:
        ///   - base: what stands in front of the target in the URL; nil: the Host, behind `http://`, or `https://`.
        package mutating func read(head: Span<UInt8>, base: String?, isSecure: Bool) {
            var host: [UInt8] = []
            var target = Span<UInt8>()
            var at = 0
            while let end = Scan.firstIndex(of: ASCII.lineFeed, in: head, from: at) {
                // Every line ends in CRLF.
                let line = head.extracting(at..<max(at, end - 1))
                if at == 0 {
                    let first = Scan.firstIndex(of: ASCII.space, in: line, from: 0) ?? line.count
                    let start = min(first + 1, line.count)
                    target = line.extracting(
                        start..<(Scan.firstIndex(of: ASCII.space, in: line, from: start) ?? line.count))
                } else if let colon = Scan.firstIndex(of: UInt8(ascii: ":"), in: line, from: 0) {
                    let value = line.extracting(min(colon + 2, line.count)..<line.count)
                    let name = line.extracting(0..<colon)
                    if name.isEqualIgnoringCase(to: "host") { host = value.copied() }
                    if name.isEqualIgnoringCase(to: "content-type") {
                        contentType = String(decoding: value.copied(), as: UTF8.self)
                    }
                    fields.append(
                        (
                            String(decoding: name.copied(), as: UTF8.self),
                            String(decoding: value.copied(), as: UTF8.self)
                        ))
                }
                at = end + 1
            }
            let origin = base ?? "\(isSecure ? "https" : "http")://\(String(decoding: host, as: UTF8.self))"
            url = String(decoding: SignedURL(base: origin, target: target.copied()).bytes, as: UTF8.self)
        }

        /// Path and query, as they stand in the request's line.
        var target: [UInt8] { SignedURL.target(SignedURL.split(Array(url.utf8)).rest) }
    }

    /// Whether it needs more of a message than its id and its time.
    package var readsHead: Bool {
        scheme.signsURL || scheme.layout.contains(.path) || scheme.layout.contains(.decodedURL)
    }

    /// Whether `Signing` keeps all of the content: what is signed then is no text that goes through a digest.
    package var needsWholeContent: Bool {
        if scheme.special == .httpMessage { return false }
        if scheme.special != nil { return true }
        if case .key(.ed25519)? = method?.algorithm { return true }
        return false
    }

    /// What is signed, how, and where it stands, for people.
    package var summary: [(key: String, value: String)] {
        var ours = scheme
        ours.headers = Array(scheme.headers.prefix(1))
        ours.idHeaders = Array(scheme.idHeaders.prefix(1))
        if case .headers(let names)? = scheme.timestamp { ours.timestamp = .headers(Array(names.prefix(1))) }
        ours.methods = method.map { [$0] } ?? []
        ours.tolerance = (nil, nil)
        return ours.summary
    }

    /// Names of the fields by which a receiver of the scheme may know signature, time and id: those that a message gets, and what the
    /// scheme takes in their place. A message keeps none of its own: some receivers prefer a name that isn't written here.
    package var readNames: [String] {
        if scheme.special == .httpMessage { return names }
        var names = scheme.idHeaders
        if case .headers(let times)? = scheme.timestamp { names += times }
        return names + scheme.headers
    }

    /// Names of the fields that a message gets.
    package var names: [String] {
        if scheme.special == .httpMessage { return ["Content-Digest", "Signature-Input", "Signature"] }
        var names = scheme.idHeaders.first.map { [$0] } ?? []
        if case .headers(let times)? = scheme.timestamp, let name = times.first { names.append(name) }
        return names + (scheme.headers.first.map { [$0] } ?? [])
    }

    /// The field that has the signature.
    package var signatureName: String? { scheme.headers.first }

    /// The fields, in the order in which they are written. Throws where the content can't be read in the way that it is signed, and where
    /// `SignatureVerifier` takes no such content whoever has signed it.
    package func sign(_ message: Message, _ content: Span<UInt8>) throws(SignatureError) -> [(
        name: String, value: String
    )] {
        if case .member(let name)? = scheme.timestamp {
            _ = try SignedTime.member(name, of: content, scheme.timestampUnit)
        }
        if scheme.challenge == .x, EndpointChallenge.mayBeToken(content) { throw .body }
        let signing = try begin(message)
        signing.update(content)
        return try signing.finish()
    }

    /// Begins to sign a message whose content comes in pieces.
    package func begin(_ message: Message) throws(SignatureError) -> Signing { try Signing(self, message) }

    /// One message that is being signed.
    package final class Signing {
        private let signer: MessageSigner
        private let message: Message
        private let method: SignatureScheme.Method?
        private let time: String
        /// Goes along with the content; nil where all of it is signed at once.
        private let digest: Digest?
        private var content: [UInt8] = []
        private var hasContent = false

        fileprivate init(_ signer: MessageSigner, _ message: Message) throws(SignatureError) {
            self.signer = signer
            self.message = message
            method = signer.method
            let scheme = signer.scheme
            if let separator = scheme.separator, message.id.utf8.contains(separator) { throw .malformed }
            time = SignedTime.text(message.time, scheme.timestampUnit)
            if scheme.special == .httpMessage {
                digest = Digest(.sha256)
                return
            }
            digest =
                switch (method?.algorithm, signer.secret.material) {
                case (.hmac?, _): signer.hmacKey.map { Digest($0) }
                case (.key(let form)?, _) where form != .ed25519: Digest(form.digest)
                default: nil
                }
            guard let digest else { return }
            for piece in scheme.layout.pieces {
                if piece == .body { break }
                digest.update(text(of: piece))
            }
        }

        /// Takes the next bytes of the content.
        package func update(_ bytes: Span<UInt8>) {
            hasContent = hasContent || bytes.count > 0
            if let digest {
                if signer.scheme.special == .httpMessage || signer.scheme.layout.contains(.body) {
                    digest.update(bytes)
                }
            } else if method?.algorithm != .equal {
                content.append(contentsOf: bytes)
            }
        }

        /// The fields, all of the content being there.
        package func finish() throws(SignatureError) -> [(name: String, value: String)] {
            if signer.scheme.special == .httpMessage {
                let algorithm = MessageSignatureAlgorithm.name(
                    of: signer.secret, asked: signer.scheme.messageSignature.algorithm)
                return try MessageSignatureMaker.fields(
                    message, digest: hasContent ? digest?.finish() : nil, signer.scheme, signer.secret,
                    algorithm: algorithm ?? "")
            }
            if let special = signer.scheme.special {
                let content = content
                return try signer.sign(special, message, content.span)
            }
            guard let method else { preconditionFailure("a signer without a method") }
            let signature = signer.make(method.algorithm, signedBytes())
            var fields: [(name: String, value: String)] = []
            let scheme = signer.scheme
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

        /// An HMAC, a digest, or the message itself.
        private func signedBytes() -> [UInt8] {
            let pieces = signer.scheme.layout.pieces
            guard let digest else { return pieces.flatMap { $0 == .body ? content : text(of: $0) } }
            if let body = pieces.firstIndex(of: .body) {
                for piece in pieces[(body + 1)...] { digest.update(text(of: piece)) }
            }
            return digest.finish()
        }

        private func text(of piece: SignedLayout.Piece) -> [UInt8] {
            switch piece {
            case .literal(let bytes): bytes
            case .id: Array(message.id.utf8)
            case .timestamp: Array(time.utf8)
            case .method: Array(message.method.utf8)
            case .url: Array(message.url.utf8)
            case .decodedURL: SignedURL(base: message.url, target: []).decoded
            case .path: message.target
            case .body: []
            }
        }
    }

    /// The parameter of the URL by which Twilio signs what is no form.
    package static let bodyParameter = "bodySHA256"

    /// What stands in the field.
    private func make(_ algorithm: SignatureAlgorithm, _ signed: [UInt8]) -> String {
        switch (algorithm, secret.material) {
        case (.hmac, _): return encode(signed)
        case (.key(let form), .key(let key)):
            guard let signature = key.sign(form, signed.span) else { preconditionFailure("a key that doesn't sign") }
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
    ) throws(SignatureError) -> [(name: String, value: String)] {
        guard case .shared(let key) = secret.material, let header = scheme.headers.first else { return [] }
        let contentType = Array(message.contentType.utf8)
        var signed = Array(message.url.utf8)
        if let suffix = try SenderCheck.formSuffix(special, content, contentType: contentType.span, reading) {
            signed += suffix
        } else if content.count > 0 {
            // Nothing would sign such content.
            guard special == .twilio else { throw .body }
            guard message.url.contains("\(Self.bodyParameter)=") else { throw .lacking(Self.bodyParameter) }
        }
        return [(header, encode(Digest.hmac(signed.span, key: key.span, .sha1)))]
    }
}
