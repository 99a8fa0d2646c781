internal import ContentCoding
internal import EventLoop
internal import ExtProc
internal import Gateway
internal import HTTPWire
internal import Octets
internal import Transcoding

// The response half: from the upstream's bytes to the client's. A response is forwarded as it comes, perhaps in a content coding;
// or, on routes with response rules, converted: then it is buffered until it is whole, and its head, with what the conversion
// changes in it, goes out with all of it.
extension Exchange {
    // MARK: Interim responses

    /// Nanoseconds that the upstream has for its 100: 1 s, as clients do that don't wait for ever.
    static let continueTime: UInt64 = 1_000_000_000

    /// Passes an interim response on: 103 and what may come, never a 100 (that is answered here) and never to HTTP/1.0.
    func interim(_ head: borrowing MessageHead) {
        tell(head.status == 100 ? .continued : .interim)
    }

    func sendInterim() {
        guard let upstream else { return }
        downstream?.sendInterim(upstream.head)
    }

    /// The upstream has said nothing for too long.
    func continueRelayed() {
        tell(.continued)
    }

    /// Tells the client to send its content: route, method, type and length have been checked.
    func sendContinue() {
        if machine.plan.takesInterim { downstream?.sendContinue() }
    }

    // MARK: The final response

    /// Its head has come.
    func respond(_ head: borrowing MessageHead, framing: BodyFraming) {
        if retryBuffer.heedsStatus, sendAgain(.status(head.status), avoiding: upstream?.destination) { return }
        record.firstByteTime = worker.loop.now - record.startedAt
        loggedResponse = worker.log.chosenFields(of: head)
        trace.upstreamStatus = head.status
        if watchers.lookAtMessages { watchResponse(head) }
        do throws(Refusal) {
            // From here on nothing is sent again.
            try handle(.responseHead)
            if let rules = route?.responseRules, !isCall, !head.carriesGRPC {
                try chooseResponse(rules, head, length: ResponseLength(framing))
            } else {
                try beginResponse(head, length: ResponseLength(framing))
            }
        } catch {
            refuse(error)
        }
    }

    /// Begins the response, whose head goes out with the first bytes of its content. `status`: the client's, where it isn't the
    /// upstream's.
    func beginResponse(
        _ head: borrowing MessageHead, length: ResponseLength, changes: HeadChanges = [], contentType: [UInt8]? = nil,
        coding: Coding? = nil, status: Int? = nil
    ) throws(Refusal) {
        var length = length
        var changes = changes
        var coding = coding
        // What was converted, or made of an envelope, has a coding already where it gets one.
        let isPlain = machine.response != .buffered && contentType == nil
        if let compression = route?.compression, isPlain, !isCall, !head.carriesGRPC, compression.options.plain {
            coding = startCompression(compression, head, length: &length, changes: &changes)
            // What HEAD tells of other content has no coding that could be known.
            if changes.contains(.otherType) { coding = nil }
        }
        record.responseCoding = coding
        record.hasOtherBytes = changes.contains(.otherBytes)
        record.status = status ?? head.status
        let endsByClose = length == .unknown && !request.capabilities.contains(.unsizedBodies)
        try handle(
            .responseBegan(untilClose: endsByClose, mayPersist: !worker.isDraining && worker.pressure == 0))
        if isCall { downstream?.expectNothing() }
        // A status without content has no length either (docs/rules.md F9).
        if length == .none, request.methodKind == .head, !changes.contains(.otherBytes), head.status != 204,
            head.status != 205
        {
            length = .asReceived
        }
        let hasTrailers = length == .unknown && !endsByClose && passesResponseTrailers
        // A response of gRPC-web has its trailers among its content.
        if isCall { endsByStatus = hasTrailers && head.status == 200 && GRPC.hasContentType(head) }
        let addressed = addressFields(of: head)
        let sourceFields =
            mayBeByFields || route?.answersByFields == true
            ? sourceFields(of: head, isConverted: changes.contains(.otherBytes)) : []
        let addsVary = changes.addsVary(to: head, sourceFields)
        var replaced = addressed
        if addsVary { replaced.formUnion([.vary]) }
        downstream?.begin(
            ResponseStart(
                fields: PassedFields(
                    response: head, changes, replacesType: contentType != nil, replacing: replaced), length: length,
                endsByClose: endsByClose, isLast: !machine.persists,
                status: status == head.status ? nil : status), of: head
        ) { output, position in
            var position = position
            if !addressed.isEmpty { position = appendAddresses(of: head, to: &output, at: position) }
            changes.appendLines(
                to: &output, of: head, contentType: contentType?.span, coding: coding,
                vary: addsVary ? sourceFields : nil)
            // What is no hop says nothing of itself.
            let isHop = forwarder == nil
            if isHop, !head.contains(.date) { HeadWriter.clean("Date", worker.clock.date.span, into: &output) }
            if isHop, !head.contains(.xRequestID) { HeadWriter.clean("X-Request-Id", requestID.span, into: &output) }
            if isHop, let snapshot, snapshot.forwarding.addsViaToResponses, let via = snapshot.forwarding.via {
                let line = via.line(head.version)
                output.append(line.span)
            }
            if let rules = route?.headers?.response {
                applyResponseRules(rules, to: &output, at: position)
                // What is no hop adds to fields that it doesn't write: those of the upstream's own stand there.
                if isHop || !head.tellsRate { appendRateFields(to: &output, from: position.fields) }
            }
            // No rule reaches what tells of the message itself.
            if hasTrailers, let route { head.appendTrailerField(responseTrailerNames(of: route), to: &output) }
        }
    }

