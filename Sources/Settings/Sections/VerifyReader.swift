internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Proxy
internal import Signatures

/// Reads `verify` of a route: a sender's name with its secret, or how any other sender signs.
struct VerifyReader {
    let context: ReadingContext

    /// Takes `verify` of a route; nil where it isn't there, or is wrong.
    ///
    /// - Parameter limit: bytes of content that are held until its signature is known (`limits.signed`).
    func read(_ route: SectionReader, limit: Int) -> RequestVerification? {
        let answer = route.take("challenge")
        let written = route.take("verify")
        guard let node = written, !context.saysOff(node, "\"verify\"") else {
            route.record("verify", "off", written.map { .line($0.position.line) } ?? .standard)
            if let answer { context.report(answer.position, "\"challenge\" is for routes with \"verify\"") }
            return nil
        }
        let failures = context.failures
        guard
            let (section, preset) = open(node, "verify", example: "one, as in github(secret: \"${env:GITHUB_SECRET}\")")
        else { return nil }
        guard var scheme = scheme(section, preset, node.position) else { return nil }
        for name in scheme.headers { context.noteCredential(name, of: "verify", node.position) }
        if preset == nil { refuseUnsigned(scheme, node.position) }
        messageSignature(section, &scheme)
        if scheme.special == .httpMessage, let node = section.take("digest"),
            let word = context.word(node, "\"digest\"", among: ["required", "optional"])
        {
            scheme.messageSignature.needsDigest = word == "required"
        }
        let hasTime = scheme.timestamp != nil || scheme.special == .mailgun || scheme.special == .httpMessage
        tolerance(section, &scheme, hasTime: hasTime)
        let fetching = fetching(section, scheme)
        let secrets = secrets(section, scheme, node, isNeeded: fetching == nil)
        var options = SignatureVerifier.Options(scheme: scheme, secrets: secrets)
        options.publicURL = publicURL(section, scheme)
        if scheme.special == .payPal {
            options.webhookID =
                section.required("webhook_id", example: "8PT597110X687430LKGECATA").flatMap {
                    context.text($0, "\"webhook_id\"")
                } ?? ""
        }
        if scheme.special == .sns { options.topics = topics(section) }
        let failure = failure(section, scheme)
        let replay = replay(section, scheme)
        let token = challengeToken(section, scheme)
        section.finish()
        let forwards = forwardsChallenges(route, answer, scheme)
        guard context.failures == failures else { return nil }
        route.record("verify", describe(scheme, secrets), .line(node.position.line))
        return RequestVerification(
            options, failure: failure, limit: limit, replay: replay, forwardsChallenges: forwards,
            challengeToken: token, fetching: fetching)
    }

    /// The section of a value that names a sender with its options in short, or has keys.
    func open(
        _ node: SettingsNode, _ key: String, example: String
    ) -> (section: SectionReader, preset: (name: String, position: SettingsNode.Position)?)? {
        guard case .scalar(let text, _) = node.content else {
            guard let section = SectionReader(node, "\"\(key)\"", path: key, context) else { return nil }
            guard let preset = section.take("preset") else { return (section, nil) }
            guard let name = context.text(preset, "\"preset\"") else { return nil }
            return (section, (name, preset.position))
        }
        let expression = ConversionExpression(node, text, path: key, context)
        guard let call = expression.readName("the sender", path: key, example: example) else { return nil }
        return (call.options, (call.encoding, call.position))
    }

    private func describe(_ scheme: SignatureScheme, _ secrets: [SigningSecret]) -> String {
        "\(scheme.name), \(counted(secrets.count, "secret"))"
    }

    // MARK: The scheme

    func scheme(
        _ section: SectionReader, _ preset: (name: String, position: SettingsNode.Position)?,
        _ position: SettingsNode.Position
    ) -> SignatureScheme? {
        guard let preset else { return generic(section, position) }
        if let scheme = SenderPresets.find(preset.name) { return scheme }
        let names = SenderPresets.all.map(\.name) + SenderPresets.aliases.keys.sorted()
        context.report(
            preset.position,
            "there is no preset \"\(preset.name)\": \(NearestWord.hint(for: preset.name, among: names))")
        return nil
    }

