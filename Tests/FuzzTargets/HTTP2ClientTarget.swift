internal import HTTP2
internal import HTTPWire
internal import Octets

/// A connection of HTTP/2 to a server: what that sends, to a client that has four requests under way.
extension FuzzTarget {
    /// Whatever a server sends is told the same however it is cut; each request ends once, and a response that is told to be whole has
    /// one final head, content of the length that it said, and nothing behind it. A client that takes nothing for a while loses nothing
    /// of a response that came whole.
    static var http2Client: FuzzTarget {
        FuzzTarget("http2-client", corpus: "http2-client") { variant, body in
            let whole = HTTP2Caller(variant.byte, pauses: false)
            whole.run([body])
            let cut = HTTP2Caller(variant.byte, pauses: false)
            cut.run(
                stride(from: 0, to: body.count, by: variant.size).map {
                    Array(body[$0..<min($0 + variant.size, body.count)])
                })
            if let violation = whole.violation ?? cut.violation { return violation }
            for (call, other) in zip(cut.calls, whole.calls) where !call.told.agrees(with: other.told) {
                return "cut, it is something else"
            }
            let slow = HTTP2Caller(variant.byte, pauses: true)
            slow.run([body])
            if let violation = slow.violation { return "paused: " + violation }
            for (call, other) in zip(slow.calls, whole.calls) where call.told.isEnded && call.told != other.told {
                return "paused, it is something else"
            }
            return nil
        }
    }
}

/// A client, its connection and its requests.
private final class HTTP2Caller: ClientSessionOwner {
    let calls: [HTTP2Request]
    private(set) var violation: String?
    private var session: ClientSession!

    init(_ variant: UInt8, pauses: Bool) {
        calls = (0..<4).map { HTTP2Request(isHead: $0 == 3, pauses: pauses) }
        var wire = WireLimits()
        if variant & 64 != 0 {
            wire.fieldLine = 50
            wire.head = 200
            wire.fieldCount = 5
            wire.trailerBytes = 40
            wire.trailerCount = 2
        }
        session = ClientSession(limits: HTTP2Limits(), wire: wire, isSecure: false, owner: self)
        let content = [UInt8](repeating: 1, count: 100_000)
        for (index, call) in calls.enumerated() {
            let head = Array("\(["GET", "POST", "PUT", "HEAD"][index]) / HTTP/1.1\r\nHost: a\r\n".utf8)
            call.stream = session.request(head.span, hasContent: index == 1 || index == 2, handler: call)
            if index == 2 { _ = call.stream?.write(content.span) }
        }
        write()
    }

    func run(_ pieces: [[UInt8]]) {
        for piece in pieces {
            do throws(HTTP2Error) {
                try session.read(piece.span, now: 1)
            } catch {
                break
            }
        }
        write()
        session.closeStreams()
        for call in calls { call.resume() }
        if session.openStreams != 0 { violation = "streams are open" }
        for call in calls where violation == nil { violation = call.violation }
    }

    private func write() {
        var calls = 0
        session.write { output in
            output.removeAll()
            calls += 1
            return calls < 10_000
        }
        if calls >= 10_000 { violation = "there is no end of what is to be sent" }
    }

    func becameReady() {}
    func endCame(_ code: HTTP2ErrorCode) {}
}

/// One request, with what must hold for it.
private final class HTTP2Request: HTTP2StreamHandler {
    struct Told: Equatable {
        var heads: [[UInt8]] = []
        var content: [UInt8] = []
        var trailers: [UInt8] = []
        var isEnded = false
        var isMisread = false

        /// Whether both are the same response. Of one that is cut short more or less content may have come.
        func agrees(with other: Told) -> Bool {
            if isEnded || other.isEnded { return self == other }
            let isPart = content.starts(with: other.content) || other.content.starts(with: content)
            return isPart && heads == other.heads && isMisread == other.isMisread
        }
    }

    var stream: HTTP2Stream?
    private(set) var told = Told()
    private var closings = 0
    private var length: Int?
    private var hasFinalHead = false
    private var isPaused: Bool
    private let isHead: Bool
    private var fault: String?

    init(isHead: Bool, pauses: Bool) {
        self.isHead = isHead
        isPaused = pauses
    }

    var violation: String? {
        if let fault { return fault }
        if closings != 1 { return "a request ends \(closings) times" }
        if told.isEnded, !hasFinalHead { return "a response without a head is whole" }
        if told.isEnded, let length, !isHead, length != told.content.count { return "a whole response is too short" }
        return nil
    }

    func resume() {
        isPaused = false
        stream?.resume()
    }

    private func note(_ text: String) { if fault == nil { fault = text } }

    func responded(_ head: inout MessageHead, isComplete: Bool, on stream: HTTP2Stream) {
        if hasFinalHead { note("a head comes behind the final one") }
        if closings > 0 { note("a head comes behind the end") }
        told.heads.append(Array(String(head.status).utf8))
        for index in 0..<head.fieldCount { told.heads += [head.name(index).copied(), head.value(index).copied()] }
        guard head.status >= 200 else { return }
        hasFinalHead = true
        if ![204, 304].contains(head.status) { length = Framing.announcedLength(head) }
    }

    func misread(_ error: WireError, on stream: HTTP2Stream) {
        if error.status != 502 { note("a server's fault is a client's") }
        told.isMisread = true
        closings += 1
    }

    func received(_ content: Span<UInt8>, on stream: HTTP2Stream) -> Int {
        if !hasFinalHead || told.isEnded || closings > 0 { note("content comes where none may") }
        if isPaused {
            stream.pause()
            return 0
        }
        told.content += content.copied()
        return content.count
    }

    func held(_ count: Int, on stream: HTTP2Stream) {
        if count > 65_536 { note("more is held than the window allows") }
    }

    func contentEnded(_ stream: HTTP2Stream) {
        if told.isEnded || closings > 0 { note("a response ends twice") }
        told.isEnded = true
        var trailers = OutputBuffer()
        stream.trailers.write(named: nil, into: &trailers)
        told.trailers = trailers.span.copied()
    }

    func drained(_ stream: HTTP2Stream) {}

    func closed(_ stream: HTTP2Stream, _ code: HTTP2ErrorCode) { closings += 1 }
}
