import Foundation
import Glibc
import Octets
import Testing

@testable import Proxy

/// Lines go out whole or not at all, and nobody waits for a reader.
@Suite struct LogSinkTests {
    private func lines(_ text: String) -> OutputBuffer {
        var buffer = OutputBuffer()
        buffer.append(text: text)
        return buffer
    }

    private func withFolder(_ body: (URL) throws -> Void) throws {
        let folder = URL(fileURLWithPath: NSTemporaryDirectory())
            .appendingPathComponent("recast-log-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder)
    }

    @Test("a file that was moved away is opened anew, and no line is lost")
    func reopening() throws {
        try withFolder { folder in
            let path = folder.appendingPathComponent("log").path
            let sink = try LogSink(path: path)
            var first = lines("one\n")
            sink.take(&first, count: 1)
            #expect(first.isEmpty)
            sink.settle()
            try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
            sink.reopen()
            let deadline = Date(timeIntervalSinceNow: 30)
            while !FileManager.default.fileExists(atPath: path), Date() < deadline { usleep(1000) }
            var second = lines("two\nthree\n")
            sink.take(&second, count: 2)
            sink.settle()
            #expect(try String(contentsOfFile: path + ".1", encoding: .utf8) == "one\n")
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "two\nthree\n")
            #expect(sink.dropped == 0)
        }
    }

    @Test("a log that fails again and again is told once a minute, and never takes its reader for the cause")
    func losses() {
        var report = LossReport()
        let minute = LossReport.interval
        #expect(report.noteWrite(failure: nil, dropped: 0, now: 1) == nil)
        #expect(report.noteWrite(failure: ENOSPC, dropped: 2, now: 1) == .losing(ENOSPC, 2))
        #expect(report.noteWrite(failure: ENOSPC, dropped: 3, now: 2) == nil)
        #expect(report.noteWrite(failure: nil, dropped: 3, now: 3) == .lost(3, couldNotBeWritten: true))
        // Within the minute: told behind it, with its reason.
        #expect(report.noteWrite(failure: ENOSPC, dropped: 7, now: 4) == nil)
        #expect(report.noteWrite(failure: nil, dropped: 7, now: 5) == nil)
        #expect(report.noteWrite(failure: nil, dropped: 7, now: 3 + minute) == .lost(4, couldNotBeWritten: true))
        #expect(report.noteWrite(failure: nil, dropped: 9, now: 3 + 2 * minute) == .lost(2, couldNotBeWritten: false))
        #expect(report.noteWrite(failure: nil, dropped: 9, now: 3 + 9 * minute) == nil)
        #expect(report.rest(dropped: 9) == 0)
    }

    @Test("what a log has lost at its end is told once, with what waits, and the count of all logs keeps it")
    func lossesAtTheEnd() throws {
        var report = LossReport()
        #expect(report.noteWrite(failure: ENOSPC, dropped: 2, now: 1) == .losing(ENOSPC, 2))
        #expect(report.noteWrite(failure: ENOSPC, dropped: 5, now: 2) == nil)
        #expect(report.rest(dropped: 6) == 6)
        #expect(report.rest(dropped: 6) == 0)
        signal(SIGPIPE, SIG_IGN)
        let losses = LogLosses()
        for round in 1...2 {
            var ends: [Int32] = [0, 0]
            #expect(unsafe pipe(&ends) == 0)
            close(ends[0])
            let sink = try LogSink(descriptor: ends[1], losses: losses)
            var batch = lines("a\nb\n")
            sink.take(&batch, count: 2)
            sink.settle()
            #expect(sink.dropped == 2)
            #expect(losses.count == UInt64(2 * round))
            sink.tellRest()
        }
    }

    @Test("what a pipe that nobody reads doesn't take is dropped and counted, and settling gives up")
    func stuck() throws {
        var ends: [Int32] = [0, 0]
        #expect(unsafe pipe(&ends) == 0)
        let sink = try LogSink(descriptor: ends[1])
        let line = String(repeating: "x", count: 32 * 1024 - 1) + "\n"
        let count = 2 * LogSink.capacity / line.utf8.count + 8
        for _ in 0..<count {
            var batch = lines(line)
            sink.take(&batch, count: 1)
        }
        #expect(sink.dropped > 0)
        let began = Date()
        sink.settle()
        sink.settle()
        #expect(Date().timeIntervalSince(began) < 20)
        // Read to the end: as many whole lines as were not dropped.
        let dropped = Int(sink.dropped)
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        var got = 0
        while got < (count - dropped) * line.utf8.count {
            let number = unsafe read(ends[0], &bytes, bytes.count)
            try #require(number > 0)
            got += number
        }
        sink.settle()
        #expect(Int(sink.dropped) == dropped)
        #expect(got == (count - dropped) * line.utf8.count)
        close(ends[0])
    }

    @Test("lines to a pipe that is closed are lost and counted")
    func closed() throws {
        signal(SIGPIPE, SIG_IGN)
        var ends: [Int32] = [0, 0]
        #expect(unsafe pipe(&ends) == 0)
        close(ends[0])
        let sink = try LogSink(descriptor: ends[1])
        for _ in 0..<3 {
            var batch = lines("a\nb\n")
            sink.take(&batch, count: 2)
            sink.settle()
        }
        #expect(sink.dropped == 6)
    }

    @Test("a FIFO that has no reader yet holds nobody up, and who comes gets all lines", .timeLimit(.minutes(1)))
    func readerThatComesLater() throws {
        try withFolder { folder in
            let path = folder.appendingPathComponent("fifo").path
            #expect(unsafe mkfifo(path, 0o600) == 0)
            let sink = try LogSink(path: path)
            var first = lines("one\n")
            sink.take(&first, count: 1)
            sink.settle()
            sink.reopen()
            var second = lines("two\n")
            sink.take(&second, count: 1)
            sink.settle()
            let reader = unsafe open(path, O_RDONLY | O_NONBLOCK)
            var bytes = [UInt8](repeating: 0, count: 64)
            let count = unsafe read(reader, &bytes, bytes.count)
            #expect(String(decoding: bytes.prefix(max(0, count)), as: UTF8.self) == "one\ntwo\n")
            #expect(sink.dropped == 0)
            close(reader)
        }
    }

    @Test("a path that can't be opened is an error")
    func badPath() {
        #expect(throws: ServerError.self) { try LogSink(path: "/nonexistent/folder/log") }
    }
}
