internal import Octets

/// Reads request heads: RFC 9112 §3 and §5, as strictly as rules R1 to R25 and R31 to R35 want it.
///
/// The input always starts at the first byte that is not consumed yet. Keep the bytes and the same head between calls while
/// the answer is nil. After a head was returned, or after `reset()`, the next call starts a new one.
public struct RequestParser: Sendable {
    /// What may be sent.
    public let limits: WireLimits
    /// Which of the rules that are a matter of taste hold. To be changed between two heads only.
    public var rules: RequestRules

    private var lines = HeadLines()
    private var emptyLines = 0
    private var hasRequestLine = false

    /// A parser at the start of a connection.
    public init(limits: WireLimits = WireLimits(), rules: RequestRules = RequestRules()) {
        self.limits = limits
        self.rules = rules
    }

    /// Forgets an unfinished head.
    public mutating func reset() {
        lines = HeadLines()
        emptyLines = 0
        hasRequestLine = false
    }

    /// Reads a head from the start of `input`. Returns the bytes it takes, empty lines before it included, or nil when more
    /// are needed; nothing is consumed then. Throws where the request must be refused, with the status to answer. From the
    /// request line on the head has its method and target, also after nil and after an error.
    public mutating func parse(_ input: Span<UInt8>, into head: inout MessageHead) throws(WireError) -> Int? {
        if !hasRequestLine {
            guard try parseRequestLine(input, into: &head) else { return nil }
            hasRequestLine = true
        }
        let parsed: Int?
        do throws(WireError) {
            parsed = try lines.parseFields(input, into: &head, limits: limits)
        } catch {
            keepRequestLine(of: input, in: &head)
            throw error
        }
        guard let count = parsed else {
            keepRequestLine(of: input, in: &head)
            return nil
        }
        head.bytes.append(contentsOf: input.extracting(head.bytes.count..<count))
        reset()
        try rules.check(&head)
        return count
    }

    /// Lets a head that isn't whole show its method and target: a refusal may say what it was.
    private func keepRequestLine(of input: Span<UInt8>, in head: inout MessageHead) {
        guard head.bytes.isEmpty else { return }
        head.bytes.append(contentsOf: input.extracting(0..<Int(head.targetRange.range.upperBound)))
    }

    /// Reads `method SP target SP version`. `false` means that more bytes are needed.
    private mutating func parseRequestLine(
        _ input: Span<UInt8>, into head: inout MessageHead
    ) throws(WireError) -> Bool {
        guard try skipEmptyLines(input) else { return false }
        let start = lines.start
        head.removeAll()
        let limit = limits.requestLine
        // The method is judged as it comes, so that another protocol on this port is answered at once.
        let methodEnd = Scan.endOfToken(in: input, from: start)
        guard methodEnd - start <= WireLimits.method else {
            throw WireError(.badMethod, at: start + WireLimits.method)
        }
        guard methodEnd < input.count else {
            try lines.pause(input, limit: limit, fault: .requestLineTooLong, limits: limits)
            return false
        }
        guard input[methodEnd] == ASCII.space, methodEnd > start else {
            throw WireError(Self.methodFault(input, methodEnd), at: methodEnd)
        }
        guard try lines.hasLine(input, limit: limit, fault: .requestLineTooLong, limits: limits) else { return false }

        var found: (fault: WireFault, at: Int)?
        var minor = 1
        let targetStart = methodEnd + 1
        let target = RequestTarget.extent(in: input, from: targetStart)
        let targetEnd = target.end
        let lineEnd = Scan.firstControl(in: input, from: targetEnd)
        guard lineEnd + 1 < input.count else {
            if lineEnd < input.count, input[lineEnd] == ASCII.lineFeed {
                try lines.fail(.bareLF, at: lineEnd, input, limit: limit, fault: .requestLineTooLong, limits: limits)
            }
            try lines.pause(input, limit: limit, fault: .requestLineTooLong, limits: limits)
            return false
        }
        if input[lineEnd] != ASCII.carriageReturn || input[lineEnd + 1] != ASCII.lineFeed {
            found = (HeadLines.lineEndFault(input[lineEnd], else: .badTargetByte), lineEnd)
        } else if targetEnd == lineEnd || targetEnd == targetStart {
            found = (.badRequestLine, targetEnd)
        } else if input[targetEnd] != ASCII.space {
            found = (.badTargetByte, targetEnd)
        } else if let fault = Self.version(input, targetEnd + 1, lineEnd, &minor) {
            found = (fault, targetEnd + 1)
        }
        if let found {
            try lines.fail(
                found.fault, at: found.at, input, limit: limit, fault: .requestLineTooLong, limits: limits)
            return false
        }
        try lines.finish(at: lineEnd, limit: limit, fault: .requestLineTooLong, limits: limits)
        guard minor <= 1 || !rules.refusesLaterMinor else {
            throw WireError(.unsupportedVersion, at: targetEnd + 1)
        }
        head.methodRange = ByteRange(start, methodEnd)
        head.methodKind = Method.find(input.extracting(start..<methodEnd))
        head.targetRange = ByteRange(targetStart, targetEnd)
        head.queryMark = target.query
        head.firstEscape = target.escape
        head.version = minor == 0 ? .http1_0 : .http1_1
        return true
    }

    /// Skips the few CRLF that may come before a request line. `false` means that more bytes are needed.
    private mutating func skipEmptyLines(_ input: Span<UInt8>) throws(WireError) -> Bool {
        while lines.start < input.count {
            let start = lines.start
            switch input[start] {
            case ASCII.lineFeed: throw WireError(.bareLF, at: start)
            case ASCII.carriageReturn:
                guard start + 1 < input.count else { return false }
                guard input[start + 1] == ASCII.lineFeed else { throw WireError(.bareCR, at: start) }
                guard emptyLines < WireLimits.emptyLines else { throw WireError(.tooManyEmptyLines, at: start) }
                emptyLines += 1
                lines.start = start + 2
                lines.scanned = start + 2
            default: return true
            }
        }
        return false
    }

    private static func methodFault(_ input: Span<UInt8>, _ at: Int) -> WireFault {
        switch input[at] {
        case ASCII.lineFeed: .bareLF
        // The method alone on the line; a CR that is the last byte so far can only become one of two errors.
        case ASCII.carriageReturn: .badRequestLine
        default: .badMethod
        }
    }

    /// Reads `HTTP/1.x`; nil when it is one. A well-formed version of another major is told apart from nonsense.
    internal static func version(_ input: Span<UInt8>, _ start: Int, _ end: Int, _ minor: inout Int) -> WireFault? {
        guard end - start == 8 else { return .badVersion }
        if input.extracting(start..<end).isEqual(to: "HTTP/1.1") {
            minor = 1
            return nil
        }
        guard input.extracting(start..<start + 5).isEqual(to: "HTTP/"),
            ASCII.isDigit(input[start + 5]), input[start + 6] == UInt8(ascii: "."), ASCII.isDigit(input[start + 7])
        else { return .badVersion }
        minor = Int(input[start + 7] &- 0x30)
        return input[start + 5] == UInt8(ascii: "1") ? nil : .unsupportedVersion
    }
}
