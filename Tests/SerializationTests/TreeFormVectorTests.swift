import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

@Suite("Recommended form decoding")
struct TreeFormVectorTests {
    static let rows = formVectors("form-decode-recommended.json")

    @Test("there are 120 rows")
    func count() { #expect(Self.rows.count == 120) }

    @Test("each row gives its document, members and elements in order, or its error", arguments: rows.indices)
    func row(_ index: Int) throws {
        let row = Self.rows[index]
        var plan = ConversionPlan(inputs: [.form], output: .json)
        if let depth = row["options"]?["depth"].flatMap({ Int($0.canonical) }) { plan.limits.keyDepth = depth }
        if let pairs = row["options"]?["pairs"].flatMap({ Int($0.canonical) }) { plan.limits.fields = pairs }
        let input = try #require(row["input"]?.bytes)
        let run = ConversionRun.run(plan, .whole(input))
        if let expected = row["expect"] {
            var encoder = JSON.Encoder(options: .init())
            try expected.send(into: &encoder)
            #expect(run.output == ByteString(encoder.output.span.copied()) && run.failure == nil)
        } else {
            let codes = [
                "invalid_utf8": "form_invalid_utf8", "conflict": "form_conflict", "too_deep": "limit_key_depth",
                "too_many_pairs": "limit_fields",
            ]
            let code = try #require(row["error"]?.text.flatMap { codes[$0] })
            #expect(run.failure?.code == code)
        }
    }
}
