import Serialization
import TestSupport
import Testing
import Transcoding

/// Property lists in conversions, where the tree and the types of fields stand between two codecs.
@Suite struct PropertyListConversionTests {
    private func result(
        _ input: BodyEncoding, _ output: BodyEncoding, _ body: String, types: [(String, FieldType)] = []
    ) throws -> String {
        var plan = ConversionPlan(inputs: [input], output: output)
        plan.types = try types.map { TypeRule(path: try FieldPath(parsing: $0.0), type: $0.1) }
        let run = ConversionRun.run(plan, .whole(Array(body.utf8)))
        #expect(run.violations == [])
        if output == .bplist, run.failure == nil { return try jsonText(run.output.bytes) }
        return run.result
    }

    private func element(_ text: String) -> String? {
        let lines = text.split(separator: "\n").filter { $0.hasPrefix("\t") && !$0.hasPrefix("\t<key>") }
        return lines.map { $0.dropFirst() }.joined()
    }

    @Test func `a field declared a date or data becomes one`() throws {
        let body = #"{"a":"2001-01-01T01:00:00+01:00"}"#
        #expect(element(try result(.json, .plist, body)) == "<string>2001-01-01T01:00:00+01:00</string>")
        #expect(element(try result(.json, .plist, body, types: [("a", .date)])) == "<date>2001-01-01T00:00:00Z</date>")
        #expect(try result(.json, .bplist, body, types: [("a", .date)]) == #"{"a":"2001-01-01T00:00:00Z"}"#)
        let bytes = try result(.json, .plist, #"{"a":"AQID"}"#, types: [("a", .data)])
        #expect(element(bytes) == "<data>AQID</data>")
    }

    @Test(arguments: [BodyEncoding.plist, .bplist])
    func `a date without a time passes as text, and is no date of a property list`(_ output: BodyEncoding) throws {
        let body = #"{"a":[{"b":"2001-01-01"}]}"#
        let types: [(String, FieldType)] = [("a[*].b", .date)]
        #expect(try result(.json, output, body, types: types) == "!plist_date_without_time /a/0/b")
        #expect(try result(.json, .json, body, types: types) == body)
        #expect(try result(.json, output, body).contains("2001-01-01"))
    }

    @Test func `dates and bytes pass between property lists, and are text elsewhere`() throws {
        let content = "<dict><key>d</key><date>2001-01-01T00:00:00Z</date><key>b</key><data>AQID</data></dict>"
        let body = String(decoding: plistXML(content), as: UTF8.self)
        #expect(element(try result(.plist, .plist, body)) == "<date>2001-01-01T00:00:00Z</date><data>AQID</data>")
        #expect(try result(.plist, .json, body) == #"{"d":"2001-01-01T00:00:00Z","b":"AQID"}"#)
        #expect(try result(.plist, .form, body) == "d=2001-01-01T00%3A00%3A00Z&b=AQID")
    }
}
