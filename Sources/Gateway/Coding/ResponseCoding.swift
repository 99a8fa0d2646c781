package import ContentCoding
package import Octets

/// The coding that a response gets while it is streamed to the client.
package final class ResponseCoding {
    package let encoder: ContentEncoder
    /// Whether all that the upstream has sent goes out at once. A body whose length was announced comes to its end anyway;
    /// of any other the next bytes may come in an hour, and those that are here are what a client waits for.
    package let flushes: Bool
    package var output = OutputBuffer()

    package init(_ encoder: ContentEncoder, flushes: Bool) {
        self.encoder = encoder
        self.flushes = flushes
    }
}
