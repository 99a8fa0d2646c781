internal import Gateway
internal import HTTPWire
internal import Octets

/// An exchange's place in a trace: what it continues, and the ids of its own spans. The exchange keeps it for the next one.
final class ExchangeTrace {
    /// Whether what follows is the present exchange's.
    private(set) var isBegun = false
    /// The trace with its flags. Its span is the one of the request to the upstream, which the upstream hears of as its parent.
    private(set) var context = TraceParent(high: 0, low: 0, span: 0, flags: 0)
    /// The span that the client's `traceparent` names; 0: the trace begins here.
    private(set) var parent: UInt64 = 0
    /// The span of the exchange.
    private(set) var server: UInt64 = 0
    /// Whether the upstream was told of the request's span.
    private(set) var wasTold = false
    /// The code of the problem that we answered with.
    var refusal: String?
    /// The status of the upstream's response; 0: none came.
    var upstreamStatus = 0

    var isSampled: Bool { context.isSampled }

    /// Continues the trace of `head`, or begins one.
    func begin(
        _ head: borrowing MessageHead, follows: Bool, ratio: TraceRatio, ids: inout TraceIDGenerator
    ) {
        isBegun = true
        if follows, head.hasFields, head.contains(.traceparent), let parent = TraceParent(of: head) {
            self.parent = parent.span
            context = parent
            guard parent.isSampled else { return }
        } else {
            parent = 0
            context.high = ids.nextHigh()
            context.low = ids.next()
            context.flags = ratio.takes(context.low) ? TraceParent.sampled : 0
        }
        context.span = ids.next()
        if isSampled { server = ids.next() }
    }

    /// What of the request's head doesn't go on. A trace that is followed and not recorded passes as it came: its parent stays the
    /// last one that anybody will find. What `tracestate` says is of the trace that came with it.
    var replacedFields: KnownFieldSet {
        if parent == 0 { return [.traceparent, .tracestate] }
        return isSampled ? [.traceparent] : []
    }

    /// Appends the field line that tells the upstream of its parent, where `replacedFields` has taken it away.
    func appendParent(to output: inout OutputBuffer) {
        guard parent == 0 || isSampled else { return }
        wasTold = true
        output.append("traceparent: ")
        context.append(to: &output)
        output.append("\r\n")
    }

    /// Forgets the exchange.
    func reset() {
        isBegun = false
        wasTold = false
        refusal = nil
        upstreamStatus = 0
    }
}

extension Exchange {
    /// Its place in a trace, decided on the first time that it is asked for. Where the worker makes no spans it is nobody's.
    @inline(never)
    @discardableResult
    func beginTrace() -> ExchangeTrace {
        let trace = trace ?? ExchangeTrace()
        self.trace = trace
        guard !trace.isBegun else { return trace }
        watchers.insert(.trace)
        worker.tracer?.begin(trace, request)
        return trace
    }

    /// Forgets its place in a trace.
    @inline(never)
    func endTrace() { trace?.reset() }
}
