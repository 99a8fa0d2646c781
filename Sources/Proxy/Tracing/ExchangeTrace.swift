internal import Gateway
internal import HTTPWire
internal import Octets

/// An exchange's place in a trace: what it continues, and the ids of its own spans. The exchange keeps it for the next one.
///
/// SAFETY of `@exclusivity(unchecked)`: one thread uses it, and nothing that is called while such a property is changed comes back to it
/// (docs/decisions/0007).
final class ExchangeTrace {
    /// Whether what follows is the present exchange's.
    @safe @exclusivity(unchecked) private(set) var isBegun = false
    /// The trace with its flags. Its span is the one of the request to the upstream, which the upstream hears of as its parent.
    @safe @exclusivity(unchecked) private(set) var context = TraceParent(high: 0, low: 0, span: 0, flags: 0)
    /// The span that the client's `traceparent` names; 0: the trace begins here.
    @safe @exclusivity(unchecked) private(set) var parent: UInt64 = 0
    /// The span of the exchange.
    @safe @exclusivity(unchecked) private(set) var server: UInt64 = 0
    /// Whether the upstream was told of the request's span.
    @safe @exclusivity(unchecked) private(set) var wasTold = false
    /// The code of the problem that we answered with.
    @safe @exclusivity(unchecked) var refusal: String?
    /// The status of the upstream's response; 0: none came.
    @safe @exclusivity(unchecked) var upstreamStatus = 0

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
        let line = context.line
        output.append(line.span)
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
        if watchers.contains(.trace), let trace { return trace }
        let trace: ExchangeTrace
        if let kept = self.trace {
            trace = kept
        } else {
            trace = ExchangeTrace()
            self.trace = trace
        }
        watchers.insert(.trace)
        worker.tracer?.begin(trace, request)
        return trace
    }

    /// Forgets its place in a trace.
    @inline(never)
    func endTrace() { trace?.reset() }
}
