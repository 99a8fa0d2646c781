internal import EventLoop
internal import Glibc
internal import Logging
internal import Octets
internal import Synchronization

/// What the proxy itself has to say: its start and end, reloads, upstreams that come and go, resources that run out. One
/// line each to standard error, apart from the access log.
///
/// Lines leave through a `LogSink`: no loop waits for their reader. At most `linesPerSecond` are written a second;
/// what is beyond is counted, and the count told when there is room again.
public enum OperationalLog {
    /// How severe a line is, in rising order; lines below the level that is set are not written.
    public enum Level: String, Hashable, Sendable, CaseIterable {
        case debug, info, warning, error
    }

    /// How a line is written.
    public enum Format: String, Hashable, Sendable, CaseIterable {
        /// `2026-01-02T03:04:05.678Z info text key=value`
        case text
        /// `{"ts":…,"level":…,"message":…,…}`
        case json
    }

    static let logger = Logger(label: "recast") { _ in OperationalLogHandler() }

    /// Lines a second at most, 100.
    static let linesPerSecond = 100

    private struct State {
        var format = Format.text
        var second = 0
        var lines = 0
        var suppressed = 0
    }

    private static let state = Mutex(State())
    private static let threshold = Atomic<UInt8>(1)
    private static let sink = try? LogSink(descriptor: STDERR_FILENO)

    /// The least severe level that is written; `info` at first. May be changed at any time, from any thread.
    public static var level: Level {
        get { Level.allCases[Int(threshold.load(ordering: .relaxed))] }
        set { threshold.store(UInt8(Level.allCases.firstIndex(of: newValue) ?? 1), ordering: .relaxed) }
    }

    /// How lines are written from here on.
    public static func use(_ format: Format) {
        state.withLock { $0.format = format }
    }

    /// Says something of the life of the process.
    public static func note(_ text: String, level: Level = .info) {
        write(text, level, [])
    }

    /// Waits until what was said is written, at most for a second: with how many lines were left out that no later line tells of.
    public static func settle() {
        let (format, suppressed) = state.withLock { state in
            defer { state.suppressed = 0 }
            return (state.format, state.suppressed)
        }
        if suppressed > 0 {
            var lines = OutputBuffer()
            line(leftOut: suppressed, LogTime.now(), format, into: &lines)
            sink?.take(&lines, count: 1)
        }
        sink?.settle()
    }

    /// `lost` lines of the log called `name` were lost up to now, the last ones for the error `number` of the system.
    static func logIsLosing(_ name: String, _ number: Int32, _ lost: UInt64) {
        let reason = number == EAGAIN ? "who reads it takes nothing" : systemErrorText(number)
        note("\(name) can't be written: \(reason); \(counted(Int(lost), "line")) dropped so far", level: .warning)
    }

    /// The log called `name` is written again.
    static func logHasLost(_ name: String, _ lost: UInt64, couldNotBeWritten: Bool) {
        let dropped = "\(counted(Int(lost), "line")) dropped"
        note(
            couldNotBeWritten
                ? "\(name) is written again, with \(dropped)"
                : "\(name) has \(dropped), since more came than who reads it took", level: .warning)
    }

    /// The log called `name` ends, and `lost` lines are lost that no line has told of, or only by the way.
    static func logEnds(_ name: String, _ lost: UInt64, atMost: Bool) {
        note("\(name) ends, with \(atMost ? "at most " : "")\(counted(Int(lost), "line")) dropped", level: .warning)
    }

    static func logIsReopened(_ path: String) { note("the log \(path) is opened again") }

    static func logHasNoFile() { note("no log is opened again: the access log goes to no file") }

    static func logCannotReopen(_ path: String, _ number: Int32) {
        note("the log \(path) can't be reopened: \(systemErrorText(number)); it stays where it was", level: .error)
    }

    // MARK: Lines

    static func write(_ text: String, _ level: Level, _ members: [(name: String, value: String)]) {
        guard let sink, Level.allCases.firstIndex(of: level) ?? 0 >= threshold.load(ordering: .relaxed) else { return }
        let milliseconds = LogTime.now()
        let (format, suppressed) = state.withLock { state in
            if state.second != milliseconds / 1000 {
                state.second = milliseconds / 1000
                state.lines = 0
            }
            state.lines += 1
            guard state.lines <= linesPerSecond else {
                state.suppressed += 1
                return (Format?.none, 0)
            }
            defer { state.suppressed = 0 }
            return (state.format, state.suppressed)
        }
        guard let format else { return }
        var lines = OutputBuffer()
        if suppressed > 0 { line(leftOut: suppressed, milliseconds, format, into: &lines) }
        line(text, level, members, milliseconds, format, into: &lines)
        sink.take(&lines, count: suppressed > 0 ? 2 : 1)
    }

    private static func line(
        leftOut count: Int, _ milliseconds: Int, _ format: Format, into lines: inout OutputBuffer
    ) {
        line(
            "\(counted(count, "line")) \(count == 1 ? "was" : "were") left out", .warning, [], milliseconds, format,
            into: &lines)
    }

    private static func line(
        _ text: String, _ level: Level, _ members: [(name: String, value: String)], _ milliseconds: Int,
        _ format: Format, into lines: inout OutputBuffer
    ) {
        var time = LogTime()
        switch format {
        case .text:
            lines.append(time.text(milliseconds))
            lines.append(text: " \(level.rawValue) ")
            appendClean(text, to: &lines)
            for member in members {
                lines.append(text: " \(member.name)=")
                appendClean(member.value, to: &lines)
            }
            lines.append(ASCII.lineFeed)
        case .json:
            var taken = OutputBuffer()
            swap(&taken, &lines)
            var line = LogLine(into: taken)
            line.member("ts", ascii: time.text(milliseconds).span)
            line.member("level", text: level.rawValue.utf8Span.span)
            line.member("message", text: text.utf8Span.span)
            for member in members { line.member(named: member.name, text: member.value.utf8Span.span) }
            lines = line.end()
        }
    }

    /// A line is one line whatever its text holds.
    private static func appendClean(_ text: String, to lines: inout OutputBuffer) {
        let bytes = text.utf8Span.span
        var at = 0
        while at < bytes.count {
            let unprintable = LogText.unprintable(bytes, at: at)
            lines.append(unprintable == nil ? bytes[at] : ASCII.space)
            at += unprintable?.count ?? 1
        }
    }
}

/// The logger of apple/swift-log that writes operational lines.
private struct OperationalLogHandler: LogHandler {
    var metadata: Logger.Metadata = [:]

    var logLevel: Logger.Level {
        get { Logger.Level(OperationalLog.level) }
        // One level for all, which /log-level sets.
        set {}
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        let members = all.sorted { $0.key < $1.key }.map { (name: $0.key, value: "\($0.value)") }
        OperationalLog.write("\(event.message)", OperationalLog.Level(event.level), members)
    }
}

extension Logger.Level {
    fileprivate init(_ level: OperationalLog.Level) {
        self =
            switch level {
            case .debug: .debug
            case .info: .info
            case .warning: .warning
            case .error: .error
            }
    }
}

extension OperationalLog.Level {
    fileprivate init(_ level: Logger.Level) {
        self =
            switch level {
            case .trace, .debug: .debug
            case .info, .notice: .info
            case .warning: .warning
            case .error, .critical: .error
            }
    }
}
