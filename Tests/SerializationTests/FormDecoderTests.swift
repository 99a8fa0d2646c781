import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

@Suite("Form.Decoder")
struct FormDecoderTests {
    private static let lenient: FieldDecodingOptions = {
        var options = FieldDecodingOptions()
        options.invalidUTF8 = .replace
        return options
    }()

    private static let whatwgRows = formVectors("form-decode-vectors.json").filter {
        let source = $0["source"]!.text
        return source == "whatwg" || source == "wpt"
    }

    @Test("reads the pairs that the WHATWG URL standard reads")
    func whatwg() throws {
        #expect(Self.whatwgRows.count == 142)
        for row in Self.whatwgRows {
            let id = row["id"]!.text!
            let expected = row["expect"]!.elements.map { $0.elements.map { ByteString($0.bytes!) } }
            let recording = decodeForm(row["input"]!.bytes!, options: Self.lenient)
            #expect(recording.failure == nil, "\(id)")
            #expect(recording.violations.isEmpty, "\(id)")
            #expect(pairs(recording) == expected, "\(id)")
        }
    }

    private static let tricky: [String] = [
        "", "&", "a", "a=", "=", "=b", "a=b", "a&b", "a=b&&c=d&", "a==b&c=d=e", "a+b=c+d+", "a=%", "a=%4",
        "a=%4&b=%41%",
        "a=%zz%4z%%41", "%=%", "%4", "a%3Db=%26%3d%25", "a=%C3%A9x%E2%82%ACy%F0%90%90%B7&b=é€𐐷", "é%C3%A9=1&%E2%82%AC",
        "a=%FF", "a=x%C3%28y", "a=%E2%82&b=1", "ok=1&%E2%82=1", "a=1&b=%ED%A0%80", "a=%C3", "a=\u{0}%00b",
        "long=" + String(repeating: "abcdefghij", count: 60) + "%41" + String(repeating: "xyz", count: 100) + "&n=1",
        "a%=1&b%4=2&c%41%=3", "a=é%C3", "a=%F0%90é",
    ]

    @Test("gives the same parts or the same error however the input is cut, and heeds a full sink", arguments: tricky)
    func recut(text: String) {
        for policy in InvalidUTF8Policy.allCases {
            for percent in [PercentPolicy.lenient, .strict] {
                var options = FieldDecodingOptions()
                options.invalidUTF8 = policy
                options.percent = percent
                let input = Array(text.utf8)
                var decoder = Form.Decoder(options: options, limits: Limits())
                let whole = FieldRecorder.record(.whole(input), with: &decoder)
                for cut in Recut.cuts(of: input) {
                    decoder.reset()
                    #expect(FieldRecorder.record(cut, with: &decoder) == whole, "\(cut), \(policy), \(percent)")
                }
                // With a separator at the end, so that no name is left for `finish`, which can't be paused.
                decoder.reset()
                let ended = FieldRecorder.record(.whole(input + [UInt8(ascii: "&")]), with: &decoder)
                for cut in Recut.cuts(of: input + [UInt8(ascii: "&")]) {
                    decoder.reset()
                    #expect(FieldRecorder.record(cut, with: &decoder, pauses: true) == ended, "\(cut), \(policy)")
                }
            }
        }
    }

    @Test("takes all bytes unless the sink is full, and then at least up to the event")
    func consumed() throws {
        var decoder = Form.Decoder(options: .init(), limits: .init())
        var open = FieldRecorder()
        let input = Array("a=b&c".utf8)
        #expect(try decoder.feed(input.span, into: &open) == 5)

        decoder.reset()
        var full = FieldRecorder(pauses: true)
        #expect(try decoder.feed(input.span, into: &full) == 2)
        full.drain()
        #expect(try decoder.feed(input.span.extracting(2..<5), into: &full) == 2)
        full.drain()
        #expect(try decoder.feed(input.span.extracting(4..<5), into: &full) == 1)
    }

