import ExtProc
import Octets
import Testing

@testable import Proxy

/// Spans as bytes, how many wait, and when a batch is sent again.
@Suite struct TracingTests {
    /// A message, read field by field: a number, the text or the bytes that it has.
    private struct Message {
        var numbers: [Int: [UInt64]] = [:]
        var bytes: [Int: [[UInt8]]] = [:]
        var fixed: [Int: [UInt64]] = [:]

        init(_ message: [UInt8]) throws {
            var at = 0
            func varint() throws -> UInt64 {
                var reader = Varint()
                while true {
                    let byte = message[at]
                    at += 1
                    if let value = try reader.add(byte) { return value }
                }
            }
            while at < message.count {
                let tag = try varint()
                let number = Int(tag >> 3)
                switch tag & 7 {
                case 0: numbers[number, default: []].append(try varint())
                case 1:
                    var value: UInt64 = 0
                    for index in 0..<8 { value |= UInt64(message[at + index]) << (8 * UInt64(index)) }
                    fixed[number, default: []].append(value)
                    at += 8
                case 2:
                    let count = Int(try varint())
                    bytes[number, default: []].append(Array(message[at..<at + count]))
                    at += count
                default: throw CallError(.invalidArgument, "type \(tag & 7)")
                }
            }
        }

        func text(_ number: Int) -> String { String(decoding: bytes[number]?.first ?? [], as: UTF8.self) }

        /// The attributes of a field, as text.
        func attributes(_ number: Int) throws -> [String: String] {
            var found: [String: String] = [:]
            for bytes in bytes[number] ?? [] {
                let pair = try Message(bytes)
                let value = try Message(pair.bytes[2]?[0] ?? [])
                var shown = value.bytes[1].map { String(decoding: $0[0], as: UTF8.self) }
                if let number = value.numbers[3] { shown = String(number[0]) }
                if let bits = value.fixed[4] { shown = String(Double(bitPattern: bits[0])) }
                found[pair.text(1)] = shown
            }
            return found
        }
    }

    private func begin(_ writer: inout SpanWriter, parent: UInt64 = 0, state: String = "", name: String = "GET /*") {
        writer.begin(
            trace: 0x0102_0304_0506_0708, 0x090a_0b0c_0d0e_0f10, span: 0x1112_1314_1516_1718, parent: parent,
            state: Array(state.utf8).span, kind: .server, start: 1_700_000_000_000_000_001,
            end: 1_700_000_000_000_000_003
        ) { $0.append(text: name) }
    }

    @Test("a span's fields")
    func span() throws {
        var writer = SpanWriter()
        begin(&writer, parent: 0x2122_2324_2526_2728, state: "a=b")
        writer.text("a.text", "b")
        writer.number("a.number", 300)
        writer.number("below", -1)
        writer.seconds("a.time", nanoseconds: 1_500_000_000)
        writer.text("nothing", "")
        writer.fail()
        let span = try Message(writer.take())
        #expect(span.bytes[1] == [Array(1...16)] && span.bytes[2] == [Array(0x11...0x18)])
        #expect(span.bytes[4] == [Array(0x21...0x28)] && span.text(3) == "a=b" && span.text(5) == "GET /*")
        #expect(span.numbers[6] == [2])
        #expect(span.fixed[7] == [1_700_000_000_000_000_001] && span.fixed[8] == [1_700_000_000_000_000_003])
        let attributes = try span.attributes(9)
        #expect(attributes == ["a.text": "b", "a.number": "300", "below": "0", "a.time": "1.5"])
        let status = try Message(span.bytes[15]?[0] ?? [])
        #expect(status.numbers[3] == [2])
        #expect(writer.take().isEmpty)
    }

    @Test("without a parent and a state there is neither; a span doesn't end before it begins")
    func root() throws {
        var writer = SpanWriter()
        writer.begin(
            trace: 1, 2, span: 3, parent: 0, state: Span(), kind: .client, start: 5, end: 4
        ) { $0.append("x") }
        let span = try Message(writer.take())
        #expect(span.bytes[3] == nil && span.bytes[4] == nil && span.bytes[15] == nil)
        #expect(span.fixed[7] == [5] && span.fixed[8] == [5] && span.numbers[6] == [3])
    }

    @Test("texts are cut behind a whole character", arguments: [255, 256, 257, 1000])
    func limit(count: Int) throws {
        var writer = SpanWriter()
        writer.text("a", String(repeating: "x", count: count))
        let whole = try Message(writer.take()).attributes(9)
        #expect(whole["a"]?.utf8.count == min(256, count))
        // A character of two bytes that begins at an odd place.
        writer.text("a", "x" + String(repeating: "\u{E4}", count: count))
        let cut = try Message(writer.take()).attributes(9)["a"] ?? ""
        #expect(cut.utf8.count == min(255, 1 + 2 * count) && cut.last == "\u{E4}")
    }

    @Test("what isn't UTF-8 becomes it, and no longer")
    func invalid() throws {
        var writer = SpanWriter()
        writer.text("a", ([0x61, 0xFF, 0x62] as [UInt8]).span)
        writer.text("b", [UInt8](repeating: 0xFF, count: 300).span)
        // What is made in the writer's own buffer is treated as what comes from elsewhere.
        writer.text("c") { for _ in 0..<300 { $0.append(0xFF) } }
        writer.text("d") { $0.append("x") }
        writer.text("none") { _ in }
        let found = try Message(writer.take()).attributes(9)
        #expect(found["a"] == "a\u{FFFD}b" && found["b"]?.utf8.count == 255 && found["c"] == found["b"])
        #expect(found["d"] == "x" && found["none"] == nil)
    }

