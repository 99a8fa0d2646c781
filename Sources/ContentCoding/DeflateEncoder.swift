internal import CZlib
internal import Octets

/// Applies gzip and deflate. It holds about 268 KiB (zlib's own sum for a 32 KiB window).
@safe
final class DeflateEncoder {
    private let stream: UnsafeMutablePointer<z_stream>
    private let isOpen: Bool

    // SAFETY: zlib keeps the address of its stream, so the stream has memory of its own, from here to `deinit`.
    init(_ coding: Coding, _ level: CodingLevel) {
        unsafe stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        let windowBits: Int32 = coding == .gzip ? 15 + 16 : 15
        let status = unsafe deflateInit2_(
            stream, level.number(for: coding), Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size))
        isOpen = status == Z_OK
    }

    // SAFETY: the stream is closed once, when it was opened, and freed once; no other code has its address.
    deinit {
        if isOpen { unsafe deflateEnd(stream) }
        unsafe stream.deallocate()
    }

    // SAFETY: the stream is open, and this object's.
    func reset() {
        if isOpen { unsafe deflateReset(stream) }
    }

    /// Appends what `input` becomes. False when the library fails, which only a lack of memory makes it do.
    ///
    /// SAFETY: zlib reads and writes within the bounds it is told, and keeps neither address: both are replaced before each
    /// call. It doesn't write to its input.
    func run(_ input: Span<UInt8>, _ step: ContentEncoder.Step, into output: inout OutputBuffer) -> Bool {
        guard isOpen else { return false }
        let mode: Int32 =
            switch step {
            case .more: Z_NO_FLUSH
            case .flush: Z_SYNC_FLUSH
            case .finish: Z_FINISH
            }
        var used = 0
        while true {
            let rest = input.extracting(used..<input.count)
            var status = Z_OK
            var isFull = false
            output.append(upTo: ContentEncoder.pieceSize) { span in
                unsafe span.withUnsafeMutableBufferPointer { target, count in
                    unsafe rest.withUnsafeBufferPointer { source in
                        unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: source.baseAddress)
                        unsafe stream.pointee.avail_in = UInt32(source.count)
                        unsafe stream.pointee.next_out = target.baseAddress
                        unsafe stream.pointee.avail_out = UInt32(ContentEncoder.pieceSize)
                        status = unsafe deflate(stream, mode)
                        used += unsafe source.count - Int(stream.pointee.avail_in)
                        count = unsafe ContentEncoder.pieceSize - Int(stream.pointee.avail_out)
                        isFull = count == ContentEncoder.pieceSize
                    }
                }
            }
            switch status {
            case Z_STREAM_END: return true
            // Z_BUF_ERROR: the last piece was filled to its end by chance, and nothing is left.
            case Z_OK, Z_BUF_ERROR: if !isFull { return step != .finish && used == input.count }
            default: return false
            }
        }
    }
}
