import Images
import TestSupport
import Testing
import Transcoding

/// Where metadata stands that nobody looks for: behind the end, between scans, in parts of a name that isn't known.
@Suite("Metadata that is dropped", .enabled(if: PictureHeader.isBuiltIn))
struct MetadataTests {
    private static let canary = Array("GPS!canary".utf8)

    private static func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
        [0xFF, marker, UInt8((content.count + 2) >> 8), UInt8((content.count + 2) & 0xFF)] + content
    }

    private static let jpeg: [UInt8] = {
        var sample = JPEGSample.even([90, 128, 128])
        sample.isProgressive = true
        sample.scans = [[0], [1], [2]]
        sample.adobe = 1
        return sample.bytes
    }()

    private static let png = ImageSamples.quarters(16, 12)

    private static func webp() throws -> [UInt8] { try ImageSamples.made(png, as: .webp) }

    private static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
        let count = (0..<4).map { UInt8(truncatingIfNeeded: content.count >> (8 * $0)) }
        return Array(name.utf8) + count + content + [UInt8](repeating: 0, count: content.count & 1)
    }

    /// A WebP of those chunks.
    private static func riff(_ chunks: [UInt8]) -> [UInt8] { chunk("RIFF", Array("WEBP".utf8) + chunks) }

    /// What is dropped of `bytes`; and again nothing of what is left.
    private func dropped(_ bytes: [UInt8]) throws -> [UInt8] {
        var rule = ImageRule()
        rule.keepsMetadata = false
        #expect(try ImageJob(bytes, rule: rule).isNeeded)
        let made = try ImageJob(bytes, rule: rule).run()
        #expect(try !ImageJob(made, rule: rule).isNeeded)
        #expect(!made.indices.contains { made[$0...].starts(with: Self.canary) })
        return made
    }

    private func passes(_ bytes: [UInt8]) throws -> Bool {
        var rule = ImageRule()
        rule.keepsMetadata = false
        return try !ImageJob(bytes, rule: rule).isNeeded
    }

    @Test("a JPEG is its frame, tables, scans and colours, and ends with its end")
    func jpeg() throws {
        let jpeg = Self.jpeg
        #expect(try passes(jpeg))
        let exif = Self.segment(0xE1, Array("Exif\0\0".utf8) + ImageSamples.exif(1) + Self.canary)
        let scans = jpeg.indices.filter { jpeg[$0...].starts(with: [0xFF, 0xDA]) }
        try #require(scans.count == 3)
        let extras: [[UInt8]] = [
            exif, Self.segment(0xFE, Self.canary), Self.segment(0xED, Self.canary), Self.segment(0xEB, Self.canary),
            Self.segment(0xE0, Array("JFXX\0".utf8) + Self.canary), Self.segment(0xEE, Self.canary),
            Self.segment(0xE2, Array("MPF\0".utf8) + Self.canary), [0xFF, 0xFF] + exif,
        ]
        for extra in extras {
            // In front, between the scans, in front of the end.
            for at in [2] + scans + [jpeg.count - 2] {
                #expect(try dropped(Array(jpeg[..<at]) + extra + Array(jpeg[at...])) == jpeg, "at \(at)")
            }
        }
        // Readers take one that is shorter than its own length for an empty one, and pass over what stands behind it.
        let shorts: [[UInt8]] = [
            [0xFF, 0xE1, 0, 0], [0xFF, 0xE1, 0, 1], [0xFF, 0xFE, 0, 0], [0xFF, 0xFF, 0xED, 0, 1],
        ]
        for short in shorts {
            let extra: [UInt8] = short + Self.canary
            for at in Array(scans[1...]) + [jpeg.count - 2] {
                let bytes: [UInt8] = Array(jpeg[..<at]) + extra + Array(jpeg[at...])
                #expect(try dropped(bytes) == jpeg, "at \(at)")
            }
            let front: [UInt8] = Array(jpeg[..<2]) + short + Array(jpeg[2...])
            #expect(throws: ImageFault.self) { try dropped(front) }
        }
        // Behind the end: anything, or another picture, as in MPF and Ultra HDR.
        for behind in [Self.canary, [0], Array(jpeg[..<2]) + exif + Array(jpeg[2...])] {
            #expect(try dropped(jpeg + behind) == jpeg)
        }
        // A profile behind the first scan is read by nobody.
        let profile = Self.segment(0xE2, Array("ICC_PROFILE\0".utf8) + [1, 1] + Self.canary)
        #expect(try dropped(Array(jpeg[..<scans[1]]) + profile + Array(jpeg[scans[1]...])) == jpeg)
        #expect(try passes(Array(jpeg[..<2]) + profile + Array(jpeg[2...])))
    }

    @Test("what is needed of a segment stays, and what stands behind that goes")
    func segments() throws {
        let jpeg = Self.jpeg
        func with(_ jfif: [UInt8]) -> [UInt8] {
            Array(jpeg[..<2]) + Self.segment(0xE0, jfif) + Array(jpeg[2...])
        }
        let plain = Array("JFIF\0".utf8) + [1, 2, 1, 0, 72, 0, 72]
        #expect(try passes(with(plain + [0, 0])))
        // A small picture, of which the large one may have been cut.
        #expect(try dropped(with(plain + [2, 2] + Self.canary + [1, 2])) == with(plain + [0, 0]))
        #expect(try dropped(with(plain + [0, 0] + Self.canary)) == with(plain + [0, 0]))
        let adobe = Self.segment(0xEE, Array("Adobe".utf8) + [0, 100, 0, 0, 0, 0, 1])
        try #require(jpeg[2...].starts(with: adobe))
        let longer = Self.segment(0xEE, Array(adobe[4...]) + Self.canary)
        #expect(try dropped(Array(jpeg[..<2]) + longer + Array(jpeg[(2 + adobe.count)...])) == jpeg)
    }

    @Test("a PNG is its pixels and its colours, and ends with its end")
    func png() throws {
        let png = Self.png
        #expect(try passes(png))
        for name in ["tEXt", "zTXt", "iTXt", "eXIf", "tIME", "caBX", "prVt", "sPLT", "hIST", "fdAT"] {
            for at in [33, png.count - 12] {
                let tagged = Array(png[..<at]) + PNGSample.chunk(name, Self.canary) + Array(png[at...])
                #expect(try dropped(tagged) == png, "\(name) at \(at)")
            }
        }
        // CVE-2023-21036: what was cut off the picture stands behind the end.
        for behind in [Self.canary, [0], PNGSample.chunk("eXIf", Self.canary), png] {
            #expect(try dropped(png + behind) == png)
        }
        for name in ["gAMA", "cHRM", "sRGB", "cICP", "mDCV", "cLLI", "sBIT", "bKGD", "pHYs"] {
            #expect(try passes(Array(png[..<33]) + PNGSample.chunk(name, [1, 2, 3, 4]) + Array(png[33...])), "\(name)")
        }
        // A chunk that says that it is longer than the file may hide others.
        let cut = Array(png[..<33]) + [0x7F, 0, 0, 0] + Array("IDAT".utf8) + PNGSample.chunk("eXIf", Self.canary)
        #expect(ImageJobTests.fault(cut) { $0.keepsMetadata = false } == .broken("its parts can't be told"))
    }

    private static let million = [UInt8](repeating: 1, count: 1_000_000)

    /// The PNG with one more chunk, the JPEG with a million bytes in segments of one kind, and a WebP with a million in a chunk.
    private static func taggedPNG(_ name: String, _ content: [UInt8] = MetadataTests.million) -> [UInt8] {
        Array(png[..<33]) + PNGSample.chunk(name, content) + Array(png[33...])
    }
    private static func taggedJPEG(_ marker: UInt8, _ mark: String = "") -> [UInt8] {
        let one = Self.segment(marker, Array(mark.utf8) + [UInt8](repeating: 1, count: 50_000))
        return Array(jpeg[..<2]) + Array(repeatElement(one, count: 20).joined()) + Array(jpeg[2...])
    }
    private static func taggedWebP(_ name: String) throws -> [UInt8] {
        try riff(Array(webp()[12...]) + chunk(name, million))
    }

    @Test(
        "what is copied of what stands beside the pixels is paid for, and nothing else",
        arguments: ImageFormat.allCases)
    func memory(format: ImageFormat) throws {
        func memory(_ bytes: [UInt8], keeps: Bool) throws -> Int {
            var rule = ImageRule()
            rule.longestSide = 8
            rule.keepsMetadata = keeps
            rule.format = format
            return try ImageJob(bytes, rule: rule).memory
        }
        // What may stay: what was read, and the output, which is there three times while it grows.
        let text = Array("XML:com.adobe.xmp".utf8) + [0, 0, 0, 0, 0] + Self.million
        for bytes in [
            Self.taggedPNG("tEXt"), Self.taggedPNG("eXIf"), Self.taggedPNG("iTXt", text), Self.taggedJPEG(0xE1),
            Self.taggedJPEG(0xE2), Self.taggedJPEG(0xE9), Self.taggedJPEG(0xFE), try Self.taggedWebP("EXIF"),
            try Self.taggedWebP("XMP "),
        ] {
            let dropped = try memory(bytes, keeps: false)
            let kept = try memory(bytes, keeps: true)
            #expect(dropped < 3_000_000)
            #expect(kept - dropped >= 4_000_000 && kept - dropped < 4_100_000)
        }
        for keeps in [false, true] {
            // What stays in any case.
            for bytes in [
                Self.taggedPNG("cICP"), Self.taggedPNG("gAMA"), Self.taggedJPEG(0xE2, "ICC_PROFILE\0"),
                try Self.taggedWebP("ICCP"),
            ] {
                let cost = try memory(bytes, keeps: keeps)
                #expect(cost >= 5_000_000 && cost < 8_000_000)
            }
            // What nobody copies.
            for bytes in [
                Self.taggedPNG("prVt"), Self.taggedPNG("sPLT"), Self.taggedJPEG(0xE0), try Self.taggedWebP("abcd"),
                Self.png + Self.million, Self.jpeg + Self.million,
            ] {
                #expect(try memory(bytes, keeps: keeps) < 3_000_000)
            }
            // A profile by the length that it says: 1 MiB, of which there is no more here than that.
            let packed: [UInt8] = [0x69, 0, 0, 0x78, 1, 1, 4, 0, 0xFB, 0xFF, 0, 0x10, 0, 0]
            let cost = try memory(Self.taggedPNG("iCCP", packed), keeps: keeps)
            #expect(cost >= 5 << 20 && cost < 8 << 20)
        }
    }

    @Test("a million parts are looked at, and no more: of each format", arguments: [-1, 0, 1])
    func parts(difference: Int) throws {
        let most = 1_000_000
        func fault(_ bytes: [UInt8], keeps: Bool = true) -> ImageFault? {
            ImageJobTests.fault(bytes) { $0.keepsMetadata = keeps }
        }
        func repeated(_ part: [UInt8], _ count: Int) -> [UInt8] {
            var bytes = part
            while bytes.count < part.count * count { bytes += bytes }
            return Array(bytes[..<(part.count * count)])
        }
        let many: ImageFault? = difference > 0 ? .broken("it has more than 1,000,000 parts") : nil
        let untold: ImageFault? = difference > 0 ? .broken("its parts can't be told") : nil
        // A JPEG's begin, APP14, table, frame, two tables and first scan are seven, besides.
        let jpeg = Self.jpeg
        let comments = repeated([0xFF, 0xFE, 0, 2], most - 7 + difference)
        #expect(fault(Array(jpeg[..<2]) + comments + Array(jpeg[2...])) == many)
        // With the two other scans and the end ten; those behind the first scan count where they are looked at.
        let between = repeated([0xFF, 0xFE, 0, 2], most - 10 + difference)
        let bytes = Array(jpeg[..<(jpeg.count - 2)]) + between + Array(jpeg[(jpeg.count - 2)...])
        #expect(fault(bytes) == nil)
        #expect(fault(bytes, keeps: false) == untold)
        // A PNG's header, pixels and end are three.
        let png = Self.png
        let unknown = repeated(PNGSample.chunk("prVt", []), most - 3 + difference)
        #expect(fault(Array(png[..<33]) + unknown + Array(png[33...])) == many)
        let webp = Array(try Self.webp()[12...])
        let others = repeated(Self.chunk("abcd", []), most - 1 + difference)
        #expect(fault(Self.riff(webp + others)) == many)
    }

    @Test("however many markers there are between pixels, the end of them is where it was")
    func pixels() throws {
        // A frame and a scan, whose pixels nobody looks at here.
        let jpeg = JPEGSample.even([90]).bytes
        let scan = try #require(jpeg.indices.first { jpeg[$0...].starts(with: [0xFF, 0xDA]) })
        let start = Array(jpeg[..<(scan + 10)])
        let extra = Self.segment(0xFE, Self.canary)
        for pixels: [UInt8] in [
            [0xFF, 0], [0xFF, 0xD3], [0xFF, 0xFF, 0], [0xFF, 0xFF, 0xFF, 0xD7, 1], [0], [7, 0xFF, 0],
        ] {
            for count in [0, 1, 5, 6, 7, 15, 16, 17, 31, 32, 33, 64, 1000] {
                let bytes = start + Array(repeatElement(pixels, count: count).joined())
                #expect(try passes(bytes + [0xFF, 0xD9]))
                for fill in 0..<3 {
                    let filled = [UInt8](repeating: 0xFF, count: fill)
                    #expect(try dropped(bytes + filled + extra + [0xFF, 0xD9]) == bytes + [0xFF, 0xD9])
                }
            }
        }
    }

    @Test("a picture that says two sizes is none")
    func twoSizes() throws {
        let ambiguous = ImageFault.broken("its parts can be read in more than one way")
        // Some readers of PNG take the last size.
        let png = Self.png
        let header = PNGSample.chunk("IHDR", [0, 0, 0x40, 0, 0, 0, 0x40, 0, 8, 2, 0, 0, 0])
        for at in [33, png.count - 12] {
            #expect(ImageJobTests.fault(Array(png[..<at]) + header + Array(png[at...])) == ambiguous)
        }
        // A container of 16 x 12 around pixels of another size.
        let extended = Self.chunk("VP8X", [0, 0, 0, 0, 15, 0, 0, 11, 0, 0])
        for size in [(16, 12), (160, 120), (12, 16)] {
            let pixels = Array(try ImageSamples.made(ImageSamples.quarters(size.0, size.1), as: .webp)[12...])
            let fault = ImageJobTests.fault(Self.riff(extended + pixels))
            #expect((fault == nil) == (size == (16, 12)), "\(size)")
        }
    }

    @Test("a WebP is its picture and its profile, and ends with its container")
    func webp() throws {
        let webp = try Self.webp()
        #expect(try passes(webp))
        let picture = Array(webp[12...])
        for name in ["EXIF", "XMP ", "META", "ANMF", "VP8 ", "VP8L"] {
            #expect(try dropped(Self.riff(picture + Self.chunk(name, Self.canary))) == webp, "\(name)")
        }
        #expect(try dropped(webp + Self.canary) == webp)
        #expect(try dropped(webp + Self.chunk("EXIF", Self.canary)) == webp)
        // With a header that says what is there.
        func header(_ flags: UInt8) -> [UInt8] { Self.chunk("VP8X", [flags, 0, 0, 0, 15, 0, 0, 11, 0, 0]) }
        let profile = Self.chunk("ICCP", [1, 2, 3])
        let bare = Self.riff(header(0x20) + profile + picture)
        let tags = Self.chunk("EXIF", ImageSamples.exif(1) + Self.canary) + Self.chunk("XMP ", Self.canary)
        #expect(try dropped(Self.riff(header(0x2C) + profile + picture + tags)) == bare)
        #expect(
            try dropped(Self.riff(header(0x2C) + Self.chunk("abcd", Self.canary) + profile + picture + tags)) == bare)
        #expect(try passes(bare))
    }

    @Test("what the colours are stays in a PNG that becomes smaller")
    func colours() throws {
        for name in ["cICP", "gAMA"] {
            let tagged = PNGSample.chunk(name, [9, 16, 0, 1])
            let made = try ImageSamples.made(Array(Self.png[..<33]) + tagged + Array(Self.png[33...])) {
                ($0.longestSide, $0.keepsMetadata) = (8, false)
            }
            #expect(made.indices.contains { made[$0...].starts(with: tagged) }, "\(name)")
        }
    }

    @Test("a JPEG that ends, or begins again, in front of its first scan is none", arguments: [0xD8, 0xD9] as [UInt8])
    func noScan(marker: UInt8) throws {
        let scan = try #require(Self.jpeg.indices.first { Self.jpeg[$0...].starts(with: [0xFF, 0xDA]) })
        let bytes = Array(Self.jpeg[..<scan]) + [0xFF, marker] + Array(Self.jpeg[scan...])
        for keeps in [true, false] {
            var rule = ImageRule()
            rule.keepsMetadata = keeps
            #expect(throws: ImageFault.broken("it has no scan")) { try ImageJob(bytes, rule: rule) }
        }
    }

    @Test("however they are cut or changed, nothing is left that would go the next time")
    func hostile() throws {
        let exif = Self.segment(0xE1, Array("Exif\0\0".utf8) + ImageSamples.exif(1))
        let end = Self.jpeg.count - 2
        let jpeg = Array(Self.jpeg[..<end]) + exif + Array(Self.jpeg[end...]) + Self.jpeg
        let png = Array(Self.png[..<33]) + PNGSample.chunk("caBX", Self.canary) + Array(Self.png[33...]) + Self.png
        let webp = try Self.riff(Array(Self.webp()[12...]) + Self.chunk("EXIF", Self.canary)) + Self.canary
        var rule = ImageRule()
        rule.keepsMetadata = false
        rule.pixels = 1_000_000
        func look(_ bytes: [UInt8]) throws {
            guard let made = try? ImageJob(bytes, rule: rule).run() else { return }
            #expect(try !ImageJob(made, rule: rule).isNeeded)
        }
        for source in [jpeg, png, webp] {
            for count in source.indices { try look(Array(source[..<count])) }
            for at in source.indices {
                for bit in [0, 3, 7] {
                    var bytes = source
                    bytes[at] ^= 1 << UInt8(bit)
                    try look(bytes)
                }
            }
            // Where a JPEG has a marker, another one.
            for at in source.indices.dropLast() where source[at] == 0xFF {
                for marker: UInt8 in [0xC0, 0xC4, 0xD0, 0xD8, 0xD9, 0xDA, 0xE0, 0xE1, 0xEE, 0xFE, 0xFF] {
                    var bytes = source
                    bytes[at + 1] = marker
                    try look(bytes)
                }
            }
        }
    }
}
