import Octets
import Testing

@Suite struct TextScanTests {
    /// Bytes of one value with `mark` at `index`.
    private func bytes(_ count: Int, of filler: UInt8, mark: UInt8, at index: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: filler, count: count)
        if index < count { bytes[index] = mark }
        return bytes
    }

    @Test(arguments: UInt8.min...UInt8.max)
    func `a run of text ends before quotation mark, backslash and controls only, wherever they stand`(mark: UInt8) {
        let isStop = mark < 0x20 || mark == 0x22 || mark == 0x5C
        for count in 1..<40 {
            for index in 0..<count {
                let all = bytes(count, of: UInt8(ascii: "x"), mark: mark, at: index)
                let run = Scan.textRun(in: all.span, from: 0)
                #expect(run.end == (isStop ? index : count))
                #expect(run.isASCII == (mark < 0x80))
                // What stands before the start doesn't count.
                let rest = Scan.textRun(in: all.span, from: index + 1)
                #expect(rest.end == count)
                #expect(rest.isASCII)
            }
        }
    }

    @Test func `what follows a run doesn't count for it`() {
        for count in 0..<33 {
            let all = [UInt8](repeating: UInt8(ascii: "x"), count: count) + [0x22] + [UInt8](repeating: 0xC3, count: 33)
            let run = Scan.textRun(in: all.span, from: 0)
            #expect(run.end == count)
            #expect(run.isASCII)
        }
    }

    @Test(arguments: UInt8.min...UInt8.max)
    func `digits end before whatever is none, or at the bound`(mark: UInt8) {
        let isDigit = mark >= 0x30 && mark <= 0x39
        for count in [1, 7, 8, 9, 20] {
            for index in 0..<count {
                for digit in [UInt8(ascii: "0"), UInt8(ascii: "9")] {
                    let all = bytes(count, of: digit, mark: mark, at: index)
                    #expect(Scan.endOfDigits(in: all.span, from: 0, to: count) == (isDigit ? count : index))
                    #expect(Scan.endOfDigits(in: all.span, from: 0, to: index) == index)
                }
            }
        }
    }

    @Test(arguments: UInt8.min...UInt8.max)
    func `white space is space, tab, line feed and carriage return`(mark: UInt8) {
        let isSpace = [0x20, 0x09, 0x0A, 0x0D].contains(mark)
        for filler in [UInt8(0x20), 0x0A] {
            for index in 0..<20 {
                let all = bytes(20, of: filler, mark: mark, at: index)
                #expect(Scan.endOfWhitespace(in: all.span, from: 0) == (isSpace ? 20 : index))
            }
        }
    }
}

@Suite struct ByteHashTests {
    @Test func `equal bytes have equal hashes, and others hardly ever`() {
        let hash = ByteHash()
        var seen: Set<UInt64> = []
        for count in 0..<40 {
            for index in 0...count {
                var bytes = [UInt8](repeating: 0, count: count)
                if index < count { bytes[index] = 1 }
                #expect(hash(bytes.span) == hash(bytes.span))
                seen.insert(hash(bytes.span))
                seen.insert(hash(bytes.span, salt: 1))
            }
        }
        #expect(seen.count == (0..<40).map { ($0 + 1) * 2 }.reduce(0, +))
    }

    @Test func `no two hashes have one key`() {
        let name = Array("name".utf8)
        let longName = [UInt8](repeating: 0x61, count: 40)
        let hashes = (0..<1000).map { _ in ByteHash() }
        #expect(Set(hashes.map { $0(name.span) }).count == hashes.count)
        #expect(Set(hashes.map { $0(longName.span) }).count == hashes.count)
        #expect(Set(hashes.map(\.key.multiplier)).count == hashes.count)
        #expect(hashes.allSatisfy { $0.key.multiplier & 1 == 1 })
    }
}

@Suite struct OutputBufferWordTests {
    @Test func `words and bytes between them are appended in order`() {
        var output = OutputBuffer()
        var expected: [UInt8] = []
        for count in 0..<300 {
            let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: count), count: count)
            let word = OutputBuffer.Word("ab").preceded(by: UInt8(ascii: ","))
            output.append(word, bytes.span, OutputBuffer.Word("12345678"))
            output.append(OutputBuffer.Word())
            output.append(OutputBuffer.Word("."))
            expected += Array(",ab".utf8) + bytes + Array("12345678.".utf8)
        }
        #expect(output.span.copied() == expected)
    }

    @Test func `capacity grows by factors, not by steps`() {
        var output = OutputBuffer()
        var growths = 0
        var capacity = output.capacity
        for _ in 0..<100_000 {
            output.append(OutputBuffer.Word(","), [UInt8(1), 2, 3].span, OutputBuffer.Word())
            if output.capacity != capacity {
                growths += 1
                capacity = output.capacity
            }
        }
        #expect(growths < 40)
    }
}
