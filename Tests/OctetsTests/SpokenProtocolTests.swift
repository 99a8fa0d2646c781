import Octets
import Testing

@Suite struct SpokenProtocolTests {
    private func look(_ bytes: [UInt8]) -> SpokenProtocol? { SpokenProtocol.look(at: bytes.span) }

    @Test(
        "what a connection begins with shows what is spoken",
        arguments: [
            ("GET / HTTP/1.1\r\n", .http), ("get /", .http), ("\r\nPOST /x", .http), ("M-SEARCH * HTTP/1.1", .http),
            ("HTTP/1.1 400 Bad Request", .http), ("PRI * HTTP/2.0\r\n\r\nSM", .http), ("GE", .http),
            ("PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n", .proxyHeader), ("PROXY TCP6 ::1 ::1 1 2\r\n", .proxyHeader),
            ("PROXY UNKNOWN\r\n", .proxyHeader), ("\r\n\r\n\0\r\nQUIT\n!", .proxyHeader), ("\r\n\r\n\0", .proxyHeader),
            // A method of that name, and lines that only begin as a header does.
            ("PROXY /x HTTP/1.1\r\n", .http), ("PROXY TCP5 ", .http), ("\r\n\r\nGET /", .http),
            ("\r\n\r\n\0\r\nQUIX", nil),
            ("\r\n\r\n", nil), ("220 mail.example\r\n", nil), ("SSH-2.0-x\r\n", nil), ("\u{1}\u{2}", nil), ("", nil),
        ] as [(String, SpokenProtocol?)])
    func texts(text: String, spoken: SpokenProtocol?) {
        let found = look(Array(text.utf8))
        #expect(found == spoken)
    }

    @Test("records of TLS name version 3, whatever their type is")
    func records() {
        for type in UInt8.min...UInt8.max where !ASCII.isAlpha(type) {
            #expect(look([type, 3, 1, 2, 0]) == ((20...23).contains(type) ? .tls : nil), "\(type)")
        }
        #expect(look([22]) == .tls)
        #expect(look([22, 4, 1]) == nil)
    }
}
