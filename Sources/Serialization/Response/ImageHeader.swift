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

/// Numbers out of bytes of unknown count: nil beyond the end.
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

/// Where each format has its width and height.
extension ImageHeader {
    /// PNG §11.2.1: the first chunk is IHDR of 13 bytes, width and height in front.
    internal static func png(_ bytes: ImageBytes) -> Size? {
        guard bytes.number(8, 4, .big) == 13, bytes.has("IHDR", at: 12), let width = bytes.number(16, 4, .big),
            let height = bytes.number(20, 4, .big), width < 1 << 31, height < 1 << 31
        else { return nil }
        return (width, height)
    }

    /// ITU-T T.81 §B: segments up to the first frame header. A height of 0, which a later segment would give, is none.
    internal static func jpeg(_ bytes: ImageBytes) -> Size? {
        var at = 2
        while bytes.byte(at) == 0xFF {
            // Any number of 0xFF may stand in front of a marker.
            while bytes.byte(at) == 0xFF { at += 1 }
            guard let marker = bytes.byte(at) else { return nil }
            at += 1
            switch marker {
            case 0x01, 0xD0...0xD7: continue
            case 0x00, 0xD8, 0xD9, 0xDA: return nil
            case 0xC4, 0xC8, 0xCC: break
            case 0xC0...0xCF:
                guard let length = bytes.number(at, 2, .big), length >= 8, let height = bytes.number(at + 3, 2, .big),
                    let width = bytes.number(at + 5, 2, .big)
                else { return nil }
                return (width, height)
            default: break
            }
            guard let length = bytes.number(at, 2, .big), length >= 2 else { return nil }
            at += length
        }
        return nil
    }

    /// The logical screen of GIF87a and GIF89a.
    internal static func gif(_ bytes: ImageBytes) -> Size? {
        guard let width = bytes.number(6, 2, .little), let height = bytes.number(8, 2, .little) else { return nil }
        return (width, height)
    }

    /// The information header, of 12 bytes with 16-bit sides or of more with signed 32-bit ones; a height below 0 says that
    /// the rows go from top to bottom.
    internal static func bmp(_ bytes: ImageBytes) -> Size? {
        guard let size = bytes.number(14, 4, .little) else { return nil }
        if size == 12 {
            guard let width = bytes.number(18, 2, .little), let height = bytes.number(20, 2, .little) else {
                return nil
            }
            return (width, height)
        }
        guard size >= 16, size <= 256, let width = bytes.number(18, 4, .little),
            let height = bytes.number(22, 4, .little),
            width < 1 << 31
        else { return nil }
        return (width, height < 1 << 31 ? height : 1 << 32 - height)
    }

    /// The directory of an icon; a side of 0 is one of 256 pixels.
    internal static func ico(_ bytes: ImageBytes) -> Size? {
        guard let count = bytes.number(4, 2, .little), count > 0 else { return nil }
        var best: Size?
        for index in 0..<count {
            let entry = 6 + 16 * index
            guard let width = bytes.byte(entry), let height = bytes.byte(entry + 1), bytes.byte(entry + 15) != nil
            else {
                return nil
            }
            let size = (width: width == 0 ? 256 : width, height: height == 0 ? 256 : height)
            if size.width * size.height > best.map({ $0.width * $0.height }) ?? 0 { best = size }
        }
        return best
    }

    /// TIFF 6.0 §2: the first directory's ImageWidth (256) and ImageLength (257), a SHORT or a LONG each.
    internal static func tiff(_ bytes: ImageBytes, _ order: ImageBytes.Order) -> Size? {
        guard let directory = bytes.number(4, 4, order), let count = bytes.number(directory, 2, order) else {
            return nil
        }
        var width: Int?
        var height: Int?
        for index in 0..<count {
            let entry = directory + 2 + 12 * index
            guard let tag = bytes.number(entry, 2, order), let type = bytes.number(entry + 2, 2, order) else {
                return nil
            }
            guard tag == 256 || tag == 257 else { continue }
            guard type == 3 || type == 4, bytes.number(entry + 4, 4, order) == 1,
                let side = bytes.number(entry + 8, type == 3 ? 2 : 4, order)
            else { return nil }
            if tag == 256 { width = side } else { height = side }
        }
        guard let width, let height else { return nil }
        return (width, height)
    }

    /// RFC 9649: the first chunk is VP8 (a key frame's header), VP8L or VP8X.
    internal static func webp(_ bytes: ImageBytes) -> Size? {
        if bytes.has("VP8X", at: 12) {
            guard let width = bytes.number(24, 3, .little), let height = bytes.number(27, 3, .little) else {
                return nil
            }
            return (width + 1, height + 1)
        }
        if bytes.has("VP8L", at: 12) {
            guard bytes.byte(20) == 0x2F, let bits = bytes.number(21, 4, .little) else { return nil }
            return ((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        }
        guard bytes.has("VP8 ", at: 12), bytes.number(23, 3, .big) == 0x9D012A,
            let width = bytes.number(26, 2, .little),
            let height = bytes.number(28, 2, .little)
        else { return nil }
        return (width & 0x3FFF, height & 0x3FFF)
    }
}
