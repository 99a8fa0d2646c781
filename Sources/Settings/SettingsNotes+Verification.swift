internal import Gateway
internal import Proxy
internal import Signatures

/// How long a secret is that stands in the settings: all that is kept of it to judge it by.
struct SecretLength: Hashable, Sendable {
    /// What it is, as messages call it: `a token of "bearer"`.
    var what: String
    var bytes: Int
    /// Whether a request shows what it is tried by: something that it has signed.
    var isSigned: Bool
    /// What it is spelled like, where that is no secret.
    var spelling: SecretSpelling?
    var route: String?
    var position: SettingsNode.Position
}

/// Signatures and credentials that protect less than they seem to, and challenges that can't be answered.
extension SettingsNotes {
    var verificationNotes: [SettingsNote] {
        let open = settings.listen.filter { settings.listener(at: $0).tls == nil && !$0.isLocal }
        let short = Dictionary(grouping: secrets.filter { $0.bytes < Self.shortSecret }, by: \.route)
        return settings.routes.indices.flatMap { index in
            secretNotes(index, short[settings.routes[index].name] ?? []) + topicNotes(index) + replayNotes(index)
                + challengeNotes(index)
                + clearNotes(index, open)
        }
    }

    // MARK: Secrets

    /// Bytes below which a secret is short, as the key of an HMAC and as a token: 16.
    private static let shortSecret = 16

    /// The shortest secret of each kind.
    private func secretNotes(_ index: Int, _ short: [SecretLength]) -> [SettingsNote] {
        var shortest: [SecretLength] = []
        for secret in short {
            if let known = shortest.firstIndex(where: { $0.what == secret.what }) {
                if secret.bytes < shortest[known].bytes { shortest[known] = secret }
            } else {
                shortest.append(secret)
            }
        }
        return shortest.map { secret in
            let way = secret.isSigned ? "from one signed request" : "by trying one after the other"
            return note(
                .warning, "secret_short", index,
                "\(secret.what) of \(counted(secret.bytes, "byte")) can be guessed \(way)",
                "have one made of \(Self.shortSecret) bytes or more", at: secret.position)
        }
    }

    // MARK: Topics

    private func topicNotes(_ index: Int) -> [SettingsNote] {
        guard let options = settings.routes[index].verification?.options, options.scheme.special == .sns,
            effectiveOfRoutes[index].contains(where: { $0.key.hasSuffix("verify.topics") && $0.origin == .standard })
        else { return [] }
        return [
            note(
                .warning, "topics_any", index,
                "Amazon signs for all its customers with the same keys, so that whoever has an account can have a message verified here",
                "write topics: with the ARNs of yours, or any")
        ]
    }

    // MARK: Replays

    private func replayNotes(_ index: Int) -> [SettingsNote] {
        guard let verification = settings.routes[index].verification, let replay = verification.replay,
            let past = verification.options.scheme.tolerance.past
        else { return [] }
        // One that comes before its time is taken from then on, until its time is over.
        let holds = past + (verification.options.scheme.tolerance.future ?? 0)
        guard replay.time / 1_000_000 < UInt64(holds) else { return [] }
        return [
            note(
                .warning, "replay_short", index,
                "a request is remembered for a shorter time than its signature holds, and can be sent again behind that",
                "write replay: \((holds + 999) / 1000)s or more")
        ]
    }

    // MARK: Challenges

    private func challengeNotes(_ index: Int) -> [SettingsNote] {
        let route = settings.routes[index]
        guard let verification = route.verification, let challenge = verification.challenge else { return [] }
        var notes: [SettingsNote] = []
        if challenge.hasToken, verification.challengeToken == nil, !verification.forwardsChallenges {
            notes.append(
                note(
                    .warning, "challenge_token_missing", index,
                    "\(verification.sender)'s challenges are answered if they have the \"verify_token\", and there is none: "
                        + "each is refused",
                    "write verify_token: … beside secret, or challenge: forward beside verify"))
        }
        if let method = challenge.method, !takes(method, route.match), !isTaken(method, besides: index) {
            let condition =
                route.match.methods.isEmpty || route.match.methods.contains(method)
                ? "takes bodies of some types alone" : "doesn't take \(method)"
            notes.append(
                note(
                    .warning, "challenge_unreachable", index,
                    "\(verification.sender)'s challenges come by \(method) without a body, and the route \(condition)",
                    "add \(method) to its methods, or a route that takes it"))
        }
        return notes
    }

    private func takes(_ method: String, _ match: RouteMatch) -> Bool {
        (match.methods.isEmpty || match.methods.contains(method)) && match.types.isEmpty
    }

    /// Whether another route of the same path takes the method: the service may answer challenges itself.
    private func isTaken(_ method: String, besides index: Int) -> Bool {
        let match = settings.routes[index].match
        return settings.routes.indices.contains { other in
            let candidate = settings.routes[other].match
            return other != index && candidate.path.text == match.path.text && takes(method, candidate)
                && (candidate.hosts.isEmpty || candidate.hosts == match.hosts)
        }
    }

    // MARK: Listeners

    private func clearNotes(_ index: Int, _ open: [ListenAddress]) -> [SettingsNote] {
        let route = settings.routes[index]
        guard route.verification != nil || route.authorization != nil, let listener = open.first else { return [] }
        return [
            note(
                .warning, "verified_in_the_clear", index,
                "\(route.authorization == nil ? "what it verifies" : "credentials") can be read and recorded on the way to "
                    + "\(listener), which has no TLS",
                "give the listener tls, or listen on 127.0.0.1 behind what ends TLS")
        ]
    }
}
