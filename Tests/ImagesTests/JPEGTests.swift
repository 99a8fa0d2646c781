import CImages
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

    /// `bytes` with a segment of that marker behind its first two bytes; its content is a frame of another size, as a segment.
    private static func hiding(behind marker: UInt8, in bytes: [UInt8]) -> [UInt8] {
        let frame: [UInt8] = [0xFF, 0xC2, 0, 11, 8, 0x40, 0, 0x40, 0, 1, 1, 0x11, 0]
        return Array(bytes[..<2]) + [0xFF, marker, 0, UInt8(frame.count + 2)] + frame + Array(bytes[2...])
    }

    @Test("in front of the pixels stands what all readers pass over alike, and nothing else")
    func hidden() throws {
        let bytes = JPEGSample.even([90, 128, 128]).bytes
        let ambiguous = ImageFault.broken("its parts can be read in more than one way")
        for marker in UInt8.min...UInt8.max {
            let fault = ImageJobTests.fault(Self.hiding(behind: marker, in: bytes))
            switch marker {
            // What applications say, comments; tables, which nobody looks at here.
            case 0xE0...0xEF, 0xFE, 0xC4, 0xCC, 0xDB, 0xDD: #expect(fault == nil, "\(marker)")
            // It ends, begins again, or has pixels without a frame.
            case 0xD8...0xDA: #expect(fault == .broken("it has no header"), "\(marker)")
            // Fill bytes, and then a segment of a length of its own.
            case 0xFF: #expect(fault != nil)
            default: #expect(fault == ambiguous, "\(marker)")
            }
        }
        // A second frame, and one that is longer than its components, whatever they say.
        let frame = try #require(bytes.indices.first { bytes[$0...].starts(with: [0xFF, 0xC0]) })
        let segment = Array(bytes[frame..<frame + 19])
        for frames in [segment + segment, segment + [0xFF, 0xC2] + Array(segment[2...])] {
            #expect(ImageJobTests.fault(Array(bytes[..<frame]) + frames + Array(bytes[(frame + 19)...])) == ambiguous)
        }
        for count: UInt8 in [16, 18] {
            var other = bytes
            other[frame + 3] = count
            #expect(ImageJobTests.fault(other) == ambiguous)
        }
        // What stands between two segments.
        for junk: [UInt8] in [[0], [0xFF, 0], [0xFF, 0, 0, 4, 0, 0], [1, 2, 3]] {
            // Without 0xFF behind its first two bytes it is no JPEG at all.
            for at in junk[0] == 0xFF ? [2, frame] : [frame] {
                #expect(ImageJobTests.fault(Array(bytes[..<at]) + junk + Array(bytes[at...])) == ambiguous, "\(junk)")
            }
        }
    }

    @Test("a library that finds another picture than was looked at is stopped", arguments: ImageFormat.allCases)
    func otherPicture(format: ImageFormat) throws {
        func status(_ seen: [UInt8], _ bytes: [UInt8]) -> recast_image_status {
            var header = recast_image_header()
            var options = recast_image_options(
                width: 4, height: 3, format: RECAST_IMAGE_PNG, quality: 85, keeps_metadata: true)
            var result = unsafe recast_image_result()
            // SAFETY: all is read and written during the calls only; what has come out is freed once.
            unsafe seen.withUnsafeBufferPointer { unsafe recast_image_look($0.baseAddress, $0.count, &header) }
            // SAFETY: as above.
            let status = unsafe bytes.withUnsafeBufferPointer {
                unsafe recast_image_convert($0.baseAddress, $0.count, &header, &options, nil, &result)
            }
            // SAFETY: as above.
            unsafe recast_image_free(&result)
            return status
        }
        let seen = try ImageSamples.made(ImageSamples.quarters(16, 12), as: format)
        #expect(status(seen, seen) == RECAST_IMAGE_DONE)
        for (width, height) in [(17, 12), (16, 13), (400, 300)] {
            let other = try ImageSamples.made(ImageSamples.quarters(width, height), as: format)
            #expect(status(seen, other) == RECAST_IMAGE_BAD, "\(width) x \(height)")
        }
        guard format == .jpeg else { return }
        // Of the same size, and of which all waits for the last scan: that takes the memory of all pixels.
        var sample = JPEGSample.even([90, 128, 128])
        let plain = sample.bytes
        sample.scans = [[0], [1], [2]]
        #expect(status(plain, sample.bytes) == RECAST_IMAGE_BAD)
        #expect(status(sample.bytes, plain) == RECAST_IMAGE_DONE)
        #expect(status(plain, JPEGSample.even([90]).bytes) == RECAST_IMAGE_BAD)
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
