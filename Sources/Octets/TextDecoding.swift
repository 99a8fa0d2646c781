extension ByteStore {
    /// Appends what the bytes from `start` to before `bound` say inside a JSON string (RFC 8259 §7): they stand for
    /// themselves, but for escapes.
    ///
    /// It ends at a quotation mark, at a byte below 0x20, at a backslash that begins no whole escape before the bound, as
    /// that of a lone surrogate, or at the bound, which is at most the count.
    public mutating func append(textUnescaping bytes: Span<UInt8>, from start: Int, to bound: Int) -> TextRun {
        precondition(start >= 0 && start <= bound && bound <= bytes.count, "the bounds pass the bytes")
        var run = TextRun(end: start, isASCII: true)
        // SAFETY: no more bytes are written than read, but for a last block of sixteen and a last word of four, for which
        // there is room. Blocks are loaded only while at + 16 <= bound, and every escape is read below the bound only.
        unsafe write(upTo: bound &- start &+ 16) { target in
            unsafe bytes.withUnsafeBufferPointer { buffer in
                let raw = UnsafeRawBufferPointer(buffer)
                let out = UnsafeMutableRawPointer(target)
                var at = start
                var to = 0
                var seen: UInt64 = 0
                while true {
                    var stop = false
                    while at &+ 16 <= bound {
                        let block = unsafe TextBlock(raw.loadUnaligned(fromByteOffset: at, as: SIMD16<UInt8>.self))
                        unsafe out.storeBytes(of: block.words, toByteOffset: to, as: SIMD2<UInt64>.self)
                        let length = block.length
                        seen |= block.seen(length)
                        at &+= length
                        to &+= length
                        if length < 16 {
                            stop = true
                            break
                        }
                    }
                    while !stop, at < bound {
                        let byte = unsafe raw[at]
                        if byte < 0x20 || byte == 0x22 || byte == 0x5C { break }
                        seen |= UInt64(byte)
                        unsafe target[to] = byte
                        at &+= 1
                        to &+= 1
                    }
                    guard at &+ 1 < bound, unsafe raw[at] == 0x5C else { break }
                    if let character = unsafe TextBlock.characterOfShortEscape(raw[at &+ 1]) {
                        unsafe target[to] = character
                        at &+= 2
                        to &+= 1
                        continue
                    }
                    guard let escape = unsafe TextBlock.unicodeEscape(raw, at, bound) else { break }
                    let character = UTF8Character(escape.scalar)
                    seen |= UInt64(character.bytes)
                    unsafe out.storeBytes(of: character.bytes.littleEndian, toByteOffset: to, as: UInt32.self)
                    at &+= escape.length
                    to &+= character.count
                }
                run = TextRun(end: at, isASCII: seen & 0x8080_8080_8080_8080 == 0)
                return to
            }
        }
        return run
    }
}

/// A scalar value in UTF-8.
@frozen
public struct UTF8Character: Sendable {
    /// The bytes, the first one lowest.
    public let bytes: UInt32
    public let count: Int

    /// The UTF-8 of `scalar`, which must be below 0x110000 and no surrogate.
    @inlinable
    @inline(__always)
    public init(_ scalar: UInt32) {
        switch scalar {
        case ..<0x80:
            bytes = scalar
            count = 1
        case ..<0x800:
            bytes = 0x80C0 | scalar >> 6 | (scalar & 0x3F) << 8
            count = 2
        case ..<0x10000:
            bytes = 0x8080E0 | scalar >> 12 | (scalar >> 6 & 0x3F) << 8 | (scalar & 0x3F) << 16
            count = 3
        default:
            let lead = 0x8080_80F0 | scalar >> 18 | (scalar >> 12 & 0x3F) << 8
            bytes = lead | (scalar >> 6 & 0x3F) << 16 | (scalar & 0x3F) << 24
            count = 4
        }
    }
}

/// Sixteen bytes of the inside of a JSON string.
private struct TextBlock {
    var marks: SIMD2<UInt64>
    var words: SIMD2<UInt64>

    @inline(__always)
    init(_ block: SIMD16<UInt8>) {
        // Each comparison has its types written down: inferred ones choose the generic operators, which are loops.
        let quotes = block .== SIMD16<UInt8>(repeating: 0x22)
        let backslashes = block .== SIMD16<UInt8>(repeating: 0x5C)
        let controls = block .< SIMD16<UInt8>(repeating: 0x20)
        let stops = quotes .| backslashes .| controls
        // SAFETY: a mask has the size of its vector, and all its bits are set or none.
        marks = unsafe unsafeBitCast(stops, to: SIMD2<UInt64>.self)
        words = unsafe unsafeBitCast(block, to: SIMD2<UInt64>.self)
    }

    /// The bytes before the first that ends the run; 16 where none does.
    @inline(__always)
    var length: Int { markedLength(marks) }

    /// All bits of the first `length` bytes, joined.
    @inline(__always)
    func seen(_ length: Int) -> UInt64 { joinedBits(words, length) }

    /// What one of the escapes of two bytes stands for.
    @inline(__always)
    static func characterOfShortEscape(_ letter: UInt8) -> UInt8? {
        switch letter {
        case 0x22, 0x2F, 0x5C: letter
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        default: nil
        }
    }

    /// The character of the `\u` escape at `at`, with the one behind it where it is half of a pair, and their length; nil
    /// when it is none, or is not whole before the bound.
    @inline(__always)
    @unsafe
    static func unicodeEscape(
        _ raw: UnsafeRawBufferPointer, _ at: Int, _ bound: Int
    ) -> (scalar: UInt32, length: Int)? {
        // SAFETY: six bytes are read where at + 6 <= bound, the caller's, and six more where at + 12 <= bound.
        guard at &+ 6 <= bound, unsafe raw[at &+ 1] == UInt8(ascii: "u") else { return nil }
        let unit = unsafe fourDigits(raw, at &+ 2)
        guard unit <= 0xFFFF else { return nil }
        guard unit & 0xF800 == 0xD800 else { return (unit, 6) }
        guard unit < 0xDC00, at &+ 12 <= bound, unsafe raw[at &+ 6] == 0x5C,
            unsafe raw[at &+ 7] == UInt8(ascii: "u")
        else { return nil }
        let other = unsafe fourDigits(raw, at &+ 8)
        guard other & 0xFFFF_FC00 == 0xDC00 else { return nil }
        return (0x10000 + (unit & 0x3FF) << 10 + other & 0x3FF, 12)
    }

    /// The number that four hexadecimal digits say, or one above 0xFFFF.
    @inline(__always)
    @unsafe
    private static func fourDigits(_ raw: UnsafeRawBufferPointer, _ at: Int) -> UInt32 {
        // SAFETY: the caller has four bytes from `at` on.
        let first = unsafe UInt32(ASCII.hexDigit(raw[at])) << 12
        let second = unsafe UInt32(ASCII.hexDigit(raw[at &+ 1])) << 8
        let third = unsafe UInt32(ASCII.hexDigit(raw[at &+ 2])) << 4
        let fourth = unsafe UInt32(ASCII.hexDigit(raw[at &+ 3]))
        // A digit that is none sets its bit 16 or above, in whichever place it stands.
        return first | second | third | fourth
    }
}
