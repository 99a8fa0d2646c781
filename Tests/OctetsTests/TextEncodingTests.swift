import Octets
import Testing

@Suite struct TextEncodingTests {
    /// What `escape` writes of the bytes behind `start`, of which `behind` bytes don't belong to the text.
    private func escape(_ bytes: [UInt8], from start: Int = 0, behind: Int = 0) -> [UInt8] {
        let length = bytes.count - start - behind
        let size = length * TextEncoding.longest + TextEncoding.overhang
        return unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            guard let target = buffer.baseAddress else { return }
            unsafe bytes.withUnsafeBytes { room in
                // SAFETY: the buffer has the size that `escape` asks for, and the end lies in the room.
                count = unsafe TextEncoding.escape(
                    room, from: start, to: start + length, into: UnsafeMutableRawPointer(target))
            }
        }
    }

    private func expected(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        bytes.flatMap { byte -> [UInt8] in
            let short: [UInt8: String] = [
                0x22: "\\\"", 0x5C: "\\\\", 8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r",
            ]
            if let text = short[byte] { return Array(text.utf8) }
            guard byte < 0x20 else { return [byte] }
            let digits = String(byte, radix: 16)
            return Array(("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).utf8)
        }
    }

    @Test(arguments: UInt8.min...UInt8.max)
    func `each byte is escaped where it must be, wherever it stands`(mark: UInt8) {
        for count in 1..<36 {
            for index in 0..<count {
                var bytes = [UInt8](repeating: UInt8(ascii: "x"), count: count)
                bytes[index] = mark
                #expect(escape(bytes) == expected(bytes))
            }
        }
    }

    @Test(arguments: [0, 1, 7, 15, 16, 17, 31, 40])
    func `what stands before the text and behind it is left alone`(behind: Int) {
        for count in 0..<36 {
            for start in [0, 1, 15, 16] {
                let text = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37) }
                let around = [UInt8](repeating: 0x22, count: start)
                let bytes = around + text + [UInt8](repeating: 0x0A, count: behind)
                #expect(escape(bytes, from: start, behind: behind) == expected(text))
            }
        }
    }

    @Test func `a text of nothing but escapes takes six bytes for each`() {
        for count in 0..<70 {
            let bytes = [UInt8](repeating: 1, count: count)
            #expect(escape(bytes).count == count * TextEncoding.longest)
            #expect(escape(bytes) == expected(bytes))
        }
    }
}
