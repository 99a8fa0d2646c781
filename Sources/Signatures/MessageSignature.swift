internal import HTTPWire
internal import Octets
internal import Transcoding

/// What of a request signatures by RFC 9421 cover, and what they are made of: the settings beside a scheme of that kind.
package struct MessageSignatureRule: Hashable, Sendable {
    /// The name that its signature has in `Signature` and `Signature-Input`; nil: any that a key of ours is meant by, and `sig1` where we
    /// sign.
    package var label: String?
    /// What must be covered at least, and what we cover. Nil: the method and where it goes, in any of the ways that say all of it;
    /// where we sign, the type of the content too.
    package var components: [String]?
    /// Whether content must be covered by a digest, too.
    package var needsDigest = true
    /// The only algorithm; nil: those that fit a key.
    package var algorithm: String?

    package init() {}

    /// Names that may stand in `components` with an @.
    package static let derived = [
        "@method", "@target-uri", "@authority", "@scheme", "@request-target", "@path", "@query",
    ]

    /// Names of algorithms (RFC 9421 §3.3).
    package static let algorithms = [
        "hmac-sha256", "ed25519", "ecdsa-p256-sha256", "ecdsa-p384-sha384", "rsa-pss-sha512", "rsa-v1_5-sha256",
    ]

    /// Whether a signature by that algorithm can be of this secret.
    package static func isMade(_ algorithm: String, with secret: SigningSecret) -> Bool {
        MessageSignatureAlgorithm.name(of: secret, asked: algorithm) != nil
    }
}

/// How a secret signs by RFC 9421.
enum MessageSignatureAlgorithm {
    /// The algorithm of this secret, by what a signature says of it; nil where the secret has none of that name.
    static func name(of secret: SigningSecret, asked: String?) -> String? {
        let fitting: [String]
        switch secret.material {
        case .shared: fitting = ["hmac-sha256"]
        case .certificate(let certificate): fitting = names(of: certificate.key)
        case .key(let key): fitting = names(of: key)
        }
        guard let asked else { return fitting.first }
        return fitting.contains(asked) ? asked : nil
    }

    private static func names(of key: SignatureKey) -> [String] {
        switch key.kind {
        case .ed25519: ["ed25519"]
        case .p256: ["ecdsa-p256-sha256"]
        case .p384: ["ecdsa-p384-sha384"]
        case .rsa: ["rsa-pss-sha512", "rsa-v1_5-sha256"]
        case .other: []
        }
    }

    private static func form(_ name: String) -> SignatureForm? {
        switch name {
        case "ed25519": .ed25519
        case "ecdsa-p256-sha256": .ecdsaRaw(.sha256)
        case "ecdsa-p384-sha384": .ecdsaRaw(.sha384)
        case "rsa-pss-sha512": .rsaPSS(.sha512)
        case "rsa-v1_5-sha256": .rsaPKCS1(.sha256)
        default: nil
        }
    }

    static func holds(_ name: String, _ secret: SigningSecret, _ base: [UInt8], _ signature: [UInt8]) -> Bool {
        switch secret.material {
        case .shared(let key):
            return ConstantTime.areEqual(Digest.hmac(base.span, key: key.span, .sha256).span, signature.span)
        case .key(let key): return verify(name, key, base, signature)
        case .certificate(let certificate): return verify(name, certificate.key, base, signature)
        }
    }

    private static func verify(_ name: String, _ key: SignatureKey, _ base: [UInt8], _ signature: [UInt8]) -> Bool {
        guard let form = form(name) else { return false }
        let message = form == .ed25519 ? base : Digest.of(base.span, form.digest)
        return key.verify(form, message.span, signature.span)
    }

    static func sign(_ name: String, _ secret: SigningSecret, _ base: [UInt8]) -> [UInt8]? {
        switch secret.material {
        case .shared(let key): return Digest.hmac(base.span, key: key.span, .sha256)
        case .key(let key):
            guard let form = form(name) else { return nil }
            let message = form == .ed25519 ? base : Digest.of(base.span, form.digest)
            return key.sign(form, message.span)
        case .certificate: return nil
        }
    }
}

