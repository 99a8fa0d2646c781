internal import TestSupport
internal import Transcoding

/// One thing that must hold for any bytes: what libFuzzer looks for a counterexample of, and what the tests run over the
/// corpus.
///
/// The first byte of an input chooses options and how the rest, the body, is cut; see `Variant`.
public struct FuzzTarget: Sendable, CustomStringConvertible {
    /// `json`, `form-to-json`
    public let name: String
    /// The folder of `Tests/Corpus` that the target begins with.
    public let corpus: String
    private let check: @Sendable (Variant, [UInt8]) -> String?

    init(_ name: String, corpus: String, check: @escaping @Sendable (Variant, [UInt8]) -> String?) {
        self.name = name
        self.corpus = corpus
        self.check = check
    }

    public var description: String { name }

    /// What was violated, or nil. A trap is a violation too, which nobody returns from.
    public func violation(of input: [UInt8]) -> String? {
        guard let first = input.first else { return nil }
        return check(Variant(byte: first), Array(input.dropFirst()))
    }

    /// A target for each decoder, one for the search of a value in JSON, two for what the library's users call, one for
    /// pictures that become smaller, one for each content coding, three for what decides where a message of HTTP/1 ends, one
    /// for each side of a connection of HTTP/2, one for a call of ext_proc, one for whose a request is, then one for each pair of
    /// encodings.
    public static let all: [FuzzTarget] =
        decoders + [value, image, picture] + codings + wire + [http2, http2Client, extProc, signature]
        + BodyEncoding.allCases.flatMap { from in
            BodyEncoding.allCases.map { to in conversion(from, to) }
        }

    public static func named(_ name: String) -> FuzzTarget? { all.first { $0.name == name } }
}

/// What the first byte of an input chooses.
struct Variant: Sendable {
    let byte: UInt8

    /// Bytes of one slice.
    var size: Int { 1 + Int(byte % 8) }
    var dialect: Dialect { Dialect.allCases[Int(byte / 8) % Dialect.allCases.count] }
    /// One bit for whatever a target has two ways of.
    var bit: Bool { byte & 0x80 != 0 }
    /// Three more, which go with the size of a slice and with nothing else: `index` is 0 to 2.
    func flag(_ index: UInt8) -> Bool { byte >> index & 1 != 0 }
}
