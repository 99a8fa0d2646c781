import Images
import TestSupport
import Testing
import Transcoding

@Suite("Images", .enabled(if: PictureHeader.isBuiltIn))
struct ImageJobTests {
    static let formats: [ImageFormat] = ImageFormat.allCases
    static let pairs: [(ImageFormat, ImageFormat)] = ImageFormat.allCases.flatMap { from in
        ImageFormat.allCases.map { (from, $0) }
    }

    static func near(_ a: [Int], _ b: [UInt8], by most: Int = 24) -> Bool {
        zip(a, b).allSatisfy { abs($0 - Int($1)) <= most }
    }

    static func fault(_ bytes: [UInt8], _ change: (inout ImageRule) -> Void = { _ in }) -> ImageFault? {
        do {
            _ = try ImageSamples.made(bytes, change)
            return nil
        } catch {
            return error as? ImageFault
        }
    }

    @Test("every format goes to every other, and to its bounds", arguments: pairs)
    func convert(_ from: ImageFormat, _ to: ImageFormat) throws {
        let source = try ImageSamples.made(ImageSamples.quarters(64, 40), as: from)
        for (bounds, expected) in [
            ((20, nil, nil), (20, 13)), ((nil, 16, 40), (16, 10)), ((nil, nil, 10), (16, 10)), ((99, 99, 99), (64, 40)),
        ]
            as [((Int?, Int?, Int?), (Int, Int))]
        {
            let made = try ImageSamples.made(source) {
                ($0.longestSide, $0.width, $0.height, $0.format) = (bounds.0, bounds.1, bounds.2, to)
            }
            let header = try PictureHeader(made.span)
            #expect(header.format == to)
            #expect((header.width, header.height) == expected)
            let picture = try ImageSamples.pixels(made)
            let (x, y) = (expected.0 * 3 / 4, expected.1 * 3 / 4)
            #expect(Self.near(picture.at(expected.0 / 4, expected.1 / 4), ImageSamples.corners[0]))
            #expect(Self.near(picture.at(x, expected.1 / 4), ImageSamples.corners[1]))
            #expect(Self.near(picture.at(expected.0 / 4, y), ImageSamples.corners[2]))
            #expect(Self.near(picture.at(x, y), ImageSamples.corners[3]))
        }
    }

    @Test("shapes that are all side, and pictures of one pixel", arguments: formats)
    func shapes(_ format: ImageFormat) throws {
        for (width, height, expected) in [(1, 5000, (1, 100)), (5000, 1, (100, 1)), (1, 1, (1, 1)), (3, 300, (1, 100))]
        {
            let source = try ImageSamples.made(PNGSample.png(width, height) { _, _ in [90, 120, 150] }, as: format)
            let made = try ImageSamples.made(source) { $0.longestSide = 100 }
            let header = try PictureHeader(made.span)
            #expect((header.width, header.height) == expected)
            #expect(Self.near(try ImageSamples.pixels(made).at(0, 0), [90, 120, 150], by: 4))
        }
    }

    /// Where each corner of the stored picture is seen, by orientation.
    static let seen = [
        [0, 1, 2, 3], [1, 0, 3, 2], [3, 2, 1, 0], [2, 3, 0, 1], [0, 2, 1, 3], [2, 0, 3, 1], [3, 1, 2, 0], [1, 3, 0, 2],
    ]

    @Test("what EXIF says of how a picture is shown is done", arguments: formats, Array(1...8))
    func orientation(_ format: ImageFormat, _ orientation: Int) throws {
        let source = try ImageSamples.tagged(
            ImageSamples.quarters(64, 32), format, ImageSamples.exif(UInt8(orientation)))
        let header = try PictureHeader(source.span)
        #expect((header.width, header.height) == (orientation < 5 ? (64, 32) : (32, 64)))
        for keeps in [true, false] {
            let made = try ImageSamples.made(source) { ($0.width, $0.keepsMetadata) = (16, keeps) }
            let small = try PictureHeader(made.span)
            #expect((small.width, small.height) == (orientation < 5 ? (16, 8) : (16, 32)))
            let picture = try ImageSamples.pixels(made)
            for corner in 0..<4 {
                let x = picture.width * (corner % 2 * 2 + 1) / 4
                let y = picture.height * (corner / 2 * 2 + 1) / 4
                let expected = ImageSamples.corners[Self.seen[orientation - 1][corner]]
                #expect(Self.near(picture.at(x, y), expected), "corner \(corner)")
            }
            let text = String(decoding: made, as: Unicode.ASCII.self)
            #expect(text.contains("GPS!") == keeps)
            // Upright now, and it says so.
            #expect(small.width == picture.width)
            let again = try ImageSamples.made(made) { $0.width = 8 }
            #expect(try PictureHeader(again.span).width == 8)
        }
    }

