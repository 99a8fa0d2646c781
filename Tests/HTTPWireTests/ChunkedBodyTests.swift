import Octets
import Testing

@testable import HTTPWire

/// The body of `bytes` under `framing`, the bytes that were consumed, and the code of the error or `ok`, `cut`.
struct DecodedBody: Equatable {
    var body: [UInt8] = []
    var consumed = 0
    var verdict = "cut"
    var offset = 0
    var trailers = 0

    init(
        _ slices: [[UInt8]], framing: BodyFraming = .chunked, limits: WireLimits = WireLimits(),
        isResponse: Bool = false,
        taking most: Int = .max
    ) {
        self.init(slices, by: BodyDecoder(framing: framing, limits: limits, isResponse: isResponse), taking: most)
    }

    init(_ slices: [[UInt8]], by begun: BodyDecoder, taking most: Int = .max) {
        var decoder = begun
        var waiting: [UInt8] = []
        do throws(WireError) {
            for slice in slices {
                waiting += slice
                while true {
                    let input = waiting
                    let step = try decoder.next(input.span)
                    let count = min(most, step.available)
                    body += input[step.skipped..<step.skipped + count]
                    decoder.took(count)
                    waiting.removeFirst(step.skipped + count)
                    consumed += step.skipped + count
                    if decoder.isComplete || step.skipped + count == 0 { break }
                }
            }
            if decoder.isComplete { verdict = "ok" }
        } catch {
            verdict = "\(error.status) \(error.code)"
            offset = error.offset
        }
        trailers = decoder.trailerCount
    }
}

@Suite("Chunked bodies")
struct ChunkedBodyTests {
    static let good: [(String, String)] = [
        ("0\r\n\r\n", ""),
        ("5\r\nhello\r\n0\r\n\r\n", "hello"),
        ("A\r\n0123456789\r\na\r\n0123456789\r\n000\r\n\r\n", "01234567890123456789"),
        ("0000000000000005\r\nhello\r\n0\r\n\r\n", "hello"),
        ("1\r\n\r\r\n1\r\n\n\r\n2\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n"),
        ("5;a\r\nhello\r\n0\r\n\r\n", "hello"),
        ("5;a=\"b;c\\\"\";d=e\r\nhello\r\n0;x=y\r\n\r\n", "hello"),
        ("5 ; a = b ;c\t=\t\"\"\r\nhello\r\n0\r\n\r\n", "hello"),
        ("5;a=\"\u{E9}\t\"\r\nhello\r\n0\r\n\r\n", "hello"),
        ("5\r\nhello\r\n0\r\nX: 1\r\nY:\r\n\r\n", "hello"),
        ("0\r\nContent-Length: 5\r\nX: \u{E9}\r\n\r\n", ""),
    ]

