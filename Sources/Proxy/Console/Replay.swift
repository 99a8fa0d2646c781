internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Octets

/// Whom a request came from, and how: what a replay of it says of its client, too.
struct ReplayPeer: Sendable {
    /// Nil where there was no head.
    let address: SocketAddress?
    /// The port of the listener.
    let port: Int
    let isSecure: Bool
}

/// A request that is sent through its route again.
struct ReplayedRequest: Sendable {
    var method: [UInt8]
    var target: [UInt8]
    var fields: [(name: [UInt8], value: [UInt8])]
    var body: [UInt8]

    /// The upstream and the log see by it that a request is a replay, and of which one: the request's id.
    static let mark: StaticString = "Recast-Replay"

    /// Fields that are of one message or one connection, and the ids of a request that is another one now.
    private static let ownFields: Set<String> = [
        "connection", "content-length", "expect", "http2-settings", "keep-alive", "proxy-connection", "recast-replay",
        "te", "traceparent", "tracestate", "trailer", "transfer-encoding", "upgrade", "x-request-id",
    ]

    /// The request as it was kept, with what was edited of it.
    ///
    /// - Throws: why it can't be sent.
    init(_ kept: KeptExchange, _ edit: ReplayOrder.Edit?, _ mask: NameMask) throws(ReplayFault) {
        let lines = ShownHead.lines(of: kept.fromClient.head)
        guard let line = lines.first, let space = line.firstIndex(of: ASCII.space),
            let end = line.lastIndex(of: ASCII.space), end > space
        else { throw ReplayFault(status: 409, reason: kept.obstacle ?? "the request's head can't be read") }
        method = Array(line[..<space])
        target = Array(line[(space + 1)..<end])
        fields = lines.dropFirst().compactMap(ShownHead.field)
        body = kept.fromClient.body
        var isBodyEdited = false
        if let edit {
            let mask = kept.widened(mask)
            let (messages, secrets) = kept.shown(mask)
            isBodyEdited = try apply(edit, mask: mask, shown: messages[0], secrets: secrets)
        }
        if let obstacle = kept.obstacle, !isBodyEdited { throw ReplayFault(status: 409, reason: obstacle) }
    }

    /// Puts in what was edited. What came as it is shown is what it was, and nothing else
    /// may hold what stands for masked values: it would go out as that.
    ///
    /// - Parameters:
    ///   - edit: what was edited.
    ///   - shown: the request as it is shown.
    ///   - secrets: the values that are hidden in it.
    /// - Returns: whether it brings a body: one that is left as it is shown is what is kept, though that may be the beginning alone.
    /// - Throws: why it can't be sent.
    private mutating func apply(
        _ edit: ReplayOrder.Edit, mask: NameMask, shown: ShownMessage, secrets: Secrets
    ) throws(ReplayFault) -> Bool {
        let line = shown.shownHead.line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        if let text = edit.method {
            method = try Self.unmasked(text, [(line.first ?? "", method)], mask: mask, what: "the method")
        }
        if let text = edit.target, text != line.dropFirst().dropLast().joined(separator: " ") {
            guard !text.utf8.contains(where: { $0 <= ASCII.space || $0 == 0x7F }) else {
                throw ReplayFault(
                    status: 400, reason: "the target has a space or a control character in it: write it with %20")
            }
            target = try Self.unmasked(target: Array(text.utf8), known: target, mask: mask, secrets)
        }
        if let list = edit.fields {
            fields = try Self.unmasked(fields: list, fields, shown.shownHead.fields, mask: mask)
        }
        let (text, base64) = (edit.body, edit.base64)
        guard text != nil || base64 != nil else { return false }
        if shown.isBody(text, base64: base64) { return true }
        if let base64 {
            guard let bytes = Base64Decoder.bytes(of: base64.utf8Span.span) else {
                throw ReplayFault(status: 400, reason: "\"base64\" is no base64")
            }
            body = bytes
        } else if let text {
            body = Array(text.utf8)
            // It was shown without its coding, and is sent so.
            fields.removeAll { String(decoding: $0.name, as: UTF8.self).lowercased() == "content-encoding" }
        }
        if !mask.isEmpty, Secrets.holdsReplacement(body) {
            throw ReplayFault(
                status: 409,
                reason:
                    "the body still holds \(NameMask.replacement), which stands for masked values: write values there"
            )
        }
        return true
    }

    /// A value as it is shown, and as it is.
    private typealias Known = (shown: String, value: [UInt8])

    /// The value that `text` stands for: what one that was shown so has been, else what it says.
    ///
    /// - Parameters:
    ///   - known: those of that name.
    ///   - place: which of them it is where none was added or taken out.
    private static func unmasked(
        _ text: String, _ known: [Known], at place: Int? = nil, mask: NameMask, what: String
    ) throws(ReplayFault) -> [UInt8] {
        if let place, known[place].shown == text { return known[place].value }
        let same = known.filter { $0.shown == text }
        if let first = same.first, same.allSatisfy({ $0.value == first.value }) { return first.value }
        let bytes = Array(text.utf8)
        guard !mask.isEmpty, Secrets.holdsReplacement(bytes) else { return bytes }
        let why = same.isEmpty ? "stands for a masked value, and was not shown so" : "stands for several masked values"
        throw ReplayFault(
            status: 409, reason: "\(what) holds \(NameMask.replacement), which \(why): write the value there")
    }

