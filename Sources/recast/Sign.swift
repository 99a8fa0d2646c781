internal import ArgumentParser
internal import Glibc
internal import HTTPWire
internal import Octets
internal import Settings
internal import Signatures

/// What `recast sign` and `recast verify` have in common: a sender, a secret, and the request around the body.
struct SignedRequestOptions: ParsableArguments {
    @Argument(help: "The sender, as in github, slack or standard-webhooks: docs/webhooks.md has all of them.")
    var sender: String

    @Option(
        help: "The secret, as a route's \"verify\" has it. Other users of the machine may see it: prefer --secret-file."
    )
    var secret: String?

    @Option(help: "A file whose text is the secret; line ends behind it and a byte order mark aren't.")
    var secretFile: String?

    @Option(
        help:
            "How the secret is written: text, hex, base64, whsec, pem or ed25519; by default as the sender gives it out."
    )
    var encoding: String?

    @Option(help: "The URL that the sender was told, with path and query; http://localhost/ without it.")
    var url: String?

    private static let standardURL = "http://localhost/"

    @Option(name: .customLong("method"), help: "The request's method; POST without it.")
    var givenMethod: String?

    @Option(
        name: .customLong("type"),
        help: "The body's Content-Type; Twilio and Mandrill sign the fields of a form, which it is without it.")
    var givenType: String?

    @Option(help: "The name of the key, for signatures by RFC 9421.")
    var keyID: String?

    @Option(help: "The time of the request in seconds since 1970; now without it.")
    var time: Int?

    /// The sender's scheme, and the secret.
    ///
    /// - Parameter signs: whether that is to sign as the sender does.
    func read(_ command: String, signs: Bool) throws(CommandFault) -> (SignatureScheme, SigningSecret) {
        guard let scheme = SenderPresets.find(sender) else {
            let names = SenderPresets.all.map(\.name).joined(separator: ", ")
            throw CommandFault(
                CommandFault.usage, "recast \(command): there is no sender \"\(sender)\": known are \(names)")
        }
        if signs {
            do throws(MessageSigner.Fault) {
                try MessageSigner.check(scheme)
            } catch {
                throw CommandFault(CommandFault.usage, "recast \(command): \(error.reason)")
            }
        }
        if let time, !(0...Self.lastTime).contains(time) {
            throw CommandFault(
                CommandFault.usage,
                "recast \(command): --time is 0 to \(Self.lastTime) seconds since 1970, not \(time)")
        }
        guard Self.isURL(address) else {
            throw CommandFault(
                CommandFault.usage,
                "recast \(command): --url is what the sender was told, from http:// or https:// on, with what has no place in a URL "
                    + "percent-encoded and no fragment, as in https://hooks.example.com/in?a=1")
        }
        var writing: SigningSecret.Writing?
        if let encoding {
            guard let named = SigningSecret.Writing(rawValue: encoding) else {
                throw CommandFault(
                    CommandFault.usage,
                    "recast \(command): --encoding is no \"\(encoding)\": known are "
                        + SigningSecret.Writing.allCases.map(\.rawValue).joined(separator: ", "))
            }
            writing = named
        }
        let text: String
        switch (secret, secretFile) {
        case (let given?, nil):
            // What stands for bytes that are no UTF-8 would sign as another secret.
            guard !given.unicodeScalars.contains("\u{FFFD}") else {
                throw CommandFault(CommandFault.usage, "recast \(command): the secret is not UTF-8")
            }
            text = given
        case (nil, let path?):
            do throws(SettingsEnvironment.FileFault) {
                // Standard input has the body.
                let isStandardInput = path == SettingsEnvironment.standardInput
                text = try SettingsEnvironment.readText(isStandardInput ? "./\(path)" : path)
            } catch {
                throw CommandFault(CommandFault.unavailable, "recast \(command): \(error.reason)")
            }
        default: throw CommandFault(CommandFault.usage, "recast \(command): give --secret or --secret-file")
        }
        do throws(SigningSecret.Fault) {
            var secret = try SigningSecret(text, for: scheme, as: writing)
            secret.keyID = keyID
            return (scheme, secret)
        } catch {
            throw CommandFault(CommandFault.usage, "recast \(command): the secret \(error.reason)")
        }
    }

