import HTTPWire
import Octets
import Testing

@testable import Proxy

/// The command that sends a request again: to the address that it came to, and what of it is masked.
@Suite struct ConsoleCommandTests {
    private func command(
        _ head: String, body: String = "", isSecure: Bool = false, to listener: String? = "127.0.0.1:8080",
        _ version: MessageVersion = .http1_1, mask: [String] = ["token"]
    ) -> (command: String, masked: Int)? {
        var message = KeptMessage()
        let text = Array(head.utf8)
        message.keep(head: text.span)
        let content = Array(body.utf8)
        message.keep(content.span, limit: 1024)
        let shown = ShownMessage(KeptCopy(message), NameMask(mask))
        return shown.curl(isSecure: isSecure, to: listener, version)
    }

    private let rest = " -H 'Accept:' -H 'User-Agent:'"

    @Test("it asks the listener, and says which host was asked for")
    func listener() throws {
        let head = "GET /a?b=1 HTTP/1.1\r\nHost: shop.example\r\n\r\n"
        let start = "curl --globoff --path-as-is"
        let host = " -H 'Host: shop.example'"
        #expect(try #require(command(head)).command == "\(start) -X 'GET' 'http://127.0.0.1:8080/a?b=1'\(host)\(rest)")
        // A certificate is of the host's name.
        #expect(
            try #require(command(head, isSecure: true)).command
                == "\(start) -X 'GET' 'https://shop.example/a?b=1' --connect-to '::127.0.0.1:8080'\(rest)")
        // Of a unix socket nothing else is known.
        #expect(try #require(command(head, to: nil)).command == "\(start) -X 'GET' 'http://shop.example/a?b=1'\(rest)")
        let own = "GET /a HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n"
        #expect(try #require(command(own)).command == "\(start) -X 'GET' 'http://127.0.0.1:8080/a'\(rest)")
        let bare = "GET /a HTTP/1.0\r\n\r\n"
        #expect(
            try #require(command(bare)).command
                == "\(start) -X 'GET' 'http://127.0.0.1:8080/a' -H 'Accept:' -H 'Host:' -H 'User-Agent:'")
    }

    @Test("of a head that could not be read there is none", arguments: ["", "GET", "GET /plain"])
    func unreadable(line: String) {
        #expect(command(line) == nil)
    }

    @Test("a target that is no path is one of the request alone", arguments: ["*", "http://other.example/x"])
    func target(target: String) throws {
        let found = try #require(command("OPTIONS \(target) HTTP/1.1\r\nHost: h\r\n\r\n"))
        #expect(found.command.contains(" --request-target '\(target)' 'http://127.0.0.1:8080' "))
    }

    @Test("a request of HTTP/2 goes by HTTP/2")
    func version() throws {
        let head = "GET /a HTTP/1.1\r\nhost: h\r\n\r\n"
        #expect(try #require(command(head, .http2)).command.contains(" --http2-prior-knowledge -X "))
        #expect(try #require(command(head, isSecure: true, .http2)).command.contains(" --http2 -X "))
        #expect(try !#require(command(head)).command.contains("--http2"))
    }

    @Test("what is masked in it is counted, and nothing else")
    func masked() throws {
        let head = "POST /a?token=abcdef&b=2 HTTP/1.1\r\nHost: h\r\nX-Token: secret-1\r\nX-Other: 1\r\n"
        let form = "Content-Type: application/x-www-form-urlencoded\r\n\r\n"
        #expect(try #require(command(head + "\r\n")).masked == 2)
        #expect(try #require(command(head + form, body: "token=abc&a=1")).masked == 3)
        #expect(try #require(command(head + form, body: "token=abc&a=1", mask: [])).masked == 0)
        // Of a body that isn't kept whole nothing is in it.
        let long = try #require(command(head + form, body: "token=abc&a=" + String(repeating: "x", count: 2000)))
        #expect(long.masked == 2 && long.command.hasSuffix(" --data-binary @body"))
    }
}
