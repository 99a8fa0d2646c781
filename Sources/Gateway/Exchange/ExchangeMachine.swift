/// What one exchange, a request and its response, does next: a value that takes events and returns actions. It knows no
/// connection, no clock and no byte; the driver tells it what happened, performs what it returns, and asks it where bytes go.
/// HTTP/1, HTTP/2 and Envoy's ext_proc can each be such a driver.
///
/// Everything that affects these states stands in this file. An exchange has three parts, each with a state of its own:
///
/// | request | means | next |
/// |---|---|---|
/// | `head` | the head is read | `content` |
/// | `content` | the request is routed and checked; then content arrives | `ending`, `discarding`, `discarded` |
/// | `ending` | content is whole here; some of it is still to be converted or sent | `sent`, `discarded` |
/// | `sent` | the upstream's connection has all of it | `discarded` |
/// | `discarding` | it was answered here; the short rest of its content is read and dropped | `discarded` |
/// | `discarded` | nothing of it is left to read, and no one wants it: it was answered here, or behind `refused` | |
///
/// | upstream | means | next |
/// |---|---|---|
/// | `none` | not asked for: nothing is there to be sent yet | `connecting`, `gone` |
/// | `connecting` | a connection is made or waited for | `open`, `gone` |
/// | `open` | a connection is the exchange's | `connecting` (the request is sent again), `gone` |
/// | `gone` | given back, closed, or not needed | |
///
/// | response | means | next |
/// |---|---|---|
/// | `awaited` | no final head has come | `buffering`, `streaming`, `complete` |
/// | `buffering` | its content is converted as it comes, or looked at; the client has nothing of it | `buffered`, `streaming`, `complete` |
/// | `buffered` | its content has come whole; the conversion goes on | `streaming`, `complete` |
/// | `streaming` | its head is written, and content follows | `complete`; `awaited`, where the head can be taken back |
/// | `complete` | all of it is written, or of an answer in its place | |
///
/// Three rules hold whatever comes:
/// - The client reads one final response at most, and what was cut short never looks whole to it (docs/rules.md F14).
/// - The upstream gets each byte of the content once and in order on the connection whose response is used; on another only
///   where the request may be sent again (F20, F21).
/// - The exchange ends once: with one action of `endAndKeepAlive`, `endAndClose`, `endAndLinger`, `cut` and `beginTunnel`; or
///   without one where the client has left, or what the request came by forwards it itself: the driver then gives up both sides
///   and asks for nothing more.
///
/// A refusal is thrown, here and in the driver, and caught where the driver was called; there it becomes the event `refused`.
public struct ExchangeMachine: Equatable, Sendable {
    public enum Request: Equatable, Sendable, CaseIterable { case head, content, ending, sent, discarding, discarded }
    public enum Upstream: Equatable, Sendable, CaseIterable { case none, connecting, open, gone }
    public enum Response: Equatable, Sendable, CaseIterable { case awaited, buffering, buffered, streaming, complete }

    /// `Expect: 100-continue` that the upstream answers (docs/rules.md F11).
    public enum Expectation: Equatable, Sendable, CaseIterable {
        /// Nothing is waited for: the client didn't ask, was told to go on, or sends without being told.
        case settled
        /// The upstream is asked, and the client waits.
        case asked
        /// The upstream has answered finally and gets no more of the content: its answer came instead of a 100, or the client has
        /// stopped to send.
        case refused
    }

    /// Why no content is read for now. Reading goes on when no reason is left.
    public struct Pauses: OptionSet, Sendable {
        public let rawValue: UInt8
        @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// The upstream can't take more.
        @inlinable public static var upstream: Pauses { Pauses(rawValue: 1) }
        /// The route's rate allows no more.
        @inlinable public static var rate: Pauses { Pauses(rawValue: 2) }
        /// Memory for bodies is short.
        @inlinable public static var memory: Pauses { Pauses(rawValue: 4) }
        /// One tick was too short for what the bytes that have come are decoded to.
        @inlinable public static var tick: Pauses { Pauses(rawValue: 8) }
    }

