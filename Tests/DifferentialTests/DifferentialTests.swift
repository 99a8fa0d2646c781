import Foundation
import HTTPWire
import Testing

/// SwiftNIO's decoder (llhttp) as a second opinion: what both take they must take for the same, and where only one refuses,
/// the reason is one that is explained here.
@Suite("Differential")
struct DifferentialTests {
    private struct File: Decodable {
        struct Vector: Decodable {
            let id: String
            let raw: String
        }
        let vectors: [Vector]
    }

    private static func vectors() throws -> [(id: String, bytes: [UInt8])] {
        let url = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Vectors/http-bad-requests.json")
        return try JSONDecoder().decode(File.self, from: Data(contentsOf: url)).vectors.map { vector in
            (vector.id, vector.raw.unicodeScalars.map { UInt8($0.value) })
        }
    }

    @Test("R40 SwiftNIO reads the vectors as we do, or the difference is explained")
    func vectorsAgree() throws {
        var tally = Tally()
        for (id, bytes) in try Self.vectors() { tally.add(bytes, id) }
        tally.check()
        #expect(tally.agreed > 190)
    }

    @Test(
        "R40 SwiftNIO reads thousands of mutations as we do, or the difference is explained", arguments: 1...8)
    func mutationsAgree(seed: UInt64) throws {
        var mutator = Mutator(seed: seed, try Self.vectors().map(\.bytes).filter { $0.count < 1500 })
        var tally = Tally()
        for round in 0..<2000 { tally.add(mutator.input(), "seed \(seed), round \(round)") }
        tally.check()
        #expect(tally.agreed > 1700)
    }
}
