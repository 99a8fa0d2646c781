import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// Bodies that are one value: a text, or the bytes of a file.
@Suite("Text and raw bodies")
struct WholeBodyPipelineTests {
    static let texts: [PipelineRow] = [
        PipelineRow(.text, .json, "h\u{E9}llo\n\"", #""h\#u{E9}llo\n\"""#),
        PipelineRow(.text, .json, "", #""""#),
        PipelineRow(.text, .json, "hi", #"{"m":"hi"}"#) { $0.inputField = "m" },
        PipelineRow(.text, .json, "", #"{"m":""}"#) { $0.inputField = "m" },
        PipelineRow(.text, .form, "a b", "m=a%20b") { $0.inputField = "m" },
        PipelineRow(.text, .multipart, "a b", "m=a b") { $0.inputField = "m" },
        PipelineRow(.text, .text, "a b", "a b"),
        PipelineRow(.json, .text, #""a\nb""#, "a\nb"),
        PipelineRow(.json, .text, "1.50", "1.50"),
        PipelineRow(.json, .text, "true", "1") { $0.fieldEncoding.booleans = .numeric },
        PipelineRow(.json, .text, "false", "false"),
        PipelineRow(.json, .text, "null", ""),
        PipelineRow(.json, .text, "null", "null") { $0.fieldEncoding.nulls = .literal },
        PipelineRow(.json, .text, "null", "!text_null") { $0.fieldEncoding.nulls = .reject },
        PipelineRow(.json, .text, "[]", "!text_container"),
        PipelineRow(.json, .text, #"{"a":1}"#, "!text_container"),
        PipelineRow(.json, .text, #"{"a":1}"#, "1") { $0.outputField = "a" },
        PipelineRow(.json, .text, #"{"b":1}"#, "!text_other_field b") { $0.outputField = "a" },
        PipelineRow(.json, .text, #"{"a":1,"b":1}"#, "!text_other_field b") { $0.outputField = "a" },
        PipelineRow(.json, .text, #"{"a":{}}"#, "!text_container a") { $0.outputField = "a" },
        PipelineRow(.json, .text, "{}", "!text_missing_field a") { $0.outputField = "a" },
        PipelineRow(.json, .text, "1", "!text_missing_field a") { $0.outputField = "a" },
        PipelineRow(.json, .text, #"{"a":1,"b":2}"#, "1") {
            $0.outputField = "a"
            $0.map.remove = [path("b")]
        },
        PipelineRow(.form, .text, "a=x+y", "x y") { $0.outputField = "a" },
        PipelineRow(.form, .text, "a=1&b=2", "!text_other_field b") { $0.outputField = "a" },
        PipelineRow(.multipart, .text, multipart("f:x.png:image/png=PNG"), "UE5H") {
            $0.outputField = "f"
            $0.fieldEncoding.files = .base64
        },
    ]

    @Test("a text is one value, and one value is a text", arguments: texts)
    func text(_ row: PipelineRow) { row.check() }

    @Test("a text that is not UTF-8 is refused where it stops being so", arguments: [[0x61, 0xFF], [0x61, 0xC3]])
    func invalidText(_ bytes: [UInt8]) throws {
        let plan = ConversionPlan(inputs: [.text], output: .json)
        for cut in 0...bytes.count {
            let conversion = try Conversion.make(plan: plan, contentType: [UInt8]("text/plain".utf8).span)
            let error = #expect(throws: ConversionError.self) {
                _ = try conversion.feed(Array(bytes[..<cut]).span)
                _ = try conversion.feed(Array(bytes[cut...]).span)
                _ = try conversion.finish()
            }
            #expect(error?.code == "text_invalid_utf8")
        }
    }

    static let raws: [PipelineRow] = [
        PipelineRow(.raw, .json, "abc", #"{"file":"YWJj"}"#) { $0.fieldEncoding.files = .base64 },
        PipelineRow(.raw, .json, "", #"{"file":""}"#) { $0.fieldEncoding.files = .base64 },
        PipelineRow(.raw, .json, "abc", "!files_unrepresentable file"),
        PipelineRow(.raw, .form, "abc", "p=YWJj") {
            $0.inputField = "p"
            $0.fieldEncoding.files = .base64
        },
        PipelineRow(.raw, .raw, "abc\u{0}\r\n", "abc\u{0}\r\n"),
        PipelineRow(.json, .raw, #"{"a":"x y"}"#, "x y"),
        PipelineRow(.json, .raw, #"{"a":"eCB5"}"#, "x y") { $0.files = [FileRule(path: path("a"), policy: .base64)] },
        PipelineRow(.json, .raw, #"{"a":"x","b":"y"}"#, "!raw_other_field b"),
        PipelineRow(.json, .raw, #"{"a":["x"]}"#, "x"),
        PipelineRow(.json, .raw, "{}", "!raw_missing_field"),
        PipelineRow(.form, .raw, "a=x+y", "x y"),
        PipelineRow(.form, .raw, "b=1", "!raw_other_field b") { $0.outputField = "a" },
        PipelineRow(.form, .raw, "a=1&b=2", "!raw_other_field b"),
        PipelineRow(.multipart, .raw, multipart("f:x.png:image/png=PNG"), "PNG"),
        PipelineRow(.multipart, .raw, multipart("a=1", "f:x.png:image/png=PNG"), "!raw_other_field f"),
        PipelineRow(.multipart, .raw, multipart("a=1", "f:x.png:image/png=PNG"), "PNG") { $0.map.remove = [path("a")] },
    ]

    @Test("a raw body is one file, and one field or file is a raw body", arguments: raws)
    func raw(_ row: PipelineRow) { row.check() }

    @Test("a raw body keeps the media type of its file")
    func rawType() throws {
        let plan = ConversionPlan(inputs: [.raw], output: .raw)
        let conversion = try Conversion.make(plan: plan, contentType: [UInt8]("image/png".utf8).span)
        let bytes: [UInt8] = [1, 2]
        let taken = try conversion.feed(bytes.span)
        #expect(taken == 2)
        let isDone = try conversion.finish()
        #expect(isDone)
        #expect(String(decoding: conversion.contentType, as: UTF8.self) == "image/png")
        try conversion.restart(contentType: Span(), sources: [])
        let isDoneAgain = try conversion.finish()
        #expect(isDoneAgain)
        #expect(String(decoding: conversion.contentType, as: UTF8.self) == "application/octet-stream")
    }
}
