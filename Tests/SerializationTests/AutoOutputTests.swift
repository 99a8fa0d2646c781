import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// `auto` as output: multipart when there is a file, else a form or JSON.
@Suite("Auto output")
struct AutoOutputTests {
    static func auto(
        _ input: BodyEncoding, _ plain: BodyEncoding = .form, _ change: (inout ConversionPlan) -> Void = { _ in }
    ) -> ConversionPlan {
        plan(input, .multipart) { plan in
            plan.outputWithoutFiles = plain
            change(&plan)
        }
    }

    static let photo: @Sendable (inout ConversionPlan) -> Void = {
        $0.files = [FileRule(path: path("f"), policy: .base64)]
    }

    /// The type and what came out.
    static func result(_ plan: ConversionPlan, _ input: String) -> String {
        let run = ConversionRun.run(plan, .whole(Array(input.utf8)))
        guard run.failure == nil else { return run.result }
        let type = String(decoding: run.contentType.bytes, as: UTF8.self)
        if type.hasPrefix("multipart") { return "multipart " + summary(ofMultipart: run.output.bytes) }
        return type == "application/json" ? "json " + run.result : "form " + readable(run.result)
    }

    static let f = "application/octet-stream"

    /// A dialect that sorts holds the document until its end.
    static let sorted: @Sendable (inout ConversionPlan) -> Void = {
        photo(&$0)
        $0.fieldEncoding = FieldEncodingOptions(dialect: .afnetworking)
        $0.rewritesNames = true
    }

