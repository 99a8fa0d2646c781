import ContentCoding
import Gateway
import Octets
import Proxy
import Testing
import Transcoding

/// Bodies with content codings on their way through the proxy.
@Suite struct BodyCodingTests {
    static func encoded(_ text: String, _ coding: Coding) -> [UInt8] {
        let encoder = ContentEncoder(coding)
        var output = OutputBuffer()
        var isFine = encoder.encode(Array(text.utf8).span, into: &output)
        isFine = encoder.finish(into: &output) && isFine
        precondition(isFine)
        return output.span.copied()
    }

    static func decoded(_ body: [UInt8], _ coding: Coding) throws -> String {
        let decoder = ContentDecoder()
        var limits = CodingLimits()
        limits.ratio = 1_000_000
        decoder.begin(AppliedCodings(coding), limits: limits)
        var output = OutputBuffer()
        var at = 0
        while at < body.count || decoder.hasMore {
            at += try decoder.feed(body.span.extracting(at..<body.count), into: &output)
        }
        try decoder.finish()
        return String(decoding: output.span.copied(), as: UTF8.self)
    }

    private func post(_ type: String, _ body: [UInt8], _ coding: String, path: String = "/") -> [UInt8] {
        Array(
            ("POST \(path) HTTP/1.1\r\nHost: a\r\nContent-Type: \(type)\r\nContent-Encoding: \(coding)\r\n"
                + "Content-Length: \(body.count)\r\n\r\n").utf8) + body
    }

