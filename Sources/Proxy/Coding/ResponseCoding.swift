internal import ContentCoding
internal import Octets

/// The coding that a response gets while it is streamed to the client.
final class ResponseCoding {
    let encoder: ContentEncoder
    /// Whether all that the upstream has sent goes out at once. A body whose length was announced comes to its end anyway;
    /// of any other the next bytes may come in an hour, and those that are here are what somebody waits for.
    let flushes: Bool
    var output = OutputBuffer()

    init(_ encoder: ContentEncoder, flushes: Bool) {
        self.encoder = encoder
        self.flushes = flushes
    }
}
