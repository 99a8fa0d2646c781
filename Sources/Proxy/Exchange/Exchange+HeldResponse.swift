internal import ContentCoding
internal import EventLoop
internal import HTTPWire
internal import Octets
internal import Serialization

// Responses on routes with response rules: the rule is chosen by the head; a body that is converted is held until it is
// whole, and then the head, with what the conversion changes in it, goes out with all of it.
extension Exchange {
    /// Sees before the request goes up that the rules' values, which are the request's, can be written. Returns false when the
    /// request was refused.
    func checkResponseSources(_ rules: ResponseRules) -> Bool {
        do throws(ConversionError) {
            for rule in rules.rules { _ = try values(of: rule.conversion?.sources ?? []) }
            return true
        } catch {
            refuse(.conversion(error, accepted: []))
            return false
        }
    }

    /// Decides what becomes of a response with that head: it is forwarded, held, or refused.
    func chooseResponse(_ rules: ResponseRules, _ head: borrowing MessageHead, framing: BodyFraming) {
        if head.status == 304 {
            // It has no type that a rule could ask for. Its tag is to be that of the response which it renews.
            let tag: HeadChanges = rules.converts ? .weakTag : []
            let vary: HeadChanges = rules.readsAccept ? .variesByAccept : []
            return beginResponse(head, framing: framing, changes: tag.union(vary))
        }
        let choice = rules.choose(for: head, to: request)
        let changes: HeadChanges = choice.dependsOnAccept ? .variesByAccept : []
        guard let rule = choice.rule, let conversion = rule.conversion else {
            return beginResponse(head, framing: clientFraming(for: framing), changes: changes)
        }
        guard conversion.acceptsStatus(head.status) else { return refuse(.unacceptable(.status)) }
        let isHead = request.methodKind == .head
        guard isHead || !framing.isEmpty, !head.isPartial else {
            return beginResponse(head, framing: clientFraming(for: framing), changes: changes)
        }
        if isHead {
            // The answer to GET would have another body, of a length that nobody knows (docs/rules.md F8).
            let converts =
                head.isConvertible(by: conversion) && route?.undoneCodings(of: head) != nil
                && !Framing.declaresEmpty(head)
            return beginResponse(
                head, framing: framing, changes: converts ? changes.union([.otherBytes, .weakTag]) : changes)
        }
        if let fault = hold(rule, conversion, head, framing: framing, changes: changes) {
            guard conversion.otherTypes == .pass else { return refuse(.unacceptable(fault)) }
            beginResponse(head, framing: clientFraming(for: framing), changes: changes)
        }
    }

    /// Starts the conversion of a response; it is refused when its body can't be read for what it says it is. Returns why it
    /// is none that the conversion takes, and then nothing has happened.
    private func hold(
        _ rule: ResponseRules.Rule, _ conversion: ResponseConversion, _ head: borrowing MessageHead,
        framing: BodyFraming, changes: HeadChanges
    ) -> UnacceptableResponse? {
        guard let codings = route?.undoneCodings(of: head) else { return .coding }
        if head.forbidsTransform { return .noTransform }
        // A body without a type is not guessed at.
        guard let route, let generation, let line = head.first(.contentType) else { return .type }
        do throws(ConversionError) {
            let sources = try values(of: conversion.sources)
            let taken: Conversion
            if conversion.acceptedTypes.isEmpty {
                taken = try generation.takeConversion(
                    rule, conversion.plan, route: route, contentType: head.value(line), sources: sources)
            } else {
                guard let type = conversion.ownType(for: head.value(line)) else { return .type }
                taken = try generation.takeConversion(
                    rule, conversion.plan, route: route, contentType: type.span, sources: sources)
            }
            if case .length(let count) = framing, count > conversion.plan.limits.body {
                throw .limit("body", of: conversion.plan.limits.body, what: "the body")
            }
            let held = self.held ?? HeldResponse()
            self.held = held
            held.begin(taken, of: rule, changes: changes.union([.otherBytes, .weakTag]), limit: route.responseLimit)
            if !codings.isEmpty {
                let decoder = worker.coders.takeDecoder(codings)
                decoder.begin(codings, limits: route.options.coding.limits)
                held.undo(with: decoder, limit: conversion.plan.limits.body)
            }
            responsePhase = .held
        } catch {
            if error.kind == .unsupported { return .type }
            refuse(.upstreamBody(error))
        }
        return nil
    }

