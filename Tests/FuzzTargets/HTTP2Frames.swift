/// Frames of HTTP/2 as bytes have them, read without the code that is tested.
struct HTTP2Frame {
    static let data: UInt8 = 0
    static let headers: UInt8 = 1
    static let reset: UInt8 = 3
    static let settings: UInt8 = 4
    static let goAway: UInt8 = 7
    static let continuation: UInt8 = 9
    /// The longest that a side takes that has asked for no other.
    static let mostPayload = 16384

    var type: UInt8
    var flags: UInt8
    var stream: Int32
    var payload: ArraySlice<UInt8>

    var endsStream: Bool { (type == Self.data || type == Self.headers) && flags & 1 != 0 }
    var endsHeaders: Bool { flags & 4 != 0 }
    /// The payload without padding; nil where that is longer than the frame.
    var content: ArraySlice<UInt8>? {
        guard flags & 8 != 0 else { return payload }
        guard let padding = payload.first, Int(padding) < payload.count else { return nil }
        return payload.dropFirst().dropLast(Int(padding))
    }
    /// The code of a RST_STREAM or of a GOAWAY.
    var code: UInt32 {
        payload.dropFirst(type == Self.goAway ? 4 : 0).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// A stream's number, without the reserved bit.
    static func stream(_ bytes: ArraySlice<UInt8>) -> Int32 {
        Int32(bytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF)
    }

    /// The frame at `bytes[at...]`; nil where it isn't whole.
    init?(in bytes: [UInt8], at: Int) {
        guard bytes.count - at >= 9 else { return nil }
        let count = Int(bytes[at]) << 16 | Int(bytes[at + 1]) << 8 | Int(bytes[at + 2])
        guard bytes.count - at - 9 >= count else { return nil }
        type = bytes[at + 3]
        flags = bytes[at + 4]
        stream = Self.stream(bytes[at + 5..<at + 9])
        payload = bytes[at + 9..<at + 9 + count]
    }
}

/// What a client says, by its frames alone: what a handler may have been given at most.
struct HTTP2Said {
    /// Content of each stream, in its order.
    var content: [Int32: [UInt8]] = [:]
    /// How many bytes the client has sent when a stream's last frame is whole.
    var ends: [Int32: Int] = [:]
    /// The same of the first acknowledgement of the server's settings.
    var acknowledged = Int.max

    /// - Parameter start: where the preface ends.
    init(_ bytes: [UInt8], from start: Int) {
        var at = start
        // A stream whose last fields go on in CONTINUATION frames.
        var ending: Int32?
        while let frame = HTTP2Frame(in: bytes, at: at) {
            at += 9 + frame.payload.count
            switch frame.type {
            case HTTP2Frame.data:
                // What comes behind the end is none.
                if ends[frame.stream] == nil { content[frame.stream, default: []] += frame.content ?? frame.payload }
                if frame.endsStream { end(frame.stream, at) }
            case HTTP2Frame.headers where frame.endsStream && frame.endsHeaders: end(frame.stream, at)
            case HTTP2Frame.headers: ending = frame.endsStream ? frame.stream : nil
            case HTTP2Frame.continuation where frame.endsHeaders:
                if let stream = ending { end(stream, at) }
                ending = nil
            case HTTP2Frame.settings where frame.flags & 1 != 0: acknowledged = min(acknowledged, at)
            default: break
            }
        }
        addPart(Array(bytes.dropFirst(at)))
    }

    private mutating func end(_ stream: Int32, _ at: Int) {
        if ends[stream] == nil { ends[stream] = at }
    }

    /// The frame that is cut off at the end of all bytes.
    private mutating func addPart(_ bytes: [UInt8]) {
        guard bytes.count > 9, bytes[3] == HTTP2Frame.data else { return }
        var whole = Int(bytes[0]) << 16 | Int(bytes[1]) << 8 | Int(bytes[2])
        var part = bytes[9...]
        if bytes[4] & 8 != 0, let padding = part.popFirst() { whole -= 1 + Int(padding) }
        let stream = HTTP2Frame.stream(bytes[5..<9])
        if ends[stream] == nil { content[stream, default: []] += part.prefix(max(0, whole)) }
    }
}

/// What a server sends, read as it comes: whether that is a connection of HTTP/2, and what a client takes for whole.
struct HTTP2Sent {
    private var bytes: [UInt8] = []
    private var isFirst = true
    /// Streams on which nothing may come any more.
    private var over: Set<Int32> = []
    private var content: [Int32: Int] = [:]
    /// Whether a GOAWAY with an error has been sent.
    private(set) var isGone = false

    /// Reads more bytes. Returns what must not be. `written` gives what the owner has said on a stream.
    mutating func read(_ more: [UInt8], written: (Int32) -> (count: Int, isEnded: Bool)) -> String? {
        bytes += more
        var at = 0
        defer { bytes.removeFirst(at) }
        while let frame = HTTP2Frame(in: bytes, at: at) {
            at += 9 + frame.payload.count
            if let fault = take(frame, written) { return fault }
        }
        return nil
    }

    /// Whether all that came are whole frames.
    var isWhole: Bool { bytes.isEmpty }

    private mutating func take(_ frame: HTTP2Frame, _ written: (Int32) -> (count: Int, isEnded: Bool)) -> String? {
        if isFirst, frame.type != HTTP2Frame.settings { return "a frame \(frame.type) is sent first" }
        isFirst = false
        if frame.payload.count > HTTP2Frame.mostPayload { return "a frame of \(frame.payload.count) bytes is sent" }
        if frame.type == HTTP2Frame.goAway, frame.code != 0 { isGone = true }
        guard frame.stream != 0 else { return nil }
        let isContent = [HTTP2Frame.data, HTTP2Frame.headers, HTTP2Frame.continuation].contains(frame.type)
        if isContent, over.contains(frame.stream) { return "\(frame.type) is sent behind the end of \(frame.stream)" }
        if frame.type == HTTP2Frame.data {
            let from = content[frame.stream] ?? 0
            for (index, byte) in frame.payload.enumerated() where byte != Self.byte(from + index, of: frame.stream) {
                return "stream \(frame.stream) brings other content at \(from + index)"
            }
            content[frame.stream] = from + frame.payload.count
        }
        if isContent {
            let said = written(frame.stream)
            let count = content[frame.stream] ?? 0
            if count > said.count { return "stream \(frame.stream) brings \(count) bytes of \(said.count)" }
            if frame.endsStream, !said.isEnded || count != said.count {
                return "stream \(frame.stream) ends behind \(count) bytes of \(said.count), \(said.isEnded)"
            }
        }
        if frame.endsStream || frame.type == HTTP2Frame.reset { over.insert(frame.stream) }
        return nil
    }

    /// The content that the owner writes: each byte says where it belongs.
    static func byte(_ index: Int, of stream: Int32) -> UInt8 {
        UInt8(truncatingIfNeeded: index &* 7 &+ index >> 8 &+ Int(stream))
    }
}
