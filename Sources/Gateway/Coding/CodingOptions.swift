public import ContentCoding
package import HTTPWire
internal import Transcoding

/// What a route does with content codings: which it undoes where it converts, and which it applies to responses.
public struct CodingOptions: Hashable, Sendable {
    /// The codings that are undone before a body is converted; all of them by default. A request with another one is
    /// answered with 415, a response with another one is none that can be converted.
    public var undone = Coding.allCases
    /// Whether the upstream is asked for them where responses are converted: for those that the client takes, too, since what isn't
    /// converted passes as it came. It is asked for uncoded bodies by default, as most upstreams are near.
    public var asks = false
    /// What an undone body is held to: `limits.decompressed` and `limits.ratio`.
    public var limits = CodingLimits()
    /// Nil, the default: responses get no coding from us.
    public var compress: CompressOptions?

    public init() {}
}

/// Which responses get a content coding, and which one.
public struct CompressOptions: Hashable, Sendable {
    /// The first that the client likes best is taken.
    public var codings: [Coding] = [.br, .zstd, .gzip]
    /// Bytes of a body below which it is left as it is, where its length is known; 1 KiB. A head costs more than is won.
    public var least = 1024
    /// The types that shrink.
    public var types = CompressOptions.standardTypes
    /// How hard the coder tries.
    public var level = CodingLevel()
    /// Whether responses that the route doesn't convert get a coding too; they are streamed. No by default.
    public var plain = false

    public init() {}

    /// Texts and what is written in them, as most encodings are.
    public static let standardTypes: [ResponseTypePattern] = {
        let texts = BodyEncoding.allCases.filter { !$0.hasFiles && !$0.isBinary }.map(\.mediaType)
        let others = ["text/*", "+json", "+xml", "application/javascript", "application/x-ndjson", "application/wasm"]
        return (others + texts).compactMap { try? ResponseTypePattern(parsing: $0) }
    }()
}

extension MessageHead {
    /// Whether a response to the request may get a coding of ours.
    package var takesCoding: Bool { capabilities.contains(.unsizedBodies) && !forbidsTransform }
}

/// As above, as the data path needs it: by reference.
package final class Compression: Sendable {
    package let options: CompressOptions

    package init(_ options: CompressOptions) {
        self.options = options
    }

    package func takes(type: Span<UInt8>) -> Bool {
        for candidate in options.types where candidate.matches(contentType: type) { return true }
        return false
    }

    /// Whether a client asks for the rest of what it may have in a coding of ours, and names that by its date, which the coded form has in
    /// common with the uncoded one: the upstream would send bytes of the latter to go behind the former. A tag tells them apart, as
    /// the coded form's is weak, which no range goes by (RFC 9110 §13.1.5).
    package func mayHaveCodedBeginning(of head: borrowing MessageHead) -> Bool {
        guard options.plain, let line = head.first(.ifRange), !head.value(line).isEmpty,
            head.value(line)[head.value(line).count - 1] != UInt8(ascii: "\""), head.takesCoding
        else { return false }
        return AcceptEncodingField.choose(among: options.codings, for: head) != nil
    }
}
