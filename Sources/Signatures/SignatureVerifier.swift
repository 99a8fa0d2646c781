package import HTTPWire
internal import Octets
internal import Transcoding

/// Sees whether one request is its sender's: made from the request's head, fed its content as it comes, before codings are undone,
/// and asked at the end.
///
/// It reads the head once; what it needs of it, it copies. An HMAC and a digest go along with the content. Only where the scheme
/// says so (`needsWholeContent`) the content has to be there at once.
package final class SignatureVerifier {
    /// What the settings say of the requests of one route.
    package struct Options: Sendable {
        package let scheme: SignatureScheme
        /// Any of them may have signed.
        package var secrets: [SigningSecret] { didSet { makeKeys() } }
        /// What the sender was told: `https://hooks.example.com`; nil where the request itself says it.
        package var publicURL: String?
        /// PayPal's id of the webhook, which is signed.
        package var webhookID = ""
        /// Whose messages of SNS are taken; nil: those of any topic.
        package var topics: SenderTopics?
        /// How bodies are read whose fields are signed.
        package var reading = SignedBodyReading()
        /// Whether requests have to be known again (`SignatureVerifier.replayKey`).
        package var remembers = false

        /// Keys that are made ready, by the method's index and the secret's; nil of secrets that make no such signature.
        fileprivate private(set) var keys: [[HMACKey?]] = []

        package init(scheme: SignatureScheme, secrets: [SigningSecret]) {
            self.scheme = scheme
            self.secrets = secrets
            makeKeys()
        }

        private mutating func makeKeys() {
            keys = scheme.methods.map { method in
                secrets.map { secret in
                    guard case .hmac(let algorithm) = method.algorithm, case .shared(let key) = secret.material else {
                        return nil
                    }
                    return HMACKey(algorithm, key.span)
                }
            }
        }
    }

    /// What one kind of signature and one secret are compared by.
    private struct Candidate {
        let method: SignatureScheme.Method
        let secret: SigningSecret
        /// Goes along with the content; nil where the whole of it is signed at once.
        let digest: Digest?
    }

    private let options: Options
    private var scheme: SignatureScheme { options.scheme }
    private let head: SignedHead
    /// The signatures that the request has, by their method's index.
    private var signatures: [(method: Int, bytes: [UInt8])] = []
    private var candidates: [Candidate] = []
    private var timestamp: [UInt8] = []
    /// Milliseconds since 1970.
    private let now: Int
    /// A signature by RFC 9421, which the head has.
    private var messageSignature: MessageSignatureCheck?
    /// What the sender calls this request; empty where it has no name for it.
    package private(set) var id: [UInt8] = []
    /// Names of fields that the scheme takes in the place of those that were looked at, where the request has them and they say
    /// something else: nobody has signed that, and whoever reads such a name first would take it for what was signed.
    package private(set) var uncheckedFields: [String] = []
    /// SHA-256 of the bytes that are signed, where the request is known by them.
    private var signedDigest: Digest?
    /// Whether all of the content could be the token of a challenge of X's, and how much of it there is.
    private var mayBeToken: Bool
    private var contentCount = 0

    /// Whether `id` is a name that the sender gave, and signed.
    package var hasOwnID: Bool {
        scheme.special == .payPal || scheme.special == .sns || scheme.layout.contains(.id)
    }

    /// What the request is known by when it comes again, once `finish` has let it in; empty where `Options.remembers` doesn't ask.
    ///
    /// The sender's own id where it is signed and where its end is told from what stands behind it, else what was signed. Never
    /// the signature's text, nor its bytes: the same signature can be written in several ways, and of ECDSA anybody can make a
    /// second one of a first.
    package private(set) var replayKey: [UInt8] = []

    /// Whether `finish` needs all of the content.
    package var needsWholeContent: Bool { scheme.needsWholeContent }

    /// Whether `finish` judges by the content, or needs it to know the request again: a token alone says nothing of it, nor does a
    /// signature of fields.
    package var readsContent: Bool {
        if let messageSignature { return messageSignature.readsContent }
        if case .member? = scheme.timestamp { return true }
        guard scheme.special == nil else { return true }
        return scheme.layout.contains(.body)
            && (options.remembers || scheme.methods.contains { $0.algorithm != .equal })
    }

    /// Reads the head. A head that can't be its sender's is refused at once.
    ///
    /// - Parameters:
    ///   - target: path and query as they came.
    ///   - isSecure: whether the request came over TLS; used where the settings name no URL.
    ///   - now: milliseconds since 1970.
    package init(
        _ options: Options, _ request: borrowing MessageHead, target: Span<UInt8>, isSecure: Bool, now: Int
    ) throws(SignatureError) {
        self.options = options
        self.now = now
        mayBeToken = options.scheme.challenge == .x
        head = SignedHead(request, target: target, isSecure: isSecure, options)
        if scheme.special == .httpMessage {
            messageSignature = try MessageSignatureCheck(
                options, request, target: target, isSecure: isSecure, now: now)
            return
        }
        if scheme.special != nil { return }
        let (place, value) = try head.neededField(scheme.headers)
        for name in scheme.requiredHeaders { _ = try head.needed(name) }
        try readSignatures(value, of: scheme.headers[place])
        try readTime(place)
        if place < scheme.idHeaders.count {
            id = try head.needed(scheme.idHeaders[place])
        }
        if scheme.headers.count > 1 {
            var kinds = [scheme.headers, scheme.idHeaders]
            if case .headers(let times)? = scheme.timestamp { kinds.append(times) }
            uncheckedFields = kinds.flatMap { head.others(among: $0, than: place) }
        }
        if let separator = scheme.separator, id.contains(separator) || timestamp.contains(separator) {
            throw .malformed
        }
        beginCandidates()
        // Without a separator the first bytes of what follows an id could be made its last ones.
        guard options.remembers, scheme.separator == nil || id.isEmpty || !scheme.layout.contains(.id) else { return }
        let digest = Digest(.sha256)
        feedFront(to: digest)
        signedDigest = digest
    }

    /// Signatures of one request that are looked at: 16, more than any sender makes while it changes its keys. One by a key costs as
    /// much as all of the content, and the field has room for hundreds.
    static let mostSignatures = 16

    /// Takes the signatures out of their field, and the time where it stands there too.
    private func readSignatures(_ value: [UInt8], of header: String) throws(SignatureError) {
        switch scheme.value {
        case .plain(let prefix):
            let prefix = Array(prefix.utf8)
            guard value.starts(with: prefix) else { throw .malformed }
            let rest = Array(value[prefix.count...])
            signatures = scheme.methods.indices.compactMap { index in bytes(rest, of: index).map { (index, $0) } }
            guard !signatures.isEmpty else { throw .malformed }
        case .list(let separator, let pair, let timestampName):
            var times = 0
            for element in value.split(separator: separator) {
                let element = Array(element).trimmed
                guard let mark = element.firstIndex(of: pair) else { continue }
                let name = String(decoding: element[..<mark], as: UTF8.self)
                let text = Array(element[(mark + 1)...])
                if let timestampName, name == timestampName {
                    timestamp = text
                    times += 1
                } else if let method = scheme.methods.firstIndex(where: { $0.name == name }) {
                    // One that can't be read is none, as one of a version that isn't known: another may hold.
                    guard signatures.count < Self.mostSignatures, let bytes = bytes(text, of: method) else { continue }
                    signatures.append((method, bytes))
                }
            }
            guard times <= 1 else { throw .duplicated }
            if let timestampName, times == 0 { throw .lacking("\(timestampName) in \(header)") }
            guard !signatures.isEmpty else { throw .malformed }
        }
    }

    /// What a signature's text stands for: a token for itself. Nil where it stands for nothing.
    private func bytes(_ text: [UInt8], of method: Int) -> [UInt8]? {
        if scheme.methods[method].algorithm == .equal { return text }
        return scheme.encoding.decode(text.span).flatMap { $0.isEmpty ? nil : $0 }
    }

    private func readTime(_ place: Int) throws(SignatureError) {
        switch scheme.timestamp {
        case nil, .member?: return
        case .headers(let names)?:
            guard place < names.count else { throw .missing }
            timestamp = try head.needed(names[place])
        case .list?: break
        }
        try checkTime(timestamp)
    }

    private func checkTime(_ text: [UInt8]) throws(SignatureError) {
        guard let time = SignedTime.milliseconds(text.span, scheme.timestampUnit) else { throw .malformed }
        if let past = scheme.tolerance.past, now - time > past { throw .expired }
        if let future = scheme.tolerance.future, time - now > future { throw .future }
    }

    /// One candidate for each secret that such a signature can be of, fed with what stands in front of the content.
    private func beginCandidates() {
        for (index, method) in scheme.methods.enumerated() where signatures.contains(where: { $0.method == index }) {
            for (place, secret) in options.secrets.enumerated() {
                switch (method.algorithm, secret.material) {
                case (.hmac, .shared):
                    guard let key = options.keys[index][place] else { continue }
                    candidates.append(Candidate(method: method, secret: secret, digest: Digest(key)))
                case (.key(let form), .key(let key)) where form.fits(key.kind):
                    let digest = form == .ed25519 ? nil : Digest(form.digest)
                    candidates.append(Candidate(method: method, secret: secret, digest: digest))
                case (.equal, .shared): candidates.append(Candidate(method: method, secret: secret, digest: nil))
                default: break
                }
            }
        }
        for candidate in candidates { if let digest = candidate.digest { feedFront(to: digest) } }
    }

    /// What stands in front of the content.
    private func feedFront(to digest: Digest) {
        for piece in scheme.layout.pieces {
            if piece == .body { break }
            digest.update(text(of: piece).span)
        }
    }

    /// What stands behind it.
    private func feedEnd(to digest: Digest) {
        guard let body = scheme.layout.pieces.firstIndex(of: .body) else { return }
        for piece in scheme.layout.pieces[(body + 1)...] { digest.update(text(of: piece).span) }
    }

    private func text(of piece: SignedLayout.Piece) -> [UInt8] {
        switch piece {
        case .literal(let bytes): bytes
        case .id: id
        case .timestamp: timestamp
        case .method: head.method
        case .url: head.url.bytes
        case .decodedURL: head.url.decoded
        case .path: head.target
        case .body: []
        }
    }

    /// Takes the next bytes of the content.
    package func update(_ content: Span<UInt8>) {
        if let messageSignature { return messageSignature.update(content) }
        contentCount += content.count
        if mayBeToken {
            mayBeToken = contentCount <= EndpointChallenge.longest && EndpointChallenge.hasTokenBytes(content)
        }
        guard scheme.special == nil, scheme.layout.contains(.body) else { return }
        for candidate in candidates { candidate.digest?.update(content) }
        signedDigest?.update(content)
    }

    /// Where the certificate is kept that the request's signature is by; nil of senders that have none. Throws where it is no
    /// place of the sender's.
    ///
    /// - Parameter content: all of it.
    package func certificate(_ content: Span<UInt8>) throws(SignatureError) -> SenderLocation? {
        guard let special = scheme.special else { return nil }
        return try SenderCheck(options: options, head: head, now: now).certificate(special, content)
    }

    /// The page that confirms a subscription, where content that was verified asks for that.
    package static func confirmation(_ content: Span<UInt8>) -> SenderLocation? { SenderCheck.confirmation(content) }

    /// All of the content has come: throws where the request isn't its sender's.
    ///
    /// - Parameters:
    ///   - content: all of it where `needsWholeContent`, else nothing.
    ///   - fetched: what `certificate` has named, where it was fetched.
    package func finish(_ content: Span<UInt8>, fetched: PinnedCertificate? = nil) throws(SignatureError) {
        if let messageSignature {
            try messageSignature.finish()
            if options.remembers { replayKey = Digest.of(messageSignature.signed.span, .sha256) }
            return
        }
        if let special = scheme.special {
            var check = SenderCheck(options: options, head: head, now: now, fetched: fetched)
            try check.verify(special, content)
            id = check.id
            if options.remembers { replayKey = hasOwnID ? id : Digest.of(check.signed.span, .sha256) }
            return
        }
        // Anybody can have such a text signed, by asking for it as a challenge.
        if mayBeToken, contentCount > 0 { throw .body }
        if case .member(let name)? = scheme.timestamp {
            try checkTime(SignedTime.member(name, of: content, scheme.timestampUnit))
        }
        for candidate in candidates {
            let signed = signedBytes(candidate, content)
            for signature in signatures where scheme.methods[signature.method] == candidate.method {
                guard Self.holds(candidate, signed.span, signature.bytes.span) else { continue }
                if let signedDigest {
                    feedEnd(to: signedDigest)
                    replayKey = signedDigest.finish()
                } else if options.remembers {
                    replayKey = id
                }
                return
            }
        }
        throw .mismatch
    }

    /// What a candidate's signatures are compared with: an HMAC, a digest, or the message itself.
    private func signedBytes(_ candidate: Candidate, _ content: Span<UInt8>) -> [UInt8] {
        guard let digest = candidate.digest else {
            guard candidate.method.algorithm != .equal else { return [] }
            var message: [UInt8] = []
            for piece in scheme.layout.pieces {
                if piece == .body { message.append(contentsOf: content) } else { message += text(of: piece) }
            }
            return message
        }
        feedEnd(to: digest)
        return digest.finish()
    }

    private static func holds(_ candidate: Candidate, _ signed: Span<UInt8>, _ signature: Span<UInt8>) -> Bool {
        switch (candidate.method.algorithm, candidate.secret.material) {
        case (.hmac, _): ConstantTime.areEqual(signed, signature)
        case (.key(let form), .key(let key)): key.verify(form, signed, signature)
        case (.equal, .shared(let secret)): ConstantTime.isSame(token: signature, as: secret.span)
        default: false
        }
    }
}

