import Gateway
import Proxy
import Settings
import Testing

/// What the settings say of upstreams and of sending requests again.
@Suite struct UpstreamSettingsTests {
    private func parse(upstream: String, route: String = "") throws -> SettingsFile {
        try SettingsTestFile.parse(text(upstream, route))
    }

    private func text(_ upstream: String, _ route: String) -> String {
        """
        version: 1
        listen: 127.0.0.1:80
        upstreams:
          x: \(upstream)
        routes: [{ name: all, match: /*, upstream: x\(route.isEmpty ? "" : ", \(route)") }]
        """
    }

    @Test("everything about an upstream")
    func everything() throws {
        let file = try parse(
            upstream: """
                { address: [app.internal:3000, 10.0.0.2:3000, "unix:/run/app.sock"], max_age: 1m, \
                requests_per_connection: 10, max_connections: 200, max_requests: 100, queue: { size: 7, timeout: 2s }, \
                balance: least_requests, resolve: { servers: [10.0.0.3, "127.0.0.1:5353", "[::1]:54"], min: 2s, max: 1m }, \
                health: { passive: { failures: 3, status: [500, 502-504], ejection: 1s, max_ejection: 4s }, \
                active: { path: /up?x, host: app, interval: 3s, timeout: 4s, fall: 5, rise: 6, status: [2xx, 404] } } }
                """)
        let upstream = file.settings.upstreams[0]
        #expect(upstream.addresses.count == 3)
        #expect(upstream.maxAge == .seconds(60) && upstream.requestsPerConnection == 10)
        #expect(upstream.maxConnections == 200 && upstream.maxRequests == 100)
        #expect(upstream.queue.size == 7 && upstream.queue.timeout == .seconds(2))
        #expect(upstream.balance == .leastRequests)
        #expect(upstream.resolving.servers.map(\.description) == ["10.0.0.3:53", "127.0.0.1:5353", "[::1]:54"])
        #expect(upstream.resolving.minimum == .seconds(2) && upstream.resolving.maximum == .seconds(60))
        let passive = upstream.health.passive
        #expect(passive.failures == 3 && passive.statuses == [StatusRange(500...500), StatusRange(502...504)])
        #expect(passive.ejection == .seconds(1) && passive.maximumEjection == .seconds(4))
        let active = try #require(upstream.health.active)
        #expect(active.path == "/up?x" && active.host == "app")
        #expect(active.interval == .seconds(3) && active.timeout == .seconds(4) && active.fall == 5 && active.rise == 6)
        #expect(active.statuses == [StatusRange(200...299), StatusRange(404...404)])
        for (key, value) in [
            ("balance", "least_requests"), ("max_connections", "200"), ("queue.timeout", "2s"),
            ("health.passive.status", "500, 502-504"), ("health.active.path", "/up?x"), ("resolve.min", "2s"),
        ] {
            #expect(file.effective.contains { $0.key == "upstreams.x.\(key)" && $0.value == value }, "\(key)")
        }
    }

    @Test("no status is a failure where they are off, in passive checks alone")
    func noStatus() throws {
        let file = try parse(upstream: "{ address: a:1, health: { passive: { status: off } } }")
        #expect(file.settings.upstreams[0].health.passive.statuses.isEmpty)
        #expect(file.effective.contains { $0.key == "upstreams.x.health.passive.status" && $0.value == "off" })
        let active = text("{ address: a:1, health: { active: { path: /, status: off } } }", "")
        #expect(SettingsTestFile.mistakes(active).count == 1)
    }

    @Test(
        "names that are taken",
        arguments: [
            "app", "app.svc.cluster.local", "app.svc.cluster.local.", "localhost.", "my_app", "_http._tcp.app",
            "1app.2b",
            "xn--bcher-kva.example", "a-b.c-d", "APP.Example",
            "\(String(repeating: "a", count: 63)).example",
            String(repeating: "a.", count: 126) + "a", String(repeating: "a.", count: 127),
        ])
    func names(_ name: String) throws {
        let file = try parse(upstream: "\"\(name):3000\"")
        #expect(file.settings.upstreams[0].addresses == [.tcp(host: name, port: 3000)])
        #expect(file.effective.contains { $0.key == "upstreams.x.address" && $0.value == "\(name):3000" })
    }

