internal import HTTPWire
internal import Octets

/// Senders whose signatures need code: those that sign the fields of a body, or carry the signature in it, or name a certificate.
struct SenderCheck {
    private let options: SignatureVerifier.Options
    private let head: SignedHead
    private let now: Int
    /// A certificate that was fetched for the request.
    private let fetched: PinnedCertificate?
    /// What the sender calls the request, where that is signed so that its end is told.
    private(set) var id: [UInt8] = []
    /// What was signed, of senders without such an id.
    private(set) var signed: [UInt8] = []

    init(options: SignatureVerifier.Options, head: SignedHead, now: Int, fetched: PinnedCertificate? = nil) {
        self.options = options
        self.head = head
        self.fetched = fetched
        self.now = now
    }

    /// Fields that are read besides those of the scheme.
    static func headers(_ special: SignatureScheme.Special) -> [String] {
        special == .payPal
            ? ["PAYPAL-TRANSMISSION-ID", "PAYPAL-TRANSMISSION-TIME", "PAYPAL-CERT-URL", "PAYPAL-AUTH-ALGO"] : []
    }

    /// Where the certificate is kept that the signature is by; nil of senders that have none.
    func certificate(
        _ special: SignatureScheme.Special, _ content: Span<UInt8>
    ) throws(SignatureError) -> SenderLocation? {
        let location: SenderLocation?
        switch special {
        case .sns:
            let pointer = "/SigningCertURL"
            let members = try MemberSearch.texts(at: [pointer, Self.topicPointer], in: content)
            guard let url = members[pointer] else { throw .lacking(pointer) }
            // Nothing is fetched for strangers.
            try checkTopic(members)
            location = SenderLocation(url, of: .sns)
        case .payPal:
            let url = try head.needed("PAYPAL-CERT-URL")
            location = SenderLocation(url, of: .payPal)
        case .twilio, .mandrill, .mailgun, .httpMessage: return nil
        }
        guard let location, location.isCertificate else { throw .certificate }
        return location
    }

    /// The page that confirms a subscription of SNS; nil of content that asks for no such thing.
    static func confirmation(_ content: Span<UInt8>) -> SenderLocation? {
        guard let members = try? MemberSearch.texts(at: ["/Type", "/SubscribeURL"], in: content),
            members["/Type"] == Array("SubscriptionConfirmation".utf8), let url = members["/SubscribeURL"]
        else { return nil }
        return SenderLocation(url, of: .sns)
    }

    mutating func verify(_ special: SignatureScheme.Special, _ content: Span<UInt8>) throws(SignatureError) {
        switch special {
        case .twilio: try verifyTwilio(content)
        case .mandrill: try verifyMandrill(content)
        case .mailgun: try verifyMailgun(content)
        case .sns: try verifySNS(content)
        case .payPal: try verifyPayPal(content)
        case .httpMessage: preconditionFailure("a signature of the head has its own check")
        }
    }

    /// The signature of the scheme's own field.
    private func signature() throws(SignatureError) -> [UInt8] {
        let text = try head.neededField(options.scheme.headers).value
        guard let bytes = options.scheme.encoding.decode(text.span), !bytes.isEmpty else { throw .malformed }
        return bytes
    }

    /// Whether one of the shared secrets has made this HMAC of one of these messages, which is kept then.
    private mutating func isSigned(_ messages: [[UInt8]], _ signature: [UInt8], _ algorithm: DigestAlgorithm) -> Bool {
        for secret in options.secrets {
            guard case .shared(let key) = secret.material else { continue }
            for message in messages {
                let expected = Digest.hmac(message.span, key: key.span, algorithm)
                if ConstantTime.areEqual(expected.span, signature.span) {
                    signed = message
                    return true
                }
            }
        }
        return false
    }

    // MARK: Forms

