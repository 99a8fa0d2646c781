internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Logging
internal import Octets
internal import Signatures
internal import Transcoding

// Whether a request may come: how often, by whom, and whose it is. On routes that take one sender's requests alone, their content is
// held as it came, before codings are undone, until it is whole and its signature holds. The upstream hears nothing before; then the
// content goes the way of any other. And requests that are signed for their upstream, over what they have become by then.
extension Exchange {
    // MARK: How often a client may come

    // A client, or whatever else the route's limit counts by. That is looked at before credentials, so that who guesses them is slowed
    // down, and before anything of the content is read.

    /// Counts the request, and refuses it where it is one too many.
    @inline(never)
    func limitRate(_ route: Route, _ snapshot: ConfigurationSnapshot) throws(Refusal) {
        rateFields.removeAll()
        guard let limiter = snapshot.rateLimiters[route.index] else { return }
        let outcome: CellRate.Outcome
        switch limiter.limit.key {
        case .client:
            if snapshot.forwarding.hasTrusted { try findClient(snapshot, route) }
            outcome = limiter.take(client.flatMap { ClientKey($0.unmapped) }, now: worker.loop.now)
        case .value(let source):
            // No rule has written its lines yet: they begin by emptying this.
            headerLines.removeAll(keepingCapacity: true)
            source.appendOctets(from: request, captures: captures, client: Span(), to: &headerLines)
            outcome = limiter.take(value: headerLines.span, now: worker.loop.now)
            headerLines.removeAll(keepingCapacity: true)
        }
        let fields = RateFields(limiter.rate, outcome)
        guard outcome.isPassed else { throw .rateLimited(fields) }
        if route.tellsRate { fields.append(to: &rateFields) }
    }

    /// Appends what is left of the limit to the fields that `output` has from `start` on, where they say nothing of such.
    func appendRateFields(to output: inout OutputBuffer, from start: Int) {
        guard let route, route.tellsRate else { return }
        let lines = rateFields
        _ = HeaderEditor.appendOthers(lines.span, to: &output, from: start)
    }

    // MARK: Who may use the route

    /// Sees that the request's credentials are some that the route takes.
    func authorize(_ rule: RequestAuthorization, _ route: Route) throws(Refusal) {
        let result = rule.check(request)
        authorization = result
        worker.counters.verification.count(authorized: route.name, result)
        switch result {
        case .granted: break
        case .missing, .refused:
            throw .unauthorized(isMissing: result == .missing, challenges: rule.challenges(to: request))
        }
    }

    // MARK: Whose request it is

    /// Looks at the head, and begins to hold the content where there is some.
    func beginVerification(
        _ rule: RequestVerification, _ route: Route, _ snapshot: ConfigurationSnapshot, framing: BodyFraming
    ) throws(Refusal) {
        sender = rule
        if let challenge = rule.challenge, challenge.isQuery, framing.isEmpty, request.methodKind == .get,
            let query = request.query?.copied(), challenge.isAsked(by: query.span)
        {
            return try answer(challenge, query: query.span, rule)
        }
        if let challenge = rule.challenge, challenge.isHead, framing.isEmpty, request.methodKind == .head {
            note(rule, .challenge)
            if rule.forwardsChallenges { return }
            throw .challenge(.empty)
        }
        let verifier: SignatureVerifier
        do throws(SignatureError) {
            if case .length(let count) = framing, count > rule.limit { throw .tooLong }
            if !snapshot.routes.keepsTargets { noteTarget() }
            let target = signedTarget
            verifier = try SignatureVerifier(
                rule.options, request, target: target.span,
                isSecure: downstream?.isSecure == true || request.isSecureTarget,
                now: worker.loop.wallClockMilliseconds)
            // What holds without the content needs none of it. What doesn't waits for it, also where it never comes: such a request
            // is refused before anything is waited for.
            let isJudgedAlone =
                framing.isEmpty
                || downstream?.mayHideContent == true && !verifier.readsContent && rule.challenge?.isQuery != false
            guard isJudgedAlone else {
                verification = PendingVerification(
                    rule, verifier, Spool(spoolSettings(limit: rule.limit, route, snapshot), store: worker.spools))
                return
            }
            try verifier.finish(Span())
        } catch {
            if error.fault == .missing, case .length(let count) = framing, isPing(rule, length: count) {
                note(rule, .challenge)
                throw .challenge(.empty)
            }
            return try notVerified(rule, error)
        }
        try verified(rule, verifier)
    }

