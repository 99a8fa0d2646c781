/// How an upstream wants to know where a request's body ends.
public enum FramingMode: String, Hashable, Sendable, CaseIterable {
    /// Content-Length where it is known before the body goes out, else chunked.
    case auto
    /// Always Content-Length: what has no known length is spooled first.
    case length
    /// Always chunked where there is a body.
    case chunked
}

/// Where a body waits until its length is known.
public struct SpoolSettings: Hashable, Sendable {
    /// Bytes of one request that stay in memory; 256 KiB.
    public var memory = 256 * 1024
    /// Bytes of one request that go to disk after those; 64 MiB, then 413.
    public var disk = 64 * 1024 * 1024
    /// The folder of the files.
    public var directory = "/tmp"

    public init() {}

    /// The longest body: all that memory and disk take.
    public var most: Int {
        let sum = memory.addingReportingOverflow(disk)
        return sum.overflow ? .max : sum.partialValue
    }
}