    @Test(
        "what is no name of a host",
        arguments: [
            ("app..example", "no name, since nothing stands between two of its dots"),
            (".app", "no name, since nothing stands between two of its dots, or before one"),
            ("app..", "no name, since nothing"), (".", "no name, since nothing"), ("..", "no name, since nothing"),
            ("-x", "no name, since a hyphen"), ("x-", "no name, since a hyphen"), ("a.-x.b", "no name, since a hyphen"),
            ("a.x-.", "no name, since a hyphen"), ("-", "no name, since a hyphen"),
            (String(repeating: "a", count: 64), "no name, which has at most 63 characters between two dots"),
            ("a.\(String(repeating: "b", count: 64)).", "no name, which has at most 63 characters between two dots"),
            (String(repeating: "a.", count: 127) + "a", "no name, which has at most 253 characters"),
            (String(repeating: "a.", count: 126) + "ab.", "no name, which has at most 253 characters"),
            ("1.2.3", "neither a name nor an address"), ("1.2.3.4.", "neither a name nor an address"),
            ("1.2.3.256", "neither a name nor an address"), ("app.1", "neither a name nor an address"),
            ("bücher.example", "no name, since a name goes on the wire in ASCII"),
            ("a!b", "neither a name nor an address"),
        ])
    func noNames(_ name: String, reason: String) {
        let mistakes = SettingsTestFile.mistakes(text("\"\(name):3000\"", ""))
        #expect(
            mistakes.count == 1 && mistakes[0].hasPrefix("4:6: \"\(name)\" is \(reason)")
                && mistakes[0].contains(": write one, as in "), "\(mistakes)")
    }

    @Test(
        "the host of an active check is one that servers take",
        arguments: [
            ("app.internal", true), ("app_1:8080", true), ("10.0.0.1", true), ("[::1]:80", true), ("[::1", false),
            ("a/b", false),
            ("a b", false), ("u@a", false), ("a:65536", false), ("a,b", false), ("http://a", false), ("", false),
            (String(repeating: "a", count: 255), true), (String(repeating: "a", count: 256), false),
        ])
    func hostOfCheck(_ host: String, isTaken: Bool) throws {
        let upstream = "{ address: \"a:1\", health: { active: { path: /up, host: \"\(host)\" } } }"
        guard isTaken else {
            let mistakes = SettingsTestFile.mistakes(text(upstream, ""))
            return #expect(mistakes.count == 1 && mistakes[0].contains("\"host\""), "\(mistakes)")
        }
        #expect(try parse(upstream: upstream).settings.upstreams[0].health.active?.host == host)
    }

    @Test("without a check of certificates the other keys of TLS hold, and so does a name that is only asked for")
    func unchecked() throws {
        for keys in ["", ", name: b", ", sni: b", ", verify_name: false", ", session_resumption: false"] {
            let file = try parse(upstream: "{ address: \"a:1\", tls: { verify: false\(keys) } }")
            #expect(file.settings.upstreams[0].tls != nil, "\(keys)")
        }
    }

    @Test("no more is idle than there is, and over HTTP/2 requests outnumber connections")
    func bounded() throws {
        let one = try parse(upstream: "{ address: \"a:1\", max_connections: 10 }").settings.upstreams[0]
        #expect(one.maxIdlePerLoop == 10)
        let other = try parse(upstream: "{ address: \"a:1\", http: 2, max_connections: 10, max_requests: 500 }")
        #expect(other.settings.upstreams[0].maxRequests == 500)
    }

    @Test("what holds where nothing is written")
    func standards() throws {
        let file = try parse(upstream: "a:1")
        let upstream = file.settings.upstreams[0]
        #expect(upstream == UpstreamSettings(name: "x", addresses: [.tcp(host: "a", port: 1)]))
        #expect(upstream.maxConnections == nil && upstream.maxRequests == nil && upstream.queue.size == 128)
        #expect(upstream.health.active == nil && upstream.health.passive.failures == 5)
        let shown = { (key: String) in file.effective.first { $0.key == "upstreams.x.\(key)" }?.value }
        #expect(shown("max_connections") == "4096 for each worker")
        #expect(shown("health.active") == "off")
        #expect(shown("max_age") == "5m")
        let retry = file.settings.routes[0].options.retry
        #expect(retry == RetryOptions() && retry.isEnabled && !retry.hasConditions && retry.buffer == 65536)
        #expect(file.effectiveOfRoutes[0].contains { $0.key == "retry.on" && $0.value == "nothing else" })
    }

    @Test("a route says when a request is sent again")
    func retry() throws {
        let file = try parse(
            upstream: "a:1", route: "retry: { on: [502, 503, timeout, reset], attempts: 2, buffer: 1MiB }")
        let retry = file.settings.routes[0].options.retry
        #expect(retry.statuses == [502, 503] && retry.onTimeout && retry.onReset)
        #expect(retry.attempts == 2 && retry.buffer == 1 << 20)
        let off = try parse(upstream: "a:1", route: "retry: off").settings.routes[0].options.retry
        #expect(!off.isEnabled)
    }

    @Test("a route takes back what \"defaults\" say of when a request is sent again, and keeps the rest")
    func retryTakenBack() throws {
        for word in ["off", "false", "\"off\""] {
            let file = try SettingsTestFile.parse(
                """
                version: 1
                listen: "127.0.0.1:8080"
                upstreams: { app: "127.0.0.1:3000" }
                defaults: { retry: { on: [503, reset, timeout], attempts: 2, buffer: 1KiB } }
                routes:
                  - { name: a, upstream: app, match: /a, retry: { on: \(word) } }
                  - { name: b, upstream: app, match: /b }
                """)
            let (own, other) = (file.settings.routes[0].options.retry, file.settings.routes[1].options.retry)
            #expect(own.isEnabled && !own.hasConditions && own.attempts == 2 && own.buffer == 1024, "\(word)")
            #expect(other.hasConditions)
            #expect(file.effectiveOfRoutes[0].contains { $0.key == "retry.on" && $0.value == "off" })
            #expect(file.notes.allSatisfy { $0.code != "retry_method" })
        }
    }

    @Test(
        "what can't be used is reported",
        arguments: [
            ("[a:1, a:1]", "4:12: the upstream \"x\" has the address a:1 twice"),
            ("{ address: a:1, balance: random }", nil),
            ("{ address: a:1, max_connections: 0 }", "4:39: \"max_connections\" is from 1 to 1000000, not 0"),
            ("{ address: a:1, queue: { size: -1 } }", "4:37: \"size\" is from 0 to 65535, not -1"),
            ("{ address: a:1, queue: { sice: 1 } }", "4:31: \"queue\" has no key \"sice\": did you mean \"size\"?"),
            (
                "{ address: a:1, resolve: { servers: dns.example } }",
                "4:42: \"dns.example\" is no name server: write an address, as in 10.0.0.2 or 127.0.0.1:5353"
            ),
            (
                "{ address: a:1, resolve: { min: 2s, max: 1s } }",
                "4:31: \"max\" of \"resolve\", which is 1s here, is shorter than \"min\""
            ),
            (
                "{ address: a:1, health: { active: { interval: 1s } } }",
                "4:40: \"active\" needs \"path\", as in path: /healthz"
            ),
            (
                "{ address: a:1, health: { active: { path: healthz } } }",
                "4:48: \"path\" begins with a slash and has visible ASCII characters only"
            ),
            ("{ address: a:1, health: { passive: { status: 404 } } }", "4:51: \"status\" is from 500 to 599"),
            (
                "{ address: a:1, health: { passive: { status: [] } } }",
                "4:51: \"status\" is an empty list: leave it out or name something"
            ),
            (
                "{ address: a:1, health: { passive: { ejection: 2m } } }",
                "4:41: \"max_ejection\", which is 1m here, is shorter than \"ejection\""
            ),
        ])
    func mistakes(upstream: String, mistake: String?) {
        let mistakes = SettingsTestFile.mistakes(text(upstream, ""))
        if let mistake { #expect(mistakes == [mistake]) } else { #expect(mistakes.count == 1) }
    }

    @Test(
        "a retry that isn't known is reported",
        arguments: [
            ("on", "\"retry\" is not \"on\""),
            ("3", "\"retry\" is not \"3\": write off, or a mapping as in retry: {attempts: 1, on: [503]}"),
            ("{ on: 404 }", "\"on\" takes the statuses 500 to 504, not 404"),
            ("{ on: [rset] }", "\"on\" is not \"rset\": did you mean \"reset\"?"),
            ("{ attempts: 0 }", "\"attempts\" is from 1 to 5, not 0"),
            ("{ attempts: 6 }", "\"attempts\" is from 1 to 5, not 6"),
            ("{ buffer: 17MiB }", "\"buffer\" is at most 16MiB"), ("{ bufer: 1KiB }", "\"retry\" has no key \"bufer\""),
        ])
    func retryMistakes(retry: String, mistake: String) {
        let mistakes = SettingsTestFile.mistakes(text("a:1", "retry: \(retry)"))
        #expect(mistakes.count == 1 && mistakes.first?.contains(mistake) == true, "\(mistakes)")
    }
}
