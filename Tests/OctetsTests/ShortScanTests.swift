import Octets
import Testing

/// Searches that look at words which overlap: every byte at every place of every short run.
@Suite("Scans of short runs")
struct ShortScanTests {
    @Test("each byte value counts at each place", arguments: 1...40)
    func places(count: Int) {
        for place in 0..<count {
            for byte in UInt8.min...UInt8.max {
                var run = [UInt8](repeating: UInt8(ascii: "a"), count: count)
                run[place] = byte
                let isEscaped = byte < 0x20 || byte == 0x22 || byte == 0x5C
                #expect(Scan.isPlainText(run.span) == !isEscaped)
                #expect(UTF8Validator.isValid(run.span) == (byte < 0x80))
                if count <= 16 {
                    let isBracket = byte == UInt8(ascii: "[") || byte == UInt8(ascii: "]")
                    #expect(Scan.holds(UInt8(ascii: "["), or: UInt8(ascii: "]"), in: run.span) == isBracket)
                }
                var other = run
                other[place] ^= 1
                let isEqual = (run.span.isEqual(to: run.span), run.span.isEqual(to: other.span))
                #expect(isEqual == (true, false))
            }
        }
    }

    @Test("a run ends at the first of four bytes and knows whether it is ASCII", arguments: 0...24)
    func runs(count: Int) {
        let stops = Array("=&%+".utf8)
        for place in 0...count {
            for stop in stops {
                for isASCII in [true, false] {
                    var text = [UInt8](repeating: UInt8(ascii: "a"), count: count) + [0xC3, 0xA9]
                    if place > 0, !isASCII { text[place - 1] = 0x80 }
                    text.insert(stop, at: place)
                    let run = Scan.run(to: stops[0], stops[1], stops[2], stops[3], in: text.span, from: 0)
                    #expect(run.end == place && run.isASCII == (isASCII || place == 0))
                }
            }
        }
    }

    @Test("a form's bytes are kept or escaped one by one, wherever they stand", arguments: 1...20)
    func forms(count: Int) {
        for place in 0..<count {
            for byte in UInt8.min...UInt8.max {
                var run = [UInt8](repeating: UInt8(ascii: "z"), count: count)
                run[place] = byte
                var expected = run
                if !ByteSet.formUnescaped.contains(byte) {
                    let digits = [ASCII.upperHexDigit(byte >> 4), ASCII.upperHexDigit(byte & 15)]
                    expected.replaceSubrange(place...place, with: [UInt8(ascii: "%")] + digits)
                }
                var output = OutputBuffer()
                output.append(percentEncoding: run.span, keeping: .formUnescaped, plusForSpace: false)
                #expect(output.span.copied() == expected)
            }
        }
    }
}
