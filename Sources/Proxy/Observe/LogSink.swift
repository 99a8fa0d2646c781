internal import EventLoop
internal import Glibc
internal import Octets
internal import Synchronization

/// Where lines go that no loop may wait for: a bounded buffer, and a thread that writes it out.
///
/// Lines are taken or dropped whole batches at a time, and a batch is written whole: lines of several workers never mix. A
/// reader that stops, a pipe that is closed and a disk that is full cost lines, which are counted, and nothing else.
final class LogSink: Sendable {
    private let writer: LogWriter

    /// Bytes that wait at most, 1 MiB; some more are on their way to the system.
    static let capacity = 1024 * 1024
    /// Nanoseconds that the end of a run waits for lines to be written: 1 s.
    static let endTime: UInt64 = 1_000_000_000

    /// Writes to a descriptor that stays open: standard output or error.
    init(descriptor: Int32, losses: LogLosses = LogLosses()) throws(ServerError) {
        let name =
            switch descriptor {
            case STDOUT_FILENO: "the access log on standard output"
            case STDERR_FILENO: "the log on standard error"
            default: "a log"
            }
        writer = try LogWriter.start(descriptor: descriptor, path: nil, name: name, losses: losses)
    }

    /// Appends to the file at `path`, which is made where there is none.
    init(path: String, losses: LogLosses = LogLosses()) throws(ServerError) {
        let descriptor = LogWriter.open(path)
        guard descriptor >= 0 else { throw .accessLog(path: path, errno: errno) }
        writer = try LogWriter.start(descriptor: descriptor, path: path, name: "the access log \(path)", losses: losses)
    }

    /// The sink of `target`, which counts what it loses in `losses`; nil where nothing is logged.
    static func of(_ target: AccessLogTarget, losses: LogLosses) throws(ServerError) -> LogSink? {
        switch target {
        case .off: nil
        case .stdout: try LogSink(descriptor: STDOUT_FILENO, losses: losses)
        case .file(let path): try LogSink(path: path, losses: losses)
        }
    }

    deinit {
        writer.end()
    }

    /// Takes `count` whole lines, and empties the buffer. Lines that don't fit are dropped and counted.
    func take(_ lines: inout OutputBuffer, count: Int) {
        writer.take(lines.span, count: count)
        lines.removeAll()
    }

    /// Lines that were dropped so far: because too many waited, or because they could not be written.
    var dropped: UInt64 { writer.dropped }

    /// Waits until all that was taken is written, at most for a second. Once that was not enough, later calls don't wait.
    func settle() { writer.settle() }

    /// Says in the operational log how many lines are lost that it wasn't told of: the process ends, and what waits with it.
    func tellRest() { writer.tellRest() }

    /// Whether lines go to a file that can be opened anew.
    var hasFile: Bool { writer.path != nil }

    /// Opens the file anew, after it was moved away (SIGUSR1). Lines taken before may still go to the old one or go to the
    /// new one; none is lost. When it can't be opened, the old one stays.
    func reopen() { writer.reopen() }
}

/// A sink on its way to another thread, where it is taken once. What brings it lives as long as that thread, and a log that other settings
/// take away must not stay open by that.
final class HandedSink: Sendable {
    private let sink: Mutex<LogSink?>

    init(_ sink: LogSink?) { self.sink = Mutex(sink) }

    func take() -> LogSink? {
        sink.withLock { sink in
            defer { sink = nil }
            return sink
        }
    }
}

/// Lines that the access logs of a process have lost, those of earlier settings too: a count that only grows.
final class LogLosses: Sendable {
    private let lines = Atomic<UInt64>(0)

    var count: UInt64 { lines.load(ordering: .relaxed) }

    fileprivate func add(_ count: Int) { lines.add(UInt64(count), ordering: .relaxed) }
}

/// What the sink and its thread share. The thread holds it until the sink is gone and the rest is written.
private final class LogWriter: Sendable {
    private struct State {
        var waiting = OutputBuffer()
        var lines = 0
        /// Lines that are being written.
        var writing = 0
        var dropped: UInt64 = 0
        var losses = LossReport()
        var isWriting = false
        var isEnding = false
        var mustReopen = false
        /// Waiting for the end was given up once.
        var isStuck = false
    }

    private let state = Mutex(State())
    private let wakeup: Wakeup
    let path: String?
    /// What it is called in lines of the operational log.
    private let name: String
    private let losses: LogLosses

    private init(path: String?, name: String, losses: LogLosses) throws(LoopError) {
        self.path = path
        self.name = name
        self.losses = losses
        wakeup = try Wakeup()
    }