    private func chunked(_ type: String, _ body: [UInt8], _ coding: String, size: Int, isWhole: Bool = true) -> [UInt8]
    {
        var bytes = Array(
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Type: \(type)\r\nContent-Encoding: \(coding)\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n").utf8)
        var at = 0
        while at < body.count {
            let piece = body[at..<min(at + size, body.count)]
            bytes += Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + Array("\r\n".utf8)
            at += size
        }
        return bytes + Array((isWhole ? "0\r\n\r\n" : "").utf8)
    }

    private func answer(_ body: [UInt8], _ coding: String, type: String = jsonType) -> [UInt8] {
        Array(
            ("HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nContent-Encoding: \(coding)\r\nETag: \"x\"\r\n"
                + "Digest: d\r\nContent-Length: \(body.count)\r\n\r\n").utf8) + body
    }

    // MARK: Requests

    @Test("a coded body is converted however it is framed and cut, one after the other on one connection")
    func requests() throws {
        try withRig([convert(.form, .json)], unix: true) { rig in
            let client = try rig.connect()
            for coding in Coding.allCases {
                let body = Self.encoded("a=1&b=2", coding)
                for bytes in [
                    post(formType, body, coding.rawValue), chunked(formType, body, coding.rawValue, size: 1),
                    chunked(formType, body, coding.rawValue.uppercased(), size: 7),
                ] {
                    for byte in bytes { client.send([byte]) }
                    let request = try rig.request()
                    #expect(request.text == #"{"a":"1","b":"2"}"#)
                    #expect(request["Content-Encoding"] == nil && request["Content-Length"] == "17")
                    rig.upstreams[0].send(ok)
                    #expect(try rig.response(to: client).status == 200)
                }
            }
            #expect(rig.upstreams.count == 1)
        }
    }

    @Test("R36: one that can't be undone is 415 and names those that can, and the connection goes on")
    func unknown() throws {
        try withRig([convert(.form, .json)]) { rig in
            let client = try rig.connect()
            for coding in ["compress", "gzip, exi", "gzip, br, zstd", "gzip;q=1"] {
                client.send(post(formType, Array("a=1".utf8), coding))
                let response = try rig.response(to: client)
                #expect(response.status == 415 && response.text.contains("unsupported_content_coding"))
                #expect(response["Accept-Encoding"] == "gzip, deflate, br, zstd")
            }
            #expect(rig.upstreams.isEmpty)
            client.send(post(formType, Self.encoded("a=1", .gzip), "gzip, identity,"))
            #expect(try rig.request().text == #"{"a":"1"}"#)
        }
    }

    @Test("a body of another type passes with its coding where the route lets it pass")
    func otherTypesPass() throws {
        try withRig([convert(.form, .json, otherTypes: .pass)]) { rig in
            let body = Self.encoded("hello", .br)
            let client = try rig.connect()
            client.send(post("text/plain", body, "br"))
            let request = try rig.request()
            #expect(request.body == body && request["Content-Encoding"] == "br")
        }
    }

    @Test("a body that says it is coded and has no bytes is refused, on every framing")
    func empty() throws {
        try withRig([convert(.form, .json)]) { rig in
            let client = try rig.connect()
            for bytes in [post(formType, [], "gzip"), chunked(formType, [], "gzip", size: 1)] {
                client.send(bytes)
                let response = try rig.response(to: client)
                #expect(response.status == 400 && response.text.contains("coding_malformed"))
            }
            #expect(rig.upstreams.isEmpty)
        }
    }

    @Test("what is wrong with a coded body is what comes first in it, however it is cut", arguments: [true, false])
    func firstFault(isJSON: Bool) throws {
        var body = Self.encoded(isJSON ? #"{"a":1}"# : #"{"a":no}"#, .gzip)
        // Its sum.
        body[body.count - 6] ^= 1
        let code = isJSON ? "coding_malformed" : "json_unexpected_byte"
        try withRig([convert(.json, .form)], unix: true) { rig in
            for cut in [0, 1, body.count - 9, body.count - 8, body.count - 6, body.count - 1] {
                let client = try rig.connect()
                let bytes = post(jsonType, body, "gzip")
                client.send(Array(bytes[..<(bytes.count - body.count + cut)]))
                rig.settle()
                client.send(Array(bytes[(bytes.count - body.count + cut)...]))
                let response = try rig.response(to: client)
                #expect(response.status == 400 && response.text.contains(code), "\(cut): \(response.text)")
            }
            #expect(rig.upstreams.isEmpty)
        }
        try withRig([convertBack()], unix: true) { rig in
            let client = try rig.connect()
            for cut in [0, 1, body.count - 9, body.count - 8, body.count - 6, body.count - 1] {
                client.send(getRequest)
                var asked: RigPeer?
                try rig.until("a request at the upstream") {
                    asked = rig.upstreams.first { !$0.isOver && $0.has() }
                    return asked != nil
                }
                let upstream = try #require(asked)
                _ = upstream.take()
                let bytes = answer(body, "gzip")
                upstream.send(Array(bytes[..<(bytes.count - body.count + cut)]))
                rig.settle()
                upstream.send(Array(bytes[(bytes.count - body.count + cut)...]))
                let response = try rig.response(to: client)
                #expect(
                    response.status == 502 && response.text.contains(#""cause":"\#(code)""#),
                    "\(cut): \(response.text)")
            }
        }
    }

    @Test("a streamed body whose coding is cut or damaged is no whole request upstream", arguments: Coding.allCases)
    func truncatedStream(_ coding: Coding) throws {
        var limits = Limits()
        limits.tree = 10_000_000
        limits.field = 10_000_000
        var state: UInt64 = 9
        let value = String(
            decoding: (0..<400_000).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return UInt8(ascii: "a") + UInt8(state >> 60)
            }, as: UTF8.self)
        let body = Self.encoded(#"{"a":"\#(value)"}"#, coding)
        try withRig([convert(.json, .form, limits: limits)], unix: true) { rig in
            var number = 0
            for bad in [Array(body.dropLast()), Array(body.dropLast(9)), body + [0], body] {
                let client = try rig.connect()
                // With a length it would be held until the upstream's is known.
                client.send(chunked(jsonType, bad, coding.rawValue, size: bad.count))
                if bad == body {
                    #expect(try rig.request(on: number).text == "a=\(value)")
                    rig.upstreams[number].send(ok)
                    #expect(try rig.response(to: client).status == 200)
                } else {
                    let response = try rig.response(to: client)
                    #expect(response.status == 400 && response.text.contains("coding_malformed"))
                    try rig.until("the upstream's request is aborted") {
                        rig.upstreams.count == number + 1 && rig.upstreams[number].isOver
                    }
                    #expect(!rig.upstreams[number].has())
                    number += 1
                }
            }
        }
    }

    @Test("what is decoded waits for a slow upstream, and the client with it", arguments: Coding.allCases)
    func slowUpstream(_ coding: Coding) throws {
        var limits = Limits()
        limits.tree = 10_000_000
        limits.field = 10_000_000
        var plan = ConversionPlan(inputs: [.json], output: .form)
        plan.limits = limits
        var options = RouteOptions()
        options.coding.limits.ratio = 1_000_000
        let route = Route(
            index: 0, name: "r0", match: RouteMatch(path: try PathPattern(parsing: "/*")), upstream: 0, limits: limits,
            request: .convert(plan, otherTypes: .reject, sources: []), options: options)
        let value = String(repeating: "v", count: 4_000_000)
        let body = Self.encoded(#"{"a":"\#(value)"}"#, coding)
        for size in [50, 4096, body.count] {
            try withRig([route], unix: true) { rig in
                rig.upstreamIsPaused = true
                let client = try rig.connect()
                client.send(chunked(jsonType, body, coding.rawValue, size: size))
                let upstream = try rig.upstream()
                rig.settle()
                #expect(!client.has())
                upstream.resume()
                let request = try rig.request()
                #expect(request.body.count == value.utf8.count + 2)
                #expect((request.chunks.max() ?? 0) <= 200_000, "what waited is bounded")
                upstream.send(ok)
                #expect(try rig.response(to: client).text == "ok")
            }
        }
    }

    @Test("limits.body counts the wire, limits.decompressed what comes out, limits.ratio their quotient")
    func limits() throws {
        var limits = Limits()
        limits.body = 100
        limits.field = 1 << 20
        limits.tree = 1 << 20
        var plan = ConversionPlan(inputs: [.form], output: .json)
        plan.limits = limits
        var options = RouteOptions()
        options.coding.limits.decompressed = 100_000
        options.coding.limits.ratio = 1_000_000
        func route(_ options: RouteOptions) throws -> Route {
            Route(
                index: 0, name: "r0", match: RouteMatch(path: try PathPattern(parsing: "/*")), upstream: 0,
                limits: limits, request: .convert(plan, otherTypes: .reject, sources: []), options: options)
        }
        func form(_ count: Int) -> [UInt8] { Self.encoded("a=" + String(repeating: "b", count: count - 2), .br) }
        try withRig([route(options)]) { rig in
            let client = try rig.connect()
            for count in [99_999, 100_000] {
                client.send(post(formType, form(count), "br"))
                #expect(try rig.request().body.count == count + 6)
                rig.upstreams[0].send(ok)
                #expect(try rig.response(to: client).status == 200)
            }
            client.send(post(formType, form(100_001), "br"))
            let response = try rig.response(to: client)
            #expect(response.status == 413 && response.text.contains(#""code":"limit_decompressed""#))
            #expect(response.text.contains(#""setting":"limits.decompressed""#))
        }
        options.coding.limits.ratio = 100
        try withRig([route(options)]) { rig in
            let client = try rig.connect()
            client.send(post(formType, form(99_999), "br"))
            let response = try rig.response(to: client)
            #expect(response.status == 413 && response.text.contains(#""code":"limit_ratio""#))
            #expect(rig.upstreams.isEmpty)
        }
    }

    // MARK: Responses

    @Test("a coded answer is undone wherever the upstream's writes end, and its head says nothing of the coding")
    func answers() throws {
        try withRig([convertBack()], unix: true) { rig in
            let client = try rig.connect()
            for coding in Coding.allCases {
                let bytes = answer(Self.encoded(#"{"a":{"b":[1,2]}}"#, coding), coding.rawValue)
                for cut in stride(from: 1, to: bytes.count, by: 11) {
                    client.send(getRequest)
                    let request = try rig.request()
                    #expect(request["Accept-Encoding"] == "identity")
                    rig.upstreams[0].send(Array(bytes[..<cut]))
                    rig.settle()
                    #expect(client.rest.isEmpty)
                    rig.upstreams[0].send(Array(bytes[cut...]))
                    let response = try rig.response(to: client)
                    #expect(response.text == "a%5Bb%5D%5B%5D=1&a%5Bb%5D%5B%5D=2" && response.status == 200)
                    #expect(response["Content-Encoding"] == nil && response["Digest"] == nil)
                    #expect(response["ETag"] == "W/\"x\"")
                }
            }
            #expect(rig.upstreams.count == 1)
        }
    }

    @Test("an answer whose coding is cut anywhere is a 502", arguments: Coding.allCases)
    func cutAnswers(_ coding: Coding) throws {
        try withRig([convertBack()], unix: true) { rig in
            let client = try rig.connect()
            let body = Self.encoded(#"{"a":{"b":[1,2]}}"#, coding)
            for count in 1..<body.count {
                client.send(getRequest)
                _ = try rig.request()
                rig.upstreams[0].send(answer(Array(body[..<count]), coding.rawValue))
                let response = try rig.response(to: client)
                #expect(response.status == 502 && response.text.contains(#""cause":"coding_malformed""#))
            }
            #expect(rig.upstreams.count == 1, "the upstream's framing was fine, so its connection serves on")
            client.send(getRequest)
            _ = try rig.request()
            rig.upstreams[0].send(answer([], coding.rawValue))
            let response = try rig.response(to: client)
            #expect(response.status == 200 && response.body.isEmpty, "C3: no body at all passes")
        }
    }

    private func compressing(
        _ responses: [ResponseRule] = [], _ change: (inout CompressOptions) -> Void = { _ in }
    ) throws -> Route {
        var options = RouteOptions()
        var compress = CompressOptions()
        compress.plain = true
        compress.least = 100
        change(&compress)
        options.coding.compress = compress
        return Route(
            index: 0, name: "r0", match: RouteMatch(path: try PathPattern(parsing: "/*")), upstream: 0,
            responses: responses, options: options)
    }

    private let accepting = "GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip, br, zstd\r\n\r\n"

    @Test("what the upstream sends goes out with every read, compressed", arguments: Coding.allCases)
    func streamed(_ coding: Coding) throws {
        try withRig([compressing { $0.codings = [coding] }]) { rig in
            let client = try rig.connect()
            for _ in 0..<2 {
                client.send("GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: \(coding.rawValue)\r\n\r\n")
                _ = try rig.request()
                let upstream = rig.upstreams[0]
                upstream.send(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
                rig.settle()
                for number in 0..<5 {
                    let before = client.rest.count
                    upstream.send("8\r\ndata: \(number)\n\r\n")
                    rig.settle()
                    #expect(client.rest.count > before, "event \(number) is held back")
                }
                upstream.send("0\r\n\r\n")
                let response = try rig.response(to: client)
                #expect(response["Content-Encoding"] == coding.rawValue && response.isChunked)
                #expect(try Self.decoded(response.body, coding) == (0..<5).map { "data: \($0)\n" }.joined())
            }
        }
    }

    @Test(
        "F14: what came of an answer that gets a coding goes out before it is cut, however it was cut into reads",
        arguments: Coding.allCases)
    func cutWhileCoded(_ coding: Coding) throws {
        let content = String(repeating: "content ", count: 16)
        let chunk = "\(String(content.utf8.count, radix: 16))\r\n\(content)\r\n"
        let faults: [(head: String, content: String, fault: String?)] = [
            ("Transfer-Encoding: chunked", chunk, "xx\r\n"), ("Transfer-Encoding: chunked", chunk, nil),
            ("Content-Length: 1000", content, nil),
        ]
        for (head, content, fault) in faults {
            for isOneRead in [true, false] {
                try withRig([compressing { $0.codings = [coding] }]) { rig in
                    let client = try rig.connect()
                    client.send("GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: \(coding.rawValue)\r\n\r\n")
                    _ = try rig.request()
                    let upstream = rig.upstreams[0]
                    upstream.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\(head)\r\n\r\n\(content)")
                    if !isOneRead { rig.settle() }
                    if let fault { upstream.send(fault) } else { upstream.close() }
                    try rig.until("the client's connection has ended") { client.isOver }
                    let text = String(decoding: client.rest, as: UTF8.self)
                    #expect(text.hasPrefix("HTTP/1.1 200 "), "\(head), one read: \(isOneRead)")
                    // Chunks or not, what came is there to be read, and no end.
                    let (body, isWhole) = try Self.chunks(of: client.rest)
                    #expect(!isWhole)
                    #expect(try Self.decodedPart(body, coding) == String(repeating: "content ", count: 16))
                }
            }
        }
    }

    @Test("F14: so it does where it is cut for what the client sends", arguments: Coding.allCases)
    func cutForRequest(_ coding: Coding) throws {
        let content = String(repeating: "content ", count: 16)
        try withRig([compressing { $0.codings = [coding] }]) { rig in
            let client = try rig.connect()
            client.send("POST / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: \(coding.rawValue)\r\n")
            client.send("Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
            let upstream = try rig.upstream()
            try rig.until("part of the request") { upstream.text.contains("abc") }
            upstream.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\n\(content)")
            try rig.until("the head of the response") { client.text.contains("\r\n\r\n") }
            rig.settle()
            client.send("no chunk\r\n")
            try rig.until("the client's connection has ended") { client.isOver }
            let (body, isWhole) = try Self.chunks(of: client.rest)
            #expect(!isWhole)
            #expect(try Self.decodedPart(body, coding) == content)
        }
    }

    /// The content of a message in chunks that may be cut, and whether the last chunk is there.
    private static func chunks(of bytes: [UInt8]) throws -> (content: [UInt8], isWhole: Bool) {
        let mark = Array("\r\n\r\n".utf8)
        var at = try #require(bytes.indices.first { bytes[$0...].starts(with: mark) }) + mark.count
        var content: [UInt8] = []
        while let end = bytes[at...].firstIndex(of: 13) {
            let size = try #require(Int(String(decoding: bytes[at..<end], as: UTF8.self), radix: 16))
            if size == 0 { return (content, true) }
            try #require(end + 4 + size <= bytes.count, "a chunk is cut")
            content += bytes[(end + 2)..<(end + 2 + size)]
            at = end + 2 + size + 2
        }
        return (content, false)
    }

    /// What can be read of coded bytes without their end.
    private static func decodedPart(_ body: [UInt8], _ coding: Coding) throws -> String {
        let decoder = ContentDecoder()
        decoder.begin(AppliedCodings(coding), limits: CodingLimits())
        var output = OutputBuffer()
        var at = 0
        while at < body.count || decoder.hasMore {
            at += try decoder.feed(body.span.extracting(at..<body.count), into: &output)
        }
        return String(decoding: output.span.copied(), as: UTF8.self)
    }

    @Test("a large answer is compressed at the pace of the client")
    func slowClient() throws {
        try withRig([compressing { $0.codings = [.gzip] }], unix: true) { rig in
            let client = try rig.connect(paused: true)
            client.send(accepting)
            _ = try rig.request()
            var state: UInt64 = 3
            let text = String(
                decoding: (0..<3_000_000).map { _ in
                    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    return UInt8(ascii: "a") + UInt8(state >> 60)
                }, as: UTF8.self)
            rig.upstreams[0].send(
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: \(text.utf8.count)\r\n\r\n" + text)
            rig.settle()
            #expect(rig.upstreams[0].sent < 2_500_000, "the upstream isn't held back")
            client.resume()
            let response = try rig.response(to: client)
            #expect(try Self.decoded(response.body, .gzip) == text)
        }
    }

    @Test("a converted answer has the coding and its length; what is short, or for HTTP/1.0, has none")
    func convertedAnswers() throws {
        let rule = ResponseRule(ResponseCondition(), .convert(conversion(.json, .form)))
        try withRig([compressing([rule]) { $0.plain = false }]) { rig in
            let long = #"{"a":"\#(String(repeating: "b", count: 98))"}"#
            let short = #"{"a":"\#(String(repeating: "b", count: 97))"}"#
            for (request, body, coding) in [
                (accepting, long, "br"), (accepting, short, nil), (getRequest, long, nil),
                ("GET / HTTP/1.0\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n", long, nil),
            ] as [(String, String, String?)] {
                let (_, response, _) = try rig.exchange(request, answer: Self.text(body))
                #expect(
                    response["Content-Encoding"] == coding && response["Content-Length"] == "\(response.body.count)")
                let text = coding == nil ? response.text : try Self.decoded(response.body, .br)
                #expect(text.utf8.count == body.utf8.count - 6)
                // Also to HTTP/1.0: another client gets the coded form.
                #expect(response["Vary"] == (body == long ? "Accept-Encoding" : nil))
            }
        }
    }

    private static func text(_ body: String) -> String {
        "HTTP/1.1 200 OK\r\nContent-Type: \(jsonType)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }
}
