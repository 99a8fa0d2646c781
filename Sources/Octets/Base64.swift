/// Bytes to base64 (RFC 4648 §4) wherever they are cut: up to two bytes wait for the next piece.
public struct Base64Encoder: Sendable {
    private var carry: UInt32 = 0
    private var carried = 0

    public init() {}

    /// Appends the whole quads that `bytes` complete.
    public mutating func encode(_ bytes: Span<UInt8>, into output: inout OutputBuffer) {
        for index in bytes.indices {
            carry = carry << 8 | UInt32(bytes[index])
            carried += 1
            if carried == 3 {
                for shift: UInt32 in [18, 12, 6, 0] { output.append(Self.digit(carry >> shift)) }
                carry = 0
                carried = 0
            }
        }
    }

    /// Appends what waits, with padding, and starts anew.
    public mutating func finish(into output: inout OutputBuffer) {
        switch carried {
        case 1:
            output.append(Self.digit(carry >> 2))
            output.append(Self.digit(carry << 4))
            output.append("==")
        case 2:
            output.append(Self.digit(carry >> 10))
            output.append(Self.digit(carry >> 4))
            output.append(Self.digit(carry << 2))
            output.append("=")
        default: break
        }
        carry = 0
        carried = 0
    }

    private static func digit(_ bits: UInt32) -> UInt8 {
        let value = UInt8(truncatingIfNeeded: bits & 63)
        return switch value {
        case 0..<26: 0x41 + value
        case 26..<52: 0x61 + value - 26
        case 52..<62: 0x30 + value - 52
        case 62: 0x2B
        default: 0x2F
        }
    }
}
