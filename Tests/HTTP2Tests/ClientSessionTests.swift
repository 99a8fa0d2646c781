import HTTPWire
import Octets
import Testing

@testable import HTTP2

/// A client's session and its streams, which writes down what it is told.
final class Caller: ClientSessionOwner, HTTP2StreamHandler {
    var session: ClientSession!
    var events: [String] = []
    var content: [Int32: [UInt8]] = [:]
    /// What content there was when a stream was misread.
    var contentAtFault: [UInt8]?
    /// Of which field it was told then.
    var fieldAtFault: String?
    /// Whether streams are paused at their first content.
    var pauses = false

    init(limits: HTTP2Limits = HTTP2Limits(), wire: WireLimits = WireLimits(), isSecure: Bool = false) {
        session = ClientSession(limits: limits, wire: wire, isSecure: isSecure, owner: self)
    }

    func becameReady() { events.append("ready") }
    func endCame(_ code: HTTP2ErrorCode) { events.append("end \(code.rawValue)") }

    func responded(_ head: inout MessageHead, isComplete: Bool, on stream: HTTP2Stream) {
        var fields: [String] = []
        for index in 0..<head.fieldCount {
            fields.append("\(text(head.name(index)))=\(text(head.value(index)))")
        }
        events.append("\(stream.id) \(head.status) \(isComplete) \(fields.joined(separator: " "))")
    }

    func misread(_ error: WireError, on stream: HTTP2Stream) {
        // A response that the fault overtook would go without what came in front of it.
        contentAtFault = content[stream.id]
        fieldAtFault = session.faultyField
        events.append("\(stream.id) misread \(error.code) \(error.status)")
    }

    func received(_ bytes: Span<UInt8>, on stream: HTTP2Stream) -> Int {
        if pauses {
            stream.pause()
            return 0
        }
        content[stream.id, default: []] += bytes.copied()
        return bytes.count
    }

    func held(_ count: Int, on stream: HTTP2Stream) {}

    func contentEnded(_ stream: HTTP2Stream) {
        var trailers = OutputBuffer()
        stream.trailers.write(named: nil, into: &trailers)
        events.append("\(stream.id) ended \(text(trailers.span))")
    }

    func drained(_ stream: HTTP2Stream) { events.append("\(stream.id) drained") }

    func closed(_ stream: HTTP2Stream, _ code: HTTP2ErrorCode) {
        events.append("\(stream.id) closed \(code.rawValue)\(stream.isMalformed ? " malformed" : "")")
    }

    func text(_ span: Span<UInt8>) -> String { String(decoding: span.copied(), as: UTF8.self) }

    func request(_ head: String = "GET / HTTP/1.1\r\nHost: a.test\r\n", hasContent: Bool = false) -> HTTP2Stream {
        session.request(Array(head.utf8).span, hasContent: hasContent, handler: self)!
    }

    @discardableResult
    func read(_ bytes: [UInt8], by size: Int = .max) -> Bool {
        var at = 0
        while at < bytes.count {
            let end = size == .max ? bytes.count : min(bytes.count, at + size)
            do {
                try session.read(bytes.span.extracting(at..<end), now: 1)
            } catch {
                return false
            }
            at = end
        }
        return true
    }

    func bytes() -> [UInt8] {
        var bytes: [UInt8] = []
        session.write { output in
            bytes += output.span.copied()
            output.removeAll()
            return true
        }
        return bytes
    }

    func sent() -> [SentFrame] {
        let bytes = bytes()
        return SentFrame.all(in: Array(bytes.starts(with: ClientBytes.preface) ? bytes.dropFirst(24) : bytes[...]))
    }
}

/// What a server sends: frames, its SETTINGS in front.
private func server(settings: [(UInt16, UInt32)] = [], _ frames: (inout ClientBytes) -> Void) -> [UInt8] {
    var server = ClientBytes(settings: settings)
    frames(&server)
    return Array(server.bytes.dropFirst(24))
}

