/// What becomes of paths that upstreams may read as other paths than the routes do.
public struct PathRules: Hashable, Sendable {
    /// `.` and `..` between slashes, in all spellings that `DotSegment` knows.
    public enum DotSegments: String, Hashable, Sendable, CaseIterable {
        /// The request is answered with 400.
        case reject
        /// They are segments as any others.
        case pass
        /// They are resolved before a route is looked for, and the upstream gets the result; 400 for those that have no one
        /// meaning.
        case normalize
    }

    /// Slashes behind slashes, as in `//admin`.
    public enum EmptySegments: String, Hashable, Sendable, CaseIterable {
        /// Routes are found as if there was one slash; the upstream gets the path as it came.
        case ignore
        /// They are segments as any others.
        case pass
        /// The upstream gets one slash, too.
        case merge
        /// The request is answered with 400.
        case reject
    }

    public var dotSegments = DotSegments.reject
    public var emptySegments = EmptySegments.ignore

    public init() {}
}
