import Octets
import TestSupport
import Testing
import Transcoding

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// What single bytes are in a charset is asked once, and bytes of ASCII pass without iconv: the same comes of it as of iconv alone.
@Suite("Tables of charsets")
struct CharsetTableTests {
    /// What iconv makes of a whole text; nil where it is none.
    private func converted(_ text: [UInt8], from system: String) throws -> [UInt8]? {
        // SAFETY: both names are C strings for the time of the call; the handle is closed below and used nowhere else.
        let opened = unsafe iconv_open("UTF-8", system)
        let handle = try unsafe #require(opened)
        try #require(Int(bitPattern: handle) != -1)
        defer { _ = unsafe iconv_close(handle) }
        var source = text.map { CChar(bitPattern: $0) }
        var target = [CChar](repeating: 0, count: text.count * 4 + 16)
        var written = 0
        var isText = false
        // SAFETY: iconv reads within the text and writes within the target, and says how far it came.
        unsafe source.withUnsafeMutableBufferPointer { source in
            unsafe target.withUnsafeMutableBufferPointer { target in
                var from = source.baseAddress
                var to = target.baseAddress
                var left = source.count
                var room = target.count
                isText = unsafe iconv(handle, &from, &left, &to, &room) != -1
                _ = unsafe iconv(handle, nil, nil, &to, &room)
                written = target.count - room
            }
        }
        return isText ? target[0..<written].map { UInt8(bitPattern: $0) } : nil
    }

    static let singles = [
        ("ibm866", "IBM866"), ("iso-8859-2", "ISO-8859-2"), ("iso-8859-6", "ISO-8859-6"),
        ("iso-8859-8-i", "ISO-8859-8"), ("iso-8859-15", "ISO-8859-15"), ("koi8-r", "KOI8-R"),
        ("windows-874", "CP874"), ("windows-1251", "CP1251"), ("latin1", "CP1252"), ("windows-1253", "CP1253"),
        ("windows-1256", "CP1256"),
    ]

    @Test("each byte of a charset of single bytes is what iconv makes of it", arguments: singles)
    func single(label: String, system: String) throws {
        let charset = try #require(Charset(label: label))
        var texts: [UInt8] = []
        for byte in UInt8.min...UInt8.max {
            let text: [UInt8] = [0x61, byte, byte, 0x62]
            var expected = try converted(text, from: system)
            if expected == nil, charset.name.hasPrefix("windows-"), byte < 0xA0 {
                expected = [0x61, 0xC2, byte, 0xC2, byte, 0x62]
            }
            #expect(charset.text(of: text.span).map { Array($0.utf8) } == expected, "\(byte)")
            if try converted([byte], from: system) != nil { texts.append(byte) }
        }
        // More than is spelled at once, of ASCII and others by turns and in rows.
        var long: [UInt8] = []
        for count in [1, 2, 7, 8, 9, 200, 255, 256, 257, 600] {
            for index in 0..<count { long.append(texts[(index * 37 + count) % texts.count]) }
            long += [UInt8](repeating: 0x78, count: count)
            long += [UInt8](repeating: texts[texts.count - 1], count: count)
        }
        let expected = try converted(long, from: system)
        #expect(expected != nil)
        #expect(charset.text(of: long.span).map { Array($0.utf8) } == expected)
    }

    @Test(
        "a byte of ASCII within a character is none of its own",
        arguments: [
            ("shift_jis", "CP932"), ("big5", "BIG5-HKSCS"), ("gb18030", "GB18030"), ("euc-kr", "UHC"),
            ("euc-jp", "EUC-JP-MS"), ("iso-2022-jp", "ISO-2022-JP"), ("utf-16le", "UTF-16LE"),
        ])
    func multiple(label: String, system: String) throws {
        let charset = try #require(Charset(label: label))
        for lead in UInt8(0x80)...0xFF {
            for trail in stride(from: UInt8(0x20), to: 0xFF, by: 9) {
                for text in [[0x61, 0x5C, lead, trail, 0x7E, 0x62], [lead, trail, lead, trail, 0x24, lead]] {
                    let expected = try converted(text, from: system)
                    #expect(charset.text(of: text.span).map { Array($0.utf8) } == expected, "\(text)")
                }
            }
        }
        let escapes: [UInt8] = [0x61, 0x1B, 0x24, 0x42, 0x24, 0x22, 0x1B, 0x28, 0x42, 0x0E, 0x62]
        for count in 1...escapes.count {
            let text = Array(escapes[..<count])
            let expected = try converted(text, from: system)
            #expect(charset.text(of: text.span).map { Array($0.utf8) } == expected)
        }
    }
}
