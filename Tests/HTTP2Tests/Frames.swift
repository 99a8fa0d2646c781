import HTTPWire
import Octets

@testable import HTTP2

/// Bytes of a client, frame by frame. Fields are literals without an index (RFC 7541 §6.2.2), so each head stands for itself.
struct ClientBytes {
    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    var bytes: [UInt8] = []

    /// - Parameter settings: identifiers and values of the client's SETTINGS.
    init(settings: [(UInt16, UInt32)] = []) {
        bytes = Self.preface
        var payload: [UInt8] = []
        for (key, value) in settings {
            payload += [UInt8(key >> 8), UInt8(key & 255)] + Self.four(value)
        }
        frame(4, 0, 0, payload)
    }

    /// Frames behind those that were read.
    static func more() -> ClientBytes {
        var client = ClientBytes()
        client.bytes = []
        return client
    }

    static func four(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } }

    mutating func frame(_ type: UInt8, _ flags: UInt8, _ stream: Int32, _ payload: [UInt8]) {
        bytes +=
            Self.four(UInt32(payload.count)).dropFirst() + [type, flags] + Self.four(UInt32(bitPattern: stream))
            + payload
    }

    static func block(_ fields: [(String, String)]) -> [UInt8] {
        func text(_ text: String) -> [UInt8] {
            let bytes = Array(text.utf8)
            if bytes.count < 127 { return [UInt8(bytes.count)] + bytes }
            var rest = bytes.count - 127
            var count: [UInt8] = [127]
            while rest >= 128 {
                count.append(UInt8(rest & 127) | 128)
                rest >>= 7
            }
            return count + [UInt8(rest)] + bytes
        }
        return fields.flatMap { [0] + text($0.0) + text($0.1) }
    }

    mutating func headers(_ stream: Int32, _ fields: [(String, String)], ends: Bool = false) {
        frame(1, ends ? 5 : 4, stream, Self.block(fields))
    }

    /// A request with ordinary pseudo-header fields.
    mutating func request(
        _ stream: Int32, _ method: String = "POST", path: String = "/a?b", fields: [(String, String)] = [],
        ends: Bool = false
    ) {
        headers(
            stream, [(":method", method), (":scheme", "http"), (":path", path), (":authority", "a.test")] + fields,
            ends: ends)
    }

    mutating func data(_ stream: Int32, _ content: [UInt8], ends: Bool = false) {
        frame(0, ends ? 1 : 0, stream, content)
    }
}

/// A frame that the server sent.
struct SentFrame: Equatable {
    var type: UInt8
    var flags: UInt8
    var stream: Int32
    var payload: [UInt8]

    static func all(in bytes: [UInt8]) -> [SentFrame] {
        var frames: [SentFrame] = []
        var at = 0
        while at + 9 <= bytes.count {
            let count = Int(bytes[at]) << 16 | Int(bytes[at + 1]) << 8 | Int(bytes[at + 2])
            let stream = bytes[at + 5..<at + 9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            frames.append(
                SentFrame(
                    type: bytes[at + 3], flags: bytes[at + 4], stream: Int32(bitPattern: stream),
                    payload: Array(bytes[at + 9..<at + 9 + count])))
            at += 9 + count
        }
        return frames
    }

    /// The number in a RST_STREAM, a WINDOW_UPDATE, or the code of a GOAWAY.
    var number: UInt32 {
        let bytes = type == 7 ? payload[4..<8] : payload[0..<4]
        return bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }
}

/// An owner that writes down what it is told, and takes content as long as it is asked to.
final class Recorder: ServerSessionOwner, HTTP2StreamHandler {
    var session: ServerSession!
    var events: [String] = []
    /// What is known of the request lines of heads that were refused or malformed.
    var refusedLines: [String] = []
    var streams: [Int32: HTTP2Stream] = [:]
    var content: [Int32: [UInt8]] = [:]
    /// The sizes of the pieces that content came in, and of those that were known to be the last.
    var pieces: [Int] = []
    var lastPieces: [Int] = []
    /// Bytes of content that are taken before the stream is paused.
    var appetite = Int.max
    var closings: [Int32: Int] = [:]
    /// Whether what waits of a stream is still wanted when both sides have said all.
    var takesRest = true
    /// What is done with a request at once.
    var onRequest: (HTTP2Stream) -> Void = { _ in }
    var onDrained: (HTTP2Stream) -> Void = { _ in }

