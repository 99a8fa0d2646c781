internal import Octets

extension XML {
    /// Writes text in pieces that may be cut anywhere, escaped.
    ///
    /// In text `&`, `<` and `>` are references, and so is a carriage return, which a reader would take for a line
    /// feed; in attributes also `"`, the tab and the line feed, which a reader would take for a space. What XML 1.0
    /// has no way to say is refused: controls but these three, U+FFFE and U+FFFF.
    internal struct TextWriter {
        /// How many bytes of `EF BF`, with which U+FFFE and U+FFFF begin, have come.
        private var matched = 0

        /// Begins another text.
        internal mutating func reset() { matched = 0 }

        /// Writes a whole attribute; false where its value has a character that can't be written.
        internal static func write(attribute name: Span<UInt8>, _ value: Span<UInt8>, into output: inout OutputBuffer)
            -> Bool
        {
            output.append(" ", name, "=\"")
            var writer = TextWriter()
            guard writer.write(value, isAttribute: true, into: &output) else { return false }
            output.append("\"")
            return true
        }

        /// The attribute that has the name of a member where its element can't.
        internal static let key = Array("key".utf8)

        /// Writes that attribute, as `write(attribute:_:into:)`.
        internal static func write(key value: Span<UInt8>, into output: inout OutputBuffer) -> Bool {
            let name = key
            return write(attribute: name.span, value, into: &output)
        }

        /// Writes the next piece; false where it has a character that can't be written.
        internal mutating func write(_ piece: Span<UInt8>, isAttribute: Bool, into output: inout OutputBuffer) -> Bool {
            var at = 0
            var start = 0
            while at < piece.count {
                if !isAttribute {
                    let run = Scan.markupTextRun(in: piece, from: at)
                    guard run.isASCII || isText(piece.extracting(at..<run.end)) else { return false }
                    if run.isASCII, run.end > at { matched = 0 }
                    at = run.end
                    guard at < piece.count else { break }
                }
                let byte = piece[at]
                at += 1
                if byte >= 0x80 {
                    guard isText(byte) else { return false }
                    continue
                }
                matched = 0
                let reference: StaticString
                switch byte {
                case UInt8(ascii: "&"): reference = "&amp;"
                case UInt8(ascii: "<"): reference = "&lt;"
                case UInt8(ascii: ">"): reference = "&gt;"
                case UInt8(ascii: "\"") where isAttribute: reference = "&quot;"
                case 0x09 where isAttribute: reference = "&#9;"
                case 0x0A where isAttribute: reference = "&#10;"
                case 0x0D: reference = "&#13;"
                case 0x20..., 0x09, 0x0A: continue
                default: return false
                }
                if at - 1 > start { output.append(piece.extracting(start..<at - 1)) }
                output.append(reference)
                start = at
            }
            if start < piece.count { output.append(piece.extracting(start..<piece.count)) }
            return true
        }

        /// Whether a run of bytes above and below 0x80 has neither U+FFFE nor U+FFFF.
        private mutating func isText(_ run: Span<UInt8>) -> Bool {
            // Most texts have no `EF` at all, which both begin with.
            if matched == 0, Scan.firstIndex(of: 0xEF, in: run) == nil { return true }
            for at in run.indices where !isText(run[at]) { return false }
            return true
        }

        /// As above, for the next byte.
        private mutating func isText(_ byte: UInt8) -> Bool {
            if matched == 2, byte >= 0xBE { return false }
            matched = byte == 0xEF ? 1 : matched == 1 && byte == 0xBF ? 2 : 0
            return true
        }
    }
}