    /// Names and values of a form, sorted by their names' bytes; nil of content that is none. Of Twilio's fields with one name the
    /// values are sorted too, and the same value counts once; of Mandrill's they stay in their order. A file throws: neither signs it.
    static func formSuffix(
        _ special: SignatureScheme.Special, _ content: Span<UInt8>, contentType: Span<UInt8>,
        _ reading: SignedBodyReading
    ) throws(SignatureError) -> [UInt8]? {
        guard let fields = try BodyFields.all(content, contentType: contentType, reading) else { return nil }
        let sorted = fields.enumerated().sorted {
            let (one, other) = ($0.element, $1.element)
            if one.name != other.name { return one.name.lexicographicallyPrecedes(other.name) }
            guard special == .twilio, one.value != other.value else { return $0.offset < $1.offset }
            return one.value.lexicographicallyPrecedes(other.value)
        }
        var suffix: [UInt8] = []
        for (index, (_, field)) in sorted.enumerated() {
            if special == .twilio, index > 0, sorted[index - 1].element == field { continue }
            suffix += field.name + field.value
        }
        return suffix
    }

    // MARK: Twilio

    /// The URL, and of a form each name with its values, sorted by bytes; of other content its SHA-256, which the query has.
    private mutating func verifyTwilio(_ content: Span<UInt8>) throws(SignatureError) {
        let signature = try signature()
        var suffix: [UInt8] = []
        if let fields = try Self.formSuffix(
            .twilio, content, contentType: head.contentType.span, options.reading)
        {
            suffix = fields
        } else if let text = head.url.parameter(MessageSigner.bodyParameter) {
            guard let digest = BinaryEncoding.hex.decode(text.span) else { throw .malformed }
            guard ConstantTime.areEqual(Digest.of(content, .sha256).span, digest.span) else { throw .mismatch }
        } else if content.count > 0 {
            // Nothing signed such content: without this check anybody could change it.
            throw .lacking(head.contentType.isEmpty ? "Content-Type" : MessageSigner.bodyParameter)
        }
        guard isSigned(head.url.portSpellings.map { $0 + suffix }, signature, .sha1) else { throw .mismatch }
    }

    // MARK: Mandrill

    /// The URL, and each field's name and value, sorted by the names.
    private mutating func verifyMandrill(_ content: Span<UInt8>) throws(SignatureError) {
        let signature = try signature()
        let fields = try Self.formSuffix(.mandrill, content, contentType: head.contentType.span, options.reading)
        // Content that is empty has no fields, whatever its type says: nothing but the URL was signed.
        if fields == nil, content.count > 0 { throw head.contentType.isEmpty ? .lacking("Content-Type") : .body }
        let message = head.url.bytes + (fields ?? [])
        guard isSigned([message], signature, .sha1) else { throw .mismatch }
    }

    // MARK: Mailgun

    /// Time and token, which stand in the body with the signature: what else the body holds isn't signed.
    private mutating func verifyMailgun(_ content: Span<UInt8>) throws(SignatureError) {
        var names = ["signature", "timestamp", "token"]
        let texts: [String: [UInt8]]
        if let fields = try BodyFields.texts(named: names, content, contentType: head.contentType.span) {
            texts = fields
        } else {
            names = names.map { "/signature/" + $0 }
            texts = try MemberSearch.texts(at: names, in: content)
        }
        for name in names where texts[name] == nil { throw .lacking(name) }
        guard let text = texts[names[0]], let time = texts[names[1]], let token = texts[names[2]] else {
            throw .missing
        }
        guard let milliseconds = SignedTime.milliseconds(time.span, .seconds),
            let signature = options.scheme.encoding.decode(text.span), !signature.isEmpty
        else { throw .malformed }
        if let past = options.scheme.tolerance.past, now - milliseconds > past { throw .expired }
        if let future = options.scheme.tolerance.future, milliseconds - now > future { throw .future }
        // Nothing parts the two, so the token is no id: its first digits could be made the time's last ones.
        guard isSigned([time + token], signature, .sha256) else { throw .mismatch }
    }

    // MARK: SNS

