import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// Every pair of an input and an output has a pipeline, whether values pass one by one or by way of a tree, and carries a field.
@Suite struct PipelineTableTests {
    struct Pair: CustomTestStringConvertible, Sendable {
        var input: BodyEncoding
        var output: BodyEncoding
        /// Under `auto`.
        var withoutFiles: BodyEncoding?
        /// Whether something in the plan wants a tree.
        var needsTree: Bool

        var testDescription: String {
            let output = withoutFiles.map { "auto (\($0.rawValue))" } ?? output.rawValue
            return "\(input.rawValue) -> \(output)\(needsTree ? " by way of a tree" : "")"
        }

        var plan: ConversionPlan {
            SerializationTests.plan(input, output) { plan in
                plan.outputWithoutFiles = withoutFiles
                if input == .text || input == .raw { plan.inputField = "a" }
                if output == .text || output == .raw { plan.outputField = "a" }
                if !output.hasFiles { plan.fieldEncoding.files = .base64 }
                plan.xmlDecoding.root = .drop
                plan.xmlEncoding.root = .wrap
                if needsTree { plan.types = [TypeRule(path: path("absent"), type: .string)] }
            }
        }
    }

    static let pairs = BodyEncoding.allCases.flatMap { input in
        let outputs: [(BodyEncoding, BodyEncoding?)] =
            BodyEncoding.allCases.map { ($0, nil) } + [(.multipart, .form), (.multipart, .json)]
        return outputs.flatMap { output, plain in
            [false, true].map { Pair(input: input, output: output, withoutFiles: plain, needsTree: $0) }
        }
    }

    /// A document with the field `a`, which is `x`, and perhaps a further field `b`; of a raw body it is a file.
    private static func body(_ encoding: BodyEncoding, hasFurther: Bool = false) throws -> [UInt8] {
        switch encoding {
        case .form: Array(hasFurther ? "a=x&b=y".utf8 : "a=x".utf8)
        case .json: Array(hasFurther ? #"{"a":"x","b":"y"}"#.utf8 : #"{"a":"x"}"#.utf8)
        case .multipart: Array((hasFurther ? multipart("a=x", "b=y") : multipart("a=x")).utf8)
        case .xml: Array(hasFurther ? "<r><a>x</a><b>y</b></r>".utf8 : "<r><a>x</a></r>".utf8)
        case .text, .raw: Array("x".utf8)
        default:
            try plan(.json, encoding).convert(
                body(.json, hasFurther: hasFurther), contentType: BodyEncoding.json.mediaType
            ).body
        }
    }

    @Test func everyEncodingHasAName() {
        for encoding in BodyEncoding.allCases { #expect("\(encoding.name)" == encoding.rawValue) }
        #expect(BodyEncoding.allCases.map(\.number) == Array(BodyEncoding.allCases.indices))
    }

    @Test("each pair has its row", arguments: pairs)
    func row(_ pair: Pair) throws {
        let input = try Self.body(pair.input)
        let result = try pair.plan.convert(input, contentType: ConversionRun.defaultType(pair.input))
        guard pair.output != .text, pair.output != .raw else {
            let isEncoded = pair.input == .raw && pair.output == .text
            #expect(String(decoding: result.body, as: UTF8.self) == (isEncoded ? "eA==" : "x"))
            return
        }
        // Under `auto` a raw body is a file.
        let output = pair.input == .raw ? pair.output : pair.withoutFiles ?? pair.output
        #expect(result.contentType.hasPrefix(output.mediaType))
        let back = plan(output, .json) { plan in
            plan.fieldEncoding.files = .base64
            plan.xmlDecoding.root = .drop
        }
        let document = try back.convert(result.body, contentType: result.contentType).body
        #expect(String(decoding: document, as: UTF8.self) == (pair.input == .raw ? #"{"a":"eA=="}"# : #"{"a":"x"}"#))
    }

    @Test("each pair is explained by its row, and what went where is what the conversion counts", arguments: pairs)
    func explanation(_ pair: Pair) throws {
        let takesOne = pair.output == .text || pair.output == .raw
        let hasFurther = pair.input != .text && pair.input != .raw
        var plan = pair.plan
        plan.map.remove = [path("b")]
        if !takesOne { plan.map.set = [.init(path: path("s"), value: .literal(.string("z")))] }
        let input = try Self.body(pair.input, hasFurther: hasFurther)
        let type = ConversionRun.defaultType(pair.input)
        let conversion = try Conversion.make(plan: plan, contentType: type)
        let output = try conversion.convert(input) + conversion.convertEnd()

        let trace = try ConversionTrace.make(plan: plan, contentType: Array(type.utf8).span, body: input.span)
        let came = trace.sent.filter { $0.source != nil }
        #expect(came.map(\.source) == ["a"])
        #expect(came.map(\.target) == [takesOne ? "the body" : "a"])
        #expect(came.count { $0.isFile } == conversion.accounting.files)
        #expect(trace.sent.filter { $0.source == nil }.map(\.target) == (takesOne ? [] : ["s"]))
        let further = ConversionTrace.Entry(source: "b", target: nil, rules: ["map.remove b"], path: path("b"))
        #expect(trace.removed == (hasFurther ? [further] : []))
        #expect(trace.removed.count == conversion.accounting.removed)
        #expect(came.count + trace.removed.count == conversion.accounting.fields + conversion.accounting.files)
        #expect(trace.accounting == conversion.accounting)
        #expect(trace.output.count == output.count)
    }
}