    /// What the head, the route and its upstream say before content is taken.
    public struct Plan: Equatable, Sendable {
        /// Whether content follows the head.
        public var hasContent = false
        /// Whether the request is converted: its connection is asked for when there is output.
        public var isConverted = false
        /// Whether content is held by the driver until it is whole and known to be its sender's: the upstream hears nothing before.
        public var isVerified = false
        /// Whether content of unknown length is held until it is whole, because the upstream wants its length.
        public var isSpooled = false
        /// Whether the client waits for a 100.
        public var expectsContinue = false
        /// Whether the upstream is to say it.
        public var relaysExpectation = false
        /// Whether the client takes interim responses: HTTP/1.0 doesn't.
        public var takesInterim = true
        /// Whether there is memory for content.
        public var hasMemory = true

        public init() {}
    }

    /// What is left of a request's content when it is answered here.
    public enum Rest: Equatable, Sendable, CaseIterable {
        case nothing
        /// Little enough to be read and dropped, so that the connection goes on.
        case short
        /// More than that, of unknown length, or held back by a client that waits for a 100.
        case long
    }

    public enum Event: Equatable, Sendable {
        /// The head was read. `persists`: the client's connection may serve another request after this one.
        case headRead(persists: Bool)
        /// The request was routed and checked: it goes on.
        case began(Plan)
        /// There is memory for content, where the plan had none.
        case memoryFreed
        /// Content is about to be taken.
        case contentArrived
        /// Content can't be taken on, for this reason.
        case paused(Pauses)
        /// The reason is gone.
        case resumed(Pauses)
        /// Content has come to its end.
        case contentEnded
        /// No more of the content is waited for, of a request that is being answered: a client stops to send when it sees an early
        /// answer that ends its connection (RFC 9112 §9.5).
        case contentGivenUp
        /// A connection is asked for; there may be one at once.
        case connecting
        /// There is one: `atOnce` where that was known inside of the call that asked, else after a wait, however short.
        case connected(atOnce: Bool)
        /// The upstream has room again; whether all that was written has gone out.
        case upstreamDrained(isEmpty: Bool)
        /// The request's last bytes were written; whether all have gone out.
        case requestWritten(isEmpty: Bool)
        /// The upstream has said 100, or nothing for too long, which means as much.
        case continued
        /// Another interim response.
        case interim
        /// The request is sent again on another connection: the present one is given up.
        case retried
        /// The head of the final response has come and will be used.
        case responseHead
        /// It is forwarded; whether only the end of the client's connection will end it, and whether another request may follow.
        case responseBegan(untilClose: Bool, mayPersist: Bool)
        /// Its content is converted.
        case responseBuffered
        /// The content of a response that is converted has come whole. `isEmpty`: all that was written to its connection has gone out.
        case responseArrived(isEmpty: Bool)
        /// The conversion of a response that has come whole is done with, in an error, and nothing on its connection keeps that from
        /// serving others.
        case responseRead
        /// All of the response was handed on. `isReusable`: its connection may serve another request; `isEmpty`: all that was
        /// written to it has gone out.
        case responseEnded(isReusable: Bool, isEmpty: Bool)
        /// The head of a response, of which nothing has gone out, is taken back.
        case responseWithdrawn
        /// The upstream's connection failed, or ended before the response did.
        case upstreamFailed
        /// The upstream didn't take the request, didn't answer, or stopped, within its time. Where all that was awaited is a 100, which
        /// is advice, it is `continued` instead.
        case upstreamTimedOut
        /// The upstream has switched protocols: both connections leave HTTP.
        case switched
        /// The request, or its response, can't go on. `isFraming`: where the next request would begin can't be known.
        case refused(rest: Rest, isFraming: Bool)
        /// A response that has begun can't go on.
        case responseFailed
        /// The client has room again for its response.
        case downstreamDrained
        /// The client has ended its side behind a whole request.
        case clientHalfClosed
        /// The connection must not serve another request, for a reason outside of this exchange.
        case lastRequest
    }

