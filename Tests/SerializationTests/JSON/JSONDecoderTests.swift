import Serialization
import TestSupport
import Testing
import Transcoding

@Suite struct JSONDecoderTests {
    @Test(arguments: JSONVector.accept)
    func `a valid text gives the same events however it is cut and however often the sink is full`(
        vector: JSONVector
    ) throws {
        let whole = recordJSON(.whole(vector.bytes))
        #expect(whole.failure == nil)
        #expect(whole.violations == [])
        for cut in Recut.cuts(of: vector.bytes) {
            for pauses in [false, true] {
                let recording = recordJSON(cut, pauses: pauses)
                #expect(recording == whole, "\(cut), pauses \(pauses)")
            }
        }
    }

    @Test(arguments: JSONVector.accept)
    func `a valid text is written back compactly, with its own numbers and order`(vector: JSONVector) throws {
        for cut in Recut.cuts(of: vector.bytes) {
            #expect(try reencodeJSON(cut) == vector.expectedOutput, "\(cut)")
        }
        // What was written is its own canonical form.
        #expect(try reencodeJSON(.whole(vector.expectedOutput.bytes)) == vector.expectedOutput)
    }

    @Test(arguments: JSONVector.reject)
    func `a bad text is refused with the same code, offset and pointer however it is cut`(vector: JSONVector) {
        let whole = recordJSON(.whole(vector.bytes))
        #expect(whole.failure?.code == vector.code)
        #expect(whole.failure?.offset == vector.offset)
        #expect(whole.failure?.field == vector.field)
        #expect(whole.failure?.kind == (vector.code == "json_unsupported_charset" ? .unsupported : .malformed))
        #expect(whole.violations == [])
        for cut in Recut.cuts(of: vector.bytes) {
            for pauses in [false, true] {
                #expect(recordJSON(cut, pauses: pauses) == whole, "\(cut), pauses \(pauses)")
            }
        }
    }

