import Settings
import Testing
import Transcoding

@Suite("Dialect of an output")
struct OutputDialectTests {
    @Test("a dialect gives its bundle", arguments: Dialect.allCases, ["form", "multipart"])
    func bundle(dialect: Dialect, encoding: String) throws {
        let plan = try Conversions.parse("json -> \(encoding)(dialect: \(dialect.rawValue))")
        #expect(plan.fieldEncoding == FieldEncodingOptions(dialect: dialect))
        #expect(plan.rewritesNames == ![.recast, .whatwg].contains(dialect))
    }

    @Test("single options change the bundle, in whatever order they are written")
    func overrides() throws {
        var options = FieldEncodingOptions(dialect: .alamofire)
        options.arrays = .indices
        options.order = .input
        options.booleans = .literal
        for words in [
            "dialect: alamofire, arrays: indices, order: input, booleans: literal",
            "order: input, booleans: literal, arrays: indices, dialect: alamofire",
        ] {
            #expect(try Conversions.parse("json -> form(\(words))").fieldEncoding == options)
        }
        #expect(try Conversions.parse("form -> form(dialect: whatwg, arrays: brackets)").rewritesNames)
    }

    @Test("a dialect is for form and multipart")
    func encodings() {
        #expect(throws: (any Error).self) { try Conversions.parse("form -> json(dialect: php)") }
        #expect(throws: (any Error).self) { try Conversions.parse("json -> form(dialect: perl)") }
    }
}
