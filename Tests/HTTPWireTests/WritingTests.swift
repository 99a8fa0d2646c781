import HTTPWire
import Octets
import Testing

@Suite("Writing")
struct WritingTests {
    /// The bytes that an encoder writes for pieces of a body.
    static func encode(_ pieces: [[UInt8]], _ framing: BodyFraming) throws(WireError) -> [UInt8] {
        var output = OutputBuffer()
        var encoder = BodyEncoder(framing: framing)
        for piece in pieces {
            try encoder.begin(piece.count, into: &output)
            output.append(piece)
            encoder.end(into: &output)
        }
        try encoder.finish(into: &output)
        try encoder.finish(into: &output)
        return output.span.copied()
    }

    @Test("what an encoder writes, a decoder reads back")
    func identity() throws {
        let bodies: [[[UInt8]]] = [
            [], [[]], [[1]], [Array("hello".utf8), [], Array(" world".utf8)],
            [Array(repeating: 13, count: 300), Array(repeating: 10, count: 17)],
            (0..<40).map { Array(repeating: UInt8($0), count: $0) },
        ]
        for pieces in bodies {
            let body = pieces.flatMap { $0 }
            for framing in [BodyFraming.chunked, .length(body.count)] {
                let bytes = try Self.encode(pieces, framing)
                for cut in [Cut.whole, .bytewise, .at(bytes.count / 2)] {
                    let decoded = DecodedBody(cut.slices(bytes + [0x47]), framing: framing)
                    #expect(decoded.body == body)
                    #expect(decoded.verdict == "ok")
                    #expect(decoded.consumed == bytes.count)
                }
            }
        }
    }

    @Test("an empty piece does not end a chunked body")
    func emptyPiece() throws {
        #expect(try Self.encode([[], [1], []], .chunked) == Array("1\r\n\u{1}\r\n0\r\n\r\n".utf8))
    }

    @Test("an announced length can be neither exceeded nor left short")
    func length() throws {
        for (count, code) in [(4, "http_length_short"), (5, "ok"), (6, "http_length_exceeded")] {
            do throws(WireError) {
                let bytes = try Self.encode([Array(repeating: 1, count: count)], .length(5))
                #expect(bytes.count == 5)
                #expect(code == "ok")
            } catch {
                #expect(error.code == code)
                #expect(error.status == 500)
            }
        }
        var output = OutputBuffer()
        var encoder = BodyEncoder(framing: .length(5))
        try encoder.begin(3, into: &output)
        #expect(throws: WireError.self) { try encoder.begin(3, into: &output) }
        #expect(encoder.remaining == 2)
        #expect(!encoder.isFinished)
        #expect(output.isEmpty)
        #expect(throws: WireError.self) { try encoder.finish(into: &output) }
    }

    @Test("a message without a body takes none, and none comes after the end")
    func noBody() throws {
        var output = OutputBuffer()
        var none = BodyEncoder(framing: .none)
        #expect(throws: WireError.self) { try none.begin(1, into: &output) }
        try none.finish(into: &output)
        var chunked = BodyEncoder(framing: .chunked)
        try chunked.finish(into: &output)
        #expect(throws: WireError.self) { try chunked.begin(1, into: &output) }
        #expect(output.span.lossyString() == "0\r\n\r\n")
    }

    @Test("a head that is written reads back the same")
    func heads() throws {
        var output = OutputBuffer()
        let value = Array("x\ty \u{E9}".utf8)
        output.append("POST /a?b=c HTTP/1.1\r\n")
        HeadWriter.field("Host", "a.test", into: &output)
        #expect(HeadWriter.field("X-Value", value.span, into: &output))
        HeadWriter.framing(.length(42), into: &output)
        HeadWriter.end(into: &output)
        #expect(
            output.span.lossyString()
                == "POST /a?b=c HTTP/1.1\r\nHost: a.test\r\nX-Value: x\ty é\r\nContent-Length: 42\r\n\r\n"
        )
        let bytes = output.span.copied()
        var head = MessageHead()
        var parser = RequestParser()
        #expect(try parser.parse(bytes.span, into: &head) == bytes.count)
        var again = OutputBuffer()
        HeadWriter.requestLine(of: head, into: &again)
        for index in 0..<head.fieldCount { HeadWriter.field(index, of: head, into: &again) }
        HeadWriter.end(into: &again)
        #expect(again.span.copied() == bytes)
    }

    @Test("status lines carry the registered phrase, or the upstream's")
    func statusLines() throws {
        for (status, line) in [
            (200, "200 OK"), (413, "413 Content Too Large"), (502, "502 Bad Gateway"), (599, "599 "),
        ] {
            var output = OutputBuffer()
            HeadWriter.statusLine(status, into: &output)
            #expect(output.span.lossyString() == "HTTP/1.1 \(line)\r\n")
        }
        var head = MessageHead()
        var parser = ResponseParser()
        let bytes = Array("HTTP/1.0 299 Quite fine\r\n\r\n".utf8)
        #expect(try parser.parse(bytes.span, into: &head) == bytes.count)
        var output = OutputBuffer()
        HeadWriter.statusLine(of: head, into: &output)
        HeadWriter.framing(.chunked, into: &output)
        HeadWriter.framing(.none, into: &output)
        HeadWriter.framing(.untilClose, into: &output)
        HeadWriter.field("X", decimal: -7, into: &output)
        #expect(
            output.span.lossyString() == "HTTP/1.1 299 Quite fine\r\nTransfer-Encoding: chunked\r\nX: -7\r\n")
    }

    @Test("nothing that could start a line of its own is written")
    func guards() {
        var output = OutputBuffer()
        for byte in UInt8.min...UInt8.max {
            let text: [UInt8] = [0x61, byte, 0x62]
            let isValue = byte >= 0x20 && byte != 0x7F || byte == 0x09
            #expect(HeadWriter.field("A", text.span, into: &output) == isValue)
        }
    }
}
