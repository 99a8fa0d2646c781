/// What a PEM file (RFC 7468) has beside the blocks that OpenSSL finds.
enum PEMText {
    /// The number, from 1, of the first line that begins a block of which OpenSSL takes no notice: it passes over lines that it doesn't
    /// know, be it that the block is indented, stands behind something else in its line, lacks a hyphen, was cut within this line, or is
    /// of another kind. An authority or a list that nobody misses in the file would be missing without a word.
    static func lineOfLostBlock(_ text: Span<CChar>) -> Int? {
        var number = 0
        // OpenSSL passes over it, too.
        var begin = has(byteOrderMark, text, at: 0) ? byteOrderMark.count : 0
        while begin < text.count {
            number += 1
            var end = begin
            while end < text.count, text[end] != newline { end += 1 }
            if beginsLostBlock(text.extracting(begin..<end)) { return number }
            begin = end + 1
        }
        return nil
    }

    private static let byteOrderMark = bytes("\u{FEFF}")
    private static let beginning = bytes("-----BEGIN ")
    private static let ending = bytes("-----")
    /// One hyphen is enough: who has lost the others means it.
    private static let mark = bytes("-BEGIN")
    private static let newline = CChar(bitPattern: UInt8(ascii: "\n"))

    private static func bytes(_ text: String) -> [CChar] { text.utf8.map { CChar(bitPattern: $0) } }

    private static func has(_ bytes: [CChar], _ text: Span<CChar>, at place: Int) -> Bool {
        guard place >= 0, text.count - place >= bytes.count else { return false }
        return bytes.indices.allSatisfy { text[place + $0] == bytes[$0] }
    }

    private static func beginsLostBlock(_ line: Span<CChar>) -> Bool {
        guard line.indices.contains(where: { line[$0] == mark[0] && has(mark, line, at: $0) }) else { return false }
        var count = line.count
        while count > 0, UInt8(bitPattern: line[count - 1]) <= UInt8(ascii: " ") { count -= 1 }
        let line = line.extracting(0..<count)
        let label = beginning.count..<max(beginning.count, count - ending.count)
        guard has(beginning, line, at: 0), !label.isEmpty, has(ending, line, at: label.upperBound) else { return true }
        return !isKnown(String(decoding: label.map { UInt8(bitPattern: line[$0]) }, as: UTF8.self))
    }

    /// Whether blocks of this name are read, or hold nothing that anybody could mean to be read here: parameters of keys, public keys,
    /// requests for certificates.
    private static func isKnown(_ label: String) -> Bool {
        switch label {
        case "CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE", "X509 CRL", "PRIVATE KEY", "PUBLIC KEY": true
        default:
            // A name with two spaces is another one.
            !label.contains("  ") && [" KEY", " PARAMETERS", " REQUEST"].contains { label.hasSuffix($0) }
        }
    }
}