    /// Those fields of the head whose addresses are undone: none, but on routes that ask for it.
    @inline(__always)
    private func addressFields(of head: borrowing MessageHead) -> KnownFieldSet {
        route?.returnsAddresses == true ? OuterAddresses.fields(of: head) : []
    }

    /// Appends these fields behind the received ones, as the client knows the addresses. Returns where the new ones begin.
    private func appendAddresses(
        of head: borrowing MessageHead, to output: inout OutputBuffer, at position: PassedFields.Position
    ) -> PassedFields.Position {
        guard let snapshot, let route, let outer = snapshot.forwarding.outerAddresses[route.index] else {
            return position
        }
        outer.appendLines(of: head, authorities: calledAuthorities, to: &output)
        return position.with(receivedUpTo: output.count)
    }

    /// The fields of the request that the response with that head depends on, but for Accept and Accept-Encoding where `HeadChanges` tell
    /// of them; in lower case.
    private func sourceFields(of head: borrowing MessageHead, isConverted: Bool) -> [String] {
        guard let route, let snapshot else { return [] }
        let sources = route.sourceFields(of: head, isConverted: isConverted)
        guard mayBeByFields else { return sources }
        let chosen = snapshot.routes.fieldsThatChoose(route, for: request)
        return chosen.isEmpty ? sources : sources + chosen.filter { !sources.contains($0) }
    }

    /// Whether trailer fields of the response can reach the client: the route lists some, the client takes them, and the content is
    /// chunked on its way to it (docs/rules.md F12).
    @inline(__always)
    var passesResponseTrailers: Bool {
        passesTrailers && (request.acceptsTrailers || isCall && request.capabilities.contains(.framedEnds))
    }

    /// Names of the trailer fields that pass behind the response's content; nil: all.
    private func responseTrailerNames(of route: Route) -> [[UInt8]]? {
        record.hasOtherBytes ? route.forwarding.trailersOfCoded : trailerNames(of: route)
    }

    // MARK: Content

    /// Takes bytes of the response's content: sends them, or converts them. Returns whether more can be taken now.
    func respond(_ body: Span<UInt8>) -> Bool {
        record.bytesUpstream += body.count
        if watchers.lookAtMessages { watchResponse(body) }
        guard machine.response == .buffering else { return send(response: body) }
        do throws(Refusal) {
            if let look, look.isPending { return try take(body, for: look) }
            return try buffer(body)
        } catch {
            refuse(error)
            return true
        }
    }

    /// Sends bytes of the response's content, coded where it gets a coding. Returns whether the client can take more now.
    func send(response body: Span<UInt8>) -> Bool {
        if let responseCoding { return compress(body, responseCoding) }
        if tap != nil { tapPassed(body) }
        return write(body)
    }

    /// Sends content that didn't come so from the upstream. Returns whether the client can take more now.
    func write(response body: Span<UInt8>) -> Bool {
        if tap != nil { tapAnswered(body) }
        return write(body)
    }

    private func write(_ body: Span<UInt8>) -> Bool {
        guard let downstream else { return true }
        record.bytesBack += body.count
        if downstream.send(body) { return true }
        chargeResponse(queued: downstream.queued)
        return false
    }

    /// Sends what has been written of the response when no content has taken it along.
    func settleResponse() {
        if let responseCoding { flushCompressed(responseCoding) }
        downstream?.flush()
    }

    /// The response is whole. `reusable`: the upstream connection ended its message cleanly and may serve another exchange;
    /// so it still reads, and gets what is left of an upload (docs/rules.md F13).
    func responseEnded(reusable: Bool) {
        record.upstreamTime = worker.loop.now &- record.upstreamStartedAt
        catchingRefusal { () throws(Refusal) in
            if let look, look.isPending { try endLook(look) }
            if let misfit, let upstream {
                try beginResponse(
                    upstream.head, length: .known(misfit.isOneSpace ? 1 : 0), changes: misfit.changes,
                    status: misfit.status)
                if misfit.isOneSpace { _ = send(response: [ASCII.space].span) }
            }
            guard machine.response == .buffering, let responseTranscoder, let upstream else {
                return try completeResponse(reusable: reusable)
            }
            responseTranscoder.bodyEnded()
            bufferedSource = upstream
            bufferedSourceIsReusable = reusable
            try handle(.responseArrived(isEmpty: upstream.queued == 0))
            // Where input still waits, the tick's end goes on with it.
            if !responseTranscoder.hasInput { try continueBuffered() }
        }
    }