/// What is taken of a request's head.
struct SignedHead {
    let method: [UInt8]
    let target: [UInt8]
    let url: SignedURL
    let contentType: [UInt8]
    private let fields: [(name: String, value: [UInt8])]

    init(_ request: borrowing MessageHead, target: Span<UInt8>, isSecure: Bool, _ options: SignatureVerifier.Options) {
        method = request.method.copied()
        let target = target.copied()
        self.target = SignedURL.target(target)
        let base =
            options.publicURL
            ?? "\(isSecure ? "https" : "http")://\(String(decoding: request.authority.copied(), as: UTF8.self))"
        url = SignedURL(base: base, target: target)
        let names = options.scheme.lookedUpNames
        var fields: [(name: String, value: [UInt8])] = []
        for name in names where !fields.contains(where: { $0.name == name }) {
            let bytes = Array(name.utf8)
            var start = 0
            while let index = request.first(named: bytes.span, from: start) {
                fields.append((name, request.value(index).copied().trimmed))
                start = index + 1
            }
        }
        self.fields = fields
        contentType = request.first(.contentType).map { request.value($0).copied() } ?? []
    }

    /// The value of a field that may come once; nil where there is none.
    func field(_ name: String) throws(SignatureError) -> [UInt8]? {
        var found: [UInt8]?
        for field in fields where field.name == name {
            guard found == nil else { throw .duplicated }
            found = field.value
        }
        return found
    }

    /// The first of these fields that there is, and its place among them.
    func firstField(_ names: [String]) throws(SignatureError) -> (place: Int, value: [UInt8])? {
        for (place, name) in names.enumerated() {
            if let value = try field(name) { return (place, value) }
        }
        return nil
    }

    /// Those of these fields that aren't the one at `place`, and don't say the same.
    func others(among names: [String], than place: Int) -> [String] {
        guard place < names.count, let value = fields.first(where: { $0.name == names[place] })?.value else {
            return names
        }
        return names.filter { name in
            name != names[place] && fields.contains { $0.name == name && $0.value != value }
        }
    }

    /// The value of a field that must be there.
    func needed(_ name: String) throws(SignatureError) -> [UInt8] {
        guard let value = try field(name) else { throw .lacking(name) }
        return value
    }

    /// As `firstField`, of fields one of which must be there.
    func neededField(_ names: [String]) throws(SignatureError) -> (place: Int, value: [UInt8]) {
        if let found = try firstField(names) { return found }
        guard let name = names.first else { throw .missing }
        throw .lacking(name)
    }
}

extension [UInt8] {
    /// Without spaces and tabs at its ends.
    var trimmed: [UInt8] { span.withoutBlanks.copied() }
}
