internal import Gateway

/// What one worker counts. Each group belongs to the part of the proxy that counts it, and says itself what it is called
/// outside. Only the worker's thread touches them; the main thread asks each worker through its inbox.
struct Counters {
    var lifecycle = LifecycleCounters()
    var admission = AdmissionCounters()
    var coding = CodingCounters()
    var forwarding = ForwardingCounters()
    var framing = FramingCounters()
    var http2 = HTTP2Counters()
    var verification = VerificationCounters()
    let tls = TLSCounters()
    let tracing = TracingCounters()
    let shadow = ShadowCounters()
    let upstreams = UpstreamCounters()
    /// The gauges of these three stand with what they count.
    let memory: MemoryAllowance
    let spools: SpoolStore
    let pictures: PictureQueue

    /// Those of `settings` go on; of names that a reload has taken away only the latest stay.
    mutating func keep(_ settings: ProxySettings) {
        let routes = Set(settings.routes.map(\.name))
        verification.keep(senders: Set(settings.routes.compactMap(\.verification?.sender)), routes: routes)
        shadow.keep(routes)
        upstreams.keep(Set(settings.upstreams.map(\.name)))
    }

    /// All of them, as they stand.
    func visit(_ samples: inout MetricSamples) {
        lifecycle.visit(&samples)
        admission.visit(&samples)
        coding.visit(&samples)
        forwarding.visit(&samples)
        framing.visit(&samples)
        http2.visit(&samples)
        verification.visit(&samples)
        tls.visit(&samples)
        tracing.visit(&samples)
        shadow.visit(&samples)
        upstreams.visit(&samples)
        memory.visit(&samples)
        spools.visit(&samples)
        pictures.visit(&samples)
    }
}
