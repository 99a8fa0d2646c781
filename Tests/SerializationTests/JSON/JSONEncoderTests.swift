import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

@Suite struct JSONEncoderTests {
    private func string(_ pieces: [[UInt8]]) -> ByteString {
        var encoder = JSON.Encoder(options: JSON.EncodingOptions())
        for (index, piece) in pieces.enumerated() {
            encoder.string(piece.span, isLast: index == pieces.count - 1)
        }
        encoder.finish()
        return ByteString(encoder.output.span.copied())
    }

    @Test func `only quotation mark, backslash and C0 controls are escaped`() {
        for value in UInt8.min...0x7F {
            let expected: String =
                switch value {
                case 0x22: #"\""#
                case 0x5C: #"\\"#
                case 0x08: #"\b"#
                case 0x09: #"\t"#
                case 0x0A: #"\n"#
                case 0x0C: #"\f"#
                case 0x0D: #"\r"#
                case ..<0x10: "\\u000" + String(value, radix: 16)
                case ..<0x20: "\\u00" + String(value, radix: 16)
                default: String(UnicodeScalar(value))
                }
            #expect(string([[value]]) == ByteString("\"\(expected)\""))
            // In every place of a block of sixteen.
            for place in 0..<20 {
                let before = String(repeating: "x", count: place)
                let after = String(repeating: "y", count: 19 - place)
                #expect(
                    string([Array(before.utf8) + [value] + Array(after.utf8)])
                        == ByteString("\"\(before)\(expected)\(after)\""))
            }
        }
        let beyond = "\u{80}é\u{2028}\u{2029}漢😀\u{FEFF}"
        #expect(string([Array(beyond.utf8)]) == ByteString("\"\(beyond)\""))
    }

    @Test func `a string is the same however its pieces are cut`() {
        let text = Array("a\"b\\c\n\u{1}é漢😀/ 0123456789abcdef0123456789abcdef\"".utf8)
        let whole = string([text])
        #expect(whole == ByteString(#""a\"b\\c\n\u0001é漢😀/ 0123456789abcdef0123456789abcdef\"""#))
        for cut in Recut.cuts(of: text) { #expect(string(cut.slices) == whole, "\(cut)") }
        #expect(string([[], []]) == "\"\"")
    }

    @Test func `commas and colons stand where they belong`() {
        var encoder = JSON.Encoder(options: JSON.EncodingOptions())
        let one = Array("1.0".utf8)
        let name = Array("a\"".utf8)
        let nothing: [UInt8] = []
        encoder.beginObject()
        encoder.key(name.span)
        encoder.beginArray()
        encoder.number(one.span)
        encoder.null()
        encoder.bool(true)
        encoder.bool(false)
        encoder.string(one.span, isLast: false)
        encoder.string(one.span, isLast: true)
        encoder.beginArray()
        encoder.endArray()
        encoder.beginObject()
        encoder.endObject()
        encoder.endArray()
        encoder.key(nothing.span)
        encoder.null()
        encoder.endObject()
        encoder.finish()
        #expect(
            ByteString(encoder.output.span.copied())
                == ByteString(#"{"a\"":[1.0,null,true,false,"1.01.0",[],{}],"":null}"#))
    }

    @Test func `a file becomes a base64 string however its pieces are cut`() throws {
        // RFC 4648 §10.
        for (content, digits) in [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            for cut in Recut.cuts(of: Array(content.utf8)) {
                #expect(try file(cut.slices) == ByteString(#"[0,"\#(digits)",0,"\#(digits)"]"#), "\(cut)")
            }
        }
        #expect(try file([[0xFB, 0xEF, 0xFF]]) == #"[0,"++//",0,"++//"]"#)
    }

    private func file(_ pieces: [[UInt8]]) throws -> ByteString {
        var encoder = JSON.Encoder(options: JSON.EncodingOptions())
        let name = Array("f".utf8)
        let nothing: [UInt8] = []
        var head = PartHead(name: name.span)
        head.isFile = true
        encoder.beginArray()
        for _ in 0..<2 {
            encoder.number(Array("0".utf8).span)
            try encoder.beginFile(head)
            for piece in pieces { encoder.fileContent(piece.span, isLast: false) }
            encoder.fileContent(nothing.span, isLast: true)
        }
        encoder.endArray()
        return ByteString(encoder.output.span.copied())
    }

    @Test(arguments: [FilePolicy.reject, .stream, .drop])
    func `a file is refused by name where the options don't take it`(policy: FilePolicy) {
        var options = JSON.EncodingOptions()
        options.files = policy
        var encoder = JSON.Encoder(options: options)
        let name = Array("photo".utf8)
        let head = PartHead(name: name.span)
        let error = #expect(throws: ConversionError.self) { try encoder.beginFile(head) }
        #expect(error?.kind == .unrepresentable)
        #expect(error?.code == "json_file")
        #expect(error?.field == "photo")
        #expect(error?.setting == "files")
        #expect(encoder.output.isEmpty)
    }

    @Test func `the encoder is full when its output is, and empty after reset`() {
        var encoder = JSON.Encoder(options: JSON.EncodingOptions())
        encoder.output.highWatermark = 4
        encoder.beginArray()
        encoder.null()
        #expect(encoder.isFull)
        encoder.output.drop(encoder.output.count)
        #expect(!encoder.isFull)
        encoder.string(Array("open".utf8).span, isLast: false)
        encoder.reset()
        #expect(encoder.output.isEmpty)
        encoder.bool(true)
        #expect(ByteString(encoder.output.span.copied()) == "true")
    }
}
