import Octets
import Testing

@testable import HTTPWire

@Suite("Heads")
struct MessageHeadTests {
    static func parse(_ text: String, rules: RequestRules = RequestRules()) throws(WireError) -> MessageHead {
        var head = MessageHead()
        var parser = RequestParser(rules: rules)
        let bytes = Array(text.utf8)
        _ = try parser.parse(bytes.span, into: &head)
        return head
    }

    static func query(_ head: borrowing MessageHead) -> String? {
        guard let query = head.query else { return nil }
        return query.lossyString()
    }

    @Test("a head gives back its start line and fields")
    func accessors() throws {
        let head = try Self.parse(
            "PATCH /a/b?c=d?e HTTP/1.1\r\nhOST: A.test:8080\r\nX-A:  1 \r\ncontent-length: 7\r\nX-A: 2\r\n\r\n")
        #expect(head.method.lossyString() == "PATCH")
        #expect(head.methodKind == .patch)
        #expect(head.target.lossyString() == "/a/b?c=d?e")
        #expect(head.path.lossyString() == "/a/b")
        #expect(Self.query(head) == "c=d?e")
        #expect(head.version == .http1_1)
        #expect(head.host.lossyString() == "a.test")
        #expect(head.authority.lossyString() == "a.test:8080")
        #expect(head.port == 8080)
        #expect(head.framing == .length(7))
        #expect(head.isKeepAlive == true)
        #expect(head.fieldCount == 4)
        #expect((0..<4).map { head.name($0).lossyString() } == ["hOST", "X-A", "content-length", "X-A"])
        #expect((0..<4).map { head.value($0).lossyString() } == ["a.test:8080", "1", "7", "2"])
        #expect((0..<4).map { head.known($0) } == [.host, .other, .contentLength, .other])
        #expect(head.first(.contentLength) == 2)
        #expect(head.contains(.host) == true)
        #expect(head.contains(.cookie) == false)
        #expect(head.first(.cookie) == nil)
        let name = Array("x-a".utf8)
        #expect(head.first(named: name.span) == 1)
        #expect(head.first(named: name.span, from: 2) == 3)
        #expect(head.first(named: name.span, from: 4) == nil)
    }

    @Test(
        "every form of target has a path and a query",
        arguments: [
            ("GET", "/", "/", nil), ("GET", "/?", "/", ""), ("GET", "//a//?/?", "//a//", "/?"),
            ("GET", "http://a.test", "/", nil), ("GET", "http://a.test?x=1", "/", "x=1"),
            ("GET", "http://a.test/y?x=1", "/y", "x=1"), ("OPTIONS", "*", "*", nil),
            ("OPTIONS", "http://a.test", "*", nil), ("OPTIONS", "http://a.test/", "/", nil),
        ])
    func targets(_ method: String, _ target: String, _ path: String, _ query: String?) throws {
        let head = try Self.parse("\(method) \(target) HTTP/1.1\r\nHost: a.test\r\n\r\n")
        #expect(head.path.lossyString() == path)
        #expect(Self.query(head) == query)
        #expect(head.host.lossyString() == "a.test")
        var output = OutputBuffer()
        HeadWriter.requestLine(of: head, into: &output)
        #expect(output.span.lossyString() == "\(method) \(path)\(query.map { "?" + $0 } ?? "") HTTP/1.1\r\n")
    }

    @Test("a head that is parsed into again forgets the message before")
    func reuse() throws {
        var head = MessageHead()
        var parser = RequestParser()
        let first = Array(
            "POST http://b.test/x?y HTTP/1.1\r\nHost: b.test\r\nContent-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"
                .utf8)
        let second = Array("GET / HTTP/1.0\r\n\r\n".utf8)
        #expect(try parser.parse(first.span, into: &head) == first.count)
        #expect(try parser.parse(second.span, into: &head) == second.count)
        #expect(head.fieldCount == 0)
        #expect(head.contains(.host) == false)
        #expect(head.host.lossyString() == "")
        #expect(Self.query(head) == nil)
        #expect(head.framing == BodyFraming.none)
        #expect(head.expectsContinue == false)
        #expect(head.isKeepAlive == false)
        #expect(head.targetForm == .origin)
        head.shrink(to: 0)
        #expect(head.method.lossyString() == "")
    }

    @Test("reset forgets an unfinished head")
    func reset() throws {
        var head = MessageHead()
        var parser = RequestParser()
        let part = Array("GET /old HTTP/1.1\r\nHost: old".utf8)
        #expect(try parser.parse(part.span, into: &head) == nil)
        parser.reset()
        let whole = Array("GET /new HTTP/1.1\r\nHost: new\r\n\r\n".utf8)
        #expect(try parser.parse(whole.span, into: &head) == whole.count)
        #expect(head.fieldCount == 1)
        #expect(head.path.lossyString() == "/new")
    }

    @Test("every known name is found in any case, and no neighbour of it", arguments: KnownField.allCases)
    func knownNames(_ field: KnownField) {
        let name = field.name.description
        func find(_ text: String) -> KnownField {
            let bytes = Array(text.utf8)
            return KnownField.find(bytes.span)
        }
        #expect(find(name) == field)
        #expect(find(name.lowercased()) == field)
        #expect(find(name.uppercased()) == field)
        #expect(find(name + "x") == .other)
        #expect(find(String(name.dropLast())) == .other || field == .other)
        for index in name.indices {
            var other = name
            other.replaceSubrange(index...index, with: "_")
            #expect(find(other) == .other)
        }
        #expect(KnownField.allCases.count <= 64)
    }

    @Test("the scans agree with the plain definition at every position")
    func scans() {
        for length in 0...40 {
            for position in 0...length {
                for byte in UInt8.min...UInt8.max {
                    var bytes = (0..<length).map { UInt8(ascii: $0 % 3 == 0 ? "\t" : "a") }
                    if position < length { bytes[position] = byte }
                    let control = bytes.firstIndex { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F } ?? length
                    #expect(Scan.firstControl(in: bytes.span, from: 0) == control)
                    var token = bytes.map { $0 == 0x09 ? UInt8(ascii: "b") : $0 }
                    if position < length { token[position] = byte }
                    let end = token.firstIndex { !ASCII.isToken($0) } ?? length
                    #expect(Scan.endOfToken(in: token.span, from: 0) == end)
                }
                if length > 20 { break }
            }
        }
    }

    @Test("every fault has a code of its own, a reason and a status")
    func faults() {
        let codes = WireFault.allCases.map { WireError($0, at: 0).code }
        #expect(Set(codes).count == codes.count)
        for fault in WireFault.allCases {
            let error = WireError(fault, at: 3)
            #expect(error.code.hasPrefix("http_"))
            #expect(!error.reason.isEmpty)
            #expect((400...505).contains(error.status))
            #expect(WireError(fault, at: 0, fromUpstream: true).status == 502)
            #expect(error.description.contains("at byte 3"))
        }
    }
}
