internal import Octets

/// How much of a converted body is held, so that it goes out with its exact length, in one write, and an error in it is found
/// before the upstream sees a byte (docs/decisions/0004, 0011).
public enum ConversionHold {
    /// A body of at most so many bytes is taken while memory is short. 16 KiB.
    static let shortBody = 16 * 1024
    /// What is held of a body that came with a length of at most twice that: 256 KiB.
    private static let ofKnownLength = 256 * 1024
    /// What is held of a document that is whole, and of which only writing it out is left: 8 MiB.
    static let ofWholeDocument = 8 * 1024 * 1024

    /// The bytes of output that are held of a body of `length` bytes; nil where the length isn't known: then, and for longer
    /// bodies, 64 KiB.
    public static func limit(ofBody length: Int?) -> Int {
        // What is longer seldom comes out so short, and would be copied for nothing.
        guard let length, length <= 2 * ofKnownLength else { return OutputBuffer.defaultHighWatermark }
        return ofKnownLength
    }
}
