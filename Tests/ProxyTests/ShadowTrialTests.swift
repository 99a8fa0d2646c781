import Gateway
import Octets
import Testing
import Transcoding

@testable import Proxy

/// Conversions that are tried on copies: they refuse what the route itself would, and nothing else.
@Suite struct ShadowTrialTests {
    /// What comes of a request with that content: the code of the refusal, or "converted", or "passed".
    private func result(
        _ plan: ConversionPlan, _ start: String, fields: String = "", content: String = "", requestLine: Int = 16 * 1024
    ) throws -> String {
        let route = Route(
            index: 0, name: "tried", match: RouteMatch(path: try PathPattern(parsing: "/*")), upstream: 0,
            limits: plan.limits, request: .convert(plan, otherTypes: .reject, sources: []))
        var buffer = OutputBuffer()
        buffer.append(Array(content.utf8))
        let trial = ShadowTrial(
            route, content: buffer, hasContent: !content.isEmpty, conversions: ConversionPool(plan),
            coders: CoderPool(), requestLine: requestLine)
        let head = Array("\(start) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n".utf8)
        var result = trial.begin(head.span, sources: .success([]))
        while result == nil { result = trial.step() }
        switch result {
        case .converted: return "converted"
        case .passed: return "passed"
        case .refused(let refusal): return refusal.code
        case nil: return ""
        }
    }

    private static let json = "Content-Type: application/json\r\n"

    @Test("what grows beyond the route's ratio is refused, though nobody takes the output")
    func ratio() throws {
        let plan = ConversionPlan(inputs: [.json], output: .form)
        func content(_ name: Int) -> String {
            let elements = Array(repeating: "1", count: 25_000).joined(separator: ",")
            return "{\"\(String(repeating: "n", count: name))\":[\(elements)]}"
        }
        // Each element is written behind the name, in place of two bytes.
        #expect(try result(plan, "POST /", fields: Self.json, content: content(900)) == "limit_ratio")
        #expect(try result(plan, "POST /", fields: Self.json, content: content(100)) == "converted")
    }

    @Test("a query has what the settings' request line leaves it", arguments: [-1, 0, 1])
    func queryLength(_ more: Int) throws {
        var plan = ConversionPlan(inputs: [.json], output: .form)
        plan.writesQuery = true
        let count = 20_000
        let content = #"{"a":"\#(String(repeating: "v", count: count))"}"#
        #expect(
            try result(
                plan, "POST /x", fields: Self.json, content: content,
                requestLine: "POST /x?a= HTTP/1.1".utf8.count + count + more)
                == (more < 0 ? "query_too_long" : "converted"))
    }

    @Test("a query that is longer than what is buffered of one is refused")
    func longQuery() throws {
        var plan = ConversionPlan(inputs: [.json], output: .form)
        plan.writesQuery = true
        plan.limits.field = 1 << 20
        let members = (0..<10).map { "\"k\($0)\":\"\(String(repeating: "v", count: 60_000))\"" }.joined(separator: ",")
        #expect(try result(plan, "POST /x", fields: Self.json, content: "{\(members)}") == "query_too_long")
    }

    @Test("a head that went upstream is taken, however large the settings let it be")
    func largeHeads() throws {
        var plan = ConversionPlan(inputs: [.form], output: .json)
        plan.readsQuery = true
        plan.limits.field = 1 << 20
        let long = String(repeating: "v", count: 100_000)
        #expect(try result(plan, "GET /?a=\(long)") == "converted")
        #expect(try result(plan, "GET /?a=1", fields: "X-Long: \(long)\r\n") == "converted")
        let many = (0..<1000).map { "X-\($0): 1\r\n" }.joined()
        #expect(try result(plan, "GET /?a=1", fields: many) == "converted")
    }

    @Test("what has nothing to convert passes")
    func passing() throws {
        #expect(try result(ConversionPlan(inputs: [.form], output: .json), "GET /") == "passed")
    }
}
