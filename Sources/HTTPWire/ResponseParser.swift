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
    private var interimCount = 0
    private var interimBytes = 0

    /// A parser for the responses of one connection.
    public init(limits: WireLimits = WireLimits()) {
        self.limits = limits
    }

    /// Forgets an unfinished head and the interim responses.
    public mutating func reset() {
        lines = HeadLines()
        hasStatusLine = false
        interimCount = 0
        interimBytes = 0
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
            try countInterim(head, count)
            ConnectionOptions.applyToResponse(&head)
            // Framing is asked for here only to refuse what can't be read; with HEAD or without, the fields are the same.
            _ = try Framing.response(head, toHead: false)
            head.wantsUpgrade = head.status == 101 && head.wantsUpgrade
            return count
        } catch {
            throw error.asUpstreamFault
        }
    }

    private mutating func countInterim(_ head: borrowing MessageHead, _ count: Int) throws(WireError) {
        guard head.status < 200, head.status != 101 else {
            interimCount = 0
            interimBytes = 0
            return
        }
        interimCount += 1
        interimBytes += count
        guard interimCount <= limits.interimCount, interimBytes <= limits.interimBytes else {
            throw WireError(.tooManyInterim, at: 0)
        }
    }

    /// Reads `version SP 3DIGIT [ SP reason ]`. Some servers leave the last SP away with the reason. `false` means that more
    /// bytes are needed.
    private mutating func parseStatusLine(_ input: Span<UInt8>, into head: inout MessageHead) throws(WireError) -> Bool
    {
        head.removeAll()
        let limit = limits.requestLine
        guard lines.start < input.count else { return false }
        guard try lines.hasLine(input, limit: limit, fault: .requestLineTooLong, limits: limits) else { return false }
        let lineEnd = Scan.firstControl(in: input, from: lines.start)
        guard lineEnd + 1 < input.count else {
            if lineEnd < input.count, input[lineEnd] == ASCII.lineFeed {
                try lines.fail(.bareLF, at: lineEnd, input, limit: limit, fault: .requestLineTooLong, limits: limits)
            }
            try lines.pause(input, limit: limit, fault: .requestLineTooLong, limits: limits)
            return false
        }
        var fault: WireFault?
        if input[lineEnd] != ASCII.carriageReturn || input[lineEnd + 1] != ASCII.lineFeed {
            fault = HeadLines.lineEndFault(input[lineEnd], else: .badStatusLine)
        } else {
            fault = Self.readStatusLine(input.extracting(0..<lineEnd), &head)
        }
        if let fault {
            try lines.fail(
                fault, at: lineEnd, input, limit: limit, fault: .requestLineTooLong, limits: limits)
            return false
        }
        try lines.finish(at: lineEnd, limit: limit, fault: .requestLineTooLong, limits: limits)
        return true
    }

    private static func readStatusLine(_ line: Span<UInt8>, _ head: inout MessageHead) -> WireFault? {
        guard line.count >= 12, line[8] == ASCII.space else { return .badStatusLine }
        if let fault = RequestParser.version(line, 0, 8, &head.minorVersion) { return fault }
        head.minorVersion = min(head.minorVersion, 1)
        var status = 0
        for index in 9..<12 {
            guard ASCII.isDigit(line[index]) else { return .badStatusLine }
            status = status * 10 + Int(line[index] &- 0x30)
        }
        guard (100...599).contains(status) else { return .badStatusLine }
        guard line.count == 12 || line[12] == ASCII.space else { return .badStatusLine }
        head.status = status
        head.reasonRange = line.count > 13 ? ByteRange(13, line.count) : .empty
        head.isVerbatimStart = line.count > 13 && line[7] == UInt8(ascii: "1")
        return nil
    }
}
