import Serialization
import Testing
import Transcoding

@Suite("Conversions of arrays of bytes")
struct ConversionPieceTests {
    private static let body = Array(
        ("a[b]=1&c=%20x" + (0..<4).map { "&a[\($0)]=" + String(repeating: "y", count: 50_000) }.joined()).utf8)
    private static let type = "application/x-www-form-urlencoded"
    private let plan = ConversionPlan(inputs: [.form], output: .json)

    @Test("The pieces give the bytes of the whole", arguments: [1, 7, 65_536, 1_000_000])
    func pieces(size: Int) throws {
        // A byte at a time the body is cut short, as the rest says nothing new.
        let body = size < 100 ? Array(Self.body.prefix(500)) : Self.body
        let whole = try plan.convert(body, contentType: Self.type)
        let conversion = try Conversion.make(plan: plan, contentType: Self.type)
        var output: [UInt8] = []
        var at = 0
        while at < body.count {
            let end = min(at + size, body.count)
            output += try conversion.convert(Array(body[at..<end]))
            output += try conversion.convert([])
            at = end
        }
        output += try conversion.convertEnd()
        #expect(output == whole.body)
        #expect(conversion.takeOutput().isEmpty)
        #expect(conversion.consumedCount == body.count)
    }

    @Test("More output than fits the buffer is taken at the end too")
    func longEnd() throws {
        var plan = plan
        plan.fieldEncoding.order = .sorted
        let whole = try plan.convert(Self.body, contentType: Self.type)
        #expect(whole.body.count > 200_000)
        let conversion = try Conversion.make(plan: plan, contentType: Self.type)
        #expect(try conversion.convert(Self.body) + conversion.convertEnd() == whole.body)
    }

    @Test("A fault ends the conversion and is thrown again")
    func faults() throws {
        let conversion = try Conversion.make(
            plan: ConversionPlan(inputs: [.json], output: .form), contentType: "application/json")
        let first = #expect(throws: ConversionError.self) { try conversion.convert(Array(#"{"a":1,}"#.utf8)) }
        #expect(first?.offset == 7)
        let second = #expect(throws: ConversionError.self) { try conversion.convertEnd() }
        #expect(second == first)
        let type = #expect(throws: ConversionError.self) { try Conversion.make(plan: plan, contentType: "image/png") }
        #expect(type?.code == "unsupported_media_type")
    }
}
