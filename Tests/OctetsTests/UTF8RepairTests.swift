import Octets
import Testing

@Suite("UTF8Repair")
struct UTF8RepairTests {
    private func mend(_ slices: [ArraySlice<UInt8>], _ mode: UTF8Repair.Mode) -> [UInt8] {
        var repair = UTF8Repair(mode)
        var output: [UInt8] = []
        for slice in slices { repair.append(Array(slice).span, to: &output) }
        repair.finish(to: &output)
        return output
    }

    /// Every sequence of up to four bytes from the ends of the classes that UTF-8 knows.
    private static let sequences: [[UInt8]] = {
        let bytes: [UInt8] = [
            0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF4, 0xF5, 0xFF,
        ]
        var all: [[UInt8]] = [[]]
        var latest: [[UInt8]] = [[]]
        for _ in 0..<3 {
            latest = latest.flatMap { start in bytes.map { start + [$0] } }
            all += latest
        }
        return all + latest.flatMap { start in [0x80, 0x41, 0xE2].map { start + [$0] } }
    }()

    @Test("replaces as the Unicode standard says, which String does, too, however the bytes are cut")
    func replace() {
        for sequence in Self.sequences {
            let expected = Array(String(decoding: sequence, as: UTF8.self).utf8)
            #expect(mend([sequence[...]], .replace) == expected)
            for index in 0...sequence.count {
                #expect(mend([sequence[..<index], sequence[index...]], .replace) == expected)
            }
        }
    }

    @Test("latin1 keeps what is well-formed and reads every other byte as its number")
    func latin1() {
        for sequence in Self.sequences {
            let mended = String(decoding: mend([sequence[...]], .latin1), as: UTF8.self)
            #expect(!mended.unicodeScalars.contains("\u{FFFD}"))
            #expect(mend(sequence.map { [$0] }, .latin1) == Array(mended.utf8))
            if String(validating: sequence, as: UTF8.self) != nil { #expect(Array(mended.utf8) == sequence) }
        }
        #expect(mend([[0xC3, 0xA9, 0xE9, 0x74, 0xE2, 0x82]], .latin1) == Array("éét\u{E2}\u{82}".utf8))
    }

    @Test(
        "what is long comes to the same at once, in two pieces and byte by byte",
        arguments: [.replace, .latin1] as [UTF8Repair.Mode])
    func long(mode: UTF8Repair.Mode) {
        let texts = ["", "a", "é", "漢字", "😀", "plain text of ASCII, ", "Grüße aus Köln, ", "漢字仮名交じり文", "😀🎉x"]
        let faults: [[UInt8]] = [
            [], [0xFF], [0x80, 0x80], [0xC3], [0xE2, 0x82], [0xF0, 0x9F, 0x98], [0xED, 0xA0, 0x80], [0xE0, 0x80],
            [0xF4, 0x90],
            [0xC0, 0xAF], [0xE2, 0xE2, 0x82], [0xF0, 0x9F, 0xC3],
        ]
        for before in texts {
            for after in texts {
                for fault in faults {
                    let bytes = Array(before.utf8) + fault + Array(after.utf8)
                    let expected = mend(bytes.map { [$0] }, mode)
                    if mode == .replace { #expect(expected == Array(String(decoding: bytes, as: UTF8.self).utf8)) }
                    for index in 0...bytes.count {
                        #expect(mend([bytes[..<index], bytes[index...]], mode) == expected)
                    }
                }
            }
        }
    }
}