    static func start(
        descriptor: Int32, path: String?, name: String, losses: LogLosses
    ) throws(ServerError) -> LogWriter {
        do throws(LoopError) {
            let writer = try LogWriter(path: path, name: name, losses: losses)
            _ = try startThread(name: "log") { writer.run(descriptor) }
            return writer
        } catch {
            if path != nil { _ = Glibc.close(descriptor) }
            throw .loop(reason: error.description)
        }
    }

    /// Never waits: a FIFO without a reader would hold up the start, or a reload, until there is one. A FIFO is opened for reading,
    /// too, which needs none, also where there is one now: it may leave, or be the descriptor that this one takes the place of. Lines
    /// wait in it, then here, and what is beyond is dropped as with a reader that stops.
    static func open(_ path: String) -> Int32 {
        // SAFETY: the path is a string of ours that lives during the calls.
        let descriptor = unsafe Glibc.open(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0o640)
        guard descriptor < 0 ? errno == ENXIO : isFIFO(descriptor) else { return descriptor }
        let both = unsafe Glibc.open(path, O_RDWR | O_APPEND | O_NONBLOCK | O_CLOEXEC)
        // Who may not read it can still write.
        guard both >= 0, descriptor >= 0 else { return max(both, descriptor) }
        close(descriptor)
        return both
    }

    private static func isFIFO(_ descriptor: Int32) -> Bool {
        var status = stat()
        // SAFETY: the status is written during the call.
        return unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
    }

    // MARK: From any thread

    func take(_ lines: Span<UInt8>, count: Int) {
        let wasEmpty = state.withLock { state in
            guard state.waiting.count + lines.count <= LogSink.capacity else {
                state.dropped += UInt64(count)
                losses.add(count)
                return false
            }
            state.waiting.append(lines)
            state.lines += count
            return state.lines == count
        }
        if wasEmpty { wakeup.signal() }
    }

    var dropped: UInt64 { state.withLock { $0.dropped } }

    func reopen() {
        state.withLock { $0.mustReopen = true }
        wakeup.signal()
    }

    func end() {
        state.withLock { $0.isEnding = true }
        wakeup.signal()
    }

    func settle() {
        let deadline = EventLoop.preciseNow + LogSink.endTime
        while true {
            let isOver = state.withLock { state in
                if state.lines == 0, !state.isWriting { return true }
                if EventLoop.preciseNow >= deadline { state.isStuck = true }
                return state.isStuck
            }
            if isOver { return }
            // No descriptor is watched: a wait of one millisecond.
            _ = poll(nil, 0, 1)
        }
    }

    func tellRest() {
        let (rest, isWriting) = state.withLock { state in
            (state.losses.rest(dropped: state.dropped + UInt64(state.lines + state.writing)), state.isWriting)
        }
        // How far a call has come that waits for its reader nobody knows.
        if rest > 0 { OperationalLog.logEnds(name, rest, atMost: isWriting) }
    }

    // MARK: The thread

    private func run(_ first: Int32) {
        var descriptor = first
        var isCut = false
        var text = OutputBuffer()
        while true {
            let (isEnding, mustReopen) = state.withLock { state in
                swap(&state.waiting, &text)
                state.writing = state.lines
                state.lines = 0
                state.isWriting = !text.isEmpty
                defer { state.mustReopen = false }
                return (state.isEnding, state.mustReopen)
            }
            if mustReopen, let path { reopen(path, &descriptor, &isCut) }
            if text.isEmpty {
                if isEnding { break }
                if !mustReopen { wakeup.wait(milliseconds: -1) }
                continue
            }
            let loss = write(&text, to: descriptor, &isCut)
            text.removeAll()
            text.shrink(to: LogSink.capacity / 4)
            let news = state.withLock { state in
                state.isWriting = false
                state.writing = 0
                state.dropped += UInt64(loss?.lines ?? 0)
                losses.add(loss?.lines ?? 0)
                return state.losses.noteWrite(
                    failure: loss?.failure, dropped: state.dropped, now: EventLoop.preciseNow)
            }
            switch news {
            case .losing(let failure, let lines): OperationalLog.logIsLosing(name, failure, lines)
            case .lost(let lines, let couldNotBeWritten):
                OperationalLog.logHasLost(name, lines, couldNotBeWritten: couldNotBeWritten)
            case nil: break
            }
        }
        if path != nil {
            if isCut { Self.endLine(of: descriptor) }
            _ = Glibc.close(descriptor)
        }
        // A log that other settings have taken away.
        tellRest()
    }

    private func reopen(_ path: String, _ descriptor: inout Int32, _ isCut: inout Bool) {
        let opened = Self.open(path)
        guard opened >= 0 else { return OperationalLog.logCannotReopen(path, errno) }
        if isCut { Self.endLine(of: descriptor) }
        _ = Glibc.close(descriptor)
        descriptor = opened
        isCut = false
        OperationalLog.logIsReopened(path)
    }

