internal import Octets

/// The request target: which bytes it may hold, its form, and its parts (RFC 9112 §3.2).
internal enum RequestTarget {
    /// 0x21…0x7E but `"`, `#`, `<`, `>` and `\`: what a target may hold by default. Browsers send ``^`{|}`` in queries.
    @inline(__always)
    private static func isTargetByte(_ byte: UInt8) -> Bool {
        let word: UInt64 = byte & 0x40 == 0 ? 0xAFFF_FFF2_0000_0000 : 0x7FFF_FFFF_EFFF_FFFF
        return (word >> UInt64(byte & 63)) & UInt64(1 &- byte >> 7) != 0
    }

    /// What one look at a target finds.
    struct Extent {
        /// The first index whose byte can't be part of a target, or the count.
        var end: Int
        /// The first `?`, and the first `%` before it.
        var query: Int?
        var escape: Int?
    }

    /// The extent of the target that starts at `start`.
    static func extent(in input: Span<UInt8>, from start: Int) -> Extent {
        var extent = Extent(end: start)
        while extent.query == nil {
            extent.end = Scan.endOfPlainTarget(in: input, from: extent.end, passesMarks: false)
            guard extent.end < input.count, isTargetByte(input[extent.end]) else { return extent }
            if input[extent.end] == UInt8(ascii: "?") { extent.query = extent.end }
            if input[extent.end] == UInt8(ascii: "%"), extent.escape == nil { extent.escape = extent.end }
            extent.end &+= 1
        }
        while true {
            extent.end = Scan.endOfPlainTarget(in: input, from: extent.end, passesMarks: true)
            guard extent.end < input.count, isTargetByte(input[extent.end]) else { return extent }
            extent.end &+= 1
        }
    }

    /// Splits the target of a head whose start line was read, and checks it against the method.
    static func split(_ head: inout MessageHead, rules: RequestRules) throws(WireError) {
        let start = Int(head.targetRange.start)
        let end = Int(head.targetRange.end)
        let first = head.bytes[start]
        // R34: a tunnel would pass every other rule by. Its target, the only one of authority form, is not looked at.
        if head.methodKind == .connect { throw WireError(.methodNotSupported, at: start) }
        if first == UInt8(ascii: "/") {
            head.targetForm = .origin
            try splitPath(&head, start, end, rules)
        } else if first == UInt8(ascii: "*") {
            head.targetForm = .asterisk
            guard end - start == 1, head.methodKind == .options else { throw WireError(.badTarget, at: start) }
            head.pathRange = ByteRange(start, end)
        } else {
            try splitAbsolute(&head, start, end, rules)
        }
    }

    /// `http://authority/path?query`, the scheme's letters in either case.
    private static func splitAbsolute(
        _ head: inout MessageHead, _ start: Int, _ end: Int, _ rules: RequestRules
    ) throws(WireError) {
        head.targetForm = .absolute
        let isSecure = hasPrefix(head.bytes.span, start, end, "https://")
        guard isSecure || hasPrefix(head.bytes.span, start, end, "http://") else {
            throw WireError(namesScheme(head.bytes.span, start, end) ? .badScheme : .badTarget, at: start)
        }
        head.isSecureTarget = isSecure
        let authorityStart = start + (isSecure ? 8 : 7)
        var at = authorityStart
        while at < end, head.bytes[at] != UInt8(ascii: "/"), at != head.queryMark { at += 1 }
        guard let authority = Authority.parse(head.bytes.span, authorityStart, at) else {
            throw WireError(.badAuthority, at: authorityStart)
        }
        head.setAuthority(authority)
        if at < end, head.bytes[at] == UInt8(ascii: "/") {
            return try splitPath(&head, at, end, rules)
        }
        // An empty path: `*` for OPTIONS without a query, else `/` (RFC 9112 §3.2.1, §3.2.4). The byte goes behind the head.
        let path = head.bytes.count
        head.bytes.append(head.methodKind == .options && at == end ? UInt8(ascii: "*") : UInt8(ascii: "/"))
        head.pathRange = ByteRange(path, path + 1)
        if at < end {
            head.queryRange = ByteRange(at + 1, end)
            try checkBytes(head.bytes.span, at + 1, end, rules, isPath: false)
        }
    }

    /// Whether there begins `scheme://` (RFC 3986 §3.1), which no authority does.
    private static func namesScheme(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) -> Bool {
        guard ASCII.isAlpha(bytes[start]) else { return false }
        var at = start + 1
        while at < end, ASCII.isAlpha(bytes[at]) || ASCII.isDigit(bytes[at]) || "+-.".utf8.contains(bytes[at]) {
            at += 1
        }
        return hasPrefix(bytes, at, end, "://")
    }

    private static func splitPath(
        _ head: inout MessageHead, _ start: Int, _ end: Int, _ rules: RequestRules
    ) throws(WireError) {
        let pathEnd = head.queryMark ?? end
        head.pathRange = ByteRange(start, pathEnd)
        if let escape = head.firstEscape, escape >= start { head.pathHasEscapes = true }
        if head.pathHasEscapes || rules.refusesUnwiseBytes {
            try checkBytes(head.bytes.span, start, pathEnd, rules, isPath: true)
        }
        guard pathEnd < end else { return }
        head.queryRange = ByteRange(pathEnd + 1, end)
        try checkBytes(head.bytes.span, pathEnd + 1, end, rules, isPath: false)
    }

    /// The rules that settings can change: the five bytes that only RFC 2396 called unwise, and `%` in a path.
    private static func checkBytes(
        _ bytes: Span<UInt8>, _ start: Int, _ end: Int, _ rules: RequestRules, isPath: Bool
    ) throws(WireError) {
        let checksPercent = isPath && rules.refusesBadPercent
        guard checksPercent || rules.refusesUnwiseBytes else { return }
        var at = start
        if !rules.refusesUnwiseBytes {
            let part = bytes.extracting(start..<end)
            guard let first = Scan.firstIndex(of: UInt8(ascii: "%"), in: part) else { return }
            at += first
        }
        while at < end {
            switch bytes[at] {
            case UInt8(ascii: "%") where checksPercent:
                guard at + 2 < end, ASCII.hexValue(bytes[at + 1]) != nil, ASCII.hexValue(bytes[at + 2]) != nil else {
                    throw WireError(.badPercent, at: at)
                }
            case UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
                if rules.refusesUnwiseBytes { throw WireError(.badTargetByte, at: at) }
            default: break
            }
            at &+= 1
        }
    }

    private static func hasPrefix(_ bytes: Span<UInt8>, _ start: Int, _ end: Int, _ prefix: StaticString) -> Bool {
        let length = prefix.utf8CodeUnitCount
        return end - start >= length && bytes.extracting(start..<start + length).isEqualIgnoringCase(to: prefix)
    }
}
