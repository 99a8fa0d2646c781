import ContentCoding
import Octets
import Testing
import Transcoding

@testable import Gateway

/// The conversion of a response's body, without the connection that brings it.
@Suite struct ResponseTranscoderTests {
    /// 40 KiB of JSON that become about 2 MiB of form: long names, each in front of many short values.
    private static let document: String = {
        let name = String(repeating: "n", count: 1000)
        return "{\"\(name)\":{" + (0..<2000).map { "\"k\($0)\":\"\($0)\"" }.joined(separator: ",") + "}}"
    }()

    private static let expected: String = {
        let name = String(repeating: "n", count: 1000)
        return (0..<2000).map { "\(name)%5Bk\($0)%5D=\($0)" }.joined(separator: "&")
    }()

    private static func encoded(_ text: String, _ coding: Coding) -> [UInt8] {
        let encoder = ContentEncoder(coding)
        var output = OutputBuffer()
        var isFine = encoder.encode(Array(text.utf8).span, into: &output)
        isFine = encoder.finish(into: &output) && isFine
        precondition(isFine)
        return output.span.copied()
    }

    private func transcoder(
        coding: Coding? = nil, limit: Int = 64 << 20, bodyLimit: Int = 64 << 20
    ) throws -> (ResponseTranscoder, Conversion) {
        var plan = ConversionPlan(inputs: [.json], output: .form)
        plan.limits.tree = 64 << 20
        plan.limits.fields = 1_000_000
        plan.limits.body = bodyLimit
        let conversion = try Conversion.make(plan: plan, contentType: "application/json")
        let rules = ResponseRules([ResponseRule(ResponseCondition(), .convert(ResponseConversion(plan)))])
        let transcoder = ResponseTranscoder()
        transcoder.begin(conversion, of: try #require(rules?.rules.first), changes: [], limit: limit)
        if let coding {
            let decoder = ContentDecoder()
            var limits = CodingLimits()
            limits.ratio = 1_000_000
            decoder.begin(AppliedCodings(coding), limits: limits)
            transcoder.undo(with: decoder, limit: bodyLimit)
        }
        return (transcoder, conversion)
    }

    /// Brings the body in pieces, ends it, and does all slices of work; `look` is called behind each.
    private func run(
        _ transcoder: ResponseTranscoder, _ pieces: [[UInt8]], _ look: () -> Void = {}
    ) throws(ConversionError) -> String {
        for piece in pieces {
            try transcoder.feed(piece.span)
            look()
        }
        transcoder.bodyEnded()
        while transcoder.hasInput {
            try transcoder.continueSlice()
            look()
        }
        try transcoder.finishDecoding()
        if !transcoder.isUntouched {
            while try !transcoder.finish() { look() }
            look()
        }
        var text = ""
        transcoder.withBody { text = $0.lossyString() }
        return text
    }

    /// What ends the conversion of `body`.
    private func failure(_ transcoder: ResponseTranscoder, _ body: [UInt8]) -> ConversionError? {
        do throws(ConversionError) {
            _ = try run(transcoder, [body])
            return nil
        } catch {
            return error
        }
    }

    @Test(
        "H7: no step converts or codes more than a slice, and the bytes are those of one go",
        arguments: [nil] + Coding.allCases)
    func steps(_ coding: Coding?) throws {
        let (transcoder, conversion) = try transcoder(coding: coding)
        let body = coding.map { Self.encoded(Self.document, $0) } ?? Array(Self.document.utf8)
        // What one event of the codec may add behind a slice's end.
        let most = ResponseTranscoder.sliceSize + 8192
        var count = 0
        var steps = 0
        let text = try run(transcoder, [body]) {
            let now = conversion.outputCount
            #expect(now - count <= most, "step \(steps)")
            count = now
            steps += 1
        }
        #expect(steps >= Self.expected.utf8.count / most)
        #expect(text == Self.expected)
        #expect(transcoder.isWhole && transcoder.isDecoded == (coding != nil))
    }

    @Test("the bytes are the same however the body is cut", arguments: [nil] + Coding.allCases)
    func cuts(_ coding: Coding?) throws {
        let text = #"{"a":[{"b":"x y"},{"b":1}],"c":null,"d":true}"#
        let body = coding.map { Self.encoded(text, $0) } ?? Array(text.utf8)
        let whole = try run(transcoder(coding: coding).0, [body])
        #expect(whole.hasPrefix("a%5B"))
        #expect(try run(transcoder(coding: coding).0, body.map { [$0] }) == whole)
        for cut in 0...body.count {
            #expect(try run(transcoder(coding: coding).0, [Array(body[..<cut]), [], Array(body[cut...])]) == whole)
        }
    }

    @Test("an empty body, and the one space that stands for one, pass as they are")
    func untouched() throws {
        for (pieces, expected) in [([[]], ""), ([[32]], " "), ([[], [32], []], " ")] as [([[UInt8]], String)] {
            let (transcoder, _) = try transcoder()
            #expect(try run(transcoder, pieces) == expected)
            #expect(transcoder.isUntouched)
        }
        // A space in front of a document is white space like any other.
        #expect(try run(transcoder().0, [[32], Array(#"{"a":1}"#.utf8)]) == "a=1")
    }

    @Test("limits hold for what comes and for what is made, each by its own name")
    func limits() throws {
        let body = Array(#"{"a":"xxxxxxxxxx"}"#.utf8)
        #expect(failure(try transcoder(limit: 12).0, body) == nil)
        #expect(failure(try transcoder(limit: 11).0, body)?.code == "limit_response")
        #expect(failure(try transcoder(bodyLimit: body.count).0, body) == nil)
        #expect(failure(try transcoder(bodyLimit: body.count - 1).0, body)?.code == "limit_body")
        let coded = Self.encoded(String(decoding: body, as: UTF8.self), .gzip)
        #expect(failure(try transcoder(coding: .gzip, bodyLimit: coded.count).0, coded) == nil)
        #expect(failure(try transcoder(coding: .gzip, bodyLimit: coded.count - 1).0, coded)?.code == "limit_body")
    }

    @Test("a body that can't be read says whose fault it is, and gives nothing")
    func faults() throws {
        let (transcoder1, _) = try transcoder()
        #expect(failure(transcoder1, Array(#"{"a":"#.utf8))?.kind == .malformed && !transcoder1.hasCodingError)
        for coding in Coding.allCases {
            let (transcoder2, _) = try transcoder(coding: coding)
            let cut = Array(Self.encoded(#"{"a":1}"#, coding).dropLast())
            #expect(failure(transcoder2, cut)?.kind == .malformed, "\(coding)")
            #expect(transcoder2.hasCodingError && transcoder2.accounting == nil)
        }
    }

    @Test("after a reset nothing of the last body is left")
    func reuse() throws {
        let (transcoder, conversion) = try transcoder()
        #expect(failure(transcoder, Array(#"{"a":"#.utf8)) != nil)
        let rule = try #require(transcoder.rule)
        // A conversion that failed serves no other body.
        #expect(transcoder.end() == nil)
        transcoder.reset()
        #expect(!transcoder.isActive && !transcoder.isWhole && !transcoder.hasInput && transcoder.bufferedCount == 0)
        try conversion.restart(contentType: Array("application/json".utf8).span, sources: [])
        transcoder.begin(conversion, of: rule, changes: .weakTag, limit: 100)
        #expect(try run(transcoder, [Array(#"{"b":2}"#.utf8)]) == "b=2")
        #expect(transcoder.end() === conversion && transcoder.changes == .weakTag)
    }
}
