internal import Octets

extension XML {
    /// Finds where the tokens of a document end, so that libxml2 gets each tag, comment, instruction, CDATA section and
    /// reference whole; only text is cut. That does three things:
    ///
    /// - What libxml2 sees doesn't depend on how the body is cut, and so neither do errors.
    /// - Its work is linear: it searches an unfinished token from the start again for every slice, and compares each
    ///   attribute of a tag with all others; here they are counted first.
    /// - A DOCTYPE is refused before libxml2 reads a byte of it.
    ///
    /// It checks no grammar beyond that. Where it takes for a tag what is none, libxml2 says so.
    internal struct TokenScan {
        internal enum State: UInt8 {
            case text
            /// After `&`.
            case reference
            /// After `<`, `<!`, `<!-`; `sectionOpen` within `<![CDATA[`.
            case open, declaration, commentOpen, sectionOpen
            case comment, section, instruction
            case tag, doubleQuoted, singleQuoted
        }

        /// Why scanning stops, at an index of the bytes.
        internal struct Stop: Error {
            internal enum Reason {
                case fault(Fault)
                /// More attributes than `attributeLimit`.
                case attributes
                /// A token that is longer than `tokenLimit`.
                case token
            }
            internal var reason: Reason
            internal var at: Int
        }

        /// Bytes of a reference between `&` and `;`. `&#x10FFFF;` needs eight; leading zeros are allowed.
        private static var referenceLimit: Int { 32 }
        private static let sectionStart = Array("CDATA[".utf8)

        internal let attributeLimit: Int
        internal let tokenLimit: Int
        internal private(set) var state = State.text
        /// Where the token at hand began. Meaningless in text.
        internal private(set) var tokenStart = 0
        private var attributes = 0
        /// Within a tag: whether `=` was the last byte but white space.
        private var expectsValue = false
        /// How many bytes of the token's end, or of `CDATA[`, have come.
        private var matched = 0

        internal init(attributeLimit: Int, tokenLimit: Int) {
            self.attributeLimit = attributeLimit
            self.tokenLimit = tokenLimit
        }

        /// Makes index 0 of the next bytes what is `count` now.
        internal mutating func forget(_ count: Int) { tokenStart -= count }

        /// The number of bytes that may go to libxml2 when `end` of them were scanned.
        internal func complete(_ bytes: Span<UInt8>, to end: Int) -> Int {
            guard state == .text else { return tokenStart }
            var cut = end
            // A character isn't cut, and neither is "]]>", which text must not have.
            var back = 1
            while back <= 3, back <= end {
                let byte = bytes[end - back]
                if byte >= 0xC0 {
                    let length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2
                    if length > back { cut = end - back }
                    break
                }
                if byte < 0x80 { break }
                back += 1
            }
            var brackets = 0
            while brackets < 2, cut > 0, bytes[cut - 1] == UInt8(ascii: "]") {
                cut -= 1
                brackets += 1
            }
            return cut
        }

        /// Scans `bytes` from `start` up to `end`.
        internal mutating func scan(_ bytes: Span<UInt8>, from start: Int, to end: Int) throws(Stop) {
            let bytes = bytes.extracting(0..<end)
            var at = start
            while at < end {
                if state == .text {
                    at = Scan.markupTextRun(in: bytes, from: at).end
                    guard at < end else { break }
                }
                let byte = bytes[at]
                if byte < 0x20, byte != 0x09, byte != 0x0A, byte != 0x0D {
                    throw Stop(reason: .fault(.character), at: at)
                }
                switch state {
                case .text:
                    if byte == UInt8(ascii: "<") {
                        begin(.open, at: at)
                    } else if byte == UInt8(ascii: "&") {
                        begin(.reference, at: at)
                    }
                case .reference: try inReference(byte, at: at)
                case .open: afterBracket(byte)
                case .declaration: try afterMark(byte)
                case .commentOpen:
                    (state, matched) = byte == UInt8(ascii: "-") ? (.comment, 0) : (.tag, 0)
                case .sectionOpen:
                    if byte != Self.sectionStart[matched] {
                        state = .tag
                        continue
                    }
                    matched += 1
                    if matched == Self.sectionStart.count { (state, matched) = (.section, 0) }
                case .comment: try inTail(byte, of: UInt8(ascii: "-"), two: true, at: at)
                case .section: try inTail(byte, of: UInt8(ascii: "]"), two: true, at: at)
                case .instruction: try inTail(byte, of: UInt8(ascii: "?"), two: false, at: at)
                case .tag: try inTag(byte, at: at)
                case .doubleQuoted: if byte == UInt8(ascii: "\"") { state = .tag }
                case .singleQuoted: if byte == UInt8(ascii: "'") { state = .tag }
                }
                at += 1
            }
            if state != .text, end - tokenStart > tokenLimit { throw Stop(reason: .token, at: tokenStart + tokenLimit) }
        }

        private mutating func begin(_ state: State, at: Int) {
            self.state = state
            tokenStart = at
            attributes = 0
            expectsValue = false
            matched = 0
        }

        private mutating func end(at: Int) throws(Stop) {
            if at + 1 - tokenStart > tokenLimit { throw Stop(reason: .token, at: tokenStart + tokenLimit) }
            state = .text
        }

        private mutating func inReference(_ byte: UInt8, at: Int) throws(Stop) {
            switch byte {
            case UInt8(ascii: ";") where at > tokenStart + 1: state = .text
            case UInt8(ascii: ";"), UInt8(ascii: "<"), UInt8(ascii: "&"), 0...0x20:
                throw Stop(reason: .fault(.entity), at: tokenStart)
            default:
                if at - tokenStart > Self.referenceLimit { throw Stop(reason: .fault(.entity), at: tokenStart) }
            }
        }

        /// The byte after `<`.
        private mutating func afterBracket(_ byte: UInt8) {
            switch byte {
            case UInt8(ascii: "!"): state = .declaration
            case UInt8(ascii: "?"): state = .instruction
            default: state = .tag
            }
        }

        /// The byte after `<!`.
        private mutating func afterMark(_ byte: UInt8) throws(Stop) {
            switch byte {
            case UInt8(ascii: "-"): state = .commentOpen
            case UInt8(ascii: "["): state = .sectionOpen
            case UInt8(ascii: "D"), UInt8(ascii: "d"): throw Stop(reason: .fault(.doctype), at: tokenStart)
            default: state = .tag
            }
        }

        /// A byte of what ends with one or two times `mark` and `>`.
        private mutating func inTail(_ byte: UInt8, of mark: UInt8, two: Bool, at: Int) throws(Stop) {
            if byte == mark {
                matched = min(matched + 1, 2)
            } else if byte == UInt8(ascii: ">"), matched >= (two ? 2 : 1) {
                try end(at: at)
            } else {
                matched = 0
            }
        }

        private mutating func inTag(_ byte: UInt8, at: Int) throws(Stop) {
            switch byte {
            case UInt8(ascii: ">"): try end(at: at)
            case UInt8(ascii: "="):
                attributes += 1
                if attributes > attributeLimit { throw Stop(reason: .attributes, at: at) }
                expectsValue = true
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                guard expectsValue else { throw Stop(reason: .fault(.syntax), at: at) }
                state = byte == UInt8(ascii: "'") ? .singleQuoted : .doubleQuoted
                expectsValue = false
            case 0x09, 0x0A, 0x0D, 0x20: break
            default: expectsValue = false
            }
        }
    }
}
