/// Why a coded body was refused.
public enum CodingError: Error, Hashable, Sendable {
    /// The bytes can't be read as that coding: damaged, cut short, or followed by something else.
    case malformed(Coding, Fault)
    /// The body without its coding passes `CodingLimits.decompressed`, which is the number.
    case decompressed(Int)
    /// It grows by more than `CodingLimits.ratio`, which is the number.
    case ratio(Int)

    public enum Fault: Hashable, Sendable {
        case damaged, truncated, trailing
        /// The window is larger than any receiver must have.
        case window
    }

    /// Stable: `coding_malformed`, `limit_decompressed`, `limit_ratio`.
    public var code: String {
        switch self {
        case .malformed: "coding_malformed"
        case .decompressed: "limit_decompressed"
        case .ratio: "limit_ratio"
        }
    }

    /// One sentence in lower case without a full stop.
    public var reason: String {
        switch self {
        case .malformed(let coding, .damaged): "the body is not valid \(coding.rawValue)"
        case .malformed(let coding, .truncated): "the body ends before its \(coding.rawValue) data does"
        case .malformed(let coding, .trailing): "something follows the body's \(coding.rawValue) data"
        case .malformed(let coding, .window): "the body's \(coding.rawValue) window is larger than 8 MiB"
        case .decompressed(let limit):
            "the body without its content coding passes the limit of \(limit) bytes (limits.decompressed)"
        case .ratio(let limit): "the body is compressed by more than the limit of \(limit) to 1 (limits.ratio)"
        }
    }

    /// The setting that can be changed to let the body through.
    public var setting: String? {
        switch self {
        case .malformed: nil
        case .decompressed: "limits.decompressed"
        case .ratio: "limits.ratio"
        }
    }
}
