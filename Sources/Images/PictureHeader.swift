internal import CImages
package import Transcoding

/// What the header of a picture says. Nothing is decoded for it.
package struct PictureHeader: Sendable {
    internal let stored: recast_image_header
    /// The format that it came in.
    package let format: ImageFormat
    /// Pixels, as the picture is shown: turned as its EXIF says.
    package let width: Int
    package let height: Int

    /// Whether the three libraries are built in, see the package's trait `Images`. Without them nothing is an image.
    package static var isBuiltIn: Bool { recast_image_is_built_in() }

    /// Reads the header of a file. Throws `notAnImage`, `animated` and `broken`.
    package init(_ bytes: Span<UInt8>) throws(ImageFault) {
        var header = recast_image_header()
        // SAFETY: both are read and written during the call only.
        unsafe bytes.withUnsafeBufferPointer { bytes in
            // SAFETY: an empty buffer may have no address, and then none is read.
            unsafe recast_image_look(bytes.baseAddress, bytes.count, &header)
        }
        switch header.kind {
        case RECAST_IMAGE_JPEG: format = .jpeg
        case RECAST_IMAGE_PNG: format = .png
        case RECAST_IMAGE_WEBP: format = .webp
        case RECAST_IMAGE_ANIMATED: throw .animated
        case RECAST_IMAGE_BROKEN: throw .broken(header.text)
        default: throw .notAnImage
        }
        let isTurned = header.orientation >= 5
        width = Int(isTurned ? header.height : header.width)
        height = Int(isTurned ? header.width : header.height)
        stored = header
    }

    /// Whether the file, `bytes`, has anything that isn't needed to show the picture. Reads a JPEG to its end.
    internal func hasExtras(_ bytes: Span<UInt8>) -> Bool {
        // SAFETY: all is read during the call only.
        unsafe bytes.withUnsafeBufferPointer { bytes in
            // SAFETY: a picture has a header, so there is an address.
            unsafe withUnsafePointer(to: stored) { unsafe recast_image_has_extras(bytes.baseAddress, bytes.count, $0) }
        }
    }

    /// Pixels in all. Both sides are below 2^31.
    package var pixelCount: Int { width * height }
}

extension recast_image_header {
    /// What is wrong with it.
    fileprivate var text: String {
        switch lack {
        case RECAST_IMAGE_NO_SIZE: "it has no size"
        case RECAST_IMAGE_DEPTH: "it has other than 8 bits a sample"
        case RECAST_IMAGE_NO_SCAN: "it has no scan"
        case RECAST_IMAGE_MANY_PARTS: "it has more than 1,000,000 parts"
        case RECAST_IMAGE_AMBIGUOUS: "its parts can be read in more than one way"
        default: "it has no header"
        }
    }
}
