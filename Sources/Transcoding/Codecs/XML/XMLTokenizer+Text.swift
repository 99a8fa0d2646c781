internal import Octets

extension XML.Tokenizer {
    /// Goes on in the root element, outside of markup.
    mutating func readText(_ bytes: Span<UInt8>, _ at: inout Int) throws(Stop) -> Token? {
        if skipsLineFeed, skipLineFeed(bytes, &at) { return nil }
        var start = at
        // Most calls find markup here: it stands behind text that was given, or behind indentation. A scan looks at sixteen bytes
        // to find that out, and ends at each tab and line feed.
        while at < bytes.count, bytes[at] == ASCII.space || bytes[at] == ASCII.lineFeed || bytes[at] == ASCII.tab {
            at &+= 1
        }
        if at < bytes.count, bytes[at] == UInt8(ascii: "<") {
            brackets = 0
            if at == start { return try beginMarkup(bytes, &at) }
            let token = text(start, at)
            isSpace = true
            return token
        }
        while true {
            let end = Scan.markupTextRun(in: bytes, from: at).end
            at = end
            let byte = end < bytes.count ? bytes[end] : UInt8(ascii: ">")
            switch byte {
            case UInt8(ascii: "<"):
                brackets = 0
                if end > start { return text(start, end) }
                return try beginMarkup(bytes, &at)
            case UInt8(ascii: "&"):
                brackets = 0
                if end > start { return text(start, end) }
                return try beginReference(bytes, &at)
            case UInt8(ascii: ">"):
                countBrackets(bytes.extracting(start..<end))
                guard end < bytes.count else { return end > start ? text(start, end) : nil }
                if brackets == 2, !rules.takesStrayEnds {
                    if end > start { return text(start, end) }
                    throw Stop(reason: .fault(.syntax), at: offset + end - 2)
                }
                brackets = 0
                at = end + 1
            case ASCII.carriageReturn:
                brackets = 0
                if rules.keepsLineEnds {
                    at = end + 1
                    continue
                }
                if end > start { return text(start, end) }
                if let token = readLineEnd(bytes, &at) { return token }
                start = at
            default:
                if end > start { return text(start, end) }
                throw stop(.character, end)
            }
        }
    }

    /// Takes the carriage return at `at`: before a line feed it is left out, else it becomes one (XML 1.0 §2.11).
    mutating func readLineEnd(_ bytes: Span<UInt8>, _ at: inout Int) -> Token? {
        at += 1
        if at < bytes.count, bytes[at] == ASCII.lineFeed { return nil }
        skipsLineFeed = at == bytes.count
        tokenStart = offset + at - 1
        return replace(at) { $0.append(ASCII.lineFeed) }
    }

    mutating func countBrackets(_ run: Span<UInt8>) {
        var count = 0
        while count < run.count, count < 2, run[run.count - 1 - count] == UInt8(ascii: "]") { count += 1 }
        brackets = count == run.count ? min(2, brackets + count) : count
    }

    @inline(__always)
    mutating func text(_ start: Int, _ end: Int) -> Token {
        textRange = start..<end
        isSpace = false
        eventOffset = offset + start
        return .text
    }

    @inline(__always)
    mutating func replace(_ at: Int, _ write: (inout ByteStore) -> Void) -> Token {
        replacement.removeAll()
        write(&replacement)
        eventOffset = offset + at
        return .replacement
    }

    /// Passes the line feed behind a carriage return, which was the line's end; false where something else stands there.
    @inline(__always)
    private mutating func skipLineFeed(_ bytes: Span<UInt8>, _ at: inout Int) -> Bool {
        skipsLineFeed = false
        guard bytes[at] == ASCII.lineFeed else { return false }
        at += 1
        return true
    }

    /// Goes on between `<![CDATA[` and `]]>`.
    mutating func readSection(_ bytes: Span<UInt8>, _ at: inout Int) throws(Stop) -> Token? {
        if skipsLineFeed, skipLineFeed(bytes, &at) { return nil }
        if matched > 0 {
            let byte = bytes[at]
            let isBracket = byte == UInt8(ascii: "]")
            if isBracket, matched == 1 {
                matched = 2
                at += 1
                return nil
            }
            if byte == UInt8(ascii: ">"), matched == 2 {
                at += 1
                try checkRun(at)
                matched = 0
                state = .content
                return nil
            }
            // They were text; a third one may still begin the end.
            let count = isBracket ? 1 : matched
            if isBracket { at += 1 } else { matched = 0 }
            return replace(at) { store in for _ in 0..<count { store.append(UInt8(ascii: "]")) } }
        }
        let start = at
        while true {
            at = Scan.lineRun(in: bytes, from: at, to: UInt8(ascii: "]")).end
            guard at < bytes.count else { break }
            let byte = bytes[at]
            if byte == ASCII.tab || byte == ASCII.lineFeed || byte == ASCII.carriageReturn && rules.keepsLineEnds {
                at += 1
            } else {
                break
            }
        }
        try checkRun(at)
        if at > start { return text(start, at) }
        switch bytes[at] {
        case UInt8(ascii: "]"):
            matched = 1
            at += 1
            return nil
        case ASCII.carriageReturn: return readLineEnd(bytes, &at)
        default: throw stop(.character, at)
        }
    }

    /// Goes on in a comment, whose text is left out.
    mutating func readComment(_ bytes: Span<UInt8>, _ at: inout Int) throws(Stop) {
        while at < bytes.count {
            if matched == 0 {
                at = Scan.lineRun(in: bytes, from: at, to: UInt8(ascii: "-")).end
                guard at < bytes.count else { break }
            }
            let byte = bytes[at]
            at += 1
            if byte == UInt8(ascii: "-") {
                if matched == 2, !rules.takesStrayEnds { throw stop(.syntax, at - 3) }
                matched = min(2, matched + 1)
            } else if byte == UInt8(ascii: ">"), matched == 2 {
                try checkRun(at)
                matched = 0
                state = .content
                return
            } else {
                if matched == 2, !rules.takesStrayEnds { throw stop(.syntax, at - 3) }
                matched = 0
                if byte < 0x20, !byte.isXMLSpace { throw stop(.character, at - 1) }
            }
        }
        try checkRun(at)
    }

    /// Checks the length of the comment or section up to index `at`.
    mutating func checkRun(_ at: Int) throws(Stop) {
        guard offset + at - tokenStart > rules.runLimit else { return }
        throw Stop(reason: .length(limit: rules.runLimit), at: tokenStart + rules.runLimit)
    }
}