    static let bad: [(String, String)] = [
        ("\r\n", "http_bad_chunk_size"), ("g\r\n", "http_bad_chunk_size"), (" 5\r\n", "http_bad_chunk_size"),
        ("+5\r\n", "http_bad_chunk_size"), ("0x5\r\n", "http_bad_chunk_size"), ("5_0\r\n", "http_bad_chunk_size"),
        (";x\r\n", "http_bad_chunk_size"), ("5,a\r\n", "http_bad_chunk_size"), ("\u{B2}\r\n", "http_bad_chunk_size"),
        ("00000000000000005\r\n", "http_bad_chunk_size"), ("10000000000000005\r\n", "http_bad_chunk_size"),
        ("ffffffffffffffff\r\n", "http_chunk_too_large"), ("8000000000000000\r\n", "http_chunk_too_large"),
        ("5 5\r\n", "http_bad_chunk_extension"), ("5;\r\n", "http_bad_chunk_extension"),
        ("5;;a\r\n", "http_bad_chunk_extension"), ("5;=a\r\n", "http_bad_chunk_extension"),
        ("5;a=\r\n", "http_bad_chunk_extension"), ("5; \r\n", "http_bad_chunk_extension"),
        ("5;a=b c\r\n", "http_bad_chunk_extension"), ("5;a=\"b\r\n", "http_bad_chunk_extension"),
        ("5;a=\"b\"c\r\n", "http_bad_chunk_extension"), ("5;a\u{0}\r\n", "http_bad_chunk_extension"),
        ("5;a=\"\u{0}\"\r\n", "http_bad_chunk_extension"), ("5;a=\"\\\r\n", "http_bad_chunk_extension"),
        ("5;a=\"\\\u{7F}\"\r\n", "http_bad_chunk_extension"), ("5;\u{E9}\r\n", "http_bad_chunk_extension"),
        ("5\r\nhelloXX", "http_bad_chunk_end"), ("5\r\nhello\rX", "http_bad_chunk_end"),
        ("5\r\nhello0\r\n", "http_bad_chunk_end"), ("5\r\nhello\n", "http_bare_lf"), ("5\n", "http_bare_lf"),
        ("\n", "http_bare_lf"), ("5;a\n", "http_bare_lf"), ("5;a=\"\n", "http_bare_lf"), ("5\rX", "http_bare_cr"),
        ("0\r\nbroken\r\n", "http_bad_trailer"), ("0\r\n: x\r\n", "http_bad_trailer"),
        ("0\r\nX : 1\r\n", "http_bad_trailer"), ("0\r\nX: \u{0}\r\n", "http_bad_trailer"),
        ("0\r\nX: 1\r\n y\r\n", "http_obs_fold"), ("0\r\n X: 1\r\n", "http_obs_fold"),
        ("0\r\nX: 1\n", "http_bare_lf"), ("0\r\nX: 1\rY", "http_bare_cr"), ("0\r\n\rX", "http_bare_cr"),
        ("0\r\n\n", "http_bare_lf"),
    ]

    static func octets(_ text: String) -> [UInt8] { text.unicodeScalars.map { UInt8($0.value) } }

    @Test("R26 R27 R28 a chunked body is decoded however it is cut, and what follows stays unread", arguments: good)
    func decodes(_ text: String, _ body: String) {
        let bytes = Self.octets(text) + Array("GET /".utf8)
        for cut in Cut.all(bytes.count) {
            for most in [1, 3, Int.max] {
                let decoded = DecodedBody(cut.slices(bytes), taking: most)
                #expect(decoded.verdict == "ok", "\(cut)")
                #expect(decoded.body == Array(body.utf8), "\(cut)")
                #expect(decoded.consumed == bytes.count - 5, "\(cut)")
            }
        }
        for count in 0..<bytes.count - 5 {
            #expect(DecodedBody([Array(bytes[..<count])]).verdict == "cut")
        }
    }

    @Test("R26 R27 R28 R30 a malformed chunked body is refused at the byte that is wrong", arguments: bad)
    func refuses(_ text: String, _ code: String) {
        let bytes = Self.octets(text)
        let whole = DecodedBody([bytes])
        #expect(whole.verdict.hasSuffix(code), "\(whole.verdict)")
        for cut in Cut.all(bytes.count) {
            let other = DecodedBody(cut.slices(bytes))
            #expect(other.verdict == whole.verdict, "\(cut)")
            #expect(other.offset == whole.offset, "\(cut)")
        }
        #expect(whole.offset < bytes.count)
        #expect(DecodedBody([Array(bytes[..<whole.offset])]).verdict == "cut")
        #expect(DecodedBody([bytes], isResponse: true).verdict == "502 \(code)")
    }

    @Test(
        "R27 white space behind a chunk's size ends its line in responses, where servers pad sizes, and in no request",
        arguments: ["5 ", "5\t", "5   \t", "05  ", "5;a ", "5;a=b ", "5;a=\"b\"\t "])
    func paddedSizes(_ line: String) {
        let bytes = Self.octets("\(line)\r\nhello\r\n0  \r\n\r\n")
        #expect(DecodedBody([bytes]).verdict == "400 http_bad_chunk_extension")
        for cut in Cut.all(bytes.count) {
            let decoded = DecodedBody(cut.slices(bytes), isResponse: true)
            #expect(decoded.verdict == "ok" && decoded.body == Array("hello".utf8), "\(cut)")
        }
        #expect(DecodedBody([Self.octets("5 \rX")], isResponse: true).verdict == "502 http_bare_cr")
        #expect(DecodedBody([Self.octets("5 5\r\n")], isResponse: true).verdict == "502 http_bad_chunk_extension")
    }

