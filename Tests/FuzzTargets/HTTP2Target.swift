internal import HTTP2
internal import HTTPWire
internal import Octets

/// A connection of HTTP/2: what a client sends, in pieces, and what the owner does between them.
///
/// Behind the first byte an input has the number of the steps, these, and the client's bytes. A step has three bytes: how many
/// bytes are read, what is done then and with which stream, and how much of it. They begin again when all are done.
extension FuzzTarget {
    /// What a client may not reach, whatever it sends: see `HTTP2Connection`, `HTTP2Exchange` and `HTTP2Sent`.
    static var http2: FuzzTarget {
        FuzzTarget("http2", corpus: "http2") { variant, input in
            guard let first = input.first else { return nil }
            let steps = input.dropFirst().prefix(3 * Int(first & 31))
            let connection = HTTP2Connection(
                variant.byte, Array(steps), Array(input.dropFirst(1 + steps.count)))
            connection.run()
            return connection.violation
        }
    }
}

/// One connection and its owner.
final class HTTP2Connection: ServerSessionOwner {
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    private(set) var violation: String?
    /// What the client says.
    let said: HTTP2Said
    /// Whether the client's bytes begin with the preface.
    let isFramed: Bool

    private let variant: UInt8
    private let steps: [UInt8]
    private let bytes: [UInt8]
    private let limits: HTTP2Limits
    private let wire: WireLimits
    private var session: ServerSession!
    private var exchanges: [HTTP2Exchange] = []
    private var sent = HTTP2Sent()

    private var at = 0
    /// Where the piece begins that is being read.
    private var readFrom = 0
    private var step = 0
    private var callbacks = 0
    private var now: UInt64 = 1
    private var hasFailed = false
    private var isTerminated = false

    init(_ variant: UInt8, _ steps: [UInt8], _ bytes: [UInt8]) {
        self.variant = variant
        self.steps = steps.count < 3 ? [255, 1, 0] : steps
        // The settings that a connection begins with may be followed by others.
        let bytes = variant & 1 == 0 ? Self.preface + [0, 0, 0, 4, 0, 0, 0, 0, 0] + bytes : bytes
        self.bytes = bytes
        isFramed = bytes.starts(with: Self.preface)
        said = HTTP2Said(bytes, from: isFramed ? Self.preface.count : bytes.count)
        var limits = HTTP2Limits()
        if variant & 4 != 0 {
            limits.streams = 3
            limits.streamWindow = 1024
            limits.connectionWindow = 65536
        }
        self.limits = limits
        wire = variant & 2 != 0 ? Self.narrow : WireLimits()
        session = ServerSession(
            limits: limits, wire: wire, rules: RequestRules(), isSecure: variant & 8 != 0, owner: self)
    }

    /// So low that a fuzzer meets them.
    private static var narrow: WireLimits {
        var limits = WireLimits()
        limits.requestLine = 40
        limits.fieldLine = 50
        limits.head = 200
        limits.fieldCount = 5
        limits.trailerBytes = 40
        limits.trailerCount = 2
        return limits
    }

    func note(_ fault: String) {
        if violation == nil { violation = fault }
    }

    /// Whether the client has sent the whole frame that ends a stream.
    func hasEnded(_ stream: Int32) -> Bool { !isFramed || said.ends[stream].map { $0 <= at } ?? false }

    /// Bytes of content that may wait in a stream: until a client has said that it knows the settings, it may send 65,535.
    var mostHeld: Int { said.acknowledged <= readFrom ? limits.streamWindow : max(65535, limits.streamWindow) }

    // MARK: The course

    func run() {
        while at < bytes.count, violation == nil {
            let (size, action, amount) = next()
            read(size < 192 ? Int(size) + 1 : (Int(size) - 191) * 32)
            if variant & 32 != 0 { write(.max) }
            perform(action & 15, on: Int(action >> 4), Int(amount))
        }
        write(.max)
        if isTerminated || hasFailed, !session.isOver { note("the connection isn't over") }
        session.closeStreams()
        write(.max)
        for exchange in exchanges where exchange.closings != 1 {
            note("stream \(exchange.stream.id) is closed \(exchange.closings) times")
        }
        if session.openStreams != 0 { note("streams are open") }
        if !sent.isWhole { note("half a frame is sent") }
    }

    private func next() -> (size: UInt8, action: UInt8, amount: UInt8) {
        defer { step = step + 6 > steps.count ? 0 : step + 3 }
        return (steps[step], steps[step + 1], steps[step + 2])
    }

    private func read(_ count: Int) {
        readFrom = at
        at = min(bytes.count, at + count)
        let bytes = self.bytes
        do throws(HTTP2Error) {
            try session.read(bytes.span.extracting(readFrom..<at), now: now)
            if hasFailed { note("a connection goes on that has failed") }
        } catch {
            hasFailed = true
        }
    }

