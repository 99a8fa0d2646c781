internal import ContentCoding
internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Images
internal import Octets
internal import Transcoding

// The request half, up to the output of its conversion: the head, the route and what it demands, and then content as it comes:
// decoded and converted. What comes out goes upstream in Exchange+Upstream.swift.
extension Exchange {
    // MARK: The head

    /// Serves the request whose head is in `request`.
    ///
    /// - Parameter forwarder: where the request goes on if not to an upstream of the route's.
    func begin(on downstream: any Downstream, forwarder: UpstreamSide? = nil) {
        self.downstream = downstream
        if let forwarder { self.forwarder = forwarder }
        let now = worker.loop.now
        record.startedAt = now
        record.headTime = now &- record.headStartedAt
        if !request.copyValue(of: .xRequestID, limit: 128, to: &requestID) { worker.nextRequestID(into: &requestID) }
        if worker.keepsExchanges { beginTap(of: downstream) }
        let framing = request.framing
        // HTTP/2 frames content in any case. Over HTTP/1 gRPC seldom says how long it is, or asks for trailers, as few others do.
        if framing == .chunked
            || !framing.isEmpty
                && (request.capabilities.contains(.framedEnds) || request.contains(.te) && request.acceptsTrailers)
        {
            isCall = request.methodKind == .post && request.carriesGRPC
        }
        catchingRefusal { () throws(Refusal) in
            try handle(
                .headRead(
                    persists: request.isKeepAlive && request.capabilities.contains(.persistence) && !downstream.isSpent)
            )
            try countIn()
            let snapshot = worker.current
            self.snapshot = snapshot
            switch try findRoute(snapshot) {
            case .route(let route): try begin(route, snapshot, framing: framing)
            case .options(let methods): answerOptions(methods, status: 204)
            }
        }
    }

    /// Sees that the route takes the request, and begins with it.
    private func begin(_ route: Route, _ snapshot: ConfigurationSnapshot, framing: BodyFraming) throws(Refusal) {
        // It is a request without content as any other, but that it goes on when its end has come. With trailers no length could be said.
        let awaitsEnd =
            request.promisesNoContent && forwarder == nil && !isCall && !route.forwarding.passesTrailers
        let framing = awaitsEnd ? .length(0) : framing
        downstream?.setRates(isCall ? times.rates.ofCalls : times.rates)
        if route.limitsRate { try limitRate(route, snapshot) }
        if route.authorization != nil || route.verification != nil, request.removesFields {
            throw .wire(MessageHead.removalFault)
        }
        if let rule = route.authorization { try authorize(rule, route) }
        if route.hasPace { setPace(route) }
        switch framing {
        case .length(let count) where count > route.limits.body: throw .bodyTooLarge(route.limits.body)
        case .chunked:
            downstream?.limitContent(to: route.limits.body)
            if isCall || route.forwarding.passesTrailers { downstream?.keepTrailers() }
        case .none, .length, .untilClose: break
        }
        passesTrailers = isCall || route.forwarding.passesTrailers
        try checkForwardingRules(route, snapshot, framing: framing)
        if endsHere { return answerOptions(methods(of: route), status: 200) }
        let hasContent = !framing.isEmpty
        var misfit: Refusal?
        if !isCall {
            do throws(Refusal) {
                if try route.converts(request, hasBody: hasContent) {
                    try beginTranscoding(route, snapshot, framing: framing)
                }
            } catch {
                // Whose request it is comes first: a challenge is none of what the route converts, and nobody else hears what that is.
                guard route.verification != nil else { throw error }
                misfit = error
                if requestTranscoder.takeCodingFault() {
                    worker.counters.coding.countError(error.code, .requestDecoded)
                }
            }
        }
        if let rules = route.responseRules, rules.hasSources {
            // Before the request goes up: the values are the request's.
            for rule in rules.rules { _ = try values(of: rule.conversion?.sources ?? []) }
        }
        if let rule = route.verification { try beginVerification(rule, route, snapshot, framing: framing) }
        if let misfit {
            guard let verification else { throw misfit }
            verification.misfit = misfit
        }
        if requestTranscoder.readsQuery {
            try requestTranscoder.feedQuery(of: request)
            if requestTranscoder.needsMemory { try payForRequest() }
        }
        var plan = ExchangeMachine.Plan()
        // What passes beside what brought the request is there, and never comes.
        let isHidden = forwarder != nil && downstream?.hidesContent == true
        plan.hasContent = (hasContent || awaitsEnd) && !isHidden
        plan.isConverted = requestTranscoder.isBegun
        plan.isVerified = verification != nil
        plan.isSpooled =
            route.signing != nil || awaitsEnd
            || self.framing(of: route, snapshot).mode == .length && !isCall
                && (requestTranscoder.isBegun || framing == .chunked && !isHidden)
        plan.expectsContinue = request.expectsContinue
        plan.relaysExpectation = route.forwarding.forwardsExpect
        plan.takesInterim = request.capabilities.contains(.interimResponses)
        plan.hasMemory = !plan.hasContent || hasMemory(for: framing)
        if !plan.hasContent { noteContentEnd() }
        if forwarder != nil { try downstream?.check(route, &plan) }
        try handle(.began(plan))
    }