    @Test("of several EXIF the first one says how a picture is shown, and is the one that stays")
    func severalOrientations() throws {
        func segment(_ tiff: [UInt8]) -> [UInt8] {
            let content = Array("Exif".utf8) + [0, 0] + tiff
            return [0xFF, 0xE1, 0, UInt8(content.count + 2)] + content
        }
        let jpeg = try ImageSamples.made(ImageSamples.quarters(64, 32), as: .jpeg)
        let png = ImageSamples.quarters(64, 32)
        let rest = Array("goes on".utf8)
        for (first, second) in [(1, 6), (6, 1), (6, 8)] {
            let both = [ImageSamples.exif(UInt8(first)), ImageSamples.exif(UInt8(second))]
            let segments = segment(both[0]) + segment(both[1]) + segment(rest)
            let chunks = PNGSample.chunk("eXIf", both[0]) + PNGSample.chunk("eXIf", both[1])
            for source in [
                Array(jpeg[..<2]) + segments + Array(jpeg[2...]), Array(png[..<33]) + chunks + Array(png[33...]),
            ] {
                let header = try PictureHeader(source.span)
                #expect(header.width == (first == 6 ? 32 : 64))
                let made = try ImageSamples.made(source) { $0.longestSide = 16 }
                #expect(try PictureHeader(made.span).width == (first == 6 ? 8 : 16))
                #expect(made.indices.filter { made[$0...].starts(with: Array("GPS!".utf8)) }.count == 1)
                // What is no EXIF by itself belongs to the one before it.
                let isKept = made.indices.contains { made[$0...].starts(with: rest) }
                #expect(isKept == (header.format == .jpeg))
            }
        }
    }

    @Test("where a picture was turned, XMP says so too, and no preview lies on its side", arguments: [1, 6] as [UInt8])
    func turnedMetadata(_ orientation: UInt8) throws {
        // One entry, and an empty folder behind it: the preview's.
        let exif: [UInt8] =
            Array("MM".utf8) + [0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0]
            + [0, 0, 0, 26, 0, 0, 0, 0, 0, 0]
        let xmp =
            Array("http://ns.adobe.com/xap/1.0/".utf8) + [0]
            + Array("<a tiff:Orientation='6' tiff:Orientation=\"66\"><tiff:Orientation> 8 </tiff:Orientation></a>".utf8)
        let tagged = try ImageSamples.tagged(ImageSamples.quarters(64, 32), .jpeg, exif)
        let source = Array(tagged[..<2]) + [0xFF, 0xE1, 0, UInt8(xmp.count + 2)] + xmp + Array(tagged[2...])
        for format in Self.formats {
            let made = try ImageSamples.made(source) { ($0.longestSide, $0.format) = (16, format) }
            let text = String(decoding: made, as: Unicode.ASCII.self)
            let isTurned = orientation == 6
            #expect(text.contains("<a tiff:Orientation='\(isTurned ? 1 : 6)' tiff:Orientation=\"66\">"))
            #expect(text.contains("<tiff:Orientation> \(isTurned ? 1 : 8) </tiff:Orientation>"))
            let start = try #require(made.indices.first { made[$0...].starts(with: exif[..<8]) })
            #expect(Array(made[start + 22..<start + 26]) == [0, 0, 0, isTurned ? 0 : 26])
        }
    }

    @Test("a WebP has 16,383 pixels a side, and no more", arguments: [16_382, 16_383, 16_384])
    func webpSide(side: Int) throws {
        let fault = side > 16_383 ? ImageFault.broken("no side of a WebP has more than 16383 pixels") : nil
        for source in [
            PNGSample.png(side, 1) { _, _ in [1, 2, 3] }, PNGSample.png(1, side) { _, _ in [1, 2, 3] },
        ] {
            #expect(Self.fault(source) { $0.format = .webp } == fault)
            #expect(Self.fault(source) { ($0.format, $0.longestSide) = (.webp, 100) } == nil)
        }
    }

