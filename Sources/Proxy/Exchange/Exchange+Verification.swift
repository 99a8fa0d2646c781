internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Octets
internal import Signatures
internal import Transcoding

// Requests of routes that take one sender's alone: their content is held as it came, before codings are undone, until it is whole
// and its signature holds. The upstream hears nothing before; then the content goes the way of any other. And requests that are
// signed for their upstream, over what they have become by then.
extension Exchange {
    // MARK: Who may use the route

    /// Sees that the request's credentials are some that the route takes.
    func authorize(_ rule: RequestAuthorization, _ route: Route) throws(Refusal) {
        let result = rule.check(request)
        record.authorization = result
        worker.counters.verification.count(authorized: route.name, result)
        switch result {
        case .granted: break
        case .missing, .refused:
            throw .unauthorized(isMissing: result == .missing, challenges: rule.challenges(result))
        }
    }

    // MARK: Whose request it is

    /// Looks at the head, and begins to hold the content where there is some. Returns false where the request was a challenge, which
    /// is answered then.
    func beginVerification(
        _ rule: RequestVerification, _ route: Route, _ snapshot: ConfigurationSnapshot, framing: BodyFraming
    ) throws(Refusal) -> Bool {
        record.verification = rule
        if let challenge = rule.challenge, challenge.isQuery, framing.isEmpty, request.methodKind == .get,
            let query = request.query?.copied(), challenge.isAsked(by: query.span)
        {
            return try answer(challenge, query: query.span, rule)
        }
        let verifier: SignatureVerifier
        do throws(SignatureFault) {
            if case .length(let count) = framing, count > rule.limit { throw .tooLong }
            if !snapshot.routes.keepsTargets { noteTarget() }
            let target = signedTarget
            verifier = try SignatureVerifier(
                rule.options, request, target: target.span,
                isSecure: downstream?.isSecure == true || request.isSecureTarget,
                now: worker.loop.wallClockMilliseconds)
            guard framing.isEmpty else {
                verification = PendingVerification(
                    rule, verifier, Spool(spoolSettings(limit: rule.limit, route, snapshot), store: worker.spools))
                return true
            }
            try verifier.finish(Span())
        } catch {
            try notVerified(rule, error)
            return true
        }
        try verified(rule, verifier)
        return true
    }

    /// How content is held that is looked at as a whole.
    func spoolSettings(limit: Int, _ route: Route, _ snapshot: ConfigurationSnapshot) -> SpoolSettings {
        var settings = snapshot.framings[route.upstream].spool
        settings.memory = min(settings.memory, limit)
        settings.disk = limit - settings.memory
        return settings
    }

