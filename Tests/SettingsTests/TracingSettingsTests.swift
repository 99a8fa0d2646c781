import Proxy
import Settings
import Testing

@Suite struct TracingSettingsTests {
    private func parse(_ lines: String) throws -> SettingsFile {
        try SettingsTestFile.parse(lines + "\n" + SettingsTestFile.head + "  - { name: all, match: /*, upstream: app }")
    }

    @Test("no spans are made unless a collector is named", arguments: ["", "tracing: off"])
    func off(text: String) throws {
        let file = try parse(text)
        #expect(file.settings.tracing == nil)
        #expect(file.effective.first { $0.key == "tracing" }?.value == "off")
    }

    @Test("what holds where only the collector is named")
    func standards() throws {
        let file = try parse("tracing: { endpoint: http://127.0.0.1:4318 }")
        let tracing = try #require(file.settings.tracing)
        #expect(!tracing.isSecure && tracing.host == "127.0.0.1" && tracing.port == 4318)
        #expect(tracing.target == "/v1/traces" && tracing.headers.isEmpty)
        #expect(tracing.sample == 10_000 && tracing.parent == .follow && tracing.service == "recast")
        #expect(tracing.queue == 2048 && tracing.batch == 512)
        #expect(tracing.interval == .seconds(5) && tracing.timeout == .seconds(10))
        let shown = Dictionary(uniqueKeysWithValues: file.effective.map { ($0.key, $0.value) })
        #expect(shown["tracing.endpoint"] == "http://127.0.0.1:4318" && shown["tracing.sample"] == "1%")
    }

    @Test(
        "where a collector is",
        arguments: [
            ("http://a.example", false, "a.example", 80, "/v1/traces"),
            ("https://a.example/", true, "a.example", 443, "/v1/traces"),
            ("https://a.example:4318/x/y?z=1", true, "a.example", 4318, "/x/y?z=1"),
            ("http://[::1]:4318", false, "::1", 4318, "/v1/traces"), ("http://[::1]/t", false, "::1", 80, "/t"),
            ("http://10.0.0.1:1?a", false, "10.0.0.1", 1, "/?a"),
        ])
    func endpoint(text: String, isSecure: Bool, host: String, port: UInt16, target: String) throws {
        let tracing = try #require(try parse("tracing: { endpoint: \"\(text)\" }").settings.tracing)
        #expect(tracing.isSecure == isSecure && tracing.host == host && tracing.port == port)
        #expect(tracing.target == target)
    }

    @Test(
        "parts of all requests",
        arguments: [
            ("0%", 0, "0%"), ("100%", 1_000_000, "100%"), ("1%", 10_000, "1%"), ("0.5%", 5000, "0.5%"),
            ("0.0001%", 1, "0.0001%"), ("99.9999%", 999_999, "99.9999%"), ("12.50%", 125_000, "12.5%"),
        ])
    func sample(text: String, millionths: Int, shown: String) throws {
        let file = try parse("tracing: { endpoint: http://a, sample: \(text) }")
        #expect(file.settings.tracing?.sample == millionths)
        #expect(file.effective.first { $0.key == "tracing.sample" }?.value == shown)
    }

    @Test("fields of the requests to the collector, whose secrets aren't shown")
    func headers() throws {
        let file = try parse(
            "tracing: { endpoint: http://a, headers: { Authorization: \"${file:/run/secret}\", X-A: b } }")
        #expect(
            file.settings.tracing?.headers == [
                .init(name: "Authorization", value: "s3cret"), .init(name: "X-A", value: "b"),
            ])
        let shown = try #require(file.effective.first { $0.key == "tracing.headers.Authorization" })
        #expect(file.redacted(shown).value == "${file:/run/secret}")
    }

    @Test("a batch is no longer than the queue: one that isn't written follows it")
    func batch() throws {
        for (text, queue, batch) in [("queue: 10", 10, 10), ("queue: 10, batch: 10", 10, 10), ("queue: 513", 513, 512)]
        {
            let file = try parse("tracing: { endpoint: http://a, \(text) }")
            #expect(file.settings.tracing?.queue == queue && file.settings.tracing?.batch == batch)
            #expect(file.effective.first { $0.key == "tracing.batch" }?.value == "\(batch)")
        }
    }

    @Test(
        "what is wrong is told, and where",
        arguments: [
            ("tracing: on", "1:10", "\"tracing\" is off, or says where spans go"),
            ("tracing: http://a", "1:10", "endpoint"),
            ("tracing: { sample: 1% }", "1:10", "needs \"endpoint\""),
            ("tracing: { endpoint: 127.0.0.1:4318 }", "1:22", "begins with neither http:// nor https://"),
            ("tracing: { endpoint: ftp://a }", "1:22", "begins with neither http:// nor https://"),
            ("tracing: { endpoint: \"http://\" }", "1:22", "no host"),
            ("tracing: { endpoint: \"http://a:0\" }", "1:22", "no port"),
            ("tracing: { endpoint: \"http://a:65536\" }", "1:22", "no port"),
            ("tracing: { endpoint: \"http://u:p@a\" }", "1:22", "Authorization"),
            ("tracing: { endpoint: \"http://a/#x\" }", "1:22", "fragment"),
            ("tracing: { endpoint: \"http://a/ b\" }", "1:22", "no URL"),
            ("tracing: { endpoint: http://a, sample: 0.01 }", "1:40", "as in 0.5%"),
            ("tracing: { endpoint: http://a, sample: 100.0001% }", "1:40", "as in 0.5%"),
            ("tracing: { endpoint: http://a, sample: 1.00001% }", "1:40", "as in 0.5%"),
            ("tracing: { endpoint: http://a, sample: .5% }", "1:40", "as in 0.5%"),
            ("tracing: { endpoint: http://a, sample: -1% }", "1:40", "as in 0.5%"),
            ("tracing: { endpoint: http://a, parent: none }", "1:40", "known are follow, ignore"),
            ("tracing: { endpoint: http://a, samples: 1% }", "1:32", "did you mean \"sample\""),
            ("tracing: { endpoint: http://a, queue: 0 }", "1:39", "from 1 to 1000000"),
            ("tracing: { endpoint: http://a, batch: 10001 }", "1:39", "from 1 to 10000"),
            (
                "tracing: { endpoint: http://a, queue: 10, batch: 11 }", "1:50",
                "\"batch\" is at most \"queue\", which is 10 here, not 11"
            ),
            ("tracing: { endpoint: http://a, batch: 2049 }", "1:39", "at most \"queue\", which is 2048 here, not 2049"),
            ("tracing: { endpoint: http://a, interval: 0s }", "1:42", "longer than nothing"),
            ("tracing: { endpoint: http://a, service: \"\" }", "1:41", "at most 255 bytes"),
            ("tracing: { endpoint: http://a, headers: { Host: a } }", "1:43", "by Recast itself"),
            ("tracing: { endpoint: http://a, headers: { \"a b\": a } }", "1:43", "no name"),
            ("tracing: { endpoint: http://a, headers: { a: \"b\\nc\" } }", "1:46", "without line ends"),
            ("tracing: { endpoint: http://a, headers: { a: b, A: c } }", "1:49", "twice"),
        ])
    func mistakes(line: String, place: String, message: String) {
        let found = SettingsTestFile.mistakes(
            line + "\n" + SettingsTestFile.head + "  - { name: all, match: /*, upstream: app }")
        #expect(found.count == 1 && found[0].hasPrefix(place) && found[0].contains(message), "\(found)")
    }
}
