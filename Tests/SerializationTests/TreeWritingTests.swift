import Octets
import TestSupport
import Testing
import Transcoding

/// A document that is held as a tree goes out without its events where it can: the bytes, the accounting and the errors are those that
/// the events give.
@Suite("Documents written from a tree")
struct TreeWritingTests {
    static let documents = DirectFieldTests.documents + own

    private static let many = (0..<300).map { "{\"n\":\($0)}" }.joined(separator: ",")

    private static let own: [String] = [
        #"{"z":{"y":[{"b":1,"a":true},{"b":null,"a":false}],"x":[1,"two",-0.5e3,null,true,false]},"a":"é & ü"}"#,
        ##"{"order":{"@id":7,"item":[{"sku":"A"},{"sku":"B","gift":true}],"note":{"#text":"a < b","@lang":"en"}}}"##,
        #"{"order":{"lines":[[1,2],[3,[4,{"a":5}]]],"none":null,"no":[],"nothing":{}}}"#,
        #"{"order":null}"#, #"{"order":"text"}"#, #"{"order":[1,2]}"#, #"{"@order":"text"}"#,
        ##"{"#text":"text"}"##,
        #"{"p:order":{"@xmlns:p":"u","p:a":1}}"#, #"{"p:order":{"a":1}}"#, #"{"order":{"p:a":{"b":2}}}"#,
        #"{"order":{"p:a":"text"}}"#, #"{"order":{"p:a":""}}"#, #"{"xmlns:a":{"b":1}}"#, #"{"a:b:c":"d"}"#,
        #"{"a":1,"b":{"@xmlns:q":"v","q:c":[1,2,{"@q:d":3}],"é":"\uf900\uffff"}}"#, #"{"a":"\ufffe"}"#,
        #"{"1":{"a":1},"b":2}"#, #"{"1":2}"#, #"{}"#, #"[]"#, #"[{"a":1},[],"x"]"#, #""text""#, "7", "null",
        #"{"n":[0,-0,-1,255,256,65536,4294967296,9223372036854775807,9223372036854775808,18446744073709551615]}"#,
        #"{"n":18446744073709551616}"#, #"{"n":-9223372036854775809}"#, #"{"n":[1.5,1e300,-1e-400,1e400]}"#,
        #"{"s":["","a","ä","日本語","😀","\#(String(repeating: "x", count: 15))","\#(String(repeating: "é", count: 20))"]}"#,
        #"{"b":["x","x","y"],"a":{"x":"x","y":1},"list":[[{"k":1}],[{"k":1}],[]]}"#,
        #"{"long":"\#(String(repeating: "long & ", count: 3000))","a":[{"t":"\#(String(repeating: "ü", count: 2100))"}]}"#,
        "{\"many\":[\(many)]}",
    ]

    /// What makes JSON go by way of a tree.
    private static let ways: [@Sendable (inout ConversionPlan) -> Void] = [
        { $0.fieldEncoding.order = .sorted },
        { $0.removeNulls = .deep },
    ]

    private static let changes: [@Sendable (inout ConversionPlan) -> Void] = [
        { _ in },
        { $0.fieldEncoding.empties = .omit },
        {
            $0.fieldEncoding.empties = .marker; $0.fieldEncoding.nulls = .literal
        },
        {
            $0.fieldEncoding.arrays = .indices; $0.fieldEncoding.empties = .omit; $0.fieldEncoding.booleans = .numeric
        },
        {
            $0.fieldEncoding.spaces = .plus; $0.fieldEncoding.nulls = .omit; $0.fieldEncoding.empties = .omit
        },
        { $0.fieldEncoding.nulls = .reject },
        {
            $0.fieldEncoding.nulls = .key; $0.fieldEncoding.empties = .omit
        },
        { $0.fieldEncoding.arrays = .brackets },
        { $0.fieldEncoding.nesting = .dots },
    ]

    @Test("fields are those of the events", arguments: documents.indices)
    func fields(_ index: Int) {
        let body = Array(Self.documents[index].utf8)
        for output in [BodyEncoding.form, .multipart] {
            for (number, change) in Self.changes.enumerated() where tries(number: index + number) {
                for way in Self.ways { compare(body, output, change, way) }
            }
        }
    }

