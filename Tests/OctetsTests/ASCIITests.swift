import Octets
import Testing

@Suite("ASCII and ByteSet")
struct ASCIITests {
    static let all = UInt8.min...UInt8.max

    @Test("The classes of every byte are those of their plain definitions")
    func classes() {
        for byte in Self.all {
            let scalar = Unicode.Scalar(byte)
            #expect(ASCII.isDigit(byte) == ("0"..."9").contains(scalar))
            #expect(ASCII.isAlpha(byte) == (("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)))
            #expect(ASCII.lowercased(byte) == (("A"..."Z").contains(scalar) ? byte + 32 : byte))
            let isHex = ("0"..."9").contains(scalar) || ("a"..."f").contains(scalar) || ("A"..."F").contains(scalar)
            #expect(ASCII.hexValue(byte) == (isHex ? UInt8(String(scalar), radix: 16) : nil))
        }
        for value in UInt8(0)..<16 {
            #expect(String(Unicode.Scalar(ASCII.lowerHexDigit(value))) == String(value, radix: 16))
            #expect(String(Unicode.Scalar(ASCII.upperHexDigit(value))) == String(value, radix: 16, uppercase: true))
        }
    }

    static let letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

    @Test(
        "A number is digits alone, as many as may be",
        arguments: [
            ("0", 0), ("007", 7), ("999", 999), ("1000", nil), ("", nil), ("-1", nil), ("+1", nil), (" 1", nil),
            ("1.", nil),
        ])
    func decimal(_ text: String, _ number: Int?) {
        let bytes = Array(text.utf8)
        #expect(ASCII.decimal(bytes.span, most: 3) == number)
    }

    @Test("Each constant set holds the bytes of its definition and no others")
    func constants() {
        let definitions: [(ByteSet, String)] = [
            (.token, Self.letters + "!#$%&'*+-.^_`|~"), (.formUnescaped, Self.letters + "*-._"),
            (.unreserved, Self.letters + "-._~"),
        ]
        for (set, members) in definitions {
            for byte in Self.all { #expect(set.contains(byte) == members.utf8.contains(byte)) }
        }
        for byte in Self.all { #expect(ASCII.isToken(byte) == ByteSet.token.contains(byte)) }
    }

    @Test("A set made from a rule holds the bytes for which the rule holds, in all four words")
    func rules() {
        for modulus in [1, 2, 3, 64, 65, 255] as [UInt8] {
            let set = ByteSet { $0 % modulus == 0 }
            for byte in Self.all { #expect(set.contains(byte) == (byte % modulus == 0)) }
        }
        let none = ByteSet { _ in false }
        for byte in Self.all { #expect(!none.contains(byte)) }
    }
}
