internal import HTTPWire
internal import Octets

/// One message as a connection saw it.
struct WireMessage: Equatable {
    struct Field: Equatable {
        var name: [UInt8]
        var value: [UInt8]
    }

    /// Method, path and query of a request; status and reason of a response.
    var start: [[UInt8]]
    var authority: [UInt8]
    var framing: BodyFraming
    var isKeepAlive: Bool
    var wantsUpgrade: Bool
    var expectsContinue: Bool
    /// The fields that go on to the next hop, without what a proxy writes itself.
    var fields: [Field] = []
    var body: [UInt8] = []
    var trailers: [UInt8] = []
    var isWhole = false
    /// The head written anew, for the next hop.
    var rewritten: [UInt8] = []

    /// Fields that are never copied: framing, what Host says, and Expect, which HTTP/1.0 ignores and 1.1 would judge.
    private static let ours: KnownFieldSet = [.host, .contentLength, .transferEncoding, .expect]

    init(_ head: borrowing MessageHead, _ framing: BodyFraming) {
        self.framing = framing
        isKeepAlive = head.isKeepAlive
        wantsUpgrade = head.wantsUpgrade
        expectsContinue = head.expectsContinue
        authority = head.authority.copied()
        var output = OutputBuffer()
        if head.status == 0 {
            let query = head.query?.copied()
            start = [head.method.copied(), head.path.copied(), query ?? [], [query == nil ? 0 : 1]]
            HeadWriter.requestLine(of: head, into: &output)
            // HTTP/1.0 may have none; what is written is 1.1.
            if authority.isEmpty { authority = Array("a".utf8) }
            _ = HeadWriter.field("Host", authority.span, into: &output)
        } else {
            start = [Array("\(head.status)".utf8), head.reason.copied()]
            HeadWriter.statusLine(of: head, into: &output)
        }
        for index in 0..<head.fieldCount where !head.isHopByHop(index) && !Self.ours.contains(head.known(index)) {
            fields.append(Field(name: head.name(index).copied(), value: head.value(index).copied()))
        }
        HeadWriter.fields(of: head, lines: 0..<head.fieldCount, without: Self.ours, into: &output)
        HeadWriter.framing(framing, into: &output)
        HeadWriter.end(into: &output)
        rewritten = output.span.copied()
    }

    /// The whole message for the next hop, its body in pieces of `size`.
    func written(every size: Int) -> [UInt8]? {
        var output = OutputBuffer()
        output.append(rewritten.span)
        var encoder = BodyEncoder(framing: framing)
        do throws(WireError) {
            for start in stride(from: 0, to: body.count, by: size) {
                let piece = body[start..<min(start + size, body.count)]
                try encoder.begin(piece.count, into: &output)
                output.append(Array(piece).span)
                encoder.end(into: &output)
            }
            try encoder.finish(into: &output) { $0.append(trailers.span) }
        } catch {
            return nil
        }
        return output.span.copied()
    }

    /// What the next hop must read as this message does: all but what belongs to one connection.
    func isSame(to next: WireMessage) -> Bool {
        start == next.start && authority == next.authority && framing == next.framing && fields == next.fields
            && body == next.body && trailers == next.trailers && isWhole == next.isWhole && !next.wantsUpgrade
    }
}

extension WireMessage {
    /// What a head that was accepted must not be, found without the code that accepted it. `bytes` are what the parser took.
    static func faults(
        of head: borrowing MessageHead, from bytes: [UInt8], framing: BodyFraming, limits: WireLimits
    ) -> [String] {
        var faults: [String] = []
        if bytes.count > limits.head { faults.append("a head of \(bytes.count) bytes") }
        if head.fieldCount > limits.fieldCount { faults.append("\(head.fieldCount) fields") }
        if head.method.count > WireLimits.method { faults.append("a method of \(head.method.count) bytes") }
        faults += lineFaults(of: bytes, isRequest: head.status == 0, limits)
        var lengths: [[UInt8]] = []
        var codings: [[UInt8]] = []
        var hosts = 0
        for index in 0..<head.fieldCount {
            let name = head.name(index).copied()
            let value = head.value(index).copied()
            if name.isEmpty || name.count > WireLimits.fieldName || !name.allSatisfy(isToken) {
                faults.append("a field's name \(name)")
            }
            if value.contains(where: { $0 < 0x20 && $0 != 9 || $0 == 0x7F }) {
                faults.append("a field's value \(value)")
            }
            if let first = value.first, let last = value.last, isBlank(first) || isBlank(last) {
                faults.append("white space around a value")
            }
            switch String(decoding: name, as: UTF8.self).lowercased() {
            case "content-length": lengths.append(value)
            case "transfer-encoding": codings.append(value)
            case "host": hosts += 1
            default: break
            }
        }
        if lengths.count + codings.count > 1 { faults.append("two ways to read the framing") }
        if head.status == 0 {
            if hosts > 1 || head.authority.isEmpty && head.version != .http1_0 { faults.append("\(hosts) hosts") }
            if head.target.copied().contains(where: { $0 <= 0x20 || $0 >= 0x7F }) {
                faults.append("a byte of the target")
            }
            if framing != declared(lengths, codings) ?? BodyFraming.none { faults.append("framed as \(framing)") }
        } else if framing != .none, head.status != 205, framing != declared(lengths, codings) ?? .untilClose {
            faults.append("framed as \(framing)")
        }
        return faults
    }

    /// A head ends at its first empty line, and its lines keep their limits.
    private static func lineFaults(of bytes: [UInt8], isRequest: Bool, _ limits: WireLimits) -> [String] {
        var faults: [String] = []
        var lines = 0
        var start = 0
        while let end = bytes[start...].indices.first(where: { bytes[$0] == 10 }) {
            let line = bytes[start..<end]
            if line.last != 13 || line.dropLast().contains(13) { faults.append("a line end") }
            if line.count == 1 {
                // The empty lines before a request, and the one that ends the head.
                if lines > 0, end != bytes.count - 1 { faults.append("bytes behind the empty line") }
                if lines == 0, !isRequest { faults.append("an empty line before a response") }
            } else {
                if line.count - 1 > (lines == 0 ? limits.requestLine : limits.fieldLine) {
                    faults.append("a line of \(line.count - 1) bytes")
                }
                lines += 1
            }
            start = end + 1
        }
        if start != bytes.count { faults.append("half a line") }
        return faults
    }

    private static func declared(_ lengths: [[UInt8]], _ codings: [[UInt8]]) -> BodyFraming? {
        if !codings.isEmpty { return .chunked }
        return lengths.first.map { length in .length(Int(String(decoding: length, as: UTF8.self)) ?? -1) }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 9 || byte == 0x20 }

    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
