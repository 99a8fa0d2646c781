internal import HTTPWire
internal import Octets

// Framing of what an exchange sends. The bytes are those that its own head announced, so a fault is none of a peer's: it stops the
// process (docs/principles.md 11). To refuse instead would end the exchange while its buffers are lent.
extension BodyEncoder {
    /// As `begin`, for bytes that fit the framing.
    mutating func frame(_ count: Int, into output: inout OutputBuffer) {
        do throws(WireError) {
            try begin(count, into: &output)
        } catch {
            preconditionFailure("bytes of a body beyond its framing: \(error.code)")
        }
    }

    /// As `finish`, for a body that is whole.
    mutating func close(into output: inout OutputBuffer, writeTrailers: (inout OutputBuffer) -> Void = { _ in }) {
        do throws(WireError) {
            try finish(into: &output, writeTrailers: writeTrailers)
        } catch {
            preconditionFailure("a body ended short of its framing: \(error.code)")
        }
    }
}