    /// Ends half a line in a file that is left, so that what is put behind it later, as another file by `cat`, isn't the rest of it. There
    /// may be no room for that either, and then nothing can be done.
    private static func endLine(of descriptor: Int32) {
        var byte = ASCII.lineFeed
        // SAFETY: one byte is read during the call.
        _ = unsafe Glibc.write(descriptor, &byte, 1)
    }

    /// Writes all of it. Returns how many lines were lost, and the error number of the system, where not all could be written.
    private func write(
        _ text: inout OutputBuffer, to descriptor: Int32, _ isCut: inout Bool
    ) -> (lines: Int, failure: Int32)? {
        // What is left of a line must not become the beginning of the next one.
        if isCut {
            let written = put([ASCII.lineFeed].span, to: descriptor)
            guard written == 1 else { return (Self.lines(in: text.span), Int32(-written)) }
            isCut = false
        }
        var last = ASCII.lineFeed
        while !text.isEmpty {
            let written = put(text.span, to: descriptor)
            guard written > 0 else {
                // The log is gone (a closed pipe, a full disk): serving goes on, and these lines are lost.
                isCut = last != ASCII.lineFeed
                return (Self.lines(in: text.span), Int32(-written))
            }
            last = text.span[written - 1]
            if written < text.count {
                let lines = Self.lines(in: text.span.extracting(0..<written))
                state.withLock { $0.writing -= lines }
            }
            text.drop(written)
        }
        return nil
    }

    private static func lines(in text: Span<UInt8>) -> Int {
        var count = 0
        for index in text.indices where text[index] == ASCII.lineFeed { count += 1 }
        return count
    }

    /// Milliseconds after which a writer that waits for its reader looks for what else is to be done.
    private static let patience: Int32 = 500

    /// One write; waits where a pipe is non-blocking, by us or by another process, and full. Returns how many bytes were written, or
    /// the error number of the system, negative.
    private func put(_ text: Span<UInt8>, to descriptor: Int32) -> Int {
        while true {
            // SAFETY: the pointer is used only during the call.
            let written = unsafe text.withUnsafeBufferPointer {
                unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if written >= 0 { return written }
            let number = errno
            switch number {
            case EINTR: continue
            case EAGAIN:
                var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                // SAFETY: one element, read and written during the call.
                let isReady = unsafe poll(&request, 1, Self.patience) != 0
                // A reader that has stopped must keep the file from being opened anew no more than the thread from its end.
                if !isReady, state.withLock({ $0.mustReopen || $0.isEnding }) { return -Int(EAGAIN) }
            default: return -Int(number)
            }
        }
    }
}

/// When and what the operational log says of lines that a log loses: why, and how many there were when it is written again. Once a minute
/// at most, however often it fails.
struct LossReport {
    enum Line: Hashable {
        /// Lines are being lost, for an error number of the system; so many by now.
        case losing(Int32, UInt64)
        /// So many were lost, and the log is written again.
        case lost(UInt64, couldNotBeWritten: Bool)
    }

    /// Lines whose loss was told.
    private var told: UInt64 = 0
    /// Whether a failure was told, and not its end.
    private var isFailing = false
    /// Whether there was a failure since, told or not.
    private var hasFailed = false
    private var nextTime: UInt64 = 0

    /// Nanoseconds from one line to the next: 1 min.
    static let interval: UInt64 = 60_000_000_000

    /// Lines were written, or for `failure`, an error number of the system, were not. Returns what is to be told.
    ///
    /// - Parameters:
    ///   - dropped: how many were lost in all.
    ///   - now: of the loops' clock, in nanoseconds.
    mutating func noteWrite(failure: Int32?, dropped: UInt64, now: UInt64) -> Line? {
        guard dropped > told else { return nil }
        if let failure {
            hasFailed = true
            guard now >= nextTime else { return nil }
            nextTime = now + Self.interval
            isFailing = true
            return .losing(failure, dropped - told)
        }
        // The end of what was told is told at once.
        guard isFailing || now >= nextTime else { return nil }
        nextTime = now + Self.interval
        let line = Line.lost(dropped - told, couldNotBeWritten: hasFailed)
        told = dropped
        isFailing = false
        hasFailed = false
        return line
    }

    /// The log ends, with so many lost in all. Returns how many of them no line has told as lost.
    mutating func rest(dropped: UInt64) -> UInt64 {
        defer { told = max(told, dropped) }
        return dropped > told ? dropped - told : 0
    }
}