    /// All of the response was handed on: ends it.
    private func completeResponse(reusable: Bool) throws(Refusal) {
        if let responseCoding, !finishCompressed(responseCoding) { return }
        try handle(.responseEnded(isReusable: reusable, isEmpty: upstream?.queued == 0))
    }

    /// Ends the response.
    @inline(never)
    func finishResponse() {
        guard let downstream else { return }
        if let upstream, let route, passesResponseTrailers {
            let trailers = upstream.trailers
            let names = responseTrailerNames(of: route)
            downstream.end { trailers.write(named: names, into: &$0) }
        } else {
            downstream.end { _ in }
        }
    }

    // MARK: Content codings

    /// Decides whether a response that is forwarded gets a coding, and starts it. What changes in its length and its head is
    /// put into `length` and `changes`.
    private func startCompression(
        _ compression: Compression, _ head: borrowing MessageHead, length: inout ResponseLength,
        changes: inout HeadChanges
    ) -> Coding? {
        if head.status == 304 {
            // It renews what the client has: where that is the coded form, its tag is the weak one (RFC 9110 §15.4.5).
            changes.formUnion(.variesByCoding)
            if request.holdsWeakForm(ofTagIn: head) { changes.formUnion(.weakTag) }
            return nil
        }
        let isHead = request.methodKind == .head
        guard isHead || !length.isEmpty, head.status >= 200, head.status != 204, head.status != 205,
            !head.hasContentCoding, !head.forbidsTransform,
            let line = head.contentTypeLine, compression.takes(type: head.value(line)) || head.hasRanges
        else { return nil }
        if head.isPartial {
            // A range is of the uncoded form; what it is a part of varies all the same (RFC 9110 §15.3.7).
            changes.formUnion(.variesByCoding)
            return nil
        }
        if let count = isHead ? Framing.announcedLength(head) : length.count, count < compression.options.least {
            return nil
        }
        changes.formUnion(.variesByCoding)
        guard request.takesCoding else { return nil }
        // Without memory for an encoder the content passes as it is.
        guard let coding = AcceptEncodingField.choose(among: compression.options.codings, for: request),
            isHead || payForEncoder(coding)
        else { return nil }
        changes.formUnion([.otherBytes, .weakTag])
        if !isHead {
            let encoder = worker.coders.takeEncoder(coding, level: compression.options.level)
            responseCoding = ResponseCoding(encoder, flushes: length.count == nil)
            length = .unknown
        }
        return coding
    }

    /// Sends bytes of a response that gets a coding. Returns whether the client can take more now.
    private func compress(_ body: Span<UInt8>, _ coding: ResponseCoding) -> Bool {
        var output = OutputBuffer()
        swap(&output, &coding.output)
        defer { swap(&output, &coding.output) }
        guard coding.encoder.encode(body, into: &output) else {
            fail(.upstreamGone)
            return true
        }
        return writeCompressed(&output)
    }

    /// All that has come from the upstream for now is in: lets the client have it.
    private func flushCompressed(_ coding: ResponseCoding) {
        guard coding.flushes, machine.response == .streaming else { return }
        if !bringCompressed() { fail(.upstreamGone) }
    }

    /// Sends what the response's coding still keeps, as far as the client needs it to read that. Returns false when that failed.
    @discardableResult
    func bringCompressed() -> Bool {
        guard let coding = responseCoding, coding.encoder.isPending else { return true }
        var output = OutputBuffer()
        swap(&output, &coding.output)
        defer { swap(&output, &coding.output) }
        guard coding.encoder.flush(into: &output) else { return false }
        _ = writeCompressed(&output)
        return true
    }

    /// Sends the end of the coded content. Returns false when that failed, and the exchange with it.
    private func finishCompressed(_ coding: ResponseCoding) -> Bool {
        var output = OutputBuffer()
        swap(&output, &coding.output)
        defer { swap(&output, &coding.output) }
        guard coding.encoder.finish(into: &output) else {
            fail(.upstreamGone)
            return false
        }
        _ = writeCompressed(&output)
        return true
    }

    private func writeCompressed(_ output: inout OutputBuffer) -> Bool {
        guard !output.isEmpty else { return downstream?.isFull != true }
        let hasRoom = write(response: output.span)
        output.removeAll()
        return hasRoom
    }

