internal import COctets

/// Writes bytes as base64 (RFC 4648 §4): the standard alphabet, padded, without line breaks.
///
/// Fed in slices cut anywhere, it writes what it would write for the whole: up to two bytes are carried from one slice
/// to the next. Three bytes become four characters; the output grows by at most `4 * ((count + 2) / 3)` a call.
public struct Base64Encoder: Sendable {
    /// The carried bytes, the latest lowest.
    private var carried: UInt32 = 0
    private var carriedCount = 0

    public init() {}

    /// Appends the characters that `bytes` make certain.
    public mutating func encode(_ bytes: Span<UInt8>, into output: inout OutputBuffer) {
        var at = 0
        if carriedCount > 0 {
            while carriedCount < 3 {
                guard at < bytes.count else { return }
                carried = carried << 8 | UInt32(bytes[at])
                carriedCount += 1
                at += 1
            }
            appendCharacters(4, of: carried, to: &output)
            (carried, carriedCount) = (0, 0)
        }
        let groups = (bytes.count - at) / 3
        if groups > 0 {
            Self.encode(bytes, from: at, groups: groups, into: &output)
            at += groups * 3
        }
        while at < bytes.count {
            carried = carried << 8 | UInt32(bytes[at])
            carriedCount += 1
            at += 1
        }
    }

    /// Appends the last characters and the padding, and makes the encoder as new.
    public mutating func finish(into output: inout OutputBuffer) {
        switch carriedCount {
        case 1:
            appendCharacters(2, of: carried << 16, to: &output)
            output.append("==")
        case 2:
            appendCharacters(3, of: carried << 8, to: &output)
            output.append("=")
        default: break
        }
        (carried, carriedCount) = (0, 0)
    }

    /// Appends the first `count` of the four characters of a 24-bit group.
    private func appendCharacters(_ count: Int, of group: UInt32, to output: inout OutputBuffer) {
        for index in 0..<count {
            let pair = Self.pairs[Int(group >> (index < 2 ? 12 : 0)) & 0xFFF]
            output.append(UInt8(truncatingIfNeeded: index & 1 == 0 ? pair : pair >> 8))
        }
    }

    /// Encodes `groups` times three bytes: blocks of 24 where the processor can, then twelve bits a look-up, the fastest way
    /// without a byte shuffle.
    private static func encode(
        _ bytes: Span<UInt8>, from start: Int, groups: Int, into output: inout OutputBuffer
    ) {
        output.append(upTo: groups * 4) { (target: inout OutputSpan<UInt8>) in
            // SAFETY: `groups * 3` bytes follow `start` and `groups * 4` fit into the target. What the blocks take is a multiple
            // of three. Eight bytes are loaded only where at least eight are left, of which six are used. A 12-bit number
            // indexes a table of 4096.
            unsafe bytes.withUnsafeBufferPointer { source in
                unsafe pairs.withUnsafeBufferPointer { pairs in
                    unsafe target.withUnsafeMutableBufferPointer { buffer, written in
                        let input = unsafe UnsafeRawPointer(source.baseAddress! + start)
                        let characters = UnsafeMutableRawPointer(buffer.baseAddress!)
                        let table = pairs.baseAddress!
                        let end = groups * 3
                        var at = unsafe recast_base64_encode(input, end, characters)
                        var to = at / 3 &* 4
                        while at &+ 8 <= end {
                            let word = unsafe input.loadUnaligned(fromByteOffset: at, as: UInt64.self).bigEndian
                            let quads =
                                unsafe UInt64(table[Int(truncatingIfNeeded: word >> 52)])
                                | UInt64(table[Int(truncatingIfNeeded: word >> 40) & 0xFFF]) << 16
                                | UInt64(table[Int(truncatingIfNeeded: word >> 28) & 0xFFF]) << 32
                                | UInt64(table[Int(truncatingIfNeeded: word >> 16) & 0xFFF]) << 48
                            unsafe characters.storeBytes(of: quads.littleEndian, toByteOffset: to, as: UInt64.self)
                            at &+= 6
                            to &+= 8
                        }
                        while at < end {
                            let group =
                                unsafe Int(input.load(fromByteOffset: at, as: UInt8.self)) << 16
                                | Int(input.load(fromByteOffset: at &+ 1, as: UInt8.self)) << 8
                                | Int(input.load(fromByteOffset: at &+ 2, as: UInt8.self))
                            let quad = unsafe UInt32(table[group >> 12]) | UInt32(table[group & 0xFFF]) << 16
                            unsafe characters.storeBytes(of: quad.littleEndian, toByteOffset: to, as: UInt32.self)
                            at &+= 3
                            to &+= 4
                        }
                        written = to
                    }
                }
            }
        }
    }

    /// The two characters of each 12-bit number, the first in the low byte.
    private static let pairs: [UInt16] = {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        return (0..<4096).map { UInt16(alphabet[$0 >> 6]) | UInt16(alphabet[$0 & 63]) << 8 }
    }()
}

extension Base64Encoder {
    /// All of `bytes` as text.
    public static func text(of bytes: Span<UInt8>) -> [UInt8] {
        var encoder = Base64Encoder()
        var output = OutputBuffer()
        encoder.encode(bytes, into: &output)
        encoder.finish(into: &output)
        return output.span.copied()
    }
}
