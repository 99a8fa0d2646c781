internal import Transcoding

/// An image that was not decoded: its bytes, and what its header says of it.
public struct ImageHeader: Hashable, Sendable {
    /// A format whose header can be read.
    public enum Format: String, Hashable, Sendable, CaseIterable {
        /// A format by the bytes that its files begin with.
        case png, jpeg, gif, bmp, ico, tiff, webp

        /// The media type of the format.
        public var mediaType: String {
            switch self {
            case .ico: "image/vnd.microsoft.icon"
            default: "image/" + rawValue
            }
        }
    }

    /// What the bytes say, whatever the Content-Type says.
    public let format: Format
    /// The width in pixels, at least 1. Of an icon, that of its largest picture; of a TIFF file, of its first.
    public let width: Int
    /// The height in pixels, at least 1.
    public let height: Int
    /// The whole image.
    public let bytes: [UInt8]

    /// Reads the header at the start of `bytes`; nil where there is none of these formats, where it is cut off, or where a
    /// side has no pixels. Whatever else is wrong with the image isn't noticed.
    ///
    /// Time is linear in the bytes before the header's end; nothing is allocated.
    public init?(_ bytes: [UInt8]) {
        guard let (format, size) = Self.read(ImageBytes(bytes: bytes)), size.width > 0, size.height > 0 else {
            return nil
        }
        self.format = format
        (width, height) = size
        self.bytes = bytes
    }

    internal typealias Size = (width: Int, height: Int)

    private static func read(_ bytes: ImageBytes) -> (Format, Size)? {
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            return png(bytes).map { (.png, $0) }
        }
        if bytes.starts(with: [0xFF, 0xD8]) { return jpeg(bytes).map { (.jpeg, $0) } }
        if bytes.starts(with: "GIF87a") || bytes.starts(with: "GIF89a") { return gif(bytes).map { (.gif, $0) } }
        if bytes.starts(with: "BM") { return bmp(bytes).map { (.bmp, $0) } }
        if bytes.starts(with: [0, 0, 1, 0]) { return ico(bytes).map { (.ico, $0) } }
        if bytes.starts(with: [0x49, 0x49, 42, 0]) { return tiff(bytes, .little).map { (.tiff, $0) } }
        if bytes.starts(with: [0x4D, 0x4D, 0, 42]) { return tiff(bytes, .big).map { (.tiff, $0) } }
        if bytes.starts(with: "RIFF"), bytes.has("WEBP", at: 8) { return webp(bytes).map { (.webp, $0) } }
        return nil
    }
}

/// Numbers out of bytes of which nobody knows how many there are: nil beyond the end.
internal struct ImageBytes {
    internal enum Order {
        case little, big
    }

    internal let bytes: [UInt8]

    internal func starts(with prefix: [UInt8]) -> Bool { bytes.starts(with: prefix) }
    internal func starts(with prefix: String) -> Bool { bytes.starts(with: prefix.utf8) }

    internal func has(_ text: String, at index: Int) -> Bool {
        index <= bytes.count && bytes[index...].starts(with: text.utf8)
    }

    internal func byte(_ index: Int) -> Int? {
        index >= 0 && index < bytes.count ? Int(bytes[index]) : nil
    }

    /// The unsigned number of `count` bytes, at most four, at `index`.
    internal func number(_ index: Int, _ count: Int, _ order: Order) -> Int? {
        guard index >= 0, index <= bytes.count - count else { return nil }
        var value = 0
        for at in 0..<count {
            value = value << 8 | Int(bytes[order == .big ? index + at : index + count - 1 - at])
        }
        return value
    }
}
