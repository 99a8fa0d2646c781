/// The formats of pictures that are read and written.
package enum ImageFormat: String, Hashable, Sendable, CaseIterable {
    /// JPEG (ITU T.81), PNG (RFC 2083 and its third edition), WebP (RFC 9649).
    case jpeg, png, webp

    /// Its media type: `image/jpeg`.
    package var mediaType: String { "image/\(rawValue)" }

    /// What ends a filename of the format, without the dot; the usual one first.
    package var filenameExtensions: [String] {
        switch self {
        case .jpeg: ["jpg", "jpeg", "jpe", "jfif"]
        case .png: ["png"]
        case .webp: ["webp"]
        }
    }
}

/// What a file that is a picture becomes on its way. What makes it is not for this target: see `FileRule.image`.
package struct ImageRule: Hashable, Sendable {
    /// What happens to a file that can't be made smaller: one that is no JPEG, PNG or WebP, that has several pictures, or that is broken.
    package enum Others: String, Hashable, Sendable, CaseIterable {
        /// The request is refused with 422.
        case reject
        /// The file passes byte for byte.
        case pass
    }

    /// Pixels that the longer side has at most, as the picture is shown; nil: no bound. A picture is never enlarged, and keeps its
    /// proportions.
    package var longestSide: Int?
    /// Pixels that the picture is wide at most, as it is shown; nil: no bound.
    package var width: Int?
    /// Pixels that the picture is high at most, as it is shown; nil: no bound.
    package var height: Int?
    /// How good a JPEG or a lossy WebP is that is written, from 1 to 100. 85.
    package var quality = 85
    /// The format that goes out; nil: the one that came.
    package var format: ImageFormat?
    /// Whether EXIF, XMP and comments stay. The colour profile stays in any case, since colours would change without.
    package var keepsMetadata = true
    /// Pixels that a picture may have as it comes, by its header; beyond, the request is refused with 413 before anything is decoded.
    /// 50 million.
    package var pixels = 50_000_000
    /// What happens to files that can't be made smaller.
    package var others = Others.reject

    /// A rule that changes nothing.
    package init() {}
}