    @Test(
        "A chunk beyond what any body may have is told from one beyond its limit",
        arguments: ["8000000000000000", "ffffffffffffffff"])
    func hugeChunk(_ size: String) {
        var limits = WireLimits()
        let bytes = Self.octets("\(size)\r\nhi")
        #expect(DecodedBody([bytes], isResponse: true).verdict == "502 http_chunk_too_large")
        #expect(DecodedBody([bytes]).verdict == "413 http_chunk_too_large")
        #expect(DecodedBody([Self.octets("1\r\nx\r\n7fffffffffffffff\r\nhi")]).verdict == "413 http_chunk_too_large")
        limits.body = 100
        #expect(DecodedBody([bytes], limits: limits).verdict == "413 http_body_too_large")
    }

    @Test("R27 extensions of one chunk and of all are limited", arguments: [-1, 0, 1])
    func extensions(_ excess: Int) {
        var limits = WireLimits()
        limits.chunkExtensionLine = 100
        limits.chunkExtensions = 150
        let expected = excess <= 0 ? "ok" : "413 http_chunk_extensions_too_long"
        let line = "1;" + String(repeating: "e", count: 99 + excess) + "\r\nx\r\n0\r\n\r\n"
        #expect(DecodedBody([Self.octets(line)], limits: limits).verdict == expected)
        let half = ";" + String(repeating: "e", count: 74)
        let both = "1\(half)\r\nx\r\n1\(half)\(excess < 0 ? "" : excess == 0 ? "" : "e")\r\nx\r\n0\r\n\r\n"
        #expect(DecodedBody([Self.octets(both)], limits: limits).verdict == expected)
        #expect(WireLimits().chunkExtensionLine == 4096)
        #expect(WireLimits().chunkExtensions == 16384)
    }

    @Test("R29 framing that data does not pay for is limited", arguments: [-1, 0, 1])
    func overhead(_ excess: Int) {
        var limits = WireLimits()
        limits.chunkOverhead = 20
        // One byte of data pays for 18 framing bytes: size, extension, CRLF.
        let line = "1;" + String(repeating: "e", count: 34 + excess) + "\r\n"
        let decoded = DecodedBody([Self.octets(line + "x\r\n0\r\n\r\n")], limits: limits)
        #expect(decoded.verdict == (excess <= 0 ? "ok" : "413 http_chunk_overhead"))
        let tiny = String(repeating: "1\r\nx\r\n", count: 10_000) + "0\r\n\r\n"
        #expect(DecodedBody([Self.octets(tiny)]).verdict == "ok")
        #expect(WireLimits().chunkOverhead == 16384)
    }

    @Test("R30 trailers are counted, limited and dropped", arguments: [-1, 0, 1])
    func trailers(_ excess: Int) {
        var limits = WireLimits()
        limits.trailerCount = 5
        let lines = (0..<5 + excess).map { "X\($0): 1\r\n" }.joined()
        let counted = DecodedBody([Self.octets("0\r\n\(lines)\r\n")], limits: limits)
        #expect(counted.verdict == (excess <= 0 ? "ok" : "431 http_too_many_trailers"))
        #expect(counted.trailers == min(5, 5 + excess))
        #expect(counted.body.isEmpty)
        limits.trailerBytes = 50
        let line = "X: " + String(repeating: "t", count: 43 + excess) + "\r\n\r\n"
        let sized = DecodedBody([Self.octets("0\r\n\(line)")], limits: limits)
        #expect(sized.verdict == (excess <= 0 ? "ok" : "431 http_trailers_too_large"))
        let name = String(repeating: "n", count: WireLimits.fieldName + excess) + ": 1\r\n\r\n"
        #expect(DecodedBody([Self.octets("0\r\n\(name)")]).verdict == (excess <= 0 ? "ok" : "400 http_bad_trailer"))
        #expect(WireLimits().trailerCount == 32)
        #expect(WireLimits().trailerBytes == 16384)
    }

