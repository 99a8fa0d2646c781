internal import Octets

/// How much of a converted body is held, so that it goes out with its length, in one write, and an error in it is found before the
/// upstream sees a byte (docs/decisions/0004).
public enum ConversionHold {
    /// A body of at most so many bytes is held as long as `ofShortBodies` says. 16 KiB.
    static let shortBody = 16 * 1024
    /// What a short body may become: a thousand fields, the default limit, with about a hundred bytes around each. 128 KiB.
    private static let ofShortBodies = 128 * 1024

    /// The bytes of output that are held of a body of `length` bytes; nil where the length isn't known.
    public static func limit(ofBody length: Int?) -> Int {
        guard let length, length <= shortBody else { return OutputBuffer.defaultHighWatermark }
        return ofShortBodies
    }
}
