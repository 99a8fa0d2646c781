/// Why a body could not be spooled.
package enum SpoolFault: Error, Hashable {
    /// It passes what one request may have: memory and disk together, in bytes.
    case tooLarge(Int)
    /// The spools of all requests have used up `spool.total`.
    case total
    /// The disk is full.
    case full
    /// The disk, or the folder, can't be used.
    case failed

    /// Whether the disk has to be looked after.
    package var isOfTheDisk: Bool { self == .full || self == .failed }
}
