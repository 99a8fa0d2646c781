import Proxy
import Testing

/// Clients that speak something else than HTTP are told so, in place of what a parser of HTTP/1 makes of their bytes.
@Suite struct OtherProtocolTests {
    static let hello: [UInt8] = [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3] + [UInt8](repeating: 7, count: 100)

    @Test(
        "the first bytes show what is spoken",
        arguments: [
            (hello, "http_tls"), ([22], "http_tls"), ([21, 3, 3, 0, 2, 1, 0], "http_tls"),
            (Array("PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8), "http_proxy_header"),
            (Array("PROXY UNKNOWN\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8), "http_proxy_header"),
            (Array("\r\n\r\n\0\r\nQUIT\n!\u{11}\0\u{c}".utf8) + [1, 2, 3, 4], "http_proxy_header"),
            ([0, 1, 2], "http_bad_method"), (Array("GET / HTTP/1.1\r\n\r\n".utf8), "http_missing_host"),
            (Array("PROXY TCP4 HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n".utf8), "http_proxy_header"),
            (Array("PROXY /x HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n".utf8), "http_repeated_host"),
        ] as [([UInt8], String)])
    func first(bytes: [UInt8], code: String) throws {
        try withRig { rig in
            let client = try rig.connect()
            client.send(bytes)
            expectProblem(try rig.response(to: client), 400, code)
            let line = try #require(try rig.logLines().first)
            #expect(line["flags"] as? String == "BR" && line["code"] as? String == code)
        }
    }

    @Test("behind a request they show nothing")
    func second() throws {
        try withRig { rig in
            let client = try rig.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").client
            client.send([22, 3, 1, 2, 0])
            expectProblem(try rig.response(to: client), 400, "http_bad_method")
        }
    }
}
