import Octets
import Testing

@testable import HTTP2

/// Responses of which only a part can be sent, and those that are whole before their request is.
@Suite("HTTP/2: how a response's stream ends")
struct StreamEndTests {
    /// A stream that was asked for by a client whose windows are of this size.
    private func stream(window: UInt32 = 65_535, endsRequest: Bool = true) -> (Recorder, HTTP2Stream) {
        let recorder = Recorder()
        var client = ClientBytes(settings: [(4, window)])
        client.request(1, endsRequest ? "GET" : "POST", ends: endsRequest)
        recorder.read(client)
        return (recorder, recorder.streams[1]!)
    }

    /// The types of the frames of stream 1.
    private func types(_ frames: [SentFrame]) -> [UInt8] { frames.filter { $0.stream == 1 }.map(\.type) }

    private func content(_ frames: [SentFrame]) -> [UInt8] {
        frames.filter { $0.stream == 1 && $0.type == 0 }.flatMap(\.payload)
    }

    @Test("What was said of a response goes out before the stream is cut", arguments: [0, 1, 5, 20_000, 65_535])
    func cut(_ count: Int) {
        let (recorder, stream) = stream()
        var none = OutputBuffer()
        stream.respond(103, &none, hasContent: false)
        stream.respond(200, &none, hasContent: true)
        if count > 0 { _ = stream.write([UInt8](repeating: 7, count: count).span) }
        stream.cut(.internalError)
        #expect(stream.awaitsSending)
        let frames = recorder.sent()
        let sent = types(frames)
        #expect(sent.prefix(2) == [1, 1])
        #expect(sent.last == 3 && sent.filter { $0 == 3 }.count == 1)
        #expect(frames.last { $0.stream == 1 }?.number == HTTP2ErrorCode.internalError.rawValue)
        #expect(content(frames) == [UInt8](repeating: 7, count: count))
        #expect(frames.allSatisfy { $0.type > 1 || $0.flags & 1 == 0 })
        #expect(recorder.closings[1] == 1)
        #expect(recorder.session.memory == 0)
    }

    @Test("A stream of which nothing waits is cut at once, with a window or without one", arguments: [0, 3, 65_535])
    func cutOfNothing(_ window: UInt32) {
        let (recorder, stream) = stream(window: window)
        var none = OutputBuffer()
        stream.respond(200, &none, hasContent: true)
        if window == 3 { _ = stream.write([1, 2, 3].span) }
        _ = recorder.sent()
        stream.cut(.internalError)
        #expect(!stream.awaitsSending)
        #expect(types(recorder.sent()) == [3])
        #expect(recorder.closings[1] == 1)
    }

    @Test("A head that waits goes out before a cut where there is no window, too")
    func cutBehindHead() {
        let (recorder, stream) = stream(window: 0)
        var none = OutputBuffer()
        stream.respond(413, &none, hasContent: true)
        stream.cut(.internalError)
        #expect(types(recorder.sent()) == [1, 3])
    }

    @Test("Content that has no window waits for it behind a cut, and a reset ends the wait", arguments: [false, true])
    func cutWithoutWindow(_ isGivenUp: Bool) {
        let (recorder, stream) = stream(window: 3)
        var none = OutputBuffer()
        stream.respond(200, &none, hasContent: true)
        _ = stream.write(Array("hello".utf8).span)
        stream.cut(.internalError)
        #expect(types(recorder.sent()) == [1, 0])
        #expect(stream.awaitsSending)
        #expect(recorder.session.memory == 2)
        if isGivenUp {
            stream.reset(.internalError)
            #expect(types(recorder.sent()) == [3])
        } else {
            var update = ClientBytes.more()
            update.frame(8, 0, 1, ClientBytes.four(2))
            recorder.read(update)
            let frames = recorder.sent()
            #expect(types(frames) == [0, 3])
            #expect(content(frames) == Array("lo".utf8))
        }
        #expect(recorder.session.memory == 0)
        #expect(recorder.closings[1] == 1)
    }

    @Test("A client that resets a stream while a cut waits ends it once")
    func resetBeforeCut() {
        let (recorder, stream) = stream(window: 3)
        var none = OutputBuffer()
        stream.respond(200, &none, hasContent: true)
        _ = stream.write(Array("hello".utf8).span)
        stream.cut(.internalError)
        _ = recorder.sent()
        var reset = ClientBytes.more()
        reset.frame(3, 0, 1, ClientBytes.four(8))
        reset.request(3, "GET", ends: true)
        #expect(recorder.read(reset))
        #expect(types(recorder.sent()).isEmpty)
        #expect(recorder.closings == [1: 1])
        #expect(recorder.session.memory == 0)
    }

    @Test(
        "An end that is held back goes when the request has ended, its content at once", arguments: [0, 2],
        [false, true])
    func heldEnd(_ count: Int, _ hasTrailers: Bool) {
        let (recorder, stream) = stream(endsRequest: false)
        var head = OutputBuffer()
        stream.respond(200, &head, hasContent: true)
        if count > 0 { _ = stream.write([UInt8](repeating: 7, count: count).span) }
        var trailers = lines(hasTrailers ? "X-Sum: 1\r\n" : "")
        stream.end(trailers: &trailers, holdsEnd: true)
        var frames = recorder.sent()
        #expect(types(frames) == (count > 0 ? [1, 0] : [1]))
        #expect(content(frames).count == count)
        #expect(frames.allSatisfy { $0.type > 1 || $0.flags & 1 == 0 })
        var rest = ClientBytes.more()
        rest.data(1, [1, 2, 3], ends: true)
        recorder.read(rest)
        frames = recorder.sent()
        #expect(frames.last { $0.stream == 1 }.map { [$0.type, $0.flags & 1] } == (hasTrailers ? [1, 1] : [0, 1]))
        #expect(content(frames).isEmpty)
        #expect(recorder.closings[1] == 1)
        #expect(recorder.events.last == "1 closed 0")
    }

    @Test("An end that is held back can be let go, or be followed by a reset", arguments: [false, true])
    func releasedEnd(_ resets: Bool) {
        let (recorder, stream) = stream(endsRequest: false)
        var none = OutputBuffer()
        stream.respond(200, &none, hasContent: true)
        stream.end(trailers: &none, holdsEnd: true)
        #expect(types(recorder.sent()) == [1])
        if resets { stream.resetWhenSent() } else { stream.releaseEnd() }
        let frames = recorder.sent().filter { $0.stream == 1 }
        #expect(frames.map(\.type) == (resets ? [0, 3] : [0]))
        #expect(frames.first?.flags == 1)
        if resets { #expect(frames.last?.number == 0) }
    }

    @Test("The end of a response whose request has ended isn't held back")
    func endOfBoth() {
        let (recorder, stream) = stream()
        var none = OutputBuffer()
        stream.respond(200, &none, hasContent: true)
        stream.end(trailers: &none, holdsEnd: true)
        #expect(types(recorder.sent()) == [1, 0])
        #expect(recorder.closings[1] == 1)
    }
}
