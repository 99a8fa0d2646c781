import Octets
import Testing

@Suite("Unescaping the inside of a JSON string")
struct TextDecodingTests {
    private func check(_ bytes: [UInt8], to bound: Int, gives text: [UInt8], end: Int) {
        var store = ByteStore()
        store.append("x")
        let run = store.append(textUnescaping: bytes.span, from: 0, to: bound)
        let unescaped = store.span.copied()
        #expect(unescaped == [UInt8(ascii: "x")] + text)
        #expect(run.end == end)
        #expect(run.isASCII == text.allSatisfy { $0 < 0x80 })
    }

    static let escapes: [(escape: String, text: String)] = [
        ("\\\"", "\""), ("\\\\", "\\"), ("\\/", "/"), ("\\b", "\u{8}"), ("\\f", "\u{C}"), ("\\n", "\n"), ("\\r", "\r"),
        ("\\t", "\t"), ("\\u0000", "\0"), ("\\u007f", "\u{7F}"), ("\\u0080", "\u{80}"), ("\\u07FF", "\u{7FF}"),
        ("\\u0800", "\u{800}"), ("\\uFFff", "\u{FFFF}"), ("\\ud83d\\ude00", "\u{1F600}"),
        ("\\uD800\\uDC00", "\u{10000}"), ("\\udbff\\udfff", "\u{10FFFF}"), ("\\\\\\\\n\\n", "\\\\n\n"),
        ("é\\u00e9", "éé"),
    ]

    @Test("An escape stands for its character at every place, and is left where the bound cuts it", arguments: escapes)
    func escape(_ escape: String, _ text: String) {
        for place in 0...33 {
            let before = [UInt8](repeating: UInt8(ascii: "a"), count: place)
            let bytes = before + escape.utf8 + Array("0123456789abcdefghijkl\"".utf8)
            let whole = before + text.utf8 + Array("0123456789abcdefghijkl".utf8)
            check(bytes, to: bytes.count, gives: whole, end: bytes.count - 1)
            guard escape.utf8.first == UInt8(ascii: "\\"), text.unicodeScalars.count == 1 else { continue }
            for cut in 1..<escape.utf8.count { check(bytes, to: place + cut, gives: before, end: place) }
        }
    }

    @Test(
        "What is no escape, a lone half of a pair too, ends the run before it",
        arguments: [
            "\\x", "\\u00g0", "\\u00-0", "\\u 123", "\\uD800", "\\uD800x", "\\uD800\\n", "\\uD800\\u0041", "\\uDC00",
            "\\uD800\\uD800", "\\ud8", "\\", "\\U0041", "\u{1}", "\n", "\"",
        ])
    func noEscape(_ fault: String) {
        for place in 0...20 {
            let before = [UInt8](repeating: UInt8(ascii: "a"), count: place)
            let bytes = before + fault.utf8 + Array("00000000000000000000".utf8)
            check(bytes, to: bytes.count, gives: before, end: place)
        }
    }

    @Test("Every byte that a string may hold stands for itself, at every place of a block")
    func plainBytes() {
        for byte in UInt8(0x20)...0xFF where byte != 0x22 && byte != 0x5C {
            for place in [0, 1, 7, 8, 15, 16, 17] {
                var bytes = [UInt8](repeating: UInt8(ascii: "a"), count: 20)
                bytes[place] = byte
                check(bytes, to: 20, gives: bytes, end: 20)
            }
        }
    }
}