/// The client's side of a connection without sockets: bytes in, events and bytes out.
@Suite("HTTP/2: a client's session")
struct ClientSessionTests {
    @Test("The preface and settings come first; a server that tells its own is one of HTTP/2")
    func settings() {
        var limits = HTTP2Limits()
        limits.streamWindow = 100_000
        let caller = Caller(limits: limits)
        let bytes = caller.bytes()
        #expect(bytes.starts(with: ClientBytes.preface))
        let frames = SentFrame.all(in: Array(bytes.dropFirst(24)))
        #expect(frames[0].type == 4)
        #expect(frames[0].payload.contains(subsequence: [0, 2, 0, 0, 0, 0]))
        #expect(frames[0].payload.contains(subsequence: [0, 4] + ClientBytes.four(100_000)))
        #expect(!caller.session.isReady)
        #expect(caller.read(server(settings: [(3, 7)]) { _ in }))
        #expect(caller.events == ["ready"])
        #expect(caller.session.peerStreams == 7)
    }

    @Test(
        "What isn't HTTP/2 fails the connection",
        arguments: ["HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "220 mail ESMTP\r\n"])
    func otherProtocol(text: String) {
        for size in [Int.max, 1] {
            let caller = Caller()
            #expect(!caller.read(Array(text.utf8), by: size) || !caller.session.isReady)
            #expect(!caller.session.isReady)
        }
    }

    @Test("A server reads the request that was written as HTTP/1.1's")
    func requests() {
        let caller = Caller()
        let recorder = Recorder()
        _ = caller.request(
            "POST /a?b=%20 HTTP/1.1\r\nHost: a.test:80\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n"
                + "TE: trailers\r\nConnection: TE\r\nX-Empty:\r\nCookie: a=1; b=2\r\n", hasContent: true)
        let stream = caller.request(
            "PUT /b HTTP/1.1\r\nX-First: 1\r\nHost: b\r\nContent-Length: 3\r\n", hasContent: true)
        _ = stream.write(Array("abc".utf8).span)
        var none = OutputBuffer()
        stream.end(trailers: &none)
        _ = caller.request("OPTIONS * HTTP/1.1\r\nHost: c\r\n")
        var client = ClientBytes.more()
        client.bytes = caller.bytes()
        #expect(recorder.read(client))
        #expect(
            recorder.events == [
                "1 POST /a chunked Host=a.test:80 content-type=text/plain te=trailers x-empty= cookie=a=1; b=2",
                "3 PUT /b length(3) Host=b x-first=1 content-length=3",
                "5 OPTIONS * none Host=c",
                "3 ended",
            ])
        #expect(recorder.content[3] == Array("abc".utf8))
    }

    @Test("Content and trailers of a request end its stream, and what waits is told when it is gone")
    func requestContent() {
        let caller = Caller()
        let recorder = Recorder()
        let stream = caller.request("POST / HTTP/1.1\r\nHost: a\r\n", hasContent: true)
        let content = [UInt8](repeating: 7, count: 40_000)
        let hasRoom = stream.write(content.span)
        #expect(hasRoom)
        stream.tellEmpty()
        #expect(stream.queued == 40_000)
        var client = ClientBytes.more()
        client.bytes = caller.bytes()
        #expect(recorder.read(client))
        #expect(caller.events == ["1 drained"])
        #expect(stream.queued == 0)
        var trailers = lines("X-Sum: 1\r\nConnection: close\r\n")
        stream.end(trailers: &trailers)
        client.bytes = caller.bytes()
        #expect(recorder.read(client))
        #expect(recorder.content[1]?.count == 40_000)
        #expect(recorder.events.last == "1 ended")
        var came = OutputBuffer()
        recorder.streams[1]!.trailers.write(named: nil, into: &came)
        #expect(caller.text(came.span) == "x-sum: 1\r\n")
    }

    @Test("Responses are the same in whatever pieces they come")
    func responses() {
        let bytes = server { server in
            server.headers(1, [(":status", "103"), ("link", "</a>")])
            server.headers(1, [(":status", "200"), ("content-type", "a/b"), ("set-cookie", "a"), ("set-cookie", "b")])
            server.data(1, Array("hello".utf8))
            server.data(1, Array(" you".utf8))
            server.headers(1, [("x-sum", "1"), ("grpc-status", "0")], ends: true)
            server.headers(3, [(":status", "204")], ends: true)
            server.headers(5, [(":status", "200"), ("content-length", "2")])
            server.data(5, Array("ab".utf8), ends: true)
            server.headers(7, [(":status", "200"), ("content-length", "5")], ends: true)
        }
        for size in [Int.max, 1, 2, 3, 7, 64] {
            let caller = Caller()
            for head in ["GET", "GET", "GET", "HEAD"] { _ = caller.request("\(head) / HTTP/1.1\r\nHost: a\r\n") }
            _ = caller.bytes()
            #expect(caller.read(bytes, by: size))
            #expect(
                caller.events == [
                    "ready", "1 103 false link=</a>",
                    "1 200 false content-type=a/b set-cookie=a set-cookie=b", "1 ended x-sum: 1\r\ngrpc-status: 0\r\n",
                    "1 closed 0", "3 204 true ", "3 ended ", "3 closed 0", "5 200 false content-length=2", "5 ended ",
                    "5 closed 0", "7 200 true content-length=5", "7 ended ", "7 closed 0",
                ])
            #expect(caller.content[1] == Array("hello you".utf8))
            #expect(caller.content[5] == Array("ab".utf8))
        }
    }

