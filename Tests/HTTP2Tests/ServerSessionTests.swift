import Glibc
import HTTPWire
import Octets
import Testing

@testable import HTTP2

/// A connection of HTTP/2 without sockets: bytes in, events and bytes out.
@Suite("HTTP/2: a server's session")
struct ServerSessionTests {
    // MARK: The beginning

    func finding(_ bytes: [UInt8]) -> Preface.Finding { Preface.look(at: bytes.span) }

    @Test("The preface decides, in whatever pieces it comes")
    func preface() {
        for count in 0..<24 {
            #expect(finding(Array(ClientBytes.preface[..<count])) == .undecided)
            var other = ClientBytes.preface
            other[count] ^= 1
            #expect(finding(other) == .http1)
        }
        #expect(finding(ClientBytes().bytes) == .http2)
        #expect(finding(Array("POST / HTTP/1.1\r\n".utf8)) == .http1)
    }

    @Test("Settings come first, and say the limits")
    func settings() throws {
        var limits = HTTP2Limits()
        limits.streams = 7
        limits.streamWindow = 100_000
        limits.connectionWindow = 1 << 20
        let recorder = Recorder(limits: limits)
        let frames = recorder.sent()
        #expect(frames.first?.type == 4)
        let payload = try #require(frames.first?.payload)
        #expect(payload.contains(subsequence: [0, 3, 0, 0, 0, 7]))
        #expect(payload.contains(subsequence: [0, 4] + ClientBytes.four(100_000)))
        // The connection's window begins at 65,535 for everybody.
        let update = try #require(frames.first { $0.type == 8 && $0.stream == 0 })
        #expect(update.number == (1 << 20) - 65535)
    }

    @Test("A connection that doesn't begin with the preface fails")
    func noPreface() {
        var client = ClientBytes.more()
        client.request(1)
        #expect(!Recorder().read(client))
    }

    // MARK: Requests

