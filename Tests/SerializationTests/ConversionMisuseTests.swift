import Octets
import Serialization
import Testing
import Transcoding

/// What a program does that isn't as meant: each gets an error, and nothing hangs or ends the process.
@Suite("Conversions that are used wrongly")
struct ConversionMisuseTests {
    @Test(
        "bytes behind the end are refused, and no bytes are not",
        arguments: [BodyEncoding.json, .form, .xml, .plist, .bplist])
    func behindTheEnd(_ output: BodyEncoding) throws {
        let conversion = try Conversion.make(plan: plan(.json, output), contentType: "application/json")
        _ = try conversion.convert(Array(#"{"a":"1"}"#.utf8))
        _ = try conversion.convertEnd()
        #expect(try conversion.convert([]).isEmpty)
        let error = #expect(throws: ConversionError.self) { try conversion.convert([0x20]) }
        #expect(error?.code == "conversion_ended")
        #expect(error?.offset == 9)
        // It is as new behind a restart.
        try conversion.restart(contentType: Array("application/json".utf8).span, sources: [])
        let whole = try conversion.convert(Array(#"{"a":"2"}"#.utf8)) + conversion.convertEnd()
        #expect(!whole.isEmpty)
    }

    @Test("a plan that takes values of a head gets them, or an error", arguments: [0, 1, 2, 3])
    func sources(_ count: Int) throws {
        for (input, output) in [(BodyEncoding.json, BodyEncoding.json), (.form, .form), (.json, .xml), (.form, .json)] {
            let plan = plan(input, output) {
                $0.xmlEncoding.root = .wrap
                $0.map.set = [.init(path: path("x"), value: .source(1))]
            }
            #expect(plan.validate().isEmpty)
            let sources = Array(repeating: Array("value".utf8), count: count)
            let (type, body) =
                input == .json ? ("application/json", "{}") : ("application/x-www-form-urlencoded", "a=1")
            if count >= 2 {
                let made = try plan.convert(Array(body.utf8), contentType: type, sources: sources)
                #expect(String(decoding: made.body, as: UTF8.self).contains("value"))
                let conversion = try Conversion.make(plan: plan, contentType: type, sources: sources)
                let error = #expect(throws: ConversionError.self) {
                    try conversion.restart(contentType: Array(type.utf8).span, sources: [])
                }
                #expect(error?.code == "plan_source")
            } else {
                let error = #expect(throws: ConversionError.self) {
                    try plan.convert(Array(body.utf8), contentType: type, sources: sources)
                }
                #expect(error?.code == "plan_source")
            }
        }
    }

    @Test("values of a head that there can't be are a fault of the plan", arguments: [-5, -1, 10_000, Int.max])
    func noSource(_ index: Int) throws {
        for output in [BodyEncoding.json, .form] {
            let plan = plan(.form, output) {
                $0.map.set = [.init(path: path("x"), value: .source(index))]
            }
            #expect(plan.validate().map(\.code) == ["plan_source"])
            let error = #expect(throws: ConversionError.self) {
                try plan.convert(Array("a=1".utf8), contentType: "application/x-www-form-urlencoded")
            }
            #expect(error?.code == "plan_source")
            #expect(throws: ConversionError.self) {
                try Conversion.make(plan: plan, contentType: "application/x-www-form-urlencoded")
            }
        }
    }

    @Test("a plan that is no plan is refused before it converts")
    func badPlan() throws {
        let plan = plan(.json, .json) {
            $0.map.set = [.init(path: path("x"), value: .literal(.number("abc\"")))]
        }
        let error = #expect(throws: ConversionError.self) {
            try plan.convert(Array("{}".utf8), contentType: "application/json")
        }
        #expect(error?.code == "plan_number")
    }

    @Test(
        "a rename that leaves no name is refused where no plan was validated",
        arguments: [("a", "*"), ("a", ""), ("", "a"), ("a", "b[*]"), ("a[*]", "b")])
    func noName(_ from: String, _ to: String) throws {
        func place(_ text: String) -> FieldPath { text.isEmpty ? FieldPath([]) : path(text) }
        let bodies: [(BodyEncoding, String, String)] = [
            (.form, "application/x-www-form-urlencoded", "a=1&a[b]=2"), (.json, "application/json", #"{"a":1}"#),
            (.multipart, "multipart/form-data; boundary=b", "--b--\r\n"), (.raw, "image/png", "x"),
        ]
        for (input, type, body) in bodies {
            for output in [BodyEncoding.json, .form, .multipart, .xml] {
                let plan = plan(input, output) { $0.map.rename = [.init(from: place(from), to: place(to))] }
                for refusal in [
                    #expect(throws: ConversionError.self) { try Conversion.make(plan: plan, contentType: type) },
                    #expect(throws: ConversionError.self) {
                        try plan.convert(Array(body.utf8), contentType: type)
                    },
                ] {
                    #expect(refusal?.code == "plan_wildcard", "\(input) to \(output)")
                }
            }
        }
    }

    @Test(
        "a length of any size has a bound or none",
        arguments: [0, 1, 1 << 40, 1 << 48, 1 << 48 + 1, Int.max - 1, Int.max])
    func lengths(_ length: Int) throws {
        for (input, output) in [
            (BodyEncoding.multipart, BodyEncoding.multipart), (.form, .json), (.json, .json), (.json, .multipart),
            (.multipart, .json),
        ] {
            let plan = plan(input, output) { $0.limits.body = .max }
            let type = input == .multipart ? "multipart/form-data; boundary=b" : input.mediaType
            let conversion = try Conversion.make(plan: plan, contentType: type)
            if let bound = conversion.outputBound(ofBody: length) { #expect(bound >= length) }
            if length > 1 << 48 { #expect(conversion.outputBound(ofBody: length) == nil) }
        }
    }

    @Test("a decoder of XML throws the same again, and behind its end another error, until it is reset")
    func decoderOfXML() throws {
        var sink = JSON.Encoder(options: .init())
        var decoder = XML.Decoder(limits: Limits())
        func code(_ body: () throws(ConversionError) -> Void) -> String? {
            do throws(ConversionError) { try body() } catch { return error.code }
            return nil
        }
        let bad = Array("<a></b>".utf8)
        _ = try decoder.feed(bad.span, into: &sink)
        let first = code { () throws(ConversionError) in try decoder.finish(into: &sink) }
        #expect(first != nil)
        #expect(code { () throws(ConversionError) in try decoder.finish(into: &sink) } == first)
        let long = [UInt8](repeating: 0x20, count: 5000)
        #expect(code { () throws(ConversionError) in _ = try decoder.feed(long.span, into: &sink) } == first)
        decoder.reset()
        _ = try decoder.feed(Array("<a/>".utf8).span, into: &sink)
        try decoder.finish(into: &sink)
        #expect(code { () throws(ConversionError) in try decoder.finish(into: &sink) } == "xml_ended")
        decoder.reset()
        _ = try decoder.feed(Array("<a/>".utf8).span, into: &sink)
        try decoder.finish(into: &sink)
    }
}
