internal import CImages
package import Transcoding

/// One picture on its way to being smaller: what its rule demands is known from its header, and `run` does it.
package struct ImageJob: Sendable {
    private enum Work {
        /// It passes byte for byte: it is small enough, has the format, and has nothing that is to go.
        case none
        /// What stands beside the pixels goes, and they stay as they are.
        case strip
        /// It is decoded and written anew.
        case convert
    }

    /// Pixels of a side of a picture that is decoded, 65,535: those that a JPEG can have. A row is held whole, and more than once, so
    /// that a line of all the pixels that `pixels` allows would take many times the memory and the time of a square of them.
    package static let longestSide = 65_535

    /// Pixels of a side of a WebP (RFC 6386 section 9.1).
    private static let longestSideOfWebP = 16_383

    /// The file as it came.
    package let bytes: [UInt8]
    package let header: PictureHeader
    /// The format that goes out.
    package let format: ImageFormat
    private let options: recast_image_options
    private let work: Work

    /// What becomes of a file by `rule`. Reads the header, and throws what is wrong with it; nothing is allocated before the pixels
    /// were counted.
    package init(_ bytes: [UInt8], rule: ImageRule) throws(ImageFault) {
        header = try PictureHeader(bytes.span)
        guard header.pixelCount <= rule.pixels else { throw .tooManyPixels(header.pixelCount) }
        self.bytes = bytes
        format = rule.format ?? header.format
        let size = rule.size(of: header)
        options = recast_image_options(
            width: UInt32(size.width), height: UInt32(size.height), format: format.kind,
            quality: Int32(rule.quality), keeps_metadata: rule.keepsMetadata)
        let isSmall = size.width == header.width && size.height == header.height && format == header.format
        if !isSmall {
            work = .convert
        } else if rule.keepsMetadata || !header.hasExtras(bytes.span) {
            work = .none
        } else {
            // How it is shown stands in what goes: then it is turned instead.
            work = header.stored.orientation == 1 ? .strip : .convert
        }
        let side = max(header.width, header.height)
        if work == .convert, side > Self.longestSide { throw .sideTooLong(side) }
        // Before anything is decoded for it.
        if work == .convert, format == .webp, max(size.width, size.height) > Self.longestSideOfWebP {
            throw .broken("no side of a WebP has more than \(Self.longestSideOfWebP) pixels")
        }
    }

    /// False where the file passes byte for byte.
    package var isNeeded: Bool { work != .none }

    /// Bytes that `run` takes beside `bytes`, at most.
    package var memory: Int {
        switch work {
        case .none: 0
        case .strip: 2 * bytes.count
        case .convert:
            // SAFETY: read during the call.
            unsafe withUnsafePointer(to: header.stored) { header in
                // SAFETY: as above.
                unsafe withUnsafePointer(to: options) { unsafe recast_image_memory(header, $0) }
            }
        }
    }

    /// Does it, and returns the bytes that go out. Takes up to about a second for each 100 million pixels, and much more to write a WebP
    /// without loss: not for a loop's thread.
    ///
    /// - Parameter asker: who waits for it. When it leaves, the work stops within a few milliseconds, but within a fifth of its whole
    ///   time where a WebP without loss is written.
    /// - Throws: `ImageFault.stopped` when `asker` has left.
    package func run(for asker: ImageAsker = ImageAsker()) throws(ImageFault) -> [UInt8] {
        guard asker.isWaiting else { throw .stopped }
        if work == .none { return bytes }
        var result = unsafe recast_image_result()
        // SAFETY: what is pointed to is read during the calls only.
        let status = unsafe bytes.withUnsafeBufferPointer { bytes in
            // SAFETY: a picture has a header, so there is an address.
            unsafe withUnsafePointer(to: header.stored) { header in
                // SAFETY: as above.
                unsafe withUnsafePointer(to: options) { options in
                    // SAFETY: as above.
                    unsafe asker.withStored { asker in
                        unsafe work == .strip
                            ? recast_image_strip(bytes.baseAddress, bytes.count, header, &result)
                            : recast_image_convert(bytes.baseAddress, bytes.count, header, options, asker, &result)
                    }
                }
            }
        }
        // SAFETY: freed once, and not used behind that.
        defer { unsafe recast_image_free(&result) }
        switch status {
        case RECAST_IMAGE_DONE:
            // SAFETY: the result's bytes, as many as it says.
            return unsafe Array(UnsafeBufferPointer(start: result.bytes, count: result.count))
        case RECAST_IMAGE_NO_MEMORY: throw .memory
        case RECAST_IMAGE_STOPPED: throw .stopped
        // SAFETY: a literal of the C code.
        default: throw .broken(unsafe String(cString: result.reason))
        }
    }
}

extension ImageRule {
    /// The size that a picture gets: within all bounds, its proportions kept, never larger than it is.
    internal func size(of header: PictureHeader) -> (width: Int, height: Int) {
        var ratio = 1.0
        func bound(_ side: Int, by most: Int?) {
            if let most, side > most { ratio = min(ratio, Double(most) / Double(side)) }
        }
        bound(max(header.width, header.height), by: longestSide)
        bound(header.width, by: width)
        bound(header.height, by: height)
        guard ratio < 1 else { return (header.width, header.height) }
        return (
            max(1, Int((Double(header.width) * ratio).rounded())),
            max(1, Int((Double(header.height) * ratio).rounded()))
        )
    }
}

extension ImageFormat {
    fileprivate var kind: recast_image_kind {
        switch self {
        case .jpeg: RECAST_IMAGE_JPEG
        case .png: RECAST_IMAGE_PNG
        case .webp: RECAST_IMAGE_WEBP
        }
    }
}
