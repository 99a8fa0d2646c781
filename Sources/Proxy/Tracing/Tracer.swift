internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Octets
internal import Transcoding

/// Makes the spans of one worker's exchanges, once each is over and its record is whole, and hands them to its exporter.
///
/// Names are those of OpenTelemetry's semantic conventions for HTTP where these have one, else they begin with `recast.`
/// (docs/tracing.md). No span holds a value of a body; queries and parameters of paths are redacted as in the access log.
final class Tracer {
    /// Nanoseconds that the end of a worker gives to what waits: 2 s.
    static let finishTime: UInt64 = 2_000_000_000

    private let loop: EventLoop
    private let exporter: SpanExporter
    // SAFETY of `@exclusivity(unchecked)`: one thread uses them, and nothing that is called while one is changed comes back to it
    // (docs/decisions/0007).
    @safe @exclusivity(unchecked) private var ids = TraceIDGenerator()
    @safe @exclusivity(unchecked) private var writer = SpanWriter()

    init(_ settings: TracingSettings, loop: EventLoop, resolver: Resolver, counters: TracingCounters) {
        self.loop = loop
        exporter = SpanExporter(settings, loop: loop, resolver: resolver, counters: counters)
    }

    /// Goes on by other settings; returns false where what waits goes elsewhere than what will come.
    func goesOn(by settings: TracingSettings) -> Bool { exporter.goesOn(by: settings) }

    /// Sends what waits, in as many attempts as ever, and then calls `done` once.
    func retire(_ done: @escaping () -> Void) { exporter.retire(done) }

    /// Sends what waits and then calls `done` once, at the latest after `nanoseconds`. What is left then is dropped and counted.
    func finish(within nanoseconds: UInt64, _ done: @escaping () -> Void) {
        exporter.finish(within: nanoseconds, done)
    }

    /// Ends what `finish` or `retire` has begun now.
    func giveUp() { exporter.giveUp() }

    // MARK: Spans

    /// The exchange is over: makes its spans.
    func ended(_ exchange: Exchange, _ trace: ExchangeTrace) {
        // The loop's moments are of a clock that starts anywhere.
        let offset = EventLoop.preciseWallClock &- EventLoop.preciseNow
        let times = SpanTimes(exchange.record, now: loop.now, offset: offset)
        var state = OutputBuffer()
        if trace.parent != 0 { exchange.request.appendState(to: &state) }
        writeServer(exchange, trace, times, state.span)
        if trace.wasTold, exchange.record.attempts > 0 { writeClient(exchange, trace, times, state.span) }
        if exchange.record.input != nil { writeRequestConversion(exchange, trace, times, state.span) }
        if let transcoder = exchange.responseTranscoder, transcoder.isActive {
            writeResponseConversion(transcoder, exchange, trace, times, state.span)
        }
    }

    private func writeServer(
        _ exchange: Exchange, _ trace: ExchangeTrace, _ times: SpanTimes, _ state: Span<UInt8>
    ) {
        let record = exchange.record
        let pattern = exchange.route?.match.path.text
        writer.begin(
            trace: trace.context.high, trace.context.low, span: trace.server, parent: trace.parent, state: state,
            kind: .server, start: times.start, end: times.end
        ) {
            exchange.request.appendSpanMethod(to: &$0)
            guard let pattern else { return }
            $0.append(UInt8(ascii: " "))
            $0.append(pattern.utf8Span.span)
        }
        let origin = exchange.origin
        writer.request(exchange.request, exchange.secretsOfPath(.redact), origin)
        if let pattern { writer.text("http.route", pattern) }
        if let downstream = exchange.downstream {
            let isSecure = origin.isSecure ?? downstream.isSecure
            writer.text("url.scheme", isSecure ? "https" : "http" as StaticString)
            writer.address("network.peer.address", downstream.peer)
            if let client = exchange.client { writer.address("client.address", client) }
        }
        if record.isStatusSent { writer.number("http.response.status_code", record.status) }
        writer.number("http.request.body.size", record.bytesIn)
        writer.number("http.response.body.size", record.contentBack)
        if let route = exchange.route { writer.text("recast.route", route.name) }
        let requestID = exchange.requestID
        writer.text("recast.request_id", requestID.span)
        if let flag = record.flag { writer.text("recast.flag", flag.rawValue) }
        if let code = trace.refusal { writer.text("recast.code", code) }
        // What we refused, or cut for a reason that has a code, has that; what else was cut, or nobody answered, the flag of the log. A
        // client's fault that was answered is no error of a server's span, and has no type of one.
        if record.status >= 500 || record.isCut || record.flag != nil && trace.refusal == nil {
            if let code = trace.refusal {
                writer.text("error.type", code)
            } else if record.status >= 500 {
                writer.text("error.type", String(record.status))
            } else if let flag = record.flag {
                writer.text("error.type", flag.rawValue)
            }
            writer.fail()
        }
        exporter.add(writer.take())
    }

