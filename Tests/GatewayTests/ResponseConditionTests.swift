import Gateway
import Testing

/// The conditions of response rules by themselves.
@Suite struct ResponseConditionTests {
    @Test(
        "statuses are one, a class or a range of final ones",
        arguments: [
            ("200", "200"), ("2xx", "2xx"), ("5XX", "5xx"), ("200-299", "2xx"), ("200-206", "200-206"),
            ("404-404", "404"), ("200-599", "200-599"),
        ])
    func status(text: String, shown: String) throws {
        #expect(try StatusRange(parsing: text).description == shown)
    }

    @Test(
        "what is no status is refused",
        arguments: [
            "", "20", "2000", "2x", "x00", "200-", "200-2xx", "-200", "200 - 299", "0xx", "6xx", "600", "099",
            "299-200", "100", "1xx", "199-200", "٢٠٠", "+20",
        ])
    func noStatus(text: String) {
        #expect(throws: PatternFault.self) { try StatusRange(parsing: text) }
    }

    @Test("a condition covers one that holds for fewer responses")
    func covers() throws {
        func condition(_ statuses: [String], _ types: [String], _ accept: [String]) throws -> ResponseCondition {
            ResponseCondition(
                statuses: try statuses.map { try StatusRange(parsing: $0) },
                types: try types.map { try ResponseTypePattern(parsing: $0) },
                accept: try accept.map { try MediaRange(parsing: $0) })
        }
        let cases: [(ResponseCondition, ResponseCondition, Bool)] = [
            (try condition([], [], []), try condition(["404"], ["+json"], ["a/b"]), true),
            (try condition(["4xx"], [], []), try condition(["404", "410-412"], [], []), true),
            (try condition(["4xx"], [], []), try condition(["404", "500"], [], []), false),
            (try condition(["404"], [], []), try condition([], [], []), false),
            (try condition([], ["+json"], []), try condition([], ["a/b+json", "+json"], []), true),
            (try condition([], ["+json"], []), try condition([], ["a/json"], []), false),
            (try condition([], ["a/*"], []), try condition([], ["+json"], []), false),
            (try condition([], ["*/*"], []), try condition([], ["+json"], []), true),
            (try condition([], ["*/*"], []), try condition([], [], []), false),
            (try condition([], [], ["a/b", "a/c"]), try condition([], [], ["a/b"]), true),
            (try condition([], [], ["a/b"]), try condition([], [], ["a/c"]), false),
        ]
        for (first, second, covers) in cases { #expect(first.covers(second) == covers) }
    }
}
