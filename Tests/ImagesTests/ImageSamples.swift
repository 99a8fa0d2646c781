import CImages
import Images
import TestSupport
import Transcoding

/// Pictures made for tests, by way of `PNGSample`: no library of ours is asked what a picture is.
enum ImageSamples {
    /// The colours of the four corners: red, green, blue and white, from the upper left by rows.
    static let corners: [[UInt8]] = [[220, 20, 20], [20, 200, 20], [20, 20, 220], [240, 240, 240]]

    /// A picture of four even quarters.
    static func quarters(_ width: Int, _ height: Int) -> [UInt8] {
        PNGSample.png(width, height) { x, y in corners[(x * 2 / width) + 2 * (y * 2 / height)] }
    }

    /// A TIFF structure that says the orientation, and a place of GPS.
    static func exif(_ orientation: UInt8) -> [UInt8] {
        // Two entries: the orientation, and a pointer to GPS that stands behind them.
        Array("MM".utf8) + [0, 42, 0, 0, 0, 8, 0, 2]
            + [0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0]
            + [0x88, 0x25, 0, 4, 0, 0, 0, 1, 0, 0, 0, 38] + [0, 0, 0, 0] + [0, 0, 0, 0, 0, 0] + Array("GPS!".utf8)
    }

    static func made(_ bytes: [UInt8], _ change: (inout ImageRule) -> Void) throws -> [UInt8] {
        var rule = ImageRule()
        change(&rule)
        return try ImageJob(bytes, rule: rule).run()
    }

    /// The same picture in another format.
    static func made(_ bytes: [UInt8], as format: ImageFormat) throws -> [UInt8] {
        try made(bytes) { ($0.format, $0.quality) = (format, 95) }
    }

    /// With EXIF: where the format's writers put it.
    static func tagged(_ bytes: [UInt8], _ format: ImageFormat, _ exif: [UInt8]) throws -> [UInt8] {
        let tagged = Array(bytes[..<33]) + PNGSample.chunk("eXIf", exif) + Array(bytes[33...])
        if format == .png { return tagged }
        let upright = try made(bytes, as: format)
        if format == .jpeg {
            let segment = Array("Exif".utf8) + [0, 0] + exif
            let length = segment.count + 2
            return Array(upright[..<2]) + [0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 0xFF)] + segment
                + Array(upright[2...])
        }
        // By the library, and then turned: it would turn the pixels.
        var webp = try made(
            Array(bytes[..<33]) + PNGSample.chunk("eXIf", Array(exif[..<19]) + [1] + Array(exif[20...]))
                + Array(bytes[33...]),
            as: .webp)
        let mark = Array("EXIF".utf8)
        let at = webp.indices.first { webp[$0...].starts(with: mark) }!
        webp.replaceSubrange(at + 8..<at + 8 + exif.count, with: exif)
        return webp
    }

    /// The pixels of a file, by way of a PNG of its own size; four samples each.
    static func pixels(_ bytes: [UInt8]) throws -> (width: Int, height: Int, at: (Int, Int) -> [Int]) {
        let header = try PictureHeader(bytes.span)
        let png = try made(bytes) { ($0.format, $0.keepsMetadata) = (.png, false) }
        let decoded = try decode(png)
        return (
            header.width, header.height,
            { x, y in
                let start = (y * header.width + x) * decoded.samples
                return decoded.rows[start..<start + decoded.samples].map(Int.init)
            }
        )
    }

    /// Reads a PNG of 8 bits without interlace, as the code under test writes one; `inflate` is a plain reader of RFC 1951.
    static func decode(_ png: [UInt8]) throws -> (samples: Int, rows: [UInt8]) {
        var at = 8
        var data: [UInt8] = []
        let width = png[16..<20].reduce(0) { $0 << 8 | Int($1) }
        let samples = [0: 1, 2: 3, 4: 2, 6: 4][png[25]]!
        while at < png.count {
            let count = png[at..<at + 4].reduce(0) { $0 << 8 | Int($1) }
            if png[at + 4..<at + 8].elementsEqual("IDAT".utf8) { data += png[at + 8..<at + 8 + count] }
            at += 12 + count
        }
        let raw = try Inflate.run(Array(data.dropFirst(2)))
        let stride = width * samples
        var rows: [UInt8] = []
        var previous = [UInt8](repeating: 0, count: stride)
        for start in Swift.stride(from: 0, to: raw.count, by: stride + 1) {
            var row = Array(raw[start + 1..<start + 1 + stride])
            for x in 0..<stride {
                let left = x >= samples ? Int(row[x - samples]) : 0
                let up = Int(previous[x])
                let corner = x >= samples ? Int(previous[x - samples]) : 0
                let guess =
                    switch raw[start] {
                    case 1: left
                    case 2: up
                    case 3: (left + up) / 2
                    case 4: paeth(left, up, corner)
                    default: 0
                    }
                row[x] = UInt8(truncatingIfNeeded: Int(row[x]) + guess)
            }
            rows += row
            previous = row
        }
        return (samples, rows)
    }

    private static func paeth(_ a: Int, _ b: Int, _ c: Int) -> Int {
        let (pa, pb, pc) = (abs(b - c), abs(a - c), abs(a + b - 2 * c))
        return pa <= pb && pa <= pc ? a : pb <= pc ? b : c
    }
}

