/// Why a file isn't made smaller.
package enum ImageFault: Error, Hashable, Sendable {
    /// It is no JPEG, PNG or WebP.
    case notAnImage
    /// It holds several pictures, of which all but one would be lost.
    case animated
    /// It is one of the three, and can't be decoded, or not written in the format that is wanted; why.
    case broken(String)
    /// It has this many pixels by its header: more than its rule lets in.
    case tooManyPixels(Int)
    /// A side of one that would be written anew has so many pixels, more than `ImageJob.longestSide`.
    case sideTooLong(Int)
    /// The system has no memory for it.
    case memory
    /// Nobody waits for it any more (`ImageAsker`).
    case stopped
}
