internal import Octets

/// Reads response heads, interim ones included, by the same rules as requests; every error has status 502.
///
/// The input always starts at the first byte that is not consumed yet, as for `RequestParser`. Each 1xx is returned like any
/// other head; they are counted until a final one comes.
public struct ResponseParser: Sendable {
    /// What may be sent.
    public let limits: WireLimits

    private var lines = HeadLines()
    private var hasStatusLine = false
    private var interim = InterimCount()

    /// A parser for the responses of one connection.
    public init(limits: WireLimits = WireLimits()) {
        self.limits = limits
    }

    /// Forgets an unfinished head and the interim responses.
    public mutating func reset() {
        lines = HeadLines()
        hasStatusLine = false
        interim = InterimCount()
    }

    /// Reads a head from the start of `input`. Returns the bytes it takes, or nil when more are needed; nothing is consumed
    /// then.
    public mutating func parse(_ input: Span<UInt8>, into head: inout MessageHead) throws(WireError) -> Int? {
        do {
            if !hasStatusLine {
                guard try parseStatusLine(input, into: &head) else { return nil }
                hasStatusLine = true
            }
            guard let count = try lines.parseFields(input, into: &head, limits: limits) else { return nil }
            head.bytes.append(contentsOf: input.extracting(0..<count))
            lines = HeadLines()
            hasStatusLine = false
            if head.status < 200 { try interim.add(head, limits: limits) } else { interim = InterimCount() }
            try Self.check(&head)
            return count
        } catch {
            throw error.asUpstreamFault
        }
    }

    /// Derives what a head whose lines were read says about connection and body; every error has status 502.
    internal static func check(_ head: inout MessageHead) throws(WireError) {
        ConnectionOptions.applyToResponse(&head)
        // Framing is asked for here only to refuse what can't be read; with HEAD or without, the fields are the same.
        _ = try Framing.response(head, toHead: false)
        head.wantsUpgrade = head.status == 101 && head.wantsUpgrade
    }

    /// Reads `version SP 3DIGIT [ SP reason ]`. Some servers leave the last SP away with the reason. `false` means that more
    /// bytes are needed.
    private mutating func parseStatusLine(_ input: Span<UInt8>, into head: inout MessageHead) throws(WireError) -> Bool
    {
        head.removeAll()
        let limit = limits.requestLine
        guard !input.isEmpty else { return false }
        // What was searched before holds no control byte but, as its last, a CR.
        let lineEnd = Scan.firstControl(in: input, from: max(lines.scanned - 1, 0))
        let isWhole = lineEnd + 1 < input.count
        let endsWell = isWhole && input[lineEnd] == ASCII.carriageReturn && input[lineEnd + 1] == ASCII.lineFeed
        if endsWell, Self.readStatusLine(input.extracting(0..<lineEnd), &head) {
            try lines.finish(at: lineEnd, limit: limit, fault: .requestLineTooLong, limits: limits)
            return true
        }
        // Another protocol is told by its first bytes; it may never send a line end, nor anything more.
        if let found = Self.startFault(input) { throw WireError(found.fault, at: found.at) }
        if !isWhole, lineEnd == input.count || input[lineEnd] == ASCII.carriageReturn {
            try lines.pause(input, limit: limit, fault: .requestLineTooLong, limits: limits)
            return false
        }
        try lines.finish(at: lineEnd, limit: limit, fault: .requestLineTooLong, limits: limits)
        throw WireError(HeadLines.lineEndFault(input[lineEnd], else: .badStatusLine), at: lineEnd)
    }

    /// Reads a status line without its end. Returns false where its start isn't one; `startFault` says why.
    private static func readStatusLine(_ line: Span<UInt8>, _ head: inout MessageHead) -> Bool {
        var minor = 1
        guard line.count >= 12, line[8] == ASCII.space, line.count == 12 || line[12] == ASCII.space,
            RequestParser.version(line, 0, 8, &minor) == nil
        else { return false }
        head.version = minor == 0 ? .http1_0 : .http1_1
        var status = 0
        for index in 9..<12 {
            guard ASCII.isDigit(line[index]) else { return false }
            status = status * 10 + Int(line[index] &- 0x30)
        }
        guard status >= 100 else { return false }
        head.status = status
        head.reasonRange = line.count > 13 ? ByteRange(13, line.count) : .empty
        head.isVerbatimStart = line.count > 13 && line[7] == UInt8(ascii: "1")
        return true
    }

    /// The first byte that no status line has at its place, up to the one behind the status, and what is wrong with it.
    private static func startFault(_ input: Span<UInt8>) -> (fault: WireFault, at: Int)? {
        let name: InlineArray<7, UInt8> = [0x48, 0x54, 0x54, 0x50, 0x2F, 0x31, 0x2E]  // HTTP/1.
        for index in 0..<min(input.count, 13) {
            let byte = input[index]
            // Told of the digits alone, so that it is the same whether what follows them has come.
            if index == 11, ASCII.isDigit(byte), input[9] == UInt8(ascii: "0") { return (.badStatus, 9) }
            let fits =
                switch index {
                case 0..<7: byte == name[index]
                case 8: byte == ASCII.space
                case 12: byte == ASCII.space || byte == ASCII.carriageReturn || byte == ASCII.lineFeed
                default: ASCII.isDigit(byte)
                }
            if fits { continue }
            if byte == ASCII.lineFeed { return (.bareLF, index) }
            return (index == 5 && ASCII.isDigit(byte) ? .unsupportedVersion : .badStatusLine, index)
        }
        return nil
    }
}
