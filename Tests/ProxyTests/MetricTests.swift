import Foundation
import Gateway
import Octets
import Testing
import Transcoding

@testable import Proxy

/// The parts of `/metrics`: what is counted where, and how it is written.
@Suite struct MetricTests {
    @Test("each bound of a histogram belongs to the bucket below it")
    func bounds() {
        for (index, bound) in Histogram.bounds.enumerated() {
            let nanoseconds = UInt64((Double(bound)! * 1e9).rounded())
            #expect(Histogram.bucket(nanoseconds - 1) == index)
            #expect(Histogram.bucket(nanoseconds) == index)
            #expect(Histogram.bucket(nanoseconds + 1) == index + 1)
        }
        for (index, bound) in Histogram.fineBounds.enumerated() {
            var histogram = Histogram()
            histogram.count(UInt64((Double(bound)! * 1e9).rounded()), scale: Histogram.fine)
            #expect(histogram.sample.buckets.firstIndex(of: 1) == index, "\(bound)")
        }
    }

    @Test("keys that come have places of their own, up to a limit; then they share one")
    func slots() {
        var counts = SlotCounts()
        for round in 1...2 {
            for key in 0..<UInt32(SlotCounts.limit + 3) { counts.add(key) }
            #expect(counts.keys.count == SlotCounts.limit)
            #expect(counts.counts.allSatisfy { $0 == round })
            #expect(counts.others == UInt64(3 * round))
        }
    }

