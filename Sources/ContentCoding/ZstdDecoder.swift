internal import CZstd
internal import Octets

/// Undoes zstd. It holds what the frame's window asks for, at most 8 MiB, and about 300 KiB besides.
@safe
final class ZstdDecoder {
    private var context: OpaquePointer?
    /// Whether the last frame is complete and all of it was written.
    private(set) var isAtEnd = false
    /// Bytes of the frame that were taken, the first four of which say what it is; no more are counted.
    private var frameStart = 0
    private var isSkippable = false
    private var hasFrames = false

    /// The largest window, as a power of two: 8 MiB, which is what RFC 9659 lets senders use.
    private static let windowLog: Int32 = 23
    /// Bytes that a decoder may keep between two bodies.
    private static let keptSize = 384 * 1024

    // SAFETY: the context is this object's alone, and is given back once.
    deinit {
        if let context = unsafe context { _ = unsafe ZSTD_freeDCtx(context) }
    }

    /// Bytes held once `written` have come out. Of a large window only what was written to, as the system gives no memory for
    /// the rest.
    ///
    /// SAFETY: the context is this object's.
    func heldCount(after written: Int) -> Int {
        guard let context = unsafe context else { return 0 }
        return min(unsafe ZSTD_sizeof_DCtx(context), Self.keptSize + written)
    }

    // SAFETY: as for `deinit`; the address of a context that is given back is forgotten.
    func reset() {
        isAtEnd = false
        frameStart = 0
        hasFrames = false
        guard let context = unsafe context else { return }
        if unsafe ZSTD_sizeof_DCtx(context) > Self.keptSize {
            _ = unsafe ZSTD_freeDCtx(context)
            unsafe self.context = nil
        } else {
            _ = unsafe ZSTD_DCtx_reset(context, ZSTD_reset_session_only)
        }
    }

    // SAFETY: the context is new, and nobody else has its address.
    private func open() throws(CodingError) -> OpaquePointer {
        if let context = unsafe context { return unsafe context }
        guard let context = unsafe ZSTD_createDCtx() else { throw .malformed(.zstd, .damaged) }
        _ = unsafe ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, Self.windowLog)
        unsafe self.context = context
        return unsafe context
    }

    /// Decodes from `input` into `output`, at most `room` bytes, at least 1. Returns the bytes of input used.
    ///
    /// SAFETY: the library reads and writes within the bounds it is told, and keeps neither address.
    func run(_ input: Span<UInt8>, into output: inout OutputBuffer, room: Int) throws(CodingError) -> Int {
        var at = 0
        let before = output.count
        // Each call stops at the end of a frame; frames that follow each other are one body (RFC 8878 §3.1).
        repeat {
            // Asked without input, a finished decoder would say that it waits for the next frame.
            if isAtEnd, at == input.count { break }
            let rest = room - (output.count - before)
            guard rest > 0 else { break }
            let context = unsafe try open()
            let piece = input.extracting(at..<input.count)
            try checkStart(piece)
            let begun = at
            var result = 0
            output.append(upTo: rest) { span in
                unsafe span.withUnsafeMutableBufferPointer { target, count in
                    unsafe piece.withUnsafeBufferPointer { source in
                        var from = unsafe ZSTD_inBuffer(src: source.baseAddress, size: source.count, pos: 0)
                        var to = unsafe ZSTD_outBuffer(dst: target.baseAddress, size: rest, pos: 0)
                        result = unsafe ZSTD_decompressStream(context, &to, &from)
                        at += unsafe from.pos
                        count = unsafe to.pos
                    }
                }
            }
            guard ZSTD_isError(result) == 0 else { throw .malformed(.zstd, Self.fault(result)) }
            isAtEnd = result == 0
            frameStart = isAtEnd ? 0 : min(Self.magicSize, frameStart + at - begun)
            hasFrames = hasFrames || isAtEnd
        } while isAtEnd && at < input.count
        return at
    }

    private static let magicSize = 4
    private static let frameMagic: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]
    /// Of frames that are skipped; the first byte is any from 0x50 to 0x5F.
    private static let skippableMagic: [UInt8] = [0x50, 0x2A, 0x4D, 0x18]

    /// Refuses what doesn't begin as a frame does (RFC 8878 §3.1). The library may have been built to read the formats from before
    /// the RFC too, which nobody who sends `zstd` means; and it looks at the beginning only once five bytes are there.
    private func checkStart(_ piece: Span<UInt8>) throws(CodingError) {
        var index = frameStart
        var at = 0
        while index < Self.magicSize, at < piece.count {
            let byte = piece[at]
            if index == 0 { isSkippable = byte & 0xF0 == 0x50 }
            let magic = isSkippable ? Self.skippableMagic : Self.frameMagic
            guard byte == magic[index] || index == 0 && isSkippable else {
                throw .malformed(.zstd, hasFrames ? .trailing : .damaged)
            }
            index += 1
            at += 1
        }
    }

    private static func fault(_ result: Int) -> CodingError.Fault {
        ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge ? .window : .damaged
    }
}