    /// Counts the exchange among those of the process.
    private func countIn() throws(Refusal) {
        let cap = worker.current.admission.inFlight
        guard cap > 0 else { return }
        guard worker.shared.beginRequest(cap: cap) else {
            worker.counters.admission.overloaded += 1
            throw .overloaded
        }
        isCounted = true
    }

    private enum Destination {
        case route(Route)
        /// `OPTIONS *`, and the methods that are taken.
        case options([String])
    }

    /// The route of this request.
    private func findRoute(_ snapshot: ConfigurationSnapshot) throws(Refusal) -> Destination {
        if snapshot.routes.keepsTargets { noteTarget() }
        snapshot.routes.normalize(&request)
        if forwarder != nil, let name = downstream?.routeName { return .route(try findRoute(named: name, snapshot)) }
        switch snapshot.routes.find(request) {
        case .found(let found):
            route = found.route
            captures = found.captures
            mayBeByFields = found.mayBeByFields
            times = snapshot.times(of: found.route)
            return .route(found.route)
        case .noRoute where request.path.isEqual(to: "*"): return .options(try methodsOfHost(snapshot.routes))
        case .noRoute: throw .noRoute
        case .methodNotAllowed(let methods):
            // A method that nothing here knows is one that isn't implemented (RFC 9110 §9.1).
            throw request.methodKind == .other ? .methodNotImplemented : .methodNotAllowed(methods)
        case .typeNotAccepted(let types): throw .typeNotAccepted(types)
        case .malformedPath(let offset): throw .malformedPath(offset)
        case .dotSegment(let offset): throw .dotSegment(offset)
        case .emptySegment(let offset): throw .emptySegment(offset)
        }
    }

    /// The route that what brought the request has named.
    private func findRoute(
        named name: [UInt8], _ snapshot: ConfigurationSnapshot
    ) throws(Refusal) -> Route {
        guard let index = snapshot.routes.routes.firstIndex(where: { $0.name.utf8.elementsEqual(name) }) else {
            throw .processing(.unknownRoute)
        }
        guard let found = snapshot.routes.find(at: index, for: request) else { throw .processing(.otherPath) }
        route = found.route
        captures = found.captures
        mayBeByFields = found.mayBeByFields
        times = snapshot.times(of: found.route)
        return found.route
    }

    /// Starts what the route has of throttles and deadlines.
    private func setPace(_ route: Route) {
        let rate = route.options.rate
        if rate.request > 0 {
            requestThrottle = Throttle(loop: worker.loop, rate: rate.request) { [unowned self] in
                tell(.resumed(.rate))
            }
        }
        if rate.response > 0 {
            responseThrottle = Throttle(loop: worker.loop, rate: rate.response) { [unowned self] in
                // A client that is full says itself when it has room, and what is converted before it has any of it doesn't wait for that.
                guard !holdsInput, machine.response == .buffering || downstream?.isFull != true else { return }
                upstream?.resume()
            }
        }
        guard times.request > 0 else { return }
        let timer = deadline ?? Timer(loop: worker.loop) { [unowned self] in requestTimedOut() }
        deadline = timer
        timer.set(after: times.request)
    }

