/// What became of the fields and files of a body. What came in and wasn't removed by a rule has gone out.
public struct Accounting: Hashable, Sendable {
    /// Fields that came in: text parts of a flat body, scalars of a document.
    public var fields = 0
    /// Files that came in, and strings that a rule declared files.
    public var files = 0
    /// Fields and files that a rule left out or replaced.
    public var removed = 0

    /// Fields and files together.
    public var parts: Int { fields + files }

    /// Nothing has come yet.
    public init() {}
}
