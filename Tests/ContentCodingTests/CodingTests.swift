import ContentCoding
import Octets
import Testing

@Suite struct CodingTests {
    static let bodies = [[], Array("a".utf8), Array("a=1&b=2&b=3&c=%20".utf8), text(5000)]

    @Test("names are read in either case, x-gzip is gzip, identity is none")
    func names() {
        for (name, coding) in [
            ("gzip", Coding.gzip), ("GZip", .gzip), ("x-gzip", .gzip), ("deflate", .deflate), ("br", .br), ("BR", .br),
            ("zstd", .zstd), ("identity", nil), ("", nil), ("gzip2", nil), ("compress", nil), ("x-deflate", nil),
        ] {
            #expect(Coding(name: Array(name.utf8).span) == coding, "\(name)")
        }
        for coding in Coding.allCases { #expect(Coding.allCases[coding.index] == coding) }
    }

    @Test("what is encoded is decoded, whole and in slices of every size", arguments: Coding.allCases)
    func roundTrip(_ coding: Coding) {
        for body in Self.bodies {
            for level in [nil, 1, 9] {
                let bytes = encoded(body, coding, level: level)
                for size in [1, 2, 3, 7, 64, 1000, Int.max] {
                    #expect(decoded(bytes, coding, every: size) == Decoded(bytes: body), "\(size)")
                }
            }
        }
    }

    @Test("the bytes are the same wherever the input is cut in two", arguments: Coding.allCases)
    func splits(_ coding: Coding) throws {
        let body = text(300)
        let bytes = encoded(body, coding)
        let decoder = ContentDecoder()
        for cut in 0...bytes.count {
            decoder.begin(AppliedCodings(coding), limits: CodingLimits())
            var output = OutputBuffer()
            var used = try decoder.feed(bytes.span.extracting(0..<cut), into: &output)
            #expect(used == cut)
            used = try decoder.feed(bytes.span.extracting(cut..<bytes.count), into: &output)
            try decoder.finish()
            #expect(output.span.copied() == body)
        }
    }

    @Test("a body cut anywhere is incomplete, and never complete without its last byte", arguments: Coding.allCases)
    func truncated(_ coding: Coding) {
        let bytes = encoded(text(400), coding)
        for count in 0..<bytes.count {
            for size in [1, Int.max] {
                #expect(
                    decoded(Array(bytes[..<count]), coding, every: size).error == .malformed(coding, .truncated),
                    "\(count) of \(bytes.count)")
            }
        }
    }