    // MARK: What forwarding demands

    /// Sees that the request may go on by its route.
    private func checkForwardingRules(_ route: Route, _ snapshot: ConfigurationSnapshot, framing: BodyFraming)
        throws(Refusal)
    {
        let rule = route.forwarding
        if snapshot.forwarding.hasTrusted { try findClient(snapshot, route) }
        if let editors = route.headers, editors.hasSources { try takeHeaderValues(editors) }
        // What the path holds must not lead out of what the route rewrites to, whatever `paths` says.
        if let rewrite = route.variableRewrite,
            rewrite.makesDotSegment(of: request, captures: captures, scratch: &framed)
        {
            throw .rewrittenDotSegment
        }
        if rule.requiresLength, !announcesLength(framing) { throw .lengthRequired }
        if request.hasUnderscores {
            if rule.underscores == .reject || route.guardedFields?.areImitated(in: request) == true {
                throw .underscoreName
            }
        }
        // One look at the head for what few requests have: each one costs a check of exclusive access.
        guard request.asksForChecks else { return }
        if request.isSecureTarget, let downstream, !downstream.isSecure, !trustsPeer {
            // RFC 9110 §7.4: an https resource must not be served over a connection that isn't secured.
            throw .misdirected
        }
        if request.contains(.via), snapshot.forwarding.via != nil {
            let pseudonym = snapshot.forwarding.pseudonym
            let count = request.viaCount(of: pseudonym.span)
            if count >= snapshot.forwarding.loopLimit {
                worker.counters.forwarding.loops += 1
                throw .loopDetected(count)
            }
        }
        if request.contains(.maxForwards), request.methodKind == .options, request.maxForwards == nil {
            throw .badMaxForwards
        }
        if request.wantsUpgrade, !rule.upgrades.isEmpty { chooseUpgrade(among: rule.upgrades) }
    }

    /// Content without a length, or a method that usually has content without saying that it has none (RFC 9110 §15.5.12).
    private func announcesLength(_ framing: BodyFraming) -> Bool {
        switch framing {
        case .length: true
        // Over HTTP/2 content may follow that says that it has no bytes.
        case .chunked, .untilClose: Framing.announcedLength(request) != nil
        case .none: !request.methodKind.mayHaveBody
        }
    }

    /// Offers the upstream those protocols that the client asks for and the route allows. A request that has a body, or came
    /// by HTTP/1.0, or asks for h2c wants no upgrade in the first place (R33).
    private func chooseUpgrade(among allowed: [[UInt8]]) {
        // HTTP/2 has no upgrade (RFC 9113 §8.6), on either side.
        guard request.methodKind == .get, downstream is any SwitchableSink, let snapshot,
            let upstream = route?.upstream, !snapshot.pools[upstream].speaksHTTP2
        else { return }
        offeredUpgrades.removeAll(keepingCapacity: true)
        for name in allowed where request.lists(member: name.span, in: .upgrade) { offeredUpgrades.append(name) }
    }

    // MARK: OPTIONS

    /// Methods that a route takes that names none; it takes others, too.
    private static let commonMethods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

    private func methods(of route: Route) -> [String] {
        route.match.methods.isEmpty ? Self.commonMethods : route.match.methods
    }

    /// Whether this is the last recipient of an OPTIONS request (RFC 9110 §7.6.2).
    private var endsHere: Bool {
        request.asksForChecks && request.contains(.maxForwards) && request.methodKind == .options
            && request.maxForwards == 0
    }

    /// What `OPTIONS *` is told, which asks about the server as a whole (RFC 9110 §9.3.7) and so is at home here, whatever
    /// Max-Forwards and Via say: what the routes of the host take.
    private func methodsOfHost(_ routes: RouteTable) throws(Refusal) -> [String] {
        guard !request.contains(.maxForwards) || request.maxForwards != nil else { throw .badMaxForwards }
        var methods: [String] = []
        for route in routes.routes where route.takesHost(of: request) {
            for method in self.methods(of: route) where !methods.contains(method) { methods.append(method) }
        }
        if !methods.contains("OPTIONS") { methods.append("OPTIONS") }
        return methods
    }

    // MARK: The conversion