    @Test(
        "a percent sign that begins no escape is literal, or an error with its offset under strict",
        arguments: [
            ("a=%", "%", 2), ("a=1%4", "1%4", 3), ("a=%zz", "%zz", 2), ("a=%4g", "%4g", 2), ("a=%41%%42", "A%B", 5),
        ])
    func percent(text: String, value: ByteString, offset: Int) {
        #expect(pairs(decodeForm(Array(text.utf8))) == [["a", value]])
        var options = FieldDecodingOptions()
        options.percent = .strict
        let failure = decodeForm(Array(text.utf8), options: options).failure
        #expect(failure?.code == "form_percent")
        #expect(failure?.kind == .malformed)
        #expect(failure?.offset == offset)
        #expect(failure?.field == "a")
        #expect(failure?.setting == "percent")
    }

    @Test("of two faults the earlier one is told, however the body is cut")
    func earlierFault() throws {
        let pieces: [[UInt8]] = [
            Array("%C3".utf8), Array("%C3%A9".utf8), Array("x".utf8), Array("%zz".utf8), Array("%4".utf8),
            Array("+".utf8), [0xC3],
            Array("%82%A0".utf8),
        ]
        func options(_ change: (inout FieldDecodingOptions) -> Void) -> FieldDecodingOptions {
            var options = FieldDecodingOptions()
            options.percent = .strict
            change(&options)
            return options
        }
        let readings = [
            options { _ in }, options { $0.dialect = .rack }, options { $0.dialect = .qs },
            options { $0.invalidUTF8 = .replace }, options { $0.charsets = [Charset(label: "shift_jis")!] },
        ]
        func check(_ body: [UInt8]) {
            for options in readings {
                var decoder = Form.Decoder(options: options, limits: Limits())
                let whole = FieldRecorder.record(.whole(body), with: &decoder).failure
                for cut in Recut.cuts(of: body) {
                    decoder.reset()
                    let failure = FieldRecorder.record(cut, with: &decoder).failure
                    #expect(failure == whole, "\(ByteString(body)) \(cut), \(options.dialect)")
                }
            }
        }
        for first in pieces {
            for second in pieces {
                for third in pieces { check(Array("h=".utf8) + first + second + third + Array("&a".utf8)) }
                check(Array("a=1&".utf8) + first + second + Array("=1".utf8))
            }
        }
        let failure = decodeForm(Array("h=%C3x%zz".utf8), options: readings[0]).failure
        #expect(failure?.code == "form_invalid_utf8" && failure?.offset == 5)
    }

    @Test("a percent sign in a name is an error under strict before the name is known")
    func percentInName() {
        var options = FieldDecodingOptions()
        options.percent = .strict
        let failure = decodeForm(Array("ok=1&a%4=2".utf8), options: options).failure
        #expect(failure?.code == "form_percent")
        #expect(failure?.offset == 6)
        #expect(failure?.field == nil)
    }

    @Test(
        "text that is not UTF-8 is refused at the byte that can't be part of it",
        arguments: [
            ("a=%FF", 2, "a"), ("a=x%C3%28", 6, "a"), ("a=%ED%A0%80", 5, "a"), ("a=%E2%82&b=1", 8, "a"),
            ("a=%E2%82", 8, "a"), ("b=1&a=++%41%C0%80", 11, "a"),
        ])
    func invalidUTF8(text: String, offset: Int, field: String) {
        let failure = decodeForm(Array(text.utf8)).failure
        #expect(failure?.code == "form_invalid_utf8")
        #expect(failure?.kind == .malformed)
        #expect(failure?.offset == offset)
        #expect(failure?.field == field)
        #expect(failure?.setting == "invalid_utf8")
    }

    @Test("raw bytes that are not UTF-8 are refused as escaped ones are")
    func rawInvalidUTF8() {
        let failure = decodeForm(Array("a=x".utf8) + [0xC3, 0x28]).failure
        #expect(failure?.code == "form_invalid_utf8")
        #expect(failure?.offset == 4)
    }

    @Test("a name that is not UTF-8 is refused where it begins")
    func invalidName() {
        let failure = decodeForm(Array("b=1&x%FE%FF=1".utf8)).failure
        #expect(failure?.code == "form_invalid_utf8")
        #expect(failure?.offset == 4)
    }

