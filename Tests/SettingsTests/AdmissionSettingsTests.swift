import Gateway
import Proxy
import Testing

@testable import Settings

/// Limits, admission and rates as settings.
@Suite struct AdmissionSettingsTests {
    private let rest = """

        listen: 127.0.0.1:8080
        upstreams: { app: "127.0.0.1:3000" }
        routes: [{ name: all, match: /*, upstream: app }]
        """

    private func settings(_ text: String) throws -> ProxySettings {
        try SettingsTestFile.parse("version: 1\n" + text + rest).settings
    }

    private func options(_ route: String, defaults: String = "{}") throws -> (RateOptions, SettingsFile) {
        let file = try SettingsTestFile.parse(
            """
            version: 1
            listen: 127.0.0.1:8080
            upstreams: { app: "127.0.0.1:3000" }
            defaults: \(defaults)
            routes:
              - { name: a, match: /a, upstream: app\(route) }
            """)
        return (file.settings.routes[0].options.rate, file)
    }

    @Test("what holds where nothing is written")
    func standard() throws {
        let admission = try settings("").admission
        #expect(admission == AdmissionSettings())
        #expect(admission.head.requestLine == 16384 && admission.head.bytes == 65536)
        #expect(admission.head.fieldLine == 16384 && admission.head.fields == 100)
        #expect(admission.connections == nil && admission.perClient == .standard && admission.inFlight == nil)
        #expect(admission.requestsPerConnection == 10_000 && admission.connectionAge == .seconds(3600))
        let (rate, file) = try options("")
        #expect(rate == RateOptions() && rate.request == 0 && rate.response == 0)
        #expect(rate.minimumRequest == 500 && rate.minimumResponse == 500 && rate.grace == .seconds(10))
        #expect(file.settings.routes[0].timeouts.request == nil)
    }

    @Test("every key is read")
    func all() throws {
        let admission = try settings(
            """
            limits: { head: 128KiB, request_line: 20KiB, field_line: 1KiB, header_fields: 7 }
            connections: { total: 300, per_client: 5, requests: 9, age: 90s }
            requests: { in_flight: 17 }
            """
        ).admission
        #expect(admission.head.bytes == 131_072 && admission.head.requestLine == 20_480)
        #expect(admission.head.fieldLine == 1024 && admission.head.fields == 7)
        #expect(admission.connections == 300 && admission.perClient == .count(5))
        #expect(admission.requestsPerConnection == 9 && admission.connectionAge == .seconds(90))
        #expect(admission.inFlight == 17)
        let off = try settings(
            """
            connections: { total: auto, per_client: off, requests: off, age: off }
            requests: { in_flight: off }
            """
        ).admission
        #expect(off.connections == nil && off.perClient == .none && off.requestsPerConnection == 0)
        #expect(off.connectionAge == nil && off.inFlight == nil)
        #expect(try settings("connections: { per_client: auto }").admission.perClient == .standard)
    }

    @Test("lines follow a head that is made smaller")
    func smallHead() throws {
        let head = try settings("limits: { head: 4KiB }").admission.head
        #expect(head.bytes == 4096 && head.requestLine == 4096 && head.fieldLine == 4096)
    }

    @Test("rates are sizes in a second; one number is that of uploads, and the minimum of both ways")
    func rates() throws {
        let (both, _) = try options(", rate: { request: 1MiB/s, response: 512KiB/s }")
        #expect(both.request == 1 << 20 && both.response == 512 << 10)
        let (one, _) = try options(", rate: 2KiB/s, min_rate: 100B/s")
        #expect(one.request == 2048 && one.response == 0)
        #expect(one.minimumRequest == 100 && one.minimumResponse == 100 && one.grace == .seconds(10))
        let (off, _) = try options(", min_rate: off")
        #expect(off.minimumRequest == 0 && off.minimumResponse == 0)
        let (parts, _) = try options(", min_rate: { request: off, response: 1KiB/s, grace: 5s }")
        #expect(parts.minimumRequest == 0 && parts.minimumResponse == 1024 && parts.grace == .seconds(5))
    }

    @Test("a route takes what it doesn't say from the defaults, and both places are told")
    func inheritance() throws {
        let (rate, file) = try options(
            ", rate: { response: 5KiB/s }, timeouts: { request: 5m }",
            defaults: "{ rate: { request: 1MiB/s, response: 1KiB/s }, min_rate: { grace: 3s } }")
        #expect(rate.request == 1 << 20 && rate.response == 5120 && rate.grace == .seconds(3))
        #expect(file.settings.routes[0].timeouts.request == .seconds(300))
        let values = file.effectiveOfRoutes[0].map { "\($0.key) = \($0.value) \($0.origin)" }
        for expected in [
            "rate.request = 1MiB/s line(4)", "rate.response = 5KiB/s line(6)", "min_rate.request = 500B/s standard",
            "min_rate.grace = 3s line(4)", "timeouts.request = 5m line(6)",
        ] { #expect(values.contains(expected), "\(expected)") }
        let (off, told) = try options(", rate: off", defaults: "{ rate: { request: 1MiB/s, response: 1KiB/s } }")
        #expect(off.request == 0 && off.response == 0)
        #expect(
            told.effectiveOfRoutes[0].contains {
                $0.key == "rate.response" && $0.value == "off" && $0.origin == .line(6)
            })
        let (one, _) = try options(", rate: 2MiB/s", defaults: "{ rate: { request: 1MiB/s, response: 1KiB/s } }")
        #expect(one.request == 2 << 20 && one.response == 1024)
    }

