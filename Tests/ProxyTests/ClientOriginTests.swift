import Gateway
import HTTPWire
import Octets
import Testing

@testable import Proxy

/// Where a client's request went, by what trusted peers say of it.
@Suite struct ClientOriginTests {
    private func origin(_ fields: [String], _ format: ForwardedFormat) throws -> String {
        let text = "GET / HTTP/1.1\r\nHost: own\r\n" + fields.map { "\($0)\r\n" }.joined() + "\r\n"
        let bytes = Array(text.utf8)
        var head = MessageHead()
        var parser = RequestParser()
        let count = try parser.parse(bytes.span, into: &head)
        #expect(count == bytes.count)
        var trusted = TrustedPeers()
        trusted.networks = ["127.0.0.0/8", "10.0.0.0/8"].compactMap { TrustedPeers.Network(parsing: $0) }
        let origin = ClientChain.origin(of: head, format, trusted: trusted)
        let scheme = origin.isSecure.map { $0 ? "https" : "http" } ?? "-"
        let port = origin.port.map { ":\($0)" } ?? ""
        return "\(scheme) \(String(decoding: origin.host, as: UTF8.self))\(port)"
    }

    @Test(
        "X-Forwarded-Proto and -Host: the last member is the trusted peer's own",
        arguments: [
            ([], "- "), (["X-Forwarded-Proto: https"], "https "), (["X-Forwarded-Proto: HTTP"], "http "),
            (["X-Forwarded-Proto: gopher", "X-Forwarded-Host: a b"], "- "),
            (["X-Forwarded-Proto: wss"], "https "), (["X-Forwarded-Proto: WS"], "http "),
            (["X-Forwarded-Proto: http, https", "X-Forwarded-Host: evil, Pub.example:8443"], "https pub.example:8443"),
            (["X-Forwarded-Host: evil", "X-Forwarded-Host: pub.example"], "- pub.example"),
            (["X-Forwarded-Proto: http", "X-Forwarded-Proto: https, ,"], "https "),
            (
                ["X-Forwarded-Proto: https", "X-Forwarded-Proto: gopher", "X-Forwarded-Host: , pub.example,"],
                "- pub.example"
            ),
            (["X-Forwarded-Host: [2001:DB8::1]:1"], "- 2001:db8::1:1"), (["X-Forwarded-Host: u@pub.example"], "- "),
            (["Forwarded: proto=https;host=pub.example"], "- "),
        ] as [([String], String)])
    func xForwarded(fields: [String], shown: String) throws {
        for format in [ForwardedFormat.xForwarded, .off] {
            let found = try origin(fields, format)
            #expect(found == shown)
        }
    }

    @Test("the size of the chain is that of its lines, joined by a comma and a space")
    func size() throws {
        for (values, size) in [
            ([], 0), (["1.2.3.4"], 7), (["1.2.3.4", "5.6.7.8"], 16), (["1.2.3.4", "", "5"], 12), ([""], 0),
        ] as [([String], Int)] {
            for (name, field) in [("X-Forwarded-For", KnownField.xForwardedFor), ("Forwarded", .forwarded)] {
                let text = "GET / HTTP/1.1\r\nHost: a\r\n" + values.map { "\(name): \($0)\r\n" }.joined() + "\r\n"
                let bytes = Array(text.utf8)
                var head = MessageHead()
                var parser = RequestParser()
                _ = try parser.parse(bytes.span, into: &head)
                let found = ClientChain.size(of: head, field)
                #expect(found == size, "\(values)")
            }
        }
    }

    @Test("the authority has the brackets of an address of IPv6")
    func authority() {
        for (host, port, shown) in [
            ("a.example", nil, "a.example"), ("a.example", 81, "a.example:81"), ("2001:db8::1", nil, "[2001:db8::1]"),
            ("::1", 443, "[::1]:443"),
        ] as [(String, Int?, String)] {
            let origin = ClientChain.Origin(host: Array(host.utf8), port: port)
            #expect(String(decoding: origin.authority, as: UTF8.self) == shown)
        }
    }

    @Test(
        "Forwarded: the element of the proxy that the client has reached, over trusted ones",
        arguments: [
            ([], "- "), (["Forwarded: for=192.0.2.1;proto=https;host=pub.example"], "https pub.example"),
            (["Forwarded: for=192.0.2.1; Proto=\"https\" ;HOST=\"Pub.example:81\""], "https pub.example:81"),
            (["Forwarded: for=192.0.2.9;host=evil, for=192.0.2.1;host=pub.example"], "- pub.example"),
            (
                ["Forwarded: for=192.0.2.1;host=pub.example", "Forwarded: for=10.0.0.1;host=inner;proto=http"],
                "- pub.example"
            ),
            (["Forwarded: for=unknown;host=pub.example;proto=http"], "http pub.example"),
            (["Forwarded: for=192.0.2.1;host=pub.example,, for=10.0.0.1;host=inner, "], "- pub.example"),
            (["Forwarded: for=192.0.2.1;host=evil, nothing"], "- "),
            (["Forwarded: for=192.0.2.1;host=\"a,b\""], "- "),
            (["X-Forwarded-Proto: https", "X-Forwarded-Host: pub.example"], "- "),
        ] as [([String], String)])
    func forwarded(fields: [String], shown: String) throws {
        let found = try origin(fields, .forwarded)
        #expect(found == shown)
    }
}