    /// One thing that the driver does. Actions of one event are performed in the order in which they stand here.
    public enum Action: UInt8, CaseIterable, Sendable {
        /// The request waits in the queue for memory.
        case queueForMemory
        case beginSpool
        /// The head is written, and a connection asked for: `connecting`, perhaps `connected` at once.
        case connect
        /// What was sent on another connection is sent on this one.
        case sendRetryBuffer
        /// Content that waits is sent, the head in front where it is still here.
        case sendBuffered
        /// The head is sent, if nothing has taken it along.
        case sendHead
        /// The rest is converted and sent, as far as the upstream takes it: `connect`, `requestWritten`.
        case finishRequest
        /// As `finishRequest`, unless the upstream has no room.
        case resumeFinish
        /// Content that was decoded and waits is converted; then, if the upstream has room: `resumed(.upstream)`.
        case resumeContent
        /// Memory of the output goes to the next exchange.
        case releaseOutput
        /// Nothing is sent again any more.
        case dropRetryBuffer
        /// Spool and memory of the request, which is sent and will not be again, are given back.
        case releaseRequest
        /// Sets the upstream's time for its 100.
        case startContinueTimer
        /// Sets its time for the first byte of its response.
        case startResponseTimer
        /// Sets its time for taking bytes.
        case startProgressTimer
        case stopUpstreamTimer
        /// `upstreamDrained` is told when all that was written has gone out.
        case awaitEmpty
        /// The connection serves no other request.
        case forbidReuse
        /// The interim response goes to the client.
        case sendInterim
        /// A 100 goes to the client.
        case sendContinue
        case pauseReading
        /// Sets the client's time for content.
        case startContentTimer
        case stopContentTimer
        case resumeReading
        /// The response is read on.
        case resumeUpstream
        /// The refusal is answered.
        case answer
        /// The end of the response is written.
        case finishResponse
        /// The connection is closed, or the wait for one given up.
        case closeUpstream
        /// The connection is given back.
        case returnUpstream
        /// The exchange is over, and its connections leave HTTP.
        case beginTunnel
        /// The rest of the content is read and dropped, for a short time.
        case awaitDiscard
        /// The response is cut so that it can't look whole, and the exchange is over: the driver gives up the upstream's connection, too.
        case cut
        /// The exchange is over, and the connection serves on.
        case endAndKeepAlive
        /// The exchange is over, and so is the connection when its answer has gone out; all of the request was read.
        case endAndClose
        /// As `endAndClose`, with some of the request unread, which is thrown away for a while so that no reset takes the answer.
        case endAndLinger
    }

    /// Where content goes that arrives now.
    public enum Destination: Equatable, Sendable {
        /// Nowhere yet: a connection is to be asked for first.
        case connection
        /// Into the buffer, until there is a connection.
        case buffer
        case spool
        case upstream
        /// Dropped: it was answered here, or the upstream has left or doesn't want it.
        case nowhere
    }

    public private(set) var request: Request
    public private(set) var upstream: Upstream
    public private(set) var response: Response
    public private(set) var expectation: Expectation
    public private(set) var pauses: Pauses
    public private(set) var plan: Plan
    /// Whether the request was routed and checked.
    public private(set) var hasBegun: Bool
    /// Whether the client's connection goes on behind this exchange.
    public private(set) var persists: Bool
    /// Whether only the end of the client's connection ends the response, so that a cut must be a reset.
    public private(set) var isUntilClose = false
    /// How often the request was sent again.
    public private(set) var retries: Int
    /// Whether the client has an interim response of the upstream's: what follows must be that one's, too.
    public private(set) var interimWasSent = false
    /// Whether bytes were written to the present connection.
    public private(set) var hasWritten = false
    /// Whether the upstream's response ended before its connection had taken all of the request. What it reads of that from then on
    /// it may take for its next request, whose answer would be another client's: such a connection is closed (docs/rules.md F13).
    public private(set) var isAnsweredEarly: Bool
    /// Whether an action has ended the exchange.
    public private(set) var isOver = false

