import Octets
import Testing

@Suite("Scan and spans of bytes")
struct ScanTests {
    @Test("The first index of a byte is that of a plain search, from every start")
    func firstIndex() {
        for count in 0...40 {
            let bytes = (0..<count).map { UInt8($0 * 7 % 5) }
            for byte in UInt8(0)..<6 {
                for start in 0...count + 1 {
                    let expected = bytes.indices.first { $0 >= start && bytes[$0] == byte }
                    let found = Scan.firstIndex(of: byte, in: bytes.span, from: start)
                    #expect(found == expected)
                }
            }
        }
    }

    @Test("A span within another is searched by its own indices and not beyond its end")
    func subspan() {
        let bytes: [UInt8] = [1, 2, 3, 2, 1]
        let within = bytes.span.extracting(1..<3)
        let two = Scan.firstIndex(of: 2, in: within, from: 1)
        let three = Scan.firstIndex(of: 3, in: within)
        let one = Scan.firstIndex(of: 1, in: within)
        #expect(two == nil)
        #expect(three == 1)
        #expect(one == nil)
    }

    @Test("A span equals a text byte by byte, or without regard to the case of ASCII letters")
    func comparison() {
        let rows: [(String, exact: Bool, folded: Bool)] = [
            ("gzip-1", true, true), ("GZip-1", false, true), ("gzip-", false, false), ("gzip-11", false, false),
            ("gzip\r1", false, false), ("gzip_1", false, false), ("", false, false),
        ]
        for (text, exact, folded) in rows {
            let bytes = Array(text.utf8)
            let isExact = bytes.span.isEqual(to: "gzip-1")
            let isFolded = bytes.span.isEqualIgnoringCase(to: "gzip-1")
            let isSame = bytes.span.isEqual(to: Array("gzip-1".utf8).span)
            #expect(isExact == exact)
            #expect(isFolded == folded)
            #expect(isSame == exact)
        }
        let nothing: [UInt8] = []
        let isEmpty = nothing.span.isEqual(to: "")
        let isSameEmpty = nothing.span.isEqual(to: nothing.span)
        #expect(isEmpty && isSameEmpty)
    }

    @Test("The common start of two runs is counted up to the first byte that differs, or the shorter one's end")
    func commonPrefix() {
        for count in 0...20 {
            for other in 0...20 {
                for place in 0...20 {
                    let left = [UInt8](repeating: 7, count: count)
                    var right = [UInt8](repeating: 7, count: other)
                    if place < other { right[place] = 8 }
                    let common = left.span.commonPrefix(with: right.span)
                    #expect(common == min(count, other, place))
                }
            }
        }
    }

    @Test("Only letters fold: a byte 32 away from another sign is another sign")
    func folding() {
        // `@` and `` ` ``, `[` and `{`, and bytes above 0x7F differ by the bit that folds letters.
        for (byte, text) in [(0x40, "`"), (0x5B, "{"), (0x5E, "~")] as [(UInt8, StaticString)] {
            let bytes = [byte]
            let isEqual = bytes.span.isEqualIgnoringCase(to: text)
            #expect(!isEqual)
        }
    }

    @Test("Copies and texts hold the span's bytes")
    func copies() {
        let bytes: [UInt8] = [0x61, 0xC3, 0xA9, 0xFF, 0x62]
        let copy = bytes.span.extracting(1..<4).copied()
        let text = bytes.span.lossyString()
        #expect(copy == [0xC3, 0xA9, 0xFF])
        #expect(text == "aé\u{FFFD}b")
        var array: [UInt8] = [1]
        array.append(contentsOf: bytes.span.extracting(0..<1))
        #expect(array == [1, 0x61])
    }
}
