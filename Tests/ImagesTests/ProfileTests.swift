import Images
import TestSupport
import Testing
import Transcoding

/// Colour profiles as their writers leave them, which libpng wouldn't take: no picture is lost for one, and no profile that says something.
@Suite("Colour profiles", .enabled(if: PictureHeader.isBuiltIn))
struct ProfileTests {
    /// A profile of RGB (ICC.1:2022 section 7) of `count` bytes, whose header says `said`.
    private static func profile(_ count: Int, said: Int, version: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 7, count: count)
        for byte in 0..<4 { bytes[byte] = UInt8(truncatingIfNeeded: said >> (24 - 8 * byte)) }
        bytes[8] = UInt8(version)
        bytes.replaceSubrange(16..<20, with: Array("RGB ".utf8))
        bytes.replaceSubrange(36..<40, with: Array("acsp".utf8))
        return bytes
    }

    private static func jpeg(_ profile: [UInt8]) throws -> [UInt8] { try jpeg([(1, 1, profile[...])]) }

    private typealias Part = (number: UInt8, count: UInt8, content: ArraySlice<UInt8>)

    /// With segments that each say which one of how many they are.
    private static func jpeg(_ parts: [Part]) throws -> [UInt8] {
        let bare = try ImageSamples.made(ImageSamples.quarters(16, 12), as: .jpeg)
        let segments = parts.flatMap { part in
            let content = Array("ICC_PROFILE".utf8) + [0, part.number, part.count] + part.content
            let length = content.count + 2
            return [0xFF, 0xE2, UInt8(length >> 8), UInt8(length & 0xFF)] + content
        }
        return Array(bare[..<2]) + segments + Array(bare[2...])
    }

    /// The content of an `iCCP` chunk: a name, and deflate that stores.
    private static func packed(_ profile: [UInt8]) -> [UInt8] {
        let (low, high) = (UInt8(profile.count & 0xFF), UInt8(profile.count >> 8))
        return Array("a name".utf8) + [0, 0, 0x78, 1, 1, low, high, ~low, ~high] + profile
    }

    private static func png(_ chunk: [UInt8]) -> [UInt8] {
        let bare = ImageSamples.quarters(16, 12)
        return Array(bare[..<33]) + chunk + Array(bare[33...])
    }

    private static func holds(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
        bytes.indices.contains { bytes[$0...].starts(with: part) }
    }

    /// The profile that a PNG of ours has.
    private static func profile(of png: [UInt8]) throws -> [UInt8]? {
        var at = 8
        while at < png.count {
            let count = png[at..<at + 4].reduce(0) { $0 << 8 | Int($1) }
            if png[at + 4..<at + 8].elementsEqual("iCCP".utf8) {
                let content = png[at + 8..<at + 8 + count]
                // Behind the name: zero, zero for deflate, two bytes of zlib.
                let name = try #require(content.firstIndex(of: 0))
                return try Inflate.run(Array(content[(name + 4)...]))
            }
            at += 12 + count
        }
        return nil
    }

    @Test(
        "a profile goes into a PNG as long as it says, and one of the fourth version in whole fours",
        arguments: [
            // Its bytes, what it says, its version, and the bytes that go out.
            (132, 132, 2, 132), (200, 200, 4, 200), (136, 132, 2, 132), (204, 200, 4, 200), (201, 200, 4, 200),
            (201, 201, 2, 201), (201, 201, 4, 204), (203, 203, 4, 204), (205, 201, 2, 201),
            // It is cut off, and stays so.
            (197, 200, 4, 197),
        ])
    func written(count: Int, said: Int, version: Int, expected: Int) throws {
        let profile = Self.profile(count, said: said, version: version)
        let jpeg = try Self.jpeg(profile)
        let webp = try ImageSamples.made(jpeg) { ($0.format, $0.longestSide) = (.webp, 12) }
        #expect(Self.holds(webp, profile))
        for source in [jpeg, webp] {
            let png = try ImageSamples.made(source) { ($0.format, $0.longestSide) = (.png, 8) }
            let found = try #require(try Self.profile(of: png))
            #expect(found.count == expected)
            if expected > said {
                #expect(Array(found[..<4]) == [0, 0, 0, UInt8(expected)])
                #expect(found[84..<100].allSatisfy { $0 == 0 })
                #expect(found[100..<said].elementsEqual(profile[100..<said]))
                #expect(found[said...].allSatisfy { $0 == 0 })
            } else {
                #expect(found.elementsEqual(profile[..<expected]))
            }
        }
    }

    @Test("what a PNG has for a profile stays in a PNG, and goes into others where it can be unpacked")
    func read() throws {
        let odd = Self.profile(201, said: 201, version: 4)
        let name = Array("a name".utf8)
        let contents: [([UInt8], Bool)] = [
            (Self.packed(Self.profile(200, said: 200, version: 2)), true), (Self.packed(odd), true),
            (Self.packed(Self.profile(201, said: 205, version: 2)), false), (Self.packed([1, 2, 3]), false),
            (name + [0, 0, 1, 2, 3, 4], false), (name + [0, 1, 0x78, 1], false),
            ([UInt8](repeating: 1, count: 300), false), ([], false),
        ]
        for (content, isProfile) in contents {
            let chunk = PNGSample.chunk("iCCP", content)
            for keeps in [true, false] {
                for format in ImageFormat.allCases {
                    let made = try ImageSamples.made(Self.png(chunk)) {
                        ($0.format, $0.longestSide, $0.keepsMetadata) = (format, 8, keeps)
                    }
                    let expected = isProfile ? Array(content[(content.count - 200)...]) : []
                    #expect(Self.holds(made, format == .png ? chunk : expected), "\(format) \(content.count)")
                    #expect(isProfile || format == .png || !Self.holds(made, Array("ICC".utf8)))
                }
            }
        }
        // A wrong checksum: other readers pass over the chunk.
        var chunk = PNGSample.chunk("iCCP", Self.packed(odd))
        chunk[chunk.count - 1] ^= 1
        let made = try ImageSamples.made(Self.png(chunk)) { $0.longestSide = 8 }
        #expect(try Self.profile(of: made) == nil)
        // Of two the first one counts.
        let two = PNGSample.chunk("iCCP", Self.packed(odd)) + PNGSample.chunk("iCCP", [])
        #expect(try Self.profile(of: ImageSamples.made(Self.png(two)) { $0.longestSide = 8 }) == odd)
    }

    @Test("a JPEG's profile is its segments in their order, where all are there, each once, of as many")
    func segments() throws {
        let profile = Self.profile(600, said: 600, version: 2)
        func made(_ parts: [Part]) throws -> [UInt8] {
            try ImageSamples.made(Self.jpeg(parts)) { ($0.longestSide, $0.keepsMetadata) = (8, false) }
        }
        let (first, second, third) = (profile[..<200], profile[200..<300], profile[300...])
        var each: [Part] = []
        for number in UInt8(1)...255 {
            let begin = Int(number) - 1
            each.insert((number, 255, profile[begin..<(number < 255 ? begin + 1 : 600)]), at: 0)
        }
        let whole: [[Part]] = [
            [(1, 1, profile[...])], [(1, 3, first), (2, 3, second), (3, 3, third)],
            [(3, 3, third), (1, 3, first), (2, 3, second)], [(1, 2, profile[...]), (2, 2, [])], each,
        ]
        for parts in whole { #expect(Self.holds(try made(parts), profile), "\(parts.count)") }
        let broken: [[Part]] = [
            [(1, 2, first)], [(1, 3, first), (3, 3, third)], [(1, 2, first), (1, 2, first), (2, 2, second)],
            [(0, 1, profile[...])], [(1, 0, profile[...])], [(2, 1, profile[...])], [(1, 1, [])],
            [(1, 1, profile[...]), (2, 2, second)], [(1, 2, first), (2, 3, second)],
        ]
        for parts in broken {
            let names = parts.map { "\($0.number)/\($0.count)" }
            #expect(!Self.holds(try made(parts), Array("ICC_PROFILE".utf8)), "\(names)")
        }
    }
}