    /// Whether the request, which has no signature, is one that its sender never signs, and is answered here.
    private func isPing(_ rule: RequestVerification, length: Int) -> Bool {
        guard let challenge = rule.challenge, !rule.forwardsChallenges else { return false }
        return request.isPing(to: challenge, length: length)
    }

    /// How content is held that is looked at as a whole.
    func spoolSettings(limit: Int, _ route: Route, _ snapshot: ConfigurationSnapshot) -> SpoolSettings {
        var settings = framing(of: route, snapshot).spool
        settings.memory = min(settings.memory, limit)
        settings.disk = limit - settings.memory
        return settings
    }

    /// Answers a challenge that comes without content, unless the request goes on instead.
    private func answer(
        _ challenge: EndpointChallenge, query: Span<UInt8>, _ rule: RequestVerification
    ) throws(Refusal) {
        if rule.forwardsChallenges { return note(rule, .challenge) }
        let answer: EndpointChallenge.Answer
        do throws(SignatureError) {
            answer = try challenge.answer(query: query, secrets: rule.options.secrets, token: rule.challengeToken)
        } catch {
            return try notVerified(rule, error)
        }
        note(rule, .challenge)
        throw .challenge(answer)
    }

    /// Keeps the target as it came.
    func noteTarget() {
        signedTarget = request.path.copied()
        if let query = request.query?.copied() { signedTarget += [UInt8(ascii: "?")] + query }
    }

    /// Takes content that is held. All of it is taken, or the request is refused.
    func hold(_ content: Span<UInt8>, in pending: PendingVerification) throws(Refusal) -> Int {
        record.bytesIn += content.count
        guard content.count <= pending.rule.limit - pending.content.count else {
            // It can't be known any more, so it doesn't go on under `report` either.
            note(pending.rule, .failed(.tooLong))
            throw .notVerified(.tooLong, status: 413, lacking: nil)
        }
        try spooling { () throws(SpoolFault) in try pending.content.append(content) }
        pending.verifier.update(content)
        return content.count
    }

    /// All of the content has come. Returns false while something is fetched that its sender keeps.
    func endVerification(_ pending: PendingVerification) throws(Refusal) -> Bool {
        if pending.isDecided { return true }
        if pending.isFetching { return false }
        let rule = pending.rule
        var content = OutputBuffer()
        if pending.verifier.needsWholeContent { try readAll(pending.content, into: &content) }
        do throws(SignatureError) {
            if pending.isUnfetched { throw .unfetched }
            if let fetching = rule.fetching, pending.certificate == nil,
                let location = try pending.verifier.certificate(content.span)
            {
                guard try fetch(location, fetching, for: pending) else { return false }
            }
            try pending.verifier.finish(content.span, fetched: pending.certificate)
            if let fetching = rule.fetching, rule.challenge == .sns, !rule.forwardsChallenges,
                let location = SignatureVerifier.confirmation(content.span), !pending.isConfirmed
            {
                try confirm(location, fetching, for: pending)
                return false
            }
        } catch {
            if !rule.forwardsChallenges, let answer = rule.challenge?.answer(unsigned: content.span) {
                note(rule, .challenge)
                throw .challenge(answer)
            }
            pending.isDecided = true
            try notVerified(rule, error)
            return true
        }
        if let challenge = rule.challenge, !rule.forwardsChallenges {
            if let answer = try answer(challenge, pending, &content) {
                note(rule, .challenge)
                throw .challenge(answer)
            }
        }
        pending.isDecided = true
        try verified(rule, pending.verifier)
        if !content.isEmpty { chargeRequest(leftover: 0) }
        return true
    }

