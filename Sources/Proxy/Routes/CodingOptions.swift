/// What a route does with content codings: which it undoes, which it applies.
public struct CodingOptions: Hashable, Sendable {
    public init() {}
}