    private func writeClient(
        _ exchange: Exchange, _ trace: ExchangeTrace, _ times: SpanTimes, _ state: Span<UInt8>
    ) {
        let record = exchange.record
        writer.begin(
            trace: trace.context.high, trace.context.low, span: trace.context.span, parent: trace.server,
            state: state, kind: .client, start: times.upstreamStart, end: times.upstreamEnd
        ) { exchange.request.appendSpanMethod(to: &$0) }
        writer.method(of: exchange.request)
        if let address = exchange.endpoint?.address {
            writer.address("server.address", address)
            if !address.isUnix { writer.number("server.port", Int(address.port)) }
        }
        if let route = exchange.route, let snapshot = exchange.snapshot {
            writer.text("recast.upstream", snapshot.upstreamName(of: route))
            if let endpoint = exchange.endpoint, !endpoint.address.isUnix {
                let scheme: StaticString = snapshot.hasTLS(upstreamOf: route) ? "https://" : "http://"
                writer.text("url.full") { exchange.appendURL(of: route, scheme, endpoint, to: &$0) }
            }
        }
        if record.retries > 0 { writer.number("http.request.resend_count", record.retries) }
        writer.number("http.request.body.size", record.bytesOut)
        if record.connectTime > 0 { writer.seconds("recast.connect.duration", nanoseconds: record.connectTime) }
        let status = trace.upstreamStatus
        if status > 0 { writer.number("http.response.status_code", status) }
        if status >= 400 {
            writer.text("error.type", String(status))
            writer.fail()
        } else if record.upstreamTime == 0, let error = trace.refusal ?? record.flag?.rawValue {
            // It has not brought a whole response.
            writer.text("error.type", error)
            writer.fail()
        }
        exporter.add(writer.take())
    }

    private func beginConversion(
        _ name: StaticString, _ trace: ExchangeTrace, _ state: Span<UInt8>, start: UInt64, end: UInt64
    ) {
        writer.begin(
            trace: trace.context.high, trace.context.low, span: ids.next(), parent: trace.server, state: state,
            kind: .internal, start: start, end: end
        ) { $0.append(name) }
    }

    private func writeRequestConversion(
        _ exchange: Exchange, _ trace: ExchangeTrace, _ times: SpanTimes, _ state: Span<UInt8>
    ) {
        let record = exchange.record
        beginConversion("recast.convert request", trace, state, start: times.headEnd, end: times.bodyEnd)
        if let input = record.input { writer.text("recast.input", input.name) }
        if let output = record.output { writer.text("recast.output", output.name) }
        writer.number("recast.bytes_in", record.bytesIn)
        writer.number("recast.bytes_out", record.bytesOut)
        writer.seconds("recast.convert.duration", nanoseconds: record.transcodeTime)
        endConversion(record.accounting, trace, record)
    }

    private func writeResponseConversion(
        _ transcoder: ResponseTranscoder, _ exchange: Exchange, _ trace: ExchangeTrace, _ times: SpanTimes,
        _ state: Span<UInt8>
    ) {
        guard let conversion = transcoder.conversion, let output = transcoder.rule?.conversion?.plan.output else {
            return
        }
        let record = exchange.record
        beginConversion("recast.convert response", trace, state, start: times.firstByte, end: times.end)
        writer.text("recast.input", conversion.inputEncoding.name)
        writer.text("recast.output", output.name)
        writer.number("recast.bytes_in", transcoder.arrivedCount)
        // An answer of ours in its place is none of what it has written.
        writer.number("recast.bytes_out", record.headBack > 0 ? 0 : record.bytesBack)
        endConversion(transcoder.accounting, trace, record)
    }

    /// Ends the span of a conversion: with what it has counted at its end, or with why it hasn't come to that.
    private func endConversion(_ accounting: Accounting?, _ trace: ExchangeTrace, _ record: ExchangeRecord) {
        if let accounting {
            writer.accounting(accounting)
        } else {
            writer.text("error.type", trace.refusal ?? record.flag?.rawValue ?? "incomplete")
            writer.fail()
        }
        exporter.add(writer.take())
    }
}