    @Test("what is small enough passes byte for byte", arguments: formats)
    func small(_ format: ImageFormat) throws {
        let source = try ImageSamples.tagged(ImageSamples.quarters(30, 20), format, ImageSamples.exif(6))
        var rule = ImageRule()
        for (most, isNeeded) in [(29, true), (30, false), (31, false)] {
            rule.longestSide = most
            #expect(try ImageJob(source, rule: rule).isNeeded == isNeeded)
        }
        rule.format = format
        rule.quality = 10
        #expect(try ImageJob(source, rule: rule).run() == source)
        rule.keepsMetadata = false
        let turned = try ImageJob(source, rule: rule).run()
        #expect(try PictureHeader(turned.span).height == 30)
    }

    @Test("metadata goes without a pixel being touched", arguments: formats)
    func strip(_ format: ImageFormat) throws {
        let source = try ImageSamples.tagged(ImageSamples.quarters(30, 20), format, ImageSamples.exif(1))
        let bare = try ImageSamples.made(source) { $0.keepsMetadata = false }
        #expect(bare.count < source.count)
        #expect(!String(decoding: bare, as: Unicode.ASCII.self).contains("GPS!"))
        let (before, after) = (try ImageSamples.pixels(source), try ImageSamples.pixels(bare))
        for y in 0..<20 { for x in 0..<30 { #expect(before.at(x, y) == after.at(x, y)) } }
        var rule = ImageRule()
        rule.keepsMetadata = false
        #expect(try !ImageJob(bare, rule: rule).isNeeded)
    }

    @Test("a picture is the mean of what it was: no pixel is left out")
    func resampling() throws {
        // A pattern of single pixels, which a scaler that skips some would make stripes of.
        let source = PNGSample.png(480, 320) { x, y in
            let value = UInt8((x + y) % 2 == 0 ? x * 255 / 480 : y * 255 / 320)
            return [value, 255 - value, UInt8(x * y % 256)]
        }
        let made = try ImageSamples.made(source) { $0.longestSide = 60 }
        let picture = try ImageSamples.pixels(made)
        let whole = try ImageSamples.pixels(source)
        var difference = 0
        for y in 1..<39 {
            for x in 1..<59 {
                var sums = [0, 0]
                for dy in 0..<8 {
                    for dx in 0..<8 { for lane in 0..<2 { sums[lane] += whole.at(x * 8 + dx, y * 8 + dy)[lane] } }
                }
                for lane in 0..<2 { difference += abs(sums[lane] / 64 - picture.at(x, y)[lane]) }
            }
        }
        #expect(Double(difference) / (38 * 58 * 2) < 4)
    }

    @Test("an even colour stays what it is, at any size", arguments: [1, 7, 99, 100, 101, 333])
    func even(_ size: Int) throws {
        let source = PNGSample.png(700, 500, type: 6) { _, _ in [13, 77, 201, 255] }
        let picture = try ImageSamples.pixels(try ImageSamples.made(source) { $0.longestSide = size })
        for y in 0..<picture.height {
            for x in 0..<picture.width { #expect(Self.near(picture.at(x, y), [13, 77, 201], by: 1)) }
        }
    }

    @Test("what is transparent lends no colour, and is white in a JPEG")
    func alpha() throws {
        let source = PNGSample.png(64, 64, type: 6) { x, _ in x % 2 == 0 ? [255, 0, 0, 255] : [0, 255, 0, 0] }
        for format in [ImageFormat.png, .webp] {
            let made = try ImageSamples.made(source) { ($0.longestSide, $0.format, $0.quality) = (8, format, 100) }
            let pixel = try ImageSamples.pixels(made).at(4, 4)
            #expect(pixel[0] > 220 && pixel[1] < 40 && abs(pixel[3] - 128) < 8, "\(format) \(pixel)")
        }
        let jpeg = try ImageSamples.made(source) { ($0.longestSide, $0.format) = (8, .jpeg) }
        #expect(Self.near(try ImageSamples.pixels(jpeg).at(4, 4), [255, 128, 128], by: 30))
    }

    @Test("a picture that keeps its size keeps each pixel, however little of it is seen", arguments: [4, 6])
    func unscaled(_ type: Int) throws {
        let samples = type == 4 ? 2 : 4
        let side = 16
        // Each alpha once, with colours of its own.
        let source = PNGSample.png(side, side, type: UInt8(type)) { x, y in
            [UInt8(x * 17), UInt8(y * 17), UInt8((x ^ y) * 17)].prefix(samples - 1) + [UInt8(x + side * y)]
        }
        let mirrored = try ImageSamples.tagged(source, .png, ImageSamples.exif(2))
        let made = try ImageSamples.decode(try ImageSamples.made(mirrored) { $0.keepsMetadata = false })
        #expect(made.samples == samples)
        for y in 0..<side {
            for x in 0..<side {
                let start = (y * side + side - 1 - x) * samples
                let pixel =
                    [UInt8(x * 17), UInt8(y * 17), UInt8((x ^ y) * 17)].prefix(samples - 1) + [UInt8(x + side * y)]
                #expect(made.rows[start..<start + samples].elementsEqual(pixel), "\(x), \(y)")
            }
        }
    }

    @Test("gray, palettes, 16 bits and a transparent colour")
    func kinds() throws {
        let gray = PNGSample.png(32, 32, type: 0) { _, _ in [99] }
        for format in Self.formats {
            let made = try ImageSamples.made(gray) { ($0.longestSide, $0.format) = (8, format) }
            #expect(Self.near(try ImageSamples.pixels(made).at(3, 3), [99], by: 3))
        }
        let both = PNGSample.png(32, 32, type: 4) { _, _ in [99, 128] }
        let pixel = try ImageSamples.pixels(try ImageSamples.made(both) { $0.longestSide = 8 }).at(3, 3)
        #expect(abs(pixel[0] - 99) <= 2 && abs(pixel[1] - 128) <= 1)
        let palette = PNGSample.png(
            32, 32, type: 3, chunks: [("PLTE", [10, 20, 30, 200, 150, 100]), ("tRNS", [255, 0])]
        ) { x, _ in [x < 16 ? 0 : 1] }
        let coloured = try ImageSamples.pixels(try ImageSamples.made(palette) { $0.longestSide = 8 })
        #expect(Self.near(coloured.at(1, 4), [10, 20, 30, 255], by: 2))
        #expect(coloured.at(7, 4)[3] == 0)
        let deep = PNGSample.file(
            16, 16, type: 2, depth: 16,
            rows: (0..<16).flatMap { _ in [0] + (0..<16).flatMap { _ in [0x40, 0xFF, 0x80, 0, 0xFF, 0x7F] as [UInt8] } }
        )
        #expect(
            Self.near(
                try ImageSamples.pixels(try ImageSamples.made(deep) { $0.longestSide = 4 }).at(1, 1),
                [0x41, 0x80, 0xFF], by: 1))
    }

    @Test("pixels are counted before anything is decoded, at the limit and around it")
    func bombs() throws {
        let picture = ImageSamples.quarters(20, 10)
        for (limit, isTaken) in [(199, false), (200, true), (201, true)] {
            #expect((Self.fault(picture) { ($0.pixels, $0.longestSide) = (limit, 5) } == nil) == isTaken)
        }
        var png = picture
        png.replaceSubrange(16..<24, with: [0x7F, 0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF])
        #expect(Self.fault(png) == .tooManyPixels(0x7FFF_FFFF * 0x7FFF_FFFF))
        // A side is counted besides, where the picture is decoded.
        for (side, isTaken) in [(65_534, true), (65_535, true), (65_536, false)] {
            let bytes = [UInt8(side >> 16), UInt8(side >> 8 & 0xFF), UInt8(side & 0xFF)]
            png.replaceSubrange(16..<24, with: [0] + bytes + [0, 0, 0, 2])
            #expect((Self.fault(png) { $0.longestSide = 5 } == .sideTooLong(side)) == !isTaken)
            #expect(Self.fault(png) { $0.longestSide = 70_000 } != .sideTooLong(side))
        }
        var jpeg = try ImageSamples.made(picture, as: .jpeg)
        let frame = jpeg.indices.first { jpeg[$0...].starts(with: [0xFF, 0xC0]) }!
        jpeg.replaceSubrange(frame + 5..<frame + 9, with: [0xFF, 0xFF, 0xFF, 0xFF])
        #expect(Self.fault(jpeg) == .tooManyPixels(65535 * 65535))
        // A lossy bitstream's own header (RFC 6386 section 9.1): 14 bits a side.
        let webp: [UInt8] =
            Array("RIFF".utf8) + [22, 0, 0, 0] + Array("WEBPVP8 ".utf8) + [
                10, 0, 0, 0, 0x50, 0x01, 0x00, 0x9D, 0x01, 0x2A, 0xFF, 0x3F, 0xFF, 0x3F,
            ]
        #expect([.tooManyPixels(16383 * 16383), .broken("it has no header")].contains(Self.fault(webp)))
    }

    @Test(
        "what libwebp takes for alpha is paid for: as much as was measured for noise",
        arguments: [(100, 80, 1_245_050), (400, 400, 7_251_230), (16, 10, 1_086_920)])
    func alphaMemory(width: Int, height: Int, measured: Int) throws {
        var rule = ImageRule()
        rule.format = .webp
        let source = PNGSample.png(width, height, type: 6) { x, y in
            [UInt8(x & 255), UInt8(y & 255), 0, UInt8(x & 255)]
        }
        #expect(try ImageJob(source, rule: rule).memory >= measured)
    }

    @Test(
        "what it takes to write with loss is paid for: as many bytes for a pixel as were measured for black and white noise",
        arguments: [
            (ImageFormat.jpeg, 89, 8), (.jpeg, 90, 11), (.jpeg, 100, 19), (.webp, 85, 28), (.webp, 89, 30),
            (.webp, 90, 30),
            (.webp, 100, 38),
        ])
    func lossyMemory(_ format: ImageFormat, quality: Int, bytes: Int) throws {
        let side = 400
        let source = PNGSample.png(side, side) { x, y in (x ^ y) & 1 == 0 ? [0, 0, 0] : [255, 255, 255] }
        var rule = ImageRule()
        (rule.format, rule.quality) = (format, quality)
        // Beside tables.
        #expect(try ImageJob(source, rule: rule).memory - 512 * 1024 >= bytes * side * side)
    }

    @Test("what is none of the three, or holds several pictures")
    func others() throws {
        for bytes in [
            [], [0xFF], Array("GIF89a".utf8), Array("<svg/>".utf8), Array("\u{0}\u{0}\u{0}\u{18}ftypheic".utf8),
            Array("RIFF....WAVE".utf8),
        ] {
            #expect(Self.fault(bytes) == .notAnImage)
        }
        let moving = PNGSample.png(4, 4, chunks: [("acTL", [0, 0, 0, 2, 0, 0, 0, 0])]) { _, _ in [1, 2, 3] }
        #expect(Self.fault(moving) == .animated)
        let animation =
            Array("RIFF".utf8) + [34, 0, 0, 0] + Array("WEBPVP8X".utf8) + [10, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 3, 0, 0]
            + Array("ANIM".utf8) + [6, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        #expect(Self.fault(animation) == .animated)
    }

    @Test("a file that is cut off anywhere is a fault, or lacks nothing of its picture", arguments: formats)
    func cutOff(_ format: ImageFormat) throws {
        let source = try ImageSamples.made(ImageSamples.quarters(40, 30), as: format)
        let whole = try ImageSamples.made(source) { $0.longestSide = 10 }
        for count in 0..<source.count where tries(number: count) {
            do {
                #expect(
                    try ImageSamples.made(Array(source[..<count])) { $0.longestSide = 10 } == whole, "\(count) bytes")
                // A marker or a checksum at the end is all that may miss.
                #expect(source.count - count <= 16, "\(count) of \(source.count) bytes")
            } catch let error as ImageFault {
                #expect(error != .memory)
            }
        }
    }

    @Test("a flipped bit is never the end of us", arguments: formats)
    func flipped(_ format: ImageFormat) throws {
        let source = try ImageSamples.tagged(ImageSamples.quarters(24, 16), format, ImageSamples.exif(6))
        for at in source.indices where tries(number: at) {
            for bit in [0, 3, 7] {
                var bytes = source
                bytes[at] ^= 1 << UInt8(bit)
                for keeps in [true, false] {
                    _ = try? ImageSamples.made(bytes) {
                        ($0.longestSide, $0.keepsMetadata, $0.pixels) = (9, keeps, 1_000_000)
                    }
                }
            }
        }
    }
}