    /// Whether `text` is a URL of a request: of HTTP, with a host, in visible ASCII, without a fragment, which is never sent.
    private static func isURL(_ text: String) -> Bool {
        guard let mark = text.firstRange(of: "://"), ["http", "https"].contains(text[..<mark.lowerBound].lowercased()),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"\"#<>\\^`{|}".utf8.contains($0) })
        else { return false }
        let authority = text[mark.upperBound...].prefix { $0 != "/" && $0 != "?" }
        let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        let name = host.hasPrefix("[") ? host.prefix { $0 != "]" } : host.prefix { $0 != ":" }
        let rest = host.dropFirst(name.count).drop { $0 == "]" }
        guard !name.isEmpty, name != "[" else { return false }
        return rest.isEmpty || rest.first == ":" && (rest.count == 1 || UInt16(rest.dropFirst()) != nil)
    }

    /// The URL, with the default one where none is given.
    var address: String { url ?? Self.standardURL }

    /// What to do about a URL that is signed and wasn't given, so that `assumed` stands for it; nil where none is wanted.
    func urlHint(_ scheme: SignatureScheme, _ assumed: String) -> String? {
        guard url == nil, scheme.signsURL else { return nil }
        return "\(scheme.name) signs the URL, here \(assumed): --url says which one the sender was told"
    }

    /// Scheme and authority, and path and query.
    var splitURL: (base: String, target: [UInt8]) {
        let (origin, rest) = SignedURL.split(Array(address.utf8))
        return (String(decoding: origin, as: UTF8.self), rest)
    }

    /// What a request to the URL has as its Host: no user, and no colon without a port.
    var authority: String {
        guard let mark = address.firstRange(of: "://") else { return address }
        let authority = address[mark.upperBound...].prefix { $0 != "/" && $0 != "?" }
        let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        return String(host.hasSuffix(":") ? host.dropLast() : host)
    }

    var isSecure: Bool { address.lowercased().hasPrefix("https:") }

    /// The last second of the year 9999: times as text have four digits of a year.
    private static let lastTime = 253_402_300_799

    /// The method, and the Content-Type, with the default ones where none are given.
    var method: String { givenMethod ?? "POST" }
    var type: String { givenType ?? "application/x-www-form-urlencoded" }

    /// Refuses an option that would be read and have no effect.
    ///
    /// - Parameter options: each with whether it is given and has none, and what the sender doesn't do.
    func refuse(
        _ command: String, _ scheme: SignatureScheme, _ options: [(name: String, isUnused: Bool, reason: String)]
    ) throws(CommandFault) {
        guard let option = options.first(where: \.isUnused) else { return }
        throw CommandFault(
            CommandFault.usage, "recast \(command): \(scheme.name) \(option.reason): leave --\(option.name) out")
    }

    /// Milliseconds since 1970; `read` has seen to it that there are as many.
    var milliseconds: Int { (time ?? Int(Glibc.time(nil))) * 1000 }
}