    /// A sender without a preset.
    private func generic(_ section: SectionReader, _ position: SettingsNode.Position) -> SignatureScheme? {
        var scheme = SignatureScheme(name: "custom")
        if let node = section.take("sender"), let name = context.text(node, "\"sender\"") {
            if SettingsName.isValid(name) {
                scheme.name = name
            } else {
                context.report(node.position, "the sender's name \"\(name)\" \(SettingsName.rule)")
            }
        }
        guard let header = section.required("header", example: "X-Signature").flatMap({ field($0, "\"header\"") })
        else {
            return nil
        }
        scheme.headers = [header]
        let algorithm = algorithm(section)
        scheme.methods = [.init(algorithm: algorithm)]
        if algorithm == .key(.ed25519) {
            scheme.secretWriting = .ed25519
        } else if case .key = algorithm {
            scheme.secretWriting = .pem
        }
        if algorithm == .equal {
            for key in ["signed", "encoding"] {
                section.refuse(key, "is for signatures, and under algorithm: equal the field is the secret itself")
            }
        }
        section.word("encoding", into: &scheme.encoding)
        if let node = section.take("id"), let name = field(node, "\"id\"") { scheme.idHeaders = [name] }
        timestamp(section, &scheme)
        let prefix = section.take("prefix")
        if let node = section.take("list") {
            if let prefix { context.report(prefix.position, "\"prefix\" and \"list\" exclude each other") }
            list(node, &scheme, algorithm)
        } else if let prefix, let text = context.text(prefix, "\"prefix\"") {
            scheme.value = .plain(prefix: text)
        }
        layout(section, &scheme, position)
        return scheme
    }

    /// What signatures by RFC 9421 are to cover.
    func messageSignature(_ section: SectionReader, _ scheme: inout SignatureScheme) {
        guard scheme.special == .httpMessage else { return }
        if let node = section.take("label"), let text = context.text(node, "\"label\"") {
            let isKey =
                text.utf8.first.map { $0 >= 0x61 && $0 <= 0x7A || $0 == UInt8(ascii: "*") } == true
                && text.utf8.allSatisfy {
                    $0 >= 0x61 && $0 <= 0x7A || $0 >= 0x30 && $0 <= 0x39 || "_-.*".utf8.contains($0)
                }
            if !isKey {
                context.report(
                    node.position, "\"label\" is a key of a structured field, as sig1: lower case, digits, - _ . *")
            }
            scheme.messageSignature.label = text
        }
        if let node = section.take("algorithm") {
            scheme.messageSignature.algorithm = context.word(
                node, "\"algorithm\"", among: MessageSignatureRule.algorithms)
        }
        guard let node = section.take("components") else { return }
        var names: [String] = []
        for element in context.elements(node, "\"components\"") ?? [] {
            guard let name = context.text(element, "a component") else { continue }
            let isName =
                name.hasPrefix("@")
                ? MessageSignatureRule.derived.contains(name) : HeaderName.isValid(name) && name == name.lowercased()
            if !isName {
                context.report(
                    element.position,
                    "a component is the name of a field in lower case, or one of "
                        + MessageSignatureRule.derived.joined(separator: ", ") + ", not \"\(name)\"")
            }
            if names.contains(name) { context.report(element.position, "the component \(name) stands there twice") }
            names.append(name)
        }
        scheme.messageSignature.components = names
        section.record("components", names.joined(separator: " "), .line(node.position.line))
    }

    private func field(_ node: SettingsNode, _ what: String) -> String? {
        guard let name = context.text(node, what) else { return nil }
        if HeaderName.isValid(name) { return name }
        context.report(node.position, "\(what) is the name of a field, not \"\(name)\"")
        return nil
    }

    private func algorithm(_ section: SectionReader) -> SignatureAlgorithm {
        let names = SignatureAlgorithm.names.map(\.0)
        let word = section.value("algorithm", standard: Sourced("hmac-sha256"), describe: { $0 }) {
            context.word($0, $1, among: names)
        }.value
        return SignatureAlgorithm.names.first { $0.0 == word }?.1 ?? .hmac(.sha256)
    }

