internal import Octets

/// Reads what stands between the data of chunks: sizes, extensions, line ends, trailers (RFC 9112 §7.1).
///
/// It goes byte by byte and keeps only numbers, so framing bytes are consumed however they are cut.
internal struct ChunkReader: Sendable {
    /// What the next byte belongs to.
    private enum State: UInt8 {
        /// First digit of a size. Next: `size`.
        case sizeStart
        /// Further digits. Next: `extensionStart`, `beforeSemicolon`, `sizeLineLF`.
        case size
        /// White space before `;`, or in responses before the line's end. Next: `extensionStart`, `sizeLineLF`.
        case beforeSemicolon
        /// Behind `;`, before the name. Next: `extensionName`.
        case extensionStart
        /// In the name. Next: `afterName`, `valueStart`, `extensionStart`, `sizeLineLF`.
        case extensionName
        /// White space behind the name. Next: `valueStart`, `extensionStart`.
        case afterName
        /// Behind `=`. Next: `extensionValue`, `quoted`.
        case valueStart
        /// In a token. Next: `beforeSemicolon`, `extensionStart`, `sizeLineLF`.
        case extensionValue
        /// In a quoted string. Next: `quotedPair`, `afterQuoted`.
        case quoted
        /// Behind a backslash. Next: `quoted`.
        case quotedPair
        /// Behind the closing quote. Next: `beforeSemicolon`, `extensionStart`, `sizeLineLF`.
        case afterQuoted
        /// Behind the CR of a size line. Next: `data`, or `trailerStart` for the last chunk.
        case sizeLineLF
        /// In the data, which is not read here. Next: `dataLF`.
        case data
        /// Behind the CR after data. Next: `sizeStart`.
        case dataLF
        /// First byte of a trailer line or of the end. Next: `trailerName`, `endLF`.
        case trailerStart
        /// In a trailer's name. Next: `trailerValue`.
        case trailerName
        /// In a trailer's value. Next: `trailerLF`.
        case trailerValue
        /// Behind the CR of a trailer line. Next: `trailerStart`.
        case trailerLF
        /// Behind the last CR. Next: `complete`.
        case endLF
        case complete
    }

    var limits: WireLimits
    /// Whether white space may end a size line: servers pad sizes with it, and what clients send is read as it is written.
    private let bearsSpace: Bool
    private var state = State.sizeStart
    private var size: UInt64 = 0
    private var digits = 0
    /// Extension bytes of this line, and of the whole body.
    private var lineExtensions = 0
    private var totalExtensions = 0
    /// Framing bytes of this chunk, and those of all chunks that data has not paid for.
    private var chunkFraming = 0
    private var overhead = 0
    private var trailerBytes = 0
    private var trailerName = 0
    private(set) var trailerCount = 0
    /// Whether the trailer lines are kept.
    var keepsTrailers = false
    /// The trailer lines with their line ends, as far as they were read; empty unless they are kept.
    private(set) var trailers: [UInt8] = []

    init(limits: WireLimits, isResponse: Bool) {
        self.limits = limits
        bearsSpace = isResponse
    }

    /// Makes it ready for another body. One that has read nothing, as of every body with a length, is so already.
    mutating func reset() {
        keepsTrailers = false
        if state != .sizeStart || chunkFraming != 0 { self = ChunkReader(limits: limits, isResponse: bearsSpace) }
    }

    var isComplete: Bool { state == .complete }

    /// The size of the chunk whose data comes now, once; 0 when no data comes.
    mutating func takeSize() -> Int {
        guard state == .data else { return 0 }
        defer { size = 0 }
        return Int(size)
    }

    /// Consumes framing bytes until data starts, the body ends, or there are no more bytes. Returns how many.
    mutating func read(_ input: Span<UInt8>, bodyCount: Int) throws(WireError) -> Int {
        var at = 0
        while at < input.count {
            let byte = input[at]
            switch state {
            case .sizeStart, .size:
                if let value = ASCII.hexValue(byte) {
                    guard digits < WireLimits.chunkSizeDigits else { throw WireError(.badChunkSize, at: at) }
                    size = size << 4 | UInt64(value)
                    digits += 1
                    state = .size
                } else {
                    guard state == .size else { throw Self.lineError(byte, .badChunkSize, at) }
                    try afterSize(byte, at)
                }
            case .beforeSemicolon, .extensionStart, .extensionName, .afterName, .valueStart, .extensionValue, .quoted,
                .quotedPair, .afterQuoted:
                try readExtension(byte, at)
            case .sizeLineLF:
                guard byte == ASCII.lineFeed else { throw WireError(.bareCR, at: at) }
                try finishSizeLine(at, bodyCount)
                if state == .data { return at + 1 }
            case .data:
                guard byte == ASCII.carriageReturn else {
                    throw WireError(byte == ASCII.lineFeed ? .bareLF : .badChunkEnd, at: at)
                }
                state = .dataLF
            case .dataLF:
                guard byte == ASCII.lineFeed else { throw WireError(.badChunkEnd, at: at) }
                state = .sizeStart
                digits = 0
                size = 0
                lineExtensions = 0
                chunkFraming = 2
            case .trailerStart, .trailerName, .trailerValue, .trailerLF:
                try readTrailer(byte, at)
            case .endLF:
                guard trailerBytes < limits.trailerBytes else { throw WireError(.trailersTooLarge, at: at) }
                guard byte == ASCII.lineFeed else { throw WireError(.bareCR, at: at) }
                state = .complete
                return at + 1
            case .complete: return at
            }
            at += 1
        }
        return at
    }