    /// A machine in the given state; without one, that of an exchange of which nothing has come.
    public init(
        request: Request = .head, upstream: Upstream = .none, response: Response = .awaited,
        expectation: Expectation = .settled, pauses: Pauses = [], plan: Plan = Plan(), hasBegun: Bool = false,
        persists: Bool = false, retries: Int = 0, isAnsweredEarly: Bool = false
    ) {
        self.request = request
        self.upstream = upstream
        self.response = response
        self.expectation = expectation
        self.pauses = pauses
        self.plan = plan
        self.hasBegun = hasBegun
        self.persists = persists
        self.retries = retries
        self.isAnsweredEarly = isAnsweredEarly
    }

    // MARK: Questions

    /// Whether no content is read for now.
    @inlinable public var isPaused: Bool { pauses.rawValue != 0 }
    /// Whether bytes of the client's are this request's, and may be taken now.
    @inlinable public var takesContent: Bool { (request == .content || request == .discarding) && !isPaused }
    /// Whether the client has sent its whole request.
    @inlinable public var isRequestRead: Bool { request == .ending || request == .sent || request == .discarded }
    /// Whether nothing has been written of a response or an answer yet.
    @inlinable public var awaitsResponse: Bool {
        response == .awaited || response == .buffering || response == .buffered
    }

    @inlinable public var destination: Destination {
        if expectation == .refused || request == .discarding { return .nowhere }
        return switch upstream {
        case .none: plan.isSpooled ? .spool : .connection
        case .connecting: .buffer
        case .open: .upstream
        case .gone: .nowhere
        }
    }

    /// Content of which nothing has gone to an upstream yet is held from here on until it is whole.
    package mutating func holdContent() {
        assert(destination == .connection, "content is held that goes to an upstream")
        plan.isSpooled = true
    }

    /// Held content, of which nothing has gone to an upstream, goes on without its end: more of it came than can be held.
    package mutating func releaseContent() {
        assert(destination == .spool, "content is let go that isn't held")
        plan.isSpooled = false
    }

    /// Whether the request could be sent again, as far as this exchange knows.
    @inlinable public var mayRetry: Bool {
        response == .awaited && upstream == .open
            && (request == .content || request == .ending || request == .sent)
    }

    // MARK: Events