    @Test("Statuses that none is for are final ones", arguments: [600, 999])
    func unusualStatuses(_ status: Int) {
        let caller = Caller()
        _ = caller.request("GET / HTTP/1.1\r\nHost: a\r\n")
        _ = caller.bytes()
        let bytes = server { server in
            server.headers(1, [(":status", "\(status)")])
            server.data(1, [1, 2], ends: true)
        }
        #expect(caller.read(bytes))
        #expect(caller.events.suffix(3) == ["1 \(status) false ", "1 ended ", "1 closed 0"])
        #expect(caller.content[1] == [1, 2])
    }

    /// Frames of stream 1 that make no response, and what is told of them.
    static let malformed: [(String, @Sendable (inout ClientBytes) -> Void)] = [
        ("no status", { $0.headers(1, [("a", "b")], ends: true) }),
        ("two", { $0.headers(1, [(":status", "200"), (":status", "200")], ends: true) }),
        ("late", { $0.headers(1, [("a", "b"), (":status", "200")], ends: true) }),
        ("of four digits", { $0.headers(1, [(":status", "2000")], ends: true) }),
        ("no number", { $0.headers(1, [(":status", "2x0")], ends: true) }),
        ("101", { $0.headers(1, [(":status", "101")]) }),
        ("below 100", { $0.headers(1, [(":status", "099")], ends: true) }),
        ("none", { $0.headers(1, [(":status", "000")], ends: true) }),
        ("a request", { $0.request(1, ends: true) }),
        ("an interim one that ends", { $0.headers(1, [(":status", "103")], ends: true) }),
        ("capital letters", { $0.headers(1, [(":status", "200"), ("A", "b")], ends: true) }),
        ("a connection field", { $0.headers(1, [(":status", "200"), ("connection", "close")], ends: true) }),
        ("chunks", { $0.headers(1, [(":status", "200"), ("transfer-encoding", "chunked")], ends: true) }),
        ("a control", { $0.headers(1, [(":status", "200"), ("a", "b\r\nc: d")], ends: true) }),
        ("a length twice", { $0.headers(1, [(":status", "200"), ("content-length", "1"), ("content-length", "2")]) }),
        ("no length", { $0.headers(1, [(":status", "200"), ("content-length", "x")]) }),
        (
            "more content",
            {
                $0.headers(1, [(":status", "200"), ("content-length", "2")])
                $0.data(1, [1, 2, 3], ends: true)
            }
        ),
        (
            "less content",
            {
                $0.headers(1, [(":status", "200"), ("content-length", "2")])
                $0.data(1, [1], ends: true)
            }
        ),
        (
            "content with 204",
            {
                $0.headers(1, [(":status", "204")]); $0.data(1, [1], ends: true)
            }
        ),
        (
            "trailers that don't end",
            {
                $0.headers(1, [(":status", "200")])
                $0.headers(1, [("a", "b")])
            }
        ),
        (
            "a status in trailers",
            {
                $0.headers(1, [(":status", "200")])
                $0.headers(1, [(":status", "200")], ends: true)
            }
        ),
    ]