    /// The values that a list of texts stands for, of which each has a name: those of one name are in their order what they were,
    /// unless one was added or taken out.
    private static func unmasked<Name: Hashable>(
        _ list: [(name: Name, text: String)], _ known: [Name: [Known]], mask: NameMask, what: String
    ) throws(ReplayFault) -> [[UInt8]] {
        let counts = list.reduce(into: [:]) { $0[$1.name, default: 0] += 1 }
        var places: [Name: Int] = [:]
        var values: [[UInt8]] = []
        for (name, text) in list {
            let same = known[name] ?? []
            let place = places[name, default: 0]
            places[name] = place + 1
            values.append(
                try unmasked(text, same, at: counts[name] == same.count ? place : nil, mask: mask, what: what))
        }
        return values
    }

    /// The fields of `list`, in which values that were shown masked are what they were.
    private static func unmasked(
        fields list: [(name: String, value: String)], _ old: [(name: [UInt8], value: [UInt8])],
        _ shown: [ShownHead.Field], mask: NameMask
    ) throws(ReplayFault) -> [(name: [UInt8], value: [UInt8])] {
        // Both have a field for each line of the head.
        var known: [String: [Known]] = [:]
        for (field, shown) in zip(old, shown) {
            known[shown.name.lowercased(), default: []].append((shown.value, field.value))
        }
        let edited = list.map { (name: $0.name.lowercased(), text: $0.value) }
        let values = try unmasked(edited, known, mask: mask, what: "a field")
        return zip(list, values).map { (name: Array($0.name.utf8), value: $1) }
    }

    /// A target whose path and parameters that were shown masked are what they were.
    private static func unmasked(
        target: [UInt8], known: [UInt8], mask: NameMask, _ secrets: Secrets
    ) throws(ReplayFault) -> [UInt8] {
        let mark = UInt8(ascii: "?")
        func hidden(_ bytes: [UInt8]) -> String {
            String(decoding: secrets.hide(in: bytes).bytes, as: UTF8.self)
        }
        func name(_ parameter: [UInt8]) -> [UInt8] { Array(parameter.prefix { $0 != UInt8(ascii: "=") }) }
        let oldPath = Array(known.prefix { $0 != mark })
        let newPath = Array(target.prefix { $0 != mark })
        let path = try unmasked(
            String(decoding: newPath, as: UTF8.self), [(hidden(BodyMask.address(mask, oldPath).output), oldPath)],
            mask: mask, what: "the path")
        guard newPath.count < target.count else { return path }
        // Each parameter as it is shown by itself: what was hidden across two of them is given back by neither.
        var old: [[UInt8]: [Known]] = [:]
        for parameter in oldPath.count < known.count ? parameters(known[(oldPath.count + 1)...]) : [] {
            let text = hidden(BodyMask.query(mask, parameter).output)
            old[name(Array(text.utf8)), default: []].append((text, parameter))
        }
        let new = parameters(target[(newPath.count + 1)...]).map {
            (name: name($0), text: String(decoding: $0, as: UTF8.self))
        }
        let query = try unmasked(new, old, mask: mask, what: "a parameter")
        return path + [mark] + query.joined(separator: [UInt8(ascii: "&")])
    }

    private static func parameters(_ query: ArraySlice<UInt8>) -> [[UInt8]] {
        query.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map(Array.init)
    }

    /// The request as HTTP/1.1 has it, with the mark of a replay.
    func head(of requestID: [UInt8]) -> [UInt8] {
        var head = method + [ASCII.space] + target + " HTTP/1.1\r\n".utf8
        func name(_ field: (name: [UInt8], value: [UInt8])) -> String {
            String(decoding: field.name, as: UTF8.self).lowercased()
        }
        // What Connection names was of the connection, too (RFC 9110 §7.6.1).
        let options = fields.filter { name($0) == "connection" }.flatMap {
            String(decoding: $0.value, as: UTF8.self).lowercased().split { ", \t".contains($0) }.map(String.init)
        }
        let own = Self.ownFields.union(options)
        for field in fields {
            guard !own.contains(name(field)) else { continue }
            head += field.name + ": ".utf8 + field.value + "\r\n".utf8
        }
        let hasContent = !body.isEmpty || ["POST", "PUT", "PATCH"].contains(String(decoding: method, as: UTF8.self))
        if hasContent { head += "Content-Length: \(body.count)\r\n".utf8 }
        head += "\(Self.mark): ".utf8 + requestID + "\r\n\r\n".utf8
        return head
    }
}

extension KeptExchange {
    /// Sees that it is the exchange which is meant, where the order says whose request that was: as the log has it, or as it is shown.
    func check(_ order: ReplayOrder, _ mask: NameMask) throws(ReplayFault) {
        guard let expected = order.requestID, expected != facts.requestID else { return }
        let secrets = shown(widened(mask)).secrets
        guard expected == facts.shownRequestID(hiding: secrets) else {
            throw ReplayFault(
                status: 409,
                reason: "\(order.id) is another request by now, so nothing was sent: look for yours in the list")
        }
    }
}

