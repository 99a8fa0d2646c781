import HTTPWire
import Testing

extension ExchangeState {
    fileprivate mutating func take(_ event: Event) {
        let isTaken = apply(event)
        #expect(isTaken, "\(event)")
    }

    fileprivate mutating func refuse(_ event: Event) {
        let isTaken = apply(event)
        #expect(!isTaken, "\(event)")
    }
}

@Suite("Exchange state")
struct ExchangeStateTests {
    typealias Event = ExchangeState.Event
    static let framings: [BodyFraming] = [.none, .length(0), .length(5), .chunked, .untilClose]
    static let events: [Event] =
        [
            .requestStarted, .requestBodyReceived, .requestRefused, .downstreamEnded, .requestBodySent,
            .requestAbandoned,
            .responseBodyReceived, .responseRefused, .upstreamEnded, .upstreamReplaced, .responseBodySent, .responseCut,
            .next,
        ]
        + framings.flatMap { framing -> [Event] in
            [.requestHeadSent(framing)]
                + [true, false].flatMap { persists -> [Event] in
                    [
                        .requestHeadReceived(framing, persists: persists),
                        .responseHeadReceived(framing, persists: persists),
                        .responseHeadSent(framing, persists: persists, relayed: true),
                        .responseHeadSent(framing, persists: persists, relayed: false),
                    ]
                }
        }

    /// Every state that events can lead to.
    static let reachable: Set<ExchangeState> = {
        var known: Set<ExchangeState> = [ExchangeState()]
        var open = Array(known)
        while let state = open.popLast() {
            for event in events {
                var next = state
                if next.apply(event), known.insert(next).inserted { open.append(next) }
            }
        }
        return known
    }()

    @Test("in every reachable state every event is taken by the rules, or refused without a change")
    func allPairs() {
        #expect(Self.reachable.count > 300)
        var taken = 0
        for state in Self.reachable {
            for event in Self.events {
                var next = state
                guard next.apply(event) else {
                    #expect(next == state)
                    continue
                }
                taken += 1
                check(state, event, next)
            }
        }
        #expect(taken > 2000)
    }

