internal import Octets

/// The part of head parsing that requests and responses share: lines, field lines, and where to go on when more bytes come.
///
/// A line is read when its LF is there, and every error of a line is found then; only limits, folds and the method are
/// judged earlier. So how the input is cut never changes the verdict. Of an unfinished line only the new bytes are searched
/// for an LF, so a peer that sends byte by byte costs linear work.
internal struct HeadLines: Sendable {
    /// The first byte of the line that is not read yet.
    var start = 0
    /// Bytes before this one hold no LF that was not taken yet.
    var scanned = 0

    /// The last index at which the content of the line at `start` may end, and what it is when it does not.
    private func bound(_ lineLimit: Int, _ fault: WireFault, _ limits: WireLimits) -> (end: Int, fault: WireFault) {
        let line = start + lineLimit
        let head = limits.head - 2
        return line <= head ? (line, fault) : (head, .headTooLarge)
    }

    /// Whether the line at `start` is worth reading: an unfinished line that was looked at before needs its LF first.
    /// `false` means that more bytes are needed.
    mutating func hasLine(
        _ input: Span<UInt8>, limit: Int, fault: WireFault, limits: WireLimits
    ) throws(WireError) -> Bool {
        guard scanned > start else { return true }
        if Scan.firstIndex(of: ASCII.lineFeed, in: input, from: scanned) != nil { return true }
        try pause(input, limit: limit, fault: fault, limits: limits)
        return false
    }

    /// The line at `start` has no LF yet: remember how far it was searched, or refuse it when it is too long already.
    mutating func pause(_ input: Span<UInt8>, limit: Int, fault: WireFault, limits: WireLimits) throws(WireError) {
        var end = input.count
        if end > start, input[end - 1] == ASCII.carriageReturn { end -= 1 }
        let bound = bound(limit, fault, limits)
        guard end <= bound.end else { throw WireError(bound.fault, at: bound.end) }
        scanned = input.count
    }

    /// The line's content ends at `end`, and CRLF follows: check its length and go to the next one.
    @inline(__always)
    mutating func finish(at end: Int, limit: Int, fault: WireFault, limits: WireLimits) throws(WireError) {
        let bound = bound(limit, fault, limits)
        guard end <= bound.end else { throw WireError(bound.fault, at: bound.end) }
        start = end + 2
        scanned = start
    }

    /// Something is wrong at `at` in the line at `start`. Its length is judged first, and nothing before its LF is there:
    /// then this returns, and more bytes are needed.
    mutating func fail(
        _ found: WireFault, at: Int, _ input: Span<UInt8>, limit: Int, fault: WireFault, limits: WireLimits
    ) throws(WireError) {
        guard let lineFeed = Scan.firstIndex(of: ASCII.lineFeed, in: input, from: start) else {
            return try pause(input, limit: limit, fault: fault, limits: limits)
        }
        let hasCR = lineFeed > start && input[lineFeed - 1] == ASCII.carriageReturn
        let bound = bound(limit, fault, limits)
        guard lineFeed - (hasCR ? 1 : 0) <= bound.end else { throw WireError(bound.fault, at: bound.end) }
        throw WireError(found, at: at)
    }

    /// What a byte that ended a scan of a line is guilty of.
    static func lineEndFault(_ byte: UInt8, else other: WireFault) -> WireFault {
        switch byte {
        case ASCII.carriageReturn: .bareCR
        case ASCII.lineFeed: .bareLF
        default: other
        }
    }

    /// Reads field lines up to and with the empty line. Returns the bytes of the whole head, or nil when more are needed.
    mutating func parseFields(
        _ input: Span<UInt8>, into head: inout MessageHead, limits: WireLimits
    ) throws(WireError) -> Int? {
        while true {
            let start = start
            guard start < input.count else { return nil }
            let first = input[start]
            if first == ASCII.carriageReturn {
                guard start + 1 < input.count else { return nil }
                guard input[start + 1] == ASCII.lineFeed else { throw WireError(.bareCR, at: start) }
                guard start + 2 <= limits.head else { throw WireError(.headTooLarge, at: limits.head) }
                return start + 2
            }
            guard first != ASCII.lineFeed else { throw WireError(.bareLF, at: start) }
            guard first != ASCII.space && first != ASCII.tab else { throw WireError(.obsFold, at: start) }
            guard head.lines.count < limits.fieldCount else { throw WireError(.tooManyFields, at: start) }
            guard try hasLine(input, limit: limits.fieldLine, fault: .fieldLineTooLong, limits: limits) else {
                return nil
            }
            guard try parseField(input, into: &head, limits: limits) else { return nil }
        }
    }

