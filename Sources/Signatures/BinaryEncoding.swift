internal import Octets

/// How bytes of a signature or a secret are written.
package enum BinaryEncoding: String, Sendable, CaseIterable {
    /// Digits in either case are read, lower case is written.
    case hex
    /// RFC 4648 §4, with or without `=`.
    case base64
    /// RFC 4648 §5, with or without `=`; written without.
    case base64url

    /// The bytes that `text` stands for; nil where it stands for none.
    package func decode(_ text: Span<UInt8>) -> [UInt8]? {
        switch self {
        case .hex:
            guard text.count % 2 == 0 else { return nil }
            var bytes: [UInt8] = []
            bytes.reserveCapacity(text.count / 2)
            for at in stride(from: 0, to: text.count, by: 2) {
                guard let high = ASCII.hexValue(text[at]), let low = ASCII.hexValue(text[at + 1]) else { return nil }
                bytes.append(high << 4 | low)
            }
            return bytes
        case .base64, .base64url:
            var plain: [UInt8] = []
            plain.reserveCapacity(text.count + 3)
            for at in text.indices {
                switch text[at] {
                case UInt8(ascii: "-") where self == .base64url: plain.append(UInt8(ascii: "+"))
                case UInt8(ascii: "_") where self == .base64url: plain.append(UInt8(ascii: "/"))
                case UInt8(ascii: "+") where self == .base64url, UInt8(ascii: "/") where self == .base64url: return nil
                case let byte: plain.append(byte)
                }
            }
            while plain.count % 4 != 0 { plain.append(UInt8(ascii: "=")) }
            return Base64Decoder.bytes(of: plain.span)
        }
    }

    package func encode(_ bytes: Span<UInt8>) -> [UInt8] {
        switch self {
        case .hex:
            var text: [UInt8] = []
            text.reserveCapacity(bytes.count * 2)
            for at in bytes.indices {
                text.append(ASCII.lowerHexDigit(bytes[at] >> 4))
                text.append(ASCII.lowerHexDigit(bytes[at] & 15))
            }
            return text
        case .base64, .base64url:
            let text = Base64Encoder.text(of: bytes)
            guard self == .base64url else { return text }
            return text.compactMap {
                switch $0 {
                case UInt8(ascii: "+"): UInt8(ascii: "-")
                case UInt8(ascii: "/"): UInt8(ascii: "_")
                case UInt8(ascii: "="): nil
                default: $0
                }
            }
        }
    }
}
