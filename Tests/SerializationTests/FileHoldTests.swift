import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// Files that are held until other bytes of them were made: here the same bytes, the last one first.
@Suite("Held files")
struct FileHoldTests {
    static func row(
        _ from: BodyEncoding, _ to: BodyEncoding, _ input: String, _ expected: String,
        change: (inout ConversionPlan) -> Void = { _ in }, _ rules: FileRule...
    ) -> PipelineRow {
        PipelineRow(from, to, input, expected) { plan in
            plan.files = rules
            change(&plan)
        }
    }

    static func rule(_ text: String, _ policy: FilePolicy = .stream, _ source: FileSource? = nil) -> FileRule {
        var rule = FileRule(path: path(text), policy: policy, source: source)
        rule.image = ImageRule()
        return rule
    }

    static let parts: [PipelineRow] = [
        row(
            .multipart, .multipart, multipart("a=1", "f:x.png:image/png=PNG", "b=2"),
            "a=1|f:x.png.turned:image/turned=GNP|b=2", rule("f")),
        row(
            .multipart, .multipart, multipart("f:x.png:image/png=same", "g:y:a/b=12"),
            "f:x.png:image/png=same|g:y:a/b=12", rule("f")),
        row(
            .multipart, .multipart, multipart("f[]:x:image/png=12", "f[]:y:image/png=34", "z=", "f[]:z:image/png="),
            "f[]:x.turned:image/turned=21|f[]:y.turned:image/turned=43|z=|f[]:z.turned:image/turned=", rule("f")),
        // A type that says the same keeps its spelling.
        row(
            .multipart, .multipart, multipart("f:x.png:IMAGE/Turned=PNG"), "f:x.png.turned:IMAGE/Turned=GNP", rule("f")),
        row(.multipart, .multipart, multipart("f=text"), "f=text", rule("f")),
        // By way of a tree: files first.
        row(
            .multipart, .multipart, multipart("a=1", "f:x.png:image/png=PNG", "b=2"),
            "f:x.png.turned:image/turned=GNP|a=1|b=2", change: { $0.fieldDecoding.duplicates = .last }, rule("f")),
        row(.multipart, .form, multipart("f:x:i/p=abc", "b=2"), "f=Y2Jh&b=2", rule("f", .base64)),
        row(.multipart, .json, multipart("f:x:i/p=abc", "b=2"), #"{"f":"Y2Jh","b":"2"}"#, rule("f", .base64)),
        row(
            .multipart, .json, multipart("b=2", "f:x:i/p=abc"),
            #"{"f":{"filename":"x.turned","content_type":"image/turned","data":"Y2Jh"},"b":"2"}"#, rule("f", .object)),
    ]

    @Test("a file of multipart goes out as what was made of it", arguments: parts)
    func part(_ row: PipelineRow) { row.check() }

    static let texts: [PipelineRow] = [
        row(
            .json, .multipart, #"{"a":1,"f":"YWJj","b":2}"#, "a=1|f:blob:image/turned=cba|b=2", rule("f", .base64)),
        row(
            .json, .multipart, #"{"f":["YWJj","ZGVm"],"b":2}"#,
            "f[]:blob:image/turned=cba|f[]:blob:image/turned=fed|b=2", rule("f", .base64)),
        row(
            .json, .multipart, #"{"f":{"filename":"x","data":"YWJj"},"b":2}"#, "f:x.turned:image/turned=cba|b=2",
            rule("f", .stream, .object)),
        row(
            .json, .multipart, #"{"b":2,"f":"YWJj"}"#, "b=2|f:blob:image/turned=cba",
            change: { $0.types = [TypeRule(path: path("b"), type: .integer)] }, rule("f", .base64)),
        row(.form, .multipart, "a=1&f=YWJj", "a=1|f:blob:image/turned=cba", rule("f", .base64)),
        row(
            .form, .multipart, "f=YWJj&a=1&f=ZGVm", "f:blob:image/turned=cba|a=1|f:blob:image/turned=fed",
            rule("f", .base64)),
        row(
            .xml, .multipart, "<r><f>YWJj</f><b>2</b></r>", "r[f]:blob:image/turned=cba|r[b]=2", rule("r.f", .base64)),
        row(.json, .multipart, #"{"f":"data:image/png;base64,c2FtZQ=="}"#, "f:blob:image/png=same", rule("f", .base64)),
    ]

    @Test("a text that becomes a file does, too", arguments: texts)
    func text(_ row: PipelineRow) { row.check() }

    static let kept: [PipelineRow] = [
        row(.json, .json, #"{"a":1,"f":"YWJj","b":[null]}"#, #"{"a":1,"f":"Y2Jh","b":[null]}"#, rule("f", .base64)),
        row(.json, .json, #"["YWJj",{"x":"ZGVm"}]"#, #"["YWJj",{"x":"ZmVk"}]"#, rule("*.x", .base64)),
        row(.json, .json, #"{"f":["YWJj","ZGVm"]}"#, #"{"f":["Y2Jh","ZmVk"]}"#, rule("f", .base64)),
        row(
            .json, .json, #"{"f":"data:image/png;base64,YWI="}"#, #"{"f":"data:image/turned;base64,YmE="}"#,
            rule("f", .base64)),
        row(
            .json, .json, #"{"f":"data:image/Turned;a=b;base64,YWI="}"#,
            #"{"f":"data:image/Turned;a=b;base64,YmE="}"#, rule("f", .base64)),
        row(
            .json, .json, #"{"f":"data:image/png;base64,c2FtZQ=="}"#, #"{"f":"data:image/png;base64,c2FtZQ=="}"#,
            rule("f", .base64, .dataURL)),
        row(.json, .json, #"{"f":"Pz8-"}"#, #"{"f":"Pj8_"}"#, rule("f", .base64, .base64url)),
        row(.json, .json, #"{"f":"Pz8_QQ"}"#, #"{"f":"QT8_Pw"}"#, rule("f", .base64, .base64url)),
        row(.json, .json, #"{"f":"Pz8_QQ=="}"#, #"{"f":"QT8_Pw=="}"#, rule("f", .base64, .base64url)),
        row(.json, .json, #"{"f":"d"}"#, "!file_base64 f", rule("f", .base64)),
        row(.json, .json, #"{"f":3}"#, "!file_not_text f", rule("f", .base64)),
        row(
            .json, .json, #"{"b":1,"f":"YWJj","a":2}"#, #"{"a":2,"b":1,"f":"Y2Jh"}"#,
            change: { $0.fieldEncoding.order = .sorted }, rule("f", .base64)),
        row(.json, .form, #"{"f":"YWJj","b":2}"#, "f=Y2Jh&b=2", rule("f", .base64)),
        row(.form, .form, "a=1&f=YWJj&b=2", "a=1&f=Y2Jh&b=2", rule("f", .base64)),
        row(.form, .form, "a=1&f=YWJj", "a=1&f=Y2Jh", rule("f", .base64)),
        row(.form, .json, "a=1&f=YWJj&b=2", #"{"a":"1","f":"Y2Jh","b":"2"}"#, rule("f", .base64)),
        row(.form, .json, "f[]=YWJj&f[]=ZGVm", #"{"f":["Y2Jh","ZmVk"]}"#, rule("f", .base64)),
        row(.multipart, .json, multipart("a=1", "f=YWJj"), #"{"a":"1","f":"Y2Jh"}"#, rule("f", .base64, .base64)),
        row(
            .json, .xml, #"{"r":{"f":"YWJj"}}"#, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<r><f>Y2Jh</f></r>",
            rule("r.f", .base64)),
    ]

    @Test("base64 that stays a text is base64 of what was made, in its own spelling", arguments: kept)
    func staysText(_ row: PipelineRow) { row.check() }

    @Test("nothing goes on while a file waits, and its bytes count as held")
    func waits() throws {
        let plan = plan(.multipart, .multipart) { $0.files = [FileHoldTests.rule("f")] }
        let conversion = try Conversion.make(plan: plan, contentType: "multipart/form-data; boundary=b")
        let body = Array(multipart("a=1", "f:x:image/png=12345", "b=2").utf8)
        let fed = try conversion.feed(body.span)
        #expect(fed < body.count)
        #expect(conversion.holdsFile)
        #expect(conversion.isFull)
        #expect(conversion.heldCount >= 5)
        #expect(conversion.outputBound(ofBody: body.count) == nil)
        let before = conversion.outputCount
        #expect(try conversion.feed(body.span.extracting(fed...)) == 0)
        #expect(try conversion.feed(Span()) == 0)
        #expect(conversion.outputCount == before)
        let file = try #require(conversion.takeFile())
        #expect(file.content == Array("12345".utf8))
        #expect(file.field == Array("f".utf8))
        #expect(file.filename == Array("x".utf8))
        #expect(conversion.takeFile() == nil)
        #expect(conversion.holdsFile)
        conversion.settleFile(SettledFile(content: Array(repeating: 7, count: 200_000)))
        #expect(!conversion.holdsFile)
        // What is made goes out in pieces, as any file does.
        #expect(try conversion.feed(body.span.extracting(fed...)) == 0)
        #expect(conversion.outputCount < 160_000)
        var at = fed
        var count = 0
        while at < body.count {
            count += conversion.takeOutput().count
            at += try conversion.feed(body.span.extracting(at...))
        }
        #expect(try conversion.finish())
        #expect(count + conversion.takeOutput().count > 200_000)
    }

    @Test("a body that was left in the middle of a file leaves nothing to the next one")
    func restarts() throws {
        let plan = plan(.multipart, .multipart) { $0.files = [FileHoldTests.rule("f")] }
        let type = "multipart/form-data; boundary=b"
        let body = Array(multipart("f:x:image/png=12345", "b=2").utf8)
        for end in body.indices {
            let conversion = try Conversion.make(plan: plan, contentType: type)
            _ = try conversion.feed(body.span.extracting(..<end))
            try conversion.restart(contentType: type.utf8Span.span, sources: [])
            _ = conversion.takeOutput()
            let run = ConversionRun.run(conversion, .whole(Array(multipart("c=3").utf8)))
            #expect(run.failure == nil)
            #expect(run.accounting.files == 0)
        }
    }

    @Test("a file's own limit counts what comes, and types are checked before")
    func limits() {
        for (count, isTaken) in [(4, true), (5, true), (6, false)] {
            let text = String(repeating: "x", count: count)
            var rule = FileHoldTests.rule("f")
            rule.max = 5
            let plan = plan(.multipart, .multipart) { $0.files = [rule] }
            let result = convert(plan, multipart("f:x:image/png=\(text)"))
            #expect(isTaken == !result.hasPrefix("!limit_file"), "\(result)")
        }
        var typed = FileHoldTests.rule("f", .base64)
        typed.types = [MediaPattern("image/*")!]
        let plan = plan(.json, .json) { $0.files = [typed] }
        #expect(convert(plan, #"{"f":"data:text/x;base64,YQ=="}"#) == "!file_type f")
        #expect(convert(plan, #"{"f":"data:image/x;base64,YWI="}"#) == #"{"f":"data:image/turned;base64,YmE="}"#)
    }
}