    private mutating func afterSize(_ byte: UInt8, _ at: Int) throws(WireError) {
        switch byte {
        case ASCII.carriageReturn: state = .sizeLineLF
        case UInt8(ascii: ";"), ASCII.space, ASCII.tab:
            try countExtension(at)
            state = byte == UInt8(ascii: ";") ? .extensionStart : .beforeSemicolon
        default: throw Self.lineError(byte, .badChunkSize, at)
        }
    }

    /// `*( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] )`: RFC 9112 §7.1.1.
    private mutating func readExtension(_ byte: UInt8, _ at: Int) throws(WireError) {
        let isSpace = byte == ASCII.space || byte == ASCII.tab
        let isSemicolon = byte == UInt8(ascii: ";")
        let isEnd = byte == ASCII.carriageReturn
        let next: State?
        switch state {
        case .beforeSemicolon:
            next =
                isSpace
                ? .beforeSemicolon : isSemicolon ? .extensionStart : isEnd && bearsSpace ? .sizeLineLF : nil
        case .extensionStart: next = isSpace ? .extensionStart : ASCII.isToken(byte) ? .extensionName : nil
        case .extensionName, .afterName:
            if isSpace {
                next = .afterName
            } else if isSemicolon {
                next = .extensionStart
            } else if byte == UInt8(ascii: "=") {
                next = .valueStart
            } else if state == .extensionName {
                next = isEnd ? .sizeLineLF : ASCII.isToken(byte) ? .extensionName : nil
            } else {
                next = isEnd && bearsSpace ? .sizeLineLF : nil
            }
        case .valueStart:
            next =
                isSpace
                ? .valueStart : byte == UInt8(ascii: "\"") ? .quoted : ASCII.isToken(byte) ? .extensionValue : nil
        case .extensionValue, .afterQuoted:
            if isSpace {
                next = .beforeSemicolon
            } else if isSemicolon {
                next = .extensionStart
            } else if isEnd {
                next = .sizeLineLF
            } else {
                next = state == .extensionValue && ASCII.isToken(byte) ? .extensionValue : nil
            }
        case .quoted:
            switch byte {
            case UInt8(ascii: "\""): next = .afterQuoted
            case UInt8(ascii: "\\"): next = .quotedPair
            default: next = Self.isText(byte) ? .quoted : nil
            }
        case .quotedPair: next = Self.isText(byte) ? .quoted : nil
        default: next = nil
        }
        guard let next else { throw Self.lineError(byte, .badChunkExtension, at) }
        if next != .sizeLineLF { try countExtension(at) }
        state = next
    }

    private mutating func countExtension(_ at: Int) throws(WireError) {
        lineExtensions += 1
        totalExtensions += 1
        guard lineExtensions <= limits.chunkExtensionLine, totalExtensions <= limits.chunkExtensions else {
            throw WireError(.chunkExtensionsTooLong, at: at)
        }
    }

    /// The size is known: check it against the limits before a byte of the data is taken.
    private mutating func finishSizeLine(_ at: Int, _ bodyCount: Int) throws(WireError) {
        guard let count = Int(exactly: size), count <= limits.body - bodyCount else {
            throw WireError(limits.body == .max ? .chunkTooLarge : .bodyTooLarge, at: at)
        }
        if count == 0 {
            state = .trailerStart
            return
        }
        chunkFraming += digits + lineExtensions + 2
        let (twice, overflows) = count.multipliedReportingOverflow(by: 2)
        overhead = overflows ? 0 : max(0, overhead + chunkFraming - 16 - min(twice, Int.max - 32))
        guard overhead <= limits.chunkOverhead else { throw WireError(.chunkOverhead, at: at) }
        state = .data
    }

    private mutating func readTrailer(_ byte: UInt8, _ at: Int) throws(WireError) {
        guard trailerBytes < limits.trailerBytes else { throw WireError(.trailersTooLarge, at: at) }
        trailerBytes += 1
        if state == .trailerStart, byte == ASCII.carriageReturn {
            state = .endLF
            return
        }
        if keepsTrailers { trailers.append(byte) }
        switch state {
        case .trailerStart:
            guard ASCII.isToken(byte) else {
                let isFold = byte == ASCII.space || byte == ASCII.tab
                throw Self.lineError(byte, isFold ? .obsFold : .badTrailer, at)
            }
            guard trailerCount < limits.trailerCount else { throw WireError(.tooManyTrailers, at: at) }
            trailerCount += 1
            trailerName = 1
            state = .trailerName
        case .trailerName:
            if byte == UInt8(ascii: ":") {
                state = .trailerValue
            } else {
                trailerName += 1
                guard ASCII.isToken(byte), trailerName <= WireLimits.fieldName else {
                    throw Self.lineError(byte, .badTrailer, at)
                }
            }
        case .trailerValue:
            if byte == ASCII.carriageReturn {
                state = .trailerLF
            } else if !Self.isText(byte) {
                throw Self.lineError(byte, .badTrailer, at)
            }
        default:
            guard byte == ASCII.lineFeed else { throw WireError(.bareCR, at: at) }
            state = .trailerStart
        }
    }

    /// HTAB, SP, visible ASCII and obs-text.
    private static func isText(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != 0x7F || byte == ASCII.tab
    }

    private static func lineError(_ byte: UInt8, _ fault: WireFault, _ at: Int) -> WireError {
        WireError(byte == ASCII.lineFeed ? .bareLF : fault, at: at)
    }
}