    @Test(
        "replace gives one U+FFFD for each maximal part of a character, latin1 a character for each byte",
        arguments: [
            ("%FF", "\u{FFFD}", "\u{FF}"), ("%C3(", "\u{FFFD}(", "\u{C3}("), ("%E2%82", "\u{FFFD}", "\u{E2}\u{82}"),
            ("%F0%90%90x", "\u{FFFD}x", "\u{F0}\u{90}\u{90}x"), ("%C3%A9%E9t%E9", "é\u{FFFD}t\u{FFFD}", "éété"),
            ("%ED%A0%80", "\u{FFFD}\u{FFFD}\u{FFFD}", "\u{ED}\u{A0}\u{80}"),
        ])
    func mended(text: String, replaced: ByteString, latin1: ByteString) {
        var options = FieldDecodingOptions()
        options.invalidUTF8 = .replace
        let input = Array("a=\(text)&n\(text)=1".utf8)
        #expect(pairs(decodeForm(input, options: options)) == [["a", replaced], ["n" + replaced, "1"]])
        options.invalidUTF8 = .latin1
        #expect(pairs(decodeForm(input, options: options)) == [["a", latin1], ["n" + latin1, "1"]])
    }

    @Test("a name without = has an empty value, and its head says so")
    func bareKey() throws {
        struct Sink: FieldSink {
            var heads: [Bool] = []
            var isFull: Bool { false }
            mutating func beginPart(_ head: borrowing PartHead) { heads.append(head.hasValue) }
            mutating func content(_ piece: Span<UInt8>, isLast: Bool) {}
        }
        var decoder = Form.Decoder(options: .init(), limits: .init())
        var sink = Sink()
        let input = Array("a&b=&c".utf8)
        _ = try decoder.feed(input.span, into: &sink)
        try decoder.finish(into: &sink)
        #expect(sink.heads == [false, true, false])
    }

    @Test("a value without escapes passes in one piece where it lies; one with escapes in few")
    func pieces() throws {
        var decoder = Form.Decoder(options: .init(), limits: .init())
        var plain = FieldRecorder()
        let long = Array(("a=" + String(repeating: "x", count: 100_000) + "&").utf8)
        _ = try decoder.feed(long.span, into: &plain)
        #expect(plain.pieceSizes == [100_000])

        decoder.reset()
        var escaped = FieldRecorder()
        let text = Array(("a=" + String(repeating: "x%20", count: 10_000) + "&").utf8)
        _ = try decoder.feed(text.span, into: &escaped)
        #expect(escaped.pieceSizes.count <= 5)
        #expect(escaped.parts.first?.content.bytes.count == 20_000)
    }

    @Test("the number of pairs that are not empty is limited", arguments: [(1, false), (2, false), (3, true)])
    func fieldsLimit(count: Int, isRefused: Bool) {
        var limits = Limits()
        limits.fields = 2
        let input = Array("&&" + (0..<count).map { "k\($0)=1" }.joined(separator: "&&") + "&&").compactMap(\.asciiValue)
        let recording = decodeForm(input, limits: limits)
        #expect((recording.failure != nil) == isRefused)
        if isRefused {
            #expect(recording.failure?.code == "limit_fields")
            #expect(recording.failure?.kind == .limit)
            #expect(recording.failure?.setting == "limits.fields")
            #expect(recording.failure?.offset == 14)
        }
    }