    /// Takes an event and returns what is to be done. Throws the refusal that the event amounts to; the driver hands it back as
    /// `refused`. An event that can't happen in the present state (`canHappen`) stops a debug build, as all tests, sanitizers and
    /// faults run; the check would cost 2 % of a plain request.
    package mutating func handle(_ event: Event) throws(Refusal) -> Actions {
        assert(canHappen(event), "an exchange got an event that can't happen in its state")
        switch event {
        case .headRead(let persists):
            request = .content
            self.persists = persists
            return []
        case .began(let plan): return begin(plan)
        case .memoryFreed:
            pauses.remove(.memory)
            return startContent().union([.sendHead, .resumeReading])
        case .contentArrived:
            guard expectation == .asked else { return [] }
            expectation = .settled
            return .stopUpstreamTimer
        case .paused(let reason): return pause(reason)
        case .resumed(let reason): return resume(reason)
        case .contentEnded: return endContent()
        case .contentGivenUp:
            persists = false
            expectation = .refused
            return [.forbidReuse, .stopContentTimer]
        case .connecting:
            upstream = .connecting
            return []
        case .connected(let atOnce): return connected(atOnce: atOnce)
        case .upstreamDrained(let isEmpty):
            return response == .complete && request == .sent ? finishUpload(isEmpty: isEmpty) : goOn()
        case .requestWritten(let isEmpty):
            request = .sent
            guard response != .awaited else { return [.releaseOutput, .startResponseTimer] }
            let released: Actions = [.releaseOutput, .releaseRequest]
            return response == .complete ? released.union(finishUpload(isEmpty: isEmpty)) : released
        case .continued: return relayContinue()
        case .interim:
            guard plan.takesInterim, response == .awaited else { return [] }
            interimWasSent = true
            return .sendInterim
        case .retried:
            retries += 1
            hasWritten = false
            upstream = .connecting
            return []
        case .responseHead: return takeResponse()
        case .responseBegan(let untilClose, let mayPersist):
            response = .streaming
            // An answer before the request's end: the rest of the upload isn't wanted, so the connection ends with it.
            if !isRequestRead || !mayPersist || untilClose { persists = false }
            isUntilClose = untilClose
            return []
        case .responseBuffered:
            response = .buffering
            return []
        case .responseArrived(let isEmpty):
            response = .buffered
            noteAnswered(isEmpty: isEmpty)
            return []
        case .responseRead:
            guard request == .sent, upstream == .open else { return [] }
            return releaseUpstream()
        case .responseEnded(let isReusable, let isEmpty):
            response = .complete
            noteAnswered(isEmpty: isEmpty)
            // A connection that may still wait for refused content serves no other request.
            guard !isReusable || expectation == .refused, upstream == .open else {
                return Actions.finishResponse.union(finishUpload(isEmpty: isEmpty))
            }
            upstream = .gone
            return Actions([.finishResponse, .closeUpstream]).union(endIfOver())
        case .responseWithdrawn:
            response = .awaited
            isUntilClose = false
            return []
        case .upstreamFailed: return try failUpstream()
        case .upstreamTimedOut:
            switch response {
            // Its answer is there; what it doesn't take of the request is wanted by no one.
            case .complete: return giveUpUpstream().union(endIfOver())
            case .buffered: return giveUpUpstream()
            case .streaming: return cut()
            case .awaited, .buffering: throw .upstreamTimeout
            }
        case .switched:
            upstream = .gone
            response = .complete
            persists = false
            isOver = true
            return .beginTunnel
        case .refused(let rest, let isFraming): return refuse(rest, isFraming: isFraming)
        case .responseFailed: return cut()
        case .downstreamDrained:
            // The client's time to read has taken the place of that for its content, where content is owed.
            let isRead = awaitsContent && expectation == .settled
            return (response == .streaming ? Actions.resumeUpstream : []).union(isRead ? .startContentTimer : [])
        case .clientHalfClosed, .lastRequest:
            persists = false
            return []
        }
    }

    /// Whether an event can happen in the present state.
    public func canHappen(_ event: Event) -> Bool {
        if isOver { return false }
        switch event {
        case .headRead: return request == .head && response == .awaited
        case .began: return request == .content && response == .awaited && !hasBegun
        case .memoryFreed: return request == .content && pauses == .memory
        case .contentArrived, .contentEnded: return request == .content && hasBegun || request == .discarding
        case .contentGivenUp: return request == .content && response == .streaming
        case .paused, .resumed, .downstreamDrained, .clientHalfClosed, .lastRequest, .refused: return true
        case .connecting:
            return upstream == .none && response == .awaited && !pauses.contains(.memory)
                && (request == .content || request == .ending)
        // What was sent on another connection, and what waits, takes the way behind a wait.
        case .connected(let atOnce): return upstream == .connecting && response == .awaited && !(atOnce && retries > 0)
        case .upstreamDrained, .upstreamFailed: return upstream == .open
        case .upstreamTimedOut: return upstream == .open && expectation != .asked
        case .requestWritten: return request == .ending && upstream == .open
        case .continued: return upstream == .open || expectation != .asked && request != .head
        case .interim: return upstream == .open
        case .retried: return mayRetry
        case .responseHead, .responseBuffered: return response == .awaited && upstream == .open
        case .responseBegan: return awaitsResponse && (upstream == .open || response == .buffered)
        case .responseArrived: return response == .buffering && upstream == .open
        case .responseRead: return response == .buffered
        case .responseEnded, .responseWithdrawn, .responseFailed: return response == .streaming
        case .switched: return response == .awaited && request == .sent && upstream == .open
        }
    }