    /// Gives back the coders of an exchange that is over.
    func recycleCoders() {
        recycleDecoder()
        recycleResponseDecoder()
        if look != nil { recycleLook() }
        if let responseTranscoder { dropCoded(responseTranscoder) }
        if let coding = responseCoding {
            responseCoding = nil
            recycle(coding.encoder)
        }
    }

    /// Counts what went through `encoder` and gives it back.
    func recycle(_ encoder: ContentEncoder) {
        worker.counters.coding.count(
            .responseEncoded, encoder.coding, in: encoder.inputCount, out: encoder.outputCount)
        worker.coders.recycle(encoder)
    }

    func count(_ decoder: ContentDecoder, _ flow: CodingCounters.Flow) {
        guard let coding = decoder.codings.first else { return }
        worker.counters.coding.count(flow, coding, in: decoder.inputCount, out: decoder.outputCount)
    }

    // MARK: Converted responses

    /// Decides what becomes of a response with that head: it is forwarded, buffered, or refused.
    private func chooseResponse(
        _ rules: ResponseRules, _ head: borrowing MessageHead, length: ResponseLength
    ) throws(Refusal) {
        // What no status is for (RFC 9110 §15) says nothing of what its content is: no rule is for it, and it passes.
        if head.status > 599 { return try beginResponse(head, length: length) }
        if head.status == 304 {
            var changes: HeadChanges = rules.readsAccept ? .variesByAccept : []
            // It has no type that a rule could ask for. Its tag is to be that of the response which it renews, and a cache takes over what
            // else it says of that (RFC 9111 §3.2): nothing that is of the upstream's own bytes, unless those are what the client has.
            if rules.changesContent, !request.holdsStrongForm(ofTagIn: head) {
                changes.formUnion([.weakTag, .otherBytes, .otherType])
            }
            if rules.converts, codesConverted(nil) { changes.formUnion(.variesByCoding) }
            return try beginResponse(head, length: length, changes: changes)
        }
        let choice = rules.choose(for: head, to: request)
        let changes: HeadChanges = choice.dependsOnAccept ? .variesByAccept : []
        guard let rule = choice.rule else { return try beginResponse(head, length: length, changes: changes) }
        let conversion = rule.conversion
        if let conversion, !conversion.acceptsStatus(head.status) { throw .unacceptable(.status) }
        let isHead = request.methodKind == .head
        let isEmpty = isHead ? Framing.declaresEmpty(head) || head.status == 204 || head.status == 205 : length.isEmpty
        guard !isEmpty, !head.isPartial else { return try beginResponse(head, length: length, changes: changes) }
        if isHead { return try beginHead(rule, head, length: length, changes: changes) }
        if rule.looks(at: head.status) { return try beginLook(rule, head, length: length, changes: changes) }
        guard let conversion else { return try beginResponse(head, length: length, changes: changes) }
        try convert(rule, conversion, head, length: length, changes: changes, status: head.status)
    }

    /// Begins the answer to HEAD. Where that to GET would have other content its length can't be known (docs/rules.md F8), and its type is
    /// another one: with the same tag a cache would take what stands here for the type of the content that it has (RFC 9111 §4.3.5).
    private func beginHead(
        _ rule: ResponseRules.Rule, _ head: borrowing MessageHead, length: ResponseLength, changes: HeadChanges
    ) throws(Refusal) {
        let isUndone = route?.undoneCodings(of: head) != nil
        var changes = changes
        if let conversion = rule.conversion, isUndone, head.isConvertible(by: conversion) {
            changes.formUnion([.otherBytes, .otherType, .weakTag])
            if codesConverted(conversion.plan.output) { changes.formUnion(.variesByCoding) }
        } else if isUndone, rule.mayBecomeProblem(head) {
            changes.formUnion([.otherBytes, .otherType, .weakTag])
        }
        try beginResponse(head, length: length, changes: changes)
    }

    /// Begins the conversion of a response, or passes it on where it is none that the conversion takes.
    func convert(
        _ rule: ResponseRules.Rule, _ conversion: ResponseConversion, _ head: borrowing MessageHead,
        length: ResponseLength, changes: HeadChanges, status: Int
    ) throws(Refusal) {
        let fault = try beginBuffering(rule, conversion, head, length: length, changes: changes, status: status)
        if let fault {
            guard conversion.otherTypes == .pass else {
                // Neither no content nor one space is one of another type (docs/rules.md C3), which its end alone tells. A data plane
                // wants to know what becomes of the head before it brings any.
                guard length == .unknown || length == .known(1), forwarder == nil else { throw .unacceptable(fault) }
                misfit = MisfitResponse(fault: fault, changes: changes, status: status)
                if machine.response == .awaited { try handle(.responseBuffered) }
                return
            }
            try beginResponse(head, length: length, changes: changes, status: status)
        }
    }

