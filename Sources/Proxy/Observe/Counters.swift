/// What one worker counts. Each group belongs to the part of the proxy that counts it, and says itself what it is called
/// outside. Only the worker's thread touches them; whoever wants the sum asks each worker through its inbox.
struct Counters {
    let upstreams = UpstreamCounters()

    /// All of them, as they stand.
    func visit(_ samples: inout MetricSamples) {
        upstreams.visit(&samples)
    }
}