    /// Starts the route's conversion, where the route doesn't pass what it can't convert.
    private func beginTranscoding(
        _ route: Route, _ snapshot: ConfigurationSnapshot, framing: BodyFraming
    ) throws(Refusal) {
        guard let rule = route.conversion else { return }
        let sources = try values(of: rule.sources)
        guard
            try requestTranscoder.begin(
                request, by: rule, of: route, framing: framing, sources: sources,
                conversions: snapshot.conversions(of: route), coders: worker.coders,
                requestLine: worker.wireLimits.requestLine),
            let conversion = requestTranscoder.conversion
        else { return }
        record.input = conversion.inputEncoding
        record.output = conversion.outputEncoding
        record.coding = requestTranscoder.coding
        // What is converted is seldom less than half as long; a short one grows memory of the conversion's, which stays there.
        guard downstream?.contentLeft ?? .max > Exchange.keptCapacity / 2 else { return }
        conversion.withOutput { output in
            if output.capacity <= Exchange.keptCapacity { worker.loop.lendSpare(to: &output) }
        }
    }

    /// The values that the route's rules take from the request's head.
    private func sourceValues(_ references: [SourceReference]) throws(ConversionError) -> [[UInt8]] {
        var values: [[UInt8]] = []
        if references.isEmpty { return values }
        let client = clientAddress
        for reference in references {
            var value: [UInt8] = []
            try reference.append(from: request, captures: captures, client: client.span, to: &value)
            values.append(value)
        }
        return values
    }

    /// As `sourceValues`, with a refusal for a value that can't be had.
    func values(of references: [SourceReference]) throws(Refusal) -> [[UInt8]] {
        do throws(ConversionError) {
            return try sourceValues(references)
        } catch {
            throw .conversion(error, accepted: [])
        }
    }

    /// The client's address without a port, as text; empty on a unix socket. Behind trusted peers it is what they say.
    var clientAddress: [UInt8] {
        guard let client, !client.isUnix else { return [] }
        var text = OutputBuffer()
        client.appendIP(to: &text)
        return text.span.copied()
    }

    // MARK: Content

    /// Says that bytes behind the head have come.
    func contentArrived() {
        record.transcodeMark = 0
        if machine.expectation == .asked { tell(.contentArrived) }
    }

    /// Takes bytes of the content, `longestSlice` at most, while `machine.takesContent`. Returns how many: fewer when the upstream
    /// can't keep up, or the route's rate allows no more; the rest is brought again behind `RequestSource.resumeReading`.
    ///
    /// Throws what the source hands to `refuse` once it has counted all of `content` as taken, since what is left of the request
    /// decides whether the connection can go on.
    ///
    /// - Parameter isLast: whether no content follows, where that is known already.
    func receive(_ content: Span<UInt8>, isLast: Bool) throws(Refusal) -> Int {
        if machine.request == .discarding { return content.count }
        if tap != nil { tapContent(content) }
        let taken: Int
        if let requestThrottle {
            taken = try takeContent(content, isLast: isLast, requestThrottle)
        } else {
            taken = try takeContent(content, isLast: isLast)
        }
        if taken < content.count, tap != nil { tapLeft(content.count - taken) }
        return taken
    }

    /// Whether content is still read, to be sent on or thrown away.
    var readsContent: Bool { machine.request == .content || machine.request == .discarding }

    /// Says that all content was taken.
    func contentEnded() {
        catchingRefusal { () throws(Refusal) in
            requestThrottle?.stop()
            noteContentEnd()
            try handle(.contentEnded)
        }
    }

    /// Says that all bytes which the source had were looked at, but `leftover` ones that wait there.
    func contentRead(leftover: Int) {
        guard machine.request == .content else { return }
        if machine.isPaused { chargeRequest(leftover: leftover) } else { expectContent() }
    }

    /// Content must come within its time. A call's messages come when there is something to say: one that neither side has said anything
    /// on for the gap is cut, and once it is answered its client may listen for as long as the server speaks.
    func expectContent() {
        if isCall, machine.response == .streaming { return }
        downstream?.expectBody(within: isCall ? times.gap : times.bodyGap)
    }