    /// Answers a challenge that comes without content. Returns whether the request goes on instead.
    private func answer(
        _ challenge: EndpointChallenge, query: Span<UInt8>, _ rule: RequestVerification
    ) throws(Refusal) -> Bool {
        if rule.forwardsChallenges {
            note(rule, .challenge)
            return true
        }
        do throws(SignatureFault) {
            let answer = try challenge.answer(
                query: query, secrets: rule.options.secrets, token: rule.challengeToken)
            note(rule, .challenge)
            answerChallenge(answer)
            return false
        } catch {
            try notVerified(rule, error)
            return true
        }
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
            throw .notVerified(.tooLong, status: 413)
        }
        do throws(SpoolFault) {
            try pending.content.append(content)
        } catch {
            throw .spool(error, upstream: upstreamName)
        }
        pending.verifier.update(content)
        return content.count
    }

    /// All of the content has come. Returns false where it was a challenge, which is answered then.
    func endVerification(_ pending: PendingVerification) throws(Refusal) -> Bool {
        var content = OutputBuffer()
        if pending.verifier.needsWholeContent { try readAll(pending.content, into: &content) }
        let rule = pending.rule
        do throws(SignatureFault) {
            try pending.verifier.finish(content.span)
        } catch {
            try notVerified(rule, error)
            return true
        }
        if let challenge = rule.challenge, !challenge.isQuery, !rule.forwardsChallenges,
            pending.content.count <= EndpointChallenge.longest
        {
            if content.isEmpty { try readAll(pending.content, into: &content) }
            if let answer = challenge.answer(content: content.span, secrets: rule.options.secrets) {
                note(rule, .challenge)
                answerChallenge(answer)
                return false
            }
        }
        try verified(rule, pending.verifier)
        if !content.isEmpty { chargeRequest(leftover: 0) }
        return true
    }

    /// Reads all that is held; it can be read once more then.
    private func readAll(_ held: Spool, into content: inout OutputBuffer) throws(Refusal) {
        // The content once more, and what is read of it.
        guard requestCharge.set(Self.reserve + 4 * held.count, from: worker.memory) else {
            worker.memory.counters.refusedRequest += 1
            throw .memoryExhausted
        }
        do throws(SpoolFault) {
            while !held.isAtEnd { try held.read(into: &content) }
            held.rewind()
        } catch {
            throw .spool(error, upstream: upstreamName)
        }
    }

    /// The request is its sender's; where the route remembers what came, it must be new.
    private func verified(_ rule: RequestVerification, _ verifier: SignatureVerifier) throws(Refusal) {
        if let options = rule.replay, let route {
            let key = ReplayMemory.Key(verifier.id)
            guard worker.shared.replays.remember(key, of: route.name, options, now: worker.loop.now) else {
                return try notVerified(rule, .replayed)
            }
            remembered = key
        }
        verifiedID = verifier.hasOwnID ? verifier.id : []
        note(rule, .verified)
    }

    private func notVerified(_ rule: RequestVerification, _ fault: SignatureFault) throws(Refusal) {
        note(rule, .failed(fault))
        if case .status(let status) = rule.failure { throw .notVerified(fault, status: status) }
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
        var pieces = Self.piecesPerTick
        while true {
            if pending.piece.isEmpty {
                if pending.content.isAtEnd { return true }
                guard pieces > 0 else {
                    awaitNextTick()
                    return false
                }
                pieces -= 1
                do throws(SpoolFault) {
                    try pending.content.read(into: &pending.piece)
                } catch {
                    throw .spool(error, upstream: upstreamName)
                }
            }
            let step = try feed(&pending.piece)
            if requestTranscoder.needsMemory { try payForRequest() }
            switch step.outcome {
            case .done: break
            case .full:
                if try bufferMore() { continue }
                guard try pushOutput() else {
                    upstream?.expectProgress()
                    return false
                }
            case .tick:
                if machine.upstream == .open { _ = try pushOutput() }
                awaitNextTick()
                return false
            }
        }
    }

    /// Feeds the conversion from a buffer, which keeps what it doesn't take.
    private func feed(_ piece: inout OutputBuffer) throws(Refusal) -> RequestTranscoder.Step {
        let step = try requestTranscoder.feed(piece.span)
        piece.drop(step.consumed)
        return step
    }

    /// The exchange is over, or refused: what is held goes nowhere.
    func dropHeld() {
        verification?.end()
        verification = nil
        verifiedID = []
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
                guard requestCharge.set(Self.reserve + 4 * spool.count, from: worker.memory) else {
                    worker.memory.counters.refusedRequest += 1
                    throw .memoryExhausted
                }
            }
            do throws(SignatureFault) {
                pending = PendingSignature(rule, try rule.signer.begin(try message(rule)))
            } catch {
                throw .notSigned(error)
            }
            signature = pending
        }
        if let spool {
            var pieces = Self.piecesPerTick
            var piece = OutputBuffer()
            while !spool.isAtEnd {
                guard pieces > 0 else {
                    awaitNextTick()
                    return false
                }
                pieces -= 1
                do throws(SpoolFault) {
                    try spool.read(into: &piece)
                } catch {
                    throw .spool(error, upstream: upstreamName)
                }
                pending.signing.update(piece.span)
                piece.removeAll()
            }
            spool.rewind()
        }
        do throws(SignatureFault) {
            pending.lines = try pending.signing.finish()
        } catch {
            throw .notSigned(error)
        }
        return true
    }

    /// What the request will be when it goes out, as far as a signature can hold it.
    private func message(_ rule: RequestSigning) throws(SignatureFault) -> MessageSigner.Message {
        var message = MessageSigner.Message()
        message.method = String(decoding: request.method.copied(), as: UTF8.self)
        message.time = worker.loop.wallClockMilliseconds
        message.id = RequestSigning.id(verifiedID.isEmpty ? requestID : verifiedID)
        guard let route else { return message }
        // The head as it will be, since rules have their say in it.
        var head = OutputBuffer()
        swap(&head, &framed)
        defer {
            framed.removeAll()
            swap(&head, &framed)
        }
        do throws(ConversionError) {
            try writeRequestHead(framing: spool.map { .length($0.count) } ?? .none, route: route)
        } catch {
            throw .body
        }
        let lines = SentHead(framed.span)
        message.fields = lines.fields
        message.contentType = lines.value(of: "Content-Type") ?? ""
        let host = lines.value(of: "Host") ?? ""
        let isSecure = snapshot?.settings.upstreams[route.upstream].tls != nil
        message.url = (rule.base ?? "\(isSecure ? "https" : "http")://\(host)") + lines.target
        return message
    }

    /// Writes the signature, in the place of any field of its names that came.
    func appendSignature(_ pending: PendingSignature, to output: inout OutputBuffer, at position: HeadEdits.Position) {
        guard let lines = pending.lines else { return }
        var text: [UInt8] = []
        for line in lines { text += Array("\(line.name): \(line.value)\r\n".utf8) }
        _ = route?.signatureEditor?.apply(to: &output, at: position, adding: text.span)
    }
}

/// A request that is being signed, or was.
final class PendingSignature {
    let rule: RequestSigning
    let signing: MessageSigner.Signing
    /// The fields, once all of the content went through.
    var lines: [(name: String, value: String)]?

    init(_ rule: RequestSigning, _ signing: MessageSigner.Signing) {
        self.rule = rule
        self.signing = signing
    }
}

/// A request's head as it is written, read again: a signature holds what is sent.
private struct SentHead {
    /// Path and query.
    let target: String
    let fields: [(name: String, value: String)]

    init(_ head: Span<UInt8>) {
        var lines = String(decoding: head.copied(), as: UTF8.self).split(
            separator: "\r\n", omittingEmptySubsequences: true)
        let start = lines.isEmpty ? "" : lines.removeFirst()
        let words = start.split(separator: " ")
        target = words.count > 1 ? String(words[1]) : "/"
        fields = lines.map { line in
            let colon = line.firstIndex(of: ":") ?? line.endIndex
            return (String(line[..<colon]), String(line[colon...].dropFirst(2)))
        }
    }

    func value(of name: String) -> String? {
        let name = name.lowercased()
        return fields.first { $0.name.lowercased() == name }?.value
    }
}

/// Content that is held until it is known whose it is.
final class PendingVerification {
    let rule: RequestVerification
    let verifier: SignatureVerifier
    let content: Spool
    /// What was read of it again and the conversion has not taken yet.
    var piece = OutputBuffer()

    init(_ rule: RequestVerification, _ verifier: SignatureVerifier, _ content: Spool) {
        self.rule = rule
        self.verifier = verifier
        self.content = content
    }

    /// Gives back what it holds.
    func end() { content.end() }
}
