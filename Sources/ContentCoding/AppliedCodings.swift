/// The codings of one body, in the order in which they were applied: none, one, or two.
public struct AppliedCodings: Hashable, Sendable {
    /// Applied first, and so undone last; nil when there is none.
    public private(set) var inner: Coding?
    /// Applied last; nil when there are fewer than two.
    public private(set) var outer: Coding?

    /// Codings of one body that are undone at most. Even a second one has no use; each more multiplies what a bomb can do.
    public static let limit = 2

    /// No coding.
    public init() {}

    /// One coding.
    public init(_ coding: Coding) {
        inner = coding
    }

    public var isEmpty: Bool { inner == nil }

    /// The one that what arrives is read by; nil when there is none.
    public var first: Coding? { outer ?? inner }

    /// Adds the coding that was applied next. Returns false, and changes nothing, when there are two already.
    public mutating func append(_ coding: Coding) -> Bool {
        if inner == nil {
            inner = coding
        } else if outer == nil {
            outer = coding
        } else {
            return false
        }
        return true
    }
}
