import Octets
import TestSupport
import Testing

/// Each scan goes over words and blocks; its plain definition goes byte by byte. Both must agree for every byte at every place.
@Suite("Scans of heads")
struct FieldScanTests {
    /// `length` bytes `filler` with each of the 256 bytes at each place in turn.
    private static func inputs(_ length: Int, filler: UInt8) -> [[UInt8]] {
        guard length > 0 else { return [[]] }
        return (0..<length).flatMap { place in
            (UInt8.min...UInt8.max).filter { tries(number: place + Int($0)) }.map { byte in
                var bytes = [UInt8](repeating: filler, count: length)
                bytes[place] = byte
                return bytes
            }
        }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        ASCII.isAlpha(byte) || ASCII.isDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
    }

    private static func isTarget(_ byte: UInt8, passesMarks: Bool) -> Bool {
        guard byte > 0x20, byte < 0x7F, !"\"#<>\\".utf8.contains(byte) else { return false }
        return passesMarks || !"%?".utf8.contains(byte)
    }

    /// The scan may end early only where fewer than eight bytes are left.
    private static func agrees(_ found: Int, _ wanted: Int, _ count: Int) -> Bool {
        found == wanted || found < wanted && count - found < 8
    }

    @Test(
        "names and targets end where the plain definition says", arguments: [0, 1, 7, 8, 9, 15, 16, 17, 23, 24, 25, 33])
    func ends(length: Int) {
        for start in Set([0, min(1, length), length / 2]) {
            for bytes in Self.inputs(length, filler: UInt8(ascii: "a")) {
                let rest = bytes[start...]
                let name = rest.firstIndex { !Self.isPlain($0) } ?? length
                #expect(Self.agrees(Scan.endOfPlainName(in: bytes.span, from: start), name, length))
                let token = rest.firstIndex { !ASCII.isToken($0) } ?? length
                #expect(Scan.endOfToken(in: bytes.span, from: start) == token)
                for passesMarks in [false, true] {
                    let target = rest.firstIndex { !Self.isTarget($0, passesMarks: passesMarks) } ?? length
                    let found = Scan.endOfPlainTarget(in: bytes.span, from: start, passesMarks: passesMarks)
                    #expect(Self.agrees(found, target, length))
                }
                let control = rest.firstIndex { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F } ?? length
                #expect(Scan.firstControl(in: bytes.span, from: start) == control)
            }
        }
    }

    @Test(
        "a control, a capital or a byte is found at every place", arguments: [0, 1, 3, 4, 7, 8, 9, 16, 17, 31, 32, 33])
    func holding(length: Int) {
        for filler in [UInt8(ascii: "a"), UInt8(ascii: "\t"), 0xE1] {
            for bytes in Self.inputs(length, filler: filler) {
                let hasControl = bytes.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }
                #expect(Scan.holdsControl(bytes.span) == hasControl)
                #expect(Scan.holdsUppercase(bytes.span) == bytes.contains { $0 &- 0x41 < 26 })
                #expect(Scan.holds(UInt8(ascii: "_"), in: bytes.span) == bytes.contains(UInt8(ascii: "_")))
            }
        }
    }

    private static let words: [StaticString] = [
        "", "a", "h2", "via", "host", "close", "accept", "referer", "location", "x-real-ip", "keep-alive",
        "content-type",
        "100-continue", "content-length", "accept-encoding", "proxy-connection", "transfer-encoding", "no/such*word+1",
    ]

    @Test("a word is equal to itself in any case, and to nothing else", arguments: words.map(\.description))
    func comparing(text: String) throws {
        let word = try #require(Self.words.first { $0.description == text })
        let bytes = Array(text.utf8)
        let capitals = Array(text.uppercased().utf8)
        let longer = bytes + [0x61]
        #expect(bytes.span.isEqual(to: word) == true)
        #expect(bytes.span.isEqualIgnoringCase(to: word) == true)
        #expect(capitals.span.isEqualIgnoringCase(to: word) == true)
        #expect(longer.span.isEqual(to: word) == false)
        #expect(longer.span.isEqualIgnoringCase(to: word) == false)
        for place in bytes.indices {
            for byte in UInt8.min...UInt8.max {
                var other = bytes
                other[place] = byte
                #expect(other.span.isEqual(to: word) == (byte == bytes[place]))
                #expect(other.span.isEqualIgnoringCase(to: word) == (ASCII.lowercased(byte) == bytes[place]))
                if ASCII.isToken(byte), !text.contains(where: { "/*+".contains($0) }) {
                    #expect(other.span.isSameWord(as: word) == (ASCII.lowercased(byte) == bytes[place]))
                }
            }
        }
    }
}
