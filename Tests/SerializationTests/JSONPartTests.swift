import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// Values that are one part each, with a JSON text.
@Suite("JSON in parts")
struct JSONPartTests {
    static func parts(_ from: BodyEncoding, _ to: BodyEncoding, _ input: String, _ expected: String, _ paths: String...)
        -> PipelineRow
    {
        PipelineRow(from, to, input, expected) { $0.jsonParts = paths.map { path($0) } }
    }

    static func dialect(_ dialect: Dialect, _ to: BodyEncoding, _ input: String, _ expected: String) -> PipelineRow {
        PipelineRow(.json, to, input, expected) {
            $0.fieldEncoding = FieldEncodingOptions(dialect: dialect)
            $0.jsonParts = [path("p")]
        }
    }

    static let rows: [PipelineRow] = [
        parts(
            .json, .multipart, #"{"a":1,"p":{"b":[1.50,null],"c":{"d":"x"}},"z":[2]}"#,
            #"a=1|p={"b":[1.50,null],"c":{"d":"x"}}|z[]=2"#, "p"),
        parts(.json, .multipart, #"{"p":[]}"#, "p=[]", "p"), parts(.json, .multipart, #"{"p":"x"}"#, #"p="x""#, "p"),
        parts(.json, .multipart, #"{"p":1,"q":null,"r":true}"#, "p=1|q=null|r=true", "p", "q", "r"),
        parts(.json, .multipart, #"{"a":{"p":{"x":1},"q":2}}"#, #"a[p]={"x":1}|a[q]=2"#, "a.p"),
        parts(.json, .multipart, #"{"l":[{"x":1},{"x":2}]}"#, #"l[]={"x":1}|l[]={"x":2}"#, "l[*]"),
        parts(.json, .multipart, #"{"l":[{"x":1,"y":[1]},{"x":2}]}"#, #"l[0][x]=1|l[0][y]=[1]|l[1][x]=2"#, "l[*].y"),
        parts(.json, .multipart, #"{"l":[{"x":1},{"x":2}]}"#, #"l[0][x]=1|l[1]={"x":2}"#, "l[1]"),
        parts(.json, .multipart, #"{"a":1}"#, "a=1", "p"),
        parts(.json, .form, #"{"a":1,"p":{"b":[1]}}"#, "a=1&p=%7B%22b%22%3A[1]%7D", "p"),
        dialect(.php, .form, #"{"b":true,"p":{"b":[1.0]},"a":1}"#, "b=1&p=%7B%22b%22%3A[1.0]%7D&a=1"),
        dialect(.rack, .multipart, #"{"b":true,"p":{"b":[1.0]},"a":1}"#, #"b=true|p={"b":[1.0]}|a=1"#),
        // Files don't wait for what is sorted.
        dialect(.afnetworking, .multipart, #"{"b":true,"p":{"b":[1.0]},"a":1}"#, #"p={"b":[1.0]}|a=1|b=1"#),
        dialect(.alamofire, .form, #"{"b":true,"p":{"b":[1.0]},"a":1}"#, "p=%7B%22b%22%3A[1.0]%7D&a=1&b=1"),
        parts(.form, .multipart, "a=1&p[b]=x&p[c][]=y", #"a=1|p={"b":"x","c":["y"]}"#, "p"),
        parts(.multipart, .multipart, multipart("p[b]=x", "f:n:t/y=F", "a=1"), #"f:n:t/y=F|p={"b":"x"}|a=1"#, "p"),
    ]

    @Test("a value at a path is one part, or field, with a JSON text", arguments: rows)
    func part(_ row: PipelineRow) {
        let run = ConversionRun.run(row.plan, .whole(Array(row.input.utf8)))
        if row.plan.output == .form {
            #expect(readable(run.result) == row.expected)
        } else {
            #expect(
                summary(ofMultipart: run.output.bytes).replacing(":application/json", with: "") == row.expected,
                "\(row)")
        }
        for cut in Recut.cuts(of: Array(row.input.utf8)) {
            #expect(ConversionRun.run(row.plan, cut, highWatermark: 1) == run, "\(row), \(cut)")
        }
    }

    @Test("the part says that it is JSON and has no filename")
    func type() {
        let run = ConversionRun.run(Self.rows[0].plan, .whole(Array(Self.rows[0].input.utf8)))
        #expect(run.result.contains("name=\"p\"\r\nContent-Type: application/json\r\n\r\n{\"b\":"))
        #expect(!run.result.contains("filename"))
        #expect(run.result.contains("name=\"a\"\r\n\r\n1"))
    }

    @Test("a long text goes out in pieces and a broken one not at all")
    func long() {
        let text = String(repeating: "x", count: 100_000)
        let run = ConversionRun.run(
            Self.rows[0].plan, .every(1000, of: Array("{\"p\":[\"\(text)\"]}".utf8)), highWatermark: 1)
        #expect(run.result.contains("[\"\(text)\"]"))
        #expect(convert(Self.rows[0].plan, "{\"p\":[1,}").hasPrefix("!json"))
    }

    static func json(_ content: String, type: String = "application/json") -> String {
        "--b\r\nContent-Disposition: form-data; name=\"p\"\r\nContent-Type: \(type)\r\n\r\n\(content)\r\n"
            + multipart("a=1")
    }

    static let inputs: [(String, String)] = [
        (json(#"{"b":[1.50,null]}"#), #"{"p":{"b":[1.50,null]},"a":"1"}"#), (json(" 7 "), #"{"p":7,"a":"1"}"#),
        (json(#""x""#, type: "Application/vnd.api+JSON; charset=utf-8"), #"{"p":"x","a":"1"}"#),
        (json("{", type: "text/plain"), #"{"p":"{","a":"1"}"#), (json("{"), "!json_unexpected_end p"),
        (json(""), "!json_empty_body p"),
        (json("[1"), "!json_unexpected_end p"), (json("\u{e9}"), "!json_unexpected_byte p"),
    ]

    @Test("a part of JSON is read as its value where that is said", arguments: inputs.indices)
    func read(_ index: Int) {
        let (body, expected) = Self.inputs[index]
        let parse = plan(.multipart, .json) { $0.fieldDecoding.jsonParts = .parse }
        #expect(convert(parse, body) == expected)
        let whole = ConversionRun.run(parse, .whole(Array(body.utf8)))
        for cut in Recut.cuts(of: Array(body.utf8)) {
            let run = ConversionRun.run(parse, cut, highWatermark: 1)
            #expect(run.failure == whole.failure)
            if whole.failure == nil { #expect(run == whole) }
        }
        let text = convert(plan(.multipart, .json), body)
        #expect(text.hasPrefix(#"{"p":""#))
    }

    @Test("a document goes into parts and comes back")
    func roundTrip() {
        let there = ConversionRun.run(Self.rows[0].plan, .whole(Array(Self.rows[0].input.utf8)))
        let back = plan(.multipart, .json) { plan in
            plan.fieldDecoding.jsonParts = .parse
            plan.types = [TypeRule(path: path("a"), type: .integer), TypeRule(path: path("z[*]"), type: .integer)]
        }
        let type = "multipart/form-data; boundary=BOUNDARY"
        #expect(ConversionRun.run(back, .whole(there.output.bytes), type: type).result == Self.rows[0].input)
    }
}