    /// Bytes of one slice of the content at most: all of a read where it is sent on as it is, so that it takes one system call
    /// and wakes the upstream once.
    var longestSlice: Int {
        let passes = machine.upstream == .open && (!requestTranscoder.isBegun || passesContent)
        return passes ? EventLoop.readBufferSize : Exchange.sliceSize
    }

    /// Takes as many bytes as the route's rate allows.
    private func takeContent(_ slice: Span<UInt8>, isLast: Bool, _ throttle: Throttle) throws(Refusal) -> Int {
        let allowed = throttle.take(slice.count)
        let taken =
            allowed == 0
            ? 0 : try takeContent(slice.extracting(0..<allowed), isLast: isLast && allowed == slice.count)
        if taken < allowed { throttle.putBack(allowed - taken) }
        if allowed < slice.count { try handle(.paused(.rate)) }
        return taken
    }

    private func takeContent(_ slice: Span<UInt8>, isLast: Bool) throws(Refusal) -> Int {
        if let verification { return try hold(slice, in: verification) }
        record.bytesIn += slice.count
        let taken = requestTranscoder.isBegun ? try transcode(slice, isLast: isLast) : try forward(slice)
        if taken < slice.count { record.bytesIn -= slice.count - taken }
        return taken
    }

    private func noteContentEnd() { record.bodyTime = worker.loop.now &- record.startedAt }

    /// Sends the head when nothing else has taken it along, once the bytes of one read have been seen.
    func settle() {
        if machine.upstream == .open, !framed.isEmpty, machine.request == .content { flushFramed() }
    }

    // MARK: Plain content

    private func forward(_ slice: Span<UInt8>) throws(Refusal) -> Int {
        switch machine.destination {
        case .upstream:
            send(slice)
            if upstreamIsFull { try handle(.paused(.upstream)) }
        case .spool: try spool(slice)
        case .buffer, .connection:
            let room = buffered.highWatermark - buffered.count
            let taken = min(room, slice.count)
            buffered.append(slice.extracting(0..<taken))
            if taken == room { try handle(.paused(.upstream)) }
            return taken
        case .nowhere: break
        }
        return slice.count
    }

    // MARK: Converted content

    /// Hands content to the transcoder, and what comes out upstream. Returns how many bytes it took: fewer when the upstream can't
    /// keep up, or when one tick is too short for what they are decoded to.
    private func transcode(_ slice: Span<UInt8>, isLast: Bool) throws(Refusal) -> Int {
        // What the last bytes become goes out with what follows it, in one write.
        let (taken, outcome) = try step(slice, isLast: isLast && requestTranscoder.coding == nil)
        switch outcome {
        case .done: if upstreamIsFull { try handle(.paused(.upstream)) }
        // The upstream has enough: the rest of the slice waits with the client's stream.
        case .full: try handle(.paused(.upstream))
        case .tick:
            guard !upstreamIsFull else {
                try handle(.paused(.upstream))
                break
            }
            try handle(.paused(.tick))
            awaitNextTick()
        case .held:
            try handle(.paused(.tick))
            try awaitPicture()
        }
        return taken
    }

    /// Does a slice of work. Returns how many bytes of `input` were taken, and why not more: for `full`, that the upstream can't take
    /// output now.
    private func step(
        _ input: Span<UInt8>, isLast: Bool
    ) throws(Refusal) -> (taken: Int, outcome: RequestTranscoder.Outcome) {
        var at = 0
        var outcome = RequestTranscoder.Outcome.done
        requestTranscoder.beginSlice()
        while true {
            let began = worker.isMeasuring ? EventLoop.preciseNow : 0
            let rest = input.extracting(at..<input.count)
            let mayPass = machine.upstream == .open && !upstreamIsFull && spool == nil
            let step = try requestTranscoder.feed(rest, mayPass: mayPass)
            at += step.consumed
            if mayPass { passesContent = !step.passed.isEmpty }
            // Content that passes takes along what has come out before it.
            let isSent = !step.passed.isEmpty
            if isSent, !sendBuffered(passing: rest.extracting(step.passed)) { return (input.count, .done) }
            if began != 0 { noteTranscoding(since: began) }
            outcome = step.outcome
            if case .full = outcome {
                if isSent ? !upstreamIsFull : try pushOutput() { continue }
            } else if machine.upstream == .open, !isLast, !isSent {
                _ = try pushOutput()
            }
            break
        }
        if requestTranscoder.needsMemory { try payForRequest() }
        return (at, outcome)
    }

