internal import Gateway

/// What the console keeps of exchanges (docs/console.md).
public struct ConsoleSettings: Hashable, Sendable {
    /// Exchanges that each worker keeps, 1 to 10,000: the last ones that have ended.
    public var entries = 200
    /// Bytes that are kept of each body, up to 1 MiB. Each exchange has four: one on either side of Recast, both ways.
    public var body = 16 * 1024
    /// Words in the names of fields whose values nobody is shown: in heads, queries and bodies. Case, `-` and `_` are no matter.
    public var mask = SecretName.words

    public static let greatestEntries = 10_000
    public static let greatestBody = 1024 * 1024

    public init() {}
}
