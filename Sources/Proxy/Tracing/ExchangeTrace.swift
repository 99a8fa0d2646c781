internal import Gateway
internal import HTTPWire
internal import Octets

/// Who decides on the exchanges' places in traces: one for each worker, which asks it for each exchange.
struct TraceSampler {
    /// Whether a trace goes on that the client has begun.
    let follows: Bool
    /// Which of those that begin here are recorded.
    let ratio: TraceRatio
    var ids = TraceIDGenerator()

    /// - Parameter settings: nil: no spans are made, and nobody asks.
    init(_ settings: TracingSettings?) {
        follows = settings?.parent == .follow
        ratio = TraceRatio(millionths: settings?.sample ?? 0)
    }
}

/// An exchange's place in a trace: what it continues, and the ids of its own spans. It says nothing before it has begun
/// (`Exchange.beginTrace`).
struct ExchangeTrace {
    /// The trace with its flags. Its span is the one of the request to the upstream, which the upstream hears of as its parent.
    private(set) var context = TraceParent(high: 0, low: 0, span: 0, flags: 0)
    /// The span that the client's `traceparent` names; 0: the trace begins here.
    private(set) var parent: UInt64 = 0
    /// The span of the exchange.
    private(set) var server: UInt64 = 0
    /// Whether the upstream was told of the request's span.
    private(set) var wasTold = false
    /// The status of the upstream's response; 0: none came.
    var upstreamStatus = 0
    /// The code of the problem that we answered with.
    var refusal: String?

    var isSampled: Bool { context.isSampled }

    /// Continues the trace of `head`, or begins one.
    @inline(__always)
    mutating func begin(_ head: borrowing MessageHead, _ sampler: inout TraceSampler) {
        wasTold = false
        upstreamStatus = 0
        if refusal != nil { refusal = nil }
        if sampler.follows, head.hasFields, head.contains(.traceparent), let parent = TraceParent(of: head) {
            self.parent = parent.span
            context = parent
            if isSampled { context.span = sampler.ids.next() }
        } else {
            parent = 0
            context.low = sampler.ids.next()
            context.high = sampler.ids.high
            // A span's number is of interest within its trace alone, and no other one of this has the same.
            context.span = context.low
            context.flags = sampler.ratio.takes(context.low) ? TraceParent.sampled : 0
        }
        if isSampled { server = sampler.ids.next() }
    }

    /// What of the request's head doesn't go on. A trace that is followed and not recorded passes as it came: its parent stays the
    /// last one that anybody will find. What `tracestate` says is of the trace that came with it.
    var replacedFields: KnownFieldSet {
        if parent == 0 { return [.traceparent, .tracestate] }
        return isSampled ? [.traceparent] : []
    }

    /// Appends the field line that tells the upstream of its parent, where `replacedFields` has taken it away.
    mutating func appendParent(to output: inout OutputBuffer) {
        guard parent == 0 || isSampled else { return }
        wasTold = true
        context.appendLine(to: &output)
    }
}
