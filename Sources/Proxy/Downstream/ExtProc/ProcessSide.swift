internal import ExtProc
internal import Gateway
internal import HTTPWire
internal import Octets

/// The upstream's side of a call.
final class ProcessSide: UpstreamSide {
    /// Not counted: the call owns its side.
    unowned var call: ProcessCall!

    override var trailers: TrailerLines { call.responseTrailers }
    override var held: Int { call.request.pending.count }
    override var holdsMuch: Bool { call.isRequestFull }
    override func take(_ first: Span<UInt8>, _ second: Span<UInt8>) {
        // Nothing is framed here: what stands in front is content that came out before.
        if !first.isEmpty { call.sendRequest(first) }
        if !second.isEmpty { call.sendRequest(second) }
    }
    override func begin(_ exchange: Exchange) throws(Refusal) { try call.sendRequestHead(exchange) }
    override func requestEnded() throws(Refusal) { try call.requestEnded() }
    override func resume() { call.resumeResponse() }
}
