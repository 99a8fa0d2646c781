internal import Octets

extension XML {
    /// What the first bytes of a body say about its encoding.
    internal enum Declaration {
        internal enum Encoding {
            case utf8
            /// Declared to be ASCII: a part of UTF-8.
            case ascii
            case other
        }

        /// Whether the body begins as one in UTF-16 or UTF-32 does, with a byte order mark or without (XML 1.0
        /// Appendix F).
        internal static func isWide(_ start: Span<UInt8>) -> Bool {
            guard start.count >= 2 else { return false }
            switch (start[0], start[1]) {
            case (0xFE, 0xFF), (0xFF, 0xFE), (0x00, _): return true
            case (_, 0x00): return start[0] == UInt8(ascii: "<")
            default: return false
            }
        }

        /// The encoding that an XML declaration at the very start names (XML 1.0 §2.8); UTF-8 where none does. What is
        /// no declaration by the grammar is for the parser to refuse.
        internal static func encoding(_ document: Span<UInt8>) -> Encoding {
            guard document.count > 5, document.extracting(0..<5).isEqual(to: "<?xml") else { return .utf8 }
            var at = 5
            while true {
                at = Scan.endOfWhitespace(in: document, from: at)
                let name = at
                while at < document.count, ASCII.isAlpha(document[at]) { at += 1 }
                guard at > name else { return .utf8 }
                let isEncoding = document.extracting(name..<at).isEqual(to: "encoding")
                at = Scan.endOfWhitespace(in: document, from: at)
                guard at < document.count, document[at] == UInt8(ascii: "=") else { return .utf8 }
                at = Scan.endOfWhitespace(in: document, from: at + 1)
                guard at < document.count else { return .utf8 }
                let quote = document[at]
                guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
                    let end = Scan.firstIndex(of: quote, in: document, from: at + 1)
                else { return .utf8 }
                let value = document.extracting(at + 1..<end)
                at = end + 1
                guard isEncoding else { continue }
                if value.isEqualIgnoringCase(to: "utf-8") || value.isEqualIgnoringCase(to: "utf8") { return .utf8 }
                return value.isEqualIgnoringCase(to: "us-ascii") || value.isEqualIgnoringCase(to: "ascii")
                    ? .ascii : .other
            }
        }
    }
}