    /// What is answered to content that is its sender's challenge; nil of other content.
    private func answer(
        _ challenge: EndpointChallenge, _ pending: PendingVerification, _ content: inout OutputBuffer
    ) throws(Refusal) -> EndpointChallenge.Answer? {
        if pending.isConfirmed { return .empty }
        guard !challenge.isQuery, pending.content.count <= EndpointChallenge.longest else { return nil }
        if content.isEmpty { try readAll(pending.content, into: &content) }
        return challenge.answer(content: content.span, secrets: pending.rule.options.secrets)
    }

    /// Has the sender's certificate fetched. Returns whether it is there already.
    private func fetch(
        _ location: SenderLocation, _ fetching: RequestVerification.Fetching, for pending: PendingVerification
    ) throws(SignatureError) -> Bool {
        let outcome = worker.fetches.certificate(at: location, fetching) { [self] result in
            if case .success(let certificate) = result { pending.certificate = certificate }
            fetched(location, result.map { _ in }, for: pending)
        }
        switch outcome {
        case .known(let certificate):
            pending.certificate = certificate
            return true
        case .begun:
            pending.isFetching = true
            return false
        case .refused: throw .unfetched
        }
    }

    /// Confirms a subscription, whose request is known to be the sender's.
    private func confirm(
        _ location: SenderLocation, _ fetching: RequestVerification.Fetching, for pending: PendingVerification
    ) throws(SignatureError) {
        let isBegun = worker.fetches.page(at: location, fetching) { [self] result in
            if case .success = result { pending.isConfirmed = true }
            fetched(location, result, for: pending)
        }
        guard isBegun else { throw .unfetched }
        pending.isFetching = true
    }

    /// The fetch has come to its end: goes on, unless the exchange has ended meanwhile.
    private func fetched(
        _ location: SenderLocation, _ result: Result<Void, Fetch.Failure>, for pending: PendingVerification
    ) {
        if case .failure(let failure) = result {
            pending.isUnfetched = true
            if worker.spools.mayReport(location.host, at: worker.loop.now) {
                worker.logger.warning("\(location.host) could not be asked for what a webhook names: \(failure)")
            }
        }
        guard !pending.isEnded else { return }
        pending.isFetching = false
        catchingRefusal { () throws(Refusal) in try finishRequest() }
    }

    /// Reads all that is held; it can be read once more then.
    private func readAll(_ held: Spool, into content: inout OutputBuffer) throws(Refusal) {
        // The content once more, and what is read of it.
        try payForRequest(Self.reserve + 4 * held.count)
        while !held.isAtEnd {
            try spooling(held.prepare)
            held.read { piece in
                content.append(piece)
                return piece.count
            }
        }
        held.rewind()
    }

    /// The request is its sender's; where the route remembers what came, it must be new.
    private func verified(_ rule: RequestVerification, _ verifier: SignatureVerifier) throws(Refusal) {
        if let options = rule.replay, let route {
            let key = ReplayMemory.Key(verifier.replayKey)
            guard worker.shared.replays.remember(key, of: route.name, options, now: worker.loop.now) else {
                return try notVerified(rule, .replayed)
            }
            remembered = key
        }
        verifiedID = verifier.hasOwnID ? verifier.id : []
        if !verifier.uncheckedFields.isEmpty {
            uncheckedFields = HeaderEditor(HeaderEdits(remove: verifier.uncheckedFields.map { .init(name: $0) }))
        }
        note(rule, .verified)
    }

    private func notVerified(_ rule: RequestVerification, _ error: SignatureError) throws(Refusal) {
        note(rule, .failed(error.fault))
        guard case .status(let status) = rule.failure else { return }
        // The request may well be the sender's: it is the route that doesn't read so much.
        if let limit = error.limit { throw .conversion(limit, accepted: []) }
        throw .notVerified(error.fault, status: status, lacking: error.field)
    }

