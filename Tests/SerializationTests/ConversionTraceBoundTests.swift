import TestSupport
import Testing
import Transcoding

/// What a sample may cost that is explained between two requests of others.
@Suite struct ConversionTraceBoundTests {
    /// The code of the refusal; nil: it is explained.
    private static func outcome(_ body: String, output: Int = 1000, entries: Int = 1000) -> String? {
        do throws(ConversionError) {
            let bytes = Array(body.utf8)
            let trace = try ConversionTrace.make(
                plan: ConversionPlan(inputs: [.json], output: .json), contentType: Array("application/json".utf8).span,
                body: bytes.span, bound: .init(output: output, entries: entries))
            #expect(trace.output == bytes)
            return nil
        } catch {
            return error.code
        }
    }

    @Test("fields", arguments: [(4, nil), (5, nil), (6, "limit_sample")])
    func fields(_ count: Int, _ expected: String?) {
        let body = "[\(Array(repeating: "1", count: count).joined(separator: ","))]"
        #expect(Self.outcome(body, entries: 5) == expected)
    }

    @Test("empty containers, of which there are twice as many", arguments: [(9, nil), (20, "limit_sample")])
    func nodes(_ count: Int, _ expected: String?) {
        let body = "[\(Array(repeating: "[]", count: count).joined(separator: ","))]"
        #expect(Self.outcome(body, entries: 5) == expected)
    }

    @Test("bytes of output", arguments: [(9, nil), (10, nil), (11, "limit_sample")])
    func output(_ count: Int, _ expected: String?) {
        let body = "\"\(String(repeating: "a", count: count - 2))\""
        #expect(Self.outcome(body, output: 10) == expected)
    }

    /// Where a node stands is found out by its siblings: without a bound these took minutes.
    @Test func manyAreRefusedBeforeTheyAreLookedAt() {
        let body = "[\(Array(repeating: "1", count: 200_000).joined(separator: ","))]"
        let time = processorTime {
            #expect(Self.outcome(body, output: 1 << 20, entries: 5000) == "limit_sample")
        }
        #expect(time < .seconds(20))
    }
}
