import ContentCoding
import Gateway
import Octets
import TestSupport
import Testing
import Transcoding

@testable import Proxy

/// The work of a held response is done in slices, and others have their turn between them.
@Suite struct BufferedSliceTests {
    /// 40 KiB of JSON that become about 2 MiB of form: long names, each in front of many short values.
    private static let document: String = {
        let name = String(repeating: "n", count: 1000)
        return "{\"\(name)\":{" + (0..<2000).map { "\"k\($0)\":\"\($0)\"" }.joined(separator: ",") + "}}"
    }()

    private static let expected: String = {
        let name = String(repeating: "n", count: 1000)
        return (0..<2000).map { "\(name)%5Bk\($0)%5D=\($0)" }.joined(separator: "&")
    }()

    private static var limits: Limits {
        var limits = Limits()
        limits.tree = 64 << 20
        limits.fields = 1_000_000
        return limits
    }

    private static func route(_ coding: Coding?) throws -> Route {
        var options = RouteOptions()
        options.coding.limits.ratio = 1_000_000
        if let coding {
            var compress = CompressOptions()
            compress.codings = [coding]
            options.coding.compress = compress
        }
        return Route(
            index: 0, name: "r0", match: RouteMatch(path: try PathPattern(parsing: "/*")), upstream: 0, limits: limits,
            responses: [
                ResponseRule(ResponseCondition(), .convert(conversion(.json, .form, limits: limits)))
            ], options: options)
    }

    private static func answer(_ coding: Coding?, fields: String = "") -> [UInt8] {
        let body = coding.map { BodyCodingTests.encoded(document, $0) } ?? Array(document.utf8)
        let coded = coding.map { "Content-Encoding: \($0.rawValue)\r\n" } ?? ""
        return Array(
            ("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\(coded)\(fields)Content-Length: \(body.count)\r\n\r\n")
                .utf8) + body
    }

    private static func request(_ coding: Coding?) -> String {
        "GET / HTTP/1.1\r\nHost: a\r\n" + (coding.map { "Accept-Encoding: \($0.rawValue)\r\n" } ?? "") + "\r\n"
    }

    @Test(
        "H7: a coded response is the same whatever its way, and a second client is answered before it is done",
        arguments: Coding.allCases)
    func others(_ coding: Coding) throws {
        try withRig([Self.route(coding)]) { rig in
            let other = try rig.connect(sending: "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try rig.request()
            let client = try rig.connect(sending: Self.request(coding))
            _ = try rig.request(on: 1)
            rig.upstreams[1].send(Self.answer(coding))
            rig.upstreams[0].send("HTTP/1.1 204 No Content\r\n\r\n")
            try rig.until("the other's answer") { other.has(.none) }
            #expect(client.received.isEmpty)
            let response = try rig.response(to: client)
            #expect(response["Content-Encoding"] == coding.rawValue && response["Vary"] == "Accept-Encoding")
            #expect(try BodyCodingTests.decoded(response.body, coding) == Self.expected)
            // The upstream's connection serves on.
            client.send(Self.request(nil))
            try rig.until("a request") { rig.upstreams.contains { $0.has() } }
            rig.upstreams.first { $0.has() }?.send(Self.answer(nil))
            #expect(try rig.response(to: client).text == Self.expected)
            #expect(rig.upstreams.count == 2)
            rig.settle()
            client.close()
            rig.settle()
            #expect(rig.worker.memory.held == 0)
        }
    }

    @Test("H7: an upstream that closes behind its answer doesn't take it back", arguments: [false, true])
    func upstreamCloses(announced: Bool) throws {
        try withRig([Self.route(.gzip)]) { rig in
            let client = try rig.connect(sending: Self.request(.gzip))
            _ = try rig.request()
            rig.upstreams[0].send(Self.answer(nil, fields: announced ? "Connection: close\r\n" : ""))
            rig.upstreams[0].halfClose()
            let response = try rig.response(to: client)
            #expect(response.status == 200 && response["Connection"] == nil)
            #expect(try BodyCodingTests.decoded(response.body, .gzip) == Self.expected)
        }
    }

    @Test("H7: a client that leaves meanwhile leaves nothing behind")
    func clientLeaves() throws {
        for ticks in [1, 3, 8, 20] {
            try withRig([Self.route(.gzip)]) { rig in
                let client = try rig.connect(sending: Self.request(.gzip))
                _ = try rig.request()
                rig.upstreams[0].send(Self.answer(nil))
                try rig.pass(ticks: ticks)
                client.reset()
                rig.settle()
                #expect(rig.worker.memory.held == 0)
                #expect(
                    try rig.exchange(
                        Self.request(nil),
                        answer: ok.replacing("200 OK", with: "204 No")
                            .replacing("Content-Length: 2\r\n\r\nok", with: "\r\n")
                    ).response.status == 204)
            }
        }
    }

    @Test("H7: without memory for the conversion it is 503, without memory for the coding it goes without one")
    func memory() throws {
        for (kibibytes, status, isCoded) in [(384, 503, false), (3072, 200, false), (65536, 200, true)] {
            try withRig([Self.route(.zstd)]) { settings in
                settings.memory.bodies = kibibytes * 1024
            } _: { rig in
                let client = try rig.connect(sending: Self.request(.zstd))
                _ = try rig.request()
                rig.upstreams[0].send(Self.answer(nil))
                let response = try rig.response(to: client)
                #expect(response.status == status, "\(kibibytes) KiB")
                if status == 503 {
                    #expect(response.text.contains("memory_exhausted"))
                } else {
                    #expect((response["Content-Encoding"] == "zstd") == isCoded, "\(kibibytes) KiB")
                    let text = isCoded ? try BodyCodingTests.decoded(response.body, .zstd) : response.text
                    #expect(text == Self.expected)
                }
                client.close()
                rig.settle()
                #expect(rig.worker.memory.held == 0)
            }
        }
    }

    @Test("H7: a response's limit holds at one below, at and one above, in slices too", arguments: [-1, 0, 1])
    func limit(over: Int) throws {
        let route = convertBack(.json, .form, limits: Self.limits, limit: Self.expected.utf8.count - over)
        try withRig([route]) { rig in
            let client = try rig.connect(sending: Self.request(nil))
            _ = try rig.request()
            rig.upstreams[0].send(Self.answer(nil))
            let response = try rig.response(to: client)
            #expect(response.status == (over > 0 ? 502 : 200))
            #expect(over > 0 ? response.text.contains("limit_response") : response.text == Self.expected)
        }
    }
}
