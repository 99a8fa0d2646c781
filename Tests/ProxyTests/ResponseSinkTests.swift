import EventLoop
import Gateway
import HTTPWire
import Octets
import Testing

@testable import Proxy

/// An exchange that no connection of HTTP/1 has brought: what its sink is told, and what becomes of what that says.
@Suite struct ResponseSinkTests {
    private let chunked =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: X-Hop\r\nX-Hop: 1\r\nX-A: 1\r\n\r\n"

    @Test("a response comes as fields, content and an end, and nothing of them speaks of HTTP/1")
    func streamed() throws {
        try withRig { rig in
            let client = StreamedDownstream(rig.worker)
            try client.ask("GET", "/a", fields: [("x-b", "2")])
            let seen = try rig.request()
            #expect(seen.startLine == "GET /a HTTP/1.1")
            #expect(seen["X-B"] == "2" && seen["X-Forwarded-Proto"] == "https")
            rig.upstreams[0].send(chunked + "3\r\nabc\r\n")
            try rig.until("content") { client.content == "abc" }
            #expect(client.events == ["begin 200 unknown"])
            #expect(client.fields["x-a"] == ["1"] && client.fields["x-request-id"]?.count == 1)
            for name in ["transfer-encoding", "content-length", "connection", "x-hop"] {
                #expect(client.fields[name] == nil, "\(name)")
            }
            rig.upstreams[0].send("0\r\n\r\n")
            try rig.until("the end") { client.isOver }
            #expect(client.events == ["begin 200 unknown", "end", "over"])
        }
    }

    @Test("the length of a response is said as far as it is known")
    func lengths() throws {
        try withRig { rig in
            for (method, answer, length, content) in [
                ("GET", ok, "known(2)", "ok"),
                ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", "asReceived", ""),
                ("GET", "HTTP/1.1 204 No Content\r\n\r\n", "none", ""),
                ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "known(0)", ""),
            ] {
                let client = StreamedDownstream(rig.worker)
                rig.answers = [answer]
                try client.ask(method, "/")
                try rig.until("the end") { client.isOver }
                #expect(client.events.first?.hasSuffix(length) == true, "\(client.events)")
                #expect(client.events.last == "over" && client.content == content)
            }
        }
    }

    @Test("several requests of one connection are exchanges of their own, answered in any order")
    func several() throws {
        try withRig { rig in
            let clients = [StreamedDownstream(rig.worker), StreamedDownstream(rig.worker)]
            try clients[0].ask("GET", "/0")
            #expect(try rig.request(on: 0).startLine == "GET /0 HTTP/1.1")
            try clients[1].ask("POST", "/1", fields: [("content-length", "3")], content: "abc")
            let second = try rig.request(on: 1)
            #expect(second.startLine == "POST /1 HTTP/1.1" && second.text == "abc")
            rig.upstreams[1].send("HTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\n1")
            try rig.until("the second end") { clients[1].isOver }
            #expect(clients[0].events.isEmpty && clients[1].content == "1")
            rig.upstreams[0].send(ok)
            try rig.until("the first end") { clients[0].isOver }
            #expect(clients[0].content == "ok")
        }
    }

    @Test("answers of ours are a status, fields and content")
    func refused() throws {
        try withRig([forward("/a")]) { rig in
            let client = StreamedDownstream(rig.worker)
            try client.ask("GET", "/b")
            #expect(client.events == ["answer 404", "over"] && client.content.contains(#""code":"no_route""#))
            #expect(client.fields["content-type"] == ["application/problem+json"] && client.fields["date"]?.count == 1)
            #expect(client.fields["connection"] == nil)
            let head = StreamedDownstream(rig.worker)
            try head.ask("HEAD", "/b")
            #expect(head.events == ["answer 404", "over"] && head.content.isEmpty)
        }
    }

    @Test("a sink that is full holds the upstream up until it has room")
    func full() throws {
        try withRig { rig in
            let client = StreamedDownstream(rig.worker)
            client.isFull = true
            try client.ask("GET", "/")
            _ = try rig.request()
            rig.upstreams[0].send(chunked + "3\r\nabc\r\n")
            try rig.until("content") { client.content == "abc" }
            rig.upstreams[0].send("3\r\ndef\r\n0\r\n\r\n")
            rig.settle()
            #expect(client.content == "abc" && !client.isOver)
            client.isFull = false
            client.exchange?.downstreamDrained()
            try rig.until("the end") { client.isOver }
            #expect(client.content == "abcdef")
        }
    }

    @Test("a response that breaks off is cut, never ended; one without content yet is replaced")
    func broken() throws {
        try withRig { rig in
            let cut = StreamedDownstream(rig.worker)
            try cut.ask("GET", "/")
            _ = try rig.request()
            rig.upstreams[0].send(chunked + "3\r\nabc\r\n")
            try rig.until("content") { cut.content == "abc" }
            rig.upstreams[0].reset()
            try rig.until("the cut") { cut.isOver }
            #expect(cut.events == ["begin 200 unknown", "cut"])
            let replaced = StreamedDownstream(rig.worker)
            try replaced.ask("GET", "/")
            _ = try rig.request(on: 1)
            rig.upstreams[1].send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n")
            try rig.until("an answer") { replaced.isOver }
            #expect(replaced.events == ["begin 200 unknown", "withdrawn", "answer 502", "over"])
        }
    }

    @Test("interim responses and the wish for content are told, and trailers come as lines")
    func interim() throws {
        let route = try plain { $0.trailers = ["X-Sum"] }
        try withRig([route]) { rig in
            let client = StreamedDownstream(rig.worker)
            try client.ask(
                "POST", "/",
                fields: [("content-length", "3"), ("expect", "100-continue"), ("te", "trailers"), ("connection", "te")])
            #expect(client.events == ["continue"])
            client.bring("abc")
            _ = try rig.request()
            rig.upstreams[0].send("HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n")
            try rig.until("the hints") { client.events.count == 2 }
            #expect(client.events[1] == "interim 103")
            rig.upstreams[0].send(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Sum: 7\r\n\r\n")
            try rig.until("the end") { client.isOver }
            #expect(client.trailers == "X-Sum: 7\r\n" && client.content == "a")
        }
    }
}

