import HTTPWire
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Octets

/// One request as a parser read it.
struct ParsedRequest: Hashable {
    var method: String
    var target: String
    var minor: Int
    /// Names in lower case and trimmed values, in order.
    var fields: [[String]]
    var body: [UInt8] = []
    /// Whether the end of the message was seen.
    var isComplete = false
}

/// What a parser made of the bytes of one connection.
struct Reading: Hashable {
    var requests: [ParsedRequest] = []
    /// Why it refused them; nil: it didn't.
    var refusal: String?
    /// Whether the bytes end inside a head.
    var endsInHead = false
}

/// SwiftNIO's reading of the bytes: its decoder in a channel without a network.
func readingByNIO(_ bytes: [UInt8]) -> Reading {
    var reading = Reading()
    let channel = EmbeddedChannel()
    do {
        try channel.pipeline.syncOperations.addHandler(
            ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)))
        try channel.writeInbound(ByteBuffer(bytes: bytes))
    } catch {
        reading.refusal = "\(error)"
    }
    do {
        while let part = try channel.readInbound(as: HTTPServerRequestPart.self) {
            switch part {
            case .head(let head):
                reading.requests.append(
                    ParsedRequest(
                        method: head.method.rawValue, target: head.uri, minor: Int(head.version.minor),
                        fields: head.headers.map { [$0.name.lowercased(), $0.value.trimmed] }))
            case .body(let part): reading.requests[reading.requests.count - 1].body += part.readableBytesView
            case .end: reading.requests[reading.requests.count - 1].isComplete = true
            }
        }
    } catch {
        reading.refusal = "\(error)"
    }
    _ = try? channel.finish(acceptAlreadyClosed: true)
    return reading
}

extension String {
    /// Without SP and HTAB at its ends.
    var trimmed: String {
        var text = Substring(self)
        while text.first == " " || text.first == "\t" { text.removeFirst() }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return String(text)
    }
}