    /// Bytes go to the present connection: from here on the upstream may act on the request.
    public mutating func noteWritten() { hasWritten = true }

    // MARK: The request's way

    /// Whether content is read to be sent on, and nothing keeps it from coming.
    private var awaitsContent: Bool { request == .content && !isPaused }

    private mutating func begin(_ plan: Plan) -> Actions {
        self.plan = plan
        hasBegun = true
        guard plan.hasContent else {
            request = .ending
            return [.finishRequest, .stopContentTimer]
        }
        guard plan.hasMemory else {
            pauses = .memory
            return [.queueForMemory, .pauseReading, .stopContentTimer]
        }
        return startContent()
    }

    private mutating func startContent() -> Actions {
        let first: Actions = plan.isConverted || plan.isVerified ? [] : plan.isSpooled ? .beginSpool : .connect
        if plan.expectsContinue, plan.relaysExpectation, first == .connect {
            expectation = .asked
            return first
        }
        return first.union(plan.expectsContinue ? [.sendContinue, .startContentTimer] : .startContentTimer)
    }

    private mutating func endContent() -> Actions {
        pauses = []
        guard request == .content, expectation != .refused else {
            request = .discarded
            return Actions.stopContentTimer.union(endIfOver())
        }
        request = .ending
        // There was none: the client waits for no 100 any more, and the upstream's time is that for its response.
        if expectation == .asked { expectation = .settled }
        return [.finishRequest, .stopContentTimer]
    }

    private mutating func pause(_ reason: Pauses) -> Actions {
        let progress: Actions = reason == .upstream ? .startProgressTimer : []
        guard request == .content else { return request == .ending ? progress : [] }
        guard !pauses.contains(reason) else { return [] }
        pauses.insert(reason)
        return progress.union([.pauseReading, .stopContentTimer])
    }

    private mutating func resume(_ reason: Pauses) -> Actions {
        guard pauses.contains(reason) else { return [] }
        pauses.remove(reason)
        guard awaitsContent else { return [] }
        return expectation == .refused ? .resumeReading : [.startContentTimer, .resumeReading]
    }

    private mutating func connected(atOnce: Bool) -> Actions {
        upstream = .open
        hasWritten = false
        // The head goes out with what is behind it in the same tick.
        if atOnce { return request == .content && expectation == .asked ? .startContinueTimer : [] }
        let again: Actions = retries > 0 ? .sendRetryBuffer : []
        return again.union(request == .sent ? .startResponseTimer : goOn())
    }

    /// The upstream has room: what waits is sent, and the request goes on.
    private func goOn() -> Actions {
        guard upstream == .open else { return [] }
        switch request {
        case .content:
            var actions: Actions = [.sendBuffered, .sendHead]
            if expectation == .asked { actions.formUnion(.startContinueTimer) }
            if pauses.contains(.upstream) { actions.formUnion(.resumeContent) }
            return actions
        case .ending: return [.sendBuffered, .resumeFinish]
        case .head, .sent, .discarding, .discarded: return []
        }
    }

    private mutating func relayContinue() -> Actions {
        guard expectation == .asked else { return [] }
        expectation = .settled
        return Actions([.stopUpstreamTimer, .sendContinue]).union(awaitsContent ? .startContentTimer : [])
    }

    // MARK: The response's way

    private mutating func takeResponse() -> Actions {
        var actions: Actions = .dropRetryBuffer
        if request == .sent { actions.formUnion(.releaseRequest) }
        if expectation == .asked {
            // Whether it waits for the content all the same can't be known (CVE-2024-24791).
            expectation = .refused
            actions.formUnion(.forbidReuse)
        }
        return actions
    }

    /// Behind the response: the upstream gets what it still takes of the request, and then the exchange ends.
    private mutating func finishUpload(isEmpty: Bool) -> Actions {
        guard upstream == .open else { return endIfOver() }
        guard request == .sent else {
            return pauses.contains(.upstream) || request == .ending ? .startProgressTimer : []
        }
        guard isEmpty else { return [.awaitEmpty, .startProgressTimer] }
        return releaseUpstream().union(endIfOver())
    }