    @Test("a length body ends at its length, a body until close at the close")
    func otherFramings() throws {
        let bytes = Array("hellorest".utf8)
        for cut in Cut.all(bytes.count) {
            let decoded = DecodedBody(cut.slices(bytes), framing: .length(5))
            #expect(decoded.body == Array("hello".utf8))
            #expect(decoded.consumed == 5)
            #expect(decoded.verdict == "ok")
        }
        for framing in [BodyFraming.none, .length(0)] {
            var decoder = BodyDecoder(framing: framing)
            #expect(decoder.isComplete)
            #expect(decoder.remaining == 0)
            let step = try decoder.next(bytes.span)
            #expect(step == .init(skipped: 0, available: 0, isEnd: true))
            try decoder.endOfInput()
        }
        var decoder = BodyDecoder(framing: .length(5), isResponse: true)
        var step = try decoder.next(bytes.span)
        #expect(step == .init(skipped: 0, available: 5, isEnd: true))
        decoder.took(3)
        #expect(decoder.remaining == 2)
        #expect(!decoder.isComplete)
        #expect(throws: WireError.self) { try decoder.endOfInput() }
        step = try decoder.next(bytes.span.extracting(3..<4))
        #expect(step == .init(skipped: 0, available: 1, isEnd: false))

        var untilClose = BodyDecoder(framing: .untilClose, isResponse: true)
        step = try untilClose.next(bytes.span)
        #expect(step == .init(skipped: 0, available: 9, isEnd: false))
        untilClose.took(9)
        #expect(!untilClose.isComplete)
        #expect(untilClose.bodyCount == 9)
        try untilClose.endOfInput()
        #expect(untilClose.isComplete)
        var limits = WireLimits()
        limits.body = 8
        #expect(DecodedBody([bytes], framing: .untilClose, limits: limits).verdict == "413 http_body_too_large")
        limits.body = 9
        #expect(DecodedBody([bytes], framing: .untilClose, limits: limits).verdict == "cut")
    }

    @Test("a body that is cut is an error of the side that cut it")
    func cutBodies() {
        for (framing, isResponse, expected) in [
            (BodyFraming.length(5), false, 400), (.length(5), true, 502), (.chunked, false, 400), (.chunked, true, 502),
        ] {
            var decoder = BodyDecoder(framing: framing, isResponse: isResponse)
            let error = #expect(throws: WireError.self) { try decoder.endOfInput() }
            #expect(error?.status == expected)
            #expect(error?.code == "http_body_cut")
        }
    }

    @Test("a decoder that begins again is as a new one, wherever the body before was left")
    func beginsAgain() {
        var limits = WireLimits()
        limits.body = 7
        let nexts: [(String, BodyFraming)] = [
            ("5\r\nhello\r\n0\r\nX: 1\r\n\r\n", .chunked), ("8;a\r\nhello wo\r\n0\r\n\r\n", .chunked),
            ("hello", .length(5)), ("hello wo", .length(8)), ("", .none), ("hello", .untilClose),
        ]
        for (text, _) in Self.good + Self.bad {
            let bytes = Self.octets(text)
            for cut in 0...bytes.count {
                var used = BodyDecoder(framing: .chunked, isResponse: true)
                used.keepsTrailers = true
                // Whether it can be read is of no interest here.
                var at = 0
                while at < cut, let step = try? used.next(bytes.span.extracting(at..<cut)) {
                    used.took(step.available)
                    at += step.skipped + step.available
                    if used.isComplete || step.skipped + step.available == 0 { break }
                }
                for (next, framing) in nexts {
                    var again = used
                    again.begin(framing, limits: limits)
                    #expect(again.trailers.isEmpty && !again.keepsTrailers && again.bodyCount == 0)
                    let slices = [Self.octets(next)]
                    #expect(
                        DecodedBody(slices, by: again)
                            == DecodedBody(slices, framing: framing, limits: limits, isResponse: true),
                        "\(next) behind \(text) up to \(cut)")
                }
            }
        }
        var kept = BodyDecoder(framing: .none, limits: limits)
        kept.begin(.length(8))
        #expect(kept.limits == limits)
    }
}