    /// Starts the conversion of a response; it is refused when its content can't be read for what it says it is. Returns why it
    /// is none that the conversion takes, and then nothing has happened.
    private func beginBuffering(
        _ rule: ResponseRules.Rule, _ conversion: ResponseConversion, _ head: borrowing MessageHead,
        length: ResponseLength, changes: HeadChanges, status: Int
    ) throws(Refusal) -> UnacceptableResponse? {
        guard let codings = route?.undoneCodings(of: head) else { return .coding }
        if head.forbidsTransform { return .noTransform }
        guard let route, let snapshot else { return .type }
        let line = head.contentTypeLine
        guard line != nil || conversion.takesUntyped(head) else { return .type }
        let sources = try values(of: conversion.sources)
        do throws(ConversionError) {
            let pool = snapshot.conversions(of: rule, route: route)
            let taken: Conversion
            if let line, conversion.acceptedTypes.isEmpty {
                taken = try pool.take(contentType: head.value(line), sources: sources)
            } else if let line {
                guard let type = conversion.ownType(for: head.value(line)) else { return .type }
                taken = try pool.take(contentType: type.span, sources: sources)
            } else {
                taken = try pool.take(contentType: Span(), sources: sources)
            }
            if let count = length.count, count > conversion.plan.limits.body {
                throw .limit("body", of: conversion.plan.limits.body, what: "the body")
            }
            let responseTranscoder = self.responseTranscoder ?? ResponseTranscoder()
            self.responseTranscoder = responseTranscoder
            responseTranscoder.begin(
                taken, of: rule, changes: changes.union([.otherBytes, .weakTag]), limit: route.responseLimit)
            if !codings.isEmpty {
                let decoder = worker.coders.takeDecoder(codings)
                decoder.begin(codings, limits: route.options.coding.limits.ofResponse)
                responseTranscoder.undo(with: decoder, limit: conversion.plan.limits.body)
            }
        } catch {
            if error.kind == .unsupported { return error.isOfCharset ? .charset : .type }
            throw .upstreamBody(error, of: ErrorHead(head, status: status))
        }
        // One that was looked at is held already.
        if machine.response == .awaited { try handle(.responseBuffered) }
        return nil
    }

    /// Converts bytes of the content. Returns whether the next ones can be taken at once: what is more than a slice waits for the
    /// end of the tick, and the upstream with it.
    func buffer(_ body: Span<UInt8>) throws(Refusal) -> Bool {
        if let misfit {
            if body.isEmpty { return true }
            guard misfit.takes(body) else { throw .unacceptable(misfit.fault) }
            self.misfit?.isOneSpace = true
            return true
        }
        guard let responseTranscoder else { return true }
        do throws(ConversionError) {
            try responseTranscoder.feed(body)
        } catch {
            throw refusal(ofResponse: error)
        }
        try payForResponse(responseTranscoder.bufferedCount)
        guard responseTranscoder.hasInput else { return true }
        worker.loop.afterTick(self)
        return false
    }

    /// Whether what has come of a response still waits for its tick.
    var holdsInput: Bool {
        (machine.response == .buffering || machine.response == .buffered) && responseTranscoder?.hasInput == true
    }

    /// Does the next slice of a buffered response's work: converts what has come, ends the conversion, codes what it has written,
    /// and at last sends it.
    func continueBuffered() throws(Refusal) {
        guard let responseTranscoder else { return }
        if responseTranscoder.hasInput {
            try convert(responseTranscoder) { (responseTranscoder) throws(ConversionError) in
                try responseTranscoder.continueSlice()
            }
            try payForResponse(responseTranscoder.bufferedCount)
            guard !responseTranscoder.hasInput else { return worker.loop.afterTick(self) }
        }
        guard responseTranscoder.isWhole else {
            upstream?.resume()
            return
        }
        try convert(responseTranscoder) { (responseTranscoder) throws(ConversionError) in
            try responseTranscoder.finishDecoding()
        }
        recycleResponseDecoder()
        let isOver = try convert(responseTranscoder) { (responseTranscoder) throws(ConversionError) in
            if responseTranscoder.isUntouched { return true }
            return try responseTranscoder.finish()
        }
        try payForResponse(responseTranscoder.bufferedCount)
        guard isOver, codeTranscoded(responseTranscoder) else { return worker.loop.afterTick(self) }
        let isReusable = bufferedSourceIsReusable
        try sendTranscoded(responseTranscoder)
        try completeResponse(reusable: isReusable)
    }

    /// Does a piece of the conversion; an error in it is a refusal.
    private func convert<Result>(
        _ responseTranscoder: ResponseTranscoder, _ work: (ResponseTranscoder) throws(ConversionError) -> Result
    ) throws(Refusal) -> Result {
        do throws(ConversionError) {
            return try work(responseTranscoder)
        } catch {
            let refusal = refusal(ofResponse: error)
            // It was read to its end all the same, and its connection can serve on.
            if responseTranscoder.isWhole, bufferedSourceIsReusable { try handle(.responseRead) }
            throw refusal
        }
    }

