internal import Octets

/// What proves that bytes are a sender's.
package enum SignatureAlgorithm: Hashable, Sendable {
    case hmac(DigestAlgorithm)
    case key(SignatureForm)
    /// The signature is the secret itself: a token.
    case equal

    /// As the settings call them.
    package static let names: [(String, SignatureAlgorithm)] = [
        ("hmac-sha1", .hmac(.sha1)), ("hmac-sha256", .hmac(.sha256)), ("hmac-sha384", .hmac(.sha384)),
        ("hmac-sha512", .hmac(.sha512)), ("ed25519", .key(.ed25519)), ("ecdsa-p256", .key(.ecdsaDER(.sha256))),
        ("ecdsa-p256-raw", .key(.ecdsaRaw(.sha256))), ("ecdsa-p384", .key(.ecdsaDER(.sha384))),
        ("rsa-sha256", .key(.rsaPKCS1(.sha256))), ("rsa-sha512", .key(.rsaPKCS1(.sha512))),
        ("rsa-pss-sha512", .key(.rsaPSS(.sha512))), ("equal", .equal),
    ]

    package var name: String { Self.names.first { $0.1 == self }?.0 ?? "rsa-sha1" }
}

/// What is signed: texts and parts of the request, one behind the other. It has the content once, or not at all.
package struct SignedLayout: Hashable, Sendable, CustomStringConvertible {
    package enum Piece: Hashable, Sendable {
        case literal([UInt8])
        case id
        /// The time as its sender wrote it.
        case timestamp
        case method
        /// The whole URL as the sender was told it.
        case url
        /// The same, with the escapes undone that HubSpot undoes.
        case decodedURL
        /// Path and query as they came.
        case path
        /// The content as it came, before codings are undone.
        case body
    }

    package let pieces: [Piece]

    package init(_ pieces: [Piece]) { self.pieces = pieces }

    private static let names: [(String, Piece)] = [
        ("id", .id), ("timestamp", .timestamp), ("method", .method), ("url", .url), ("decoded_url", .decodedURL),
        ("path", .path), ("body", .body),
    ]

    /// Why a text is no layout.
    package struct Fault: Error, Equatable, Sendable {
        package let reason: String
    }

    /// Reads `{timestamp}.{body}`: names in braces, `{{` and `}}` for braces, and all else as it stands.
    package init(parsing text: String) throws(Fault) {
        var pieces: [Piece] = []
        var literal: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.first {
            rest.removeFirst()
            let isBrace = byte == UInt8(ascii: "{") || byte == UInt8(ascii: "}")
            if isBrace, rest.first == byte {
                rest.removeFirst()
                literal.append(byte)
            } else if byte == UInt8(ascii: "{") {
                guard let end = rest.firstIndex(of: UInt8(ascii: "}")) else {
                    throw Fault(reason: "has a { without its }")
                }
                let name = String(decoding: rest[..<end], as: UTF8.self)
                rest = rest[(end + 1)...]
                guard let piece = Self.names.first(where: { $0.0 == name }) else {
                    let known = Self.names.map { "{\($0.0)}" }.joined(separator: ", ")
                    throw Fault(reason: "has {\(name)}, which is none of \(known)")
                }
                if !literal.isEmpty { pieces.append(.literal(literal)) }
                literal = []
                pieces.append(piece.1)
            } else if byte == UInt8(ascii: "}") {
                throw Fault(reason: "has a } without its {")
            } else {
                literal.append(byte)
            }
        }
        if !literal.isEmpty { pieces.append(.literal(literal)) }
        guard pieces.count(where: { $0 == .body }) <= 1 else { throw Fault(reason: "has {body} more than once") }
        self.pieces = pieces
    }

    package func contains(_ piece: Piece) -> Bool { pieces.contains(piece) }

    package var description: String {
        pieces.map { piece in
            switch piece {
            case .literal(let bytes):
                String(decoding: bytes, as: UTF8.self).replacing("{", with: "{{").replacing("}", with: "}}")
            default: "{\(Self.names.first { $0.1 == piece }?.0 ?? "")}"
            }
        }.joined()
    }
}

/// Where a time stands.
package enum TimestampSource: Hashable, Sendable {
    /// In a field: of several names the one at the place that the signature's field has among `SignatureScheme.headers`.
    case headers([String])
    /// In the list that the signature stands in.
    case list
    /// In a member of the JSON text that is the content.
    case member(String)
}

