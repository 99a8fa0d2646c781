internal import ContentCoding
internal import EventLoop
internal import Gateway
internal import Glibc
internal import HTTPWire
internal import Logging
internal import Octets
internal import Signatures
internal import Transcoding

/// The access log of one worker: one line an exchange, never a value of a body.
///
/// Lines are gathered and handed to the sink together, at the latest 100 ms after the first of them. docs/access-log.md
/// says what stands in them.
final class AccessLog {
    /// Where all workers' lines go; nil: nothing is logged.
    let sink: LogSink?
    private let loop: EventLoop
    private let form: AccessLogForm
    private var lines = OutputBuffer()
    private var count = 0
    private var time = LogTime()
    private var timer: Timer!

    private let requestFields: [LoggedField]
    private let responseFields: [LoggedField]

    /// Bytes of a field that the settings have chosen, 256; of host, user agent and referer, 1 KiB. More is cut.
    private static let fieldLimit = 256
    fileprivate static let headerLimit = 1024

    private static let flushSize = 32 * 1024
    private static let flushTime: UInt64 = 100_000_000

    init(loop: EventLoop, sink: LogSink?, form: AccessLogForm) {
        self.loop = loop
        self.sink = sink
        self.form = form
        requestFields = form.requestFields.map { LoggedField("request.", $0) }
        responseFields = form.responseFields.map { LoggedField("response.", $0) }
        timer = Timer(loop: loop) { [unowned self] in flush() }
    }

    /// Whether lines are written at all: what only they need isn't measured otherwise.
    var isOn: Bool { sink != nil }

    /// What is logged of an upstream's response; nothing where the settings have chosen none of its fields.
    func chosenFields(of response: borrowing MessageHead) -> [(member: String, value: [UInt8])] {
        guard sink != nil, !responseFields.isEmpty else { return [] }
        var chosen: [(member: String, value: [UInt8])] = []
        for field in responseFields {
            if let value = field.value(in: response, form.query) { chosen.append((field.member, value)) }
        }
        return chosen
    }

    func write(_ exchange: Exchange) {
        guard sink != nil else { return }
        if lines.isEmpty { timer.set(after: Self.flushTime) }
        switch form.format {
        case .json: appendJSON(exchange)
        case .combined: appendCombined(exchange)
        }
        count += 1
        if lines.count >= Self.flushSize { flush() }
    }

    /// Hands all lines that wait to the sink.
    func flush() {
        timer.cancel()
        guard let sink, count > 0 else { return }
        sink.take(&lines, count: count)
        count = 0
    }

    /// The last lines of this worker: hands them over and lets them be written, at most for a second.
    func end() {
        flush()
        sink?.settle()
    }

    /// The buffer of lines, which the caller gives back. Nothing of it stays here, or the first byte would copy it all.
    private func takeLines() -> OutputBuffer {
        var taken = OutputBuffer()
        swap(&taken, &lines)
        return taken
    }

