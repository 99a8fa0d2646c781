internal import Octets

extension PropertyList {
    /// Writes text so that XML gives it back, in pieces cut anywhere.
    struct CharacterCheck {
        /// Bytes of EF BF, which U+FFFE and U+FFFF begin with, that have come.
        private var noncharacterBytes = 0

        /// Appends UTF-8 text with `<`, `>`, `&` and carriage returns escaped. Returns false where a character can't stand
        /// in XML 1.0, escaped or not.
        mutating func append(_ text: Span<UInt8>, to output: inout OutputBuffer) -> Bool {
            var at = 0
            while true {
                let run = Scan.markupTextRun(in: text, from: at)
                let piece = text.extracting(at..<run.end)
                if run.isASCII {
                    if !piece.isEmpty { noncharacterBytes = 0 }
                } else if hasNoncharacter(piece) {
                    return false
                }
                output.append(piece)
                guard run.end < text.count else { return true }
                noncharacterBytes = 0
                switch text[run.end] {
                case UInt8(ascii: "<"): output.append("&lt;")
                case UInt8(ascii: ">"): output.append("&gt;")
                case UInt8(ascii: "&"): output.append("&amp;")
                case ASCII.carriageReturn: output.append("&#13;")
                default: return false
                }
                at = run.end + 1
            }
        }

        private mutating func hasNoncharacter(_ piece: Span<UInt8>) -> Bool {
            for index in piece.indices {
                let byte = piece[index]
                if noncharacterBytes == 2, byte >= 0xBE { return true }
                noncharacterBytes = byte == 0xEF ? 1 : noncharacterBytes == 1 && byte == 0xBF ? 2 : 0
            }
            return false
        }
    }

    /// Writes base64 in lines as Apple's writer does, in pieces cut anywhere: at most eight tabs, and of 76 columns what
    /// eight for each tab leave.
    struct DataLines {
        private var encoder = Base64Encoder()
        private var tabs = 0
        /// Bytes that fill a line, and those of the line at hand that have come.
        private var lineBytes = 57
        private var count = 0

        init(depth: Int = 0) {
            tabs = min(depth, 8)
            lineBytes = (76 - 8 * tabs) / 4 * 3
        }

        mutating func append(_ bytes: Span<UInt8>, to output: inout OutputBuffer) {
            var at = 0
            while at < bytes.count {
                if count == 0 {
                    for _ in 0..<tabs { output.append(ASCII.tab) }
                }
                let end = min(bytes.count, at + lineBytes - count)
                encoder.encode(bytes.extracting(at..<end), into: &output)
                count += end - at
                at = end
                if count == lineBytes {
                    output.append(ASCII.lineFeed)
                    count = 0
                }
            }
        }

        mutating func finish(to output: inout OutputBuffer) {
            encoder.finish(into: &output)
            if count > 0 { output.append(ASCII.lineFeed) }
            count = 0
        }
    }
}

extension [UInt8] {
    /// Appends the UTF-8 of a character, which is no surrogate.
    mutating func append(utf8 scalar: UInt32) {
        switch scalar {
        case ..<0x80: append(UInt8(truncatingIfNeeded: scalar))
        case ..<0x800:
            append(UInt8(truncatingIfNeeded: 0xC0 | scalar >> 6))
            append(UInt8(truncatingIfNeeded: 0x80 | scalar & 0x3F))
        case ..<0x10000:
            append(UInt8(truncatingIfNeeded: 0xE0 | scalar >> 12))
            append(UInt8(truncatingIfNeeded: 0x80 | scalar >> 6 & 0x3F))
            append(UInt8(truncatingIfNeeded: 0x80 | scalar & 0x3F))
        default:
            append(UInt8(truncatingIfNeeded: 0xF0 | scalar >> 18))
            append(UInt8(truncatingIfNeeded: 0x80 | scalar >> 12 & 0x3F))
            append(UInt8(truncatingIfNeeded: 0x80 | scalar >> 6 & 0x3F))
            append(UInt8(truncatingIfNeeded: 0x80 | scalar & 0x3F))
        }
    }
}

extension ByteStore {
    /// Appends the UTF-8 of a character, which is no surrogate.
    mutating func append(utf8 scalar: UInt32) {
        guard let scalar = Unicode.Scalar(scalar), let bytes = UTF8.encode(scalar) else {
            preconditionFailure("a surrogate where a character must be")
        }
        for byte in bytes { append(byte) }
    }
}