    @Test("A request's head becomes one of HTTP/1.1's form, in whatever pieces it comes")
    func heads() {
        var client = ClientBytes()
        client.request(
            1, path: "/a?b=%20",
            fields: [("content-type", "text/plain"), ("cookie", "a=1"), ("x", "y"), ("cookie", "b=2")])
        client.data(1, Array("hello".utf8))
        client.data(1, Array(" you".utf8), ends: true)
        client.request(3, "GET", ends: true)
        client.request(5, "POST", ends: true)
        client.request(7, "PUT", fields: [("content-length", "3")])
        client.data(7, Array("abc".utf8), ends: true)
        for size in [Int.max, 1, 2, 3, 7, 64] {
            let recorder = Recorder()
            #expect(recorder.read(client, by: size))
            #expect(
                recorder.events == [
                    "1 POST /a chunked Host=a.test content-type=text/plain x=y cookie=a=1; b=2",
                    "1 ended", "3 GET /a none Host=a.test", "5 POST /a length(0) Host=a.test",
                    "7 PUT /a length(3) Host=a.test content-length=3", "7 ended",
                ])
            #expect(recorder.content[1] == Array("hello you".utf8))
        }
    }

    @Test(
        "What may not stand in a head is answered, or the stream is reset",
        arguments: [
            ([(":method", "GET"), (":scheme", "ftp"), (":path", "/"), (":authority", "a")], "http_bad_scheme"),
            ([(":method", "CONNECT"), (":authority", "a:443")], "http_method_not_supported"),
            ([(":method", "G T"), (":scheme", "http"), (":path", "/"), (":authority", "a")], ""),
            ([(":method", "GET"), (":scheme", "http"), (":path", "/a b"), (":authority", "a")], ""),
            ([(":method", "GET"), (":scheme", "http"), (":path", "/#a"), (":authority", "a")], "http_bad_target_byte"),
            ([(":method", "GET"), (":scheme", "http"), (":path", "/")], ""),
            ([(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "a b")], ""),
            (
                [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "a"), ("host", "b")],
                "http_host_mismatch"
            ),
            (
                [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "a"), ("x y", "b")],
                "http_bad_field_name"
            ),
            (
                [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "a"), ("x", "b\r\nc: d")],
                "http_bad_field_value"
            ),
            (
                [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "a"), ("x", " b")],
                "http_bad_field_value"
            ),
            (
                [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "a"), ("x", "b\0")],
                "http_bad_field_value"
            ),
            ([(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "a"), ("X", "b")], ""),
            ([(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "a"), ("connection", "x")], ""),
            (
                [
                    (":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "a"),
                    ("transfer-encoding", "chunked"),
                ],
                ""
            ),
            ([(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "a"), ("te", "gzip")], ""),
            ([(":method", "GET"), (":scheme", "http"), (":path", "a"), (":authority", "a")], ""),
            ([(":method", "GET"), (":scheme", "http"), (":authority", "a")], ""),
            ([(":method", "GET"), (":path", "/"), (":authority", "a")], ""),
            ([(":scheme", "http"), (":path", "/"), (":authority", "a")], ""),
            ([(":method", "GET"), (":scheme", "http"), (":path", "/"), (":path", "/"), (":authority", "a")], ""),
            ([(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "a"), (":x", "y")], ""),
            ([(":method", "GET"), (":scheme", "http"), ("x", "y"), (":path", "/"), (":authority", "a")], ""),
            (
                [
                    (":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "a"),
                    ("content-length", "x"),
                ],
                ""
            ),
        ] as [([(String, String)], String)])
    func badHeads(_ fields: [(String, String)], _ code: String) {
        let recorder = Recorder()
        var client = ClientBytes()
        client.headers(1, fields, ends: true)
        client.request(3, "GET", ends: true)
        #expect(recorder.read(client))
        let good = "3 GET /a none Host=a.test"
        if code.isEmpty {
            #expect(recorder.events == ["1 malformed", good])
            #expect(recorder.sent().contains { $0.type == 3 && $0.stream == 1 && $0.number == 1 })
        } else {
            #expect(recorder.events == ["1 refused \(code)", good])
        }
    }

    @Test("Limits of a head hold at their number", arguments: [99, 100, 101])
    func fieldCount(_ count: Int) {
        let recorder = Recorder()
        var client = ClientBytes()
        // Host is one of them.
        client.request(1, "GET", fields: (1..<count).map { ("x-\($0)", "y") }, ends: true)
        #expect(recorder.read(client))
        #expect(recorder.events.count == 1)
        #expect(recorder.events[0].hasPrefix(count <= 100 ? "1 GET" : "1 refused http_too_many_fields"))
    }

    @Test("The size of a head is bounded", arguments: [-1, 0, 1])
    func headSize(_ excess: Int) {
        var wire = WireLimits()
        wire.head = 1000
        let recorder = Recorder(wire: wire)
        let fixed = "GET /a?b HTTP/1.1\r\nHost: a.test\r\nx: \r\n\r\n".utf8.count
        var client = ClientBytes()
        client.request(1, "GET", fields: [("x", String(repeating: "y", count: 1000 - fixed + excess))], ends: true)
        #expect(recorder.read(client))
        #expect(recorder.events[0].hasPrefix(excess <= 0 ? "1 GET" : "1 refused http_head_too_large"))
    }

    @Test("Content that isn't as long as was said resets the stream", arguments: [2, 3, 4])
    func lengths(_ count: Int) {
        let recorder = Recorder()
        var client = ClientBytes()
        client.request(1, fields: [("content-length", "3")])
        client.data(1, [UInt8](repeating: 1, count: count), ends: true)
        #expect(recorder.read(client))
        let frames = recorder.sent()
        #expect(recorder.events.contains("1 ended") == (count == 3))
        #expect(frames.contains { $0.type == 3 && $0.stream == 1 } == (count != 3))
        #expect(recorder.closings[1] == (count == 3 ? nil : 1))
    }

    @Test("Trailers come behind the content; those that can't be taken reset the stream")
    func trailers() {
        let recorder = Recorder()
        var client = ClientBytes()
        client.request(1)
        client.data(1, [1])
        client.headers(1, [("x-sum", "7"), ("y", "z")], ends: true)
        client.request(3)
        client.headers(3, [(":path", "/")], ends: true)
        client.request(5)
        client.headers(5, (0...32).map { ("x-\($0)", "7") }, ends: true)
        #expect(recorder.read(client))
        #expect(recorder.events.filter { $0.hasSuffix("ended") } == ["1 ended"])
        var output = OutputBuffer()
        recorder.streams[1]?.trailers.write(named: [Array("x-sum".utf8)], into: &output)
        #expect(output.span.copied() == Array("x-sum: 7\r\n".utf8))
        let resets = recorder.sent().filter { $0.type == 3 }.map(\.stream)
        #expect(Set(resets) == [3, 5])
    }

    @Test("An idle connection keeps no memory of large heads and answers")
    func idleMemory() {
        let recorder = Recorder()
        let limit = 6 * ServerSession.keptCapacity
        for (number, size) in [10, 8000, 10].enumerated() {
            let id = Int32(2 * number + 1)
            var client = number == 0 ? ClientBytes() : ClientBytes.more()
            let long = String(repeating: "c", count: size)
            client.request(id, "GET", path: "/\(long)", fields: [("cookie", long)], ends: true)
            #expect(recorder.read(client))
            var none = OutputBuffer()
            recorder.streams[id]?.respond(200, &none, hasContent: true)
            _ = recorder.streams[id]?.write([UInt8](repeating: 1, count: 60_000).span)
            recorder.streams[id]?.end(trailers: &none)
            _ = recorder.sent()
            var update = ClientBytes.more()
            update.frame(8, 0, 0, ClientBytes.four(60_000))
            #expect(recorder.read(update))
            _ = recorder.sent()
            #expect(recorder.closings[id] == 1)
            #expect(recorder.session.capacity <= limit, "behind \(size)")
        }
    }

    @Test("An idle connection gives pages back, which nobody can tell from what it sends next")
    func idlePages() {
        let resting = Recorder()
        let other = Recorder()
        let pages = getpagesize() == 4096 ? 5 * 4096 : 0
        // Settings wait, and only the table of streams is empty.
        #expect(resting.session.giveBackPages() == min(pages, 4096))
        #expect(resting.sent() == other.sent())
        #expect(resting.session.giveBackPages() == pages)
        // More than a frame of a head, content that waits for room, and all streams that there may be.
        for (number, (name, streams)) in [("a", 1), ("b", 100), (String(repeating: "n", count: 40_000), 1), ("d", 2)]
            .enumerated()
        {
            var client = number == 0 ? ClientBytes() : ClientBytes.more()
            let ids = (0..<streams).map { Int32(1000 * number + 2 * $0 + 1) }
            for id in ids { client.request(id, "GET", fields: [("x", "\(id)")], ends: true) }
            for recorder in [resting, other] { #expect(recorder.read(client)) }
            #expect(resting.session.giveBackPages() == 0, "streams are open")
            for recorder in [resting, other] {
                for id in ids {
                    var head = lines("a: \(number)\r\nb: \(name)\r\n")
                    recorder.streams[id]?.respond(200, &head, hasContent: true)
                    _ = recorder.streams[id]?.write([UInt8](repeating: UInt8(number), count: 60_000 / streams).span)
                    var none = OutputBuffer()
                    recorder.streams[id]?.end(trailers: &none)
                }
            }
            var frames = resting.sent()
            #expect(frames.count >= streams)
            #expect(frames == other.sent())
            #expect(resting.session.giveBackPages() == (resting.session.openStreams == 0 ? pages : 0))
            var update = ClientBytes.more()
            update.frame(8, 0, 0, ClientBytes.four(60_000))
            for recorder in [resting, other] { #expect(recorder.read(update)) }
            frames = resting.sent()
            #expect(frames == other.sent())
            #expect(ids.allSatisfy { resting.closings[$0] == 1 })
            #expect(resting.session.giveBackPages() == pages)
            #expect(resting.session.capacity == 0)
        }
    }

    // MARK: Backpressure

    @Test("A stream's window is given back as content is taken, the connection's as it comes")
    func windows() {
        let recorder = Recorder()
        _ = recorder.sent()
        recorder.appetite = 10_000
        var client = ClientBytes()
        client.request(1)
        for _ in 0..<4 { client.data(1, [UInt8](repeating: 7, count: 16_000)) }
        #expect(recorder.read(client))
        #expect(recorder.content[1]?.count == 10_000)
        #expect(recorder.sent().filter { $0.type == 8 && $0.stream == 1 }.isEmpty)
        // More than the window is an error of the client's.
        recorder.appetite = .max
        recorder.streams[1]?.resume()
        #expect(recorder.content[1]?.count == 64_000)
        let given = recorder.sent().filter { $0.type == 8 && $0.stream == 1 }.reduce(0) { $0 + $1.number }
        #expect(given == 64_000)
    }

    @Test("Content that frames of one read bring of a stream comes in one piece, of each stream by itself")
    func gathered() {
        let recorder = Recorder()
        var client = ClientBytes()
        client.request(1)
        client.request(3)
        for _ in 0..<3 {
            client.data(1, [UInt8](repeating: 1, count: 1000))
            client.data(3, [UInt8](repeating: 3, count: 500))
        }
        #expect(recorder.read(client))
        #expect(recorder.pieces == [3000, 1500])
        // With the end it is known to be the last.
        var end = ClientBytes.more()
        end.data(1, [1, 1])
        end.data(1, [1], ends: true)
        end.data(3, [3], ends: true)
        #expect(recorder.read(end))
        #expect(recorder.pieces == [3000, 1500, 3, 1])
        #expect(recorder.lastPieces == [3, 1])
        #expect(recorder.events.suffix(2) == ["1 ended", "3 ended"])
        #expect(recorder.content[1]?.count == 3003)
    }

    @Test("No more content is gathered than a piece may have", arguments: [-1, 0, 1])
    func mostGathered(_ more: Int) {
        var limits = HTTP2Limits()
        limits.streamWindow = 1 << 20
        let recorder = Recorder(limits: limits)
        _ = recorder.sent()
        let most = HTTP2Stream.mostGathered
        var client = ClientBytes()
        client.frame(4, 1, 0, [])
        client.request(1)
        let sizes = [16_384, 16_384, 16_384, most - 3 * 16_384 - 1, more + 1, 100].filter { $0 > 0 }
        for size in sizes { client.data(1, [UInt8](repeating: 7, count: size)) }
        #expect(recorder.read(client))
        // One byte fewer waits for another frame.
        #expect(recorder.pieces == (more < 0 ? [most + 99] : [most + more, 100]))
    }

    @Test("Content that was gathered comes before its stream is over, and waits where it is paused")
    func gatheredEnds() {
        let recorder = Recorder()
        var client = ClientBytes()
        client.request(1)
        client.data(1, [1, 2, 3])
        client.frame(3, 0, 1, ClientBytes.four(8))
        #expect(recorder.read(client))
        #expect(recorder.content[1] == [1, 2, 3])
        #expect(recorder.events.last == "1 closed 8")

        recorder.onRequest = { $0.pause() }
        var paused = ClientBytes.more()
        paused.request(3)
        for _ in 0..<2 { paused.data(3, [1, 2, 3]) }
        #expect(recorder.read(paused))
        #expect(recorder.content[3] == nil)
        #expect(recorder.most == 6)
        recorder.streams[3]?.resume()
        #expect(recorder.content[3]?.count == 6)
    }

    /// A session whose request was answered whole before its content was taken, and has come to its end.
    private static func answered(takesRest: Bool) -> Recorder {
        let recorder = Recorder()
        recorder.takesRest = takesRest
        recorder.onRequest = { stream in
            stream.pause()
            var lines = OutputBuffer()
            stream.respond(200, &lines, hasContent: false)
        }
        var client = ClientBytes()
        client.request(1)
        client.data(1, [1, 2, 3])
        client.data(1, [4, 5], ends: true)
        #expect(recorder.read(client))
        _ = recorder.sent()
        return recorder
    }

    @Test("Content that waits when both sides have said all is still brought, and then its stream is over")
    func restBehindTheEnd() {
        let recorder = Self.answered(takesRest: true)
        #expect(recorder.session.openStreams == 0)
        #expect(recorder.content[1] == nil && recorder.closings[1] == nil)
        recorder.appetite = 2
        recorder.streams[1]?.resume()
        #expect(recorder.content[1] == [1, 2] && recorder.closings[1] == nil)
        // Also when the connection has gone meanwhile.
        recorder.session.closeStreams()
        recorder.appetite = .max
        recorder.streams[1]?.resume()
        #expect(recorder.content[1] == [1, 2, 3, 4, 5])
        #expect(recorder.events.suffix(2) == ["1 ended", "1 closed 0"])
        #expect(recorder.closings[1] == 1)
    }

    @Test("Content that waits when both sides have said all is dropped where nobody wants it")
    func restThatNobodyWants() {
        let unwanted = Self.answered(takesRest: false)
        #expect(unwanted.content[1] == nil)
        #expect(unwanted.events.last == "1 closed 0")
        let dropped = Self.answered(takesRest: true)
        dropped.streams[1]?.drop()
        #expect(dropped.content[1] == nil)
        #expect(dropped.events.last == "1 closed 0")
        dropped.streams[1]?.resume()
        #expect(dropped.content[1] == nil && dropped.closings[1] == 1)
    }

    @Test(
        "A frame that waits for room is left out where its stream is closed, and all that is sent are whole frames",
        arguments: [false, true])
    func waitingFrame(_ isLast: Bool) {
        let recorder = Recorder()
        // Output that waits is bounded, and one frame of content more is asked for.
        let size = HTTP2Session.highWatermark + (isLast ? 10 : 40_000)
        recorder.onRequest = { stream in
            var lines = OutputBuffer()
            stream.respond(200, &lines, hasContent: true)
            _ = stream.write([UInt8](repeating: 7, count: size).span)
            stream.end(trailers: &lines)
        }
        var client = ClientBytes(settings: [(4, 1 << 20)])
        client.frame(8, 0, 0, ClientBytes.four(1 << 20))
        client.request(1, ends: true)
        #expect(recorder.read(client))
        var bytes: [UInt8] = []
        recorder.session.write { output in
            bytes += output.span.copied()
            output.removeAll()
            return false
        }
        recorder.session.terminate(.enhanceYourCalm)
        recorder.session.closeStreams()
        recorder.session.write { output in
            bytes += output.span.copied()
            output.removeAll()
            return true
        }
        let frames = SentFrame.all(in: bytes)
        #expect(frames.last?.type == 7 && frames.last?.number == HTTP2ErrorCode.enhanceYourCalm.rawValue)
        let content = frames.filter { $0.type == 0 }
        #expect(content.allSatisfy { $0.payload.allSatisfy { $0 == 7 } && $0.flags & 1 == 0 })
        #expect(content.reduce(0) { $0 + $1.payload.count } < size)
    }

    @Test("The last byte of content whose length was said comes with the stream's end", arguments: [1, 3, 1000])
    func lastByte(_ count: Int) {
        let recorder = Recorder()
        var client = ClientBytes()
        client.request(1, fields: [("content-length", "\(count)")])
        client.data(1, [UInt8](repeating: 5, count: count))
        #expect(recorder.read(client))
        #expect(recorder.content[1]?.count ?? 0 == count - 1)
        var end = ClientBytes.more()
        end.data(1, [], ends: true)
        #expect(recorder.read(end))
        #expect(recorder.content[1]?.count == count)
        #expect(recorder.events.last == "1 ended")

        let other = Recorder()
        var more = client
        more.data(1, [6], ends: true)
        #expect(other.read(more))
        #expect(other.content[1]?.count ?? 0 == count - 1)
        #expect(other.closings[1] == 1 || other.sent().contains { $0.type == 3 && $0.stream == 1 })
    }

    @Test("Of a frame that may bring more than was said nothing is told before it is whole", arguments: [false, true])
    func lastByteOfFrame(_ isPadded: Bool) {
        let recorder = Recorder()
        var client = ClientBytes()
        client.request(1, fields: [("content-length", "3")])
        let frameAt = client.bytes.count
        client.frame(0, isPadded ? 9 : 1, 1, isPadded ? [5, 1, 2, 3, 0, 0, 0, 0, 0] : [1, 2, 3, 4])
        // What comes first has all that was said, and not all of the frame.
        let cut = frameAt + 9 + (isPadded ? 4 : 3)
        var rest = ClientBytes.more()
        rest.bytes = Array(client.bytes[cut...])
        client.bytes = Array(client.bytes[..<cut])
        #expect(recorder.read(client))
        #expect(recorder.content[1] == nil)
        #expect(recorder.read(rest))
        #expect(recorder.content[1] == (isPadded ? [1, 2, 3] : nil))
        #expect(recorder.events.contains("1 ended") == isPadded)
    }

    @Test("Cookies are one field, whose size is bounded while they come", arguments: [1, 2, 5000])
    func cookies(_ count: Int) {
        let recorder = Recorder()
        var client = ClientBytes()
        let crumb = ("cookie", count == 1 ? "" : String(repeating: "c", count: 10))
        let fields = [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "a")]
        var block = ClientBytes.block(fields + [(String, String)](repeating: crumb, count: count))
        client.frame(1, block.count <= 16_000 ? 5 : 1, 1, Array(block.prefix(16_000)))
        block = Array(block.dropFirst(16_000))
        while !block.isEmpty {
            client.frame(9, block.count <= 16_000 ? 4 : 0, 1, Array(block.prefix(16_000)))
            block = Array(block.dropFirst(16_000))
        }
        // A flood of them ends the connection.
        #expect(recorder.read(client) || count == 5000)
        let event = recorder.events.first ?? ""
        switch count {
        case 1: #expect(event == "1 GET / none Host=a cookie=")
        case 2: #expect(event == "1 GET / none Host=a cookie=cccccccccc; cccccccccc")
        default: #expect(event.isEmpty || event.hasPrefix("1 refused http_field_line_too_long"))
        }
    }

    @Test("A client that overruns a window is stopped")
    func overrun() {
        let recorder = Recorder()
        recorder.appetite = 0
        var client = ClientBytes()
        client.request(1)
        for _ in 0..<5 { client.data(1, [UInt8](repeating: 7, count: 16_000)) }
        recorder.read(client)
        let frames = recorder.sent()
        #expect(frames.contains { $0.type == 3 && $0.number == 3 || $0.type == 7 && $0.number == 3 })
    }

    @Test(
        "A response waits for the client's windows, and says when it is full and when it has room",
        arguments: [false, true])
    func responses(givesMemory: Bool) {
        let recorder = Recorder()
        var drained = 0
        recorder.onDrained = { _ in drained += 1 }
        var client = ClientBytes()
        client.request(1, "GET", ends: true)
        recorder.read(client)
        let stream = recorder.streams[1]!
        var head = lines("Content-Type: text/plain\r\nConnection: close\r\nKeep-Alive: 1\r\nX-Y: z\r\n")
        stream.respond(200, &head, hasContent: true)
        var content = OutputBuffer()
        content.append([UInt8](repeating: 9, count: 100_000))
        let hasRoom = givesMemory ? stream.write(taking: &content) : stream.write(content.span)
        #expect(content.isEmpty == givesMemory)
        #expect(!hasRoom)
        #expect(stream.isFull)
        var frames = recorder.sent()
        #expect(frames.first { $0.stream == 1 }?.type == 1)
        #expect(frames.filter { $0.type == 0 }.reduce(0) { $0 + $1.payload.count } == 65_535)
        #expect(stream.queued == 100_000 - 65_535)
        #expect(recorder.session.memory >= 100_000)
        #expect(drained == 0)
        var update = ClientBytes.more()
        update.frame(8, 0, 0, ClientBytes.four(100_000))
        update.frame(8, 0, 1, ClientBytes.four(100_000))
        recorder.read(update)
        frames = recorder.sent()
        #expect(drained == 1)
        #expect(!stream.isFull)
        // What goes on may pause: its memory doesn't wait with it.
        #expect(recorder.session.memory == 0)
        var trailers = lines("X-Sum: 1\r\n")
        stream.end(trailers: &trailers)
        frames += recorder.sent()
        #expect(frames.filter { $0.type == 0 }.reduce(0) { $0 + $1.payload.count } == 100_000 - 65_535)
        #expect(frames.last?.type == 1 && frames.last?.flags == 5)
        #expect(recorder.closings[1] == 1)
        #expect(recorder.events.last == "1 closed 0")
    }

    @Test("Responses end with their head, with content, or behind interim ones")
    func ends() {
        let recorder = Recorder()
        var client = ClientBytes()
        for stream: Int32 in [1, 3, 5] { client.request(stream, "GET", ends: true) }
        recorder.read(client)
        var none = OutputBuffer()
        recorder.streams[1]!.respond(204, &none, hasContent: false)
        recorder.streams[3]!.respond(103, &none, hasContent: false)
        recorder.streams[3]!.respond(200, &none, hasContent: true)
        _ = recorder.streams[3]!.write(Array("ab".utf8).span)
        recorder.streams[3]!.end(trailers: &none)
        recorder.streams[5]!.respond(200, &none, hasContent: true)
        recorder.streams[5]!.end(trailers: &none)
        let frames = recorder.sent().filter { $0.stream > 0 }
        #expect(frames.filter { $0.stream == 1 }.map { [$0.type, $0.flags] } == [[1, 5]])
        #expect(frames.filter { $0.stream == 3 }.map { [$0.type, $0.flags] } == [[1, 4], [1, 4], [0, 1]])
        #expect(frames.filter { $0.stream == 5 }.map { [$0.type, $0.flags] } == [[1, 4], [0, 1]])
        #expect(recorder.closings == [1: 1, 3: 1, 5: 1])
    }

    @Test(
        "A request that is answered early ends with RST_STREAM(NO_ERROR), behind the answer", arguments: [false, true])
    func earlyAnswer(_ hasContent: Bool) {
        let recorder = Recorder()
        var client = ClientBytes()
        client.request(1)
        client.data(1, [1, 2, 3])
        recorder.read(client)
        let stream = recorder.streams[1]!
        var none = OutputBuffer()
        stream.respond(413, &none, hasContent: hasContent)
        if hasContent {
            _ = stream.write([1].span)
            stream.end(trailers: &none)
        }
        stream.resetWhenSent()
        let frames = recorder.sent().filter { $0.stream == 1 }
        #expect(frames.map(\.type) == (hasContent ? [1, 0, 3] : [1, 3]))
        #expect(frames.last?.number == 0)
        #expect(frames[frames.count - 2].flags & 1 == 1)
    }

    // MARK: Ends

    @Test("A head that breaks a rule of HTTP/2 is told once, its stream reset, and the connection goes on")
    func malformedHeads() {
        let recorder = Recorder()
        var client = ClientBytes()
        client.request(1, fields: [("connection", "close"), ("x", "y")], ends: true)
        client.headers(3, [(":method", "GET"), (":scheme", "http")], ends: true)
        // In trailers it isn't: the request has begun.
        client.request(5)
        client.headers(5, [(":path", "/")], ends: true)
        client.request(7, "GET", ends: true)
        #expect(recorder.read(client))
        let frames = recorder.sent().filter { $0.type == 3 }
        #expect(frames.map(\.stream) == [1, 3, 5])
        #expect(frames.allSatisfy { $0.number == 1 })
        #expect(recorder.events.filter { $0.hasSuffix("malformed") } == ["1 malformed", "3 malformed"])
        #expect(recorder.refusedLines == ["1 POST /a HTTP/2.0", "3 GET  HTTP/2.0"])
        #expect(recorder.closings == [1: 1, 3: 1, 5: 1])
        #expect(recorder.events.contains { $0.hasPrefix("7 GET") })
    }

    @Test("A head that is refused tells what came of its request line, and nothing of another one's")
    func refusedLines() {
        let recorder = Recorder()
        var client = ClientBytes()
        client.request(1, "PUT", path: "/first?x", ends: true)
        client.request(3, "HEAD", path: "/expect", fields: [("expect", "wonders")], ends: true)
        client.request(5, path: "/host", fields: [("host", "b.test")], ends: true)
        client.request(7, path: "/value", fields: [("x", "a\u{1}b")], ends: true)
        client.headers(9, [(":method", "CONNECT"), (":authority", "a.test:1")], ends: true)
        client.headers(11, [(":method", "GET"), (":scheme", "ftp"), (":path", "/scheme")], ends: true)
        client.request(13, "no method", path: "/method", ends: true)
        client.request(15, path: "/a#b", ends: true)
        client.request(17, path: "/last", ends: true)
        #expect(recorder.read(client))
        #expect(
            recorder.refusedLines == [
                "3 HEAD /expect HTTP/2.0", "5 POST /host HTTP/2.0", "7 POST /value HTTP/2.0", "9 CONNECT  HTTP/2.0",
                "11 GET /scheme HTTP/2.0", "13   HTTP/2.0", "15 POST /a#b HTTP/2.0",
            ])
        #expect(recorder.events.last?.hasPrefix("17 POST /last") == true)
    }

    @Test("A flood of CONTINUATION frames ends alike however it is cut", arguments: 1...60)
    func cutContinuations(size: Int) {
        let recorder = Recorder()
        var client = ClientBytes()
        let start = client.bytes.count
        client.request(1, ends: true)
        client.bytes[start + 4] &= ~4
        for _ in 1...40 { client.frame(9, 0, 1, []) }
        recorder.read(client, by: size)
        #expect(recorder.session.failure?.kind == .excess)
        #expect(recorder.sent().filter { $0.type == 7 }.map(\.number) == [11])
    }

    @Test(
        "Eight CONTINUATION frames may be behind each head, however they are cut; more end the connection, which is told why",
        arguments: [7, 8, 9, 10], [1, 2, 5, 8, 13, .max])
    func continuations(count: Int, size: Int) {
        let recorder = Recorder()
        var client = ClientBytes()
        for stream: Int32 in [1, 3] {
            let start = client.bytes.count
            client.request(stream, ends: true)
            // No END_HEADERS.
            client.bytes[start + 4] &= ~4
            for number in 1...count { client.frame(9, number == count ? 4 : 0, stream, []) }
        }
        let isTaken = recorder.read(client, by: size)
        #expect(recorder.events.count == (count <= 8 ? 2 : 0))
        let reasons = recorder.sent().filter { $0.type == 7 }.map(\.number)
        #expect(isTaken == (count <= 8))
        #expect(recorder.session.failure?.kind == (count <= 8 ? nil : .excess))
        #expect(reasons == (count <= 8 ? [] : [11]))
    }

    @Test("A stream that is over becomes the next one, with nothing of the first left, unless somebody holds it")
    func spareStreams() throws {
        let spares = HTTP2StreamSpares()
        let forgetful = Forgetful(spares)
        var client = ClientBytes()
        client.request(1)
        client.data(1, [1, 2, 3])
        client.headers(1, [("t", "u")], ends: true)
        client.request(3, fields: [("content-length", "9")])
        client.frame(3, 0, 3, ClientBytes.four(8))
        client.request(5)
        forgetful.read(client)
        #expect(forgetful.begun.count == 3)
        // The first has neither been taken nor answered: it is open, and the third took the second's place.
        #expect(forgetful.begun[1] == forgetful.begun[2])
        #expect(forgetful.begun[0] != forgetful.begun[1])
        #expect(forgetful.faults == [])
        client = .more()
        client.frame(3, 0, 1, ClientBytes.four(8))
        client.request(7, fields: [("content-length", "2")])
        client.data(7, [1, 2], ends: true)
        forgetful.read(client)
        #expect(forgetful.begun.last == forgetful.begun.first)
        #expect(forgetful.faults == [])
        forgetful.held.append(try #require(forgetful.last))
        client = .more()
        client.frame(3, 0, 7, ClientBytes.four(8))
        client.request(9)
        forgetful.read(client)
        #expect(forgetful.begun.last != forgetful.begun.first)
        #expect(forgetful.held[0].id == 7)
    }

    @Test("A field that each response has another value of has one place in the table of fields, for its name")
    func variedFields() throws {
        let recorder = Recorder()
        var client = ClientBytes()
        for id in [1, 3, 5, 7] as [Int32] { client.request(id, "GET", ends: true) }
        recorder.read(client)
        let kept = "Content-Type: text/x-something\r\n"
        let heads = [kept, kept, kept + "X-Request-Id: a\r\n", kept + "X-Request-Id: b\r\n"]
        for (id, text) in zip([1, 3, 5, 7] as [Int32], heads) {
            var head = lines(text)
            recorder.streams[id]!.respond(200, &head, hasContent: false)
        }
        let blocks = recorder.sent().filter { $0.type == 1 }.map(\.payload)
        try #require(blocks.count == 4)
        // An index of one byte each for the status and for the type that came before.
        #expect(blocks[0].count > 2 && blocks[1].count == 2)
        // A literal that enters the table (RFC 7541 §6.2.1).
        #expect(blocks[2].starts(with: blocks[1] + [0x40]))
        // The type is one place further now. A literal that is never indexed, with the name of place 62 (RFC 7541 §6.2.3).
        #expect(blocks[3] == [0x88, 0x80 | 63, 0x1F, 62 - 15, 1, UInt8(ascii: "b")])
    }

    @Test("A client's reset closes the stream once, and so does the connection's end")
    func resets() {
        let recorder = Recorder()
        var client = ClientBytes()
        client.request(1)
        client.request(3)
        client.frame(3, 0, 1, ClientBytes.four(8))
        #expect(recorder.read(client))
        #expect(recorder.events.last == "1 closed 8")
        recorder.session.closeStreams()
        #expect(recorder.closings == [1: 1, 3: 1])
        recorder.session.closeStreams()
        #expect(recorder.closings == [1: 1, 3: 1])
    }

    @Test("A stream that a client resets with NO_ERROR is given up, too", arguments: [false, true])
    func resetWithoutError(_ isAnswered: Bool) {
        let recorder = Recorder()
        var client = ClientBytes()
        client.request(1)
        recorder.read(client)
        var none = OutputBuffer()
        if isAnswered { recorder.streams[1]!.respond(200, &none, hasContent: false) }
        _ = recorder.sent()
        var reset = ClientBytes.more()
        reset.frame(3, 0, 1, ClientBytes.four(0))
        #expect(recorder.read(reset))
        #expect(recorder.events.last == "1 closed 8")
    }

    @Test("A head on a stream that is over ends the connection, unless one was reset here", arguments: [false, true])
    func strays(_ isReset: Bool) {
        let recorder = Recorder()
        recorder.onRequest = { stream in
            var none = OutputBuffer()
            if isReset { stream.reset(.cancel) } else { stream.respond(200, &none, hasContent: false) }
        }
        var client = ClientBytes()
        for id in [5, 7] as [Int32] { client.request(id, "GET", ends: true) }
        #expect(recorder.read(client))
        _ = recorder.sent()
        #expect(recorder.session.openStreams == 0)
        // Content that comes so is dropped.
        var content = ClientBytes.more()
        content.data(5, [1], ends: true)
        #expect(recorder.read(content))
        #expect(!recorder.sent().contains { $0.type == 7 })
        for id in [5, 3] as [Int32] {
            var stray = ClientBytes.more()
            stray.request(id, "GET", ends: true)
            recorder.read(stray)
        }
        #expect(recorder.sent().filter { $0.type == 7 }.map(\.number) == (isReset ? [] : [5]))
        #expect(recorder.session.isOver == !isReset)
        #expect(recorder.events.count == 4)
    }

    @Test("A PRIORITY frame of no stream ends the connection; others are nothing")
    func priorities() {
        let recorder = Recorder()
        var client = ClientBytes()
        client.frame(2, 0, 1, [0, 0, 0, 3, 1])
        #expect(recorder.read(client))
        #expect(!recorder.sent().contains { $0.type == 7 })
        var wrong = ClientBytes.more()
        wrong.frame(2, 0, 0, [0, 0, 0, 3, 1])
        recorder.read(wrong)
        #expect(recorder.sent().filter { $0.type == 7 }.map(\.number) == [1])
    }

    @Test("No request begins behind the end of its connection, even one whose head is half read")
    func terminated() {
        let recorder = Recorder()
        var client = ClientBytes()
        client.frame(
            1, 1, 1, ClientBytes.block([(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "a")]))
        recorder.read(client)
        recorder.session.terminate(.enhanceYourCalm)
        var rest = ClientBytes.more()
        rest.frame(9, 4, 1, [])
        rest.request(3)
        recorder.read(rest)
        #expect(recorder.events.isEmpty)
        _ = recorder.sent()
        #expect(recorder.session.isOver)
        recorder.session.closeStreams()
        #expect(recorder.events.isEmpty)
    }

    @Test("A connection ends in good order: GOAWAY twice, and requests between them are served")
    func goAway() {
        let recorder = Recorder()
        var client = ClientBytes()
        client.request(1, "GET", ends: true)
        recorder.read(client)
        recorder.session.announceEnd()
        var frames = recorder.sent()
        #expect(frames.filter { $0.type == 7 }.map { Array($0.payload[0..<4]) } == [[0x7F, 255, 255, 255]])
        var more = ClientBytes.more()
        more.request(3, "GET", ends: true)
        recorder.read(more)
        recorder.session.end()
        frames = recorder.sent()
        #expect(frames.filter { $0.type == 7 }.map { Array($0.payload[0..<4]) } == [[0, 0, 0, 3]])
        more = ClientBytes.more()
        more.request(5, "GET", ends: true)
        recorder.read(more)
        #expect(recorder.streams[5] == nil)
        var none = OutputBuffer()
        #expect(!recorder.session.isOver)
        for id: Int32 in [1, 3] { recorder.streams[id]!.respond(204, &none, hasContent: false) }
        _ = recorder.sent()
        #expect(recorder.session.isOver)
        #expect(recorder.closings == [1: 1, 3: 1])
    }

    @Test("A PING asks for a sign of life, and nothing is said to its acknowledgement")
    func ping() throws {
        let recorder = Recorder()
        #expect(recorder.read(ClientBytes()))
        _ = recorder.sent()
        for _ in 0..<10 { recorder.session.ping() }
        let frames = recorder.sent()
        #expect(frames.map(\.type) == [UInt8](repeating: 6, count: 10))
        for frame in frames {
            #expect(frame.flags == 0 && frame.payload.count == 8)
            var client = ClientBytes.more()
            client.frame(6, 1, 0, frame.payload)
            #expect(recorder.read(client))
        }
        #expect(recorder.sent().isEmpty)
    }

    @Test("Streams beyond the limit are refused; a client that knows the limit has broken it")
    func tooManyStreams() {
        var limits = HTTP2Limits()
        limits.streams = 2
        let recorder = Recorder(limits: limits)
        _ = recorder.sent()
        var acknowledged = ClientBytes()
        acknowledged.frame(4, 1, 0, [])
        for id: Int32 in [1, 3, 5] { acknowledged.request(id) }
        recorder.read(acknowledged)
        // nghttp2 ends the connection of a client that knows the limit.
        #expect(recorder.sent().contains { $0.type == 7 && $0.number == 1 })
        #expect(recorder.events.count == 2)
        let other = Recorder(limits: limits)
        var client = ClientBytes()
        for id: Int32 in [1, 3, 5] { client.request(id) }
        #expect(other.read(client))
        #expect(other.sent().filter { $0.type == 3 }.map { [$0.stream, Int32($0.number)] } == [[5, 7]])
        #expect(other.events.count == 2)
    }

    // MARK: Floods

    enum Flood: CaseIterable, CustomTestStringConvertible {
        case ping, settings, emptyData, windowUpdates, priority, resets, continuation

        var testDescription: String { "\(self)" }

        /// The frames of one round.
        func add(_ number: Int, to client: inout ClientBytes) {
            switch self {
            case .ping: client.frame(6, 0, 0, [UInt8](repeating: 1, count: 8))
            case .settings: client.frame(4, 0, 0, [])
            case .emptyData: client.data(1, [])
            case .windowUpdates: client.frame(8, 0, 1, ClientBytes.four(1))
            case .priority: client.frame(2, 0, 1, ClientBytes.four(3) + [1])
            case .resets:
                client.request(Int32(2 * number + 3))
                client.frame(3, 0, Int32(2 * number + 3), ClientBytes.four(8))
            case .continuation:
                if number == 0 { client.frame(1, 0, 3, ClientBytes.block([(":method", "GET")])) }
                client.frame(9, 0, 3, ClientBytes.block([("x-\(number)", "y")]))
            }
        }
    }

    @Test("What is of no use ends the connection when there is too much of it", arguments: Flood.allCases)
    func floods(_ flood: Flood) {
        let recorder = Recorder()
        var start = ClientBytes()
        start.request(1)
        #expect(recorder.read(start))
        var rounds = 0
        var hasEnded = false
        var frames: [SentFrame] = []
        while rounds < 2000, !hasEnded {
            var client = ClientBytes.more()
            flood.add(rounds, to: &client)
            hasEnded = !recorder.read(client)
            frames += recorder.sent()
            hasEnded = hasEnded || recorder.session.isOver || frames.contains { $0.type == 7 }
            rounds += 1
        }
        #expect(hasEnded)
        #expect(rounds <= 1001)
        #expect(recorder.streams.count <= 260)
    }

    @Test(
        "A client may reset 200 streams at once whose answer isn't whole, and any whose answer is",
        arguments: [-1, 0, 1])
    func resetsAtOnce(_ excess: Int) {
        let recorder = Recorder()
        var start = ClientBytes()
        start.request(1, ends: true)
        #expect(recorder.read(start))
        for number in 0..<HTTP2Session.mostResets + excess {
            var client = ClientBytes.more()
            Flood.resets.add(number, to: &client)
            recorder.read(client)
        }
        #expect((recorder.session.failure?.reason == "too many streams that are reset") == (excess > 0))
        #expect(recorder.sent().contains { $0.type == 7 && $0.number == 11 } == (excess > 0))
    }

    @Test(
        "A bucket gives what it has at once, and what time and payments bring, up to its most", arguments: [-1, 0, 1])
    func bucket(_ excess: Int) {
        var bucket = Bucket(most: 20, aSecond: 10)
        #expect(bucket.take(20 + excess, now: 0) == (excess <= 0))
        bucket = Bucket(most: 20, aSecond: 10)
        _ = bucket.take(20, now: 0)
        #expect(bucket.take(7 + excess, now: 700_000_000) == (excess <= 0))
        bucket = Bucket(most: 20, aSecond: 10)
        _ = bucket.take(20, now: 0)
        bucket.pay(3)
        #expect(bucket.take(3 + excess, now: 0) == (excess <= 0))
        bucket.pay(100)
        #expect(bucket.take(20 + excess, now: .max / 2) == (excess <= 0))
    }

    @Test(
        "More settings in one frame than nghttp2 takes, 32, end the connection, and are no resets",
        arguments: [31, 32, 33])
    func manySettings(count: Int) {
        let recorder = Recorder()
        var client = ClientBytes()
        client.frame(4, 0, 0, (0..<count).flatMap { _ in [0, 4, 0, 0, 255, 255] as [UInt8] })
        recorder.read(client)
        _ = recorder.sent()
        #expect((recorder.session.failure?.kind == .excess) == (count > 32))
        #expect(recorder.session.failure?.reason == (count > 32 ? "too much in one frame of settings" : nil))
    }

    @Test("Content that moves pays for what is of no use, and so does time")
    func forgiveness() {
        let recorder = Recorder()
        var client = ClientBytes()
        client.request(1)
        #expect(recorder.read(client))
        for round in 0..<3000 {
            var more = ClientBytes.more()
            more.data(1, [UInt8](repeating: 1, count: Nuisance.bytes))
            more.frame(6, 0, 0, [UInt8](repeating: 1, count: 8))
            #expect(recorder.read(more))
            #expect(!recorder.sent().contains { $0.type == 7 }, "in round \(round)")
        }
        var bucket = Nuisance()
        for second in 0..<100 {
            for _ in 0..<Nuisance.aSecond {
                let isLittle = bucket.take(1, now: UInt64(second) * 1_000_000_000 + 1)
                #expect(isLittle)
            }
        }
    }

    @Test(
        "Windows of content that was sent may come late and all at once, two for each message of five bytes",
        arguments: [
            (0, 0), (1, 0), (2, 1), (3, 1), (5, 2), (16_384, 8192), (128 * 1024 - 1, Nuisance.mostWindows - 1),
            (128 * 1024, Nuisance.mostWindows), (128 * 1024 + 2, Nuisance.mostWindows), (1 << 30, Nuisance.mostWindows),
        ])
    func lateWindows(bytes: Int, windows: Int) {
        for size in [bytes, 16 * 1024, 999, 5] where size > 0 && bytes / size < 1 << 20 {
            var nuisance = Nuisance()
            var left = bytes
            while left > 0 {
                nuisance.noteSent(min(size, left))
                left -= min(size, left)
            }
            var taken = 0
            while nuisance.takesWindow() { taken += 1 }
            #expect(taken == windows)
        }
    }

    // MARK: Anything

    @Test("Whatever bytes come, each stream that has begun is closed once")
    func mutations() {
        var random = SystemRandomNumberGenerator()
        let seed = UInt64.random(in: .min ... .max, using: &random)
        var state = seed
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        for _ in 0..<2000 {
            let recorder = Recorder()
            recorder.appetite = next(2) == 0 ? .max : next(50)
            recorder.onRequest = { stream in
                guard next(3) > 0 else { return }
                var head = lines("A: b\r\n")
                stream.respond(200, &head, hasContent: true)
                _ = stream.write([UInt8](repeating: 1, count: next(200_000)).span)
                guard next(3) > 0 else { return }
                var none = OutputBuffer()
                stream.end(trailers: &none)
            }
            var client = ClientBytes()
            for number in 0..<1 + next(6) {
                let id = Int32(2 * number + 1)
                client.request(id, fields: [("x", "y"), ("cookie", "c=d")])
                client.data(id, [UInt8](repeating: 2, count: next(100)), ends: next(2) == 0)
                if next(4) == 0 { client.frame(3, 0, id, ClientBytes.four(8)) }
                if next(4) == 0 { client.frame(8, 0, id, ClientBytes.four(UInt32(next(1 << 20) + 1))) }
            }
            for _ in 0..<next(4) {
                client.bytes[ClientBytes.preface.count + next(client.bytes.count - ClientBytes.preface.count)] =
                    UInt8(next(256))
            }
            recorder.read(client, by: 1 + next(100))
            _ = recorder.sent()
            for stream in recorder.streams.values where next(2) == 0 { stream.resume() }
            _ = recorder.sent()
            let waiting = recorder.session.streams.all.reduce(0) { $0 + $1.queued }
            #expect(recorder.session.memory >= waiting, "seed \(seed)")
            recorder.session.closeStreams()
            #expect(recorder.session.memory == 0, "seed \(seed)")
            // What waits of those that both sides have ended.
            recorder.appetite = .max
            for stream in recorder.streams.values { stream.resume() }
            #expect(recorder.closings.count == recorder.streams.count, "seed \(seed)")
            #expect(recorder.closings.values.allSatisfy { $0 == 1 }, "seed \(seed)")
        }
    }
}

