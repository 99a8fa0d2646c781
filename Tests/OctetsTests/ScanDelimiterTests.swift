import Octets
import TestSupport
import Testing

@Suite("Where a delimiter can begin")
struct ScanDelimiterTests {
    @Test("A carriage return with a hyphen two bytes on, or with no such byte, is found as by a plain search")
    func search() {
        // Patterns around every place of a block, short and long ones, and other bytes that look alike.
        let pieces: [[UInt8]] = [
            [0x0D], [0x0D, 0x0A, 0x2D], [0x0D, 0x2D, 0x2D], [0x0D, 0x0D, 0x2D], [0x8D, 0x0A, 0x2D],
        ]
        for count in [
            0, 1, 2, 3, 17, 18, 19, 34, 65, 66, 67, 100, 131, 150, 255, 256, 257, 258, 259, 385, 386, 387, 400,
        ] {
            for piece in pieces {
                for place in 0..<max(1, count) where tries(number: place + count) {
                    var bytes = [UInt8](repeating: UInt8(ascii: "-"), count: count)
                    for (offset, byte) in piece.enumerated() where place + offset < count {
                        bytes[place + offset] = byte
                    }
                    for start in [0, 1, place, min(place + 1, count), count] where start <= count {
                        let expected = bytes.indices.first { index in
                            index >= start && bytes[index] == 0x0D && (index + 2 >= count || bytes[index + 2] == 0x2D)
                        }
                        let found = Scan.delimiterStart(in: bytes.span, from: start)
                        #expect(found == expected ?? count)
                    }
                }
            }
        }
    }
}