    /// Converts bytes of the body. Returns whether the next ones can be taken at once: what is more than a slice waits for the end
    /// of the turn, and the upstream with it.
    func hold(_ body: Span<UInt8>) -> Bool {
        guard let held else { return true }
        do throws(ConversionError) {
            try held.take(body)
        } catch {
            refuseHeld(error)
            return true
        }
        guard payForHeld(held), held.hasInput else { return true }
        worker.loop.afterTurn(self)
        return false
    }

    /// Whether what has come of a response still waits for its turn.
    var holdsInput: Bool { responsePhase == .held && held?.hasInput == true }

    private func payForHeld(_ held: HeldResponse) -> Bool {
        held.heldCount < MemoryCharge.step || chargeHeld(held)
    }

    /// Does the next slice of a held response's work: converts what has come, ends the conversion, codes what it has written, and at
    /// last sends it.
    func continueHeld() {
        guard responsePhase == .held, let held else { return }
        do throws(ConversionError) {
            if held.hasInput {
                try held.takeWaiting()
                guard payForHeld(held) else { return }
                guard !held.hasInput else { return worker.loop.afterTurn(self) }
            }
            guard held.isWhole else {
                upstream?.resume()
                return
            }
            try held.finishDecoding()
            recycleHeldDecoder()
            var isOver = held.isUntouched
            if !isOver { isOver = try held.finish() }
            guard isOver else {
                if payForHeld(held) { worker.loop.afterTurn(self) }
                return
            }
        } catch {
            // It was read to its end all the same, and its connection can serve on.
            if held.isWhole, held.isReusable, requestPhase == .sent { releaseUpstream(reusable: true) }
            return refuseHeld(error)
        }
        guard payForHeld(held) else { return }
        guard codeHeld(held) else { return worker.loop.afterTurn(self) }
        let isReusable = held.isReusable
        sendHeld(held)
        completeResponse(reusable: isReusable)
    }

    /// Sends the response, all of which is at hand.
    private func sendHeld(_ held: HeldResponse) {
        guard let source = held.source else { preconditionFailure("a held response without its connection") }
        let isUntouched = held.isUntouched
        var changes = isUntouched ? held.changes.intersection(.variesByAccept) : held.changes
        // What is sent of a body that was coded isn't what came, even where the conversion leaves it alone.
        if held.isDecoded { changes.formUnion([.otherBytes, .weakTag]) }
        if variesByCoding(held) { changes.formUnion(.variesByCoding) }
        let contentType = isUntouched ? nil : held.conversion?.contentType
        if let coded = held.coded {
            held.coded = nil
            beginResponse(
                source.head, framing: .length(coded.output.count), changes: changes, contentType: contentType,
                coding: coded.encoder.coding)
            _ = write(response: coded.output.span)
            return recycle(coded.encoder)
        }
        held.withBody { body in
            beginResponse(source.head, framing: .length(body.count), changes: changes, contentType: contentType)
            if !body.isEmpty { _ = write(response: body) }
        }
    }

    private func refuseHeld(_ error: ConversionError) {
        if held?.hasCodingError == true { worker.counters.coding.countError(error.code, .responseDecoded) }
        refuse(.upstreamBody(error))
    }

    /// Lets go of a held response; called once it is logged.
    func recycleHeld() {
        guard let held, held.isActive, let route, let rule = held.rule else { return }
        if let conversion = held.end() { generation?.recycle(conversion, rule: rule, route: route) }
    }
}

extension MessageHead {
    /// Whether the conversion takes a body with this head.
    fileprivate func isConvertible(by conversion: ResponseConversion) -> Bool {
        guard !forbidsTransform, let line = first(.contentType) else { return false }
        if conversion.acceptedTypes.isEmpty { return conversion.takes(value(line)) }
        guard let type = conversion.ownType(for: value(line)) else { return false }
        return conversion.takes(type.span)
    }
}

extension ResponseConversion {
    fileprivate func takes(_ contentType: Span<UInt8>) -> Bool {
        do throws(ConversionError) {
            _ = try plan.inputEncoding(for: contentType)
            return true
        } catch {
            return false
        }
    }

    /// The Content-Type by which a body of an accepted type is read: that of the plan's input, whatever it is called. The
    /// parameters, as the charset, stay what they are. Nil for a type that isn't accepted.
    fileprivate func ownType(for contentType: Span<UInt8>) -> [UInt8]? {
        guard acceptsType(contentType), let input = plan.inputs.first else { return nil }
        let end = Scan.firstIndex(of: UInt8(ascii: ";"), in: contentType) ?? contentType.count
        return Array(input.mediaType.utf8) + contentType.extracting(end..<contentType.count).copied()
    }
}
