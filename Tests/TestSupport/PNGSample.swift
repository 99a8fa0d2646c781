/// PNGs that are written down here: no library is asked what one is.
public enum PNGSample {
    /// A PNG without compression of 8-bit pixels; `pixel` gives one to four samples.
    public static func png(
        _ width: Int, _ height: Int, type: UInt8 = 2, chunks: [(String, [UInt8])] = [],
        _ pixel: (Int, Int) -> [UInt8]
    ) -> [UInt8] {
        var rows: [UInt8] = []
        for y in 0..<height {
            rows.append(0)
            for x in 0..<width { rows += pixel(x, y) }
        }
        return file(width, height, type: type, depth: 8, rows: rows, chunks: chunks)
    }

    public static func file(
        _ width: Int, _ height: Int, type: UInt8, depth: UInt8, rows: [UInt8], interlace: UInt8 = 0,
        chunks: [(String, [UInt8])] = []
    ) -> [UInt8] {
        var file: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 13, 10, 26, 10]
        file += chunk("IHDR", big(width) + big(height) + [depth, type, 0, 0, interlace])
        for (name, content) in chunks { file += chunk(name, content) }
        file += chunk("IDAT", zlib(rows))
        return file + chunk("IEND", [])
    }

    public static func big(_ value: Int) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
    }

    public static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
        let named = Array(name.utf8) + content
        return big(content.count) + named + big(Int(crc(named)))
    }

    /// Stored blocks (RFC 1951 §3.2.4).
    public static func zlib(_ bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = [0x78, 0x01]
        var at = 0
        repeat {
            let count = min(0xFFFF, bytes.count - at)
            let isLast = at + count == bytes.count
            output += [
                isLast ? 1 : 0, UInt8(count & 0xFF), UInt8(count >> 8), UInt8(~count & 0xFF), UInt8(~count >> 8 & 0xFF),
            ]
            output += bytes[at..<at + count]
            at += count
        } while at < bytes.count
        var (a, b) = (1, 0)
        for byte in bytes { (a, b) = ((a + Int(byte)) % 65521, (b + a + Int(byte)) % 65521) }
        return output + big(b << 16 | a)
    }

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
    }

    private static func crc(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(~0) { table[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] ^ ($0 >> 8) }
    }
}
