import ContentCoding
import Octets
import Testing

@Suite struct CodingLimitTests {
    private func limits(decompressed: Int = 100 << 20, ratio: Int = 1_000_000) -> CodingLimits {
        var limits = CodingLimits()
        limits.decompressed = decompressed
        limits.ratio = ratio
        return limits
    }

    @Test("limits.decompressed at n-1, n and n+1, in one piece and byte by byte", arguments: Coding.allCases)
    func decompressed(_ coding: Coding) {
        for count in [1, 4096, 65_536, 100_000] {
            let bytes = encoded(text(count), coding)
            for size in [1, Int.max] {
                let below = decoded(bytes, coding, every: size, limits: limits(decompressed: count - 1))
                #expect(below.error == .decompressed(count - 1))
                #expect(below.bytes.count == count - 1)
                for limit in [count, count + 1] {
                    let fine = decoded(bytes, coding, every: size, limits: limits(decompressed: limit))
                    #expect(fine.error == nil && fine.bytes.count == count)
                }
            }
        }
    }

    // Of br the library keeps what came out in the call that fails.
    @Test(
        "limits.decompressed comes before what is wrong behind it, however the body is cut",
        arguments: Coding.allCases.filter { $0 != .br })
    func decompressedBeforeDamage(_ coding: Coding) {
        let bytes = encoded(text(5000), coding) + Array("what follows is no member".utf8)
        for limit in [1, 4096, 4999] {
            for size in [1, 7, 1000, Int.max] {
                let expected = Decoded(bytes: Array(text(5000)[..<limit]), error: .decompressed(limit))
                let limits = limits(decompressed: limit)
                #expect(decoded(bytes, coding, every: size, limits: limits) == expected, "\(limit), \(size)")
            }
        }
        #expect(decoded(bytes, coding, limits: limits(decompressed: 5000)).error != .decompressed(5000))
    }

    @Test("limits.ratio at n-1, n and n+1", arguments: Coding.allCases)
    func ratio(_ coding: Coding) {
        // So long that it is whole multiples of its coded form's length, but for the end that makes it one.
        let body = [UInt8](repeating: 0x61, count: 70_000)
        let bytes = encoded(body, coding)
        let ratio = (body.count + bytes.count - 1) / bytes.count
        #expect(decoded(bytes, coding, limits: limits(ratio: ratio - 1)).error == .ratio(ratio - 1))
        for limit in [ratio, ratio + 1] {
            let fine = decoded(bytes, coding, limits: limits(ratio: limit))
            #expect(fine.error == nil && fine.bytes.count == body.count)
        }
    }

    @Test("the ratio isn't looked at up to 64 KiB of output", arguments: Coding.allCases)
    func floor(_ coding: Coding) {
        for size in [1, Int.max] {
            let short = encoded([UInt8](repeating: 0, count: CodingLimits.floor), coding)
            #expect(decoded(short, coding, every: size, limits: limits(ratio: 1)).error == nil)
            let long = encoded([UInt8](repeating: 0, count: CodingLimits.floor + 1), coding)
            #expect(decoded(long, coding, every: size, limits: limits(ratio: 1)).error == .ratio(1))
        }
    }

    @Test("the ratio of a response isn't looked at up to 1 MiB of output", arguments: Coding.allCases)
    func floorOfResponses(_ coding: Coding) {
        let limits = limits(ratio: 1).ofResponse
        for size in [1, Int.max] {
            let short = encoded([UInt8](repeating: 0, count: 1 << 20), coding)
            #expect(decoded(short, coding, every: size, limits: limits).error == nil)
            let long = encoded([UInt8](repeating: 0, count: 1 << 20 | 1), coding)
            #expect(decoded(long, coding, every: size, limits: limits).error == .ratio(1))
        }
        let bomb = decoded(encoded([UInt8](repeating: 0, count: 20 << 20), coding), coding, limits: limits)
        #expect(bomb.error == .ratio(1) && bomb.bytes.count <= (1 << 20) + 2 * CodingLimits.floor)
    }

