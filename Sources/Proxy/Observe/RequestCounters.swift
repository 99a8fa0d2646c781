internal import Gateway
internal import HTTPWire
internal import Transcoding

/// What one worker counts of all its requests. Only the worker's thread touches it.
///
/// Routes are known by name: one that a reload keeps goes on counting where it was.
final class RequestCounters {
    private struct Slot {
        let route: Route
        let counters: RouteCounters
    }

    /// By the route's index in the settings that were used last.
    private var slots: [Slot?] = []
    private var routes = CountersByName<RouteCounters>()
    /// Requests that no route took.
    private let noRoute = RouteCounters(route: "")

    /// Bytes of bodies of exchanges that have ended.
    private var bytes = BodyBytes()
    private var fields: UInt64 = 0
    private var files: UInt64 = 0

    /// Bytes of bodies on both sides: what came from clients and went upstream, what came back and went to clients.
    struct BodyBytes: Sendable {
        var fromClients: UInt64 = 0
        var toUpstreams: UInt64 = 0
        var fromUpstreams: UInt64 = 0
        var toClients: UInt64 = 0

        mutating func add(_ record: ExchangeRecord) {
            fromClients &+= UInt64(record.bytesIn)
            toUpstreams &+= UInt64(record.bytesOut)
            fromUpstreams &+= UInt64(record.bytesUpstream)
            toClients &+= UInt64(record.bytesBack)
        }
    }

    // MARK: Counting

    /// An exchange has ended at `now`.
    func count(_ exchange: Exchange, now: UInt64) {
        let record = exchange.record
        let counters = exchange.route.map(counters(of:)) ?? noRoute
        counters.count(record, method: exchange.request.methodKind, duration: now &- record.startedAt)
        bytes.add(record)
        if let accounting = record.accounting {
            fields &+= UInt64(accounting.fields)
            files &+= UInt64(accounting.files)
        }
        if let look = exchange.look { counters.count(look, status: record.status) }
        if let transcoder = exchange.responseTranscoder, transcoder.isActive {
            count(transcoder, counters, wasRefused: record.refusesBody)
        }
    }

    private func count(_ transcoder: ResponseTranscoder, _ counters: RouteCounters, wasRefused: Bool) {
        guard let conversion = transcoder.conversion, let output = transcoder.rule?.conversion?.plan.output else {
            return
        }
        let accounting = transcoder.accounting
        counters.count(
            response: conversion.inputEncoding, to: output, isWhole: accounting != nil, wasRefused: wasRefused)
        fields &+= UInt64(accounting?.fields ?? 0)
        files &+= UInt64(accounting?.files ?? 0)
    }

    /// We answer in the upstream's place. Only what concerns a conversion is counted here; returns whether this does.
    @discardableResult
    func noteRefusal(_ refusal: Refusal, of route: Route?) -> Bool {
        switch refusal {
        case .conversion, .upstreamBody, .upstreamBodyCut, .unacceptable, .contentCoding:
            (route.map(counters(of:)) ?? noRoute).countError(refusal.code)
            return true
        // Too long, as the code of the answer says by itself.
        case .bodyTooLarge: return true
        default: return false
        }
    }

    private func counters(of route: Route) -> RouteCounters {
        let index = route.index
        if index < slots.count, let slot = slots[index], slot.route === route { return slot.counters }
        return find(route)
    }

    private func find(_ route: Route) -> RouteCounters {
        let counters = routes[route.name, first: RouteCounters(route: route.name)]
        while slots.count <= route.index { slots.append(nil) }
        slots[route.index] = Slot(route: route, counters: counters)
        return counters
    }

    /// What the console shows, by route.
    var totals: [String: RouteTotals] {
        Dictionary(uniqueKeysWithValues: routes.sorted.map { ($0.name, $0.counters.totals) })
    }

    /// New settings have those routes alone.
    func keep(_ names: Set<String>) { routes.keep(names) }

    // MARK: Samples

    /// What was counted, with `inFlight`, the bytes of exchanges that have not ended.
    func visit(_ samples: inout MetricSamples, inFlight: BodyBytes) {
        noRoute.visit(&samples)
        for (_, counters) in routes.sorted { counters.visit(&samples) }
        func bytes(_ direction: String, _ side: String, _ count: UInt64) {
            samples.counter(
                "recast_request_bytes_total",
                "Bytes of bodies; on the client's side, answers of ours with their heads.",
                labels: [.init("direction", direction), .init("side", side)], count)
        }
        bytes("in", "client", self.bytes.fromClients &+ inFlight.fromClients)
        bytes("out", "upstream", self.bytes.toUpstreams &+ inFlight.toUpstreams)
        bytes("in", "upstream", self.bytes.fromUpstreams &+ inFlight.fromUpstreams)
        bytes("out", "client", self.bytes.toClients &+ inFlight.toClients)
        for (kind, count) in [("field", fields), ("file", files)] {
            samples.counter(
                "recast_transcode_parts_total", "Fields and files that conversions have seen.",
                labels: [.init("kind", kind)], count)
        }
    }
}
