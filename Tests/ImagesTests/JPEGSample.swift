/// JPEGs that are written down here (ITU T.81): even blocks of 8 x 8, each of which is its mean alone.
///
/// Libraries don't write all that senders do: CMYK, as Adobe and others have it, components one after the other, any number of scans.
struct JPEGSample {
    /// The blocks' samples for each component, by column and row of blocks.
    var components: [(Int, Int) -> UInt8]
    /// Columns and rows of blocks.
    var size = (width: 2, height: 2)
    /// What Adobe's segment says of the colours: 0 as they are, 1 YCC, 2 YCCK; nil: there is none.
    var adobe: UInt8?
    var isProgressive = false
    /// The components of each scan, which may repeat.
    var scans: [[Int]]

    init(_ components: [(Int, Int) -> UInt8]) {
        self.components = components
        scans = [Array(components.indices)]
    }

    /// A picture of one even colour.
    static func even(_ samples: [UInt8]) -> JPEGSample {
        JPEGSample(samples.map { sample in { _, _ in sample } })
    }

    var bytes: [UInt8] {
        var file: [UInt8] = [0xFF, 0xD8]
        if let adobe { file += Self.segment(0xEE, Array("Adobe".utf8) + [0, 100, 0, 0, 0, 0, adobe]) }
        // Steps of 8: a block's mean is its coefficient.
        file += Self.segment(0xDB, [0] + [UInt8](repeating: 8, count: 64))
        let (width, height) = (size.width * 8, size.height * 8)
        file += Self.segment(
            isProgressive ? 0xC2 : 0xC0,
            [
                8, UInt8(height >> 8), UInt8(height & 0xFF), UInt8(width >> 8), UInt8(width & 0xFF),
                UInt8(components.count),
            ]
                + components.indices.flatMap { [UInt8($0 + 1), 0x11, 0] })
        // Means: twelve lengths, of four bits each. All else of a block: its end, one bit.
        file += Self.segment(0xC4, [0x00] + [0, 0, 0, 12] + [UInt8](repeating: 0, count: 12) + Array(0..<12))
        file += Self.segment(0xC4, [0x10] + [1] + [UInt8](repeating: 0, count: 15) + [0])
        for scan in scans {
            file += Self.segment(
                0xDA, [UInt8(scan.count)] + scan.flatMap { [UInt8($0 + 1), 0] } + [0, isProgressive ? 0 : 63, 0])
            file += pixels(of: scan)
        }
        return file + [0xFF, 0xD9]
    }

    private static func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
        let length = content.count + 2
        return [0xFF, marker, UInt8(length >> 8), UInt8(length & 0xFF)] + content
    }

    private func pixels(of scan: [Int]) -> [UInt8] {
        var bits = BitWriter()
        var before = [Int](repeating: 0, count: components.count)
        for y in 0..<size.height {
            for x in 0..<size.width {
                for component in scan {
                    let mean = Int(components[component](x, y)) - 128
                    let difference = mean - before[component]
                    before[component] = mean
                    let count = Int.bitWidth - difference.magnitude.leadingZeroBitCount
                    bits.write(count, 4)
                    bits.write(difference < 0 ? difference + (1 << count) - 1 : difference, count)
                    if !isProgressive { bits.write(0, 1) }
                }
            }
        }
        return bits.finish()
    }
}

private struct BitWriter {
    private var bytes: [UInt8] = []
    private var last = 0
    private var count = 0

    mutating func write(_ value: Int, _ length: Int) {
        for bit in stride(from: length - 1, through: 0, by: -1) {
            last = last << 1 | (value >> bit & 1)
            count += 1
            guard count == 8 else { continue }
            bytes.append(UInt8(last))
            // A byte of ones is no marker with a zero behind it.
            if last == 0xFF { bytes.append(0) }
            (last, count) = (0, 0)
        }
    }

    mutating func finish() -> [UInt8] {
        while count > 0 { write(1, 1) }
        return bytes
    }
}
