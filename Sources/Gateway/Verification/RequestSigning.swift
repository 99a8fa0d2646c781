package import Signatures

/// How a route signs the requests that it sends on, over the content as it is then: what `sign` says in the settings, ready for use.
///
/// What is signed stands in the head in front of the content, so the content is held until it is whole, and goes on with its length.
public final class RequestSigning: Sendable {
    package let signer: MessageSigner
    /// What the scheme is called, for logs and `explain`.
    package let name: String
    /// What the upstream takes for its URL, without path and query; nil: `http` or `https`, and the Host that it gets.
    package let base: String?
    /// Bytes of content that are held to be signed; 413 beyond (`limits.signed`).
    package let limit: Int

    package init(_ signer: MessageSigner, name: String, base: String?, limit: Int) {
        self.signer = signer
        self.name = name
        self.base = base
        self.limit = limit
    }

    /// The same, with the fields of bodies read so.
    func reading(_ reading: SignedBodyReading) -> RequestSigning {
        var signer = signer
        signer.reading = reading
        return RequestSigning(signer, name: name, base: base, limit: limit)
    }

    /// What is signed, for people.
    package var summary: [(key: String, value: String)] {
        signer.summary + (base.map { [("url", $0)] } ?? [])
    }

    /// What a signed request is called: as its own sender calls it where that is signed too, so that a request that is sent again
    /// has the same; else by its request's id. One with the scheme's separator in it, or that is no word, is told by its digest.
    package static func id(_ given: [UInt8]) -> String {
        let isPlain =
            !given.isEmpty && given.count <= 128
            && given.allSatisfy {
                $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") || $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9")
                    || $0 | 0x20 >= UInt8(ascii: "a") && $0 | 0x20 <= UInt8(ascii: "z")
            }
        if isPlain { return String(decoding: given, as: UTF8.self) }
        let digest = Digest.of(given.span, .sha256)
        return "msg_" + String(decoding: BinaryEncoding.hex.encode(Array(digest[..<16]).span), as: UTF8.self)
    }
}
