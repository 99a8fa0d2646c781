import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// The headers that most fields have are read at one go where they lie whole in a slice. The same comes of it as of headers
/// that arrive byte by byte.
@Suite("Usual headers of parts")
struct UsualHeaderTests {
    static let headers: [String] = [
        "Content-Disposition: form-data; name=\"a\"",
        "Content-Disposition: form-data; name=\"\"",
        "Content-Disposition: form-data; name=\"user[address][city]\"",
        "Content-Disposition: form-data; name=\"a b\u{e9}\"",
        "Content-Disposition: form-data; name=\"a\\\"b\"",
        "Content-Disposition: form-data; name=\"a\\b\"",
        "Content-Disposition: form-data; name=\"a%22b\"",
        "Content-Disposition: form-data; name=\"a%b\"",
        "Content-Disposition: form-data; name=\"a\u{7F}b\"",
        "Content-Disposition: form-data; name=\"a\tb\"",
        "Content-Disposition: form-data; name=\"a",
        "Content-Disposition: form-data; name=\"a\" ",
        "Content-Disposition: form-data; name=\"a\";",
        "Content-Disposition: form-data; name=\"a\"b",
        "Content-Disposition: form-data; name=\"a\"; filename=\"f\"",
        "Content-Disposition: form-data; name=\"a\"\r\nX-Own: b",
        "Content-Disposition: form-data; name=\"a\"\r\n folded",
        "Content-Disposition: form-data; name=\"a\"\r\nContent-Type: text/plain; charset=iso-8859-1",
        "content-disposition: form-data; name=\"a\"",
        "Content-Disposition:form-data; name=\"a\"",
        "Content-Disposition: form-data; name=a",
        "X-Own: b\r\nContent-Disposition: form-data; name=\"a\"",
        "Content-Disposition: form-data; name=\"a\"\r\nContent-Disposition: form-data; name=\"b\"",
    ]

    private func same(_ body: [UInt8], options: FieldDecodingOptions = .init(), limits: Limits = .init()) {
        let bytewise = Multipart.decode(.every(1, of: body), options: options, limits: limits)
        #expect(Multipart.decode(.whole(body), options: options, limits: limits) == bytewise)
        // What is known of one part is forgotten with the next.
        for size in [3, 50, 64, 90] {
            #expect(Multipart.decode(.every(size, of: body), options: options, limits: limits) == bytewise)
        }
    }

    @Test("the same part, or the same error, as byte by byte", arguments: headers)
    func same(header: String) {
        for policy in InvalidUTF8Policy.allCases {
            for charsets in [[], [Charset.utf8], [Charset(label: "iso-8859-1")!]] {
                var options = FieldDecodingOptions()
                options.invalidUTF8 = policy
                options.charsets = charsets
                same(Array(Multipart.body(headers: header).utf8), options: options)
                for other in Self.headers.prefix(4) {
                    let two = "--b\r\n\(other)\r\n\r\n1\r\n" + Multipart.body(headers: header, content: "\u{e9}")
                    same(Array(two.utf8), options: options)
                    let three = "--b\r\n\(header)\r\n\r\n1\r\n" + Multipart.body(headers: other, content: "\u{e9}")
                    same(Array(three.utf8), options: options)
                }
            }
        }
    }

    @Test("limits hold at the same byte")
    func limits() {
        let body = Array(("--b\r\n\(Self.headers[2])\r\n\r\n1\r\n" + Multipart.body(headers: Self.headers[0])).utf8)
        for limit in 0..<70 {
            for change: (inout Limits) -> Void in [
                { $0.key = limit }, { $0.partHeaderLine = limit }, { $0.partHeaderBytes = limit },
                { $0.partHeaders = limit }, { $0.parts = limit }, { $0.fields = limit },
            ] {
                var limits = Limits()
                change(&limits)
                same(body, limits: limits)
            }
        }
    }
}
