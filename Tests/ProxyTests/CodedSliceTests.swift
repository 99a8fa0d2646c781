import ContentCoding
import Gateway
import Testing
import Transcoding

@testable import Proxy

/// What a coded request's body is decoded to is converted in slices, and others have their turn between them.
@Suite struct CodedSliceTests {
    private static let value = String(repeating: "0123456789abcdef", count: 128 * 1024)

    private static func route(
        streams: Bool, from input: BodyEncoding? = nil, response: [ResponseRule] = []
    ) throws -> Route {
        var limits = Limits()
        limits.tree = 64 << 20
        limits.field = 64 << 20
        var options = RouteOptions()
        options.coding.limits.ratio = 1_000_000
        let output = streams || input != nil ? BodyEncoding.form : .json
        let plan = conversion(input ?? (streams ? .json : .form), output, limits: limits).plan
        return Route(
            index: 0, name: "r0", match: RouteMatch(path: try PathPattern(parsing: "/*")), upstream: 0, limits: limits,
            request: .convert(plan, otherTypes: .reject, sources: []), responses: response, options: options)
    }

    private static func post(streams: Bool, _ coding: Coding, isChunked: Bool, cut: Int = 0) -> [UInt8] {
        let text = streams ? #"{"a":"\#(value)"}"# : "a=\(value)"
        let body = BodyCodingTests.encoded(text, coding).dropLast(cut)
        let head =
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: \(streams ? jsonType : formType)\r\nContent-Encoding: \(coding.rawValue)\r\n"
        if isChunked {
            return Array("\(head)Transfer-Encoding: chunked\r\n\r\n\(String(body.count, radix: 16))\r\n".utf8) + body
                + Array("\r\n0\r\n\r\n".utf8)
        }
        return Array("\(head)Content-Length: \(body.count)\r\n\r\n".utf8) + body
    }

    private static func expected(streams: Bool) -> String { streams ? "a=\(value)" : #"{"a":"\#(value)"}"# }

    @Test(
        "no tick decodes more than two slices of a request, into a tree neither", arguments: Coding.allCases,
        [true, false])
    func turns(_ coding: Coding, streams: Bool) throws {
        for isChunked in [true, false] {
            try withRig([Self.route(streams: streams)]) { rig in
                let client = try rig.connect()
                client.send(Self.post(streams: streams, coding, isChunked: isChunked))
                var seen = 0
                var most = 0
                var ticks = 0
                try rig.until("a request") {
                    for connection in rig.worker.connections {
                        guard let count = connection.exchange?.requestTranscoder.conversion?.consumedCount, count > seen
                        else { continue }
                        most = max(most, count - seen)
                        seen = count
                        ticks += 1
                    }
                    return rig.upstreams.first?.has() == true
                }
                #expect(most <= 2 * Exchange.sliceSize, "\(most)")
                #expect(ticks >= Self.value.utf8.count / (2 * Exchange.sliceSize), "\(ticks)")
                #expect(try rig.request().text == Self.expected(streams: streams))
                rig.upstreams[0].send(ok)
                #expect(try rig.response(to: client).text == "ok")
                rig.settle()
                #expect(rig.worker.memory.held == 0)
            }
        }
    }

    @Test("slices wait for a slow upstream as well, and go on", arguments: Coding.allCases)
    func slowUpstream(_ coding: Coding) throws {
        for streams in [true, false] {
            try withRig([Self.route(streams: streams)], unix: true) { rig in
                rig.upstreamIsPaused = true
                let client = try rig.connect()
                client.send(Self.post(streams: streams, coding, isChunked: true))
                let upstream = try rig.upstream()
                rig.settle()
                // Read a little at a time.
                var tick = 0
                try rig.until("a request") {
                    tick += 1
                    if tick % 3 == 0 { upstream.pause() } else { upstream.resume() }
                    return upstream.has()
                }
                upstream.resume()
                #expect(try rig.request().text == Self.expected(streams: streams))
                upstream.send(ok)
                #expect(try rig.response(to: client).text == "ok")
            }
        }
    }

    @Test(
        "a body that is cut, and a client that leaves between slices, leave nothing behind", arguments: Coding.allCases)
    func ends(_ coding: Coding) throws {
        try withRig([Self.route(streams: false)]) { rig in
            let client = try rig.connect()
            client.send(Self.post(streams: false, coding, isChunked: true, cut: 1))
            #expect(try rig.response(to: client).status == 400)
            for ticks in [1, 3, 6] {
                let leaving = try rig.connect()
                leaving.send(Self.post(streams: false, coding, isChunked: false))
                try rig.pass(ticks: ticks)
                leaving.reset()
                rig.settle()
                #expect(rig.worker.memory.held == 0)
            }
        }
    }

    @Test("a held answer that comes before the request is whole doesn't end it")
    func earlyAnswer() throws {
        let rule = ResponseRule(ResponseCondition(), .convert(conversion(.json, .form)))
        try withRig([Self.route(streams: false, from: .xml, response: [rule])], unix: true) { rig in
            rig.upstreamIsPaused = true
            // More than is held of a written tree, so that the request goes out in chunks behind its last byte.
            let value = String(repeating: "v", count: 1 << 20)
            let body = "<a>" + (0..<12).map { "<k\($0)>\(value)</k\($0)>" }.joined() + "</a>"
            let client = try rig.connect()
            client.send(
                Array(
                    "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/xml\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
                        .utf8))
            let upstream = try rig.upstream()
            let exchange = try #require(rig.worker.connections.lazy.compactMap(\.exchange).first)
            try rig.until("all of the request has come") { exchange.machine.request == .ending }
            let members = (0..<9000).map { "\"k\($0)\":\"some more text\"" }.joined(separator: ",")
            upstream.send(
                Array(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(members.utf8.count + 2)\r\n\r\n{\(members)}"
                        .utf8))
            try rig.until("the answer is held") { exchange.machine.response == .buffering }
            rig.settle()
            upstream.resume()
            let expected = (0..<12).map { "a%5Bk\($0)%5D=\(value)" }.joined(separator: "&")
            let text = try rig.request().text
            #expect(text == expected, "\(text.count) of \(expected.count)")
        }
    }
}
