import Octets
import Testing

@Suite struct MarkupTextScanTests {
    @Test(arguments: UInt8.min...UInt8.max)
    func `a run ends before signs of markup and controls but tab and line feed, wherever they stand`(mark: UInt8) {
        let isControl = mark < 0x20 && mark != 0x09 && mark != 0x0A
        let isStop = isControl || mark == 0x3C || mark == 0x3E || mark == 0x26
        for count in 1..<40 {
            for index in 0..<count {
                var bytes = [UInt8](repeating: UInt8(ascii: "x"), count: count)
                bytes[index] = mark
                let run = Scan.markupTextRun(in: bytes.span, from: 0)
                #expect(run.end == (isStop ? index : count))
                #expect(run.isASCII == (mark < 0x80))
                // What stands before the start doesn't count.
                let rest = Scan.markupTextRun(in: bytes.span, from: index + 1)
                #expect(rest.end == count)
                #expect(rest.isASCII)
            }
        }
    }

    @Test func `what follows a run doesn't count for it`() {
        for count in 0..<33 {
            let bytes =
                [UInt8](repeating: UInt8(ascii: "\t"), count: count) + [0x3C] + [UInt8](repeating: 0xC3, count: 33)
            let run = Scan.markupTextRun(in: bytes.span, from: 0)
            #expect(run.end == count)
            #expect(run.isASCII)
        }
    }
}
