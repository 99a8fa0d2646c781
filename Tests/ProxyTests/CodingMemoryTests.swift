import ContentCoding
import Gateway
import Testing
import Transcoding

@testable import Proxy

/// What coders and copies for a retry hold is paid for out of the budget of memory.
@Suite struct CodingMemoryTests {
    /// 1 MB of JSON that compresses to about a half.
    private static let document: String = {
        var state: UInt64 = 42
        let texts = (0..<60).map { _ in
            (0..<1000).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return String(state, radix: 16)
            }
        }
        return "[" + texts.map { "\"\($0.joined())\"" }.joined(separator: ",") + "]"
    }()

    private static func post(_ body: [UInt8], _ coding: String) -> [UInt8] {
        Array(
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Encoding: \(coding)\r\n"
                + "Content-Length: \(body.count)\r\n\r\n").utf8) + body
    }

    @Test("a decoder is paid for while the body comes, and given back when it has", arguments: [Coding.br, .zstd])
    func decoder(_ coding: Coding) throws {
        let bytes = Self.post(BodyCodingTests.encoded(Self.document, coding), coding.rawValue)
        try withRig([convert(.json, .json)]) { rig in
            let client = try rig.connect()
            client.send(Array(bytes[..<(bytes.count / 2)]))
            rig.settle()
            #expect(rig.worker.memory.held(.request) >= 320 * 1024)
            client.send(Array(bytes[(bytes.count / 2)...]))
            let request = try rig.request()
            #expect(request.text == Self.document)
            #expect(rig.worker.memory.held(.request) <= 256 * 1024)
            rig.upstreams[0].send(ok)
            #expect(try rig.response(to: client).status == 200)
            rig.settle()
            #expect(rig.worker.memory.held == 0)
        }
    }

    @Test("a body whose decoder there is no memory for is refused, and nothing is left of it")
    func noMemoryForDecoder() throws {
        let bytes = Self.post(BodyCodingTests.encoded(Self.document, .zstd), "zstd")
        try withRig([convert(.json, .json)]) { settings in
            settings.memory.bodies = 384 * 1024
        } _: { rig in
            let client = try rig.connect()
            client.send(bytes)
            expectProblem(try rig.response(to: client), 503, "memory_exhausted")
            rig.settle()
            #expect(rig.worker.memory.held == 0)
        }
    }

    @Test("a response's decoder is paid for too")
    func response() throws {
        let body = BodyCodingTests.encoded(Self.document, .zstd)
        try withRig([convertBack(.json, .json)]) { rig in
            let client = try rig.connect(sending: "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try rig.request()
            rig.upstreams[0].send(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: zstd\r\n"
                    + "Content-Length: \(body.count)\r\n\r\n")
            rig.upstreams[0].send(Array(body[..<1000]))
            rig.settle()
            #expect(rig.worker.memory.held(.response) >= 256 * 1024)
            rig.upstreams[0].send(Array(body[1000...]))
            #expect(try rig.response(to: client).text == Self.document)
            rig.settle()
            #expect(rig.worker.memory.held == 0)
        }
    }

    @Test(
        "an encoder is paid for while its response is sent; without memory the response goes without a coding",
        arguments: [(64, true), (1, false)])
    func encoder(mebibytes: Int, isCoded: Bool) throws {
        var options = RouteOptions()
        var compress = CompressOptions()
        compress.plain = true
        compress.codings = [.zstd]
        options.coding.compress = compress
        try withRig([forward(options: options)]) { settings in
            settings.memory.bodies = mebibytes << 20
        } _: { rig in
            let client = try rig.connect(sending: "GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: zstd\r\n\r\n")
            _ = try rig.request()
            rig.upstreams[0].send(
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4000\r\n\r\n"
                    + String(repeating: "x", count: 2000))
            rig.settle()
            #expect((rig.worker.memory.held(.response) > 0) == isCoded)
            rig.upstreams[0].send(String(repeating: "x", count: 2000))
            let response = try rig.response(to: client)
            #expect(response["Content-Encoding"] == (isCoded ? "zstd" : nil))
            #expect(response["Vary"] == "Accept-Encoding")
            rig.settle()
            #expect(rig.worker.memory.held == 0)
        }
    }

    @Test(
        "a large copy for a retry is paid for; without memory there is none, and the request goes on",
        arguments: [(64, true), (0, false)])
    func replay(mebibytes: Int, isHeld: Bool) throws {
        var options = RouteOptions()
        options.retry.onReset = true
        options.retry.buffer = 1 << 20
        let body = String(repeating: "b", count: 600_000)
        try withRig([forward(options: options)]) { settings in
            settings.memory.bodies = mebibytes > 0 ? mebibytes << 20 : 384 * 1024
        } _: { rig in
            let client = try rig.connect(
                sending: "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.count)\r\n\r\n" + body)
            #expect(try rig.request().text == body)
            #expect((rig.worker.memory.held(.request) >= body.count) == isHeld)
            rig.upstreams[0].reset()
            if isHeld {
                #expect(try rig.request(on: 1).text == body)
                rig.upstreams[1].send(ok)
            }
            #expect(try rig.response(to: client).status == (isHeld ? 200 : 502))
            rig.settle()
            #expect(rig.worker.memory.held == 0)
        }
    }
}
