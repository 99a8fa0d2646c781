import HTTPWire
import Octets
import Testing

@Suite("Responses")
struct ResponseParserTests {
    /// One response with its framing, or the code of the error, cut in every way.
    static func read(_ text: String, toHead: Bool = false, limits: WireLimits = WireLimits()) -> String {
        let bytes = text.unicodeScalars.map { UInt8($0.value) }
        var results: Set<String> = []
        for cut in Cut.all(bytes.count) {
            var parser = ResponseParser(limits: limits)
            var head = MessageHead()
            var waiting: [UInt8] = []
            var result = "waits"
            for slice in cut.slices(bytes) where result == "waits" {
                waiting += slice
                do throws(WireError) {
                    let input = waiting
                    guard try parser.parse(input.span, into: &head) != nil else { continue }
                    let framing = try Framing.response(head, toHead: toHead)
                    result = "\(head.status) \(framing) \(head.isKeepAlive ? "keep" : "close")"
                } catch {
                    result = "\(error.status) \(error.code)"
                }
            }
            results.insert(result)
        }
        #expect(results.count == 1, "\(text): \(results)")
        return results.first ?? ""
    }

    static let table: [(String, String)] = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "200 length(5) keep"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "200 chunked keep"),
        ("HTTP/1.1 200 OK\r\n\r\n", "200 untilClose keep"),
        ("HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", "200 length(0) keep"),
        ("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "200 length(0) keep"),
        ("HTTP/1.1 599 \u{E9}\r\nContent-Length: 0\r\n\r\n", "599 length(0) keep"),
        ("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\n", "200 length(5) close"),
        ("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n", "200 length(5) close"),
        ("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 5\r\n\r\n", "200 length(5) keep"),
        ("HTTP/1.0 200 OK\r\nConnection: close, keep-alive\r\nContent-Length: 5\r\n\r\n", "200 length(5) close"),
        ("HTTP/1.1 200 OK\r\nConnection: keep alive\r\nContent-Length: 5\r\n\r\n", "200 length(5) close"),
        ("HTTP/1.1 200 OK\r\nConnection: content-length\r\nContent-Length: 5\r\n\r\n", "200 length(5) close"),
        ("HTTP/1.1 200 OK\r\nConnection: cache-control\r\nContent-Length: 5\r\n\r\n", "200 length(5) close"),
        ("HTTP/1.1 200 OK\r\nConnection: x-a, TE, trailer\r\nContent-Length: 5\r\n\r\n", "200 length(5) keep"),
        ("HTTP/1.1 100 Continue\r\n\r\n", "100 none keep"),
        ("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", "103 none keep"),
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "101 none keep"),
        ("HTTP/1.1 204 No Content\r\n\r\n", "204 none keep"),
        ("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", "204 none keep"),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "304 none keep"),
        ("HTTP/1.1 205 Reset Content\r\n\r\n", "205 length(0) keep"),
        ("HTTP/1.1 205 Reset Content\r\nTransfer-Encoding: chunked\r\n\r\n", "205 length(0) keep"),
        // The twin of the request rules: 502 and nothing else.
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
            "502 http_length_and_transfer_encoding"
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", "502 http_repeated_content_length"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n", "502 http_bad_content_length"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "502 http_unknown_transfer_coding"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "502 http_bad_transfer_encoding"),
        ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "502 http_transfer_encoding_in_1_0"),
        ("HTTP/1.1 200 OK\nContent-Length: 5\r\n\r\n", "502 http_bare_lf"),
        ("HTTP/1.1 200 OK\r\nA: b\nContent-Length: 5\r\n\r\n", "502 http_bare_lf"),
        ("HTTP/1.1 200 O\rK\r\n\r\n", "502 http_bare_cr"),
        ("HTTP/1.1 200 O\u{0}K\r\n\r\n", "502 http_bad_status_line"),
        ("HTTP/1.1 200 OK\r\nA : b\r\n\r\n", "502 http_space_before_colon"),
        ("HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", "502 http_obs_fold"),
        ("HTTP/1.1 200 OK\r\nA: \u{0}\r\n\r\n", "502 http_bad_field_value"),
        ("HTTP/2.0 200 OK\r\n\r\n", "502 http_unsupported_version"),
        ("http/1.1 200 OK\r\n\r\n", "502 http_bad_status_line"),
        ("HTTP/1.1 20\r\n\r\n", "502 http_bad_status_line"),
        ("HTTP/1.1 200\n\r\n", "502 http_bare_lf"),
        ("HTTP/1.1\n\r\n", "502 http_bare_lf"),
        ("ICY 200 OK\r\n\r\n", "502 http_bad_status_line"),
        ("HTTP/1.1  200 OK\r\n\r\n", "502 http_bad_status_line"),
        ("HTTP/1.1 99 OK\r\n\r\n", "502 http_bad_status_line"),
        ("HTTP/1.1 099 OK\r\n\r\n", "502 http_bad_status"),
        ("HTTP/1.1 020F\r\n\r\n", "502 http_bad_status"), ("HTTP/1.1 000\r\n\r\n", "502 http_bad_status"),
        ("HTTP/1.1 0x0 OK\r\n\r\n", "502 http_bad_status_line"),
        ("HTTP/1.1 2000 OK\r\n\r\n", "502 http_bad_status_line"),
        ("HTTP/1.1 +20 OK\r\n\r\n", "502 http_bad_status_line"),
        ("\r\nHTTP/1.1 200 OK\r\n\r\n", "502 http_bad_status_line"),
        ("HTTP/1.1 200 OK\r\n", "waits"),
    ]

    @Test("a response is framed as RFC 9112 §6.3 says, and every fault is a 502", arguments: table)
    func framing(_ text: String, _ expected: String) {
        #expect(Self.read(text) == expected)
    }

    static let starts: [(String, Int)] = [
        ("220 mail.example ESMTP", 0), ("SSH-2.0-x", 0), ("\u{16}\u{3}\u{1}", 0), ("+OK", 0), ("\u{0}", 0),
        (" HTTP/1.1 200", 0),
        ("http/1.1 200 OK", 0), ("HTTQ", 3), ("HTTP 200 OK", 4), ("HTTP/", -1), ("HTTP/2.0 200", 5), ("HTTP/x", 5),
        ("HTTP/11", 6), ("HTTP/1.x", 7), ("HTTP/1.10 ", 8), ("HTTP/1.1\t200", 8), ("HTTP/1.1  ", 9),
        ("HTTP/1.1 099", 11), ("HTTP/1.1 600", -1), ("HTTP/1.1 999 ", -1),
        ("HTTP/1.1 2x", 10), ("HTTP/1.1 20 ", 11), ("HTTP/1.1 2000", 12),
        ("HTTP/1.1 200\u{0}", 12),
        ("HTTP/1.1 200 O\u{0}", 14), ("HTTP/1.1 200 O\u{7F}", 14), ("HTTP/1.1 200 O\rx", 15), ("HTTP/1.1 200 \n", 13),
        ("HTTP/1.1 200 OK\u{E9} \tno end", -1), ("HTTP/1.1 200 OK\r", -1),
    ]

    @Test(
        "H5: the first byte that can't be a status line's is refused with no more to come, also behind interim ones",
        arguments: starts)
    func noStatusLine(_ text: String, _ bad: Int) throws {
        let interim = Array("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n".utf8)
        let bytes = text.unicodeScalars.map { UInt8($0.value) }
        for step in [1, 2, 3, bytes.count] {
            for isBehind in [false, true] {
                var parser = ResponseParser()
                var head = MessageHead()
                if isBehind { #expect(try parser.parse(interim.span, into: &head) == interim.count) }
                var refusedAt = -1
                for end in stride(from: step, through: bytes.count + step - 1, by: step) where refusedAt < 0 {
                    let part = Array(bytes[..<min(end, bytes.count)])
                    do throws(WireError) {
                        #expect(try parser.parse(part.span, into: &head) == nil)
                    } catch {
                        #expect(error.status == 502)
                        refusedAt = part.count - 1
                    }
                }
                // By the piece that holds the byte.
                #expect(
                    refusedAt == (bad < 0 ? -1 : min((bad / step + 1) * step, bytes.count) - 1), "\(text) by \(step)")
            }
        }
    }

    @Test(
        "an answer to HEAD has no body whatever its fields say, but they must be readable",
        arguments: [
            ("Content-Length: 5", "200 none keep"), ("Transfer-Encoding: chunked", "200 none keep"),
            ("A: b", "200 none keep"),
            ("Content-Length: x", "502 http_bad_content_length"),
        ])
    func toHead(_ field: String, _ expected: String) {
        #expect(Self.read("HTTP/1.1 200 OK\r\n\(field)\r\n\r\n", toHead: true) == expected)
    }

    @Test("status, reason and fields can be read back")
    func accessors() throws {
        var parser = ResponseParser()
        var head = MessageHead()
        let bytes = Array("HTTP/1.1 404 Not here\r\nConnection: x-drop\r\nX-Drop: 1\r\nServer: s\r\n\r\nbody".utf8)
        #expect(try parser.parse(bytes.span, into: &head) == bytes.count - 4)
        #expect(head.status == 404)
        #expect(head.reason.lossyString() == "Not here")
        #expect((0..<head.fieldCount).map { head.isHopByHop($0) } == [true, true, false])
        #expect(head.value(head.first(.server) ?? 0).lossyString() == "s")
    }

    @Test("limits of heads hold for responses, with status 502", arguments: [-1, 0, 1])
    func limits(_ excess: Int) {
        var limits = WireLimits()
        limits.requestLine = 40
        limits.fieldLine = 30
        limits.fieldCount = 3
        limits.head = 100
        let isFine = excess <= 0
        let reason = String(repeating: "r", count: 40 - 13 + excess)
        #expect(
            Self.read("HTTP/1.1 204 \(reason)\r\n\r\n", limits: limits)
                == (isFine ? "204 none keep" : "502 http_request_line_too_long"))
        let value = String(repeating: "v", count: 30 - 3 + excess)
        #expect(
            Self.read("HTTP/1.1 204 \r\nX: \(value)\r\n\r\n", limits: limits)
                == (isFine ? "204 none keep" : "502 http_field_line_too_long"))
        let fields = String(repeating: "X: 1\r\n", count: 3 + excess)
        #expect(
            Self.read("HTTP/1.1 204 \r\n\(fields)\r\n", limits: limits)
                == (isFine ? "204 none keep" : "502 http_too_many_fields"))
        // 15 + 32 + 32 + 2 bytes, and a line of 19 with its CRLF.
        let long = "X: " + String(repeating: "v", count: 27) + "\r\n"
        let last = "Y: " + String(repeating: "v", count: 14 + excess) + "\r\n\r\n"
        let text = "HTTP/1.1 204 \r\n" + long + long + last
        #expect(text.utf8.count == 100 + excess)
        #expect(Self.read(text, limits: limits) == (isFine ? "204 none keep" : "502 http_head_too_large"))
    }

    @Test("what is said of a head beyond a limit names no setting, as none bounds responses")
    func limitTexts() throws {
        let long = String(repeating: "x", count: 16_384)
        let field = "X: \(String(repeating: "v", count: 16_000))\r\n"
        for (text, reason) in [
            ("HTTP/1.1 204 \(long)", "the status line is longer than 16 KiB"),
            ("HTTP/1.1 204 \r\nX: \(long)", "a field line is longer than 16 KiB"),
            ("HTTP/1.1 204 \r\n\(String(repeating: "X: 1\r\n", count: 101))", "the head has more than 100 field lines"),
            ("HTTP/1.1 204 \r\n\(field)\(field)\(field)\(field)\(field)", "the head is larger than 64 KiB"),
        ] {
            var parser = ResponseParser()
            var head = MessageHead()
            let bytes = Array((text + "\r\n\r\n").utf8)
            let error = #expect(throws: WireError.self) { try parser.parse(bytes.span, into: &head) }
            #expect(error?.responseReason == reason)
        }
    }

    @Test("interim responses are limited in number and bytes until a final one", arguments: [-1, 0, 1])
    func interim(_ excess: Int) throws {
        var limits = WireLimits()
        limits.interimCount = 4
        let interim = Array("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n".utf8)
        let final = Array("HTTP/1.1 204 No Content\r\n\r\n".utf8)
        func run(_ limits: WireLimits) -> String {
            var parser = ResponseParser(limits: limits)
            var head = MessageHead()
            do throws(WireError) {
                // The count starts anew after a final response.
                for _ in 0..<2 {
                    for _ in 0..<4 + excess { _ = try parser.parse(interim.span, into: &head) }
                    _ = try parser.parse(final.span, into: &head)
                }
                return "ok"
            } catch {
                return "\(error.status) \(error.code)"
            }
        }
        let expected = excess <= 0 ? "ok" : "502 http_too_many_interim"
        #expect(run(limits) == expected)
        limits.interimCount = 100
        limits.interimBytes = 4 * interim.count
        #expect(run(limits) == expected)
        #expect(WireLimits().interimCount == 32)
        #expect(WireLimits().interimBytes == 65536)
    }
}