/// The request that a signature base is made of (RFC 9421 §2).
struct SignedMessage {
    var method: [UInt8]
    /// `https`, in lower case.
    var scheme: [UInt8]
    /// In lower case, without the scheme's own port.
    var authority: [UInt8]
    /// Path and query as they are.
    var target: [UInt8]
    /// The lines of fields that a signature may cover, names in lower case, values without white space at their ends.
    var fields: [(name: [UInt8], value: [UInt8])]

    /// - Parameter origin: scheme and authority, `https://example.com`, with the beginning of a path where there is one.
    init(method: [UInt8], origin: [UInt8], target: [UInt8], fields: [(name: [UInt8], value: [UInt8])]) {
        self.method = method
        self.fields = fields
        let mark = Array("://".utf8)
        let end = origin.indices.first { origin[$0...].starts(with: mark) } ?? 0
        scheme = origin[..<end].map { ASCII.lowercased($0) }
        let rest = origin[min(end + 3, origin.count)...]
        let slash = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
        var authority = rest[..<slash].map { ASCII.lowercased($0) }
        let port = Array((scheme == Array("https".utf8) ? ":443" : ":80").utf8)
        if authority.count > port.count, Array(authority.suffix(port.count)) == port {
            authority.removeLast(port.count)
        }
        self.authority = authority
        var front = Array(rest[slash...])
        if front.last == UInt8(ascii: "/"), target.first == UInt8(ascii: "/") { front.removeLast() }
        self.target = SignedURL.target(front + target)
    }

    private var query: ArraySlice<UInt8>? {
        target.firstIndex(of: UInt8(ascii: "?")).map { target[($0 + 1)...] }
    }

    /// Fields whose values are dictionaries, lists or items (RFC 9421 §2.1.1 wants the kind to be known).
    private static let dictionaries: Set<String> = [
        "content-digest", "repr-digest", "want-content-digest", "want-repr-digest", "signature", "signature-input",
        "accept-signature", "priority", "cdn-cache-control",
    ]
    private static let lists: Set<String> = ["cache-status", "proxy-status", "client-cert-chain"]
    private static let items: Set<String> = ["client-cert", "deprecation", "sec-ch-ua-mobile", "idempotency-key"]

    /// What was read of a message for signature bases: each field and the query once, however many of their members are covered, and by
    /// however many signatures. Who sends a request says how many that are, before anything of it is known to be signed.
    struct Parts {
        /// By the field's name, the members of its dictionary by their keys.
        fileprivate var dictionaries: [String: [String: StructuredField.Member]] = [:]
        /// Of the query, the value of each parameter by its name, both as a base has them, and nil where it comes twice; nil where it
        /// wasn't read.
        fileprivate var parameters: [[UInt8]: [UInt8]?]?

        init() {}
    }

    /// The line of a component, without its end. Throws where the request has no such, or it is of a kind that can't be covered here.
    private func line(_ component: StructuredField.Item, _ parts: inout Parts) throws(SignatureError) -> [UInt8] {
        guard case .string(let name) = component.value else { throw .malformed }
        return StructuredField.text(component) + Array(": ".utf8)
            + (try value(String(decoding: name, as: UTF8.self), component.parameters, &parts))
    }