    init(
        limits: HTTP2Limits = HTTP2Limits(), wire: WireLimits = WireLimits(), isSecure: Bool = false
    ) {
        session = ServerSession(limits: limits, wire: wire, rules: RequestRules(), isSecure: isSecure, owner: self)
    }

    func began(_ stream: HTTP2Stream, _ head: inout MessageHead) {
        stream.handler = self
        streams[stream.id] = stream
        var fields: [String] = []
        for index in 0..<head.fieldCount {
            fields.append("\(text(head.name(index)))=\(text(head.value(index)))")
        }
        events.append(
            "\(stream.id) \(text(head.method)) \(text(head.path)) \(head.framing) \(fields.joined(separator: " "))")
        onRequest(stream)
    }

    func refused(_ stream: HTTP2Stream, _ error: WireError, _ head: inout MessageHead) {
        stream.handler = self
        streams[stream.id] = stream
        head.settleTarget()
        events.append("\(stream.id) refused \(error.code)")
        refusedLines.append("\(stream.id) \(text(head.method)) \(text(head.path)) \(head.version.text)")
    }

    func malformed(_ stream: HTTP2Stream, _ head: inout MessageHead) {
        stream.handler = self
        streams[stream.id] = stream
        head.settleTarget()
        events.append("\(stream.id) malformed")
        refusedLines.append("\(stream.id) \(text(head.method)) \(text(head.path)) \(head.version.text)")
    }

    func received(_ bytes: Span<UInt8>, on stream: HTTP2Stream) -> Int {
        pieces.append(bytes.count)
        if stream.bringsLast { lastPieces.append(bytes.count) }
        let count = min(bytes.count, appetite)
        for index in 0..<count { content[stream.id, default: []].append(bytes[index]) }
        appetite -= count
        if count < bytes.count { stream.pause() }
        return count
    }

    /// Bytes that have waited at most.
    var most = 0
    func held(_ count: Int, on stream: HTTP2Stream) { most = max(most, count) }

    func contentEnded(_ stream: HTTP2Stream) { events.append("\(stream.id) ended") }
    func takesRest(of stream: HTTP2Stream) -> Bool { takesRest }
    func drained(_ stream: HTTP2Stream) { onDrained(stream) }

    func closed(_ stream: HTTP2Stream, _ code: HTTP2ErrorCode) {
        closings[stream.id, default: 0] += 1
        events.append("\(stream.id) closed \(code.rawValue)")
    }

    func text(_ span: Span<UInt8>) -> String { String(decoding: span.copied(), as: UTF8.self) }

    /// Reads `client`, in pieces of `size`. Returns whether the connection goes on.
    @discardableResult
    func read(_ client: ClientBytes, by size: Int = .max, now: UInt64 = 1) -> Bool {
        var at = 0
        while at < client.bytes.count {
            let end = min(client.bytes.count, size == .max ? client.bytes.count : at + size)
            do {
                try session.read(client.bytes.span.extracting(at..<end), now: now)
            } catch {
                return false
            }
            at = end
        }
        return true
    }

    /// All that the server sends now.
    func sent() -> [SentFrame] {
        var bytes: [UInt8] = []
        session.write { output in
            bytes += output.span.copied()
            output.removeAll()
            return true
        }
        return SentFrame.all(in: bytes)
    }
}

/// Lines of a head.
func lines(_ text: String) -> OutputBuffer {
    var output = OutputBuffer()
    output.append(text: text)
    return output
}
