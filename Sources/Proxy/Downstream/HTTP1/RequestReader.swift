internal import HTTPWire
internal import Octets

/// What a connection of HTTP/1 has only while it serves a request: a parser for its head, a decoder of its content's framing
/// (RFC 9112 §6, §7), and memory for the response. Readers are reused; the worker has a free list of them.
///
/// SAFETY of `@exclusivity(unchecked)`: one thread uses a reader, and neither the parser nor the decoder calls anything that
/// comes back to it (docs/decisions/0007).
final class RequestReader {
    /// The settings when it was made, whose limits its parser holds.
    let home: ConfigurationSnapshot
    @safe @exclusivity(unchecked) var parser: RequestParser
    /// Finds the content among the bytes behind the head.
    @safe @exclusivity(unchecked) var decoder: BodyDecoder
    /// Memory for what the connection writes, to which it is lent.
    @safe @exclusivity(unchecked) var lentOutput = OutputBuffer()

    init(_ home: ConfigurationSnapshot) {
        self.home = home
        parser = RequestParser(limits: home.admission.head)
        decoder = BodyDecoder(framing: .none, limits: home.admission.head)
    }

    /// Makes the reader ready for another request.
    func reset() { parser.reset() }

    /// Begins with the content of a request whose head has been read.
    func beginContent(_ framing: BodyFraming) { decoder.begin(framing, limits: home.admission.head) }

    /// As `RequestSource.limitContent`, before any of the content was read.
    func limitContent(to count: Int, framing: BodyFraming) {
        var limits = home.admission.head
        limits.body = count
        decoder.begin(framing, limits: limits)
    }
}