    private func value(
        _ name: String, _ parameters: StructuredField.Parameters, _ parts: inout Parts
    ) throws(SignatureError) -> [UInt8] {
        if name.hasPrefix("@") {
            if name == "@query-param", parameters.count == 1, parameters[0].name == "name",
                case .string(let wanted) = parameters[0].value
            {
                return try queryParameter(wanted, &parts)
            }
            guard parameters.isEmpty else { throw .malformed }
            switch name {
            case "@method": return method
            case "@target-uri": return scheme + Array("://".utf8) + authority + target
            case "@authority": return authority
            case "@scheme": return scheme
            case "@request-target": return target
            case "@path":
                let path = Array(target[..<(query.map { $0.startIndex - 1 } ?? target.endIndex)])
                return path.isEmpty ? Array("/".utf8) : path
            case "@query": return [UInt8(ascii: "?")] + (query ?? [])
            default: throw .malformed
            }
        }
        let bytes = Array(name.utf8)
        guard bytes.allSatisfy({ ASCII.isToken($0) && ASCII.lowercased($0) == $0 }), !bytes.isEmpty else {
            throw .malformed
        }
        if parameters.count == 1, case ("key", .string(let key)) = (parameters[0].name, parameters[0].value) {
            let wanted = String(decoding: key, as: UTF8.self)
            guard let member = try members(of: name, bytes, &parts)[wanted] else { throw .malformed }
            return StructuredField.text(member)
        }
        let values = try lines(of: name, bytes)
        let joined = Self.joined(values)
        guard let parameter = parameters.first else { return joined }
        guard parameters.count == 1 else { throw .malformed }
        do throws(StructuredField.Fault) {
            switch (parameter.name, parameter.value) {
            case ("bs", .boolean(true)):
                return StructuredField.text(values.map { .item(.init(value: .bytes($0))) })
            case ("sf", .boolean(true)):
                if Self.dictionaries.contains(name) {
                    return StructuredField.text(try StructuredField.dictionary(joined.span))
                }
                if Self.lists.contains(name) { return StructuredField.text(try StructuredField.list(joined.span)) }
                if Self.items.contains(name) { return StructuredField.text(try StructuredField.item(joined.span)) }
            default: break
            }
        } catch {
            throw .malformed
        }
        throw .malformed
    }

    /// The values of a field's lines, of which there must be one.
    private func lines(of name: String, _ bytes: [UInt8]) throws(SignatureError) -> [[UInt8]] {
        let values = fields.filter { $0.name == bytes }.map(\.value)
        guard !values.isEmpty else { throw .lacking(name) }
        return values
    }

    private static func joined(_ values: [[UInt8]]) -> [UInt8] { Array(values.joined(separator: Array(", ".utf8))) }

    /// The members of a field that is a dictionary, by their keys.
    private func members(
        of name: String, _ bytes: [UInt8], _ parts: inout Parts
    ) throws(SignatureError) -> [String: StructuredField.Member] {
        if let known = parts.dictionaries[name] { return known }
        let joined = Self.joined(try lines(of: name, bytes))
        let members: [String: StructuredField.Member]
        do throws(StructuredField.Fault) {
            members = Dictionary(
                uniqueKeysWithValues: try StructuredField.dictionary(joined.span).map { ($0.key, $0.value) })
        } catch {
            throw .malformed
        }
        parts.dictionaries[name] = members
        return members
    }

    /// The one value of a parameter of the query, decoded as a form's and escaped again (RFC 9421 §2.2.8).
    private func queryParameter(_ wanted: [UInt8], _ parts: inout Parts) throws(SignatureError) -> [UInt8] {
        guard let query else { throw .missing }
        if parts.parameters == nil {
            let type = BodyFields.formType
            let text = Array(query)
            guard let fields = try BodyFields.all(text.span, contentType: type.span, .all(of: text.count)) else {
                throw .malformed
            }
            // Lists of the values would grow with the square of what the query repeats.
            parts.parameters = Dictionary(
                fields.map { (Self.escaped($0.name), Self.escaped($0.value)) }, uniquingKeysWith: { _, _ in nil })
        }
        guard let found = parts.parameters?[wanted] else { throw .missing }
        // Of several it can't be known which one is meant.
        guard let value = found else { throw .duplicated }
        return value
    }

    private static func escaped(_ text: [UInt8]) -> [UInt8] {
        text.flatMap { byte -> [UInt8] in
            switch byte {
            case UInt8(ascii: "*"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): [byte]
            case _ where ASCII.isAlpha(byte) || ASCII.isDigit(byte): [byte]
            default: Array("%".utf8) + [byte >> 4, byte & 15].map { Array("0123456789ABCDEF".utf8)[Int($0)] }
            }
        }
    }

    /// What is signed: a line for each component, and one of what `Signature-Input` says (RFC 9421 §2.5).
    func base(_ input: StructuredField.InnerList, _ parts: inout Parts) throws(SignatureError) -> [UInt8] {
        var base: [UInt8] = []
        for component in input.items { base += try line(component, &parts) + [ASCII.lineFeed] }
        return base + Array("\"@signature-params\": ".utf8) + StructuredField.text(input)
    }
}

/// The digests that a request's content must have (RFC 9530).
struct ContentDigests {
    private let expected: [(digest: Digest, value: [UInt8])]