    private func timestamp(_ section: SectionReader, _ scheme: inout SignatureScheme) {
        guard let node = section.take("timestamp") else { return }
        guard let part = SectionReader(node, "\"timestamp\"", path: "verify.timestamp", context) else { return }
        let header = part.take("header").flatMap { field($0, "\"header\"") }
        let member = part.take("member").flatMap { context.text($0, "\"member\"") }
        part.word("unit", into: &scheme.timestampUnit)
        part.finish()
        switch (header, member) {
        case (let name?, nil): scheme.timestamp = .headers([name])
        case (nil, let name?): scheme.timestamp = .member(name)
        case (nil, nil): scheme.timestamp = .list
        case (.some, .some):
            context.report(node.position, "a time stands in a \"header\" or in a \"member\" of the body, not in both")
        }
        scheme.tolerance = (300_000, 300_000)
    }

    private func list(_ node: SettingsNode, _ scheme: inout SignatureScheme, _ algorithm: SignatureAlgorithm) {
        guard let part = SectionReader(node, "\"list\"", path: "verify.list", context) else { return }
        func character(_ key: String, _ standard: String) -> UInt8 {
            part.value(key, standard: Sourced(standard), describe: { $0 }) { node, what in
                guard let text = context.text(node, what) else { return nil }
                if text.utf8.count == 1 { return text }
                context.report(node.position, "\(what) is one character, not \"\(text)\"")
                return nil
            }.value.utf8.first ?? 0
        }
        let separator = character("separator", ",")
        let pair = character("pair", "=")
        let time = part.take("timestamp").flatMap { context.text($0, "\"timestamp\"") }
        let name = part.required("signature", example: "v1").flatMap { context.text($0, "\"signature\"") }
        part.finish()
        scheme.value = .list(separator: separator, pair: pair, timestamp: time)
        scheme.methods = [.init(name: name ?? "", algorithm: algorithm)]
        if time != nil {
            if scheme.timestamp == nil { scheme.tolerance = (300_000, 300_000) }
            scheme.timestamp = .list
        }
    }

    private func layout(_ section: SectionReader, _ scheme: inout SignatureScheme, _ position: SettingsNode.Position) {
        if let node = section.take("signed"), let text = context.text(node, "\"signed\"") {
            do throws(SignedLayout.Fault) {
                scheme.layout = try SignedLayout(parsing: text)
                let isConstant = scheme.layout.pieces.allSatisfy { if case .literal = $0 { true } else { false } }
                if isConstant {
                    context.report(
                        node.position,
                        "\"signed\" is the same for each request, so that one signature would do for any: add {body}")
                }
            } catch {
                context.report(node.position, "\"signed\" \(error.reason)")
            }
        }
        if scheme.timestamp == .list, case .plain = scheme.value {
            context.report(
                position,
                "the time needs a place: \"timestamp\" has a \"header\" or a \"member\", or \"list\" a \"timestamp\"")
        }
        if scheme.layout.contains(.timestamp), scheme.timestamp == nil {
            context.report(
                position, "\"signed\" has {timestamp}, and nothing says where the time stands: add \"timestamp\"")
        }
        if case .member? = scheme.timestamp, scheme.layout.contains(.timestamp) {
            context.report(position, "a time in the body can't stand in \"signed\": {body} has it")
        }
        if scheme.layout.contains(.id), scheme.idHeaders.isEmpty {
            context.report(position, "\"signed\" has {id}, and nothing says which field that is: add \"id\"")
        }
    }

    /// A time or an id that isn't signed protects from nothing: whoever sends an old request again writes a new one.
    private func refuseUnsigned(_ scheme: SignatureScheme, _ position: SettingsNode.Position) {
        let isToken = scheme.methods.contains { $0.algorithm == .equal }
        func need(_ piece: SignedLayout.Piece, _ name: String, _ what: String, _ key: String) {
            if !isToken, scheme.layout.contains(piece) { return }
            let why = isToken ? "\"algorithm: equal\" signs nothing" : "\"signed\" has no {\(name)}"
            context.report(
                position,
                "\(what) isn't signed, so that anybody can write another one: \(why); "
                    + (isToken ? "remove \(key)" : "add it, or remove \(key)"))
        }
        switch scheme.timestamp {
        case nil: break
        case .member(let name)?: need(.body, "body", "the time in \"\(name)\"", "\"timestamp\"")
        case .headers?, .list?: need(.timestamp, "timestamp", "the time", "\"timestamp\"")
        }
        if !scheme.idHeaders.isEmpty { need(.id, "id", "the id", "\"id\"") }
    }