    private func noteTranscoding(since began: UInt64) {
        let now = EventLoop.preciseNow
        record.transcodeTime &+= now &- began
        record.transcodeMark = now
    }

    /// Sends what the conversion has written on its way. Returns false when the upstream can't take it now.
    func pushOutput() throws(Refusal) -> Bool {
        switch machine.destination {
        case .spool: if try spoolOutput() { return true }
        case .connection:
            if try bufferMore(isWhole: false) { return true }
            if try holdOutput() { return true }
        case .buffer: return false
        case .upstream: break
        case .nowhere:
            // Left where it is, a full output would be asked for room for ever.
            requestTranscoder.dropOutput()
            return true
        }
        guard machine.upstream == .open, !upstreamIsFull else { return false }
        return try sendBuffered()
    }

    func awaitNextTick() {
        guard !awaitsTick else { return }
        awaitsTick = true
        worker.loop.afterTick(self)
    }

    /// Goes on with what a tick was too short for.
    func transcodeAfterTick() throws(Refusal) {
        awaitsTick = false
        // The time since is others'.
        record.transcodeMark = 0
        if machine.request == .ending { return try finishRequest() }
        guard machine.request == .content, machine.pauses.contains(.tick), try transcodeRest() else { return }
        chargeRequest(leftover: 0)
        try handle(.resumed(.tick))
    }

    /// The upstream has room again: content that waits in front of the conversion goes on, and then the client's.
    func resumeContent() throws(Refusal) {
        // What was held goes before it, and asks again when it has gone out.
        guard spool == nil else { return }
        if requestTranscoder.coding != nil, try !transcodeRest() { return }
        guard !upstreamIsFull else {
            upstream?.expectProgress()
            return
        }
        chargeRequest(leftover: 0)
        try handle(.resumed(.upstream))
    }

    /// The upstream has room again, or a tick has begun: converts what was decoded and waits. Returns whether the client's next bytes
    /// can be taken; else the reason to wait takes the place of the one that is gone.
    private func transcodeRest() throws(Refusal) -> Bool {
        let (_, outcome) = try step(Span(), isLast: false)
        if !upstreamIsFull {
            switch outcome {
            case .done: return true
            case .full: break
            case .tick:
                try handle(.paused(.tick))
                try handle(.resumed(.upstream))
                awaitNextTick()
                return false
            case .held:
                try handle(.paused(.tick))
                try handle(.resumed(.upstream))
                try awaitPicture()
                return false
            }
        }
        try handle(.paused(.upstream))
        try handle(.resumed(.tick))
        upstream?.expectProgress()
        return false
    }

    // MARK: Pictures in converted content

    // They are made smaller on other threads, while the request waits.

    /// Has the picture made that the conversion holds, unless it is being made. `transcodeAfterTick` goes on with the request.
    func awaitPicture() throws(Refusal) {
        guard picture == nil, let file = requestTranscoder.takeFile() else { return }
        switch try PictureWork.begin(file) {
        case .settled(let settled):
            requestTranscoder.settleFile(settled)
            awaitNextTick()
        case .work(let work):
            let pending = PendingPicture(work) { [unowned self] in pictureMade($0) }
            let settings = snapshot?.settings.images ?? ImageSettings()
            switch worker.pictures.add(pending, settings, share: worker.share) {
            case .taken: picture = pending
            case .full:
                worker.counters.admission.overloaded += 1
                throw .overloaded
            case .noMemory:
                worker.memory.counters.refusedRequest += 1
                throw .memoryExhausted
            }
        }
    }

    /// The picture has come, or why there is none. The exchange that waited for it hasn't ended.
    private func pictureMade(_ result: Result<[UInt8], ImageFault>) {
        guard let pending = picture else { return }
        picture = nil
        catchingRefusal { () throws(Refusal) in
            requestTranscoder.settleFile(try pending.work.settled(result))
            try transcodeAfterTick()
        }
    }

    /// The exchange is over, or refused: nobody waits for the picture.
    func dropPicture() {
        guard let pending = picture else { return }
        picture = nil
        worker.pictures.drop(pending)
    }

