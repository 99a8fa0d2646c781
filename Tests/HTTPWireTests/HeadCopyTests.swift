import HTTPWire
import Octets
import Testing

/// What is copied as it came must be what would be written for it.
@Suite("Copies of heads")
struct HeadCopyTests {
    private static let lines = [
        "Host: a.test", "hOST:a.test:80", "Host: A.Test:", "X-A: 1", "X-B:2", "X-C:  3", "X-D: 4 ", "X-E:\t5", "X-F:",
        "X-G: ",
        "x_h: 6", "Content-Type: text/plain", "Content-Length: 3", "Connection: x-a, keep-alive", "Keep-Alive: 5",
        "Cookie: a=b; c=d", "X-\u{7E}: caf\u{E9}", "ETag: \"x\"",
    ]

    /// The lines of `head` as they are written one by one.
    private static func written(
        _ head: borrowing MessageHead, _ lines: Range<Int>, without others: KnownFieldSet, passesUnderscores: Bool
    ) -> [UInt8] {
        var output = OutputBuffer()
        for index in lines where !head.isHopByHop(index) && !others.contains(head.known(index)) {
            if !head.hasUnderscore(index) || passesUnderscores { HeadWriter.field(index, of: head, into: &output) }
        }
        return output.span.copied()
    }

    @Test("runs of lines are what the lines are one by one", arguments: 0..<40)
    func runs(seed: Int) throws {
        var generator = MutationTests.Generator(state: UInt64(seed))
        let sets: [KnownFieldSet] = [[], [.host], [.host, .contentLength, .contentType], [.cookie, .etag]]
        for _ in 0..<60 {
            var chosen = [["Host: a.test", "hOST:a.test:80", "Host: A.Test:"].randomElement(using: &generator) ?? ""]
            for line in Self.lines.dropFirst(3) where Bool.random(using: &generator) { chosen.append(line) }
            chosen.shuffle(using: &generator)
            let bytes = "POST /a HTTP/1.1\r\n\(chosen.joined(separator: "\r\n"))\r\n\r\n".unicodeScalars.map {
                UInt8($0.value)
            }
            var head = MessageHead()
            var parser = RequestParser()
            let split = Int.random(in: 0...bytes.count, using: &generator)
            _ = try parser.parse(bytes.span.extracting(0..<split), into: &head)
            if split < bytes.count { #expect(try parser.parse(bytes.span, into: &head) == bytes.count) }
            let from = Int.random(in: 0...head.fieldCount, using: &generator)
            for range in [0..<head.fieldCount, from..<head.fieldCount, 0..<from] {
                for others in sets {
                    for passes in [true, false] {
                        var output = OutputBuffer()
                        HeadWriter.fields(
                            of: head, lines: range, without: others, passesUnderscores: passes, into: &output)
                        let wanted = Self.written(head, range, without: others, passesUnderscores: passes)
                        #expect(output.span.copied() == wanted, "\(chosen)")
                    }
                }
            }
        }
    }

    @Test(
        "a status line is HTTP/1.1, the status and the reason however it came",
        arguments: [
            ("HTTP/1.1 200 OK", "HTTP/1.1 200 OK"), ("HTTP/1.0 200 OK", "HTTP/1.1 200 OK"),
            ("HTTP/1.7 200 OK", "HTTP/1.1 200 OK"), ("HTTP/1.1 200", "HTTP/1.1 200 "),
            ("HTTP/1.1 200 ", "HTTP/1.1 200 "),
            ("HTTP/1.1 404 Not  Found ", "HTTP/1.1 404 Not  Found "), ("HTTP/1.1 599 x", "HTTP/1.1 599 x"),
        ])
    func statusLines(_ line: String, _ wanted: String) throws {
        let bytes = Array("\(line)\r\nContent-Length: 0\r\n\r\n".utf8)
        var head = MessageHead()
        var parser = ResponseParser()
        #expect(try parser.parse(bytes.span, into: &head) == bytes.count)
        var output = OutputBuffer()
        HeadWriter.statusLine(of: head, into: &output)
        #expect(output.span.lossyString() == wanted + "\r\n")
    }

    @Test(
        "a head knows whether its path has escapes",
        arguments: [
            ("/a", false), ("/%41", true), ("/a?b=%41", false), ("/a%20?b", true), ("/a?%", false), ("/", false),
            ("http://a.test/%41", true), ("http://a.test/?%41", false), ("http://a.test?%41", false),
            ("/abcdefghijklmnopqrstuvwxyz/%41/abcdefgh?x%41?y", true), ("/abcdefghijklmnopqrstuvwxyz?%41?", false),
        ])
    func escapes(_ target: String, _ wanted: Bool) throws {
        let head = try MessageHeadTests.parse("GET \(target) HTTP/1.1\r\nHost: a.test\r\n\r\n")
        #expect(head.pathHasEscapes == wanted)
        #expect(head.path.copied().contains(UInt8(ascii: "%")) == wanted)
    }

    @Test(
        "one word in Connection says the same as a list of it",
        arguments: ["keep-alive", "Keep-Alive", "close", "CLOSE", "upgrade", "x-a"], [0, 1])
    func connection(_ word: String, _ minor: Int) throws {
        func request(_ value: String) throws -> MessageHead {
            try MessageHeadTests.parse(
                "GET / HTTP/1.\(minor)\r\nHost: a\r\nX-A: 1\r\nUpgrade: b\r\nConnection: \(value)\r\n\r\n")
        }
        func response(_ value: String) throws -> MessageHead {
            var head = MessageHead()
            var parser = ResponseParser()
            let bytes = Array("HTTP/1.\(minor) 200 OK\r\nX-A: 1\r\nConnection: \(value)\r\n\r\n".utf8)
            _ = try parser.parse(bytes.span, into: &head)
            return head
        }
        let one = try request(word)
        let list = try request(", " + word)
        #expect(one.isKeepAlive == list.isKeepAlive)
        #expect(one.wantsUpgrade == list.wantsUpgrade)
        #expect((0..<one.fieldCount).map { one.isHopByHop($0) } == (0..<list.fieldCount).map { list.isHopByHop($0) })
        let answer = try response(word)
        let other = try response(", " + word)
        #expect(answer.isKeepAlive == other.isKeepAlive)
        #expect((0..<2).map { answer.isHopByHop($0) } == (0..<2).map { other.isHopByHop($0) })
    }
}
