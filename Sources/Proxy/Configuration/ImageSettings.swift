/// How pictures are made smaller in the whole process.
public struct ImageSettings: Hashable, Sendable {
    /// Threads for it, apart from the workers'; nil: one for each processor that the process may use.
    public var threads: Int?
    /// Pictures that may wait for one; 1000, then 503.
    public var queue = 1000

    public init() {}
}