    @Test("limits hold for fields as they do for the events", arguments: documents.indices)
    func limitsOfFields(_ index: Int) {
        let body = Array(Self.documents[index].utf8)
        let limits: [@Sendable (inout Limits, Int) -> Void] = [
            { $0.key = $1 }, { $0.keyDepth = $1 }, { $0.tree = $1 },
        ]
        for (number, limit) in limits.enumerated() {
            for value in Array(0..<40) + (number == 2 ? Array(stride(from: 40, to: 2500, by: 31)) : [60, 61, 62])
            where tries(number: index + value) {
                compare(
                    body, .form,
                    {
                        limit(&$0.limits, value)
                        $0.fieldEncoding.empties = .omit
                    }, Self.ways[0])
            }
        }
    }

    /// A rule for a part that no document has leaves all of it to the events.
    private func compare(
        _ body: [UInt8], _ output: BodyEncoding, _ change: (inout ConversionPlan) -> Void,
        _ way: (inout ConversionPlan) -> Void, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let direct = plan(.json, output) {
            change(&$0)
            way(&$0)
        }
        var events = direct
        events.jsonParts = [path("absent.never")]
        let wanted = ConversionRun.run(events, .whole(body))
        for watermark in [1, 100, OutputBuffer.defaultHighWatermark] {
            let run = ConversionRun.run(direct, .whole(body), highWatermark: watermark)
            #expect(run.failure == wanted.failure, "\(output), \(watermark)", sourceLocation: sourceLocation)
            if wanted.failure == nil {
                #expect(run == wanted, "\(output), \(watermark)", sourceLocation: sourceLocation)
            }
        }
    }

    @Test("XML is that of the events", arguments: documents.indices)
    func xml(_ index: Int) {
        let body = Array(Self.documents[index].utf8)
        let changes: [@Sendable (inout XML.EncodingOptions) -> Void] = [
            { _ in },
            { $0.root = .wrap },
            { $0.root = .member },
            {
                $0.names = .item; $0.empties = .marker; $0.nulls = .nilAttribute
            },
            {
                $0.indentation = 2; $0.names = .item; $0.empties = .omit; $0.nulls = .omit
            },
            {
                $0.mixed = .join; $0.nulls = .reject; $0.declaration = false
            },
            { $0.convention = .lossless },
        ]
        for change in changes {
            let plan = plan(.json, .xml) { change(&$0.xmlEncoding) }
            var encoder = XML.Encoder(options: plan.xmlEncoding, limits: plan.limits)
            check(plan, body, Self.events(body, plan, into: &encoder))
        }
    }

    @Test("a binary property list is that of the events", arguments: documents.indices)
    func binaryPropertyList(_ index: Int) {
        let body = Array(Self.documents[index].utf8)
        let changes: [@Sendable (inout PropertyList.EncodingOptions) -> Void] = [
            { _ in }, { $0.nulls = .omit }, { $0.nulls = .empty }, { $0.largeIntegers = .real },
            { $0.largeIntegers = .string },
        ]
        for change in changes {
            let plan = plan(.json, .bplist) { change(&$0.propertyListEncoding) }
            var options = plan.propertyListEncoding
            options.format = .binary
            var encoder = PropertyList.Encoder(options: options, limits: plan.limits)
            check(plan, body, Self.events(body, plan, into: &encoder))
        }
    }

    private static func events<Encoder: EventSink & OutputEncoder & ~Copyable>(
        _ body: [UInt8], _ plan: ConversionPlan, into encoder: inout Encoder
    ) -> (output: [UInt8], failure: ConversionError?)? {
        // Of a body that is no JSON nothing reaches an encoder.
        guard ConversionRun.run(Self.plain, .whole(body)).failure == nil else { return nil }
        var options = JSON.DecodingOptions()
        options.duplicates = .reject
        var decoder = JSON.Decoder(options: options, limits: plan.limits)
        encoder.output = OutputBuffer(highWatermark: .max)
        do throws(ConversionError) {
            _ = try decoder.feed(body.span, into: &encoder)
            try decoder.finish(into: &encoder)
            try encoder.finish()
            return (encoder.output.span.copied(), nil)
        } catch {
            return ([], error)
        }
    }

    private static let plain = plan(.json, .json) { $0.jsonDuplicates = .reject }

    private func check(
        _ plan: ConversionPlan, _ body: [UInt8], _ wanted: (output: [UInt8], failure: ConversionError?)?,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        guard let wanted else { return }
        for watermark in [1, OutputBuffer.defaultHighWatermark] {
            let run = ConversionRun.run(plan, .whole(body), highWatermark: watermark)
            #expect(run.failure == wanted.failure, sourceLocation: sourceLocation)
            if wanted.failure == nil { #expect(run.output.bytes == wanted.output, sourceLocation: sourceLocation) }
        }
    }
}
