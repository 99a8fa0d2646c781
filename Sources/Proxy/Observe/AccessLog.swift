internal import EventLoop
internal import Glibc
internal import HTTPWire
internal import Octets
internal import Serialization
internal import Synchronization

/// The access log of one worker: one JSON object a line, one line an exchange, never a value of a body.
///
/// Lines are gathered and written together, at the latest 100 ms after the first of them.
final class AccessLog {
    private let descriptor: Int32?
    private let loop: EventLoop
    private var lines = OutputBuffer()
    private var timer: Timer!

    private static let flushSize = 32 * 1024
    private static let flushTime: UInt64 = 100_000_000
    /// One worker writes at a time: a pipe that runs full takes long texts in pieces, and another worker's lines would
    /// come to stand in the middle of one. Holds whether the last write broke off inside a line.
    private static let isCut = Mutex(false)

    /// Opens the log's file where it goes to one.
    init(loop: EventLoop, target: AccessLogTarget) throws(ServerError) {
        self.loop = loop
        switch target {
        case .off: descriptor = nil
        case .stdout: descriptor = STDOUT_FILENO
        case .file(let path):
            // SAFETY: the path is a string of ours that lives during the call.
            let opened = unsafe open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o640)
            guard opened >= 0 else { throw .accessLog(path: path, errno: errno) }
            descriptor = opened
        }
        timer = Timer(loop: loop) { [unowned self] in flush() }
    }

    func write(_ exchange: Exchange) {
        guard descriptor != nil else { return }
        if lines.isEmpty { timer.set(after: Self.flushTime) }
        append(exchange)
        if lines.count >= Self.flushSize { flush() }
    }

    private func append(_ exchange: Exchange) {
        let record = exchange.record
        var line = JSONObjectWriter(into: lines)
        lines = OutputBuffer()
        line.member("ts", Clock.timestamp(loop.wallClockSeconds))
        let requestID = exchange.requestID
        line.member("request_id", bytes: requestID.span)
        if let route = exchange.route { line.member("route", route.name) }
        if let downstream = exchange.downstream { line.member("client", downstream.peer.description) }
        if let facts = exchange.downstream?.tlsFacts {
            line.member("tls", "\(facts.version) \(facts.cipher)")
            if let subject = facts.clientSubject { line.member("tls_client", subject) }
        }
        line.request(exchange.request)
        line.member("status", number: record.status)
        if record.flag.utf8CodeUnitCount > 0 { line.member("flags", record.flag.description) }
        line.member("bytes_in", number: record.bytesIn)
        line.member("bytes_out_upstream", number: record.bytesOut)
        line.member("bytes_back", number: record.bytesBack)
        if record.firstByteTime > 0 { line.member("t_upstream_ttfb", seconds: record.firstByteTime) }
        line.member("t_total", seconds: loop.now - record.startedAt)
        if record.framing.utf8CodeUnitCount > 0 { line.member("framing", record.framing.description) }
        if let input = record.input, let output = record.output {
            line.member("from", input.rawValue)
            line.member("to", output.rawValue)
        }
        if let accounting = record.accounting {
            line.member("fields", number: accounting.fields)
            line.member("files", number: accounting.files)
            line.member("dropped", number: accounting.removed)
        }
        if let held = exchange.held, held.isActive { line.conversion(of: held) }
        lines = line.end()
        lines.append(ASCII.lineFeed)
    }

    /// Writes all lines that wait.
    func flush() {
        timer.cancel()
        guard let descriptor else { return }
        guard !lines.isEmpty else { return }
        var text = OutputBuffer()
        swap(&text, &lines)
        Self.isCut.withLock { isCut in Self.write(&text, to: descriptor, &isCut) }
        swap(&text, &lines)
    }

    private static func write(_ text: inout OutputBuffer, to descriptor: Int32, _ isCut: inout Bool) {
        // What is left of a line must not become the beginning of the next one.
        if isCut {
            guard put([ASCII.lineFeed].span, to: descriptor) == 1 else { return text.removeAll() }
            isCut = false
        }
        var last = ASCII.lineFeed
        while !text.isEmpty {
            let written = put(text.span, to: descriptor)
            guard written > 0 else {
                // The log is gone (a closed pipe, a full disk) or doesn't keep up (a pipe that somebody made non-blocking):
                // serving goes on, and these lines are lost.
                isCut = last != ASCII.lineFeed
                return text.removeAll()
            }
            last = text.span[written - 1]
            text.drop(written)
        }
    }

    private static func put(_ text: Span<UInt8>, to descriptor: Int32) -> Int {
        while true {
            // SAFETY: the pointer is used only during the call.
            let written = unsafe text.withUnsafeBufferPointer {
                unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if written >= 0 || errno != EINTR { return written }
        }
    }
}

extension JSONObjectWriter {
    /// What a response was, what it became, and what became of its fields where it came to its end.
    fileprivate mutating func conversion(of held: HeldResponse) {
        guard let conversion = held.conversion, let output = held.rule?.conversion?.plan.output else { return }
        member("response_from", conversion.inputEncoding.rawValue)
        member("response_to", output.rawValue)
        member("bytes_in_upstream", number: held.count)
        guard let accounting = held.accounting else { return }
        member("response_fields", number: accounting.fields)
        member("response_files", number: accounting.files)
        member("response_dropped", number: accounting.removed)
    }

    /// What the request line said, as far as a head was parsed. The query stays out of logs: it may hold secrets.
    fileprivate mutating func request(_ head: borrowing MessageHead) {
        guard !head.method.isEmpty else { return }
        member("method", bytes: head.method)
        member("path", bytes: head.path)
        member("proto", head.minorVersion == 1 ? "HTTP/1.1" : "HTTP/1.0")
    }
}
