import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// Bodies that nobody thought of: a conversion gives a whole output that can be read, or an error; never a trap.
@Suite("Conversions of mutated bodies")
struct PipelineMutationTests {
    /// A generator whose numbers are the same in every run.
    private struct Numbers {
        var state: UInt64
        mutating func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
    }

    private static let tokens = [
        "[", "]", "[]", "[0]", "[1]", "&", "=", "%", "%5B", "+", ".", ",", "\"", "{", "}", ":", "\\u00e4", "1e9",
        "null",
        "\r\n", "--b", "--b--", "name=\"a\"", "; filename=\"x\"", "\u{0}", "ä", "data:", ";base64,", "QQ==", "a", "0",
    ].map { Array($0.utf8) }

    @Test("a mutated body gives a readable output or an error", arguments: PipelineContractTests.rows.indices)
    func mutation(_ index: Int) {
        let row = PipelineContractTests.rows[index]
        let input = Array(row.input.utf8)
        var numbers = Numbers(state: UInt64(index) + 1)
        for _ in 0..<tries(100) {
            var body = input
            for _ in 0...numbers.next(4) {
                let at = numbers.next(body.count + 1)
                switch numbers.next(4) {
                case 0: body.removeSubrange(at..<min(body.count, at + numbers.next(12)))
                case 1: body.insert(contentsOf: Self.tokens[numbers.next(Self.tokens.count)], at: at)
                case 2: body.insert(contentsOf: body[at..<min(body.count, at + numbers.next(60))], at: at)
                default: if at < body.count { body[at] = UInt8(numbers.next(256)) }
                }
            }
            check(row.plan, body, numbers.next(9) + 1)
        }
    }

    @Test("fields with any brackets in their names become a document or an error")
    func names() {
        let alphabet = ["a", "b", "0", "1", "2", "[]", "[a]", "[0]", "[1]", "[2]", "[", "]", "."]
        var numbers = Numbers(state: 7)
        for styles in ArrayStyle.allCases {
            for nesting in NestingStyle.allCases {
                for _ in 0..<tries(150) {
                    let pairs = (0...numbers.next(12)).map { value in
                        (0...numbers.next(4)).map { _ in alphabet[numbers.next(alphabet.count)] }.joined() + "=\(value)"
                    }
                    let change: (inout ConversionPlan) -> Void = {
                        $0.fieldDecoding.arrays = styles
                        $0.fieldDecoding.nesting = nesting
                    }
                    let body = Array(pairs.joined(separator: "&").utf8)
                    check(plan(.form, .json, change), body, 3)
                    let run = ConversionRun.run(plan(.form, .json, change), .whole(body))
                    guard run.failure == nil else { continue }
                    // Every value is there, once.
                    var decoder = JSON.Decoder(options: .init(), limits: .init())
                    let events = EventRecorder.record(.whole(run.output.bytes), with: &decoder).events
                    let strings = events.count { if case .string = $0 { true } else { false } }
                    #expect(strings == pairs.count, "\(pairs) -> \(run.output)")
                }
            }
        }
    }

    private func check(_ plan: ConversionPlan, _ body: [UInt8], _ size: Int) {
        let run = ConversionRun.run(plan, .whole(body))
        #expect(run.violations.isEmpty, "\(ByteString(body))")
        // Of two things wrong in one slice either may be found first, and what was written before may differ; whether there
        // is an error may not depend on the cut.
        let recut = ConversionRun.run(plan, .every(size, of: body), highWatermark: 1)
        #expect((recut.failure == nil) == (run.failure == nil), "\(ByteString(body))")
        guard run.failure == nil else { return }
        #expect(recut == run, "\(ByteString(body))")
        switch plan.output {
        case .json:
            var options = JSON.DecodingOptions()
            options.duplicates = .keep
            var decoder = JSON.Decoder(options: options, limits: .init())
            #expect(EventRecorder.record(.whole(run.output.bytes), with: &decoder).failure == nil)
        case .form:
            var decoder = Form.Decoder(options: .init(), limits: .init())
            #expect(FieldRecorder.record(.whole(run.output.bytes), with: &decoder).failure == nil)
        case .multipart:
            #expect(!summary(ofMultipart: run.output.bytes).hasPrefix("unreadable"), "\(ByteString(body))")
        case .text:
            let isText = UTF8Validator.isValid(run.output.bytes.span)
            #expect(isText, "\(ByteString(body))")
        case .raw: break
        default: #expect(readingFailure(run.output.bytes, of: plan.output) == nil, "\(ByteString(body))")
        }
    }
}
