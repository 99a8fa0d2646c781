import ContentCoding
import Gateway
import HTTPWire
import Octets
import Testing

@testable import Proxy

/// Whether two answers are the same, and whether they can be compared at all.
@Suite struct ShadowComparisonTests {
    private static let json = "application/json"

    private func answer(
        _ content: String, type: String = json, status: Int = 200, isWhole: Bool = true, limit: Int = .max
    ) throws -> ShadowAnswer {
        try answer(Array(content.utf8), type: type, status: status, isWhole: isWhole, limit: limit)
    }

    private func answer(
        _ content: [UInt8], type: String, status: Int = 200, fields: String = "", isWhole: Bool = true,
        limit: Int = .max
    ) throws -> ShadowAnswer {
        var head = MessageHead()
        var parser = ResponseParser()
        let text = Array("HTTP/1.1 \(status) X\r\nContent-Type: \(type)\r\n\(fields)\r\n".utf8)
        let parsed = try parser.parse(text.span, into: &head)
        #expect(parsed == text.count)
        var answer = ShadowAnswer(head, route: forward(), limit: limit)
        answer.append(content.span, MemoryAllowance(MemoryBudget(limit: 1 << 30)))
        answer.isWhole = isWhole
        return answer
    }

    private func compare(_ first: ShadowAnswer?, _ second: ShadowAnswer) -> String {
        let comparison = ShadowComparison(first, second, ShadowOptions(), coders: CoderPool())
        return comparison.differences.all.isEmpty
            ? comparison.outcome.rawValue : "\(comparison.outcome.rawValue): \(comparison.description)"
    }

    @Test("values are compared, and contents without values by their bytes")
    func contents() throws {
        let first = try answer(#"{"a":1,"b":2}"#)
        #expect(compare(first, try answer(#"{ "b": 2, "a": 1 }"#)) == "same")
        #expect(compare(first, try answer(#"{"a":1,"b":3}"#)) == "different: value b")
        #expect(compare(first, try answer(#"{"a":1,"b":2}"#, status: 500)) == "different: status")
        #expect(compare(first, try answer("x", type: "text/html")) == "different: type")
        #expect(compare(try answer("x", type: "text/html"), try answer("y", type: "text/html")) == "different: content")
        #expect(compare(first, try answer("{")) == "different: unreadable")
    }

    @Test("what isn't whole or too long is skipped, but for its status")
    func skipped() throws {
        let first = try answer("{}")
        #expect(compare(nil, first) == "skipped")
        #expect(compare(first, try answer("{}", isWhole: false)) == "skipped")
        #expect(compare(first, try answer("{}", status: 404, isWhole: false)) == "different: status")
        for (limit, outcome) in [(1, "skipped"), (2, "same"), (3, "same")] {
            #expect(compare(first, try answer("{}", limit: limit)) == outcome)
        }
    }

    @Test("contents with a coding are compared up to a length", arguments: [-1, 0, 1])
    func codedLengths(_ more: Int) throws {
        let encoder = ContentEncoder(.gzip)
        var coded = OutputBuffer()
        // Too mixed to be taken for a bomb.
        let content = (0..<ShadowComparison.longest + more).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) }
        let isEncoded = encoder.encode(content.span, into: &coded)
        let isFinished = encoder.finish(into: &coded)
        #expect(isEncoded && isFinished)
        let fields = "Content-Encoding: gzip\r\n"
        let first = try answer(coded.span.copied(), type: "text/html", fields: fields)
        // A coding that differs is none of the content.
        let second = try answer(content, type: "text/html")
        #expect(compare(first, second) == (more > 0 ? "skipped" : "same"))
        let unknown = try answer(content, type: "text/html", fields: "Content-Encoding: secret\r\n")
        #expect(compare(first, unknown) == "skipped")
    }
}