    @Test("the values at the top are told")
    func effective() throws {
        let file = try SettingsTestFile.parse("version: 1\nconnections: { total: 10 }" + rest)
        let values = file.effective.map { "\($0.key) = \($0.value)" }
        for expected in [
            "limits.head = 64KiB", "limits.request_line = 16KiB", "limits.field_line = 16KiB",
            "limits.header_fields = 100", "connections.total = 10", "connections.per_client = auto",
            "connections.requests = 10000", "connections.age = 1h", "requests.in_flight = off",
        ] { #expect(values.contains(expected), "\(expected)") }
    }

    @Test("what isn't written follows the limit that bounds it, and what is may be as large")
    func bounded() throws {
        for (text, window) in [
            ("connection_window: 65535B", "65535B"), ("connection_window: 2MiB, stream_window: 2MiB", "2MiB"),
        ] {
            let file = try SettingsTestFile.parse(
                "http2: { \(text) }\n" + SettingsTestFile.head + "  - { name: all, match: /*, upstream: app }")
            #expect(file.effective.first { $0.key == "http2.stream_window" }?.value == window)
        }
        #expect(try settings("connections: { total: 10, per_client: 10 }").admission.perClient == .count(10))
        #expect(try settings("connections: { per_client: 100000 }").admission.perClient == .count(100_000))
    }

    @Test(
        "what is wrong is reported with line and column",
        arguments: [
            ("limits: { head: 193KiB }", "2:17: \"head\" is at most 192KiB here"),
            ("limits: { head: 1023B }", "2:17: \"head\" is at least 1KiB, not 1023B"),
            ("limits: { head: 2KiB, request_line: 3KiB }", "2:37: \"request_line\" is at most 2KiB here"),
            ("limits: { field_line: 255B }", "2:23: \"field_line\" is at least 256B, not 255B"),
            ("limits: { header_fields: 0 }", "2:26: \"header_fields\" is from 1 to 10000, not 0"),
            (
                "limits: { body: 1MiB }",
                "2:11: \"body\" is a route's: write it under \"defaults: {limits: …}\" or in a route"
            ),
            (
                "defaults: { limits: { head: 1MiB } }",
                "2:23: \"head\" holds before a route is known: write it under \"limits\" at the top of the file"
            ),
            ("connections: { total: 0 }", "2:23: \"total\" is from 1 to 1000000, not 0"),
            ("connections: { per_client: some }", "2:28: \"per_client\" is auto, off or a whole number, not \"some\""),
            (
                "connections: { total: 10, per_client: 11 }",
                "2:39: \"per_client\" is at most \"total\", which is 10 here, not 11"
            ),
            (
                "http2: { stream_window: 2MiB }",
                "2:25: \"stream_window\" is at most \"connection_window\", which is 1MiB here, not 2MiB"
            ),
            (
                "http2: { stream_window: 1MiB, connection_window: 1048575B }",
                "2:25: \"stream_window\" is at most \"connection_window\", which is 1048575B here, not 1MiB"
            ),
            (
                "connections: { per_cleint: 1 }",
                "2:16: \"connections\" has no key \"per_cleint\": did you mean \"per_client\"?"
            ),
            ("connections: { total: off }", "2:23: \"total\" is auto or a whole number, not \"off\""),
            ("connections: { requests: auto }", "2:26: \"requests\" is off or a whole number, not \"auto\""),
            (
                "connections: { age: on }",
                "2:21: \"age\": a time is a whole number and a unit, as in 3s, not \"on\"; it may also be off"
            ),
            ("requests: { in_flight: auto }", "2:24: \"in_flight\" is off or a whole number, not \"auto\""),
            (
                "connections: \"{ total: 5 }\"",
                "2:14: \"connections\" is a mapping of keys to values, not a single value: leave the quotes out"
            ),
            (
                "connections:{ total: 5 }",
                "2:1: the file has no key \"connections:{ total\": a space is missing behind the colon of \"connections:\""
            ),
            (
                "http2:{ streams: 5 }",
                "2:1: the file has no key \"http2:{ streams\": a space is missing behind the colon of \"http2:\""
            ),
            ("connections: { age: 1 }", "2:21: \"age\": a time needs a unit (ms, s, m, h), as in 3s"),
            (
                "connections: 5",
                "2:14: \"connections\" is a mapping of keys to values, not a single value: its keys are age, per_client, requests, total"
            ),
            ("requests: { in_flight: 0 }", "2:24: \"in_flight\" is from 1 to 1000000, not 0"),
            ("defaults: { rate: 1MiB }", "2:19: \"rate\" is a size in a second or off, as in 512KiB/s, not \"1MiB\""),
            ("defaults: { rate: 0B/s }", "2:19: \"rate\" is at least 1B/s; write off for none"),
            (
                "defaults: { rate: { grace: 1s } }",
                "2:21: \"rate\" has no key \"grace\": known are request, response"
            ),
            (
                "defaults: { min_rate: { request: 5MB/s } }",
                "2:34: \"request\": the unit \"MB\" is not known for a size: did you mean \"5MiB\"?"
            ),
            ("defaults: { timeouts: { request: 0s } }", "2:34: \"request\": a time is longer than nothing: 0s"),
            (
                "timeouts: { request: 1m }",
                "2:13: \"request\" is a route's: write it under \"defaults: {timeouts: …}\" or in a route"
            ),
        ])
    func mistakes(text: String, mistake: String) {
        #expect(SettingsTestFile.mistakes("version: 1\n" + text + rest) == [mistake])
    }
}