    private func note(_ rule: RequestVerification, _ result: VerificationResult) {
        record.verificationResult = result
        worker.counters.verification.count(rule.sender, result)
    }

    /// The exchange is over: what was remembered of a request that its service didn't take whole is forgotten, because its sender
    /// sends it again.
    func settleReplay() {
        guard let key = remembered, let route else { return }
        remembered = nil
        if !(200..<300).contains(record.status) || record.flag != nil {
            worker.shared.replays.forget(key, of: route.name)
        }
    }

    /// Lets what was held go on: as it is, with its length, or through the conversion. Returns false where that waits for room or
    /// for the next tick.
    func sendVerified(_ pending: PendingVerification) throws(Refusal) -> Bool {
        if requestTranscoder.isBegun {
            guard try transcodeHeld(pending) else { return false }
            pending.end()
        } else {
            spool = pending.content
        }
        verification = nil
        return true
    }

    private func transcodeHeld(_ pending: PendingVerification) throws(Refusal) -> Bool {
        requestTranscoder.beginSlice()
        var left = Self.piecesPerTick * Spool.pieceSize
        while !pending.content.isAtEnd {
            guard left > 0 else {
                awaitNextTick()
                return false
            }
            try spooling(pending.content.prepare)
            var outcome = RequestTranscoder.Outcome.done
            try pending.content.read { piece throws(Refusal) in
                let step = try requestTranscoder.feed(piece)
                outcome = step.outcome
                left -= step.consumed
                return step.consumed
            }
            if requestTranscoder.needsMemory { try payForRequest() }
            guard try makeRoom(behind: outcome) else { return false }
        }
        return true
    }

    /// The exchange is over, or refused: what is held goes nowhere.
    func dropHeld() {
        verification?.end()
        verification = nil
        verifiedID = []
        uncheckedFields = nil
        sender = nil
    }

    /// Takes away of the received fields, which `output` ends with, what looks signed and isn't. Returns where the new ones begin then.
    func dropUnchecked(
        from output: inout OutputBuffer, at position: PassedFields.Position
    ) -> PassedFields.Position {
        guard let uncheckedFields else { return position }
        let end = output.count
        _ = uncheckedFields.apply(to: &output, at: position, adding: Span())
        return position.with(receivedUpTo: position.new - (end - output.count))
    }

    /// Tells the upstream whose request it is, or why that isn't known.
    func appendVerification(_ rule: RequestVerification, to output: inout OutputBuffer) {
        output.append("Recast-Verified: ")
        switch record.verificationResult {
        case .verified?: output.append(text: rule.sender)
        case .challenge?:
            output.append("challenge; sender=")
            output.append(text: rule.sender)
        case .failed(let fault)?:
            output.append("failed; sender=")
            output.append(text: rule.sender)
            output.append("; reason=")
            output.append(text: fault.rawValue)
        case nil: output.append("failed")
        }
        output.append("\r\n")
    }

    // MARK: Signed for the upstream

    /// Signs the request over its content, which is whole and held, in the head that it will have. Returns false where there is more
    /// of it than is read in one tick: then it goes on in the next one.
    func sign(_ rule: RequestSigning) throws(Refusal) -> Bool {
        let pending: PendingSignature
        if let begun = signature {
            if begun.lines != nil { return true }
            pending = begun
        } else {
            if let spool, rule.signer.needsWholeContent {
                try payForRequest(Self.reserve + 4 * spool.count)
            }
            do throws(SignatureError) {
                pending = PendingSignature(try rule.signer.begin(try message(rule)))
            } catch {
                throw notSigned(error)
            }
            signature = pending
        }
        if let spool {
            var pieces = Self.piecesPerTick
            // Content that is held waits nowhere else.
            assert(buffered.isEmpty, "content waits beside the spool")
            while !spool.isAtEnd {
                guard pieces > 0 else {
                    awaitNextTick()
                    return false
                }
                pieces -= 1
                try spooling(spool.prepare)
                spool.read { piece in
                    pending.signing.update(piece)
                    return piece.count
                }
            }
            spool.rewind()
        }
        do throws(SignatureError) {
            pending.lines = try pending.signing.finish()
        } catch {
            throw notSigned(error)
        }
        return true
    }