    /// Takes up to `most` bytes of what is to be sent.
    private func write(_ most: Int) {
        var left = most
        var bytes: [UInt8] = []
        var calls = 0
        session.write { output in
            calls += 1
            let count = min(left, output.count)
            bytes += output.span.extracting(0..<count).copied()
            output.drop(count)
            left -= count
            return left > 0 && calls < 10_000
        }
        if calls >= 10_000 { note("there is no end of what is to be sent") }
        let fault = sent.read(bytes) { id in
            guard let exchange = exchanges.first(where: { $0.stream.id == id }) else { return (0, false) }
            return (exchange.written, exchange.isEnded)
        }
        if let fault { note(fault) }
    }

    private func perform(_ action: UInt8, on index: Int, _ amount: Int) {
        switch action {
        case 1: write(.max)
        case 2: write(amount * 16)
        case 13: now += UInt64(amount) * 20_000_000
        case 14:
            switch amount {
            case 0..<64: session.announceEnd()
            case 64..<128: session.end()
            case 128..<192:
                isTerminated = true
                session.terminate(.protocolError)
            case 192..<224: session.forEachHandler { ($0 as? HTTP2Exchange)?.stream.reset(.cancel) }
            default: session.closeStreams()
            }
        default:
            guard !exchanges.isEmpty else { return }
            let exchange = exchanges[exchanges.count - 1 - index % exchanges.count]
            if action == 9 {
                exchange.resume(appetite: amount == 255 ? .max : amount)
            } else {
                perform(action, on: exchange, amount)
            }
        }
    }

    /// What may be done from inside of a callback too.
    private func perform(_ action: UInt8, on exchange: HTTP2Exchange, _ amount: Int) {
        switch action {
        case 3: exchange.respond(hasContent: true)
        case 4: exchange.respond(hasContent: false)
        case 5: exchange.inform()
        case 6: exchange.write(amount * amount * 2)
        case 7: exchange.end("")
        case 8: exchange.end("X-Sum: 1\r\nConnection: x\r\nY:\r\n")
        case 10: exchange.pause()
        case 11: exchange.stream.reset(amount == 0 ? .noError : .cancel)
        case 12: exchange.giveUp()
        case 15:
            exchange.respond(hasContent: true)
            exchange.write(amount * 300)
            exchange.end("")
        default: break
        }
    }

    func callback(_ exchange: HTTP2Exchange) {
        guard variant & 64 != 0 else { return }
        callbacks += 1
        let start = callbacks % (steps.count / 3) * 3
        perform(steps[start + 1] & 15, on: exchange, Int(steps[start + 2]))
    }

    // MARK: What the session says

    func began(_ stream: HTTP2Stream, _ head: inout MessageHead) {
        checkBegin(stream)
        var taken = MessageHead()
        swap(&taken, &head)
        if let fault = fault(of: taken) { note(fault) }
        begin(HTTP2Exchange(stream, taken.framing, on: self))
    }

    func refused(_ stream: HTTP2Stream, _ error: WireError, _ head: inout MessageHead) {
        checkBegin(stream)
        if !(400...599).contains(error.status) { note("the status of \(error)") }
        begin(HTTP2Exchange(stream, .none, on: self))
    }

    func malformed(_ stream: HTTP2Stream, _ head: inout MessageHead) {
        checkBegin(stream)
        exchanges.append(HTTP2Exchange(stream, .none, on: self))
    }

    private func begin(_ exchange: HTTP2Exchange) {
        exchanges.append(exchange)
        if session.openStreams > limits.streams { note("\(session.openStreams) streams are open") }
        if variant & 16 != 0 { perform(15, on: exchange, Int(steps[2])) }
        callback(exchange)
    }

    private func checkBegin(_ stream: HTTP2Stream) {
        if isTerminated { note("a stream begins behind the connection's end") }
        if hasFailed { note("a stream begins on a connection that has failed") }
        if sent.isGone { note("a stream begins behind GOAWAY") }
        if exchanges.contains(where: { $0.stream.id == stream.id }) { note("stream \(stream.id) begins again") }
    }

    /// What was let in must be one message of HTTP/1.1 for the next hop, and the same one.
    private func fault(of head: borrowing MessageHead) -> String? {
        if head.fieldCount > wire.fieldCount { return "\(head.fieldCount) fields" }
        if head.authority.isEmpty { return "no host" }
        var message = WireMessage(head, head.framing)
        message.isWhole = true
        if case .length(let count) = head.framing {
            // The content doesn't matter here, and may be said to be of any length.
            guard count <= 4096 else { return nil }
            message.body = [UInt8](repeating: 0x41, count: count)
        }
        guard let written = message.written(every: 100) else { return "an encoder refused \(message)" }
        let again = WireConnection.read(written, as: .requests, limits: WireLimits(), every: .max)
        guard again.violations.isEmpty, again.transcript.error == nil, again.transcript.rest == 0,
            again.transcript.messages.count == 1, message.isSame(to: again.transcript.messages[0])
        else { return "\(message) is read by the next hop as \(again)" }
        return nil
    }
}