/// Deflate's inverse, for small data: RFC 1951 word for word.
struct Inflate {
    struct Bad: Error {}

    private let input: [UInt8]
    private var bit = 0
    private var output: [UInt8] = []

    static func run(_ input: [UInt8]) throws -> [UInt8] {
        var inflate = Inflate(input: input)
        return try inflate.all()
    }

    private init(input: [UInt8]) { self.input = input }

    private mutating func bits(_ count: Int) throws -> Int {
        var value = 0
        for index in 0..<count {
            guard bit >> 3 < input.count else { throw Bad() }
            value |= Int(input[bit >> 3] >> (bit & 7) & 1) << index
            bit += 1
        }
        return value
    }

    private struct Code {
        var counts = [Int](repeating: 0, count: 16)
        var symbols: [Int] = []

        init(_ lengths: [Int]) {
            for length in lengths where length > 0 { counts[length] += 1 }
            for length in 1...15 { symbols += lengths.indices.filter { lengths[$0] == length } }
        }
    }

    private mutating func symbol(_ code: Code) throws -> Int {
        var (value, first, index) = (0, 0, 0)
        for length in 1...15 {
            value |= try bits(1)
            let count = code.counts[length]
            if value - count < first { return code.symbols[index + value - first] }
            index += count
            first = (first + count) << 1
            value <<= 1
        }
        throw Bad()
    }

    private mutating func all() throws -> [UInt8] {
        var isLast = false
        while !isLast {
            isLast = try bits(1) == 1
            switch try bits(2) {
            case 0:
                bit = (bit + 7) & ~7
                let count = try bits(16)
                _ = try bits(16)
                for _ in 0..<count { output.append(UInt8(try bits(8))) }
            case 1:
                let lengths = (0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 }
                try block(Code(lengths), Code(Array(repeating: 5, count: 30)))
            case 2:
                let (literals, distances, codes) = (try bits(5) + 257, try bits(5) + 1, try bits(4) + 4)
                let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
                var small = [Int](repeating: 0, count: 19)
                for index in 0..<codes { small[order[index]] = try bits(3) }
                let code = Code(small)
                var lengths: [Int] = []
                while lengths.count < literals + distances {
                    let value = try symbol(code)
                    switch value {
                    case 16: lengths += Array(repeating: lengths.last!, count: try bits(2) + 3)
                    case 17: lengths += Array(repeating: 0, count: try bits(3) + 3)
                    case 18: lengths += Array(repeating: 0, count: try bits(7) + 11)
                    default: lengths.append(value)
                    }
                }
                try block(Code(Array(lengths[..<literals])), Code(Array(lengths[literals...])))
            default: throw Bad()
            }
        }
        return output
    }

    private mutating func block(_ literals: Code, _ distances: Code) throws {
        let base = [
            3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195,
            227, 258,
        ]
        let extra = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0]
        let far = [
            1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097,
            6145, 8193, 12289, 16385, 24577,
        ]
        while true {
            let value = try symbol(literals)
            if value < 256 {
                output.append(UInt8(value))
            } else if value == 256 {
                return
            } else {
                let count = base[value - 257] + (try bits(extra[value - 257]))
                let code = try symbol(distances)
                let distance = far[code] + (try bits(code < 2 ? 0 : code / 2 - 1))
                for _ in 0..<count { output.append(output[output.count - distance]) }
            }
        }
    }
}