    private func refusal(ofResponse error: ConversionError) -> Refusal {
        if responseTranscoder?.hasCodingError == true {
            worker.counters.coding.countError(error.code, .responseDecoded)
        }
        guard let source = bufferedSource ?? upstream else { return .upstreamBody(error, of: nil) }
        let status = look?.look.status ?? source.head.status
        return .upstreamBody(error, of: ErrorHead(source.head, status: status))
    }

    /// Whether a converted response of that encoding gets a coding, for some client, if it is long enough: what HEAD and 304 tell of
    /// it. They name no coding, since nobody knows how long the content would be.
    ///
    /// - Parameter output: nil: any.
    private func codesConverted(_ output: BodyEncoding?) -> Bool {
        guard let compression = route?.compression else { return false }
        return output.map { compression.takes(type: Array($0.mediaType.utf8).span) } ?? true
    }

    /// Whether a converted response is one that gets a coding where the client takes it.
    private func variesByCoding(_ responseTranscoder: ResponseTranscoder) -> Bool {
        guard let compression = route?.compression, let conversion = responseTranscoder.conversion,
            !responseTranscoder.isUntouched
        else {
            return false
        }
        return conversion.outputCount >= max(compression.options.least, 1)
            && compression.takes(type: conversion.contentType.span)
    }

    /// Applies a coding to a slice of converted content, where the route and the client want one and there is memory for the encoder
    /// and what it writes; without a coding the content is as good. Returns whether that is all of it.
    private func codeTranscoded(_ responseTranscoder: ResponseTranscoder) -> Bool {
        if !responseTranscoder.isCodingChosen {
            responseTranscoder.isCodingChosen = true
            guard variesByCoding(responseTranscoder), let compression = route?.compression,
                request.capabilities.contains(.unsizedBodies),
                let coding = AcceptEncodingField.choose(among: compression.options.codings, for: request),
                worker.pressure == 0
            else { return true }
            responseTranscoder.coded = ResponseCoding(
                worker.coders.takeEncoder(coding, level: compression.options.level), flushes: false)
        }
        guard let coded = responseTranscoder.coded else { return true }
        guard responseCharge.set(responseTranscoder.bufferedCount, from: worker.memory) else {
            dropCoded(responseTranscoder)
            return true
        }
        var isOver = false
        var isFine = true
        responseTranscoder.withBody { body in
            let end = min(responseTranscoder.codedAt + ResponseTranscoder.sliceSize, body.count)
            isOver = end == body.count
            isFine = coded.encoder.encode(body.extracting(responseTranscoder.codedAt..<end), into: &coded.output)
            if isFine, isOver { isFine = coded.encoder.finish(into: &coded.output) }
            responseTranscoder.codedAt = end
        }
        guard isFine else {
            dropCoded(responseTranscoder)
            return true
        }
        return isOver
    }

    /// Lets go of a coded copy that isn't wanted any more.
    private func dropCoded(_ responseTranscoder: ResponseTranscoder) {
        guard let coded = responseTranscoder.coded else { return }
        responseTranscoder.coded = nil
        recycle(coded.encoder)
        if responseCharge.bytes > 0 { responseCharge.force(responseTranscoder.bufferedCount, from: worker.memory) }
    }

    /// Sends the response, all of which is at hand.
    private func sendTranscoded(_ responseTranscoder: ResponseTranscoder) throws(Refusal) {
        guard let source = bufferedSource else { preconditionFailure("a buffered response without its connection") }
        let isUntouched = responseTranscoder.isUntouched
        var changes =
            isUntouched ? responseTranscoder.changes.intersection(.variesByAccept) : responseTranscoder.changes
        // What is sent of content that was coded isn't what came, even where the conversion leaves it alone.
        if responseTranscoder.isDecoded { changes.formUnion([.otherBytes, .weakTag]) }
        if variesByCoding(responseTranscoder) { changes.formUnion(.variesByCoding) }
        let contentType = isUntouched ? nil : responseTranscoder.conversion?.contentType
        let coded = responseTranscoder.coded
        responseTranscoder.coded = nil
        let count = coded?.output.count ?? responseTranscoder.bodyCount
        try beginResponse(
            source.head, length: .known(count), changes: changes, contentType: contentType,
            coding: coded?.encoder.coding, status: look?.look.status)
        if let coded {
            write(owned: &coded.output)
            recycle(coded.encoder)
        } else if count > 0 {
            responseTranscoder.takeBody { write(owned: &$0) }
        }
    }

    /// Gives the decoders of a response's content back.
    private func recycleResponseDecoder() {
        guard let decoder = responseTranscoder?.takeDecoder() else { return }
        count(decoder, .responseDecoded)
        worker.coders.recycle(decoder)
    }