    /// Reads the field line at `start`. `false` means that more bytes are needed.
    private mutating func parseField(
        _ input: Span<UInt8>, into head: inout MessageHead, limits: WireLimits
    ) throws(WireError) -> Bool {
        let start = start
        let limit = limits.fieldLine
        // A name that has other token bytes, too, is looked at byte by byte.
        var colon = Scan.endOfPlainName(in: input, from: start)
        let isPlain = colon < input.count && input[colon] == UInt8(ascii: ":")
        if !isPlain { colon = Scan.endOfToken(in: input, from: colon) }
        guard colon < input.count else {
            try pause(input, limit: limit, fault: .fieldLineTooLong, limits: limits)
            return false
        }
        guard input[colon] == UInt8(ascii: ":"), colon > start, colon - start <= WireLimits.fieldName else {
            let fault = Self.nameFault(input, start, colon)
            try fail(fault, at: colon, input, limit: limit, fault: .fieldLineTooLong, limits: limits)
            return false
        }
        var valueStart = colon + 1
        while valueStart < input.count, input[valueStart] == ASCII.space || input[valueStart] == ASCII.tab {
            valueStart += 1
        }
        let lineEnd = Scan.firstControl(in: input, from: valueStart)
        guard lineEnd + 1 < input.count else {
            // A bad byte at the very end is judged when its line is complete, unless it is the LF itself.
            if lineEnd < input.count, input[lineEnd] == ASCII.lineFeed {
                try fail(.bareLF, at: lineEnd, input, limit: limit, fault: .fieldLineTooLong, limits: limits)
            }
            try pause(input, limit: limit, fault: .fieldLineTooLong, limits: limits)
            return false
        }
        guard input[lineEnd] == ASCII.carriageReturn, input[lineEnd + 1] == ASCII.lineFeed else {
            let fault = Self.lineEndFault(input[lineEnd], else: .badFieldValue)
            try fail(fault, at: lineEnd, input, limit: limit, fault: .fieldLineTooLong, limits: limits)
            return false
        }
        try finish(at: lineEnd, limit: limit, fault: .fieldLineTooLong, limits: limits)
        var valueEnd = lineEnd
        while valueEnd > valueStart, input[valueEnd - 1] == ASCII.space || input[valueEnd - 1] == ASCII.tab {
            valueEnd -= 1
        }
        let isVerbatim = valueStart == colon + 2 && input[colon + 1] == ASCII.space && valueEnd == lineEnd
        head.add(
            input.extracting(start..<colon), at: ByteRange(start, colon), value: ByteRange(valueStart, valueEnd),
            mayHoldUnderscore: !isPlain, isVerbatim: isVerbatim)
        return true
    }

    /// What is wrong with a name whose token bytes end at `end`.
    private static func nameFault(_ input: Span<UInt8>, _ start: Int, _ end: Int) -> WireFault {
        switch input[end] {
        case UInt8(ascii: ":"): end == start ? .badFieldName : .fieldNameTooLong
        case ASCII.space, ASCII.tab:
            Scan.endOfBlanks(in: input, from: end) < input.count
                && input[Scan.endOfBlanks(in: input, from: end)] == UInt8(ascii: ":")
                ? .spaceBeforeColon : .badFieldName
        case ASCII.carriageReturn: end + 1 < input.count && input[end + 1] == ASCII.lineFeed ? .missingColon : .bareCR
        case ASCII.lineFeed: .bareLF
        default: .badFieldName
        }
    }
}

extension MessageHead {
    /// Adds a field line to the index. The ranges are those in the head, whose bytes may follow when it is whole.
    @inline(__always)
    internal mutating func add(
        _ word: Span<UInt8>, at name: ByteRange, value: ByteRange, mayHoldUnderscore: Bool, isVerbatim: Bool
    ) {
        let known = KnownField.find(word)
        var hasUnderscore = false
        if known == .other {
            hasUnderscore = mayHoldUnderscore && Scan.holds(UInt8(ascii: "_"), in: word)
            hasUnderscores = hasUnderscores || hasUnderscore
        } else {
            let bit = UInt64(1) &<< UInt64(known.rawValue)
            repeated |= present & bit
            present |= bit
        }
        lines.append(
            FieldLine(
                name: name, value: value, known: known, isHopByHop: known.isHopByHop, hasUnderscore: hasUnderscore,
                isVerbatim: isVerbatim))
    }
}

extension KnownField {
    /// Whether the field belongs to one connection whatever Connection says (RFC 9110 §7.6.1, §11.7).
    @inlinable
    public var isHopByHop: Bool {
        switch self {
        case .connection, .keepAlive, .proxyConnection, .te, .transferEncoding, .trailer, .upgrade, .http2Settings,
            .proxyAuthenticate, .proxyAuthorization, .proxyAuthenticationInfo:
            true
        default: false
        }
    }
}
