import Octets
import Testing

@Suite("Scan.firstIndex(ofAny:)")
struct ScanAnyOfTests {
    @Test("finds the first of four bytes at every place, and no neighbour of one")
    func everyPlace() {
        let wanted: [UInt8] = [0x00, 0x26, 0x80, 0xFF]
        for count in 0..<20 {
            for place in 0...count {
                for byte in wanted {
                    // A borrow in the word trick would mark a byte one above a hit.
                    var bytes = [UInt8](repeating: 0x01, count: count)
                    for index in bytes.indices where index % 3 == 0 { bytes[index] = 0x27 }
                    if place < count { bytes[place] = byte }
                    for start in 0...count {
                        let expected = place >= start && place < count ? place : count
                        #expect(
                            Scan.firstIndex(
                                ofAny: wanted[0], wanted[1], wanted[2], wanted[3], in: bytes.span, from: start)
                                == expected)
                    }
                }
            }
        }
    }
}