    /// Lets go of a buffered response; called once it is logged.
    func recycleResponseTranscoder() {
        guard let responseTranscoder, responseTranscoder.isActive, let route, let rule = responseTranscoder.rule else {
            return
        }
        if let conversion = responseTranscoder.end() {
            snapshot?.conversions(of: rule, route: route).recycle(conversion)
        }
    }

    // MARK: Responses that are looked at

    // Responses that are looked at before their head goes out: for the status that an envelope says, and for a problem in its place.
    // What has come is held as it is; then it goes on, streamed, into the rule's conversion, or as the problem. For the machine such a
    // response is buffered, so an upstream that leaves before is a 502.

    /// Begins to look at a response's body. Where there is nothing to look at, it goes on at once.
    func beginLook(
        _ rule: ResponseRules.Rule, _ head: borrowing MessageHead, length: ResponseLength, changes: HeadChanges
    ) throws(Refusal) {
        guard let route else { return }
        let look = ResponseLook(
            rule, head, codings: route.undoneCodings(of: head), limits: route.options.coding.limits.ofResponse,
            coders: worker.coders)
        let response = LookedResponse(look, rule, length: length, changes: changes, upstreamStatus: head.status)
        self.look = response
        if look.isOver { try goOn(behind: response, head) } else { try handle(.responseBuffered) }
    }

    /// Takes the next bytes. Returns whether more can be taken now.
    func take(_ body: Span<UInt8>, for response: LookedResponse) throws(Refusal) -> Bool {
        let look = response.look
        look.feed(body)
        guard look.isOver else {
            try payForResponse(look.heldCount)
            return true
        }
        guard let upstream else { return true }
        try goOn(behind: response, upstream.head)
        return try sendHeld(of: look)
    }

    /// The body is whole.
    func endLook(_ response: LookedResponse) throws(Refusal) {
        guard let upstream else { return }
        let look = response.look
        look.bodyEnded()
        try goOn(behind: response, upstream.head)
        _ = try sendHeld(of: look)
    }

    /// What there is to know is known: begins the response, or its conversion.
    private func goOn(behind response: LookedResponse, _ head: borrowing MessageHead) throws(Refusal) {
        let look = response.look
        response.isPending = false
        recycleLook()
        if let problem = look.problem {
            try beginResponse(
                head, length: .known(problem.count), changes: response.changes.union([.otherBytes, .weakTag]),
                contentType: ResponseLook.problemType, status: look.status)
        } else if let conversion = response.rule.conversion {
            try convert(
                response.rule, conversion, head, length: response.length, changes: response.changes, status: look.status
            )
        } else {
            try beginResponse(head, length: response.length, changes: response.changes, status: look.status)
        }
    }

    /// Sends what was held, or what was made of it. Returns whether more can be taken now.
    private func sendHeld(of look: ResponseLook) throws(Refusal) -> Bool {
        if let problem = look.problem {
            defer { look.dropHeld() }
            return write(response: problem.span)
        }
        var refusal: Refusal?
        let hasRoom = look.withHeld { held in
            guard !held.isEmpty else { return true }
            guard machine.response == .buffering else { return send(response: held) }
            do throws(Refusal) { return try buffer(held) } catch {
                refusal = error
                return true
            }
        }
        if let refusal { throw refusal }
        look.dropHeld()
        // What was held has gone to the client's stream, or is the conversion's now.
        if responseCharge.bytes > 0, machine.response == .streaming { chargeResponse(queued: downstream?.queued ?? 0) }
        return hasRoom
    }

    /// Gives back the decoder of what is, or was, looked at.
    func recycleLook() {
        guard let decoder = look?.look.takeDecoder() else { return }
        count(decoder, .responseDecoded)
        worker.coders.recycle(decoder)
    }

    // MARK: Tunnels

    // Connections that leave HTTP by Upgrade (RFC 9110 §7.8; docs/rules.md F23), as WebSocket's do.

    /// Whether this is the answer to an upgrade that was offered.
    func acceptsSwitch(_ head: borrowing MessageHead) -> Bool {
        guard head.wantsUpgrade, machine.canHappen(.switched), downstream != nil, let line = head.first(.upgrade)
        else { return false }
        for name in offeredUpgrades where head.value(line).isEqualIgnoringCase(to: name.span) { return true }
        return false
    }