    @Test("a bomb is refused by its ratio before it is large", arguments: Coding.allCases)
    func bomb(_ coding: Coding) {
        let bytes = encoded([UInt8](repeating: 0, count: 20 << 20), coding)
        for size in [1, 1000, Int.max] {
            let refused = decoded(bytes, coding, every: size, limits: CodingLimits())
            #expect(refused.error == .ratio(100))
            #expect(refused.bytes.count <= 4 * CodingLimits.floor, "\(refused.bytes.count)")
        }
    }

    @Test("what lies between two codings is held to the limits too")
    func doubleBomb() {
        for inner in Coding.allCases {
            for outer in Coding.allCases {
                let codings = pair(inner, outer)
                let bytes = encoded(encoded([UInt8](repeating: 0, count: 20 << 20), inner), outer)
                #expect(decoded(bytes, codings).error == .ratio(100), "\(inner), \(outer)")
                let refused = decoded(bytes, codings, limits: limits(decompressed: 1000))
                #expect(refused.error == .decompressed(1000) && refused.bytes.count <= 1000)
            }
        }
    }

    @Test("a zstd frame that wants more than 8 MiB of window is refused by name")
    func window() {
        // Magic number, a frame header with a window of 16 MiB and no size (RFC 8878 §3.1.1), the last block, empty.
        let header: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0x00]
        let block: [UInt8] = [0x01, 0x00, 0x00]
        #expect(decoded(header + [13 << 3] + block, .zstd) == Decoded(bytes: []))
        #expect(decoded(header + [14 << 3] + block, .zstd).error == .malformed(.zstd, .window))
    }

    @Test("a decoder says what it holds while a body goes through it, and keeps little", arguments: Coding.allCases)
    func held(_ coding: Coding) throws {
        let body = encoded(text(2_000_000), coding)
        let decoder = ContentDecoder()
        decoder.begin(AppliedCodings(coding), limits: CodingLimits())
        #expect(decoder.heldCount < 1024)
        var output = OutputBuffer()
        var at = 0
        while at < body.count {
            at += try decoder.feed(body.span.extracting(at..<body.count), into: &output)
            output.removeAll()
        }
        // The windows of our own encoders: 32 KiB, 256 KiB, 512 KiB.
        let window = coding == .br ? 256 : coding == .zstd ? 512 : 32
        #expect(decoder.heldCount >= window * 1024 && decoder.heldCount <= (window + 512) * 1024)
        decoder.end()
        #expect(decoder.heldCount <= 384 * 1024)
    }

    @Test("of a window that is asked for only what is written to counts: four bytes hold no 16 MiB")
    func window24() throws {
        // RFC 7932 §9: a window of 16 MiB, and a block of 16 MiB that isn't compressed.
        let header: [UInt8] = [0xCF, 0xFF, 0xFF, 0xFF]
        let decoder = ContentDecoder()
        decoder.begin(AppliedCodings(.br), limits: CodingLimits())
        var output = OutputBuffer()
        let used = try decoder.feed(header.span, into: &output)
        #expect(used == 4 && output.isEmpty)
        #expect(decoder.heldCount < 64 * 1024)
        let piece = [UInt8](repeating: 7, count: 64 * 1024)
        for count in 1...16 {
            var at = 0
            while at < piece.count || decoder.hasMore {
                at += try decoder.feed(piece.span.extracting(at..<piece.count), into: &output)
                output.removeAll()
            }
            let written = count * piece.count
            #expect(decoder.heldCount >= written && decoder.heldCount < written + 64 * 1024)
        }
        decoder.end()
        #expect(decoder.heldCount == 0)
    }

    @Test("a brotli body with a large window is refused")
    func largeWindow() {
        // The header that RFC 7932 leaves invalid and the large-window format uses: 0x11, then the window's bits.
        #expect(decoded([0x11, 0x1E, 0x03], .br).error == .malformed(.br, .damaged))
    }
}
