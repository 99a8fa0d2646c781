import HTTPTypes
import Serialization
import Testing
import Transcoding

/// The headers of images: format and size, and nothing beyond the bytes.
@Suite("Image headers")
struct ImageHeaderTests {
    struct Sample: Sendable, CustomTestStringConvertible {
        let name: String
        let format: ImageHeader.Format
        let width: Int
        let height: Int
        let bytes: [UInt8]
        var testDescription: String { name }
    }

    private static func big(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    private static func little(_ value: Int, _ count: Int) -> [UInt8] { big(value, count).reversed() }

    private static func tiff(_ number: @escaping (Int, Int) -> [UInt8], _ mark: String, isLong: Bool) -> [UInt8] {
        let side = { (tag: Int, value: Int) in
            number(tag, 2) + number(isLong ? 4 : 3, 2) + number(1, 4)
                + (isLong ? number(value, 4) : number(value, 2) + [0, 0])
        }
        return Array(mark.utf8) + number(42, 2) + number(10, 4) + [0, 0] + number(3, 2) + number(254, 2) + number(4, 2)
            + number(1, 4) + number(0, 4) + side(256, 640) + side(257, 480) + number(0, 4)
    }

    static let samples: [Sample] = {
        let riff = Array("RIFF".utf8) + little(40, 4) + Array("WEBP".utf8)
        return [
            Sample(
                name: "png", format: .png, width: 1, height: 70_000,
                bytes: [0x89, 0x50, 0x4E, 0x47, 13, 10, 26, 10] + big(13, 4) + Array("IHDR".utf8) + big(1, 4)
                    + big(70_000, 4)),
            Sample(
                name: "jpeg", format: .jpeg, width: 640, height: 480,
                bytes: [0xFF, 0xD8, 0xFF, 0xE0] + big(16, 2) + [UInt8](repeating: 0, count: 14) + [0xFF, 0xFF, 0xC4]
                    + big(4, 2) + [1, 2, 0xFF, 0xC2] + big(17, 2) + [8] + big(480, 2) + big(640, 2)),
            Sample(
                name: "gif", format: .gif, width: 300, height: 2,
                bytes: Array("GIF89a".utf8) + little(300, 2) + little(2, 2)),
            Sample(
                name: "bmp", format: .bmp, width: 5, height: 7,
                bytes: Array("BM".utf8) + [UInt8](repeating: 0, count: 12) + little(40, 4) + little(5, 4)
                    + little(-7, 4)),
            Sample(
                name: "os/2 bmp", format: .bmp, width: 5, height: 7,
                bytes: Array("BM".utf8) + [UInt8](repeating: 0, count: 12) + little(12, 4) + little(5, 2) + little(7, 2)
            ),
            Sample(
                name: "ico", format: .ico, width: 256, height: 256,
                bytes: [0, 0, 1, 0, 2, 0] + [16, 16] + [UInt8](repeating: 0, count: 14)
                    + [UInt8](repeating: 0, count: 16)),
            Sample(name: "tiff II", format: .tiff, width: 640, height: 480, bytes: tiff(little, "II", isLong: false)),
            Sample(name: "tiff MM", format: .tiff, width: 640, height: 480, bytes: tiff(big, "MM", isLong: true)),
            Sample(
                name: "tiff MM short", format: .tiff, width: 640, height: 480, bytes: tiff(big, "MM", isLong: false)),
            Sample(
                name: "webp lossy", format: .webp, width: 33, height: 44,
                bytes: riff + Array("VP8 ".utf8) + little(20, 4) + [0, 0, 0, 0x9D, 0x01, 0x2A] + little(33, 2)
                    + little(44, 2)),
            Sample(
                name: "webp lossless", format: .webp, width: 33, height: 44,
                bytes: riff + Array("VP8L".utf8) + little(20, 4) + [0x2F] + little(32 | 43 << 14, 4)),
            Sample(
                name: "webp extended", format: .webp, width: 33, height: 44,
                bytes: riff + Array("VP8X".utf8) + little(10, 4) + [0, 0, 0, 0] + little(32, 3) + little(43, 3)),
        ]
    }()

    @Test("Format and size are read from the header", arguments: samples)
    func reads(sample: Sample) throws {
        for tail in [[], [0], [UInt8](repeating: 0xFF, count: 100)] as [[UInt8]] {
            let image = try #require(ImageHeader(sample.bytes + tail))
            #expect(image.format == sample.format)
            #expect(image.width == sample.width)
            #expect(image.height == sample.height)
            #expect(image.bytes.count == sample.bytes.count + tail.count)
        }
    }

    @Test("A header that is cut off is none", arguments: samples)
    func cut(sample: Sample) {
        // The entry of the last picture, and what follows the sides of a TIFF directory, are not needed to the last byte.
        let needed = sample.format == .tiff ? sample.bytes.count - 4 : sample.bytes.count
        for count in 0..<needed where sample.name != "tiff II" && sample.name != "tiff MM short" || count < needed - 2 {
            #expect(ImageHeader(Array(sample.bytes[..<count])) == nil, "\(count) bytes")
        }
    }

    @Test("Whatever one or two bytes are, there is a header or none", arguments: samples)
    func mutations(sample: Sample) {
        var generator = SystemRandomNumberGenerator()
        for index in sample.bytes.indices {
            for byte in [0, 1, 0x7F, 0x80, 0xFF] as [UInt8] {
                var bytes = sample.bytes
                bytes[index] = byte
                check(ImageHeader(bytes))
                bytes[Int.random(in: bytes.indices, using: &generator)] = byte
                check(ImageHeader(bytes))
            }
        }
        for size in 0..<200 {
            check(ImageHeader(sample.bytes.prefix(4) + (0..<size).map { _ in UInt8.random(in: 0...255) }))
        }
    }

    private func check(_ image: ImageHeader?) {
        guard let image else { return }
        #expect(image.width > 0 && image.width < 1 << 32)
        #expect(image.height > 0 && image.height < 1 << 32)
    }

    @Test(
        "Sides without pixels, endless segments and far directories are no header",
        arguments: [
            Array("GIF89a".utf8) + [0, 0, 1, 0], [0xFF, 0xD8, 0xFF, 0xC0, 0, 11, 8, 0, 0, 0, 1],
            [0xFF, 0xD8, 0xFF, 0xE0, 0, 0, 0xFF, 0xC0], [0xFF, 0xD8, 0xFF, 0xDA, 0, 4, 0, 0],
            [0x49, 0x49, 42, 0, 0xFF, 0xFF, 0xFF, 0xFF], [0, 0, 1, 0, 0, 0], [0, 0, 1, 0, 0xFF, 0xFF, 1, 1],
            Array("BM".utf8) + [UInt8](repeating: 0xFF, count: 30),
        ] as [[UInt8]])
    func hostile(bytes: [UInt8]) {
        #expect(ImageHeader(bytes) == nil)
    }

    @Test("Reading a long row of segments takes time in its length only")
    func longJPEG() {
        var bytes: [UInt8] = [0xFF, 0xD8]
        for _ in 0..<200_000 { bytes += [0xFF, 0xE1, 0, 2] }
        #expect(ImageHeader(bytes) == nil)
    }

    @Test("The serializer takes AFNetworking's types and says when there is no image")
    func serializer() throws {
        let serializer = ImageResponseSerializer()
        for type in ["tiff", "jpeg", "gif", "png", "ico", "x-icon", "bmp", "x-bmp", "x-xbitmap", "x-win-bitmap"] {
            var response = HTTPResponse(status: 200)
            response.headerFields[.contentType] = "image/" + type
            let image = try serializer.serialize(response, body: Self.samples[0].bytes).get()
            #expect(image?.format == .png)
            #expect(serializer.serialize(response, body: [1, 2, 3]).error?.kind == .unreadableBody)
        }
        var response = HTTPResponse(status: 200)
        response.headerFields[.contentType] = "image/webp"
        #expect(serializer.serialize(response, body: [1]).error?.kind == .unacceptableContentType)
    }
}
