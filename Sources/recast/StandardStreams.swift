internal import EventLoop
internal import Glibc
internal import Octets

/// Standard input, output and error, without buffers of their own.
enum StandardStreams {
    /// Reads what there is, up to the buffer's size. Returns the count, 0 at the end of the input.
    static func read(into buffer: inout [UInt8]) throws(CommandFault) -> Int {
        while true {
            // SAFETY: read writes at most the buffer's count of bytes.
            let count = unsafe buffer.withUnsafeMutableBytes {
                unsafe Glibc.read(STDIN_FILENO, $0.baseAddress, $0.count)
            }
            if count >= 0 { return count }
            guard isWorthWaiting(errno, STDIN_FILENO, POLLIN) else {
                throw CommandFault(CommandFault.unavailable, "recast: standard input can't be read")
            }
        }
    }

    /// Writes all of `bytes` to standard output.
    static func write(_ bytes: Span<UInt8>) throws(CommandFault) {
        guard write(bytes, to: STDOUT_FILENO) == 0 else {
            throw CommandFault(CommandFault.unavailable, "recast: standard output can't be written")
        }
    }

    /// Writes all of `bytes` to a descriptor. Returns the number of the error that kept the rest from it, and 0 where none did.
    static func write(_ bytes: Span<UInt8>, to descriptor: Int32) -> Int32 {
        var written = 0
        while written < bytes.count {
            let rest = bytes.extracting(written..<bytes.count)
            // SAFETY: write reads the span's bytes only.
            let count = unsafe rest.withUnsafeBufferPointer {
                unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count >= 0 {
                written += count
                continue
            }
            let number = errno
            guard isWorthWaiting(number, descriptor, POLLOUT) else { return number }
        }
        return 0
    }

    /// Whether a call that has failed with this error number may be made again; waits until it can be. Another process with the same pipe
    /// or terminal may have set it to come back instead of waiting.
    private static func isWorthWaiting(_ number: Int32, _ descriptor: Int32, _ event: Int32) -> Bool {
        guard number == EAGAIN else { return number == EINTR }
        var request = pollfd(fd: descriptor, events: Int16(event), revents: 0)
        // SAFETY: one element, read and written during the call.
        return unsafe poll(&request, 1, -1) >= 0 || errno == EINTR
    }

    /// Reads all there is; nothing where a person sits at the other end, who has not said that there is some.
    static func readAll() throws(CommandFault) -> [UInt8] {
        guard isatty(STDIN_FILENO) == 0 else { return [] }
        var all: [UInt8] = []
        var slice = [UInt8](repeating: 0, count: 64 * 1024)
        while case let count = try read(into: &slice), count > 0 { all += slice[..<count] }
        return all
    }

    /// As above, for a command whose result is another one without: a person who has not said that there is none is told.
    static func readBody(_ what: String) throws(CommandFault) -> [UInt8] {
        if isatty(STDIN_FILENO) != 0 { report("\(what): standard input is a terminal, so the body is empty") }
        return try readAll()
    }

    static func write(text: String) throws(CommandFault) {
        try write(Array(text.utf8).span)
    }

    /// Writes lines to standard output, for a person.
    static func write(lines: [String]) throws(CommandFault) {
        try write(text: lines.map { PlainText.line($0) + "\n" }.joined())
    }

    /// Writes a text of JSON to standard output, as one line.
    static func write(json: String) throws(CommandFault) { try write(text: PlainText.json(json) + "\n") }

    /// Writes a line to standard error.
    static func report(_ line: String) {
        let bytes = Array((PlainText.line(line) + "\n").utf8)
        // Where standard error is gone there is no one to tell.
        _ = write(bytes.span, to: STDERR_FILENO)
    }

    /// Milliseconds that the last words of a server wait for who reads them, 1 s.
    private static let lastWordsTime: Int32 = 1000

    /// Writes lines to standard error, as the last thing of a process that must not hang because nobody reads them: a manager would
    /// wait for its end, and start no other one.
    static func reportShortly(_ lines: [String]) {
        do throws(LoopError) {
            let done = try Wakeup()
            _ = try startThread(name: "report") {
                for line in lines { report(line) }
                done.signal()
            }
            done.wait(milliseconds: lastWordsTime)
        } catch {
            for line in lines { report(line) }
        }
    }
}
