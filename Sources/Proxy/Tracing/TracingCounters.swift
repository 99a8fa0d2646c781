/// What became of one worker's spans.
final class TracingCounters {
    var sent: UInt64 = 0
    /// There were too many that waited.
    var droppedQueue: UInt64 = 0
    /// The collector didn't take them.
    var droppedFailed: UInt64 = 0
    /// The collector took the others of their request.
    var rejected: UInt64 = 0
    /// Requests to the collector: taken, sent again, given up.
    var exported: UInt64 = 0
    var retried: UInt64 = 0
    var failed: UInt64 = 0
    /// Spans that wait or are on their way.
    var waiting = 0

    func visit(_ samples: inout MetricSamples) {
        for (result, count) in [
            ("sent", sent), ("dropped_queue", droppedQueue), ("dropped_failed", droppedFailed), ("rejected", rejected),
        ] {
            samples.counter(
                "recast_tracing_spans_total", "Spans by what became of them.", labels: [.init("result", result)], count)
        }
        for (result, count) in [("ok", exported), ("retry", retried), ("failed", failed)] {
            samples.counter(
                "recast_tracing_exports_total", "Requests to the collector of spans, by what came of them.",
                labels: [.init("result", result)], count)
        }
        samples.gauge("recast_tracing_queue_spans", "Spans that wait to be sent or are on their way.", Double(waiting))
    }
}
