import Gateway
import HTTPWire
import Octets
import Testing

@Suite struct TraceParentTests {
    private static let ids = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7"

    @Test(
        "W3C Trace Context: what a traceparent says, and how it is written again",
        arguments: [
            ("00-\(ids)-01", true, "00-\(ids)-01"), ("00-\(ids)-00", false, "00-\(ids)-00"),
            // The trace's low bits are random (level 2); what else a flag may say is not known.
            ("00-\(ids)-03", true, "00-\(ids)-03"), ("00-\(ids)-ff", true, "00-\(ids)-03"),
            ("00-\(ids)-fe", false, "00-\(ids)-02"),
            // A later version is read as far as it is known, and written as ours.
            ("cc-\(ids)-01", true, "00-\(ids)-01"), ("cc-\(ids)-01-more", true, "00-\(ids)-01"),
        ])
    func parent(text: String, isSampled: Bool, written: String) throws {
        let parsed = TraceParent(parsing: Array(text.utf8).span)
        let parent = try #require(parsed)
        #expect(parent.high == 0x4bf9_2f35_77b3_4da6 && parent.low == 0xa3ce_929d_0e0e_4736)
        #expect(parent.span == 0x00f0_67aa_0ba9_02b7 && parent.isSampled == isSampled)
        var output = OutputBuffer()
        parent.appendLine(to: &output)
        #expect(output.span.lossyString() == "traceparent: \(written)\r\n")
        output.removeAll()
        parent.appendTraceID(to: &output)
        #expect(output.span.lossyString() == "4bf92f3577b34da6a3ce929d0e0e4736")
    }

    @Test(
        "what is no parent",
        arguments: [
            "", "00", "00-\(ids)", "ff-\(ids)-01", "00-\(ids)-01-", "00-\(ids.uppercased())-01", "00-\(ids)-0g",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        ])
    func invalid(text: String) {
        let parsed = TraceParent(parsing: Array(text.utf8).span)
        #expect(parsed == nil)
    }

    @Test("a span that has the number of the trace's second half is written whole")
    func sameNumber() {
        let parent = TraceParent(high: 1, low: 0xa3ce_929d_0e0e_4736, span: 0xa3ce_929d_0e0e_4736, flags: 1)
        var output = OutputBuffer()
        parent.appendLine(to: &output)
        let half = "a3ce929d0e0e4736"
        #expect(output.span.lossyString() == "traceparent: 00-0000000000000001\(half)-\(half)-01\r\n")
    }

    @Test("all bits of ids are written")
    func extremes() {
        var line = OutputBuffer()
        TraceParent(high: 0, low: 1, span: .max, flags: 0).appendLine(to: &line)
        #expect(line.span.lossyString() == "traceparent: 00-00000000000000000000000000000001-ffffffffffffffff-00\r\n")
    }

    @Test(
        "a ratio takes the ids below its threshold, as OpenTelemetry's samplers do",
        arguments: [
            (0, 0, false), (0, UInt64.max, false), (1_000_000, 0, true), (1_000_000, UInt64.max, true),
            (500_000, (1 << 63) - 1, true), (500_000, 1 << 63, false), (250_000, (1 << 62) - 1, true),
            (250_000, 1 << 62, false),
            // A millionth of 2^64, rounded down.
            (1, 18_446_744_073_708, true), (1, 18_446_744_073_709, false),
            (999_999, UInt64.max - 18_446_744_073_709, false), (999_999, UInt64.max - 18_446_744_073_710, true),
        ] as [(Int, UInt64, Bool)])
    func ratio(millionths: Int, low: UInt64, isTaken: Bool) {
        #expect(TraceRatio(millionths: millionths).takes(low) == isTaken)
    }

    @Test("of many ids about the ratio is taken, none is 0, and none comes twice")
    func generator() {
        var ids = TraceIDGenerator(state: 7, key: 9)
        var seen: Set<UInt64> = []
        let ratio = TraceRatio(millionths: 10_000)
        var taken = 0
        for _ in 0..<100_000 {
            let id = ids.next()
            #expect(id != 0)
            seen.insert(id)
            if ratio.takes(id) { taken += 1 }
        }
        #expect(seen.count == 100_000)
        // 1,000 are expected, with a deviation of 31.
        #expect((850...1150).contains(taken))
        var other = TraceIDGenerator(state: 7, key: 10)
        var same = TraceIDGenerator(state: 7, key: 9)
        #expect(other.next() == same.next())
        #expect(other.high != same.high)
        let high = other.high
        _ = other.next()
        #expect(other.high != high)
    }

    @Test("SplitMix64 as published: the first numbers of the seed 1234567")
    func published() {
        var ids = TraceIDGenerator(state: 1_234_567, key: 0)
        #expect(ids.next() == 6_457_827_717_110_365_317)
        #expect(ids.next() == 3_203_168_211_198_807_973)
        #expect(ids.next() == 9_817_491_932_198_370_423)
    }
}