    /// Members by their names, each with its decoded text; the signature stands beside them.
    private mutating func verifySNS(_ content: Span<UInt8>) throws(SignatureError) {
        let needed = ["Type", "SignatureVersion", "Signature", "SigningCertURL", "MessageId"]
        let further = ["Message", "Subject", "SubscribeURL", "Timestamp", "Token", "TopicArn"]
        let members = try MemberSearch.texts(at: (needed + further).map { "/" + $0 }, in: content, isCaseless: true)
        for name in needed where members["/" + name] == nil { throw .lacking("/" + name) }
        guard let type = members["/Type"], let version = members["/SignatureVersion"],
            let text = members["/Signature"], let url = members["/SigningCertURL"],
            let messageID = members["/MessageId"]
        else { throw .missing }
        let digest: DigestAlgorithm
        switch String(decoding: version, as: UTF8.self) {
        case "1": digest = .sha1
        case "2": digest = .sha256
        default: throw .malformed
        }
        let names: [String]
        switch String(decoding: type, as: UTF8.self) {
        case "Notification": names = ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"]
        case "SubscriptionConfirmation", "UnsubscribeConfirmation":
            names = ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"]
        default: throw .malformed
        }
        guard SenderLocation(url, of: .sns)?.isCertificate == true else { throw .certificate }
        guard let signature = options.scheme.encoding.decode(text.span) else { throw .malformed }
        var message: [UInt8] = []
        for name in names {
            // What is missing is left out: a message without a subject has none.
            guard let value = members["/" + name] else { continue }
            // With a line end in another one, what follows it could be made a part of it, an id's for one.
            guard name == "Message" || !value.contains(ASCII.lineFeed) else { throw .malformed }
            message += Array(name.utf8) + [ASCII.lineFeed] + value + [ASCII.lineFeed]
        }
        try verify(message.span, signature, .rsaPKCS1(digest), named: [".amazonaws.com", ".amazonaws.com.cn"])
        try checkTopic(members)
        id = messageID
    }

    private static let topicPointer = "/TopicArn"

    /// Whether a message is of a topic that is taken.
    private func checkTopic(_ members: [String: [UInt8]]) throws(SignatureError) {
        guard let topics = options.topics else { return }
        guard let topic = members[Self.topicPointer] else { throw .lacking(Self.topicPointer) }
        guard topics.contains(topic) else { throw .topic }
    }

    // MARK: PayPal

    /// Id and time of the transmission, the webhook's id and the content's CRC-32, parted by `|`.
    private mutating func verifyPayPal(_ content: Span<UInt8>) throws(SignatureError) {
        let signature = try signature()
        let transmission = try head.needed("PAYPAL-TRANSMISSION-ID")
        let time = try head.needed("PAYPAL-TRANSMISSION-TIME")
        let url = try head.needed("PAYPAL-CERT-URL")
        let algorithm = try head.needed("PAYPAL-AUTH-ALGO")
        guard String(decoding: algorithm, as: UTF8.self) == "SHA256withRSA" else { throw .malformed }
        guard SenderLocation(url, of: .payPal)?.isCertificate == true else { throw .certificate }
        let bar = [UInt8(ascii: "|")]
        let check = Array(String(Digest.crc32(content)).utf8)
        let message = transmission + bar + time + bar + Array(options.webhookID.utf8) + bar + check
        try verify(message.span, signature, .rsaPKCS1(.sha256), named: [".paypal.com"])
        id = transmission
    }

    // MARK: Certificates

    /// By any certificate that is pinned, or was fetched from the sender's host, is the sender's by its name, and is within its
    /// time; or by a bare key.
    private func verify(
        _ message: Span<UInt8>, _ signature: [UInt8], _ form: SignatureForm, named names: [String]
    ) throws(SignatureError) {
        let digest = Digest.of(message, form.digest)
        var isTrusted = false
        for secret in options.secrets + (fetched.map { [SigningSecret(.certificate($0))] } ?? []) {
            let key: SignatureKey
            switch secret.material {
            case .shared: continue
            case .key(let bare): key = bare
            case .certificate(let certificate):
                guard names.contains(where: { certificate.isFor($0) }), certificate.isCurrent(now / 1000) else {
                    continue
                }
                key = certificate.key
            }
            isTrusted = true
            if key.verify(form, digest.span, signature.span) { return }
        }
        throw isTrusted ? .mismatch : .certificate
    }
}
