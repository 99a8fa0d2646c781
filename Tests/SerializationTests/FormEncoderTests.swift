import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

@Suite("Form.Encoder")
struct FormEncoderTests {
    private func encode(_ options: FieldEncodingOptions, _ body: (inout Form.Encoder) throws -> Void) rethrows -> String
    {
        var encoder = Form.Encoder(options: options)
        try body(&encoder)
        return encoder.output.span.lossyString()
    }

    private func pair(_ name: String, _ pieces: [String], into encoder: inout Form.Encoder) throws {
        try encoder.beginPart(PartHead(name: Array(name.utf8).span))
        for (index, piece) in pieces.enumerated() {
            try encoder.content(Array(piece.utf8).span, isLast: index == pieces.count - 1)
        }
    }

    @Test("only letters, digits and *-._ stand for themselves", arguments: SpaceStyle.allCases)
    func unescaped(spaces: SpaceStyle) throws {
        var options = FieldEncodingOptions()
        options.spaces = spaces
        for byte in UInt8.min...UInt8.max {
            let isKept = ASCII.isAlpha(byte) || ASCII.isDigit(byte) || "*-._".utf8.contains(byte)
            let hex = String(byte, radix: 16, uppercase: true)
            let escaped = byte == 0x20 && spaces == .plus ? "+" : "%" + (hex.count == 1 ? "0" : "") + hex
            let expected = isKept ? String(UnicodeScalar(byte)) : escaped
            let text = try encode(options) { encoder in
                try encoder.beginPart(PartHead(name: [byte].span))
                try encoder.content([byte, byte].span, isLast: true)
            }
            #expect(text == expected + "=" + expected + expected)
        }
    }

    @Test("pieces are written as their whole would be, of any size")
    func pieces() throws {
        let text = try encode(.init()) { encoder in
            try pair("a", ["", "x ", "", "y"], into: &encoder)
            try pair("", [""], into: &encoder)
            try pair("b", [String(repeating: "é", count: 5000)], into: &encoder)
        }
        #expect(text == "a=x%20y&=&b=" + String(repeating: "%C3%A9", count: 5000))
    }

    @Test("a head without a value is a bare name, but never nothing")
    func bareName() throws {
        let text = try encode(.init()) { encoder in
            for name in ["a", "", "b"] {
                var head = PartHead(name: Array(name.utf8).span)
                head.hasValue = false
                try encoder.beginPart(head)
                try encoder.content(Span(), isLast: true)
            }
            var head = PartHead(name: Array("c".utf8).span)
            head.hasValue = false
            try encoder.beginPart(head)
            try encoder.content(Array("1".utf8).span, isLast: false)
            try encoder.content(Array("2".utf8).span, isLast: true)
        }
        #expect(text == "a&=&b&c=12")
    }

    private func fileHead() -> PartHead {
        var head = PartHead(name: Array("f[x]".utf8).span)
        head.setFilename(Array("a.bin".utf8).span)
        return head
    }

    @Test("a file is refused by name unless files is base64 or drop", arguments: [FilePolicy.stream, .reject])
    func refusedFile(policy: FilePolicy) {
        var options = FieldEncodingOptions()
        options.files = policy
        var encoder = Form.Encoder(options: options)
        do throws(ConversionError) {
            try encoder.beginPart(fileHead())
            Issue.record("written")
        } catch {
            #expect(error.kind == .unrepresentable)
            #expect(error.code == "form_file")
            #expect(error.field == "f[x]")
            #expect(error.setting == "files")
        }
    }

    @Test("a file is written as base64, escaped, however it is cut", arguments: [1, 2, 3, 4, 100])
    func base64File(size: Int) throws {
        var options = FieldEncodingOptions()
        options.files = .base64
        let bytes: [UInt8] = [0xFB, 0xFF, 0xBF, 0x00, 0x01]
        let text = try encode(options) { encoder in
            for _ in 0..<2 {
                try encoder.beginPart(fileHead())
                for start in stride(from: 0, to: bytes.count, by: size) {
                    let end = min(start + size, bytes.count)
                    try encoder.content(bytes.span.extracting(start..<end), isLast: end == bytes.count)
                }
            }
        }
        #expect(text == "f%5Bx%5D=%2B%2F%2B%2FAAE%3D&f%5Bx%5D=%2B%2F%2B%2FAAE%3D")
    }

    @Test("a dropped file leaves no trace")
    func droppedFile() throws {
        var options = FieldEncodingOptions()
        options.files = .drop
        let text = try encode(options) { encoder in
            try encoder.beginPart(fileHead())
            try encoder.content([1].span, isLast: true)
            try pair("a", ["1"], into: &encoder)
        }
        #expect(text == "a=1")
    }

    @Test("what the decoder reads, the encoder writes in its canonical spelling, and that is read the same")
    func roundTrip() throws {
        let input = "a=1&&b&=x&+c%2b=%e2%82%ac+%&d[]=~!*()'-._&d[]="
        var decoder = Form.Decoder(options: .init(), limits: .init())
        var encoder = Form.Encoder(options: .init())
        for _ in 0..<2 {
            let text = encoder.output.isEmpty ? Array(input.utf8) : encoder.output.span.copied()
            decoder.reset()
            encoder.reset()
            _ = try decoder.feed(text.span, into: &encoder)
            try decoder.finish(into: &encoder)
            try encoder.finish()
            #expect(
                encoder.output.span.lossyString()
                    == "a=1&b&=x&%20c%2B=%E2%82%AC%20%25&d%5B%5D=%7E%21*%28%29%27-._&d%5B%5D=")
        }
    }

    @Test("is full from the high watermark of its output on")
    func isFull() throws {
        var encoder = Form.Encoder(options: .init())
        encoder.output = OutputBuffer(highWatermark: 4)
        try pair("a", ["1"], into: &encoder)
        #expect((encoder.isFull as Bool) == false)
        try pair("b", ["1"], into: &encoder)
        #expect((encoder.isFull as Bool) == true)
    }
}