    // MARK: What every sender has

    private func tolerance(_ section: SectionReader, _ scheme: inout SignatureScheme, hasTime: Bool) {
        guard let node = section.take("tolerance") else { return }
        guard hasTime else {
            return context.report(node.position, "\"tolerance\" is for signatures with a time, and this one has none")
        }
        if context.saysOff(node, "\"tolerance\"") {
            scheme.tolerance = (nil, nil)
            return section.record("tolerance", "off", .line(node.position.line))
        }
        guard let time = context.time(node, "\"tolerance\"") else { return }
        let milliseconds = Int(time / .milliseconds(1))
        // Who refuses what is too old alone goes on doing so.
        let refusesOldAlone = scheme.tolerance.past != nil && scheme.tolerance.future == nil
        scheme.tolerance = (milliseconds, refusesOldAlone ? nil : milliseconds)
        section.record("tolerance", Units.describe(time), .line(node.position.line))
    }

    /// `secret`, or `secrets`, any of which may have signed.
    private func secrets(
        _ section: SectionReader, _ scheme: SignatureScheme, _ node: SettingsNode, isNeeded: Bool
    ) -> [SigningSecret] {
        let one = section.take("secret")
        let many = section.take("secrets")
        if one != nil, let many { context.report(many.position, "\"secret\" and \"secrets\" exclude each other") }
        guard let list = many ?? one else {
            guard isNeeded else { return [] }
            context.report(
                node.position, "\"verify\" needs a secret, as in secret: \"${env:SECRET}\", or several as \"secrets\"")
            return []
        }
        let elements: [SettingsNode]
        if case .mapping = list.content {
            elements = [list]
        } else {
            elements = context.elements(list, "\"secrets\"") ?? []
        }
        let failures = context.failures
        let secrets = elements.compactMap { secret($0, scheme) }
        // While keys are replaced, one of them may still be of the algorithm that was used before.
        if let asked = scheme.messageSignature.algorithm, let first = elements.first, let secret = secrets.first,
            context.failures == failures, !elements.contains(where: context.isUnresolved),
            !secrets.contains(where: { MessageSignatureRule.isMade(asked, with: $0) })
        {
            context.report(first.position, "\(asked) isn't made with \(secret)")
        }
        return secrets
    }

    /// - Parameter isOurs: whether we sign with it, instead of the sender.
    func secret(_ node: SettingsNode, _ scheme: SignatureScheme, isOurs: Bool = false) -> SigningSecret? {
        var writing: SigningSecret.Writing?
        var value = node
        var keyID: String?
        if case .mapping = node.content {
            guard let part = SectionReader(node, "a secret", path: "verify.secrets", context) else { return nil }
            guard let written = part.required("value", example: "\"${env:SECRET}\"") else { return nil }
            if let encoding = part.take("encoding"),
                let word = context.word(encoding, "\"encoding\"", among: SigningSecret.Writing.allCases.map(\.rawValue))
            {
                writing = SigningSecret.Writing(rawValue: word)
            }
            if scheme.special == .httpMessage, let id = part.take("id") { keyID = context.text(id, "\"id\"") }
            part.finish()
            value = written
        }
        guard let text = context.text(value, "a secret") else { return nil }
        // What a placeholder stands for isn't known.
        if context.isUnresolved(value) {
            var secret = SigningSecret(.shared(Array(text.utf8)), isKnown: false)
            secret.keyID = keyID
            return secret
        }
        do throws(SigningSecret.Fault) {
            var secret = try SigningSecret(text, for: scheme, as: writing)
            guard isOurs || fits(secret, scheme) else {
                context.report(value.position, "\(secret) is nothing that \(scheme.name) signs with")
                return nil
            }
            secret.keyID = keyID
            if let count = secret.sharedCount {
                let isToken = scheme.methods.contains { $0.algorithm == .equal }
                let what = isOurs ? "the secret of \"sign\"" : "a secret"
                context.noteSecret(what, bytes: count, isSigned: !isToken, value)
            }
            return secret
        } catch {
            context.report(value.position, "the secret \(error.reason)")
            return nil
        }
    }

