import Serialization
import TestSupport
import Testing
import Transcoding

/// Bodies whose document is the JSON text of one field.
@Suite("Documents in a field")
struct DocumentRuleTests {
    /// The rows' plans with the rule put in.
    private static func row(
        _ from: BodyEncoding, _ to: BodyEncoding, _ input: String, _ expected: String, at field: String = "p",
        rest: DocumentRule.Rest = .reject, _ change: (inout ConversionPlan) -> Void = { _ in }
    ) -> PipelineRow {
        PipelineRow(from, to, input, expected) {
            var rule = DocumentRule(path(field))
            rule.rest = rest
            $0.document = rule
            change(&$0)
        }
    }

    static let alone: [PipelineRow] = [
        row(.form, .json, #"p={"a":{"b":1.50},"c":[]}"#, #"{"a":{"b":1.50},"c":[]}"#),
        row(.form, .json, "p=[1,2]", "[1,2]"), row(.form, .json, "p=%22x%22", #""x""#),
        row(.form, .json, "p=null", "null"),
        row(.form, .form, #"p={"a":[1,2]}"#, "a[]=1&a[]=2"), row(.form, .form, "p=[1]", "!root_not_object"),
        row(.form, .multipart, #"p={"a":1}"#, "a=1"),
        row(.form, .text, #"p={"a":1}"#, "1") { $0.outputField = "a" },
        row(.multipart, .json, multipart(#"p={"a":1}"#), #"{"a":1}"#),
        row(.json, .json, #"{"p":"{\"a\":1}"}"#, #"{"a":1}"#), row(.json, .json, #"{"p":{"a":1}}"#, #"{"a":1}"#),
        row(.json, .json, #"{"p":7}"#, "7"), row(.xml, .json, #"<r><p>{"a":1}</p></r>"#, #"{"a":1}"#, at: "r.p"),
        row(.form, .json, #"d[p]={"a":1}"#, #"{"a":1}"#, at: "d.p"),
        row(.json, .json, #"[[],"{\"a\":1}"]"#, "!document_other_field [0]", at: "[1]"),
        // PHP's rule for names that are numbers is for those of fields.
        row(.form, .json, #"p={"0":1}"#, #"{"0":1}"#) { $0.fieldDecoding.dialect = .php },
    ]

    static let faults: [PipelineRow] = [
        row(.form, .json, "x=1", "!document_missing p"), row(.form, .json, "", "!document_missing p"),
        row(.json, .json, "1", "!document_missing p"), row(.json, .json, "[]", "!document_missing p"),
        row(.form, .json, "p=1&p=2", "!document_repeated p"),
        row(.json, .json, #"{"p":"1","p":"2"}"#, "!document_repeated p"),
        row(.form, .json, "p=", "!document_malformed p"), row(.form, .json, "p={", "!document_malformed p"),
        row(.form, .json, "p=1 2", "!document_malformed p"),
        row(.form, .json, #"p={"a":1,"a":2}"#, "!document_malformed p"),
    ]

    static let rests: [PipelineRow] = [
        row(.form, .json, "p={}&x=1", "!document_other_field x"),
        row(.form, .json, "x[y]=1&p={}", "!document_other_field x"),
        row(.form, .json, #"x=1&p={"a":1}&y[z]=2"#, #"{"a":1,"x":"1","y":{"z":"2"}}"#, rest: .merge),
        row(.form, .json, "p={}&x=1", #"{"x":"1"}"#, rest: .merge),
        row(.form, .json, #"p={"a":1}"#, #"{"a":1}"#, rest: .merge),
        row(.form, .json, #"p={"a":1}&a=2"#, "!document_clash a", rest: .merge),
        row(.form, .json, "p=[]&a=2", "!document_no_object a", rest: .merge),
        row(.form, .json, "p=[]", "[]", rest: .merge), row(.form, .json, "p=[1]&a=2", "[1]", rest: .drop),
        row(.form, .json, #"d[p]={"a":1}&d[q]=2"#, #"{"a":1,"d":{"q":"2"}}"#, at: "d.p", rest: .merge),
        // The map and the types see the document.
        row(.form, .json, #"p={"a":"1","b":2}&c=3"#, #"{"a":1,"d":"3"}"#, rest: .merge) {
            $0.map.remove = [path("b")]
            $0.map.rename = [.init(from: path("c"), to: path("d"))]
            $0.types = [TypeRule(path: path("a"), type: .integer)]
        },
        row(
            .multipart, .json, multipart("f:x.txt:text/plain=hi", #"p={"a":1}"#, "b=2"), #"{"f":"aGk=","a":1,"b":"2"}"#,
            rest: .merge
        ) {
            $0.fieldEncoding.files = .base64
        },
        row(.multipart, .json, multipart("f:x.txt:text/plain=hi", #"p={"f":1}"#), "!files_shared_root f", rest: .merge)
        {
            $0.fieldEncoding.files = .base64
        },
        row(.multipart, .json, multipart("f:x.txt:text/plain=hi", "p=[1]"), "!document_no_object", rest: .merge) {
            $0.fieldEncoding.files = .base64
        },
        row(.multipart, .json, multipart("f:x.txt:text/plain=hi", "p=[1]"), "[1]", rest: .drop) {
            $0.fieldEncoding.files = .drop
        },
        row(.multipart, .json, multipart("f:x.txt:text/plain=hi", "p={}"), "!document_file", rest: .drop) {
            $0.fieldEncoding.files = .base64
        },
        row(.multipart, .multipart, multipart("f:x.txt:text/plain=hi", "p={}"), "!document_file"),
        row(
            .multipart, .multipart, multipart("f:x.txt:text/plain=hi", #"p={"a":1}"#), "f:x.txt:text/plain=hi|a=1",
            rest: .merge),
    ]

    @Test("the field's value is the document", arguments: alone)
    func takes(_ row: PipelineRow) { row.check() }

    @Test("a field that is none, or not one, is refused", arguments: faults)
    func refuses(_ row: PipelineRow) { row.check() }

    @Test("other fields are refused, merged or left out", arguments: rests)
    func settles(_ row: PipelineRow) { row.check() }

    @Test("what is left out is counted, and a plan without one place is none")
    func accounting() throws {
        var plan = ConversionPlan(inputs: [.form], output: .json)
        var rule = DocumentRule(path("p"))
        rule.rest = .drop
        plan.document = rule
        let conversion = try Conversion.make(plan: plan, contentType: "application/x-www-form-urlencoded")
        #expect(
            try conversion.convert(Array("a=1&p={}&b[c]=2&b[d]=3".utf8)) + conversion.convertEnd() == Array("{}".utf8))
        #expect(conversion.accounting.removed == 3)
        #expect(plan.validate().isEmpty)
        plan.document = DocumentRule(path("p[*]"))
        #expect(plan.validate().map(\.code) == ["plan_wildcard"])
    }
}
