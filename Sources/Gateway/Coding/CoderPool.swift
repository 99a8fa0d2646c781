package import ContentCoding

/// A worker's coders that are ready for another body: what zlib and its like allocate is worth keeping.
package final class CoderPool {
    private var decoders: [[ContentDecoder]] = Array(repeating: [], count: Coding.allCases.count)
    private var encoders: [[ContentEncoder]] = Array(repeating: [], count: Coding.allCases.count)

    /// Coders of one kind that are kept at most. A decoder keeps up to 384 KiB, an encoder up to 1.5 MiB.
    private static let decoderLimit = 32
    private static let encoderLimit = 2

    package init() {}

    /// A decoder for a body with `codings`; it has to be told to begin.
    package func takeDecoder(_ codings: AppliedCodings) -> ContentDecoder {
        guard let coding = codings.first else { return ContentDecoder() }
        return decoders[coding.index].popLast() ?? ContentDecoder()
    }

    /// Takes back a decoder whose body is over.
    package func recycle(_ decoder: ContentDecoder) {
        guard let coding = decoder.codings.first else { return }
        decoder.end()
        if decoders[coding.index].count < Self.decoderLimit { decoders[coding.index].append(decoder) }
    }

    /// An encoder for a body that gets `coding`.
    package func takeEncoder(_ coding: Coding, level: CodingLevel) -> ContentEncoder {
        if let index = encoders[coding.index].lastIndex(where: { $0.level == level }) {
            return encoders[coding.index].remove(at: index)
        }
        return ContentEncoder(coding, level: level)
    }

    /// Takes back an encoder whose body is over.
    package func recycle(_ encoder: ContentEncoder) {
        encoder.reset()
        if encoders[encoder.coding.index].count < Self.encoderLimit { encoders[encoder.coding.index].append(encoder) }
    }
}