/// The moments of an exchange in nanoseconds since 1970.
private struct SpanTimes {
    let start, headEnd, bodyEnd, upstreamStart, upstreamEnd, firstByte, end: UInt64

    init(_ record: ExchangeRecord, now: UInt64, offset: UInt64) {
        let began = record.startedAt == 0 ? now : record.startedAt
        let first = record.headStartedAt > 0 && record.headStartedAt < began ? record.headStartedAt : began
        start = first &+ offset
        headEnd = began &+ offset
        bodyEnd = (record.bodyTime > 0 ? min(now, began &+ record.bodyTime) : now) &+ offset
        upstreamStart = record.upstreamStartedAt &+ offset
        let isWhole = record.upstreamTime > 0
        upstreamEnd = (isWhole ? min(now, record.upstreamStartedAt &+ record.upstreamTime) : now) &+ offset
        firstByte = min(now, began &+ record.firstByteTime) &+ offset
        end = now &+ offset
    }
}

extension Exchange {
    /// Appends the address that the upstream was asked for, redacted: of a query that a body became, too, the names alone.
    fileprivate func appendURL(
        of route: Route, _ scheme: StaticString, _ endpoint: Endpoint, to output: inout OutputBuffer
    ) {
        var target = OutputBuffer()
        // It could be written when the request was sent, so it can be now.
        do throws(ConversionError) { try appendTarget(of: route, to: &target) } catch { return }
        output.append(scheme)
        output.append(text: endpoint.label)
        let secrets = secretValuesOfPath
        guard !secrets.isEmpty else { return output.append(reference: target.span, .redact) }
        let shown = PathParameters.hide(secrets, in: target.span.copied())
        output.append(reference: shown.span, .redact)
    }
}

extension SpanWriter {
    /// What a request's line and its head say.
    ///
    /// - Parameters:
    ///   - secrets: where values stand in the path that aren't shown.
    ///   - origin: where it went, by a trusted peer's word.
    fileprivate mutating func request(
        _ head: borrowing MessageHead, _ secrets: [Range<Int>], _ origin: ClientChain.Origin
    ) {
        guard !head.method.isEmpty else { return }
        method(of: head)
        text("url.path") { $0.append(path: head.path, hiding: secrets, .redact) }
        if let query = head.query { text("url.query") { $0.append(query: query, .redact) } }
        text("network.protocol.version", head.version.spanText)
        if !origin.host.isEmpty {
            text("server.address", origin.host.span)
            if let port = origin.port { number("server.port", port) }
        } else if !head.authority.isEmpty {
            let host = head.host
            // An address of IPv6 has no brackets here.
            let isLiteral = host.count > 2 && host[0] == UInt8(ascii: "[")
            text("server.address", host.extracting(isLiteral ? 1..<host.count - 1 : 0..<host.count))
            if let port = head.port { number("server.port", port) }
        }
        guard head.hasFields, let line = head.first(.userAgent) else { return }
        text("user_agent.original", head.value(line))
    }

    /// A method that nobody knows is no name of few values.
    fileprivate mutating func method(of head: borrowing MessageHead) {
        guard !head.method.isEmpty else { return }
        guard head.methodKind == .other else { return text("http.request.method", head.method) }
        text("http.request.method", "_OTHER" as StaticString)
        text("http.request.method_original", head.method)
    }

    fileprivate mutating func address(_ key: StaticString, _ address: SocketAddress) {
        text(key) { if address.isUnix { $0.append(text: address.path) } else { address.unmapped.appendIP(to: &$0) } }
    }

    fileprivate mutating func accounting(_ accounting: Accounting) {
        number("recast.fields", accounting.fields)
        number("recast.files", accounting.files)
        number("recast.dropped", accounting.removed)
    }
}

extension MessageHead {
    fileprivate func appendSpanMethod(to output: inout OutputBuffer) {
        if method.isEmpty || methodKind == .other { output.append("HTTP") } else { output.append(method) }
    }

    /// The lines of `tracestate`, as one list.
    fileprivate func appendState(to output: inout OutputBuffer) {
        guard hasFields, contains(.tracestate) else { return }
        for line in 0..<fieldCount where known(line) == .tracestate && !value(line).isEmpty {
            if !output.isEmpty { output.append(",") }
            output.append(value(line))
        }
    }
}

extension MessageVersion {
    fileprivate var spanText: StaticString {
        switch self {
        case .http1_0: "1.0"
        case .http1_1: "1.1"
        case .http2: "2"
        }
    }
}