    // MARK: The end of content

    /// Brings the request to its end as far as it goes: the rest of the conversion, a connection, the last bytes.
    func finishRequest() throws(Refusal) {
        if let verification {
            guard try endVerification(verification) else { return }
            if let misfit = verification.misfit { throw misfit }
            guard try sendVerified(verification) else { return }
        }
        if let conversion = requestTranscoder.conversion {
            guard try finishTranscoding() else { return }
            record.accounting = conversion.accounting
            if machine.upstream == .none {
                let holdsEnd = spool == nil ? route?.signing != nil && !requestTranscoder.writesQuery : needsSpool
                if holdsEnd { _ = try spoolOutput() }
                if let signing = route?.signing, try !sign(signing) { return }
                let count = (spool?.count ?? 0) + requestTranscoder.outputCount
                try connect(framing: requestTranscoder.writesQuery ? .none : .length(count))
            }
        } else if machine.upstream == .none {
            if let signing = route?.signing, try !sign(signing) { return }
            try connect(framing: spool.map { .length($0.count) } ?? .none)
        }
        if machine.upstream == .open { return try sendRest() }
        // What is left of the output waits here for the connection.
        recycleConversion()
    }

    /// Ends the conversion. Returns false where its output waits for room, or its input for the next tick.
    private func finishTranscoding() throws(Refusal) -> Bool {
        // The end of the last piece was a moment ago: one look at the clock serves both.
        let mark = record.transcodeMark
        let began = mark != 0 ? mark : worker.isMeasuring ? EventLoop.preciseNow : 0
        requestTranscoder.beginSlice()
        while true {
            let outcome = try requestTranscoder.finish()
            if requestTranscoder.isDecoderSpent {
                recycleDecoder()
                if requestCharge.bytes > 0 { chargeRequest(leftover: 0) }
            }
            if case .done = outcome {
                if began != 0 { noteTranscoding(since: began) }
                return true
            }
            if case .tick = outcome, requestTranscoder.needsMemory { try payForRequest() }
            guard try makeRoom(behind: outcome) else { return false }
        }
    }

    /// Makes room behind a slice of content that is held whole. Returns whether the next slice can be taken now, and otherwise sees to
    /// it that somebody asks again.
    func makeRoom(behind outcome: RequestTranscoder.Outcome) throws(Refusal) -> Bool {
        switch outcome {
        case .done: return true
        case .full:
            if try bufferMore(isWhole: true) { return true }
            if try pushOutput() { return true }
            upstream?.expectProgress()
        case .tick:
            if machine.upstream == .open { _ = try pushOutput() }
            awaitNextTick()
        case .held:
            if machine.upstream == .open { _ = try pushOutput() }
            try awaitPicture()
        }
        return false
    }

    /// Makes more room for output in front of the head, where the upstream wants a length if it can have one.
    func bufferMore(isWhole: Bool) throws(Refusal) -> Bool {
        guard machine.upstream == .none, let route, let snapshot,
            framing(of: route, snapshot).mode == .auto, requestTranscoder.bufferMore(isWhole: isWhole)
        else { return false }
        try payForRequest()
        return true
    }

    /// Gives the decoder of the request's codings back, which may be large: a slow answer must not keep it.
    func recycleDecoder() {
        guard let decoder = requestTranscoder.takeDecoder() else { return }
        count(decoder, .requestDecoded)
        worker.coders.recycle(decoder)
    }
}

extension MessageHead {
    /// Whether it has anything that `checkForwardingRules` looks at beyond framing and names.
    fileprivate var asksForChecks: Bool {
        isSecureTarget || wantsUpgrade || contains(.via) || contains(.maxForwards)
    }

    /// Replaces `text` by the value of a field. Returns false, and changes nothing, when there is none, or when it is
    /// empty or longer than `limit`.
    func copyValue(of field: KnownField, limit: Int, to text: inout [UInt8]) -> Bool {
        guard let index = first(field) else { return false }
        let value = value(index)
        guard !value.isEmpty, value.count <= limit else { return false }
        text.removeAll(keepingCapacity: true)
        text.append(contentsOf: value)
        return true
    }
}