    @Test func `events come in document order with unescaped names and strings`() {
        let text = #" {"a\u0062": [1.50, "x\ny", {"": null}], "c": true, "d": "", "e": false} "#
        #expect(
            recordJSON(text)
                == EventRecording([
                    .beginObject, .key("ab"), .beginArray, .number("1.50"), .string("x\ny"), .beginObject, .key(""),
                    .null,
                    .endObject, .endArray, .key("c"), .bool(true), .key("d"), .string(""), .key("e"), .bool(false),
                    .endObject,
                ]))
    }

    @Test func `a string that is whole and unescaped in its slice is one piece`() throws {
        var recorder = EventRecorder()
        try feed(["[\"", String(repeating: "x", count: 5000), "\",\"é\",\"\"]"].joined(), to: &recorder)
        #expect(recorder.pieceSizes == [5000, 2, 0])
    }

    @Test func `a string that is cut comes in pieces of the slices`() throws {
        var recorder = EventRecorder()
        var decoder = JSON.Decoder(options: .init(duplicates: .reject), limits: Limits())
        for slice in ["[\"aaa", "bbbbb", "é", "cc\"]"] {
            let bytes = Array(slice.utf8)
            #expect(try decoder.feed(bytes.span, into: &recorder) == bytes.count)
        }
        try decoder.finish(into: &recorder)
        #expect(recorder.pieceSizes == [3, 5, 2, 2])
    }

    @Test func `a string with escapes that is short and whole in its slice is one piece`() throws {
        var recorder = EventRecorder()
        try feed("[\"a\\n\(String(repeating: "y", count: 300))\\u00e9\",\"\\t\"]", to: &recorder)
        #expect(recorder.pieceSizes == [304, 1])
    }

    @Test func `in a long string, short runs between escapes are joined and long ones are not copied`() throws {
        var recorder = EventRecorder()
        let long = String(repeating: "y", count: 5000)
        try feed("\"a\\nb\\nc\(long)\\td\"", to: &recorder)
        #expect(recorder.events == [.string(ByteString("a\nb\nc\(long)\td"))])
        #expect(recorder.pieceSizes == [4, 5001, 2])
    }

    @Test func `unescaped text goes out in pieces of bounded size`() throws {
        var recorder = EventRecorder()
        try feed("\"" + String(repeating: "\\u00e9z", count: 10000) + "\"", to: &recorder)
        #expect(recorder.events == [.string(ByteString(String(repeating: "éz", count: 10000)))])
        #expect(recorder.pieceSizes.allSatisfy { $0 <= 2048 })
        #expect(recorder.pieceSizes.count < 40)
    }

    @Test func `feed returns after the event that filled the sink, and the comma or colon behind it`() throws {
        var recorder = EventRecorder(pauses: true)
        var decoder = JSON.Decoder(options: .init(duplicates: .reject), limits: Limits())
        let bytes = Array(#"{"a":[1,"b"]}"#.utf8)
        var consumed: [Int] = []
        var start = 0
        while start < bytes.count {
            recorder.drain()
            consumed.append(try decoder.feed(bytes.span.extracting(start..<bytes.count), into: &recorder))
            start += consumed.last ?? 0
        }
        #expect(consumed == [1, 4, 1, 2, 3, 1, 1])
        #expect(recorder.violations == [])
    }

    @Test func `a number at the root ends with the body`() throws {
        var recorder = EventRecorder()
        var decoder = JSON.Decoder(options: .init(duplicates: .reject), limits: Limits())
        #expect(try decoder.feed(Array("12".utf8).span, into: &recorder) == 2)
        #expect(recorder.events == [])
        try decoder.finish(into: &recorder)
        #expect(recorder.events == [.number("12")])
    }

    @Test func `after reset a decoder reads another body, whatever state the first one left`() {
        var decoder = JSON.Decoder(options: .init(duplicates: .reject), limits: Limits())
        let good = Cut.whole(Array(#"{"a":{"b":[1]},"c":"x"}"#.utf8))
        let expected = EventRecorder.record(good, with: &decoder)
        #expect(expected.failure == nil)
        for vector in JSONVector.reject {
            decoder.reset()
            #expect(EventRecorder.record(.whole(vector.bytes), with: &decoder).failure != nil)
            decoder.reset()
            #expect(EventRecorder.record(good, with: &decoder) == expected, "after \(vector.name)")
        }
    }

    @Test func `after an error nothing is taken and the body is not complete`() {
        var decoder = JSON.Decoder(options: .init(duplicates: .reject), limits: Limits())
        var recorder = EventRecorder()
        #expect(throws: ConversionError.self) { try decoder.feed(Array("[x".utf8).span, into: &recorder) }
        #expect(throws: ConversionError.self) { try decoder.feed(Array("1]".utf8).span, into: &recorder) }
        #expect(throws: ConversionError.self) { try decoder.finish(into: &recorder) }
        #expect(recorder.events == [.beginArray])
    }

    @Test func `an error of the sink ends the reading`() {
        struct Refusal: EventSink {
            var isFull: Bool { false }
            func beginObject() {}
            func endObject() {}
            func beginArray() {}
            func endArray() {}
            func key(_ name: Span<UInt8>) {}
            func string(_ piece: Span<UInt8>, isLast: Bool) {}
            func number(_ text: Span<UInt8>) throws(ConversionError) {
                throw ConversionError(.unrepresentable, code: "test", reason: "no numbers")
            }
            func bool(_ value: Bool) {}
            func null() {}
            func beginFile(_ head: borrowing PartHead) {}
            func fileContent(_ piece: Span<UInt8>, isLast: Bool) {}
        }
        var decoder = JSON.Decoder(options: .init(duplicates: .reject), limits: Limits())
        var sink = Refusal()
        let error = #expect(throws: ConversionError.self) { try decoder.feed(Array("[1]".utf8).span, into: &sink) }
        #expect(error?.code == "test")
    }

    private func feed(_ text: String, to recorder: inout EventRecorder) throws {
        var decoder = JSON.Decoder(options: .init(duplicates: .reject), limits: Limits())
        let bytes = Array(text.utf8)
        #expect(try decoder.feed(bytes.span, into: &recorder) == bytes.count)
        try decoder.finish(into: &recorder)
        #expect(recorder.violations == [])
    }
}
