import Images
import TestSupport
import Testing
import Transcoding

/// JPEGs as libraries seldom write them, and senders do.
@Suite("JPEGs of others", .enabled(if: PictureHeader.isBuiltIn))
struct JPEGTests {
    private static func pixel(_ sample: JPEGSample, at x: Int = 4, _ y: Int = 4) throws -> [Int] {
        let made = try ImageSamples.made(sample.bytes) { ($0.longestSide, $0.format) = (8, .png) }
        return try ImageSamples.pixels(made).at(x, y)
    }

    @Test(
        "inks become colours: plain ones, those of Adobe, which are inverted, and its YCCK",
        arguments: [
            // No ink is white, and all of the black one black.
            (nil, [0, 0, 0, 0], [255, 255, 255]), (nil, [0, 0, 0, 255], [0, 0, 0]),
            (nil, [255, 0, 0, 0], [0, 255, 255]),
            (nil, [0, 127, 191, 0], [255, 128, 64]), (nil, [0, 127, 191, 128], [127, 64, 32]),
            (0, [255, 255, 255, 255], [255, 255, 255]), (0, [255, 255, 255, 0], [0, 0, 0]),
            (0, [0, 255, 255, 255], [0, 255, 255]), (0, [255, 128, 64, 255], [255, 128, 64]),
            (0, [255, 128, 64, 127], [127, 64, 32]),
            (2, [0, 128, 128, 255], [255, 255, 255]), (2, [255, 128, 128, 255], [0, 0, 0]),
            (2, [127, 128, 128, 255], [128, 128, 128]), (2, [0, 128, 128, 0], [0, 0, 0]),
        ] as [(UInt8?, [UInt8], [UInt8])])
    func inks(adobe: UInt8?, samples: [UInt8], expected: [UInt8]) throws {
        var sample = JPEGSample.even(samples)
        sample.adobe = adobe
        for scans in [[[0, 1, 2, 3]], [[0], [1], [2], [3]], [[0, 2], [3, 1]]] {
            sample.scans = scans
            let pixel = try Self.pixel(sample)
            #expect(ImageJobTests.near(pixel, expected, by: 2), "\(pixel)")
        }
    }

    @Test("a CMYK picture becomes each format, and an RGB JPEG", arguments: ImageFormat.allCases)
    func formats(format: ImageFormat) throws {
        var sample = JPEGSample([{ x, _ in x < 2 ? 255 : 0 }, { _, _ in 255 }, { _, _ in 255 }, { _, _ in 255 }])
        sample.size = (4, 4)
        sample.adobe = 0
        let made = try ImageSamples.made(sample.bytes) { ($0.longestSide, $0.format, $0.quality) = (16, format, 95) }
        let picture = try ImageSamples.pixels(made)
        #expect((picture.width, picture.height) == (16, 16))
        #expect(ImageJobTests.near(picture.at(3, 8), [255, 255, 255], by: 8))
        #expect(ImageJobTests.near(picture.at(12, 8), [0, 255, 255], by: 12))
        // Again: it is no CMYK any more.
        #expect(try ImageSamples.made(made) { $0.longestSide = 4 }.isEmpty == false)
    }

    @Test("a hundred scans are read, and no more, of both kinds", arguments: [false, true])
    func scans(isProgressive: Bool) throws {
        var sample = JPEGSample.even([200, 128, 128])
        sample.isProgressive = isProgressive
        for count in [3, 99, 100, 101, 102, 1000] {
            sample.scans = (0..<count).map { [$0 % 3] }
            let bytes = sample.bytes
            let fault = ImageJobTests.fault(bytes) { $0.longestSide = 8 }
            #expect(fault == (count <= 100 ? nil : .broken("it has more than 100 scans")), "\(count) scans")
            if fault == nil { #expect(ImageJobTests.near(try Self.pixel(sample), [200, 200, 200], by: 1)) }
        }
    }

    @Test("what waits for a later scan is paid for")
    func memory() throws {
        var sample = JPEGSample.even([90, 128, 128])
        sample.size = (100, 50)
        var rule = ImageRule()
        rule.longestSide = 8
        func memory() throws -> Int { try ImageJob(sample.bytes, rule: rule).memory }
        let interleaved = try memory()
        for (isProgressive, scans) in [(false, [[0], [1], [2]]), (true, [[0, 1, 2]]), (false, [[0, 1], [2]])] {
            (sample.isProgressive, sample.scans) = (isProgressive, scans)
            #expect(try memory() >= interleaved + 2 * 3 * 800 * 400)
        }
        // A unit of the narrowest picture is whole.
        sample.size = (1, 1000)
        #expect(try memory() >= 2 * 3 * 32 * 8000)
    }
}
