internal import Octets

/// Why a peer's bytes can't be taken, or why bytes of ours must not be sent.
///
/// After one of these nothing more is read from that connection: answer if nothing was sent yet, then close. The framing
/// is lost, so what follows can't be told apart from an attack.
public struct WireError: Error, Hashable, Sendable {
    /// The status to answer with: 4xx, 501 or 505 for a client, 502 for whatever an upstream did, 500 for a fault of ours.
    public let status: Int
    internal let fault: WireFault
    /// Bytes before the one that was refused: in the head, or in the body as it came over the wire.
    public let offset: Int

    internal init(_ fault: WireFault, at offset: Int, fromUpstream: Bool = false) {
        self.fault = fault
        self.offset = offset
        self.status = fromUpstream ? 502 : fault.status
    }

    /// A stable name for logs, metrics and `application/problem+json`, such as `http_bad_chunk_size`.
    public var code: String { fault.texts.code.description }
    /// One constant sentence. It never holds bytes of the message.
    public var reason: String { fault.texts.reason.description }

    /// The setting that bounds what came, as `limits.head`, where one does. Of a request: nothing bounds a response's but a constant.
    public var setting: String? { fault.setting?.description }

    /// The same of a response. No setting bounds its head, so none is named.
    public var responseReason: String { fault.responseReason ?? reason }

    /// Whether the body passes `WireLimits.body`, which the reader of the body has set.
    public var isBodyTooLarge: Bool { fault == .bodyTooLarge }

    /// This error of the first head on a connection, or what `start`, the first bytes there, show in its place: that another protocol
    /// is spoken.
    public func explained(by start: Span<UInt8>) -> WireError {
        switch SpokenProtocol.look(at: start) {
        case .tls: WireError(.tlsRecord, at: 0)
        case .proxyHeader: WireError(.proxyHeader, at: 0)
        case .http, nil: self
        }
    }

    /// Whether another protocol than HTTP is spoken.
    public var isOtherProtocol: Bool { fault == .tlsRecord || fault == .proxyHeader }

    /// This error as seen from the client: what an upstream did wrong is a 502.
    public var asUpstreamFault: WireError { WireError(fault, at: offset, fromUpstream: true) }

    /// The name of the field whose line is at fault, where it has one, in the bytes of the head that was parsed. It is no part of the
    /// error, which is thrown on paths where none may be large.
    public func fieldName(in head: Span<UInt8>) -> String? {
        guard fault == .badFieldValue || fault == .fieldLineTooLong else { return nil }
        var start = min(offset, head.count)
        while start > 0, head[start - 1] != ASCII.lineFeed { start -= 1 }
        let end = Scan.endOfToken(in: head, from: start)
        guard end > start, end < head.count, head[end] == UInt8(ascii: ":"), end - start <= WireLimits.fieldName else {
            return nil
        }
        return String(decoding: head.extracting(start..<end).copied(), as: UTF8.self)
    }
}

extension WireError: CustomStringConvertible {
    public var description: String { "\(code) at byte \(offset): \(reason)" }
}
