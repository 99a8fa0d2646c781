import Testing

@testable import Serialization

@Suite("BoundarySource")
struct BoundarySourceTests {
    @Test("each boundary is new, over many refills, and has the form of a random one")
    func boundaries() {
        var source = BoundarySource()
        let boundaries = (0..<505).map { _ in source.next() }
        #expect(Set(boundaries).count == boundaries.count)
        let length = Multipart.Boundary.random().bytes.count
        #expect(boundaries.allSatisfy { $0.bytes.count == length && $0.bytes.starts(with: "recast-".utf8) })
    }
}
