import Serialization
import Testing
import Transcoding

@Suite("Null removal")
struct NullRemovalTests {
    static func row(_ removal: NullRemoval, _ input: String, _ expected: String) -> PipelineRow {
        PipelineRow(.json, .json, input, expected) { $0.removeNulls = removal }
    }

    static let rows: [PipelineRow] = [
        row(.off, #"{"a":null,"b":[null]}"#, #"{"a":null,"b":[null]}"#),
        row(.keys, #"{"a":[null,[null,1]],"b":null}"#, #"{"a":[null,[null,1]]}"#),
        row(.deep, #"{"a":[null,[null,1]],"b":null}"#, #"{"a":[[1]]}"#),
        row(.keys, #"[{"a":null,"b":{"c":null}},null]"#, #"[{"b":{}},null]"#),
        row(.deep, #"[{"a":null,"b":{"c":null}},null,[null]]"#, #"[{"b":{}},[]]"#),
        row(.deep, "null", "null"),
        row(.deep, #"{"a":null}"#, "{}"),
        row(.deep, "{}", "{}"),
        row(.deep, #"{"a":null,"a":1,"a":null}"#, #"{"a":1}"#),
        PipelineRow(.json, .form, #"{"a":null,"b":[1,null,2]}"#, "b[]=1&b[]=2") { $0.removeNulls = .deep },
    ]

    @Test("what a removal names is left out, and nothing else", arguments: rows)
    func removal(_ row: PipelineRow) { row.check() }

    @Test("what is left out is counted")
    func count() throws {
        var plan = ConversionPlan(inputs: [.json], output: .json)
        plan.removeNulls = .deep
        let conversion = try Conversion.make(plan: plan, contentType: [UInt8]("application/json".utf8).span)
        let input = [UInt8](#"{"a":null,"b":[null,1]}"#.utf8)
        let taken = try conversion.feed(input.span)
        let isDone = try conversion.finish()
        #expect(taken == input.count && isDone)
        #expect(conversion.accounting.removed == 2)
    }
}
