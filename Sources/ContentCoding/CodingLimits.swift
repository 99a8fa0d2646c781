/// What a coded body may become when its codings are undone. Beyond each it is refused; nothing is cut off.
public struct CodingLimits: Hashable, Sendable {
    /// Bytes of the body without its codings; 100 MiB. With two codings, what lies between them is held to it too.
    public var decompressed = 100 * 1024 * 1024
    /// Bytes that one byte on the wire may become, on average from the body's beginning; 100. JSON and forms reach 20, zeros
    /// 1000 in gzip and a million in Brotli.
    public var ratio = 100

    /// Bytes of output up to which the ratio isn't looked at, and the steps in which it is from there on; 64 KiB. A short
    /// body of one repeated letter is no attack.
    public static let floor = 64 * 1024

    public init() {}
}