    private func appendJSON(_ exchange: Exchange) {
        let record = exchange.record
        var line = LogLine(into: takeLines())
        line.member("ts") { time.append(loop.wallClockMilliseconds, to: &$0) }
        let requestID = exchange.requestID
        line.member("request_id", text: requestID.span)
        if exchange.watchers.contains(.trace) {
            line.member("trace_id") { exchange.trace.context.appendTraceID(to: &$0) }
        } else if exchange.request.hasFields, exchange.request.contains(.traceparent),
            let trace = TraceContext.traceID(of: exchange.request)
        {
            line.member("trace_id", ascii: exchange.request.value(trace.line).extracting(trace.range))
        }
        if let route = exchange.route { line.member("route", ascii: route.name.utf8Span.span) }
        if let downstream = exchange.downstream {
            if let client = exchange.realClient {
                line.member("client") { client.appendIP(to: &$0) }
                // Whom a trusted peer speaks for is told apart from who it is.
                line.address("peer", downstream.peer)
            } else {
                line.address("client", downstream.peer)
            }
        }
        if let facts = exchange.downstream?.tlsFacts {
            line.member("tls", text: "\(facts.version) \(facts.cipher)".utf8Span.span)
            if let subject = facts.clientSubject { line.member("tls_client", text: subject.utf8Span.span) }
        }
        line.request(exchange.request, exchange.secretsOfPath(form.query), form.query)
        for field in requestFields where exchange.request.hasFields {
            if let value = field.value(in: exchange.request, form.query) {
                line.member(named: field.member, text: value.span, limit: Self.fieldLimit)
            }
        }
        line.member("status", number: record.status)
        if let response = exchange.look {
            line.member("upstream_status", number: response.upstreamStatus)
            if let finding = response.look.statusFinding { line.member("status_from", finding.name) }
            if let finding = response.look.problemFinding { line.member("problem", finding.name) }
        }
        if let flag = record.flag { line.member("flags", ascii: flag.rawValue.utf8Span.span) }
        if let refusal = exchange.refusal { line.member("code", ascii: refusal.code.utf8Span.span) }
        line.member("bytes_in", number: record.bytesIn)
        line.member("bytes_out_upstream", number: record.bytesOut)
        line.member("bytes_back", number: record.bytesBack)
        line.times(record, total: loop.now - record.startedAt)
        if record.framing.utf8CodeUnitCount > 0 { line.member("framing", record.framing) }
        if let input = record.input, let output = record.output {
            line.member("from", input.name)
            line.member("to", output.name)
        }
        if let coding = record.coding { line.member("coding", coding.name) }
        if let coding = record.responseCoding { line.member("response_coding", coding.name) }
        if let accounting = record.accounting {
            line.member("parts", number: accounting.parts)
            line.member("fields", number: accounting.fields)
            line.member("files", number: accounting.files)
            line.member("dropped", number: accounting.removed)
        }
        if let rule = exchange.sender {
            line.member("sender", ascii: rule.sender.utf8Span.span)
            // Without a result it ended before anything was known: its content never came whole.
            if let result = record.verificationResult { line.member("signature", ascii: result.name.utf8Span.span) }
        }
        if let result = exchange.authorization {
            line.member("authorization", ascii: result.name.utf8Span.span)
            if case .granted(_, let user?) = result { line.member("user", text: user.utf8Span.span) }
        }
        if record.headers != HeaderEditCount() || record.responseHeaders != HeaderEditCount() { line.headers(record) }
        if let transcoder = exchange.responseTranscoder, transcoder.isActive { line.conversion(of: transcoder) }
        if record.attempts > 0, let route = exchange.route, let snapshot = exchange.snapshot {
            line.member("upstream", ascii: snapshot.upstreamName(of: route).utf8Span.span)
            if let endpoint = exchange.endpoint { line.address("upstream_address", endpoint.address) }
            line.member("attempts", number: record.attempts)
            if let skip = record.retrySkip { line.member("retry_skipped", text: skip.rawValue.utf8Span.span) }
        }
        for (member, value) in exchange.loggedResponse {
            line.member(named: member, text: value.span, limit: Self.fieldLimit)
        }
        lines = line.end()
    }

    private func appendCombined(_ exchange: Exchange) {
        var line = CombinedLine(into: takeLines())
        var user: String?
        if case .granted(_, let name)? = exchange.authorization { user = name }
        line.client(exchange.client, user: user)
        line.time { time.appendCombined(loop.wallClockMilliseconds, to: &$0) }
        line.request(exchange.request, exchange.secretsOfPath(form.query), form.query)
        line.outcome(status: exchange.record.status, bytes: exchange.record.contentBack)
        line.agents(exchange.request, form.query)
        lines = line.end()
    }
}

/// A field that the settings have chosen for the log.
private struct LoggedField {
    /// What the line calls it: `request.x-tenant`.
    let member: String
    private let name: String
    /// Whether it holds an address whatever its value begins with.
    private let isAddress: Bool

    init(_ side: String, _ name: String) {
        member = side + name
        self.name = name
        isAddress = ["referer", "location", "content-location", "link", "refresh"].contains(name)
    }

    /// Its value; nil where the head has none. An address is shown as that of the page is that the client comes from.
    func value(in head: borrowing MessageHead, _ query: LoggedQuery) -> [UInt8]? {
        var value: [UInt8] = []
        guard head.appendValue(named: name.utf8Span.span, to: &value) else { return nil }
        guard query != .keep, isAddress || Self.isAddress(value.span) else { return value }
        var shown = OutputBuffer()
        shown.append(reference: value.span, query)
        return shown.span.copied()
    }