    /// Whether one of the scheme's kinds of signature can be of this secret.
    private func fits(_ secret: SigningSecret, _ scheme: SignatureScheme) -> Bool {
        switch (scheme.special, secret.material) {
        case (.twilio?, .shared), (.mandrill?, .shared), (.mailgun?, .shared): true
        case (.sns?, .key(let key)), (.payPal?, .key(let key)): key.kind == .rsa && !key.isPrivate
        case (.sns?, .certificate), (.payPal?, .certificate): true
        case (.httpMessage?, .shared), (.httpMessage?, .certificate): true
        case (.httpMessage?, .key(let key)): key.kind != .other && !key.isPrivate
        case (.some, _): false
        case (nil, _):
            scheme.methods.contains { method in
                switch (method.algorithm, secret.material) {
                case (.hmac, .shared), (.equal, .shared): true
                case (.key(let form), .key(let key)): form.fits(key.kind) && !key.isPrivate
                default: false
                }
            }
        }
    }

    /// `https://hooks.example.com`: what the sender was told, or what our receiver is called.
    func publicURL(_ section: SectionReader, _ scheme: SignatureScheme) -> String? {
        guard let node = section.take("public_url") else { return nil }
        guard let text = context.text(node, "\"public_url\"") else { return nil }
        guard scheme.signsURL else {
            context.report(node.position, "\(scheme.name) doesn't sign the URL: remove \"public_url\"")
            return nil
        }
        let rest = text.hasPrefix("https://") ? text.dropFirst(8) : text.hasPrefix("http://") ? text.dropFirst(7) : ""
        guard let first = rest.utf8.first, first != UInt8(ascii: "/"),
            rest.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") })
        else {
            context.report(
                node.position,
                "\"public_url\" is what the sender was told, without a query, as https://hooks.example.com")
            return nil
        }
        section.record("public_url", text, .line(node.position.line))
        return text
    }

    /// Whose messages of SNS are taken: topics, or `any`, which is noted where nobody has said it, since anybody can have a topic.
    private func topics(_ section: SectionReader) -> SenderTopics? {
        guard let node = section.take("topics") else {
            section.record("topics", "any", .standard)
            return nil
        }
        if context.says("any", node, "\"topics\"") {
            section.record("topics", "any", .line(node.position.line))
            return nil
        }
        var names: [String] = []
        for element in context.elements(node, "\"topics\"") ?? [] {
            guard let name = context.text(element, "a topic") else { continue }
            if !context.isUnresolved(element), !SenderTopics.isName(name) {
                context.report(
                    element.position,
                    "a topic has its account, as in arn:aws:sns:eu-west-1:123456789012:orders, with a * at its end for any rest; "
                        + "\"topics: any\" takes messages of any customer of Amazon's")
            }
            names.append(name)
        }
        if names.isEmpty { context.report(node.position, "\"topics\" names no topic") }
        section.record("topics", names.joined(separator: " "), .line(node.position.line))
        return SenderTopics(names)
    }

    /// A status, or `report`.
    private func failure(_ section: SectionReader, _ scheme: SignatureScheme) -> RequestVerification.Failure {
        let standard = String(scheme.failureStatus ?? 401)
        let word = section.value("on_failure", standard: Sourced(standard), describe: { $0 }) {
            context.word($0, $1, among: ["400", "401", "403", "report"])
        }.value
        return Int(word).map(RequestVerification.Failure.status) ?? .report
    }