/// Why a request isn't sent again.
struct ReplayFault: Error {
    let status: Int
    let reason: String
}

/// The client's side of a replay, which no connection stands behind: it brings the request from memory, and drops the response, of
/// which the console keeps what it shows.
final class Replay: Downstream, StreamSource {
    private let worker: Worker
    private let body: [UInt8]
    private let done: (Outcome) -> Void
    private(set) var exchange: Exchange?
    private var at = 0
    private var isEnded = false
    private var isPaused = false
    private var isBringing = false
    private var status = 0

    let peer: SocketAddress
    let listener: ListenerInfo
    let isSecure: Bool
    let original: String?
    var origin: RequestOrigin {
        RequestOrigin(peer: peer.plain, port: listener.port, isSecure: isSecure, isRepeated: true)
    }
    private(set) var contentLimit = Int.max
    var arrived = 0

    /// How a replay ended.
    enum Outcome {
        case ended(id: String, status: Int)
        /// The request breaks a rule of HTTP.
        case refused(String)
    }

    /// - Parameters:
    ///   - original: the exchange's id that is repeated.
    ///   - done: called once, when the exchange has ended.
    init(
        of original: String, body: [UInt8], from peer: ReplayPeer, on worker: Worker, done: @escaping (Outcome) -> Void
    ) {
        self.worker = worker
        self.body = body
        self.done = done
        self.original = original
        self.peer = peer.address ?? SocketAddress.parse("127.0.0.1:0")!
        isSecure = peer.isSecure
        listener = ListenerInfo(port: peer.port)
    }

    /// Sends the request.
    func begin(_ text: [UInt8]) {
        var parser = RequestParser(limits: worker.wireLimits, rules: worker.current.requestRules)
        var head = MessageHead()
        do throws(WireError) {
            guard let used = try parser.parse(text.span, into: &head), used == text.count else {
                return done(.refused("a field holds the end of a head"))
            }
        } catch {
            return done(.refused(error.reason))
        }
        let exchange = worker.takeExchange()
        self.exchange = exchange
        exchange.record.headStartedAt = worker.loop.now
        swap(&exchange.request, &head)
        exchange.begin(on: self)
        bringRest()
    }

    private func bringRest() {
        guard !isBringing else { return }
        isBringing = true
        defer { isBringing = false }
        isPaused = false
        if let exchange, at < body.count, exchange.readsContent {
            let body = body
            at += bring(body.span.extracting(at..<body.count), isLast: true, to: exchange)
        }
        guard !isPaused, let exchange else { return }
        if at == body.count, !isEnded, exchange.readsContent, !exchange.request.framing.isEmpty {
            isEnded = true
            exchange.contentEnded()
        }
        self.exchange?.settle()
    }

    // MARK: RequestSource

    var tlsFacts: TLSFacts? { nil }
    var isSpent: Bool { false }
    func limitContent(to count: Int) { contentLimit = count }
    func keepTrailers() {}
    var contentLeft: Int? { body.count - at }
    func appendTrailers(named names: [[UInt8]]?, to output: inout OutputBuffer) {}
    func pauseReading() { isPaused = true }

    func resumeReading() {
        // Not from inside of what asks for it.
        worker.loop.afterTick(self)
    }

    // Nobody waits for memory.
    func setRates(_ rates: MinimumRates) {}
    func expectBody(within time: UInt64) {}
    func expectNothing() {}
    func expectDiscard() {}

    func exchangeEnded(_ end: ExchangeEnd) { finish() }

    private func finish() {
        guard let exchange else { return }
        self.exchange = nil
        worker.recycle(exchange)
        let number = worker.history.next - 1
        done(.ended(id: "\(worker.share.number)-\(number)", status: status))
    }

    // MARK: ResponseSink

    var isFull: Bool { false }
    var queued: Int { 0 }
    func sendInterim(_ head: borrowing MessageHead) {}
    func sendContinue() {}

    func begin(
        _ response: ResponseStart, of head: borrowing MessageHead,
        adding addFields: (inout OutputBuffer, PassedFields.Position) -> Void
    ) {
        status = response.status ?? head.status
        var lines = OutputBuffer()
        let position = response.fields.write(head, into: &lines)
        addFields(&lines, position)
        exchange?.tapAnswer(lines, from: position.fields)
    }

    func send(_ content: Span<UInt8>) -> Bool { true }
    func flush() {}
    func end(adding addTrailers: (inout OutputBuffer) -> Void) {}

    func withdraw() -> Bool {
        status = 0
        return true
    }

    func cut() {
        exchange?.abandon()
        finish()
    }

    func answer(
        _ status: Int, isLast: Bool, content: Span<UInt8>, adding addFields: (inout OutputBuffer) -> Void
    ) -> Int {
        self.status = status
        var lines = OutputBuffer()
        addFields(&lines)
        return lines.count + content.count
    }
}

extension Replay: TickTask {
    func tickEnded() { bringRest() }
}
