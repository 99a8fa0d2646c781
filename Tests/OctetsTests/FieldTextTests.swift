import Octets
import Testing

/// Against plain definitions of the same questions, for every byte at every place of a block.
@Suite("Names and texts of fields")
struct FieldTextTests {
    /// Calls `body` with the bytes, behind which there are sixteen more that nobody asked for.
    private static func withBlocks<Result>(_ bytes: [UInt8], _ body: (UnsafeRawPointer) -> Result) -> Result {
        unsafe (bytes + [UInt8](repeating: 0x61, count: 16)).withUnsafeBytes { unsafe body($0.baseAddress!) }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        ASCII.isAlpha(byte) || ASCII.isDigit(byte) || byte == 0x2D || byte == 0x2E || byte == 0x5F
    }

    @Test("a plain run ends before the first other byte, and zeros follow it", arguments: 0..<16)
    func plainRun(_ place: Int) {
        for byte in UInt8.min...UInt8.max {
            var bytes = Array("aZ09-._zA50_.-bY".utf8)
            bytes[place] = byte
            let run = unsafe Self.withBlocks(bytes) { unsafe FieldText.plainRun($0) }
            let count = bytes.firstIndex { !Self.isPlain($0) } ?? 16
            #expect(run.count == count)
            let name = Array(bytes[..<count])
            let ends = Scan.ends(of: name.span)
            #expect(run.first == ends.0 && run.last == ends.1, "\(count)")
        }
    }

    @Test("two words tell names of up to sixteen bytes apart", arguments: 0...20)
    func ends(_ count: Int) {
        let bytes = (0..<UInt8(count)).map { $0 + 1 }
        let words = Scan.ends(of: bytes.span)
        func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
        #expect(words.0 == word(bytes.prefix(8)))
        #expect(words.1 == word(count <= 16 ? bytes.dropFirst(8) : bytes.suffix(8)))
    }

    @Test("a text ends at a quotation mark, a backslash or a control byte", arguments: 0..<40)
    func textEnd(_ place: Int) {
        for byte in UInt8.min...UInt8.max {
            var bytes = [UInt8](repeating: 0x61, count: 64)
            bytes[place] = byte
            bytes[48] = 0x22
            var bits: UInt64 = 0
            let end = unsafe Self.withBlocks(bytes) { unsafe FieldText.textEnd($0, from: 0, to: 64, bits: &bits) }
            let isStop = byte < 0x20 || byte == 0x22 || byte == 0x5C
            #expect(end == (isStop ? place : 48))
            #expect((bits & 0x8080_8080_8080_8080 != 0) == (byte >= 0x80))
        }
        let open = [UInt8](repeating: 0x61, count: 47)
        var bits: UInt64 = 0
        let none = unsafe Self.withBlocks(open) { unsafe FieldText.textEnd($0, from: 0, to: 47, bits: &bits) }
        #expect(none == -1)
    }

    @Test("a text is encoded as a form wants it, whether blocks may be read behind it or not", arguments: 0..<50)
    func encode(_ count: Int) {
        let words = Array("plain-text_with.dots* and spaces & \u{E4}\u{1F600}=%+\u{7F}\u{0}[x]".utf8)
        let bytes = (0..<count).map { words[($0 * 7 + count) % words.count] }
        for plus in [false, true] {
            var wanted = OutputBuffer()
            wanted.append(percentEncoding: bytes.span, keeping: .formUnescaped, plusForSpace: plus)
            let table = FieldText.makeTable(keeping: .formUnescaped, plusForSpace: plus)
            for readable in [0, count, count + 16] {
                var target = [UInt8](repeating: 0, count: 3 * count + FieldText.overhang)
                let written = unsafe Self.withBlocks(bytes) { source in
                    unsafe table.withUnsafeBufferPointer { table in
                        unsafe target.withUnsafeMutableBytes { target in
                            unsafe FieldText.encode(
                                source, count, readable: readable, to: target.baseAddress!, table: table.baseAddress!)
                        }
                    }
                }
                #expect(Array(target[..<written]) == wanted.span.copied())
            }
        }
    }

    /// What is taken of a text and written into so much room, behind which 64 bytes must stay.
    private static func run(
        _ text: [UInt8], room: Int, _ table: [UInt32]
    ) -> (taken: Int, written: Int, target: [UInt8]) {
        var target = [UInt8](repeating: 0xEE, count: room) + [UInt8](repeating: 0xDD, count: 64)
        let run = unsafe text.withUnsafeBytes { source in
            unsafe target.withUnsafeMutableBytes { target in
                unsafe table.withUnsafeBufferPointer { table in
                    unsafe FieldText.encodeRun(
                        source.baseAddress!, from: 0, to: text.count, into: target.baseAddress!, room: room,
                        table: table.baseAddress!)
                }
            }
        }
        return (run.taken, run.written, target)
    }

    @Test("a run of a text is encoded up to a stop, the last bytes or the end of the room", arguments: [true, false])
    func encodeRun(hasPlus: Bool) {
        let table = FieldText.makeTable(keeping: .formUnescaped, plusForSpace: hasPlus)
        let hasBlocks = Self.run([UInt8](repeating: 0x61, count: 64), room: 128, table).taken > 0
        for byte in UInt8.min...UInt8.max {
            for place in [0, 1, 15, 16, 30, 31, 32, 33, 47, 70] {
                var text = Array("Some plain-text, with 50% more & ~*_. spaces   and 'quotes' (or others) [x]; so".utf8)
                text[place] = byte
                let isStop = byte < 0x20 || byte >= 0x80 || byte == 0x22 || byte == 0x5C
                for room in [0, 63, 64, 65, 96, 127, 128, 500] {
                    let run = Self.run(text, room: room, table)
                    #expect(run.taken <= (isStop ? place : text.count) && run.written <= room)
                    var wanted = OutputBuffer()
                    wanted.append(
                        percentEncoding: Array(text[..<run.taken]).span, keeping: .formUnescaped, plusForSpace: hasPlus)
                    #expect(Array(run.target[..<run.written]) == wanted.span.copied())
                    #expect(run.target[room...].allSatisfy { $0 == 0xDD }, "it wrote behind its room")
                    let isAtEnd = text.count - run.taken < 32 || room - run.written < 64
                    #expect(!hasBlocks || isAtEnd || isStop && run.taken == place, "it stopped elsewhere")
                }
            }
        }
    }

    @Test("the room of a buffer is filled, and what was in it stays")
    func fill() {
        var buffer = OutputBuffer()
        buffer.append("before ")
        for round in 0..<20 {
            // SAFETY: five bytes are written, for which there is room.
            unsafe buffer.fill(atLeast: 5) { target, room in
                #expect(room >= 5)
                for index in 0..<5 { unsafe target[index] = UInt8(0x61 + round) }
                return 5
            }
        }
        #expect(buffer.count == 107)
        #expect(buffer.span.copied().suffix(5) == [UInt8](repeating: 0x61 + 19, count: 5))
    }
}