    @Test("What breaks a rule is no response, and the connection serves on", arguments: malformed.indices)
    func malformedResponses(index: Int) {
        let (name, frames) = Self.malformed[index]
        for size in [Int.max, 1, 5] {
            let caller = Caller()
            _ = caller.request()
            let other = caller.request()
            _ = caller.bytes()
            #expect(caller.read(server(frames), by: size), "\(name)")
            _ = caller.bytes()
            let told = caller.events.filter { $0.contains("misread") || $0.contains("malformed") }
            #expect(told.count == 1, "\(name): \(caller.events)")
            #expect(told.allSatisfy { $0.contains("malformed") || $0.hasSuffix(" 502") })
            #expect(!caller.events.contains { $0.contains("ended") }, "\(name): \(caller.events)")
            var rest = ClientBytes.more()
            rest.headers(other.id, [(":status", "200")], ends: true)
            #expect(caller.read(rest.bytes))
            #expect(caller.events.suffix(3) == ["3 200 true ", "3 ended ", "3 closed 0"], "\(name)")
        }
    }

    @Test("Content that came in front of trailers that can't be taken is told before them, however it was cut")
    func contentBeforeBadTrailers() {
        for name in ["X T", "Capital", ":status", "a\u{7f}"] {
            for size in [Int.max, 1, 5] {
                let caller = Caller()
                _ = caller.request()
                _ = caller.bytes()
                let frames = server {
                    $0.headers(1, [(":status", "200")])
                    $0.data(1, Array("hello".utf8))
                    $0.headers(1, [(name, "1")], ends: true)
                }
                #expect(caller.read(frames, by: size))
                #expect(caller.content[1] == Array("hello".utf8), "\(name) by \(size)")
                _ = caller.bytes()
                #expect(caller.contentAtFault ?? Array("hello".utf8) == Array("hello".utf8), "\(name) by \(size)")
                #expect(
                    caller.events.count { $0.contains("misread") || $0.contains("malformed") } == 1, "\(caller.events)")
            }
        }
    }

    @Test("Of a frame with more content than was said nothing is told, and all that came before it, however it was cut")
    func surplusOfFrame() {
        for (padding, size) in [(nil, Int.max), (nil, 1), (nil, 3), (nil, 20), (9, Int.max), (9, 1), (9, 20)]
            as [(UInt8?, Int)]
        {
            let caller = Caller()
            _ = caller.request()
            _ = caller.bytes()
            let surplus = Array("abc, and more".utf8)
            let frames = server {
                $0.headers(1, [(":status", "200"), ("content-length", "8")])
                $0.data(1, Array("hello".utf8))
                let pad = padding.map { [UInt8](repeating: 0, count: Int($0)) } ?? []
                $0.frame(0, padding == nil ? 1 : 9, 1, (padding.map { [$0] } ?? []) + surplus + pad)
            }
            #expect(caller.read(frames, by: size))
            _ = caller.bytes()
            #expect(caller.content[1] == Array("hello".utf8), "by \(size), \(padding ?? 0)")
            #expect(caller.events.last == "1 closed 1 malformed", "by \(size): \(caller.events)")
        }
    }

    @Test("Padding that would be too much, were it content, holds content no longer than its frame", arguments: 1...40)
    func longPadding(size: Int) {
        let caller = Caller()
        _ = caller.request()
        _ = caller.bytes()
        func padded(_ text: String, _ flags: UInt8) -> [UInt8] {
            var frames = ClientBytes.more()
            frames.frame(0, flags, 1, [20] + Array(text.utf8) + [UInt8](repeating: 0, count: 20))
            return frames.bytes
        }
        let head = server { $0.headers(1, [(":status", "200"), ("content-length", "16")]) }
        #expect(caller.read(head + padded("hello", 8), by: size))
        #expect(caller.content[1] == Array("hello".utf8))
        #expect(caller.read(padded(", wor", 8), by: size))
        #expect(caller.content[1] == Array("hello, wor".utf8))
        var rest = ClientBytes.more()
        rest.data(1, Array("ld".utf8))
        #expect(caller.read(rest.bytes + padded(", ok", 9), by: size))
        #expect(caller.content[1] == Array("hello, world, ok".utf8))
        #expect(caller.events.last == "1 ended " || caller.events.last == "1 closed 0")
    }

    @Test("Limits of heads are those of HTTP/1.1", arguments: [(0, true), (1, false)])
    func limits(more: Int, fits: Bool) {
        var wire = WireLimits()
        wire.fieldLine = 40
        let caller = Caller(wire: wire)
        _ = caller.request()
        _ = caller.bytes()
        let value = String(repeating: "v", count: 40 - 3 + more)
        #expect(caller.read(server { $0.headers(1, [(":status", "200"), ("a", value)], ends: true) }))
        #expect(caller.events.contains { $0.hasPrefix("1 200") } == fits)
        #expect(caller.events.contains { $0.hasPrefix("1 misread") && $0.hasSuffix("502") } == !fits)
        #expect(caller.fieldAtFault == (fits ? nil : "a"))
    }

    @Test("The field that can't be taken is told, of that head alone")
    func faultyField() {
        let caller = Caller()
        for _ in 0..<2 { _ = caller.request() }
        _ = caller.bytes()
        #expect(
            caller.read(server { $0.headers(1, [(":status", "200"), ("x-own", "a\u{1}b"), ("x", "a")], ends: true) }))
        #expect(caller.events.contains { $0.hasPrefix("1 misread") })
        #expect(caller.fieldAtFault == "x-own")
        var next = ClientBytes.more()
        next.headers(3, [(":status", "200")], ends: true)
        #expect(caller.read(next.bytes))
        #expect(caller.session.faultyField == nil)
    }

    @Test("So many interim responses may come to a request, and a stream counts its own", arguments: [31, 32, 33])
    func interimResponses(count: Int) {
        #expect(WireLimits().interimCount == 32)
        let caller = Caller()
        // The second request has what the first one's stream has left.
        for id in [Int32(1), 3] {
            _ = caller.request()
            _ = caller.bytes()
            var bytes = id == 1 ? ClientBytes(settings: []) : ClientBytes.more()
            for _ in 0..<count { bytes.headers(id, [(":status", "103")]) }
            bytes.frame(3, 0, id, ClientBytes.four(8))
            #expect(caller.read(Array(id == 1 ? bytes.bytes.dropFirst(24) : bytes.bytes[...])))
            _ = caller.bytes()
            let told = caller.events.filter { $0.hasPrefix("\(id) ") }
            #expect(told.filter { $0.hasPrefix("\(id) 103") }.count == min(count, 32))
            #expect(told.last?.hasPrefix(count > 32 ? "\(id) misread" : "\(id) closed") == true, "\(told)")
            #expect(caller.fieldAtFault == nil)
        }
    }

    // MARK: Ends

    @Test("GOAWAY refuses the streams that the server will not see, and lets the others end")
    func goAway() {
        let caller = Caller()
        for _ in 0..<3 { _ = caller.request() }
        _ = caller.bytes()
        #expect(
            caller.read(
                server { server in
                    server.frame(7, 0, 0, ClientBytes.four(3) + ClientBytes.four(0))
                    server.headers(3, [(":status", "200")], ends: true)
                    server.headers(1, [(":status", "200")], ends: true)
                }))
        #expect(
            caller.events == [
                "ready", "end 0", "5 closed 7", "3 200 true ", "3 ended ", "3 closed 0", "1 200 true ", "1 ended ",
                "1 closed 0",
            ])
        let head = Array("GET / HTTP/1.1\r\nHost: a\r\n".utf8)
        let another = caller.session.request(head.span, hasContent: false, handler: caller)
        #expect(another == nil)
        _ = caller.bytes()
        #expect(caller.session.isOver)
    }

    @Test(
        "A GOAWAY without an error leaves out what it doesn't name, where the connection has taken something",
        arguments: [0, 1, 3, 5, UInt32(Int32.max)], [0, 1, 2, 11] as [UInt32])
    func leftOut(last: UInt32, code: UInt32) {
        let leaves = last > 0 && code == 0
        let caller = Caller()
        let streams = [caller.request(), caller.request(), caller.request()]
        _ = caller.bytes()
        #expect(streams.allSatisfy { !caller.session.hasLeftOut($0) } && !caller.session.hasLeftOut(nil))
        #expect(caller.read(server { $0.frame(7, 0, 0, ClientBytes.four(last) + ClientBytes.four(code)) }))
        #expect(streams.map { caller.session.hasLeftOut($0) } == [1, 3, 5].map { leaves && $0 > last })
        #expect(caller.session.hasLeftOut(nil) == leaves)
    }

    @Test("A connection that has had no request leaves none out")
    func leftOutOfNone() {
        let caller = Caller()
        _ = caller.bytes()
        #expect(caller.read(server { $0.frame(7, 0, 0, ClientBytes.four(UInt32(Int32.max)) + ClientBytes.four(0)) }))
        #expect(caller.session.hasEndCome && !caller.session.hasLeftOut(nil))
    }

    @Test("A server has answered once a final head has come, or a request is over")
    func answered() {
        let caller = Caller()
        _ = caller.request()
        _ = caller.request()
        _ = caller.bytes()
        #expect(caller.read(server { $0.headers(1, [(":status", "103")]) }))
        #expect(!caller.session.isAnswered)
        #expect(caller.read(server { $0.headers(1, [(":status", "200")]) }))
        #expect(caller.session.isAnswered)
        #expect(caller.read(server { $0.data(1, [1], ends: true) }))
        #expect(caller.session.isAnswered && caller.session.openStreams == 1)
    }

    @Test("A connection that breaks a rule is told by its name")
    func faultName() {
        let caller = Caller()
        _ = caller.request()
        _ = caller.bytes()
        // A field of a table that has none.
        _ = caller.read(server { $0.frame(1, 5, 1, [0xFF, 0xFF, 0x03]) })
        _ = caller.bytes()
        #expect(caller.session.failure?.reason == "it broke a rule of HTTP/2 (COMPRESSION_ERROR, RFC 9113 §7)")
    }

    @Test("A request whose head isn't out yet is refused by a GOAWAY, too")
    func goAwayBeforeSending() {
        let caller = Caller()
        _ = caller.bytes()
        _ = caller.request("POST / HTTP/1.1\r\nHost: a\r\n", hasContent: true)
        #expect(caller.read(server { $0.frame(7, 0, 0, ClientBytes.four(0) + ClientBytes.four(0)) }))
        #expect(!caller.sent().contains { $0.type == 1 })
        #expect(caller.events == ["ready", "end 0", "1 closed 7"])
        #expect(caller.session.openStreams == 0)
    }

    @Test("A request whose head isn't out yet when its connection ends is refused, and its head stays here")
    func endBeforeSending() {
        for isTerminated in [false, true] {
            let caller = Caller()
            _ = caller.request()
            _ = caller.bytes()
            _ = caller.request(hasContent: true)
            _ = caller.request()
            if isTerminated {
                caller.session.terminate(.noError)
                #expect(caller.sent().map(\.type) == [7])
            }
            caller.session.closeStreams()
            #expect(Set(caller.events) == ["1 closed 8", "3 closed 7", "5 closed 7"], "\(isTerminated)")
            #expect(caller.events.count == 3)
        }
    }

    @Test(
        "Streams end as the server says",
        arguments: [(UInt32(7), "closed 7"), (8, "closed 8"), (2, "closed 2"), (0, "closed 8")])
    func resets(code: UInt32, told: String) {
        let caller = Caller()
        let stream = caller.request()
        _ = caller.bytes()
        #expect(caller.read(server { $0.frame(3, 0, 1, ClientBytes.four(code)) }))
        #expect(caller.events == ["ready", "1 \(told)"])
        #expect(stream.codeAsTold.rawValue == code)
    }

    @Test("A whole response isn't lost, whatever comes behind it before it is taken", arguments: [false, true])
    func wholeResponse(isReset: Bool) {
        let caller = Caller()
        caller.pauses = true
        let stream = caller.request("POST / HTTP/1.1\r\nHost: a\r\n", hasContent: isReset)
        _ = caller.bytes()
        #expect(
            caller.read(
                server { server in
                    server.headers(1, [(":status", "200")])
                    server.data(1, Array("hello".utf8), ends: true)
                    if isReset { server.frame(3, 0, 1, ClientBytes.four(0)) }
                }))
        #expect(caller.events == ["ready", "1 200 false "])
        #expect(caller.session.openStreams == 0)
        caller.pauses = false
        stream.resume()
        #expect(caller.content[1] == Array("hello".utf8))
        #expect(caller.events.suffix(2) == ["1 ended ", isReset ? "1 closed 8" : "1 closed 0"])
    }

    static let cutBehindContent: [(String, @Sendable (inout ClientBytes) -> Void, String)] = [
        ("reset", { $0.frame(3, 0, 1, ClientBytes.four(2)) }, "1 closed 2"),
        ("bad trailers", { $0.headers(1, [("Capital", "1")], ends: true) }, "1 closed 1 malformed"),
        ("a bad name in trailers", { $0.headers(1, [("a b", "1")], ends: true) }, "1 closed 1 malformed"),
        ("too little", { $0.data(1, [], ends: true) }, "1 closed 1 malformed"),
        ("too much", { $0.data(1, Array("abc, and more".utf8), ends: true) }, "1 closed 1 malformed"),
        ("the connection's end", { _ in }, "1 closed 8"),
    ]

    @Test("What came of a response that is cut isn't lost before it is taken", arguments: cutBehindContent.indices)
    func cutResponse(index: Int) {
        let (name, fault, end) = Self.cutBehindContent[index]
        for size in [Int.max, 1, 7] {
            let caller = Caller()
            caller.pauses = true
            let stream = caller.request()
            _ = caller.bytes()
            let frames = server {
                $0.headers(1, [(":status", "200"), ("content-length", "8")])
                $0.data(1, Array("hello".utf8))
                fault(&$0)
            }
            #expect(caller.read(frames, by: size))
            _ = caller.bytes()
            if end == "1 closed 8" { caller.session.closeStreams() }
            #expect(caller.events == ["ready", "1 200 false content-length=8"], "\(name) by \(size)")
            #expect(caller.session.openStreams == 0)
            caller.pauses = false
            stream.resume()
            #expect(caller.content[1] == Array("hello".utf8), "\(name) by \(size)")
            #expect(caller.events.last == end, "\(name) by \(size): \(caller.events)")
            #expect(caller.events.count == 3)
        }
    }

    @Test("A paused stream takes a window's worth, and others go on")
    func backpressure() {
        let caller = Caller()
        caller.pauses = true
        let slow = caller.request()
        _ = caller.request()
        _ = caller.bytes()
        #expect(
            caller.read(
                server { server in
                    server.headers(1, [(":status", "200")])
                    for _ in 0..<4 { server.data(1, [UInt8](repeating: 1, count: 16_000)) }
                    server.headers(3, [(":status", "200")])
                }))
        #expect(!caller.sent().contains { $0.type == 8 && $0.stream == 1 })
        caller.pauses = false
        var rest = ClientBytes.more()
        rest.data(3, [UInt8](repeating: 3, count: 16_000), ends: true)
        #expect(caller.read(rest.bytes))
        #expect(caller.content[3]?.count == 16_000)
        slow.resume()
        #expect(caller.content[1]?.count == 64_000)
        #expect(caller.sent().contains { $0.type == 8 && $0.stream == 1 && $0.number == 64_000 })
    }

    @Test("Nothing is pushed, and no server may bring frames without end that bring nothing")
    func hostile() {
        var promise = ClientBytes.more()
        promise.frame(5, 4, 1, ClientBytes.four(2) + ClientBytes.block([(":method", "GET"), (":path", "/")]))
        let pushed = Caller()
        _ = pushed.request()
        _ = pushed.bytes()
        #expect(pushed.read(server { $0.bytes += promise.bytes }))
        #expect(pushed.sent().contains { $0.type == 7 && $0.number == 1 })
        #expect(pushed.session.failure?.kind == .rule)
        #expect(pushed.session.isOver)
        let floods: [(String, (inout ClientBytes) -> Void)] = [
            ("PING", { $0.frame(6, 0, 0, [UInt8](repeating: 0, count: 8)) }),
            ("SETTINGS", { $0.frame(4, 0, 0, []) }),
            ("empty DATA", { $0.data(1, []) }),
            ("PRIORITY", { $0.frame(2, 0, 1, [0, 0, 0, 0, 0]) }),
            ("WINDOW_UPDATE", { $0.frame(8, 0, 0, ClientBytes.four(1)) }),
        ]
        for (name, frame) in floods {
            let caller = Caller()
            _ = caller.request()
            _ = caller.bytes()
            #expect(caller.read(server { $0.headers(1, [(":status", "200")]) }))
            var flood = ClientBytes.more()
            for _ in 0..<1100 { frame(&flood) }
            #expect(!caller.read(flood.bytes) || caller.session.failure != nil, "\(name)")
            _ = caller.bytes()
            #expect(caller.session.isOver, "\(name)")
        }
    }

    @Test("A server that reads late gives the windows of what it was sent back all at once, and of no more than that")
    func lateWindows() {
        let size = 2 << 20
        let caller = Caller()
        let stream = caller.request("POST / HTTP/1.1\r\nHost: a.test\r\n", hasContent: true)
        #expect(
            caller.read(
                server(settings: [(4, UInt32(2 * size))]) { $0.frame(8, 0, 0, ClientBytes.four(UInt32(2 * size))) }))
        var sent = 0
        let piece = [UInt8](repeating: 1, count: 64 * 1024)
        for _ in 0..<size / piece.count {
            _ = stream.write(piece.span)
            sent += caller.sent().filter { $0.type == 0 }.reduce(0) { $0 + $1.payload.count }
        }
        #expect(sent == size)
        func windows(_ count: Int) -> [UInt8] {
            var more = ClientBytes.more()
            for index in 0..<count { more.frame(8, 0, index % 2 == 0 ? 0 : 1, ClientBytes.four(1)) }
            return more.bytes
        }
        #expect(caller.read(windows(Nuisance.mostWindows)))
        #expect(caller.session.failure == nil)
        // What may come of no use is left whole.
        #expect(caller.read(windows(Nuisance.most)))
        #expect(caller.session.failure == nil)
        #expect(!caller.read(windows(1)) || caller.session.failure != nil)
    }
}
