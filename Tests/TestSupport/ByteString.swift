/// Bytes that a test can write down as a string literal. They compare byte by byte, where `String` would take a composed
/// and a decomposed character as equal.
public struct ByteString: Hashable, Sendable, ExpressibleByStringLiteral, ExpressibleByArrayLiteral {
    public var bytes: [UInt8]

    public init(_ bytes: [UInt8] = []) {
        self.bytes = bytes
    }

    public init(_ text: String) {
        self.bytes = Array(text.utf8)
    }

    public init(stringLiteral value: String) {
        self.init(value)
    }

    public init(arrayLiteral elements: UInt8...) {
        self.init(elements)
    }

    public static func + (left: ByteString, right: ByteString) -> ByteString {
        ByteString(left.bytes + right.bytes)
    }
}

extension ByteString: CustomStringConvertible, CustomDebugStringConvertible {
    /// The text where the bytes are UTF-8, else their hexadecimal digits; long ones are shortened.
    public var description: String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            return "<" + bytes.prefix(64).map { String($0, radix: 16) }.joined(separator: " ") + ">"
        }
        let shown = text.unicodeScalars.prefix(120).map { $0.escaped(asASCII: false) }.joined()
        return "\"" + shown + "\"" + (text.unicodeScalars.count > 120 ? "… (\(bytes.count) bytes)" : "")
    }

    public var debugDescription: String { description }
}
