internal import HTTPWire
internal import Octets

/// Reads one response of HTTP/1.1 whole, which is short: what servers say that are no upstreams.
struct WholeResponse: ~Copyable {
    /// What the bytes so far have brought.
    enum Progress {
        case needsMore
        /// The head has come; comes once.
        case head
        case whole
    }

    /// Bytes of the content at most: 64 KiB.
    static let limit = 64 * 1024

    private let limits: WireLimits
    private var parser: ResponseParser
    private(set) var head = MessageHead()
    /// Set behind the head.
    private var decoder: BodyDecoder?
    private(set) var content: [UInt8] = []

    init() {
        var limits = WireLimits()
        limits.body = Self.limit
        self.limits = limits
        parser = ResponseParser(limits: limits)
    }

    /// Reads on at `position`, which it moves behind what it has taken. Interim responses are passed over.
    mutating func read(_ bytes: Span<UInt8>, at position: inout Int) throws(WireError) -> Progress {
        while decoder == nil {
            guard let used = try parser.parse(bytes.extracting(position..<bytes.count), into: &head) else {
                return .needsMore
            }
            position += used
            if head.status < 200 {
                head.removeAll()
                continue
            }
            decoder = BodyDecoder(framing: try Framing.response(head, toHead: false), limits: limits, isResponse: true)
            return .head
        }
        while let complete = decoder?.isComplete, !complete {
            let rest = bytes.extracting(position..<bytes.count)
            let step = try decoder!.next(rest)
            content.append(contentsOf: rest.extracting(step.skipped..<step.skipped + step.available))
            decoder!.took(step.available)
            position += step.skipped + step.available
            if step.available == 0, decoder?.isComplete == false { return .needsMore }
        }
        return .whole
    }

    /// The connection has ended. Returns whether the response is whole so.
    mutating func end() -> Bool { (try? decoder?.endOfInput()) != nil }
}
