internal import Octets
internal import Transcoding

/// How a sender sees that an endpoint is its owner's: by a request whose answer shows that the endpoint has the secret, or takes part
/// at all. Such a request is nothing for the service behind, so it is answered at the edge.
package enum EndpointChallenge: Hashable, Sendable {
    /// A signed JSON text with `type: url_verification`: its `challenge` comes back.
    case slack
    /// A signed JSON text with `event: endpoint.url_validation`: `payload.plainToken` comes back with its HMAC.
    case zoom
    /// A signed JSON text with `type: 1`, a ping: it comes back.
    case discord
    /// GET with `hub.mode=subscribe`, a token that was agreed on, and `hub.challenge`, which comes back.
    case meta
    /// GET with `crc_token`, whose HMAC comes back.
    case x
    /// GET with `challenge`, which comes back.
    case dropbox
    /// A signed JSON text with `Type: SubscriptionConfirmation`: the page at its `SubscribeURL` wants to be fetched, which is the
    /// caller's to do (`SignatureVerifier.confirmation`).
    case sns
    /// HEAD, which wants a 200.
    case intercom
    /// HEAD, which wants a 200, and a form whose `mandrill_events` is an empty array: signed, before a webhook has a key, with one that
    /// everybody knows.
    case mandrill
    /// A form with the webhook's number, without a signature: deliveries are JSON.
    case woocommerce

    /// What a challenge is answered with, by 200.
    package struct Answer: Hashable, Sendable {
        package let contentType: StaticType
        package let content: [UInt8]

        /// Nothing that a browser would show as a page: what came from outside is in it.
        package enum StaticType: String, Sendable {
            case json = "application/json"
            case text = "text/plain; charset=utf-8"
        }

        init(json content: [UInt8]) { (contentType, self.content) = (.json, content) }
        /// To a sender that doesn't read it.
        package static let empty = Answer(json: Array("{}".utf8))

        init(text content: [UInt8]) { (contentType, self.content) = (.text, content) }
    }

    /// Whether it comes as a GET, without content and without a signature.
    package var isQuery: Bool {
        switch self {
        case .meta, .x, .dropbox: true
        case .slack, .zoom, .discord, .sns, .intercom, .mandrill, .woocommerce: false
        }
    }

    /// Whether it comes as a HEAD, whose answer says that there is something.
    package var isHead: Bool { self == .intercom || self == .mandrill }

    /// The method of one without content, which a route must take; nil: it comes as deliveries do.
    package var method: String? { isQuery ? "GET" : isHead ? "HEAD" : nil }

    /// Whether it needs a token that the settings name (`verify_token`).
    package var hasToken: Bool { self == .meta }

    /// Bytes of content that may be a challenge at most, and of what comes back of a query: 4 KiB. All of them are shorter.
    package static let longest = 4 * 1024

    // MARK: GET

    /// Whether a query asks for an answer.
    package func isAsked(by query: Span<UInt8>) -> Bool { Self.value(of: parameter, in: query) != nil }

    private var parameter: StaticString {
        switch self {
        case .meta: "hub.challenge"
        case .x: "crc_token"
        default: "challenge"
        }
    }

    /// The answer to a query that asks for one. Throws where it is none of the sender's.
    ///
    /// - Parameters:
    ///   - secrets: of the route; the first that is shared makes an HMAC.
    ///   - token: what was agreed on with the sender, where it has one.
    package func answer(
        query: Span<UInt8>, secrets: [SigningSecret], token: [UInt8]?
    ) throws(SignatureError) -> Answer {
        guard let challenge = Self.value(of: parameter, in: query), !challenge.isEmpty,
            challenge.count <= Self.longest
        else { throw .malformed }
        switch self {
        case .meta:
            guard let token, Self.value(of: "hub.mode", in: query) == Array("subscribe".utf8),
                let given = Self.value(of: "hub.verify_token", in: query)
            else { throw .missing }
            guard ConstantTime.isSame(token: given.span, as: token.span) else { throw .mismatch }
            return Answer(text: challenge)
        case .x:
            // The same HMAC signs bodies: whoever could have any text signed here could forge each of them. So a token must be
            // neither a JSON text nor a form, and no body that looks like a token is taken (`SignatureVerifier.finish`).
            guard Self.isToken(challenge), !Self.isForm(challenge),
                (try? MemberSearch.texts(at: [], in: challenge.span)) == nil,
                let key = Self.shared(secrets)
            else { throw .malformed }
            let mac = Digest.hmac(challenge.span, key: key.span, .sha256)
            return Answer(
                json: Self.object(("response_token", Array("sha256=".utf8) + BinaryEncoding.base64.encode(mac.span))))
        case .dropbox: return Answer(text: challenge)
        case .slack, .zoom, .discord, .sns, .intercom, .mandrill, .woocommerce: throw .missing
        }
    }

    /// The value of a parameter that is there once.
    private static func value(of name: StaticString, in query: Span<UInt8>) -> [UInt8]? {
        let name = name.description
        let type = BodyFields.formType
        guard let texts = try? BodyFields.texts(named: [name], query, contentType: type.span) else { return nil }
        return texts[name]
    }

    // MARK: Signed content

    /// The answer to content that is known to be its sender's; nil where it is no challenge.
    package func answer(content: Span<UInt8>, secrets: [SigningSecret]) -> Answer? {
        guard !isQuery, content.count <= Self.longest else { return nil }
        if self == .mandrill { return answer(unsigned: content) }
        switch self {
        case .slack:
            let members = Self.members(["/type", "/challenge"], of: content)
            guard members["/type"] == Array("url_verification".utf8), let challenge = members["/challenge"] else {
                return nil
            }
            return Answer(json: Self.object(("challenge", challenge)))
        case .zoom:
            let members = Self.members(["/event", "/payload/plainToken"], of: content)
            guard members["/event"] == Array("endpoint.url_validation".utf8),
                let token = members["/payload/plainToken"], Self.isToken(token), let key = Self.shared(secrets)
            else { return nil }
            let mac = Digest.hmac(token.span, key: key.span, .sha256)
            return Answer(
                json: Self.object(("plainToken", token), ("encryptedToken", BinaryEncoding.hex.encode(mac.span))))
        case .discord:
            guard Self.members(["/type"], of: content)["/type"] == [UInt8(ascii: "1")] else { return nil }
            return Answer(json: Array("{\"type\":1}".utf8))
        case .meta, .x, .dropbox, .sns, .intercom, .mandrill, .woocommerce: return nil
        }
    }

    private static func members(_ pointers: [String], of content: Span<UInt8>) -> [String: [UInt8]] {
        (try? MemberSearch.texts(at: pointers, in: content)) ?? [:]
    }

    // MARK: Content that nobody has signed

    /// The answer to content that says nothing whoever sends it, so that it needs no signature; nil of other content.
    package func answer(unsigned content: Span<UInt8>) -> Answer? {
        guard self == .mandrill, content.count <= Self.longest,
            let events = Self.value(of: "mandrill_events", in: content)
        else { return nil }
        let written = events.filter {
            $0 != ASCII.space && $0 != ASCII.tab && $0 != ASCII.lineFeed && $0 != ASCII.carriageReturn
        }
        return written == Array("[]".utf8) ? .empty : nil
    }

    /// Whether content of that type and length, without a signature, can be nothing but the sender's ping.
    package func isPing(contentType: Span<UInt8>, length: Int) -> Bool {
        self == .woocommerce && length <= 64
            && ContentType.isType(contentType, "application/x-www-form-urlencoded")
    }

    private static func object(_ members: (String, [UInt8])...) -> [UInt8] {
        var json = JSON.Encoder(options: JSON.EncodingOptions())
        json.beginObject()
        for member in members { json.member(member.0, bytes: member.1.span) }
        json.endObject()
        return json.output.span.copied()
    }

    private static func shared(_ secrets: [SigningSecret]) -> [UInt8]? {
        for secret in secrets { if case .shared(let key) = secret.material { return key } }
        return nil
    }

    /// Whether content could be the token of a challenge of X's: anybody can have such a text signed, by asking for it.
    static func mayBeToken(_ content: Span<UInt8>) -> Bool {
        content.count > 0 && content.count <= longest && hasTokenBytes(content)
    }

    /// Whether it has letters, digits and the few signs of base64 and of UUIDs alone.
    private static func isToken(_ text: [UInt8]) -> Bool { !text.isEmpty && hasTokenBytes(text.span) }

    /// Whether all of these bytes are such.
    static func hasTokenBytes(_ text: Span<UInt8>) -> Bool {
        for at in text.indices {
            switch text[at] {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "="),
                UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "."):
                break
            default: return false
            }
        }
        return true
    }

    /// Whether a token has a `=` that isn't the end of base64, which makes it a form's name and value.
    private static func isForm(_ token: [UInt8]) -> Bool {
        guard let first = token.firstIndex(of: UInt8(ascii: "=")) else { return false }
        let end = token.count - first
        return end > 2 || token.count % 4 != 0 || token[first...].contains { $0 != UInt8(ascii: "=") }
    }
}
