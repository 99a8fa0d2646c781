import EventLoop
import Gateway
import Octets
import Testing

@testable import Proxy

/// The counts of routes, which workers share.
@Suite struct RateLimitersTests {
    private let limit = RateLimit(count: 1, per: .seconds(3600), burst: 20)

    private func samples(_ limiters: RateLimiters) -> String {
        var samples = MetricSamples()
        limiters.visit(&samples)
        return samples.text().span.lossyString()
    }

    @Test("threads that hammer a limit pass as many as the burst together, not one more", arguments: [1, 20, 1000])
    func threads(burst: Int) async {
        let limiter = RateLimiter(RateLimit(count: 1, per: .seconds(3600), burst: burst))
        let passed = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    (0..<2000).count { _ in limiter.take(value: Array("key".utf8).span, now: 1000).isPassed }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(passed == burst)
    }

    @Test("threads with many keys pass the burst of each, while the table grows")
    func manyKeys() async {
        let limiter = RateLimiter(RateLimit(count: 1, per: .seconds(3600), burst: 3))
        let passed = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    (0..<20_000).count { number in
                        limiter.take(value: Array("key \(number % 5000)".utf8).span, now: 1000).isPassed
                    }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(passed == 3 * 5000)
        #expect(limiter.held.entries == 5000 && limiter.held.evicted == 0)
    }

    @Test("a client is an IPv4 address or a network of IPv6, and those without an address are one")
    func clients() throws {
        let limiter = RateLimiter(RateLimit(count: 1, per: .seconds(3600)))
        func passes(_ text: String) throws -> Bool {
            let address = try #require(SocketAddress.parse(text))
            return limiter.take(ClientKey(address.unmapped), now: 1).isPassed
        }
        for (address, isNew) in [
            ("10.0.0.1:1", true), ("10.0.0.1:2", false), ("10.0.0.2:1", true), ("[::ffff:10.0.0.1]:1", false),
            ("[2001:db8::1]:1", true), ("[2001:db8::ffff:2]:1", false), ("[2001:db8:0:1::1]:1", true),
            ("unix:/a", true), ("unix:/b", false),
        ] {
            #expect(try passes(address) == isNew, "\(address)")
        }
        // As those without an address, so those without the value.
        #expect(!limiter.take(value: Span(), now: 1).isPassed)
    }

    @Test(
        "a reload keeps what is counted where the limit stays; where it changes the route begins anew, and its counters go on"
    )
    func reloads() {
        let limiters = RateLimiters()
        let first = limiters.limiter(of: "a", limit)
        for _ in 0..<21 { _ = first.take(nil, now: 1) }
        #expect(!first.take(nil, now: 1).isPassed)
        #expect(limiters.limiter(of: "a", limit) === first)
        var silent = limit
        silent.tells = false
        #expect(limiters.limiter(of: "a", silent) === first)
        var same = limit
        (same.count, same.period) = (2, .seconds(7200))
        #expect(limiters.limiter(of: "a", same) === first)
        #expect(limiters.limiter(of: "b", limit) !== first)
        for change in [
            { $0.burst = 21 }, { $0.count = 2 }, { $0.entries = 1000 }, { $0.key = .value(.header("x")) },
        ] as [(inout RateLimit) -> Void] {
            var other = limit
            change(&other)
            #expect(limiters.limiter(of: "a", other) !== limiters.limiter(of: "a", limit))
        }
        #expect(limiters.limiter(of: "a", limit).take(nil, now: 1).isPassed)
        let text = samples(limiters)
        #expect(text.contains(#"recast_rate_limit_requests_total{route="a",result="passed"} 21"#))
        #expect(text.contains(#"recast_rate_limit_requests_total{route="a",result="limited"} 2"#))
        #expect(text.contains(#"recast_rate_limit_entries{route="a"} 1"#))
        #expect(text.contains(#"recast_rate_limit_entries{route="b"} 0"#))
        limiters.keep(["b"])
        #expect(!samples(limiters).contains(#"route="a""#))
    }

    @Test("evictions are counted, those of a limit that the route had before, too")
    func evictions() {
        let limiters = RateLimiters()
        var small = limit
        small.entries = 100
        let limiter = limiters.limiter(of: "a", small)
        for number in 0..<1000 { #expect(limiter.take(value: Array("\(number)".utf8).span, now: 1).isPassed) }
        let evicted = limiter.held.evicted
        #expect(evicted >= 1000 - 96 && limiter.held.entries <= 96)
        _ = limiters.limiter(of: "a", limit)
        #expect(samples(limiters).contains(#"recast_rate_limit_evictions_total{route="a"} \#(evicted)"#))
    }
}
