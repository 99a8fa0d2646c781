internal import COctets

/// Reads base64 (RFC 4648 §4) strictly: the standard alphabet only, padding only at the end and only to a length that
/// is a multiple of four, no white space, and no bits in the last character that belong to no byte (§3.5).
///
/// Fed in slices cut anywhere, it gives the bytes of the whole: up to three characters are carried from one slice to
/// the next. So one text stands for one sequence of bytes, and encoding those gives the same text.
public struct Base64Decoder: Sendable {
    /// The values of the characters of the quad that is begun, six bits each, the latest lowest.
    private var bits: UInt32 = 0
    /// The characters of the quad that is begun, padding included.
    private var count = 0
    private var padding = 0

    public init() {}

    /// Appends the bytes that `text` makes certain. Returns nil, or the index of the first character that can't stand
    /// where it does; the decoder must not be used after that until `finish` has made it as new.
    public mutating func decode(_ text: Span<UInt8>, into output: inout OutputBuffer) -> Int? {
        var at = 0
        while at < text.count {
            if count == 0, padding == 0, text.count - at >= 4 {
                at += Self.decodeQuads(text, from: at, into: &output)
                guard at < text.count else { break }
            }
            guard take(text[at], into: &output) else { return at }
            at += 1
        }
        return nil
    }

    /// Says that the text has ended and makes the decoder as new. Returns false when the text ended within a quad.
    public mutating func finish() -> Bool {
        let isWhole = count == 0
        self = Base64Decoder()
        return isWhole
    }

    /// Takes one character. Returns false when it can't stand here.
    private mutating func take(_ character: UInt8, into output: inout OutputBuffer) -> Bool {
        if character == UInt8(ascii: "=") {
            // The first of one or two may stand third or fourth, when the bits that belong to no byte are zero.
            switch (count, padding) {
            case (2, 0): guard bits & 0b1111 == 0 else { return false }
            case (3, 0): guard bits & 0b11 == 0 else { return false }
            case (3, 1): break
            default: return false
            }
            padding += 1
            bits <<= 6
        } else {
            let value = Self.table[Int(character)]
            guard value <= 0xFC_0000, padding == 0 else { return false }
            bits = bits << 6 | value >> 18
        }
        count += 1
        if count == 4 {
            output.append(UInt8(truncatingIfNeeded: bits >> 16))
            if padding < 2 { output.append(UInt8(truncatingIfNeeded: bits >> 8)) }
            if padding < 1 { output.append(UInt8(truncatingIfNeeded: bits)) }
            (bits, count) = (0, 0)
        }
        return true
    }

    /// Decodes whole quads until the text has none left or a quad holds anything but characters of the alphabet.
    /// Returns the number of characters taken.
    private static func decodeQuads(_ text: Span<UInt8>, from start: Int, into output: inout OutputBuffer) -> Int {
        let quads = (text.count - start) / 4
        var taken = 0
        output.append(upTo: quads * 3) { (target: inout OutputSpan<UInt8>) in
            // SAFETY: `quads * 4` characters follow `start` and `quads * 3` bytes fit into the target. What the blocks take is a
            // multiple of four. Eight bytes are stored only while at least eight fit, of which six count. A byte plus a
            // multiple of 256 up to 768 indexes a table of 1024.
            unsafe text.withUnsafeBufferPointer { source in
                unsafe table.withUnsafeBufferPointer { table in
                    unsafe target.withUnsafeMutableBufferPointer { buffer, written in
                        let input = unsafe source.baseAddress! + start
                        let bytes = UnsafeMutableRawPointer(buffer.baseAddress!)
                        let values = table.baseAddress!
                        let end = quads * 4
                        var at = unsafe recast_base64_decode(input, end, bytes)
                        var to = at / 4 &* 3
                        while at &+ 12 <= end {
                            let first = unsafe group(input + at, values)
                            let second = unsafe group(input + at + 4, values)
                            guard first | second < bad else { break }
                            let word = UInt64(first) << 40 | UInt64(second) << 16
                            unsafe bytes.storeBytes(of: word.bigEndian, toByteOffset: to, as: UInt64.self)
                            at &+= 8
                            to &+= 6
                        }
                        while at < end {
                            let value = unsafe group(input + at, values)
                            guard value < bad else { break }
                            unsafe bytes.storeBytes(
                                of: UInt8(truncatingIfNeeded: value >> 16), toByteOffset: to, as: UInt8.self)
                            unsafe bytes.storeBytes(
                                of: UInt8(truncatingIfNeeded: value >> 8), toByteOffset: to &+ 1, as: UInt8.self)
                            unsafe bytes.storeBytes(
                                of: UInt8(truncatingIfNeeded: value), toByteOffset: to &+ 2, as: UInt8.self)
                            at &+= 4
                            to &+= 3
                        }
                        taken = at
                        written = to
                    }
                }
            }
        }
        return taken
    }

    /// The 24 bits of four characters; `bad` or more when one is not of the alphabet.
    @inline(__always)
    private static func group(_ characters: UnsafePointer<UInt8>, _ values: UnsafePointer<UInt32>) -> UInt32 {
        // SAFETY: the caller has four characters; the table has 1024 entries, and a byte in each quarter stays below.
        unsafe values[Int(characters[0])] | values[256 &+ Int(characters[1])]
            | values[512 &+ Int(characters[2])] | values[768 &+ Int(characters[3])]
    }

    /// The mark of a character that is not of the alphabet: a bit above the 24 of a group.
    private static let bad: UInt32 = 1 << 24

    /// The values of the characters, shifted to the first, second, third and fourth place of a group: four tables in
    /// one.
    private static let table: [UInt32] = {
        var table = [UInt32](repeating: bad, count: 1024)
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        for (value, character) in alphabet.utf8.enumerated() {
            for place in 0..<4 { table[place * 256 + Int(character)] = UInt32(value) << UInt32(18 - 6 * place) }
        }
        return table
    }()
}

extension Base64Decoder {
    /// The bytes that a whole text stands for; nil where it isn't base64.
    public static func bytes(of text: Span<UInt8>) -> [UInt8]? {
        var decoder = Base64Decoder()
        var output = OutputBuffer()
        guard decoder.decode(text, into: &output) == nil, decoder.finish() else { return nil }
        return output.span.copied()
    }
}
