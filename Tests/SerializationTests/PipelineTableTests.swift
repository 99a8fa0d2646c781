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

    /// A document with the one field `a`, which is `x`; of a raw body it is a file.
    private static func body(_ encoding: BodyEncoding) throws -> [UInt8] {
        switch encoding {
        case .form: Array("a=x".utf8)
        case .json: Array(#"{"a":"x"}"#.utf8)
        case .multipart: Array(multipart("a=x").utf8)
        case .xml: Array("<r><a>x</a></r>".utf8)
        case .text, .raw: Array("x".utf8)
        default: try plan(.json, encoding).convert(body(.json), contentType: "application/json").body
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
}
