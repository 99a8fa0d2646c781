import Foundation
import FuzzTargets
import Testing

/// Every fuzz target over its corpus: what a fuzzer has found stays found.
@Suite("Fuzz targets over their corpus")
struct CorpusTests {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../Corpus")

    static func inputs(_ corpus: String) throws -> [[UInt8]] {
        let files = try FileManager.default.contentsOfDirectory(
            at: folder.appending(path: corpus), includingPropertiesForKeys: nil)
        return try files.sorted { $0.path < $1.path }.map { [UInt8](try Data(contentsOf: $0)) }
    }

    @Test("no input of the corpus breaks what must hold", arguments: FuzzTarget.all)
    func corpus(_ target: FuzzTarget) throws {
        let inputs = try Self.inputs(target.corpus)
        #expect(inputs.count >= 5)
        for input in inputs { #expect(target.violation(of: input) == nil, "\(input)") }
    }

    @Test("nor does one that was changed a little", arguments: FuzzTarget.all)
    func mutations(_ target: FuzzTarget) throws {
        var random = SplitMix(state: target.name.utf8.reduce(7) { ($0 &* 31) &+ UInt64($1) })
        for input in try Self.inputs(target.corpus) where input.count < 2000 {
            for _ in 0..<8 {
                let changed = random.change(input)
                #expect(target.violation(of: changed) == nil, "\(changed)")
            }
        }
    }
}

/// Random numbers that are the same in every run.
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    /// `input` with a byte changed, a piece doubled or left out, or its end cut off.
    mutating func change(_ input: [UInt8]) -> [UInt8] {
        guard input.count > 1 else { return input + [UInt8.random(in: 0...255, using: &self)] }
        var changed = input
        let at = Int.random(in: 0..<input.count, using: &self)
        let end = min(input.count, at + Int.random(in: 1...16, using: &self))
        switch Int.random(in: 0..<5, using: &self) {
        case 0: changed[at] = UInt8.random(in: 0...255, using: &self)
        case 1: changed.insert(contentsOf: input[at..<end], at: Int.random(in: 0..<input.count, using: &self))
        case 2: changed.removeSubrange(at..<end)
        case 3: changed.removeSubrange(max(1, at)...)
        default: changed.insert(Array("\0\"%&[]<>{},;=\r\n-".utf8).randomElement(using: &self)!, at: at)
        }
        return changed
    }
}