    /// Reads `Content-Digest` or `Repr-Digest`. Algorithms that are not known say nothing; without one that is, it can't be checked.
    ///
    /// - Parameter only: the one algorithm that a signature covers of the field; nil: all of them.
    init(_ field: [UInt8], only: [UInt8]?) throws(SignatureError) {
        let members: [(key: String, value: StructuredField.Member)]
        do throws(StructuredField.Fault) {
            members = try StructuredField.dictionary(field.span)
        } catch {
            throw .malformed
        }
        var expected: [(digest: Digest, value: [UInt8])] = []
        for member in members {
            guard only == nil || only == Array(member.key.utf8), let algorithm = Self.algorithm(member.key) else {
                continue
            }
            guard case .item(let item) = member.value, case .bytes(let bytes) = item.value else { throw .malformed }
            expected.append((Digest(algorithm), bytes))
        }
        guard !expected.isEmpty else { throw .malformed }
        self.expected = expected
    }

    private static func algorithm(_ name: String) -> DigestAlgorithm? {
        switch name {
        case "sha-256": .sha256
        case "sha-512": .sha512
        default: nil
        }
    }

    func update(_ content: Span<UInt8>) { for one in expected { one.digest.update(content) } }

    /// Whether all of them are the content's, which has come whole.
    func hold() -> Bool {
        expected.allSatisfy { one in
            let found = one.digest.finish()
            return ConstantTime.areEqual(found.span, one.value.span)
        }
    }
}

/// Sees whether a request has a signature by RFC 9421 that one of our secrets has made, and that covers what it must.
///
/// The signature is over the head: it is known at once. The content is compared with the digest that the head has of it, as it comes.
struct MessageSignatureCheck {
    private var digests: [ContentDigests] = []
    /// What was signed: the signature base.
    let signed: [UInt8]

    private static let most = SignatureVerifier.mostSignatures

    init(
        _ options: SignatureVerifier.Options, _ request: borrowing MessageHead, target: Span<UInt8>, isSecure: Bool,
        now: Int
    ) throws(SignatureError) {
        let message = Self.message(options, request, target: target, isSecure: isSecure)
        let inputs = try Self.dictionary("Signature-Input", message)
        let signatures = try Self.dictionary("Signature", message)
        let rule = options.scheme.messageSignature
        func read(_ label: String, _ member: StructuredField.Member) throws(SignatureError) -> Candidate {
            guard case .list(let input) = member else { throw .malformed }
            guard case .item(let item)? = signatures.first(where: { $0.key == label })?.value,
                case .bytes(let signature) = item.value
            else { throw .malformed }
            return Candidate(input: input, signature: signature, options: options, now: now)
        }
        if options.remembers, inputs.count > Self.most { throw .malformed }
        var fault: SignatureError?
        var parts = SignedMessage.Parts()
        for (label, member) in inputs.prefix(Self.most) where rule.label == nil || rule.label == label {
            do throws(SignatureError) {
                let chosen = try read(label, member)
                let base = try chosen.check(message, &parts)
                digests = try chosen.digests(message, hasContent: !request.framing.isEmpty)
                if options.remembers { try Self.refuseSecond(base, message, &parts, inputs, read) }
                signed = base
                return
            } catch {
                // What is wrong with the first that could be ours says most.
                if fault == nil || error == .mismatch { fault = error }
            }
        }
        throw fault ?? .missing
    }

    /// Each of two signatures that hold would be a request of its own: whoever has recorded both could send it again with the other
    /// one alone. A label tells nothing: it isn't signed.
    private static func refuseSecond(
        _ base: [UInt8], _ message: SignedMessage, _ parts: inout SignedMessage.Parts,
        _ inputs: [(key: String, value: StructuredField.Member)],
        _ read: (String, StructuredField.Member) throws(SignatureError) -> Candidate
    ) throws(SignatureError) {
        for (label, member) in inputs {
            var other: [UInt8]?
            do throws(SignatureError) {
                other = try read(label, member).check(message, &parts)
            } catch {
                continue
            }
            if other != base { throw .duplicated }
        }
    }

    /// Whether a digest of the content is covered.
    var readsContent: Bool { !digests.isEmpty }

    func update(_ content: Span<UInt8>) { for digest in digests { digest.update(content) } }

