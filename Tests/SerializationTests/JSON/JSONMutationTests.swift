import Serialization
import TestSupport
import Testing
import Transcoding

/// Texts that nobody wrote down, from fixed seeds: the rule must hold for what the tables don't have.
@Suite struct JSONMutationTests {
    struct Generator: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
            return mixed ^ mixed >> 31
        }
    }

    private static let atoms = [
        "0", "-1.5e+3", "true", "null", "\"\"", "\"plain text of some length\"", "\"\\u00e9\\n\"", "\"\\ud83d\\ude00\"",
        "\"漢字\"",
        "\"\(String(repeating: "long ", count: 60))\"",
    ]

    private func document(depth: Int, using generator: inout Generator) -> String {
        let count = Int.random(in: 0...4, using: &generator)
        switch depth == 0 ? 0 : Int.random(in: 0...2, using: &generator) {
        case 1:
            return "[" + (0..<count).map { _ in document(depth: depth - 1, using: &generator) }.joined(separator: ",")
                + "]"
        case 2:
            let members = (0..<count).map { "\"k\($0)\":" + document(depth: depth - 1, using: &generator) }
            return "{" + members.joined(separator: ",") + "}"
        default:
            return Self.atoms.randomElement(using: &generator) ?? "0"
        }
    }

    @Test(arguments: 0..<40)
    func `a mutated text gives the same events or the same error however it is cut`(seed: Int) {
        var generator = Generator(state: UInt64(seed))
        var bytes = Array(document(depth: 4, using: &generator).utf8)
        let interesting = Array("\"\\u{}[],:0-9.eE+truefalsn \u{1}".utf8) + [0xC3, 0xA9, 0xED, 0xA0, 0xF0, 0x80, 0xFF]
        for round in 0..<25 {
            if round > 0 {
                let byte = interesting.randomElement(using: &generator) ?? 0
                switch Int.random(in: 0...2, using: &generator) {
                case 0: bytes.insert(byte, at: Int.random(in: 0...bytes.count, using: &generator))
                case 1 where !bytes.isEmpty: bytes[Int.random(in: 0..<bytes.count, using: &generator)] = byte
                default: if !bytes.isEmpty { bytes.remove(at: Int.random(in: 0..<bytes.count, using: &generator)) }
                }
            }
            for policy in [DuplicatePolicy.reject, .first, .keep] {
                let whole = recordJSON(.whole(bytes), duplicates: policy)
                #expect(whole.violations == [])
                let middle = Int.random(in: 0...bytes.count, using: &generator)
                let halves = Cut(name: "\(middle)", slices: [Array(bytes[..<middle]), Array(bytes[middle...])])
                for cut in [Cut.every(1, of: bytes), .every(5, of: bytes), .every(17, of: bytes), halves] {
                    for pauses in [false, true] {
                        let recording = recordJSON(cut, duplicates: policy, pauses: pauses)
                        #expect(recording == whole, "\(ByteString(bytes)) \(cut) \(policy) \(pauses)")
                    }
                }
                // What was taken can be written and read again.
                if whole.failure == nil, policy == .keep {
                    let written = try? reencodeJSON(.whole(bytes))
                    #expect(written.map { recordJSON(.whole($0.bytes), duplicates: .keep) } == whole)
                }
            }
        }
    }
}
