import Foundation
import Octets
import TestSupport
import Testing

@Suite("Base64")
struct Base64Tests {
    /// RFC 4648 §10.
    static let rfcVectors: [(bytes: String, text: String)] = [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ]

    @Test("whole texts, and what is none", arguments: rfcVectors)
    func whole(bytes: String, text: String) {
        #expect(Base64Encoder.text(of: Array(bytes.utf8).span) == Array(text.utf8))
        #expect(Base64Decoder.bytes(of: Array(text.utf8).span) == Array(bytes.utf8))
        // A character more begins a quad that doesn't end, or follows padding.
        #expect(Base64Decoder.bytes(of: Array("\(text)Z".utf8).span) == nil)
        #expect(Base64Decoder.bytes(of: Array("\(text)-".utf8).span) == nil)
    }

    static func encoded(_ slices: [[UInt8]]) -> [UInt8] {
        var encoder = Base64Encoder()
        var output = OutputBuffer()
        for slice in slices { encoder.encode(slice.span, into: &output) }
        encoder.finish(into: &output)
        return output.span.copied()
    }

    enum Outcome: Equatable {
        case bytes([UInt8])
        /// The offset of the bad character in the whole text.
        case bad(Int)
        case cutOff
    }

    static func decoded(_ slices: [[UInt8]]) -> Outcome {
        var decoder = Base64Decoder()
        var output = OutputBuffer()
        var offset = 0
        for slice in slices {
            if let at = decoder.decode(slice.span, into: &output) { return .bad(offset + at) }
            offset += slice.count
        }
        return decoder.finish() ? .bytes(output.span.copied()) : .cutOff
    }

    /// The whole, byte by byte with empty slices between, and every split in two.
    static func cuts(_ bytes: [UInt8]) -> [[[UInt8]]] {
        var all = [[bytes], bytes.flatMap { [[], [$0]] } + [[]]]
        for at in 0...bytes.count { all.append([Array(bytes[..<at]), Array(bytes[at...])]) }
        return all
    }

    static func slices(_ bytes: [UInt8], of count: Int) -> [[UInt8]] {
        stride(from: 0, to: bytes.count, by: count).map { Array(bytes[$0..<min($0 + count, bytes.count)]) }
    }

    /// Bytes that a generator with a fixed seed gives: every run tests the same.
    static func noise(_ count: Int) -> [UInt8] {
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        return (0..<count).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 56)
        }
    }

    @Test("The vectors of RFC 4648 hold in both directions", arguments: rfcVectors)
    func holds(bytes: String, text: String) {
        for slices in Self.cuts(Array(bytes.utf8)) { #expect(Self.encoded(slices) == Array(text.utf8)) }
        for slices in Self.cuts(Array(text.utf8)) { #expect(Self.decoded(slices) == .bytes(Array(bytes.utf8))) }
    }

    @Test("Every length and cut gives what Foundation gives, and reads back")
    func everyLength() {
        for count in 0...(triesTenth ? 80 : 150) {
            let bytes = Self.noise(count)
            let text = Array(Data(bytes).base64EncodedString().utf8)
            for slices in Self.cuts(bytes) { #expect(Self.encoded(slices) == text) }
            for slices in Self.cuts(text) { #expect(Self.decoded(slices) == .bytes(bytes)) }
        }
    }

    @Test("Every group of two bytes reads back, so every entry of the tables is right")
    func everyPair() {
        var bytes: [UInt8] = []
        for high in UInt8.min...UInt8.max { for low in UInt8.min...UInt8.max { bytes += [high, low] } }
        let text = Self.encoded([bytes])
        #expect(text == Array(Data(bytes).base64EncodedString().utf8))
        #expect(Self.decoded([text]) == .bytes(bytes))
        #expect(Self.decoded([Array(text[..<5]), Array(text[5...])]) == .bytes(bytes))
        // In slices too short for the blocks that a processor may take at once.
        #expect(Self.encoded(Self.slices(bytes, of: 21)) == text)
        #expect(Self.decoded(Self.slices(text, of: 40)) == .bytes(bytes))
    }

    @Test("A character outside the alphabet is refused at its own index, wherever it stands")
    func badCharacters() {
        let alphabet = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        let good = Self.encoded([Self.noise(99)])
        for byte in UInt8.min...UInt8.max where !alphabet.contains(byte) && byte != UInt8(ascii: "=") {
            for at in good.indices {
                var text = good
                text[at] = byte
                #expect(Self.decoded([text]) == .bad(at))
            }
        }
        var text = good
        text[17] = UInt8(ascii: "-")
        for slices in Self.cuts(text) { #expect(Self.decoded(slices) == .bad(17)) }
    }

    static let bad: [(text: String, outcome: Outcome)] = [
        ("=", .bad(0)), ("A=", .bad(1)), ("AAAA=", .bad(4)), ("AA=A", .bad(3)), ("AA==A", .bad(4)), ("AA===", .bad(4)),
        ("AAA==", .bad(4)), ("AA==AA==", .bad(4)), ("AAA=AAAA", .bad(4)), ("AAAA====", .bad(4)),
        ("AB==", .bad(2)), ("AAB=", .bad(3)), ("AAAAZh==", .bad(6)), ("Zm9=", .bad(3)),
        ("A", .cutOff), ("AA", .cutOff), ("AAA", .cutOff), ("AA=", .cutOff), ("AAAAA", .cutOff), ("AAAAAA=", .cutOff),
        ("Zm9v\nZm9v", .bad(4)), (" Zm9v", .bad(0)), ("Zm9v ", .bad(4)), ("Zm-_", .bad(2)),
    ]

    @Test("Padding, length and unused bits are strict", arguments: bad)
    func strictness(text: String, outcome: Outcome) {
        for slices in Self.cuts(Array(text.utf8)) { #expect(Self.decoded(slices) == outcome) }
    }

    @Test("Both can be used again after finish")
    func reuse() {
        var encoder = Base64Encoder()
        var decoder = Base64Decoder()
        var output = OutputBuffer()
        for _ in 0..<2 {
            encoder.encode([1, 2].span, into: &output)
            encoder.finish(into: &output)
        }
        #expect(output.span.copied() == Array("AQI=AQI=".utf8))
        output.removeAll()
        for text in ["AQI=", "A", "AQI="] {
            let bad = decoder.decode(Array(text.utf8).span, into: &output)
            #expect(bad == nil)
            let isWhole = decoder.finish()
            #expect(isWhole == (text.count == 4))
        }
        #expect(output.span.copied() == [1, 2, 1, 2])
    }
}