    @Test("what follows the coded data is refused", arguments: Coding.allCases)
    func trailing(_ coding: Coding) {
        let bytes = encoded(text(100), coding)
        for rest in [[0], [0x78], Array("garbage".utf8)] as [[UInt8]] {
            for size in [1, bytes.count, Int.max] {
                #expect(
                    decoded(bytes + rest, coding, every: size).error == .malformed(coding, .trailing),
                    "\(rest), \(size)")
            }
        }
    }

    @Test("garbage is refused, as is every body with a bit changed that isn't read as another one's")
    func damaged() {
        for coding in Coding.allCases {
            #expect(decoded(Array("garbage that nobody encoded".utf8), coding).error != nil, "\(coding)")
            let body = text(200)
            let bytes = encoded(body, coding)
            for index in bytes.indices {
                for bit in 0..<8 {
                    var changed = bytes
                    changed[index] ^= 1 << UInt8(bit)
                    let whole = decoded(changed, coding)
                    #expect(whole.error == nil || whole.bytes.count <= 4 << 20)
                    // Brotli has no checksum; the others tell a changed body from the one that was sent.
                    if coding != .br, whole.error == nil { #expect(whole.bytes == body, "\(coding) \(index)") }
                    #expect(decoded(changed, coding, every: 1).error == nil ? whole.error == nil : true)
                }
            }
        }
    }

    /// Without br, whose library keeps what comes out in the call that fails.
    @Test("what comes out before the damage comes out however the input is cut", arguments: [Coding.gzip, .zstd])
    func beforeDamage(_ coding: Coding) {
        let (body, rest) = (text(3000), text(1000))
        let encoder = ContentEncoder(coding, level: CodingLevel(nil))
        var output = OutputBuffer()
        #expect(encoder.encode(body.span, into: &output) && encoder.flush(into: &output))
        let place = output.count
        #expect(encoder.encode(rest.span, into: &output) && encoder.finish(into: &output))
        // A block of the type that there is none of, behind the first one and behind a body before.
        for front in [[], encoded(rest, coding)] {
            var bytes = front + output.span.copied()
            bytes[front.count + place] |= 6
            let expected = Decoded(bytes: (front.isEmpty ? [] : rest) + body, error: .malformed(coding, .damaged))
            for size in [1, 2, 5, front.count + place, front.count + place + 1, bytes.count - 1, Int.max] {
                #expect(decoded(bytes, coding, every: size) == expected, "\(size)")
            }
        }
        // The sum.
        var bytes = encoded(body, coding)
        bytes[bytes.count - (coding == .gzip ? 5 : 1)] ^= 1
        for size in [1, 5, bytes.count - 5, bytes.count - 4, bytes.count - 1, Int.max] {
            let found = decoded(bytes, coding, every: size)
            #expect(found == Decoded(bytes: body, error: .malformed(coding, .damaged)), "\(size)")
        }
    }

    @Test("of two codings what comes out before the outer's damage goes through the inner one, however much it is")
    func beforeOuterDamage() {
        let body = Array((0..<20_000).map { "line \($0)\n" }.joined().utf8)
        for outer in [Coding.gzip, .zstd] {
            var bytes = encoded(encoded(body, .gzip), outer)
            bytes[bytes.count - (outer == .gzip ? 5 : 1)] ^= 1
            for size in [1, bytes.count - 1, Int.max] {
                let found = decoded(bytes, pair(.gzip, outer), every: size)
                #expect(found == Decoded(bytes: body, error: .malformed(outer, .damaged)), "\(outer) \(size)")
            }
            // Where the inner one is damaged, too, that is found first.
            var inner = encoded(body, .gzip)
            inner[inner.count - 5] ^= 1
            var both = encoded(inner, outer)
            both[both.count - (outer == .gzip ? 5 : 1)] ^= 1
            for size in [1, both.count - 1, Int.max] {
                let found = decoded(both, pair(.gzip, outer), every: size)
                #expect(found == Decoded(bytes: body, error: .malformed(.gzip, .damaged)), "\(outer) \(size)")
            }
        }
    }

    @Test("gzip members, and zstd frames, that follow each other are one body", arguments: [Coding.gzip, .zstd])
    func members(_ coding: Coding) {
        let one = encoded(Array("one ".utf8), coding)
        let two = encoded(Array("two".utf8), coding)
        let none = encoded([], coding)
        for size in [1, 5, one.count, Int.max] {
            #expect(decoded(one + none + two, coding, every: size) == Decoded(bytes: Array("one two".utf8)))
            #expect(
                decoded(one + Array(two.dropLast()), coding, every: size).error == .malformed(coding, .truncated))
        }
        #expect(decoded(one + [0x1F], .gzip).error != nil)
    }

    @Test("the parts of a br or deflate body that follow each other are two", arguments: [Coding.br, .deflate])
    func oneStream(_ coding: Coding) {
        let one = encoded(Array("one ".utf8), coding)
        #expect(decoded(one + one, coding).error == .malformed(coding, .trailing))
    }

    @Test("a zstd frame begins as RFC 8878 says, also where the library could read older formats")
    func zstdStart() {
        let frame = encoded(Array("one".utf8), .zstd)
        for first in UInt8.min...UInt8.max where first != 0x28 {
            // Formats 0.1 to 0.7 differ from today's in the first byte, 0.1 in their order.
            for other in [[first] + frame.dropFirst(), Array(frame[..<4].reversed()) + frame.dropFirst(4)] {
                for size in [1, 2, 3, 4, 5, Int.max] {
                    #expect(decoded(other, .zstd, every: size).error == .malformed(.zstd, .damaged))
                    #expect(decoded(frame + other, .zstd, every: size).error == .malformed(.zstd, .trailing))
                }
            }
        }
        // What is skipped has no content, before, between and after frames that have.
        for first in UInt8(0x50)...0x5F {
            let skipped: [UInt8] = [first, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 0xAA, 0xBB]
            for size in [1, 3, 4, 5, 9, Int.max] {
                let body = skipped + frame + skipped + skipped + frame + skipped
                #expect(decoded(body, .zstd, every: size) == Decoded(bytes: Array("oneone".utf8)))
                #expect(decoded(Array(body.dropLast()), .zstd, every: size).error == .malformed(.zstd, .truncated))
            }
        }
    }

    @Test("a zstd frame that says how long its content is must have so much, also when its last block is empty")
    func zstdContentSize() {
        /// A frame with the content "abc" in a raw block, and an empty block behind it.
        func frame(descriptor: UInt8, window: [UInt8], size: [UInt8]) -> [UInt8] {
            [0x28, 0xB5, 0x2F, 0xFD, descriptor] + window + size + [0x18, 0, 0, 0x61, 0x62, 0x63, 0x01, 0, 0]
        }
        let wide = [UInt8](repeating: 0, count: 7)
        let cases: [(frame: [UInt8], isFine: Bool)] = [
            (frame(descriptor: 0x20, window: [], size: [3]), true),
            (frame(descriptor: 0x20, window: [], size: [4]), false),
            (frame(descriptor: 0x00, window: [0x50], size: []), true),
            (frame(descriptor: 0x40, window: [0x50], size: [3, 0]), false),  // 259
            (frame(descriptor: 0x80, window: [0x50], size: [3, 0, 0, 0]), true),
            (frame(descriptor: 0x80, window: [0x50], size: [3, 0, 0, 1]), false),
            (frame(descriptor: 0xC0, window: [0x50], size: [3] + wide), true),
            (frame(descriptor: 0xC0, window: [0x50], size: [2] + wide), false),
        ]
        for (frame, isFine) in cases {
            for size in 1...20 {
                let result = decoded(frame, .zstd, every: size)
                #expect(result.error == (isFine ? nil : .malformed(.zstd, .damaged)), "\(frame), every \(size)")
                if isFine { #expect(result.bytes == Array("abc".utf8)) }
            }
        }
    }

    @Test("deflate without the zlib format is read too; the first two bytes decide")
    func rawDeflate() {
        for body in Self.bodies {
            let zlib = encoded(body, .deflate)
            let raw = Array(zlib[2..<zlib.count - 4])
            for size in [1, 2, 3, Int.max] {
                #expect(decoded(raw, .deflate, every: size) == Decoded(bytes: body))
                #expect(decoded(zlib, .deflate, every: size) == Decoded(bytes: body))
            }
            for count in 0..<raw.count {
                #expect(decoded(Array(raw[..<count]), .deflate).error == .malformed(.deflate, .truncated))
            }
        }
        // A preset dictionary is nothing that a receiver could have.
        #expect(decoded([0x78, 0xBB, 0, 0, 0, 1, 3, 0], .deflate).error == .malformed(.deflate, .damaged))
    }

    @Test("two codings are undone in reverse order, for every pair and every cut")
    func pairs() throws {
        let body = text(3000)
        for inner in Coding.allCases {
            for outer in Coding.allCases {
                let codings = pair(inner, outer)
                var more = codings
                let takesThird = more.append(.gzip)
                #expect(!takesThird && more == codings)
                let bytes = encoded(encoded(body, inner), outer)
                for size in [1, 100, Int.max] {
                    #expect(decoded(bytes, codings, every: size) == Decoded(bytes: body), "\(inner), \(outer)")
                }
                #expect(decoded(Array(bytes.dropLast()), codings).error == .malformed(outer, .truncated))
                let cut = encoded(Array(encoded(body, inner).dropLast()), outer)
                #expect(decoded(cut, codings).error == .malformed(inner, .truncated))
            }
        }
    }

    @Test("one decoder serves one body after the other, also after errors")
    func reuse() {
        let decoder = ContentDecoder()
        for _ in 0..<3 {
            for coding in Coding.allCases {
                let bytes = encoded(text(500), coding)
                for body in [bytes, Array(bytes.dropLast(3)), [1, 2, 3, 4, 5, 6], bytes] {
                    let fresh = decoded(body, coding)
                    #expect(decoded(body, AppliedCodings(coding), with: decoder) == fresh)
                }
                decoder.end()
            }
        }
    }

    @Test("an encoder serves one body after the other", arguments: Coding.allCases)
    func encoderReuse(_ coding: Coding) {
        let encoder = ContentEncoder(coding)
        for body in Self.bodies + [text(200_000)] {
            var output = OutputBuffer()
            var isFine = encoder.encode(body.span, into: &output)
            isFine = encoder.finish(into: &output) && isFine
            #expect(isFine)
            #expect(output.span.copied() == encoded(body, coding))
            #expect(encoder.inputCount == body.count && encoder.outputCount == output.count)
            encoder.reset()
            // One that was left in the middle, too.
            isFine = encoder.encode(body.span, into: &output)
            encoder.reset()
        }
    }

    @Test("what was flushed can be read at once", arguments: Coding.allCases)
    func flushed(_ coding: Coding) throws {
        let encoder = ContentEncoder(coding)
        let decoder = ContentDecoder()
        decoder.begin(AppliedCodings(coding), limits: CodingLimits())
        for number in 0..<50 {
            let event = Array("data: \(number)\n\n".utf8)
            var output = OutputBuffer()
            var isFine = encoder.encode(event.span, into: &output)
            #expect(isFine && encoder.isPending)
            isFine = encoder.flush(into: &output)
            #expect(isFine && !encoder.isPending)
            let before = output.count
            isFine = encoder.flush(into: &output)
            #expect(isFine && output.count == before, "nothing new, nothing written")
            var seen = OutputBuffer()
            let used = try decoder.feed(output.span, into: &seen)
            #expect(used == output.count)
            #expect(seen.span.copied() == event)
        }
    }
}