    private func notSigned(_ error: SignatureError) -> Refusal {
        if let limit = error.limit { return .conversion(limit, accepted: []) }
        return .notSigned(error.fault)
    }

    /// What the request will be when it goes out, as far as a signature can hold it.
    private func message(_ rule: RequestSigning) throws(SignatureError) -> MessageSigner.Message {
        var message = MessageSigner.Message()
        message.method = String(decoding: request.method.copied(), as: UTF8.self)
        message.time = worker.loop.wallClockMilliseconds
        message.id = RequestSigning.id(verifiedID.isEmpty ? requestID : verifiedID)
        guard let route, let snapshot, rule.signer.readsHead else { return message }
        // The head as it will be, since rules have their say in it.
        var head = OutputBuffer()
        swap(&head, &framed)
        defer {
            framed.removeAll()
            swap(&head, &framed)
        }
        do throws(ConversionError) {
            try writeRequestHead(framing: spool.map { .length($0.count) } ?? .none, route: route, snapshot)
        } catch {
            throw .body
        }
        let isSecure = route.upstream.flatMap { snapshot.settings.upstreams[$0].tls } != nil
        message.read(head: framed.span, base: rule.base, isSecure: isSecure)
        return message
    }

    /// Writes the signature, in the place of any field of its names that came.
    func appendSignature(_ pending: PendingSignature, to output: inout OutputBuffer, at position: PassedFields.Position)
    {
        guard let lines = pending.lines else { return }
        var text = OutputBuffer()
        text.reserve(lines.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 })
        for line in lines {
            text.append(text: line.name)
            text.append(": ")
            text.append(text: line.value)
            text.append("\r\n")
        }
        _ = route?.signatureEditor?.apply(to: &output, at: position, adding: text.span)
    }
}

/// A request that is being signed, or was.
final class PendingSignature {
    let signing: MessageSigner.Signing
    /// The fields, once all of the content went through.
    var lines: [(name: String, value: String)]?

    init(_ signing: MessageSigner.Signing) {
        self.signing = signing
    }
}

/// Content that is held until it is known whose it is.
final class PendingVerification {
    let rule: RequestVerification
    let verifier: SignatureVerifier
    let content: Spool

    init(_ rule: RequestVerification, _ verifier: SignatureVerifier, _ content: Spool) {
        self.rule = rule
        self.verifier = verifier
        self.content = content
    }

    /// A certificate that was fetched for it.
    var certificate: PinnedCertificate?
    /// Whether something is fetched from its sender now, and whether that failed.
    var isFetching = false
    var isUnfetched = false
    /// Whether the page that confirms a subscription was fetched.
    var isConfirmed = false
    /// Whether it is known whose it is, as far as it can be.
    var isDecided = false
    /// Why the request is refused once it is known whose it is: the route doesn't take such content.
    var misfit: Refusal?
    /// Whether the exchange has let it go.
    private(set) var isEnded = false

    /// Gives back what it holds.
    func end() {
        isEnded = true
        content.end()
    }
}

extension MessageHead {
    /// Whether it says itself what is left of a rate limit.
    var tellsRate: Bool {
        let (name, policyName) = (RateFields.name, RateFields.policyName)
        return first(named: name.span) != nil || first(named: policyName.span) != nil
    }
}

extension MessageHead {
    fileprivate func isPing(to challenge: EndpointChallenge, length: Int) -> Bool {
        guard let line = first(.contentType) else { return false }
        return challenge.isPing(contentType: value(line), length: length)
    }
}