/// How a time is written.
package enum TimestampUnit: String, Sendable, CaseIterable {
    case seconds = "s"
    case milliseconds = "ms"
    /// RFC 3339.
    case iso
}

/// How one sender signs, or whoever signs as it does.
package struct SignatureScheme: Sendable {
    /// How the value of the signature's field is built.
    package enum Value: Hashable, Sendable {
        /// A text in front, and the signature.
        case plain(prefix: String)
        /// Elements like `t=1,v1=ab`, parted by `separator`; `pair` stands behind their names. The time is called `timestamp`.
        case list(separator: UInt8, pair: UInt8, timestamp: String?)
    }

    /// One kind of signature that is taken: of a list the elements of this name, else the whole value.
    package struct Method: Hashable, Sendable {
        package var name = ""
        package var algorithm: SignatureAlgorithm

        package init(name: String = "", algorithm: SignatureAlgorithm) {
            self.name = name
            self.algorithm = algorithm
        }
    }

    /// What only code can describe.
    package enum Special: Hashable, Sendable { case twilio, mandrill, mailgun, sns, payPal, httpMessage }

    /// What logs, metrics and the mark call the sender: a word in lower case.
    package var name: String
    package var special: Special?
    /// The signature's field. Of several names the first that a request has: some senders have an old and a new one.
    package var headers: [String] = []
    package var value = Value.plain(prefix: "")
    package var methods: [Method] = []
    package var encoding = BinaryEncoding.hex
    package var layout = SignedLayout([.body])
    package var timestamp: TimestampSource?
    package var timestampUnit = TimestampUnit.seconds
    /// Fields that `{id}` stands for, as `headers`.
    package var idHeaders: [String] = []
    /// Milliseconds that the signed time may be in the past, and ahead; nil where it may be any.
    package var tolerance: (past: Int?, future: Int?) = (nil, nil)
    /// Bytes that id and time must not have, since the signed bytes could then be cut in two ways.
    package var separator: UInt8?
    /// How secrets are written where the settings don't say.
    package var secretWriting = SigningSecret.Writing.text
    /// Fields that the sender's library wants besides.
    package var requiredHeaders: [String] = []
    /// What the answer to a request that isn't the sender's must be; nil where it is a matter of taste.
    package var failureStatus: Int?
    /// What signatures by RFC 9421 cover, where `special` says that they are such.
    package var messageSignature = MessageSignatureRule()
    /// How the sender asks whether the endpoint is its owner's.
    package var challenge: EndpointChallenge?

    package init(name: String) { self.name = name }

    /// Fields of a request's head by which it is seen whether it is the sender's, each looked up by its name.
    var lookedUpNames: [String] {
        var names = headers + idHeaders + requiredHeaders
        if case .headers(let times)? = timestamp { names += times }
        if let special { names += SenderCheck.headers(special) }
        return names
    }

    /// All fields that have a say in that; of signatures by RFC 9421 those that must be covered, too.
    package var readNames: [String] {
        guard special == .httpMessage else { return lookedUpNames }
        let covered = (messageSignature.components ?? []).filter { !$0.hasPrefix("@") }
        return lookedUpNames + ["Signature-Input", "Content-Digest", "Repr-Digest"] + covered
    }

    /// Whether the URL that the sender knows is signed.
    package var signsURL: Bool {
        switch special {
        case .twilio, .mandrill, .httpMessage: true
        case .mailgun, .sns, .payPal: false
        case nil: layout.contains(.url) || layout.contains(.decodedURL)
        }
    }

    /// What of a request beside its content and its secret has a say in a signature.
    package enum Part: Hashable, Sendable { case url, method, type, keyID, time, id }

    /// Whether it has for this sender, when we sign or verify.
    package func heeds(_ part: Part) -> Bool {
        let isHTTP = special == .httpMessage
        return switch part {
        case .url: signsURL || layout.contains(.path)
        case .method: isHTTP || layout.contains(.method)
        // It says how the body's fields are read, or is signed itself.
        case .type: special != nil && special != .sns && special != .payPal
        case .keyID: isHTTP
        case .time: special != .twilio && special != .mandrill && (special != nil || timestamp != nil)
        case .id: !idHeaders.isEmpty || layout.contains(.id)
        }
    }

    /// Whether the time that is signed is a member of the body, which is signed as it is.
    package var hasTimeInBody: Bool { if case .member? = timestamp { true } else { false } }

    /// Whether all of the content has to be there at once to be verified, or signed.
    package var needsWholeContent: Bool {
        if special == .httpMessage { return false }
        if hasTimeInBody { return true }
        return special != nil || methods.contains { $0.algorithm == .key(.ed25519) }
    }

    /// Whether a key can be its secret, a public or a private one; else only a shared secret can.
    package var takesKeys: Bool {
        switch special {
        case .sns, .payPal: true
        case .httpMessage: messageSignature.algorithm?.hasPrefix("hmac-") != true
        case .twilio, .mandrill, .mailgun: false
        case nil: methods.contains { if case .key = $0.algorithm { true } else { false } }
        }
    }

    // MARK: - In words

    /// What is signed, how, and where the signature stands, for people: nothing of a secret is in it.
    package var summary: [(key: String, value: String)] {
        var lines = [("signed", signedInWords)]
        switch special {
        case .twilio?, .mandrill?: lines.append(("algorithm", "hmac-sha1, base64"))
        case .mailgun?: lines.append(("algorithm", "hmac-sha256, hex"))
        case .sns?: lines.append(("algorithm", "rsa-sha1 or rsa-sha256, by SignatureVersion, base64"))
        case .payPal?: lines.append(("algorithm", "rsa-sha256, base64"))
        case .httpMessage?: lines.append(("algorithm", messageSignature.algorithm ?? "by the key, of RFC 9421"))
        case nil:
            let names = methods.map { $0.name.isEmpty ? $0.algorithm.name : "\($0.name) \($0.algorithm.name)" }
            let isToken = methods.contains { $0.algorithm == .equal }
            lines.append(("algorithm", names.joined(separator: ", ") + (isToken ? "" : ", \(encoding.rawValue)")))
        }
        if !headers.isEmpty { lines.append(("signature", headers.joined(separator: " or ") + valueInWords)) }
        if !idHeaders.isEmpty, layout.contains(.id) { lines.append(("id", idHeaders.joined(separator: " or "))) }
        if let time = timeInWords { lines.append(("timestamp", time)) }
        return lines
    }

    private var signedInWords: String {
        switch special {
        case .twilio?:
            "{url}, then of a form each name with its values, sorted; of other content its SHA-256, in the query"
        case .mandrill?: "{url}, then of the form each name with its value, sorted"
        case .mailgun?: "the body's timestamp and token; the rest of it is not signed"
        case .sns?: "members of the body, name and value a line each"
        case .payPal?: "PAYPAL-TRANSMISSION-ID|PAYPAL-TRANSMISSION-TIME|{webhook_id}|{crc32 of the body}"
        case .httpMessage?:
            messageSignature.components.map { $0.joined(separator: " ") }
                ?? "@method and where it goes, at least"
                + (messageSignature.needsDigest ? "; content by Content-Digest" : "")
        case nil: methods.contains { $0.algorithm == .equal } ? "nothing: the field is the secret" : layout.description
        }
    }

    private var valueInWords: String {
        switch value {
        case .plain(let prefix): prefix.isEmpty ? "" : " behind \(prefix)"
        case .list(let separator, let pair, let timestamp):
            ": "
                + ([timestamp].compactMap { $0 } + methods.map(\.name)).map { "\($0)\(Unicode.Scalar(pair))…" }
                .joined(separator: String(Unicode.Scalar(separator)))
        }
    }

    private var timeInWords: String? {
        let place: String
        switch timestamp {
        case nil: return nil
        case .headers(let names)?: place = names.joined(separator: " or ")
        case .list?: place = "in the list"
        case .member(let name)?: place = "\(name) in the body"
        }
        let unit =
            switch timestampUnit {
            case .seconds: "seconds"
            case .milliseconds: "milliseconds"
            case .iso: "RFC 3339"
            }
        if tolerance == (nil, nil) { return "\(place), in \(unit)" }
        let past = tolerance.past.map { "up to \($0 / 1000) s ago" } ?? "any time ago"
        let future = tolerance.future.map { "\($0 / 1000) s ahead" } ?? "any time ahead"
        return "\(place), in \(unit), \(past), \(future)"
    }
}