    @Test("a state that is too long is left out", arguments: [(511, true), (512, true), (513, false)])
    func state(count: Int, isThere: Bool) throws {
        var writer = SpanWriter()
        begin(&writer, state: String(repeating: "s", count: count))
        let span = try Message(writer.take())
        #expect((span.bytes[3] != nil) == isThere)
    }

    @Test("the largest span is within its bound")
    func largest() {
        var writer = SpanWriter()
        let long = String(repeating: "x", count: 300)
        begin(&writer, parent: 1, state: String(repeating: "s", count: 512), name: long)
        // More texts than any span has.
        for _ in 0..<24 { writer.text("http.request.method_original", long) }
        writer.fail()
        #expect(writer.take().count <= SpanWriter.largestSpan)
    }

    @Test("a request has one resource, one scope and its spans", arguments: [1, 2, 200])
    func request(count: Int) throws {
        var writer = SpanWriter()
        let spans = (0..<count).map { index in
            begin(&writer, name: "span \(index)")
            return writer.take()
        }
        let request = try Message(SpanWriter.request(spans, service: "edge").span.copied())
        let resourceSpans = try Message(request.bytes[1]?[0] ?? [])
        #expect(request.bytes[1]?.count == 1 && resourceSpans.bytes[2]?.count == 1)
        let resource = try Message(resourceSpans.bytes[1]?[0] ?? []).attributes(1)
        #expect(resource["service.name"] == "edge" && resource["telemetry.sdk.version"] == BuildInformation.version)
        let scope = try Message(resourceSpans.bytes[2]?[0] ?? [])
        let name = try Message(scope.bytes[1]?[0] ?? []).text(1)
        #expect(name == "recast")
        #expect(scope.bytes[2] == spans)
        #expect(SpanWriter.spans(in: SpanWriter.request(spans, service: "edge").span) == spans)
    }

    @Test(
        "how many spans a collector says that it has refused",
        arguments: [
            ([], 0), ([0x0A, 0x00], 0), ([0x0A, 0x02, 0x08, 0x05], 5), ([0x0A, 0x05, 0x12, 0x01, 0x78, 0x08, 0x07], 7),
            // Unknown fields, one that is cut, and what is no protobuf.
            ([0x10, 0x01, 0x0A, 0x02, 0x08, 0x05], 5), ([0x0A, 0x02, 0x08], 0), ([0x7B, 0x7D], 0),
            // -1.
            ([0x0A, 0x0B, 0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], 0),
        ] as [([UInt8], Int)])
    func rejected(bytes: [UInt8], count: Int) {
        let rejected = SpanWriter.rejected(in: bytes.span)
        #expect(rejected == count)
    }

    @Test("as many spans wait as may, those on their way among them")
    func queue() {
        var queue = SpanQueue(limit: 3)
        #expect(queue.add([1]) && queue.add([2]) && queue.add([3]) && !queue.add([4]))
        #expect(queue.take(2) == [[1], [2]] && queue.sending == 2 && queue.waitingCount == 1)
        #expect(queue.count == 3 && !queue.add([5]))
        queue.sent(1)
        #expect(queue.count == 2 && queue.sending == 1)
        queue.sent(1)
        #expect(queue.count == 1 && queue.add([6]) && queue.add([7]) && !queue.add([8]))
        #expect(queue.take(5) == [[3], [6], [7]])
        queue.sent(3)
        #expect(queue.take(5).isEmpty && queue.add([9]) && queue.drop() == 1 && queue.count == 0)
    }

    @Test("a batch is sent again later each time, and not for ever")
    func backoff() {
        let second: UInt64 = 1_000_000_000
        var backoff = ExportBackoff()
        for (index, whole) in [second, 2 * second, 4 * second, 8 * second].enumerated() {
            var least = backoff
            var most = backoff
            #expect(least.next(asked: nil, random: 0) == whole / 2, "attempt \(index)")
            #expect(most.next(asked: nil, random: whole / 2) == whole)
            backoff = least
        }
        #expect(backoff.next(asked: nil, random: 0) == nil)
        // The next batch begins anew.
        #expect(backoff.next(asked: nil, random: 0) == second / 2)
        backoff.end()
        #expect(backoff.next(asked: nil, random: 0) == second / 2)
    }

    @Test(
        "Retry-After is heeded, up to a bound, where it is longer than what is waited anyway",
        arguments: [(-1, 0.5), (0, 0.5), (1, 1), (29, 29), (30, 30), (31, 30), (999_999_999, 30)])
    func asked(seconds: Int, waits: Double) {
        var backoff = ExportBackoff()
        #expect(backoff.next(asked: seconds, random: 0) == UInt64(waits * 1_000_000_000))
    }

    @Test(
        "what OTLP lets be sent again",
        arguments: [
            (429, true), (502, true), (503, true), (504, true), (400, false), (500, false), (501, false), (413, false),
        ])
    func repeats(status: Int, isRepeated: Bool) {
        #expect(ExportBackoff.repeats(status) == isRepeated)
    }
}
