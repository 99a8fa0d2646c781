import Testing

@testable import Serialization
@testable import Transcoding

@Suite("BoundarySource")
struct BoundarySourceTests {
    @Test("each boundary is new, over many refills, and has the form of a random one")
    func boundaries() {
        var source = BoundarySource()
        let boundaries = (0..<505).map { _ in source.next(length: 0) }
        #expect(Set(boundaries).count == boundaries.count)
        #expect(boundaries.allSatisfy { $0.bytes.count == 22 })
        #expect(Multipart.Boundary.random().bytes.count == 22)
        for length in [0, 1, 21, 22, 23, 38, 69, 70, 71, 1000] {
            let bytes = source.next(length: length).bytes
            #expect(bytes.count == max(22, min(length, 70)))
            #expect(bytes.dropLast(22).allSatisfy { $0 == UInt8(ascii: "-") })
        }
        // Each character has all the values that it can have: nothing in it is fixed.
        let seen = (0..<22).map { place in Set(boundaries.map { $0.bytes[place] }).count }
        #expect(seen.allSatisfy { $0 > 48 })
    }
}