/// `recast sign`: the fields that a sender would sign a body with, for trying a route out.
struct Sign: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print the fields that sign the body on standard input.",
        discussion: """
            For curl: recast sign github --secret S < body | curl -H @- --data-binary @body http://127.0.0.1:8080/hook
            """)

    @OptionGroup var options: SignedRequestOptions

    @Option(name: .customLong("id"), help: "The request's id, for senders that sign one; msg_recast without it.")
    var givenID: String?

    func run() throws {
        let (scheme, secret) = try options.read("sign", signs: true)
        let id = givenID ?? "msg_recast"
        for (name, text) in [("id", id), ("key-id", options.keyID ?? ""), ("type", options.type)] {
            guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
                throw CommandFault(
                    CommandFault.usage, "recast sign: --\(name) holds a control, which no field may have")
            }
        }
        try options.refuse(
            "sign", scheme,
            [
                ("url", options.url != nil && !scheme.heeds(.url), "signs no URL"),
                ("method", options.givenMethod != nil && !scheme.heeds(.method), "signs no method"),
                ("type", options.givenType != nil && !scheme.heeds(.type), "signs a body of any type"),
                ("key-id", options.keyID != nil && !scheme.heeds(.keyID), "says no name of a key"),
                ("time", options.time != nil && !scheme.heeds(.time), "signs no time"),
                ("time", options.time != nil && scheme.hasTimeInBody, "signs the time that stands in the body"),
                ("id", givenID != nil && !scheme.heeds(.id), "signs no id"),
            ])
        var signer: MessageSigner
        do throws(MessageSigner.Fault) {
            signer = try MessageSigner(scheme, secret: secret)
        } catch {
            throw CommandFault(CommandFault.usage, "recast sign: \(error.reason)")
        }
        var message = MessageSigner.Message()
        message.method = options.method
        message.url = options.address
        message.id = id
        message.time = options.milliseconds
        message.contentType = options.type
        message.fields = [("Content-Type", options.type)]
        let body = try StandardStreams.readBody("recast sign")
        signer.reading = .all(of: body.count)
        let fields: [(name: String, value: String)]
        do throws(SignatureError) {
            fields = try signer.sign(message, body.span)
        } catch {
            throw CommandFault(CommandFault.data, "recast sign: \(reason(error, scheme, body))")
        }
        if let hint = options.urlHint(scheme, options.address) { StandardStreams.report("recast sign: \(hint)") }
        for field in fields { try StandardStreams.write(text: "\(field.name): \(field.value)\n") }
        // A request without them is refused before its signature is looked at; what they say isn't signed.
        for name in scheme.requiredHeaders where !fields.contains(where: { $0.name == name }) {
            try StandardStreams.write(text: "\(name): recast\n")
        }
    }
}

extension Sign {
    /// Why nothing was signed.
    private func reason(_ error: SignatureError, _ scheme: SignatureScheme, _ body: [UInt8]) -> String {
        switch error.fault {
        case .missing where scheme.special == .twilio:
            let digest = String(
                decoding: BinaryEncoding.hex.encode(Digest.of(body.span, .sha256).span), as: UTF8.self)
            return "\(scheme.name) signs a body that is no form by a parameter of the URL: add "
                + "\(MessageSigner.bodyParameter)=\(digest) to --url, or say with --type which form it is"
        case _ where scheme.hasTimeInBody:
            let member = error.field.map { "it has no \($0)" } ?? "that can't be read in it"
            return "\(scheme.name) signs a JSON body with its time, and nobody takes one without: \(member)"
        case .body where scheme.challenge == .x:
            return
                "\(scheme.name) signs tokens for whoever asks, so nobody takes a body that looks like one: what it sends is JSON"
        case .body:
            return "\(scheme.name) signs the fields of a form, and the body can't be read as one of the --type "
                + "\(options.type)"
        case .malformed where scheme.separator != nil:
            return "the --id has a character that parts what \(scheme.name) signs: take another id"
        default: return "not all is there that \(scheme.name) signs, or it can't be written"
        }
    }
}