    /// The upstream has switched protocols: tells the client and joins both connections. `first` are the upstream's bytes
    /// behind its head.
    func switched(_ head: borrowing MessageHead, _ connection: UpstreamConnection, _ first: Span<UInt8>) {
        guard let downstream = downstream as? any SwitchableSink else { return connection.close() }
        // A tunnel has a time of its own, and nothing is sent again.
        deadline?.cancel()
        dropRetryBuffer()
        record.firstByteTime = worker.loop.now - record.startedAt
        loggedResponse = worker.log.chosenFields(of: head)
        trace.upstreamStatus = head.status
        record.status = 101
        upstream = nil
        let addressed = addressFields(of: head)
        let tunnel = downstream.switchProtocols(
            by: head, replacing: addressed, to: connection, idle: times.tunnel
        ) { output, position in
            var position = position
            if !addressed.isEmpty { position = appendAddresses(of: head, to: &output, at: position) }
            if let rules = route?.headers?.response { applyResponseRules(rules, to: &output, at: position) }
        }
        self.tunnel = tunnel
        tell(.switched)
        tunnel.begin(first)
    }

    func beginTunnel() {
        worker.counters.forwarding.tunnels += 1
        worker.counters.forwarding.openTunnels += 1
    }

    /// Takes note of what went through the tunnel, and closes it.
    func endTunnel() {
        guard let tunnel else { return }
        self.tunnel = nil
        tunnel.close()
        record.bytesIn = tunnel.bytesUp
        record.bytesOut = tunnel.bytesUp
        record.bytesUpstream = tunnel.bytesDown
        record.bytesBack = tunnel.bytesDown
        worker.counters.forwarding.openTunnels -= 1
        worker.counters.forwarding.tunnelBytesUp += UInt64(tunnel.bytesUp)
        worker.counters.forwarding.tunnelBytesDown += UInt64(tunnel.bytesDown)
    }
}

extension MessageHead {
    /// Whether the conversion takes a body with this head.
    fileprivate func isConvertible(by conversion: ResponseConversion) -> Bool {
        guard !forbidsTransform else { return false }
        guard let line = contentTypeLine else { return conversion.takesUntyped(self) }
        if conversion.acceptedTypes.isEmpty { return conversion.takes(value(line)) }
        guard let type = conversion.ownType(for: value(line)) else { return false }
        return conversion.takes(type.span)
    }
}

extension ResponseConversion {
    /// Whether a body with this head, which names no type to read it by, is taken: as a file, which may have any type. What else it may
    /// be is not guessed at.
    fileprivate func takesUntyped(_ head: borrowing MessageHead) -> Bool {
        plan.inputs.contains(.raw) && acceptedTypes.isEmpty && head.hasNoType
    }

    fileprivate func takes(_ contentType: Span<UInt8>) -> Bool {
        do throws(ConversionError) {
            _ = try plan.inputEncoding(for: contentType)
            return true
        } catch {
            return false
        }
    }
}

extension MessageHead {
    /// Whether If-None-Match names the weak form of the strong tag that `response` has.
    fileprivate func holdsWeakForm(ofTagIn response: borrowing MessageHead) -> Bool {
        holdsForms(ofTagIn: response).isWeak
    }

    /// Whether If-None-Match names the strong tag that `response` has, and not its weak form, which is that of other bytes.
    fileprivate func holdsStrongForm(ofTagIn response: borrowing MessageHead) -> Bool {
        let forms = holdsForms(ofTagIn: response)
        return forms.isStrong && !forms.isWeak
    }

    /// In which forms If-None-Match names the strong tag that `response` has.
    private func holdsForms(ofTagIn response: borrowing MessageHead) -> (isStrong: Bool, isWeak: Bool) {
        var forms = (isStrong: false, isWeak: false)
        guard let line = response.first(.etag) else { return forms }
        let tag = response.value(line)
        guard tag.count >= 2, tag[0] == UInt8(ascii: "\"") else { return forms }
        for line in 0..<fieldCount where known(line) == .ifNoneMatch {
            let value = value(line)
            // A tag holds no quotation mark, so each one begins at every other of them.
            var at = 0
            while let start = Scan.firstIndex(of: UInt8(ascii: "\""), in: value, from: at),
                let end = Scan.firstIndex(of: UInt8(ascii: "\""), in: value, from: start + 1)
            {
                at = end + 1
                guard value.extracting(start..<at).isEqual(to: tag) else { continue }
                let isWeak = start > 1 && value[start - 1] == UInt8(ascii: "/") && value[start - 2] == UInt8(ascii: "W")
                if isWeak { forms.isWeak = true } else { forms.isStrong = true }
            }
        }
        return forms
    }
}

/// A response whose body is looked at, how it goes on, and what was found; until its exchange is logged.
final class LookedResponse {
    let look: ResponseLook
    let rule: ResponseRules.Rule
    let length: ResponseLength
    let changes: HeadChanges
    let upstreamStatus: Int
    /// Whether its head waits for what is found.
    fileprivate(set) var isPending = true

    fileprivate init(
        _ look: ResponseLook, _ rule: ResponseRules.Rule, length: ResponseLength, changes: HeadChanges,
        upstreamStatus: Int
    ) {
        self.look = look
        self.rule = rule
        self.length = length
        self.changes = changes
        self.upstreamStatus = upstreamStatus
    }
}