/// A client's side that speaks no HTTP/1: requests are made of fields, and it notes what it is told.
private final class StreamedDownstream: Downstream {
    let peer = SocketAddress(ipv4: 0x0A00_0001, port: 4711)
    let listener = ListenerInfo(port: 443)
    let isSecure = true
    let isSpent = false
    var tlsFacts: TLSFacts? { nil }

    private let worker: Worker
    private(set) var exchange: Exchange?
    private(set) var events: [String] = []
    /// The response's fields by name in lower case.
    private(set) var fields: [String: [String]] = [:]
    private(set) var trailers = ""
    private var bytes: [UInt8] = []
    private var hasSentHead = false
    private var left = 0
    var isFull = false

    init(_ worker: Worker) { self.worker = worker }

    var content: String { String(decoding: bytes, as: UTF8.self) }
    /// Whether a request was made whose exchange is over.
    var isOver: Bool { exchange == nil && !events.isEmpty }

    func ask(_ method: String, _ path: String, fields: [(String, String)] = [], content: String = "") throws {
        let exchange = worker.takeExchange()
        self.exchange = exchange
        var builder = HeadBuilder()
        let host = Array("shop.example".utf8)
        let (method, path) = (Array(method.utf8), Array(path.utf8))
        try builder.beginRequest(
            method: method.span, isSecure: true, authority: host.span, path: path.span, into: &exchange.request)
        for field in fields {
            let (name, value) = (Array(field.0.utf8), Array(field.1.utf8))
            try builder.add(name.span, value.span, to: &exchange.request)
        }
        try builder.finish(&exchange.request)
        left = if case .length(let count) = exchange.request.framing { count } else { 0 }
        exchange.begin(on: self)
        if !content.isEmpty { bring(content) }
    }

    func bring(_ content: String) {
        guard let exchange else { return }
        let bytes = Array(content.utf8)
        exchange.contentArrived()
        left -= bytes.count
        do throws(Refusal) {
            let taken = try exchange.receive(bytes.span, isLast: left == 0)
            #expect(taken == bytes.count)
        } catch {
            exchange.refuse(error)
        }
        if left == 0 { exchange.contentEnded() } else { exchange.contentRead(leftover: 0) }
        exchange.settle()
    }

    private func note(_ lines: Span<UInt8>) {
        fields = [:]
        for line in lines.lossyString().split(separator: "\r\n") {
            let parts = line.split(separator: ": ", maxSplits: 1, omittingEmptySubsequences: false)
            fields[parts[0].lowercased(), default: []].append(String(parts[1]))
        }
    }

    private func end(_ event: String) {
        events.append(event)
        guard let exchange else { return }
        self.exchange = nil
        worker.recycle(exchange)
    }

    // MARK: The source

    func limitContent(to count: Int) {}
    func keepTrailers() {}
    var contentLeft: Int? { left }
    func appendTrailers(named names: [[UInt8]]?, to output: inout OutputBuffer) {}

    func pauseReading() {}
    func resumeReading() {}
    func setRates(_ rates: MinimumRates) {}
    func expectBody(within time: UInt64) {}
    func expectNothing() {}
    func expectDiscard() {}
    func exchangeEnded(_: ExchangeEnd) { end("over") }

    // MARK: The sink

    var queued: Int { 0 }

    func sendInterim(_ head: borrowing MessageHead) { events.append("interim \(head.status)") }
    func sendContinue() { events.append("continue") }

    func begin(
        _ response: ResponseStart, of head: borrowing MessageHead,
        adding addFields: (inout OutputBuffer, PassedFields.Position) -> Void
    ) {
        var lines = OutputBuffer()
        let position = response.fields.write(head, into: &lines)
        addFields(&lines, position)
        note(lines.span)
        events.append("begin \(head.status) \(response.length)")
    }

    func send(_ content: Span<UInt8>) -> Bool {
        hasSentHead = true
        bytes += content.copied()
        return !isFull
    }

    func flush() {}

    func end(adding addTrailers: (inout OutputBuffer) -> Void) {
        var lines = OutputBuffer()
        addTrailers(&lines)
        trailers = lines.span.lossyString()
        if trailers.isEmpty { events.append("end") } else { events.append("end with trailers") }
    }

    func withdraw() -> Bool {
        if !hasSentHead { events.append("withdrawn") }
        return !hasSentHead
    }

    func cut() {
        exchange?.abandon()
        end("cut")
    }

    func answer(
        _ status: Int, isLast: Bool, content: Span<UInt8>, adding addFields: (inout OutputBuffer) -> Void
    ) -> Int {
        var lines = OutputBuffer()
        addFields(&lines)
        note(lines.span)
        bytes = content.copied()
        events.append("answer \(status)")
        return content.count
    }
}
