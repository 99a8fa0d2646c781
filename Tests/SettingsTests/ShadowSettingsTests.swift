import Gateway
import Proxy
import Settings
import Testing
import Transcoding

/// What the settings say of copies of a route's requests.
@Suite struct ShadowSettingsTests {
    private static let head = """
        version: 1
        listen: 127.0.0.1:8080
        upstreams: { app: "127.0.0.1:3000", new: "127.0.0.1:3001", two: { address: "127.0.0.1:3002", http: 2 } }
        routes:

        """

    private func text(_ value: String, _ more: String = "") -> String {
        Self.head + "  - { name: all, match: \"/*\", upstream: app, shadow: \(value)\(more) }"
    }

    private func route(_ value: String, _ more: String = "") throws -> Route {
        try #require(SettingsTestFile.parse(text(value, more)).settings.routes.first)
    }

    @Test("copies for an upstream")
    func upstream() throws {
        #expect(try route("off").shadow == nil)
        let plain = try #require(try route("{ upstream: new }").shadow)
        #expect(plain.options.upstream == 1 && plain.options.sample == 1_000_000 && plain.options.buffer == 65_536)
        #expect(plain.options.inFlight == 16 && plain.options.timeout == .seconds(5) && !plain.options.compares)
        #expect(plain.trial == nil)
        var options = ShadowOptions()
        options.upstream = 1
        (options.sample, options.buffer, options.inFlight) = (2500, 1024, 1)
        options.timeout = .seconds(1)
        options.compares = true
        options.ignored = [try FieldPath(parsing: "updated_at"), try FieldPath(parsing: "items[*].id")]
        let written =
            "{ upstream: new, sample: 0.25%, buffer: 1KiB, in_flight: 1, timeout: 1s, compare: true, ignore: [updated_at, \"items[].id\"] }"
        #expect(try route(written).shadow?.options == options)
    }

    @Test("a conversion that is tried, the route's own or another one")
    func trial() throws {
        let own = try route("convert", ", request: form -> json")
        #expect(own.conversion == nil && own.shadow?.options.upstream == nil)
        #expect(own.shadow?.trial?.conversion?.plan.output == .json && own.converting.conversion != nil)
        let other = try route("{ convert: \"json -> form\", sample: 10% }")
        #expect(other.conversion == nil && other.shadow?.trial?.conversion?.plan.output == .form)
        let both = try route("{ convert: request, upstream: new }", ", request: form -> json")
        #expect(both.conversion == nil && both.shadow?.trial != nil && both.shadow?.options.upstream == 1)
        let long = try route("{ convert: { decode: { as: form }, encode: { as: json }, on_other_type: pass } }")
        #expect(long.shadow?.trial?.conversion?.otherTypes == .pass)
        // What is converted for real is not tried.
        let real = try route("{ upstream: new }", ", request: form -> json")
        #expect(real.conversion != nil && real.shadow?.trial == nil)
    }

    @Test(
        "what is wrong is said with its place",
        arguments: [
            ("on", "", "5:54: \"shadow\" is no \"on\": it is convert, off, or a mapping"),
            ("new", "", "5:54: \"shadow\" is no \"new\": write shadow: { upstream: new, sample: 10% }"),
            ("[]", "", "5:54: \"shadow\" is a mapping of keys to values, not a list"),
            (
                "{}", "",
                "5:54: \"shadow\" needs \"upstream\", as in upstream: new, or \"convert\", as in convert: request"
            ),
            ("{ upstream: nww }", "", "5:66: there is no upstream \"nww\": did you mean \"new\"?"),
            ("{ upstream: app }", "", "5:66: \"app\" is the route's own upstream, which would get each request twice"),
            ("{ upstream: two }", "", "5:66: copies go by HTTP/1.1, and the upstream \"two\" is spoken to by HTTP/2"),
            ("{ upstream: new, sampel: 1% }", "", "5:71: \"shadow\" has no key \"sampel\": did you mean \"sample\"?"),
            ("{ upstream: new, sample: 0% }", "", "5:79: \"sample\" is a part of the route's requests above 0%"),
            ("{ upstream: new, sample: 100.0001% }", "", "5:79: \"sample\" is a part of the route's requests above 0%"),
            ("{ upstream: new, sample: 0.1 }", "", "5:79: \"sample\" is a part of the route's requests above 0%"),
            ("{ upstream: new, buffer: 1023B }", "", "5:79: \"buffer\""),
            ("{ upstream: new, buffer: 5MiB }", "", "5:79: \"buffer\" is at most 4MiB"),
            ("{ upstream: new, in_flight: 0 }", "", "5:82: \"in_flight\" is"),
            ("{ upstream: new, in_flight: 65536 }", "", "5:82: \"in_flight\" is"),
            ("{ upstream: new, timeout: 0s }", "", "5:80: \"timeout\""),
            (
                "{ upstream: new, ignore: [a] }", "",
                "5:79: \"ignore\" is for answers that are compared: add \"compare: true\""
            ),
            (
                "{ upstream: new, compare: true, ignore: [\"a[\"] }", "",
                "5:95: \"a[\" is no path of a field, as in updated_at"
            ),
            ("convert", "", "5:54: the route has no \"request\" whose conversion could be tried: add one"),
            ("{ convert: request }", "", "5:65: the route has no \"request\" whose conversion could be tried: add one"),
            ("{ convert: frm -> json }", "", "5:65: "),
            ("{ convert: json -> form }", ", request: form -> json", "5:65: the route converts its requests already"),
            ("{ convert: json -> form, compare: true }", "", "5:79: \"compare\" is for copies that go to an upstream"),
            ("{ convert: json -> form, in_flight: 2 }", "", "5:79: \"in_flight\" is for copies that go to an upstream"),
        ])
    func mistakes(value: String, more: String, message: String) {
        let mistakes = SettingsTestFile.mistakes(text(value, more))
        #expect(mistakes.count == 1 && mistakes[0].hasPrefix(message), "\(mistakes)")
    }

    @Test("routes whose requests a data plane forwards have no copies")
    func dataPlane() {
        let mistakes = SettingsTestFile.mistakes(
            """
            version: 1
            listen: { address: 127.0.0.1:8080, serves: ext_proc }
            upstreams: { new: "127.0.0.1:3001" }
            routes:
              - { name: all, match: "/*", shadow: { upstream: new } }
            """)
        #expect(
            mistakes.count == 1 && mistakes[0].hasPrefix("5:39: \"shadow\" is for routes with an upstream"),
            "\(mistakes)")
        #expect(
            SettingsTestFile.mistakes(
                """
                version: 1
                listen: { address: 127.0.0.1:8080, serves: ext_proc }
                routes:
                  - { name: all, match: "/*", shadow: off }
                """
            ).isEmpty)
    }
}