    /// What came before, if that is remembered: for a time, or with more said of it.
    private func replay(_ section: SectionReader, _ scheme: SignatureScheme) -> ReplayMemory.Options? {
        guard let node = section.take("replay") else {
            section.record("replay", "off", .standard)
            return nil
        }
        if context.saysOff(node, "\"replay\"") {
            section.record("replay", "off", .line(node.position.line))
            return nil
        }
        if scheme.methods.contains(where: { $0.algorithm == .equal }) {
            context.report(
                node.position,
                "\"replay\" can't be had of \(scheme.name), which signs nothing: whoever has recorded one request has its token, and "
                    + "can send any other")
            return nil
        }
        if case .scalar = node.content {
            guard let time = context.time(node, "\"replay\"") else { return nil }
            section.record("replay", Units.describe(time), .line(node.position.line))
            return ReplayMemory.Options(time: UInt64(time / .nanoseconds(1)))
        }
        guard let part = SectionReader(node, "\"replay\"", path: "verify.replay", context) else { return nil }
        let time = part.required("remember", example: "10m").flatMap { context.time($0, "\"remember\"") }
        let entries = part.count(
            "entries", standard: Sourced(ReplayMemory.Options.standardEntries), in: 1...10_000_000)
        part.finish()
        guard let time else { return nil }
        section.record("replay.remember", Units.describe(time), .line(node.position.line))
        return ReplayMemory.Options(time: UInt64(time / .nanoseconds(1)), entries: entries.value)
    }

    /// Whether certificates are fetched from the sender's host: `true`, or how.
    private func fetching(_ section: SectionReader, _ scheme: SignatureScheme) -> RequestVerification.Fetching? {
        guard let node = section.take("fetch") else { return nil }
        guard scheme.special == .sns || scheme.special == .payPal else {
            context.report(node.position, "\(scheme.name) names no certificate: remove \"fetch\"")
            return nil
        }
        var fetching = RequestVerification.Fetching()
        guard case .mapping = node.content else {
            guard let isOn = context.bool(node, "\"fetch\"") else { return nil }
            section.record("fetch", "\(isOn)", .line(node.position.line))
            return isOn ? fetching : nil
        }
        guard let part = SectionReader(node, "\"fetch\"", path: "verify.fetch", context) else { return nil }
        let files = TLSFileReader(context)
        fetching.authorities = files.path(part, "ca", .authorities)
        if let node = part.take("address"), let text = context.text(node, "\"address\"") {
            do throws(AddressFault) {
                guard case .tcp(let host, let port) = try AddressReader.upstream(text) else {
                    throw AddressFault(reason: "a server that is asked by HTTPS has a name or an address, and a port")
                }
                fetching.host = host
                fetching.port = UInt16(port)
            } catch {
                context.report(node.position, "\"address\": \(error.reason)")
            }
        }
        part.finish()
        if !context.environment.lacksSecrets {
            var options = TLSClientOptions()
            options.authorities = fetching.authorities
            do throws(TLSFileError) {
                _ = try TLSClientContext(options)
            } catch {
                files.report(error, node)
            }
            // One of more than 1 MiB is known by its path alone.
            if let path = fetching.authorities, let bytes = try? SettingsEnvironment.readBytes(path) {
                fetching.authoritiesDigest = Digest.of(bytes.span, .sha256)
            }
        }
        section.record("fetch", "true", .line(node.position.line))
        return fetching
    }

    /// What was agreed on with a sender whose challenges have a token.
    private func challengeToken(_ section: SectionReader, _ scheme: SignatureScheme) -> [UInt8]? {
        guard let node = section.take("verify_token") else { return nil }
        guard scheme.challenge?.hasToken == true else {
            context.report(node.position, "\(scheme.name)'s challenges have no token: remove \"verify_token\"")
            return nil
        }
        guard let text = context.text(node, "\"verify_token\"") else { return nil }
        let token = SecretText.alone(text)
        if token.isEmpty {
            context.report(node.position, "\"verify_token\" is empty")
        } else if SecretText.hasBlankEnd(token) {
            context.report(node.position, "\"verify_token\" \(SecretText.blankEnd): remove that")
        }
        context.noteSecret("\"verify_token\"", bytes: token.utf8.count, node)
        return Array(token.utf8)
    }

    /// `answer`, or `forward`.
    private func forwardsChallenges(_ route: SectionReader, _ node: SettingsNode?, _ scheme: SignatureScheme) -> Bool {
        guard let node else {
            if scheme.challenge != nil { route.record("challenge", "answer", .standard) }
            return false
        }
        guard let word = context.word(node, "\"challenge\"", among: ["answer", "forward"]) else { return false }
        if scheme.challenge == nil {
            context.report(node.position, "\(scheme.name) has no challenges that are known: remove \"challenge\"")
        }
        route.record("challenge", word, .line(node.position.line))
        return word == "forward"
    }
}
