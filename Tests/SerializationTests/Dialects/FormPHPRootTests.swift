import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// PHP's `$_POST` is a list where its names number it; `json_encode` writes an array then.
@Suite("Forms that number the root, as PHP reads them")
struct FormPHPRootTests {
    /// What `Tests/Vectors/form-php-roots.json` says that PHP itself made of each form.
    static let rows = formVectors("form-php-roots.json").map { ($0["input"]!.text!, $0["json"]!.text!) }

    private func plan(
        _ input: BodyEncoding = .form, _ output: BodyEncoding = .json,
        _ change: (inout ConversionPlan) -> Void = { _ in }
    ) -> ConversionPlan {
        var plan = ConversionPlan(inputs: [input], output: output)
        plan.fieldDecoding = .init(dialect: .php)
        change(&plan)
        return plan
    }

    @Test("a form is what json_encode makes of parse_str, however it is cut", arguments: rows)
    func vectors(_ form: String, _ json: String) throws {
        for cut in Recut.cuts(of: Array(form.utf8), splits: 40) {
            let run = ConversionRun.run(plan(), cut)
            #expect(run.violations.isEmpty && run.result == json, "\(cut)")
        }
        var options = DocumentOptions()
        options.formDecoding = .init(dialect: .php)
        let value = try Value(decoding: Array(form.utf8).span, as: .form, options: options)
        let again = try Value(decoding: Array(json.utf8).span, as: .json)
        #expect(value == again)
    }

    @Test("so is a multipart body with the same names, where no file is in the root")
    func multiparts() {
        #expect(convert(plan(.multipart), multipart("0=x", "1=y")) == #"["x","y"]"#)
        #expect(convert(plan(.multipart), multipart("1=x", "0=y")) == #"{"1":"x","0":"y"}"#)
        let files = plan(.multipart) { $0.fieldEncoding.files = .base64 }
        #expect(convert(files, multipart("0:a.txt=x", "1=y")) == #"{"0":"eA==","1":"y"}"#)
        #expect(convert(files, multipart("0=y", "1:a.txt=x")) == #"{"1":"eA==","0":"y"}"#)
        let dropped = plan(.multipart) { $0.fieldEncoding.files = .drop }
        #expect(convert(dropped, multipart("0=y", "f:a.txt=x")) == #"["y"]"#)
    }

    @Test("the map and the types see members; what they leave decides")
    func maps() {
        func read(_ form: String, _ change: (inout ConversionPlan) -> Void) -> String {
            convert(plan(.form, .json, change), form)
        }
        #expect(
            read("0=x&1=y") { $0.map.set = [.init(path: path("a"), value: .literal(.number("1")))] }
                == #"{"0":"x","1":"y","a":1}"#)
        #expect(read("0=x&1=y&a=z") { $0.map.remove = [path("a")] } == #"["x","y"]"#)
        #expect(read("0=x&1=y&2=z") { $0.map.remove = [path("1")] } == #"{"0":"x","2":"z"}"#)
        #expect(read("0=x&1=y&2=z") { $0.map.remove = [path("2")] } == #"["x","y"]"#)
        #expect(read("0=x&1=y") { $0.map.remove = [path("0"), path("1")] } == "{}")
        #expect(read("0=x&1=y") { $0.map.rename = [.init(from: path("1"), to: path("b"))] } == #"{"0":"x","b":"y"}"#)
        #expect(read("0=x&b=y") { $0.map.rename = [.init(from: path("b"), to: path("1"))] } == #"["x","y"]"#)
        #expect(read("0=1&1=y") { $0.types = [TypeRule(path: path("0"), type: .integer)] } == #"[1,"y"]"#)
        #expect(read("0=1&1=true") { $0.fieldDecoding.types = .safe } == "[1,true]")
    }

    @Test("a form without fields is an object, and so is each root that has to be one")
    func objects() {
        for form in ["", "&&", "=x", "[]=x"] { #expect(convert(plan(), form) == "{}") }
        #expect(convert(plan { $0.fieldDecoding.arrays = .brackets }, "0=x&1=y") == #"{"0":"x","1":"y"}"#)
        #expect(convert(plan { $0.fieldDecoding.nesting = .flat }, "0=x&1=y") == #"{"0":"x","1":"y"}"#)
        for dialect in Dialect.allCases where dialect != .php {
            #expect(convert(plan { $0.fieldDecoding = .init(dialect: dialect) }, "0=x&1=y") == #"{"0":"x","1":"y"}"#)
        }
        #expect(convert(plan(.form, .form), "0=x&1=y") == "0=x&1=y")
        #expect(convert(plan(.form, .multipart), "0=x&1=y") == "0=x|1=y")
        let auto = plan(.multipart, .multipart) { $0.outputWithoutFiles = .json }
        #expect(ConversionRun.run(auto, .whole(Array(multipart("0=x").utf8))).result == #"["x"]"#)
        #expect(convert(auto, multipart("0=x", "1:a.txt=y")).contains("0=x"))
        #expect(convert(plan(.form, .plist), "0=x").contains("<array>"))
    }

    @Test("another body of the same conversion has a root of its own")
    func restarts() throws {
        let type = Array("application/x-www-form-urlencoded".utf8)
        let conversion = try Conversion.make(plan: plan(), contentType: type.span)
        for (form, json) in [("0=x", #"["x"]"#), ("a=x", #"{"a":"x"}"#), ("", "{}"), ("0=x&1=y", #"["x","y"]"#)] {
            #expect(ConversionRun.run(conversion, .whole(Array(form.utf8))).result == json)
            try conversion.restart(contentType: type.span, sources: [])
        }
    }
}