    func finish() throws(SignatureError) {
        for digest in digests where !digest.hold() { throw .mismatch }
    }

    private static func message(
        _ options: SignatureVerifier.Options, _ request: borrowing MessageHead, target: Span<UInt8>, isSecure: Bool
    ) -> SignedMessage {
        var fields: [(name: [UInt8], value: [UInt8])] = []
        for index in 0..<request.fieldCount {
            fields.append(
                (
                    request.name(index).copied().map { ASCII.lowercased($0) },
                    request.value(index).withoutBlanks.copied()
                ))
        }
        let origin =
            options.publicURL.map { Array($0.utf8) }
            ?? Array((isSecure ? "https://" : "http://").utf8) + request.authority.copied()
        return SignedMessage(
            method: request.method.copied(), origin: origin, target: target.copied(), fields: fields)
    }

    private static func dictionary(
        _ name: String, _ message: SignedMessage
    ) throws(SignatureError) -> [(key: String, value: StructuredField.Member)] {
        let bytes = name.utf8.map { ASCII.lowercased($0) }
        let lines = message.fields.filter { $0.name == bytes }.map(\.value)
        guard !lines.isEmpty else { throw .lacking(name) }
        let joined = Array(lines.joined(separator: Array(", ".utf8)))
        do throws(StructuredField.Fault) {
            return try StructuredField.dictionary(joined.span)
        } catch {
            throw .malformed
        }
    }

    /// One signature that a request has.
    private struct Candidate {
        let input: StructuredField.InnerList
        let signature: [UInt8]
        let options: SignatureVerifier.Options
        let now: Int

        private var rule: MessageSignatureRule { options.scheme.messageSignature }

        /// The base that it is over, where it holds.
        func check(
            _ message: SignedMessage, _ parts: inout SignedMessage.Parts
        ) throws(SignatureError) -> [UInt8] {
            try checkTimes()
            try checkCover()
            let base = try message.base(input, &parts)
            let asked = try text(of: "alg")
            if let asked, let only = rule.algorithm, asked != only { throw .mismatch }
            let keyID = try text(of: "keyid")
            for secret in options.secrets where secret.keyID == nil || secret.keyID == keyID {
                guard let name = MessageSignatureAlgorithm.name(of: secret, asked: asked ?? rule.algorithm) else {
                    continue
                }
                if MessageSignatureAlgorithm.holds(name, secret, base, signature) { return base }
            }
            throw .mismatch
        }

        private func text(of parameter: String) throws(SignatureError) -> String? {
            switch input.parameter(parameter) {
            case nil: return nil
            case .string(let bytes)?: return String(decoding: bytes, as: UTF8.self)
            default: throw .malformed
            }
        }

        private func seconds(of parameter: String) throws(SignatureError) -> Int? {
            switch input.parameter(parameter) {
            case nil: return nil
            case .integer(let seconds)?: return seconds
            default: throw .malformed
            }
        }

        private func checkTimes() throws(SignatureError) {
            let tolerance = options.scheme.tolerance
            let created = try seconds(of: "created")
            if let expires = try seconds(of: "expires"), now / 1000 > expires { throw .expired }
            guard tolerance.past != nil || tolerance.future != nil else { return }
            guard let created else { throw .lacking("created in Signature-Input") }
            // As SignedTime bounds them: what is later can't be told in milliseconds.
            guard created >= 0, created < 1_000_000_000_000 else { throw .malformed }
            if let past = tolerance.past, now - created * 1000 > past { throw .expired }
            if let future = tolerance.future, created * 1000 - now > future { throw .future }
        }

        /// Whether it covers what it must, and each component once.
        private func checkCover() throws(SignatureError) {
            var seen: Set<[UInt8]> = []
            for item in input.items {
                guard case .string = item.value, seen.insert(StructuredField.text(item)).inserted else {
                    throw .malformed
                }
            }
            if let components = rule.components {
                for name in components where !covers(name) { throw .lacking("\(name) in Signature-Input") }
                return
            }
            // A signature without the query can't be told from one of a request that had none: the query could be cut off.
            let saysWhere =
                covers("@target-uri")
                || covers("@authority") && (covers("@request-target") || covers("@path") && covers("@query"))
            guard covers("@method") else { throw .lacking("@method in Signature-Input") }
            guard saysWhere else { throw .lacking("@target-uri in Signature-Input") }
        }