    private func check(_ state: ExchangeState, _ event: Event, _ next: ExchangeState) {
        // A message whose source is not complete never becomes complete on the other side.
        if next.requestOut == .complete, state.requestOut == .body { #expect(next.requestIn == .complete) }
        if next.responseOut == .complete, state.responseOut == .body, next.isRelayed {
            #expect(next.responseIn == .complete)
        }
        // What is final stays so until the next exchange or another upstream connection.
        if event != .next {
            if state.requestIn == .complete || state.requestIn == .broken { #expect(next.requestIn == state.requestIn) }
            if state.responseOut == .complete || state.responseOut == .broken {
                #expect(next.responseOut == state.responseOut)
            }
            if state.downstreamReuse == .refused { #expect(next.downstreamReuse == .refused) }
            if event != .upstreamReplaced {
                if state.requestOut == .complete || state.requestOut == .broken {
                    #expect(next.requestOut == state.requestOut)
                }
                if state.responseIn == .complete || state.responseIn == .broken {
                    #expect(next.responseIn == state.responseIn)
                }
                if state.upstreamReuse == .refused { #expect(next.upstreamReuse == .refused) }
            }
        }
        // Reuse needs both directions whole.
        if next.mayReuseDownstream { #expect(next.requestIn == .complete && next.responseOut == .complete) }
        if next.mayReuseUpstream { #expect(next.requestOut == .complete && next.responseIn == .complete) }
        // A broken direction is never reused.
        if next.requestIn == .broken || next.responseOut == .broken { #expect(next.downstreamReuse == .refused) }
        if next.requestOut == .broken || next.responseIn == .broken { #expect(next.upstreamReuse == .refused) }
        switch event {
        case .downstreamEnded:
            #expect(next.downstreamReuse == .refused)
            #expect(next.requestIn == (state.requestIn == .complete ? .complete : .broken))
        case .upstreamEnded:
            #expect(next.upstreamReuse == .refused)
            #expect(state.isUpstreamEndAnError == (next.responseIn == .broken && state.responseIn != .broken))
        case .next: #expect(next == ExchangeState())
        case .upstreamReplaced:
            #expect(state.responseOut == .idle)
            #expect(next.responseIn == .idle && next.requestOut == .idle)
        default: break
        }
    }

    private func state(_ events: Event...) -> ExchangeState {
        var state = ExchangeState()
        for event in events { state.take(event) }
        return state
    }

    @Test("an exchange that goes well leaves both connections for the next one")
    func plain() {
        var exchange = state(
            .requestStarted, .requestHeadReceived(.length(5), persists: true), .requestHeadSent(.chunked),
            .requestBodyReceived, .requestBodySent, .responseHeadReceived(.chunked, persists: true),
            .responseHeadSent(.chunked, persists: true, relayed: true), .responseBodyReceived)
        #expect(exchange.mayReuseUpstream)
        #expect(!exchange.mayReuseDownstream)
        exchange.take(.responseBodySent)
        #expect(exchange.mayReuseDownstream)
        exchange.take(.next)
    }

    @Test("F13 an early answer is relayed while the upload runs, and nothing is reused until both ended")
    func earlyAnswer() {
        var exchange = state(
            .requestHeadReceived(.length(5), persists: true), .requestHeadSent(.length(5)),
            .responseHeadReceived(.length(0), persists: true),
            .responseHeadSent(.length(0), persists: true, relayed: true))
        #expect(!exchange.mayReuseUpstream)
        #expect(!exchange.mayReuseDownstream)
        exchange.refuse(.next)
        exchange.take(.requestBodyReceived)
        #expect(exchange.mayReuseDownstream)
        #expect(!exchange.mayReuseUpstream)
        exchange.take(.requestAbandoned)
        #expect(!exchange.mayReuseUpstream)
    }

    @Test("F14 a response that upstream cut is not completed downstream, but an answer of ours is")
    func cutResponse() {
        var relayed = state(
            .requestHeadReceived(.none, persists: true), .requestHeadSent(.none),
            .responseHeadReceived(.length(5), persists: true),
            .responseHeadSent(.chunked, persists: true, relayed: true), .upstreamEnded)
        relayed.refuse(.responseBodySent)
        relayed.take(.responseCut)
        #expect(!relayed.mayReuseDownstream)
        let own = state(
            .requestHeadReceived(.none, persists: true), .requestHeadSent(.none),
            .responseHeadReceived(.length(5), persists: true), .upstreamEnded,
            .responseHeadSent(.length(9), persists: true, relayed: false), .responseBodySent)
        #expect(own.mayReuseDownstream)
        #expect(!own.mayReuseUpstream)
    }

    @Test("F15 a request that the client cut is not completed upstream")
    func cutRequest() {
        var exchange = state(
            .requestHeadReceived(.chunked, persists: true), .requestHeadSent(.chunked), .downstreamEnded)
        exchange.refuse(.requestBodySent)
        exchange.take(.requestAbandoned)
        #expect(!exchange.mayReuseUpstream)
        #expect(!exchange.mayReuseDownstream)
    }

    @Test("F17 F18 whether an end is an error depends on what is under way")
    func ends() {
        #expect(!state().isDownstreamEndAnError)
        #expect(!state().isUpstreamEndAnError)
        #expect(state(.requestStarted).isDownstreamEndAnError)
        #expect(state(.requestHeadReceived(.chunked, persists: true)).isDownstreamEndAnError)
        let sent = state(.requestHeadReceived(.none, persists: true), .requestHeadSent(.none))
        #expect(!sent.isDownstreamEndAnError)
        #expect(sent.isUpstreamEndAnError)
        var untilClose = sent
        untilClose.take(.responseHeadReceived(.untilClose, persists: true))
        #expect(!untilClose.isUpstreamEndAnError)
        untilClose.take(.upstreamEnded)
        #expect(untilClose.responseIn == .complete)
        #expect(!untilClose.mayReuseUpstream)
    }

    @Test("F19 F20 another upstream connection may take a request only while nothing was answered")
    func replaced() {
        var exchange = state(
            .requestHeadReceived(.none, persists: true), .requestHeadSent(.none), .upstreamEnded, .upstreamReplaced,
            .requestHeadSent(.none), .responseHeadReceived(.none, persists: true))
        #expect(exchange.mayReuseUpstream)
        exchange.refuse(.upstreamReplaced)
    }
}
