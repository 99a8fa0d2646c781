import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// A document that is held in a tree goes out as JSON by a loop in C; what it leaves goes by events, which do all where the output has
/// no room for the loop.
@Suite("JSON of a tree")
struct JSONTreeTests {
    private func plan(_ input: BodyEncoding, _ change: (inout ConversionPlan) -> Void = { _ in }) -> ConversionPlan {
        var plan = ConversionPlan(inputs: [input], output: .json)
        // A rule that concerns nothing has JSON held, too.
        plan.types = [TypeRule(path: path("no.such.member"), type: .integer)]
        change(&plan)
        return plan
    }

    private func escaped(_ bytes: [UInt8]) -> String {
        bytes.map { byte in "%" + String(0x100 + Int(byte), radix: 16).dropFirst() }.joined()
    }

    private func json(_ bytes: [UInt8]) -> [UInt8] {
        let short: [UInt8: String] = [0x22: "\\\"", 0x5C: "\\\\", 8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r"]
        let text = bytes.flatMap { byte -> [UInt8] in
            if let text = short[byte] { return Array(text.utf8) }
            guard byte < 0x20 else { return [byte] }
            return Array(("\\u00" + String(0x100 + Int(byte), radix: 16).dropFirst()).utf8)
        }
        return [0x22] + text + [0x22]
    }

    @Test("each byte is escaped where it must be, wherever it stands", arguments: UInt8(0)...0x7F)
    func everyByte(mark: UInt8) {
        for count in [1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 70] {
            for index in Set([0, 1, count / 2, count - 2, count - 1]).filter({ $0 >= 0 && $0 < count }) {
                var bytes = [UInt8](repeating: UInt8(ascii: "x"), count: count)
                bytes[index] = mark
                let input = Array("\(escaped(bytes))=\(escaped(bytes))&last=1".utf8)
                let expected =
                    Array("{".utf8) + json(bytes) + Array(":".utf8) + json(bytes) + Array(",\"last\":\"1\"}".utf8)
                // Brackets make a path of a name, and only its value is compared.
                let run = ConversionRun.run(plan(.form) { $0.fieldDecoding.nesting = .flat }, .whole(input))
                #expect(run.output.bytes == expected, "\(mark) at \(index) of \(count)")
            }
        }
    }

    @Test(
        "a text of nothing but escapes, of any length, before and behind others",
        arguments: [1, 5, 31, 32, 33, 64, 100, 3000, 20000])
    func escapes(count: Int) {
        let bytes = [UInt8](repeating: 1, count: count)
        let input = Array("a=b&k=\(escaped(bytes))&c=d".utf8)
        let expected = Array("{\"a\":\"b\",\"k\":".utf8) + json(bytes) + Array(",\"c\":\"d\"}".utf8)
        #expect(ConversionRun.run(plan(.form), .whole(input)).output.bytes == expected)
    }

    static let documents: [String] = [
        "{}", "[]", "\"\"", "1", "null", "true", "[[],{},[[]],{\"a\":{}}]",
        "{\"a\":[1,-2.5,1e7,true,false,null,\"x\"],\"b\":{\"c\":[{}]}}",
        "[\"\\u00e9\\ud83d\\ude00\",\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\"]",
        "{\"\":\"\",\"\\u0000\":1,\"a\\\"b\":{\"c\\\\\":[[[[[[1]]]]]]}}",
        "["
            + (0..<60).map { "{\"id\":\($0),\"name\":\"name \($0)\",\"tags\":[\"a\",\"b\"],\"on\":true}" }.joined(
                separator: ",") + "]",
        "{\"long\":\"" + String(repeating: "0123456789", count: 3000) + "\",\"last\":[1]}",
        "[" + String(repeating: "12345678901234567890,", count: 900) + "1]",
    ]

    @Test("the same for each room that the output has", arguments: documents)
    func watermarks(document: String) {
        let input = Array(document.utf8)
        let plan = plan(.json)
        let expected = ConversionRun.run(plan, .whole(input), highWatermark: 1)
        #expect(expected.failure == nil && expected.violations.isEmpty)
        for room in Array(250...264) + Array(stride(from: 270, to: 3000, by: 23)) + [16 << 10, 64 << 10, 1 << 20] {
            #expect(ConversionRun.run(plan, .whole(input), highWatermark: room) == expected, "\(room)")
        }
        let sorted = self.plan(.json) { $0.fieldEncoding.order = .sorted }
        #expect(ConversionRun.run(sorted, .whole(input)) == ConversionRun.run(sorted, .whole(input), highWatermark: 1))
    }

    @Test(
        "dates are strings, and bytes go by events between nodes that don't",
        arguments: [1, 256, 300, 400, 500, 1000, 64 << 10])
    func bytes(room: Int) {
        let list = """
            <plist version="1.0"><dict><key>a</key><date>2001-01-01T00:00:00Z</date><key>b</key><data>AAEC</data><key>c</key>\
            <array><data></data><string>x&amp;"y"</string><data>////</data><true/><false/><real>1.5</real></array></dict></plist>
            """
        let run = ConversionRun.run(plan(.plist), .whole(Array(list.utf8)), highWatermark: room)
        #expect(
            run.result == #"{"a":"2001-01-01T00:00:00Z","b":"AAEC","c":["","x&\"y\"","////",true,false,1.5]}"#)
    }

    @Test("booleans as numbers, and nulls that are left out, go by events")
    func rules() {
        let input = Array("{\"a\":true,\"b\":[false,null],\"c\":null}".utf8)
        let numeric = plan(.json) { $0.fieldEncoding.booleans = .numeric }
        #expect(ConversionRun.run(numeric, .whole(input)).result == #"{"a":1,"b":[0,null],"c":null}"#)
        let omitted = plan(.json) { $0.fieldEncoding.nulls = .omit }
        #expect(
            ConversionRun.run(omitted, .whole(input)) == ConversionRun.run(omitted, .whole(input), highWatermark: 1))
        let form = plan(.form) {
            $0.fieldEncoding.booleans = .numeric
            $0.fieldDecoding.types = .safe
        }
        #expect(ConversionRun.run(form, .whole(Array("a=true&b=false&c=x".utf8))).result == #"{"a":1,"b":0,"c":"x"}"#)
    }
}