        private func covers(_ name: String) -> Bool {
            let name = Array(name.utf8)
            return input.items.contains { $0.value == .string(name) && $0.parameters.isEmpty }
        }

        /// What the content must have as a digest.
        func digests(_ message: SignedMessage, hasContent: Bool) throws(SignatureError) -> [ContentDigests] {
            var digests: [ContentDigests] = []
            // All of the content of a request is its representation (RFC 9530 §3).
            for name in ["content-digest", "repr-digest"] {
                let bytes = Array(name.utf8)
                for item in input.items where item.value == .string(bytes) {
                    let lines = message.fields.filter { $0.name == bytes }.map(\.value)
                    // Beside the one that is covered anybody may have put others.
                    var only: [UInt8]?
                    if case .string(let key)? = item.parameter("key") { only = key }
                    digests.append(try ContentDigests(Array(lines.joined(separator: Array(", ".utf8))), only: only))
                }
            }
            if hasContent, digests.isEmpty, rule.needsDigest { throw .lacking("content-digest in Signature-Input") }
            return digests
        }
    }
}

extension SignatureScheme {
    /// RFC 9421 with digests by RFC 9530.
    static let httpMessageSignatures: SignatureScheme = {
        var scheme = SignatureScheme(name: "http-message-signatures")
        scheme.special = .httpMessage
        scheme.headers = ["Signature"]
        scheme.encoding = .base64
        scheme.tolerance = (300_000, 300_000)
        return scheme
    }()
}

/// Makes signatures by RFC 9421 for messages of ours.
enum MessageSignatureMaker {
    /// `Content-Digest`, where there is content, and the two fields of a signature.
    ///
    /// - Parameters:
    ///   - digest: SHA-256 of the content; nil where there is none.
    ///   - algorithm: what the secret signs by.
    static func fields(
        _ message: MessageSigner.Message, digest: [UInt8]?, _ scheme: SignatureScheme, _ secret: SigningSecret,
        algorithm: String
    ) throws(SignatureError) -> [(name: String, value: String)] {
        let rule = scheme.messageSignature
        var fields: [(name: String, value: String)] = []
        var signed = message.fields.map { field in
            (
                name: field.name.utf8.map { ASCII.lowercased($0) },
                value: Array(field.value.utf8).span.withoutBlanks.copied()
            )
        }
        let own = ["content-digest", "signature", "signature-input"].map { Array($0.utf8) }
        signed.removeAll { own.contains($0.name) }
        if let digest {
            let value = StructuredField.text([(key: "sha-256", value: .item(.init(value: .bytes(digest))))])
            signed.append((own[0], value))
            fields.append(("Content-Digest", String(decoding: value, as: UTF8.self)))
        }
        var names = rule.components ?? ["@method", "@target-uri", "content-type"]
        if rule.components == nil, !signed.contains(where: { $0.name == Array("content-type".utf8) }) {
            names.removeLast()
        }
        if digest != nil, !names.contains("content-digest") { names.append("content-digest") }
        var input = StructuredField.InnerList(items: names.map { .init(value: .string(Array($0.utf8))) })
        input.parameters = [("created", .integer(message.time / 1000))]
        if let keyID = secret.keyID { input.parameters.append(("keyid", .string(Array(keyID.utf8)))) }
        input.parameters.append(("alg", .string(Array(algorithm.utf8))))
        let (origin, rest) = SignedURL.split(Array(message.url.utf8))
        let sent = SignedMessage(method: Array(message.method.utf8), origin: origin, target: rest, fields: signed)
        var parts = SignedMessage.Parts()
        guard let signature = MessageSignatureAlgorithm.sign(algorithm, secret, try sent.base(input, &parts)) else {
            throw .malformed
        }
        let label = rule.label ?? "sig1"
        let lines = [
            ("Signature-Input", StructuredField.text([(key: label, value: .list(input))])),
            ("Signature", StructuredField.text([(key: label, value: .item(.init(value: .bytes(signature))))])),
        ]
        return fields + lines.map { ($0.0, String(decoding: $0.1, as: UTF8.self)) }
    }
}