/// An owner that holds no stream, but for those that it is told to hold, and looks whether each begins as a new one.
private final class Forgetful: ServerSessionOwner, HTTP2StreamHandler {
    private var session: ServerSession!
    var begun: [ObjectIdentifier] = []
    var faults: [String] = []
    var held: [HTTP2Stream] = []
    private(set) weak var last: HTTP2Stream?

    init(_ spares: HTTP2StreamSpares) {
        session = ServerSession(
            limits: HTTP2Limits(), wire: WireLimits(), rules: RequestRules(), isSecure: false, owner: self,
            spares: spares)
    }

    func read(_ client: ClientBytes) {
        do {
            try session.read(client.bytes.span, now: 1)
        } catch {
            faults.append(error.reason)
        }
    }

    func sent(onStream id: Int32) -> [SentFrame] {
        var bytes: [UInt8] = []
        session.write { output in
            bytes += output.span.copied()
            output.removeAll()
            return true
        }
        return SentFrame.all(in: bytes).filter { $0.stream == id }
    }

    func began(_ stream: HTTP2Stream, _ head: inout MessageHead) {
        begun.append(ObjectIdentifier(stream))
        let announced: Int? = if case .length(let count) = head.framing { count } else { nil }
        if stream.contentLeft != announced { faults.append("\(stream.id) has content") }
        if stream.isContentComplete || stream.bringsLast { faults.append("\(stream.id) has ended") }
        if !stream.trailers.isEmpty { faults.append("\(stream.id) has trailers") }
        if stream.queued > 0 || stream.isFull || stream.taken > 0 { faults.append("\(stream.id) has a response") }
        stream.handler = self
        last = stream
        // Something of everything, for whom it becomes.
        var head = lines("A: b\r\n")
        stream.respond(200, &head, hasContent: true)
        _ = stream.write([UInt8](repeating: 1, count: 100_000).span)
        var trailers = lines("c: d\r\n")
        stream.end(trailers: &trailers)
        stream.pause()
    }

    func refused(_ stream: HTTP2Stream, _ error: WireError, _ head: inout MessageHead) {
        faults.append("\(stream.id) \(error.code)")
    }
    func malformed(_ stream: HTTP2Stream, _ head: inout MessageHead) { faults.append("\(stream.id) malformed") }
    func received(_ content: Span<UInt8>, on stream: HTTP2Stream) -> Int { 0 }
    func held(_ count: Int, on stream: HTTP2Stream) {}
    func contentEnded(_ stream: HTTP2Stream) {}
    func drained(_ stream: HTTP2Stream) {}
    func closed(_ stream: HTTP2Stream, _ code: HTTP2ErrorCode) {}
}

extension [UInt8] {
    func contains(subsequence: [UInt8]) -> Bool {
        indices.contains { self[$0...].starts(with: subsequence) }
    }
}
