/// What a coded body may become when its codings are undone. Beyond each it is refused; nothing is cut off.
public struct CodingLimits: Hashable, Sendable {
    /// Bytes of the body without its codings; 100 MiB. With two codings, what lies between them is held to it too.
    public var decompressed = 100 * 1024 * 1024
    /// Bytes that one byte on the wire may become, on average from the body's beginning; 100. JSON and forms reach 20, zeros
    /// 1000 in gzip and a million in Brotli.
    public var ratio = 100

    /// Bytes of output up to which the ratio isn't looked at; 64 KiB. A short body of one repeated letter is no attack.
    public var ratioFloor = CodingLimits.floor
    /// That of bodies of clients, and the steps in which the ratio is looked at from there on.
    public static let floor = 64 * 1024

    public init() {}

    /// The same for a response, which comes from a server of one's own: up to 1 MiB its ratio isn't looked at, as that of a conversion.
    public var ofResponse: CodingLimits {
        var limits = self
        limits.ratioFloor = 1024 * 1024
        return limits
    }
}
