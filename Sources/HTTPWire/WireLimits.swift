/// What a peer may send before it is refused. Each is checked where the byte that breaks it arrives, so memory is bounded
/// by these and by the caller's read buffer.
public struct WireLimits: Hashable, Sendable {
    /// The longest method, 32 bytes: the longest registered one has 17.
    public static let method = 32
    /// The longest field name, 256 bytes.
    public static let fieldName = 256
    /// CRLF pairs that may come before a request line, 2: old clients add one after a body (RFC 9112 §2.2).
    public static let emptyLines = 2
    /// Digits of a chunk size including leading zeros, 16: the most that 64 bits hold.
    public static let chunkSizeDigits = 16
    /// Members of all Connection lines together, 32. Each is looked up among the fields, so the product must be bounded.
    public static let connectionOptions = 32

    /// The request line or status line without its CRLF, in bytes: 16 KiB (RFC 9112 §3 wants 8000 at least). Beyond: 414.
    public var requestLine = 16 * 1024
    /// One field line without its CRLF, in bytes: 16 KiB. Beyond: 431.
    public var fieldLine = 16 * 1024
    /// The whole head with its last CRLF, in bytes: 64 KiB, about what Envoy allows. Beyond: 431.
    public var head = 64 * 1024
    /// Field lines in a head: 100, as in Envoy, HAProxy and hyper. Beyond: 431.
    public var fieldCount = 100
    /// Body bytes after the transfer coding is undone: no limit here, a route sets it. Beyond: 413.
    public var body = Int.max
    /// Extensions of one chunk, in bytes between the size and its CRLF: 4 KiB. Beyond: 413.
    public var chunkExtensionLine = 4 * 1024
    /// Extensions of all chunks of a body, in bytes: 16 KiB, as in hyper and Go (CVE-2023-39326). Beyond: 413.
    public var chunkExtensions = 16 * 1024
    /// Chunk framing that data has not paid for, in bytes: 16 KiB. A chunk pays for 16 bytes and twice its data, which is
    /// Go's rule. Beyond: 413.
    public var chunkOverhead = 16 * 1024
    /// The trailer section with all its line ends, in bytes: 16 KiB, as in hyper. Beyond: 431.
    public var trailerBytes = 16 * 1024
    /// Field lines in a trailer section: 32. Beyond: 431.
    public var trailerCount = 32
    /// Interim (1xx) responses before a final one: 32. Beyond: 502.
    public var interimCount = 32
    /// Heads of interim responses before a final one, in bytes: 64 KiB. Beyond: 502.
    public var interimBytes = 64 * 1024

    public init() {}
}