    /// The upstream's message has ended, or what was made of it, which may have ended long before.
    private mutating func noteAnswered(isEmpty: Bool) {
        if request != .sent || !isEmpty { isAnsweredEarly = true }
    }

    private mutating func releaseUpstream() -> Actions {
        upstream = .gone
        return isAnsweredEarly ? .closeUpstream : .returnUpstream
    }

    private mutating func failUpstream() throws(Refusal) -> Actions {
        upstream = .gone
        switch response {
        // It answered and left: the client has its answer, and what it still sends is wanted by no one.
        case .complete: return endIfOver()
        case .buffered: return []
        case .buffering: throw .upstreamBodyCut
        case .streaming: return cut()
        case .awaited: throw .upstreamClosed
        }
    }

    // MARK: Ends

    private mutating func refuse(_ rest: Rest, isFraming: Bool) -> Actions {
        switch response {
        case .complete:
            // The response went through whole, and the rest of the upload can't: only that is cut.
            persists = false
            return giveUpUpstream().union(endIfOver())
        case .streaming: return cut()
        case .awaited, .buffering, .buffered:
            if isFraming { persists = false }
            pauses = []
            switch request {
            case .ending, .sent, .discarded: request = .discarded
            case .content where persists && rest != .long: request = rest == .nothing ? .discarded : .discarding
            case .head, .content, .discarding: persists = false
            }
            response = .complete
            return giveUpUpstream().union([.answer, .stopContentTimer]).union(endIfOver())
        }
    }

    private mutating func cut() -> Actions {
        response = .complete
        isOver = true
        return .cut
    }

    private mutating func giveUpUpstream() -> Actions {
        let actions: Actions = upstream == .open || upstream == .connecting ? .closeUpstream : []
        upstream = .gone
        return actions
    }

    /// Ends the exchange when both halves have ended.
    private mutating func endIfOver() -> Actions {
        guard response == .complete else { return [] }
        switch request {
        // All of it was read here, whether or not the upstream has it.
        case .ending, .sent, .discarded: return end(persists ? .endAndKeepAlive : .endAndClose)
        // A few bytes are still to be read and dropped before the next request begins.
        case .discarding where persists: return [.awaitDiscard, .resumeReading]
        case .head, .content, .discarding:
            persists = false
            return end(.endAndLinger)
        }
    }

    private mutating func end(_ action: Actions) -> Actions {
        isOver = true
        return giveUpUpstream().union(action)
    }
}

extension ExchangeMachine {
    /// The actions of one event, in the order in which `Action` has them. A set of bits: no event allocates.
    public struct Actions: OptionSet, Sendable, CustomStringConvertible {
        public let rawValue: UInt64

        @inlinable public init(rawValue: UInt64) { self.rawValue = rawValue }
        @inlinable init(_ action: Action) { rawValue = 1 << UInt64(action.rawValue) }