    @Test(
        "the limit of a name is of what goes on, mended or from another charset",
        arguments: [
            // Bytes of the name as it came, and of what they become: at the limit of 6, and beyond.
            ("%FF%FF", InvalidUTF8Policy.replace, nil, true), ("%FF%FFx", .replace, nil, false),
            ("%FF%FF%FF", .latin1, nil, true), ("%FF%FF%FFx", .latin1, nil, false),
            ("\u{FFFD}\u{FFFD}", .replace, nil, true), ("%82%A0%82%A0", .reject, "shift_jis", true),
            ("%82%A0%82%A0x", .reject, "shift_jis", false), ("%1B$B$%22$%22%1B(B", .reject, "iso-2022-jp", true),
            ("%1B$B$%22$%22%1B(Bx", .reject, "iso-2022-jp", false),
        ] as [(String, InvalidUTF8Policy, String?, Bool)])
    func limitOfOutput(name: String, policy: InvalidUTF8Policy, charset: String?, passes: Bool) throws {
        var limits = Limits()
        limits.key = 6
        var options = FieldDecodingOptions()
        options.invalidUTF8 = policy
        if let charset { options.charsets = [try #require(Charset(label: charset))] }
        for pair in [name, name + "=1&b"] {
            let input = Array(pair.utf8)
            for cut in Recut.cuts(of: input) {
                var decoder = Form.Decoder(options: options, limits: limits)
                let recording = FieldRecorder.record(cut, with: &decoder)
                #expect(recording.failure?.code == (passes ? nil : "limit_key"), "\(cut)")
            }
        }
    }

    @Test(
        "the decoded bytes of a name are limited",
        arguments: ["abc", "abcd", "ab%63d", "%E2%82%ACd", "abcde", "abc%64%65", "abcd+"])
    func keyLimit(name: String) {
        var limits = Limits()
        limits.key = 4
        let isRefused = ["abcde", "abc%64%65", "abcd+"].contains(name)
        for suffix in ["=1", "&", ""] {
            let input = Array("x=1&\(name)\(suffix)".utf8)
            for cut in Recut.cuts(of: input) {
                var decoder = Form.Decoder(options: .init(), limits: limits)
                let recording = FieldRecorder.record(cut, with: &decoder)
                #expect((recording.failure != nil) == isRefused, "\(cut)")
                if isRefused {
                    #expect(recording.failure?.code == "limit_key")
                    #expect(recording.failure?.offset == 4)
                }
            }
        }
    }

    @Test("a reset decoder is as a new one")
    func reset() throws {
        var decoder = Form.Decoder(options: .init(), limits: .init())
        var sink = FieldRecorder()
        let cut = Array("a=1&b=%C3%".utf8)
        _ = try decoder.feed(cut.span, into: &sink)
        decoder.reset()
        let recording = FieldRecorder.record(.whole(Array("c=2".utf8)), with: &decoder)
        #expect(recording == FieldRecording([.init(name: "c", content: "2")]))
    }

    /// Refuses a number of pieces of content, and takes all others.
    private struct RefusingSink: FieldSink {
        var refused: Int
        var isFull: Bool { false }
        mutating func beginPart(_ head: borrowing PartHead) {}
        mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
            guard refused > 0 else { return }
            refused -= 1
            throw ConversionError(.malformed, code: "refused", reason: "the sink wants no more")
        }
    }

    /// The finding: behind an error of the sink, a decoder that mends texts went on with counts of bytes that were gone, and stopped the
    /// program or never came back.
    @Test("whatever is fed behind an error comes to an end", arguments: [InvalidUTF8Policy.reject, .replace, .latin1])
    func fedBehindErrors(_ policy: InvalidUTF8Policy) {
        let tails = ["", "&", "&b=1", "x", "%", "%4", "%41&c=%C3", "&%"]
        for (body, dialect) in ["a=%41x", "a=b%C3%A9%41", "a%4=%41+&b", "%41=%41"].flatMap({ body in
            Dialect.allCases.map { (body, $0) }
        }) {
            for (cut, tail) in (0...body.utf8.count).flatMap({ cut in tails.map { (cut, $0) } }) {
                var options = FieldDecodingOptions(dialect: dialect)
                options.invalidUTF8 = policy
                options.percent = cut % 2 == 0 ? .lenient : .strict
                if tail.utf8.count % 2 == 1, dialect == .recast { options.charsets = [Charset(label: "iso-8859-1")!] }
                var decoder = Form.Decoder(options: options, limits: .init())
                var sink = RefusingSink(refused: 2)
                let bytes = Array(body.utf8)
                for piece in [Array(bytes[..<cut]), Array(bytes[cut...]), Array(tail.utf8), Array(tail.utf8)] {
                    _ = try? decoder.feed(piece.span, into: &sink)
                }
                try? decoder.finish(into: &sink)
                decoder.reset()
                let recording = FieldRecorder.record(.whole(Array("c=2".utf8)), with: &decoder)
                #expect(recording == FieldRecording([.init(name: "c", content: "2")]))
            }
        }
    }
}