/// `recast verify`: whether a body and its fields are a sender's.
struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Say whether the body on standard input is the sender's.",
        discussion: """
            With the request's fields: recast verify github --secret S -H 'X-Hub-Signature-256: sha256=…' < body
            """)

    @OptionGroup var options: SignedRequestOptions

    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: "A field of the request, as 'Name: value', or several with a line each; as many as it has.")
    var fields: [String] = []

    @Option(help: "PayPal's id of the webhook.")
    var webhookID = ""

    func run() throws {
        let (scheme, secret) = try options.read("verify", signs: false)
        let names = fields.map { $0.prefix { $0 != ":" }.lowercased() }
        // What else is about the request is what it was, whether or not the sender signs it.
        try options.refuse(
            "verify", scheme,
            [
                (
                    "type", options.givenType != nil && names.contains("content-type"),
                    "reads the Content-Type that is among the fields"
                ),
                ("key-id", options.keyID != nil && !scheme.heeds(.keyID), "says no name of a key"),
                ("time", options.time != nil && !scheme.heeds(.time), "signs no time"),
                ("webhook-id", !webhookID.isEmpty && scheme.special != .payPal, "has no webhooks with ids"),
            ])
        let head = try head()
        let body = try StandardStreams.readBody("recast verify")
        var settings = SignatureVerifier.Options(scheme: scheme, secrets: [secret])
        settings.reading = .all(of: body.count)
        settings.webhookID = webhookID
        let (base, target) = options.splitURL
        // Without a URL the request says itself where it went.
        settings.publicURL = options.url == nil ? "http://\(head.authority.lossyString())" : base
        func check(_ content: Span<UInt8>) throws(SignatureError) {
            let verifier = try SignatureVerifier(
                settings, head, target: target.span, isSecure: false, now: options.milliseconds)
            verifier.update(content)
            try verifier.finish(verifier.needsWholeContent ? content : Span())
        }
        do throws(SignatureError) {
            try check(body.span)
        } catch {
            var reason = "\(error.fault.rawValue): \(error.detail)"
            if error.fault == .mismatch {
                let lineEnd = body.suffix(2) == [0x0D, 0x0A] ? 2 : body.last == 0x0A ? 1 : 0
                if lineEnd > 0, (try? check(body.span.extracting(droppingLast: lineEnd))) != nil {
                    reason += "; without the line end behind the body it does"
                } else if let hint = options.urlHint(scheme, "http://\(head.authority.lossyString())/") {
                    reason += "; \(hint)"
                }
            }
            throw CommandFault(CommandFault.data, "recast verify: \(reason)")
        }
        try StandardStreams.write(text: "verified: \(scheme.name)\n")
    }

    /// The lines of a field's text, as `recast sign` prints them, without their ends.
    private static func lines(_ text: String) -> [[UInt8]] {
        var lines = text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).map(Array.init)
        while lines.count > 1, lines.last == [] { lines.removeLast() }
        return lines.map { $0.last == 0x0D ? $0.dropLast() : $0 }
    }

    /// The request's head. Its Host is the one among the fields, which must be the URL's, else the URL's.
    private func head() throws(CommandFault) -> MessageHead {
        var lines: [(name: [UInt8], value: [UInt8])] = []
        for line in fields.flatMap(Self.lines) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
                throw CommandFault(
                    CommandFault.usage, "recast verify: \"\(line.span.lossyString())\" is no 'Name: value'")
            }
            lines.append((Array(line[..<colon]), Array(line[colon...].dropFirst())))
        }
        let hasHost = lines.contains { KnownField.find($0.name.span) == .host }
        do throws(WireError) {
            // Both are compared, and then the field stands as it was written.
            if hasHost, options.url != nil { _ = try head(lines, authority: options.authority) }
            return try head(lines, authority: hasHost ? nil : options.authority)
        } catch {
            let reason =
                error.code == "http_host_mismatch"
                ? "the field Host names another host than --url; a request has one of them, which the sender was told"
                : "these are no fields of a request: \(error.reason)"
            throw CommandFault(CommandFault.usage, "recast verify: \(reason)")
        }
    }

    private func head(
        _ lines: [(name: [UInt8], value: [UInt8])], authority: String?
    ) throws(WireError) -> MessageHead {
        var head = MessageHead()
        var builder = HeadBuilder()
        let method = Array(options.method.utf8)
        let path = Array("/".utf8)
        if let authority {
            let host = Array(authority.utf8)
            try builder.beginRequest(
                method: method.span, isSecure: options.isSecure, authority: host.span, path: path.span, into: &head)
        } else {
            try builder.beginRequest(method: method.span, isSecure: options.isSecure, path: path.span, into: &head)
        }
        var hasType = false
        for (name, value) in lines {
            hasType = hasType || KnownField.find(name.span) == .contentType
            try builder.add(name.span, value.span.withoutBlanks, to: &head)
        }
        if !hasType { try builder.add(Array("Content-Type".utf8).span, Array(options.type.utf8).span, to: &head) }
        try builder.finish(&head)
        return head
    }
}
