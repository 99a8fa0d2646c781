import Octets
import Testing

@Suite("Decoding runs of form text")
struct FormDecodingTests {
    /// The rule byte by byte: what is appended, and where it ends.
    private static func decode(_ bytes: [UInt8], to bound: Int, endingAt end: UInt8) -> (text: [UInt8], end: Int) {
        var text: [UInt8] = []
        var at = 0
        while at < bound {
            switch bytes[at] {
            case UInt8(ascii: "&"), end: return (text, at)
            case UInt8(ascii: "+"): text.append(0x20)
            case UInt8(ascii: "%"):
                guard at + 2 < bound, let high = ASCII.hexValue(bytes[at + 1]), let low = ASCII.hexValue(bytes[at + 2])
                else { return (text, at) }
                text.append(high << 4 | low)
                at += 2
            case let byte: text.append(byte)
            }
            at += 1
        }
        return (text, at)
    }

    private func check(_ bytes: [UInt8], to bound: Int, endingAt end: UInt8 = UInt8(ascii: "&")) {
        let expected = Self.decode(bytes, to: bound, endingAt: end)
        var store = ByteStore()
        store.append("x")
        let run = store.append(formDecoding: bytes.span, from: 0, to: bound, endingAt: end)
        let text = store.span.copied()
        #expect(text == [UInt8(ascii: "x")] + expected.text)
        #expect(run.end == expected.end)
        #expect(run.isASCII == expected.text.allSatisfy { $0 < 0x80 })
    }

    @Test("Every byte stands for itself, or ends the run, at every place of a block")
    func everyByte() {
        for byte in UInt8.min...UInt8.max {
            for (place, count) in [
                (0, 36), (1, 36), (7, 36), (8, 36), (15, 36), (16, 36), (17, 36), (31, 36), (0, 99), (31, 99), (32, 99),
                (63, 99), (64, 99), (98, 99),
            ] {
                var bytes = [UInt8](repeating: UInt8(ascii: "a"), count: count)
                bytes[place] = byte
                check(bytes, to: count)
                check(bytes, to: count, endingAt: UInt8(ascii: "="))
            }
        }
    }

    @Test("Escapes and plus signs are decoded at every place, and an escape that the bound cuts is left")
    func escapes() {
        let pieces = ["%41", "%e3%81%93", "%4", "%", "%4g", "%g4", "+", "++%20+", "%25", "%+1", "%C3%BC+", "&", "%%41"]
        for piece in pieces {
            for place in 0...33 {
                let bytes = Array((String(repeating: "b", count: place) + piece + "0123456789abcdef+xyz").utf8)
                for bound in place...bytes.count { check(bytes, to: bound) }
                check(bytes + [UInt8](repeating: UInt8(ascii: "c"), count: 99), to: bytes.count + 99)
            }
        }
    }

    @Test("Any mixture of the bytes that matter is decoded as byte by byte")
    func random() {
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array("a%+&=0fFgZ".utf8) + [0x80, 0xFF]
        for _ in 0..<2000 {
            let bytes = (0..<Int.random(in: 0...200, using: &generator)).map { _ in
                Int.random(in: 0..<4, using: &generator) > 0 ? UInt8(ascii: "c") : alphabet.randomElement()!
            }
            check(bytes, to: bytes.count)
        }
    }
}
