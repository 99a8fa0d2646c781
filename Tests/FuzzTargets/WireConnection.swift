internal import HTTPWire
internal import Octets

/// The messages of one direction of a connection, read as a proxy reads them: heads and bodies in turn, until an error, a
/// message after which the connection closes, or the end of the input.
struct WireConnection: ~Copyable {
    enum Side: Sendable {
        case requests
        /// Responses to GET, or to HEAD.
        case responses(toHead: Bool)
    }

    /// What was read. The same bytes give the same value, however they were cut and in what pieces bodies were taken.
    struct Transcript: Equatable {
        var messages: [WireMessage] = []
        /// Status, code and offset of what ended it; nil where nothing was wrong so far.
        var error: String?
        /// Bytes that no message took.
        var rest = 0
    }

    private(set) var transcript = Transcript()
    /// What must not be, whatever the bytes are.
    private(set) var violations: [String] = []

    private let side: Side
    private let limits: WireLimits
    /// The most body bytes that are taken of one step.
    private let most: Int
    private var requests: RequestParser
    private var responses: ResponseParser
    private var head = MessageHead()
    private var body: BodyDecoder?
    private var waiting: [UInt8] = []
    private var isClosed = false

    init(_ side: Side, limits: WireLimits, taking most: Int) {
        self.side = side
        self.limits = limits
        self.most = most
        requests = RequestParser(limits: limits)
        responses = ResponseParser(limits: limits)
    }

    /// All of `bytes` in slices of `size`, then the end of the input.
    static func read(
        _ bytes: [UInt8], as side: Side, limits: WireLimits, every size: Int, taking most: Int = .max
    ) -> (transcript: Transcript, violations: [String]) {
        var connection = WireConnection(side, limits: limits, taking: most)
        for start in stride(from: 0, to: bytes.count, by: size) {
            connection.receive(bytes[start..<(size >= bytes.count - start ? bytes.count : start + size)])
        }
        connection.finish()
        return (connection.transcript, connection.violations)
    }

    private mutating func receive(_ slice: ArraySlice<UInt8>) {
        waiting += slice
        do throws(WireError) {
            while !isClosed, try advance() {}
        } catch {
            fail(error)
        }
        // An unfinished head is all that may wait for more.
        if !isClosed, body == nil, waiting.count > limits.head {
            violations.append("\(waiting.count) bytes wait for the end of a head")
        }
    }

    private mutating func finish() {
        if !isClosed, var body {
            do throws(WireError) {
                try body.endOfInput()
                transcript.messages[transcript.messages.count - 1].isWhole = true
            } catch {
                fail(error)
            }
        }
        transcript.rest = waiting.count
    }

    private mutating func fail(_ error: WireError) {
        transcript.error = "\(error.status) \(error.code)"
        // A body until close is offered as it comes, so the place where it passed its limit is that of a slice.
        if transcript.messages.last?.framing != .untilClose { transcript.error! += " at \(error.offset)" }
        switch side {
        case .requests where !(400...599).contains(error.status), .responses where error.status != 502:
            if !error.isBodyTooLarge { violations.append("the status of \(error)") }
        default: break
        }
        isClosed = true
    }

    /// One step; `false` when more bytes are needed.
    private mutating func advance() throws(WireError) -> Bool {
        let input = waiting
        guard var decoder = body else {
            let count =
                switch side {
                case .requests: try requests.parse(input.span, into: &head)
                case .responses: try responses.parse(input.span, into: &head)
                }
            guard let count else { return false }
            waiting.removeFirst(count)
            try begin(Array(input[..<count]))
            return true
        }
        let step = try decoder.next(input.span)
        let count = min(step.available, most)
        let last = transcript.messages.count - 1
        transcript.messages[last].body += input[step.skipped..<step.skipped + count]
        decoder.took(count)
        waiting.removeFirst(step.skipped + count)
        if decoder.bodyCount > limits.body { violations.append("a body of \(decoder.bodyCount) bytes") }
        if decoder.isComplete {
            transcript.messages[last].trailers = decoder.trailers.written
            transcript.messages[last].isWhole = true
            body = nil
            // Behind a 205 that frames more than nothing, nobody knows where the next response starts.
            let isUnclear = head.status == 205 && !Framing.declaresEmpty(head)
            isClosed = !head.isKeepAlive || head.status == 101 || isUnclear
            return true
        }
        body = decoder
        return step.skipped + count > 0
    }

    private mutating func begin(_ bytes: [UInt8]) throws(WireError) {
        let framing: BodyFraming
        switch side {
        case .requests: framing = head.framing
        case .responses(let toHead): framing = try Framing.response(head, toHead: toHead)
        }
        transcript.messages.append(WireMessage(head, framing))
        violations += WireMessage.faults(of: head, from: bytes, framing: framing, limits: limits)
        var decoder = BodyDecoder(framing: framing, limits: limits, isResponse: head.status != 0)
        decoder.keepsTrailers = true
        body = decoder
    }
}

extension TrailerLines {
    /// The lines of some names, as a proxy writes those that it passes on.
    var written: [UInt8] {
        var output = OutputBuffer()
        write(named: ["a", "x", "etag", "digest"].map { Array($0.utf8) }, into: &output)
        return output.span.copied()
    }
}