    /// Whether a value is a path, or begins with a scheme and an authority.
    private static func isAddress(_ value: Span<UInt8>) -> Bool {
        for index in value.indices {
            let byte = value[index]
            if byte == UInt8(ascii: ":") {
                return index > 0 && index + 2 < value.count && value[index + 1] == UInt8(ascii: "/")
                    && value[index + 2] == UInt8(ascii: "/")
            }
            if byte == UInt8(ascii: "/") { return index == 0 }
            guard ASCII.isAlpha(byte) || ASCII.isDigit(byte) || "+-.".utf8.contains(byte) else { return false }
        }
        return false
    }
}

extension LogLine {
    /// Only those that were measured: what is left out took no time that the loop's clock could see.
    fileprivate mutating func times(_ record: ExchangeRecord, total: UInt64) {
        if record.headTime > 0 { member("t_header", seconds: record.headTime) }
        if record.bodyTime > 0 { member("t_body", seconds: record.bodyTime) }
        if record.transcodeTime > 0 { member("t_transcode", seconds: record.transcodeTime) }
        if record.connectTime > 0 { member("t_connect", seconds: record.connectTime) }
        if record.firstByteTime > 0 { member("t_upstream_ttfb", seconds: record.firstByteTime) }
        member("t_total", seconds: total)
    }

    fileprivate mutating func address(_ name: StaticString, _ address: SocketAddress) {
        if address.isUnix {
            member(name, text: address.description.utf8Span.span)
        } else {
            member(name) { address.append(to: &$0) }
        }
    }

    /// What header rules did, of what there was something to do.
    fileprivate mutating func headers(_ record: ExchangeRecord) {
        if record.headers.dropped > 0 { member("headers_dropped", number: record.headers.dropped) }
        if record.headers.written > 0 { member("headers_set", number: record.headers.written) }
        let response = record.responseHeaders
        if response.dropped > 0 { member("response_headers_dropped", number: response.dropped) }
        if response.written > 0 { member("response_headers_set", number: response.written) }
    }

    /// What a response was, what it became, and what became of its fields where it came to its end.
    fileprivate mutating func conversion(of transcoder: ResponseTranscoder) {
        guard let conversion = transcoder.conversion, let output = transcoder.rule?.conversion?.plan.output else {
            return
        }
        member("response_from", conversion.inputEncoding.name)
        member("response_to", output.name)
        if let coding = transcoder.coding { member("coding_upstream", coding.name) }
        member("bytes_in_upstream", number: transcoder.arrivedCount)
        guard let accounting = transcoder.accounting else { return }
        member("response_fields", number: accounting.fields)
        member("response_files", number: accounting.files)
        member("response_dropped", number: accounting.removed)
    }

    /// What the request line said, as far as a head was parsed.
    ///
    /// - Parameter secrets: where values stand in the path that aren't shown.
    fileprivate mutating func request(
        _ head: borrowing MessageHead, _ secrets: [Range<Int>], _ query: LoggedQuery
    ) {
        guard !head.method.isEmpty else { return }
        member("method", ascii: head.method)
        if !secrets.isEmpty || PathParameters.occur(in: head.path) {
            var shown = OutputBuffer()
            shown.append(path: head.path, hiding: secrets, query)
            member("path", text: shown.span)
        } else {
            member("path", text: head.path)
        }
        if query != .drop, let text = head.query {
            var shown = OutputBuffer()
            shown.append(query: text, query)
            member("query", text: shown.span)
        }
        member("proto", head.version.text)
        if !head.authority.isEmpty { member("host", text: head.authority, limit: AccessLog.headerLimit) }
        guard head.hasFields else { return }
        if let line = head.first(.userAgent) {
            member("user_agent", text: head.value(line), limit: AccessLog.headerLimit)
        }
        if let line = head.first(.referer) {
            var shown = OutputBuffer()
            shown.append(reference: head.value(line), query)
            member("referer", text: shown.span, limit: AccessLog.headerLimit)
        }
    }
}