    @Test("the text of samples: help and type once, labels escaped, buckets that add up")
    func text() {
        var samples = MetricSamples()
        samples.counter("b_total", "Two\nlines \\ and \"quotes\".", labels: [.init("l", "a\"b\\c\nd")], 3)
        samples.gauge("a", "First.", 1.5)
        var other = MetricSamples()
        other.counter("b_total", "", labels: [.init("l", "a\"b\\c\nd")], 4)
        other.counter("b_total", "", labels: [.init("l", "x")], 1)
        for _ in 0..<2 {
            other.histogram(
                "c_seconds", "Times.", labels: [.init("r", "x")], bounds: ["0.1", "1"],
                .init(buckets: [1, 2, 3], sum: 2.25))
        }
        samples.merge(other)
        #expect(
            String(decoding: samples.text().span.copied(), as: UTF8.self) == #"""
                # HELP a First.
                # TYPE a gauge
                a 1.5
                # HELP b_total Two\nlines \\ and "quotes".
                # TYPE b_total counter
                b_total{l="a\"b\\c\nd"} 7
                b_total{l="x"} 1
                # HELP c_seconds Times.
                # TYPE c_seconds histogram
                c_seconds_bucket{r="x",le="0.1"} 2
                c_seconds_bucket{r="x",le="1"} 6
                c_seconds_bucket{r="x",le="+Inf"} 12
                c_seconds_sum{r="x"} 4.5
                c_seconds_count{r="x"} 12

                """#)
    }

    @Test("a route that another snapshot has under the same name goes on counting where it was")
    func reload() {
        let counters = RequestCounters()
        func route(_ name: String, _ index: Int) -> Route {
            Route(index: index, name: name, match: forward().match, upstream: 0)
        }
        let old = route("a", 0)
        let new = [route("b", 0), route("a", 1)]
        for route in [old, new[1], new[0], old] { counters.noteRefusal(.contentCoding([]), of: route) }
        var samples = MetricSamples()
        counters.visit(&samples, inFlight: .init())
        let rows = samples.families["recast_transcode_errors_total"]?.samples ?? []
        let byRoute = Dictionary(uniqueKeysWithValues: rows.map { ($0.labels[0].value, $0.value) })
        #expect(byRoute == ["a": 3, "b": 1])
    }

    @Test("names that are gone stay up to their number, the earliest gone go first", arguments: [-1, 0, 1, 7])
    func gone(beyond: Int) {
        let limit = CountersByName<Int>.goneLimit
        var rows = CountersByName<Int>()
        let names = (0..<limit + beyond).map { "r\($0)" }
        // Each reload has one route of its own beside one that stays.
        for name in names {
            rows.keep(["stays", name])
            rows["stays", first: 0] += 1
            rows[name, first: 40] += 2
        }
        rows.keep(["stays"])
        rows.keep(["stays"])
        let left = Dictionary(uniqueKeysWithValues: rows.sorted.map { ($0.name, $0.counters) })
        #expect(left["stays"] == names.count)
        #expect(Set(left.keys) == Set(names.suffix(limit) + ["stays"]))
        #expect(names.suffix(limit).allSatisfy { left[$0] == 42 })
    }

    @Test("a name that comes back goes on, and is not among those that are gone")
    func back() {
        var rows = CountersByName<Int>()
        rows["a", first: 1] += 1
        rows.keep([])
        rows.keep(["a"])
        let others = Set((0..<CountersByName<Int>.goneLimit).map { "r\($0)" })
        for name in others { rows[name, first: 0] += 1 }
        rows.keep(["a"])
        #expect(rows.sorted.count == others.count + 1)
        #expect(rows["a", first: 0] == 2)
        // What ends by the settings before is counted, though its name is gone.
        rows.keep([])
        rows["a", first: 0] += 1
        #expect(rows["a", first: 0] == 3)
        #expect(rows.sorted.count == others.count)
    }

    @Test("a worker forgets the earliest names of routes and upstreams that reloads have taken away")
    func reloads() throws {
        try withRig([forward()]) { settings in
            settings.accessLog = .off
            settings.admin.address = .tcp(host: "127.0.0.1", port: 0)
        } _: { rig in
            let limit = CountersByName<Int>.goneLimit
            for number in 0...limit + 1 {
                var settings = rig.worker.current.settings
                settings.upstreams[0].name = "app\(number)"
                try rig.worker.adopt(settings)
            }
            rig.settle()
            let rows = rig.worker.metricSamples().families["recast_upstream_connects_total"]?.samples ?? []
            let names = rows.map { $0.labels[0].value }
            #expect(names.count == limit + 1)
            #expect(names.contains("app\(limit + 1)") && names.contains("app1") && !names.contains("app0"))
        }
    }

    @Test("an exchange is counted once, by its route, method and status")
    func counted() throws {
        try withRig([convert(.form, .json)]) { settings in
            settings.accessLog = .off
            settings.admin.address = .tcp(host: "127.0.0.1", port: 0)
        } _: { rig in
            _ = try rig.exchange(post("/x", formType, "a=1&b=2"))
            let refused = try rig.response(to: try rig.connect(sending: post("/x", jsonType, "{}")))
            #expect(refused.status == 415)
            rig.settle()
            let text = String(decoding: rig.worker.metricSamples().text().span.copied(), as: UTF8.self)
            for row in [
                #"recast_requests_total{route="r0",method="POST",code="200"} 1"#,
                #"recast_requests_total{route="r0",method="POST",code="415"} 1"#,
                #"recast_transcode_total{route="r0",from="form",to="json",result="ok"} 1"#,
                #"recast_transcode_errors_total{route="r0",code="unsupported_media_type"} 1"#,
                #"recast_request_duration_seconds_count{route="r0"} 2"#,
                #"recast_transcode_duration_seconds_count{route="r0"} 1"#,
                #"recast_request_bytes_total{direction="in",side="client"} 7"#,
                #"recast_request_bytes_total{direction="out",side="upstream"} 17"#,
                #"recast_transcode_framing_total{mode="length"} 1"#,
                "recast_inflight_requests 0",
                #"recast_upstream_responses_total{upstream="app",code="2xx"} 1"#,
                #"recast_upstream_responses_total{upstream="app",code="5xx"} 0"#,
                #"recast_upstream_response_seconds_count{upstream="app"} 1"#,
                #"recast_upstream_inflight_requests{upstream="app"} 0"#,
                #"recast_upstream_connections_max{upstream="app"} 4096"#,
                #"recast_upstream_inflight_requests_max{upstream="app"} 4096"#,
                #"recast_upstream_queue_max{upstream="app"} 128"#,
                #"recast_connections_max{side="client"} \#(rig.worker.current.admission.connections)"#,
            ] {
                #expect(text.contains(row + "\n"), "\(row)")
            }
        }
    }

    @Test("without a log and an admin port nothing is counted")
    func off() throws {
        try withRig { settings in
            settings.accessLog = .off
        } _: { rig in
            _ = try rig.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(!rig.worker.isMeasuring)
            #expect(rig.worker.metricSamples().families["recast_requests_total"] == nil)
        }
    }

    @Test(
        "responses are counted by the class of their status",
        arguments: [(101, 0), (200, 1), (299, 1), (304, 2), (404, 3), (500, 4), (599, 4), (999, 4)])
    func classes(status: Int, index: Int) {
        let tally = UpstreamTally()
        tally.count(status: status, after: 3_000_000)
        var samples = MetricSamples()
        tally.visit("a", &samples)
        let rows = samples.families["recast_upstream_responses_total"]?.samples ?? []
        #expect(rows.map(\.value) == (0..<5).map { $0 == index ? 1 : 0 })
        #expect(rows.map { $0.labels[1].value } == ["1xx", "2xx", "3xx", "4xx", "5xx"])
        let times = samples.families["recast_upstream_response_seconds"]?.distributions.first?.value
        #expect(times?.buckets.reduce(0, +) == 1 && times?.sum == 0.003)
    }

    @Test("responses that weren't whole are counted beside their heads, by why")
    func cutResponses() {
        let tally = UpstreamTally()
        for _ in 0..<3 { tally.count(cut: .closed) }
        tally.count(cut: .malformed)
        var samples = MetricSamples()
        tally.visit("a", &samples)
        let rows = samples.families["recast_upstream_responses_cut_total"]?.samples ?? []
        #expect(rows.map { $0.labels[1].value } == ["closed", "timeout", "bad_response"])
        #expect(rows.map(\.value) == [3, 0, 1])
        // No attempt of its own: its head was one.
        let attempts = samples.families["recast_upstream_requests_total"]?.samples ?? []
        #expect(attempts.allSatisfy { $0.value == 0 })
    }

    @Test("no counter's name without _total is that of another metric, nor any metric's that of a histogram's part")
    func names() throws {
        try withRig { settings in
            settings.admin.address = .tcp(host: "127.0.0.1", port: 0)
        } _: { rig in
            _ = try rig.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            rig.settle()
            let families = rig.worker.metricSamples().families
            var taken: [String: String] = [:]
            for (name, family) in families {
                // What a family's samples, and itself, are called in OpenMetrics.
                var names = [name]
                switch family.kind {
                case .counter:
                    #expect(name.hasSuffix("_total"))
                    let base = String(name.dropLast(6))
                    names = [base, name, "\(base)_created"]
                case .histogram: names += ["\(name)_bucket", "\(name)_sum", "\(name)_count", "\(name)_created"]
                case .gauge:
                    #expect(!name.hasSuffix("_total") && !name.hasSuffix("_count") && !name.hasSuffix("_bucket"))
                }
                for each in names {
                    #expect(taken[each] == nil, "\(name) and \(taken[each] ?? "") are both \(each)")
                    taken[each] = name
                }
            }
        }
    }
}