    static let rows: [(ConversionPlan, String, String)] = [
        (auto(.json, .form, sorted), #"{"b":1,"a":[2]}"#, "form a[]=2&b=1"),
        (auto(.json, .form, sorted), #"{"b":1,"f":"QQ==","a":[2]}"#, "multipart f:blob:\(f)=A|a[]=2|b=1"),
        (auto(.multipart, .form, sorted), multipart("b=1", "a[]=2"), "form a[]=2&b=1"),
        (auto(.multipart, .form, sorted), multipart("b=1", "g:x:t/t=A", "a[]=2"), "multipart g:x:t/t=A|a[]=2|b=1"),
        (auto(.json), #"{"a":{"b":[1,true]},"c":null}"#, "form a[b][]=1&a[b][]=true&c="),
        (auto(.json, .json), #"{"a":{"b":[1,true]},"c":null}"#, #"json {"a":{"b":[1,true]},"c":null}"#),
        (auto(.json, .form, photo), #"{"a":1,"c":"x"}"#, "form a=1&c=x"),
        (auto(.json, .form, photo), #"{"a":1,"f":null}"#, "form a=1&f="),
        (auto(.json, .form, photo), #"{"a":1,"f":"QQ==","c":"x"}"#, "multipart a=1|f:blob:\(f)=A|c=x"),
        (auto(.json, .json, photo), #"{"a":[],"c":{"d":1.50}}"#, #"json {"a":[],"c":{"d":1.50}}"#),
        (auto(.json, .json, photo), #"[1,2]"#, "json [1,2]"),
        (auto(.json, .json, photo), #""x""#, #"json "x""#),
        (auto(.json, .json, photo), #"{"a":[],"f":"QQ=="}"#, "!field_empty a"),
        (auto(.json, .form, photo), #"{"a":[]}"#, "!field_empty a"),
        (auto(.json, .json, photo), #"{"a":[true,null,"x",-1e5]}"#, #"json {"a":[1,null,"x",-1e5]}"#),
        (auto(.json, .json, photo), #"{"a":"#, "!json_unexpected_end /a"),
        (
            auto(.json, .form) {
                photo(&$0)
                $0.fieldEncoding.order = .sorted
            }, #"{"g":1,"f":"QQ==","a":"x"}"#, "multipart a=x|f:blob:\(f)=A|g=1"
        ),
        (
            auto(.json, .json) {
                photo(&$0)
                $0.fieldEncoding.order = .sorted
            }, #"{"g":1,"a":"x"}"#, #"json {"a":"x","g":1}"#
        ),
        (auto(.form), "a=1&b[]=2", "form a=1&b[]=2"),
        (auto(.form, .json), "a=1&b[]=2", #"json {"a":"1","b":["2"]}"#),
        (auto(.form, .form, photo), "a=1&b[]=2&k", "form a=1&b[]=2&k"),
        (auto(.form, .form, photo), "a=1&f=QQ==&b=2", "multipart a=1|f:blob:\(f)=A|b=2"),
        (auto(.form, .json, photo), "a=1&b[]=2", #"json {"a":"1","b":["2"]}"#),
        (auto(.form, .json, photo), "a=1&f=QQ==&b[]=2", "multipart f:blob:\(f)=A|a=1|b[]=2"),
        (auto(.multipart), multipart("a=1", "b[c]=x y"), "form a=1&b[c]=x%20y"),
        (auto(.multipart), "--b--\r\n", "form "),
        (auto(.multipart), multipart("a=1", "f:x.png:image/png=P", "b=2"), "multipart a=1|f:x.png:image/png=P|b=2"),
        (auto(.multipart, .json), multipart("a=1", "b[c]=x"), #"json {"a":"1","b":{"c":"x"}}"#),
        (
            auto(.multipart, .json), multipart("a=1", "f:x.png:image/png=P", "b[c]=2"),
            "multipart f:x.png:image/png=P|a=1|b[c]=2"
        ),
        (
            auto(.multipart) { $0.fieldEncoding.files = .drop }, multipart("a=1", "f:x.png:image/png=P"),
            "form a=1"
        ),
        (auto(.multipart) { $0.fieldEncoding.files = .reject }, multipart("f:x=P"), "!files_rejected f"),
        (
            auto(.multipart) { $0.map.rename = [.init(from: path("a"), to: path("z"))] },
            multipart("a=1", "f:x.png:image/png=P"), "multipart z=1|f:x.png:image/png=P"
        ),
        (
            auto(.multipart) { $0.map.set = [.init(path: path("z"), value: .literal(.string("s")))] },
            multipart("a=1"), "form z=s&a=1"
        ),
    ]

    @Test("a file makes it multipart, and nothing else does", arguments: rows.indices)
    func choice(_ index: Int) {
        let (plan, input, expected) = Self.rows[index]
        var changed = plan
        if expected.contains("[1,null") { changed.fieldEncoding.booleans = .numeric }
        #expect(Self.result(changed, input) == expected)
    }

    @Test("the bytes are the same however the input is cut and the output taken", arguments: rows.indices)
    func recut(_ index: Int) {
        let (plan, input, _) = Self.rows[index]
        let bytes = Array(input.utf8)
        let whole = ConversionRun.run(plan, .whole(bytes))
        #expect(whole.violations.isEmpty)
        for cut in Recut.cuts(of: bytes) {
            let run = ConversionRun.run(plan, cut, highWatermark: 1)
            #expect(run.failure?.code == whole.failure?.code)
            if whole.failure == nil { #expect(run == whole, "\(cut)") }
        }
    }

    @Test("the type is known with the first byte of output, and a conversion can be used again")
    func again() throws {
        let bodies = [#"{"a":"x","f":"QUJD"}"#, #"{"a":"x"}"#, #"{"f":"QQ=="}"#, #"{"b":1}"#]
        let type = Array("application/json".utf8)
        let conversion = try Conversion.make(plan: Self.auto(.json, .form, Self.photo), contentType: type.span)
        for (index, body) in bodies.enumerated() {
            if index > 0 { try conversion.restart(contentType: type.span, sources: []) }
            #expect(conversion.contentType.isEmpty && conversion.outputEncoding == nil)
            for byte in body.utf8 {
                let slice = [byte]
                #expect(try conversion.feed(slice.span) == 1)
                #expect(conversion.outputCount == 0 || conversion.outputEncoding == .multipart)
            }
            #expect(try conversion.finish())
            let isMultipart = body.contains("\"f\"")
            #expect(conversion.outputEncoding == (isMultipart ? .multipart : .form))
            var output: [UInt8] = []
            conversion.withOutput { buffer in
                output = buffer.span.copied()
                buffer.drop(buffer.count)
            }
            let type = String(decoding: conversion.contentType, as: UTF8.self)
            let boundary = type.split(separator: "boundary=").last ?? ""
            #expect(
                String(decoding: output, as: UTF8.self).hasPrefix(
                    isMultipart ? "--\(boundary)\r\n" : index == 1 ? "a=x" : "b=1"))
        }
    }

    @Test("what precedes the first file is bounded by limits.tree", arguments: [-1, 0, 1])
    func limit(_ offset: Int) {
        // An event has one byte, and five when it has text.
        let body = #"{"a":"\#(String(repeating: "x", count: 4000))","f":"QQ=="}"#
        let size = 1 + 6 + 4005 + 6
        let plan = Self.auto(.json, .form) { plan in
            Self.photo(&plan)
            plan.limits.tree = size - offset
        }
        #expect(Self.result(plan, body).hasPrefix(offset > 0 ? "!limit_tree" : "multipart a=xxxx"))
        let fields = Self.auto(.multipart) { $0.limits.tree = 30_000 - 10_000 * offset }
        let text = String(repeating: "x", count: 25_000)
        #expect(Self.result(fields, multipart("a=" + text)).hasPrefix(offset > 0 ? "!limit_tree" : "form a=xxx"))
        #expect(!Self.result(fields, multipart("f:x=" + text, "a=" + text)).hasPrefix("!"))
    }

    @Test("text parts keep their headers when a file follows")
    func headers() {
        let body =
            "--b\r\nContent-Disposition: form-data; name=\"a\"\r\nContent-Type: application/json\r\nX-A: 1\r\n\r\n{}\r\n"
            + multipart("f:x=1")
        let run = ConversionRun.run(Self.auto(.multipart), .whole(Array(body.utf8)))
        #expect(run.result.contains("name=\"a\"\r\nContent-Type: application/json\r\nX-A: 1\r\n\r\n{}\r\n"))
    }

    @Test("base64 is no business of auto")
    func validation() {
        #expect(Self.auto(.multipart) { $0.fieldEncoding.files = .base64 }.validate().map(\.code) == ["plan_files"])
        #expect(Self.auto(.multipart, .form, Self.photo).validate().map(\.code) == ["plan_files"])
        #expect(Self.auto(.json, .form, Self.photo).validate().isEmpty)
    }
}