        @inlinable public static var queueForMemory: Actions { Actions(.queueForMemory) }
        @inlinable public static var beginSpool: Actions { Actions(.beginSpool) }
        @inlinable public static var connect: Actions { Actions(.connect) }
        @inlinable public static var sendRetryBuffer: Actions { Actions(.sendRetryBuffer) }
        @inlinable public static var sendBuffered: Actions { Actions(.sendBuffered) }
        @inlinable public static var sendHead: Actions { Actions(.sendHead) }
        @inlinable public static var finishRequest: Actions { Actions(.finishRequest) }
        @inlinable public static var resumeFinish: Actions { Actions(.resumeFinish) }
        @inlinable public static var resumeContent: Actions { Actions(.resumeContent) }
        @inlinable public static var releaseOutput: Actions { Actions(.releaseOutput) }
        @inlinable public static var dropRetryBuffer: Actions { Actions(.dropRetryBuffer) }
        @inlinable public static var releaseRequest: Actions { Actions(.releaseRequest) }
        @inlinable public static var startContinueTimer: Actions { Actions(.startContinueTimer) }
        @inlinable public static var startResponseTimer: Actions { Actions(.startResponseTimer) }
        @inlinable public static var startProgressTimer: Actions { Actions(.startProgressTimer) }
        @inlinable public static var stopUpstreamTimer: Actions { Actions(.stopUpstreamTimer) }
        @inlinable public static var awaitEmpty: Actions { Actions(.awaitEmpty) }
        @inlinable public static var forbidReuse: Actions { Actions(.forbidReuse) }
        @inlinable public static var sendInterim: Actions { Actions(.sendInterim) }
        @inlinable public static var sendContinue: Actions { Actions(.sendContinue) }
        @inlinable public static var pauseReading: Actions { Actions(.pauseReading) }
        @inlinable public static var startContentTimer: Actions { Actions(.startContentTimer) }
        @inlinable public static var stopContentTimer: Actions { Actions(.stopContentTimer) }
        @inlinable public static var resumeReading: Actions { Actions(.resumeReading) }
        @inlinable public static var resumeUpstream: Actions { Actions(.resumeUpstream) }
        @inlinable public static var answer: Actions { Actions(.answer) }
        @inlinable public static var finishResponse: Actions { Actions(.finishResponse) }
        @inlinable public static var closeUpstream: Actions { Actions(.closeUpstream) }
        @inlinable public static var returnUpstream: Actions { Actions(.returnUpstream) }
        @inlinable public static var beginTunnel: Actions { Actions(.beginTunnel) }
        @inlinable public static var awaitDiscard: Actions { Actions(.awaitDiscard) }
        @inlinable public static var cut: Actions { Actions(.cut) }
        @inlinable public static var endAndKeepAlive: Actions { Actions(.endAndKeepAlive) }
        @inlinable public static var endAndClose: Actions { Actions(.endAndClose) }
        @inlinable public static var endAndLinger: Actions { Actions(.endAndLinger) }

        /// The actions one by one.
        @inlinable public var inOrder: InOrder { InOrder(left: rawValue) }

        public struct InOrder: Sequence, IteratorProtocol {
            @usableFromInline var left: UInt64

            @inlinable init(left: UInt64) { self.left = left }

            @inlinable public mutating func next() -> Action? {
                guard left != 0 else { return nil }
                let bit = left.trailingZeroBitCount
                left &= left &- 1
                // SAFETY: an action is one byte, its number from 0 on, and only numbers of actions are in the set.
                return unsafe unsafeBitCast(UInt8(truncatingIfNeeded: bit), to: Action.self)
            }
        }

        public var description: String { "[" + inOrder.map { "\($0)" }.joined(separator: ", ") + "]" }
    }
}

// What states are compared by, written out so that other targets inline it: each request asks dozens of times.

extension ExchangeMachine.Request {
    @inlinable var number: UInt8 {
        switch self {
        case .head: 0
        case .content: 1
        case .ending: 2
        case .sent: 3
        case .discarding: 4
        case .discarded: 5
        }
    }

    @inlinable public static func == (one: Self, other: Self) -> Bool { one.number == other.number }
}

extension ExchangeMachine.Upstream {
    @inlinable var number: UInt8 {
        switch self {
        case .none: 0
        case .connecting: 1
        case .open: 2
        case .gone: 3
        }
    }

    @inlinable public static func == (one: Self, other: Self) -> Bool { one.number == other.number }
}

extension ExchangeMachine.Response {
    @inlinable var number: UInt8 {
        switch self {
        case .awaited: 0
        case .buffering: 1
        case .buffered: 2
        case .streaming: 3
        case .complete: 4
        }
    }

    @inlinable public static func == (one: Self, other: Self) -> Bool { one.number == other.number }
}

extension ExchangeMachine.Expectation {
    @inlinable var number: UInt8 {
        switch self {
        case .settled: 0
        case .asked: 1
        case .refused: 2
        }
    }

    @inlinable public static func == (one: Self, other: Self) -> Bool { one.number == other.number }
}
