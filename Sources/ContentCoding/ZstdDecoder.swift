internal import CZstd
internal import Octets

/// Undoes zstd. It holds what the frame's window asks for, at most 8 MiB, and about 300 KiB besides.
@safe
final class ZstdDecoder {
    private var context: OpaquePointer?
    /// Whether the last frame is complete and all of it was written.
    private(set) var isAtEnd = false
    private var header = FrameHeader()
    private var blocks = FrameBlocks()
    /// Whether the last call had no room for more output, of which the library may hold some.
    private var holdsOutput = false
    /// Bytes that the frame has become so far.
    private var written: UInt64 = 0
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
        header = FrameHeader()
        blocks = FrameBlocks()
        holdsOutput = false
        written = 0
        hasFrames = false
        guard let context = unsafe context else { return }
        if unsafe ZSTD_sizeof_DCtx(context) > Self.keptSize {
            _ = unsafe ZSTD_freeDCtx(context)
            unsafe self.context = nil
        } else {
            _ = unsafe ZSTD_DCtx_reset(context, ZSTD_reset_session_only)
        }
    }

    // SAFETY: the context is new, and no other code has its address.
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
            // The header goes first, alone: given a whole frame, the library would take a way of its own through it, which refuses
            // what it takes in pieces.
            let headerCount = try headerCount(of: piece)
            // So do the blocks, each behind what those before it have become: of a call that fails the library doesn't tell what came
            // out in it.
            let isFlush = holdsOutput
            let count = isFlush ? 0 : headerCount > 0 ? headerCount : countOfBlock(in: piece)
            let fed = piece.extracting(0..<count)
            let begun = at
            var result = 0
            output.append(upTo: rest) { span in
                unsafe span.withUnsafeMutableBufferPointer { target, count in
                    unsafe fed.withUnsafeBufferPointer { source in
                        var from = unsafe ZSTD_inBuffer(src: source.baseAddress, size: source.count, pos: 0)
                        var to = unsafe ZSTD_outBuffer(dst: target.baseAddress, size: rest, pos: 0)
                        result = unsafe ZSTD_decompressStream(context, &to, &from)
                        at += unsafe from.pos
                        count = unsafe to.pos
                        written += UInt64(count)
                        holdsOutput = count == rest
                    }
                }
            }
            guard ZSTD_isError(result) == 0 else { throw .malformed(.zstd, Self.fault(result)) }
            isAtEnd = result == 0
            let taken = input.extracting(begun..<at)
            if headerCount > 0 { header.take(taken) } else { blocks.take(taken) }
            guard isAtEnd else {
                if isFlush || at > begun { continue }
                break
            }
            // The library doesn't compare where the last block is empty.
            if let size = header.contentSize, size != written { throw .malformed(.zstd, .damaged) }
            header = FrameHeader()
            blocks = FrameBlocks()
            holdsOutput = false
            written = 0
            hasFrames = true
        } while at < input.count
        return at
    }

    /// The bytes at the front of `piece` that belong to a frame's header. Refuses what doesn't begin as a frame does (RFC 8878
    /// §3.1): the library may have been built to read the formats from before the RFC too, which no sender of `zstd` means;
    /// and it looks at the beginning only once five bytes are there.
    private func headerCount(of piece: Span<UInt8>) throws(CodingError) -> Int {
        var header = header
        let count = header.take(piece)
        if header.isWrong { throw .malformed(.zstd, hasFrames ? .trailing : .damaged) }
        return count
    }

    /// The number of bytes at the front of `piece` that belong to the block, or to the sum behind the last one, that it begins with or in.
    private func countOfBlock(in piece: Span<UInt8>) -> Int {
        guard !header.isSkippable else { return piece.count }
        var blocks = blocks
        return blocks.take(piece)
    }

    private static func fault(_ result: Int) -> CodingError.Fault {
        ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge ? .window : .damaged
    }
}

/// What stands before the blocks of a frame (RFC 8878 §3.1.1), read as it comes.
private struct FrameHeader {
    private static let magic: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]
    /// Of frames that are skipped (§3.1.2); the first byte is any from 0x50 to 0x5F.
    private static let skippableMagic: [UInt8] = [0x50, 0x2A, 0x4D, 0x18]

    private var taken = 0
    private(set) var isSkippable = false
    /// Whether it begins as no frame does.
    private(set) var isWrong = false
    /// Where the size of the content stands.
    private var sizePlace = 0..<0
    private var size: UInt64 = 0

    /// The number of bytes that the frame becomes, where it says so and the header is whole.
    var contentSize: UInt64? {
        guard !isSkippable, !sizePlace.isEmpty, taken >= sizePlace.upperBound else { return nil }
        // A size of two bytes begins where one of one byte ends.
        return sizePlace.count == 2 ? size + 256 : size
    }

    /// Takes what belongs to the header from the front of the next bytes, and returns how many that are.
    @discardableResult
    mutating func take(_ bytes: Span<UInt8>) -> Int {
        var at = 0
        while at < bytes.count, !isWrong, taken <= 4 || !isSkippable && taken < sizePlace.upperBound {
            let byte = bytes[at]
            if taken == 0 { isSkippable = byte & 0xF0 == 0x50 }
            if taken < 4 {
                let magic = isSkippable ? Self.skippableMagic : Self.magic
                isWrong = byte != magic[taken] && !(taken == 0 && isSkippable)
            } else if taken == 4, !isSkippable {
                let isSingleSegment = byte & 0x20 != 0
                let start = 5 + (isSingleSegment ? 0 : 1) + [0, 1, 2, 4][Int(byte & 3)]
                sizePlace = start..<start + [isSingleSegment ? 1 : 0, 2, 4, 8][Int(byte >> 6)]
            } else if sizePlace.contains(taken) {
                size |= UInt64(byte) << UInt64(8 * (taken - sizePlace.lowerBound))
            }
            taken += 1
            at += 1
        }
        return at
    }
}

/// The blocks of a frame and the sum behind them (RFC 8878 §3.1.1), counted as they come.
private struct FrameBlocks {
    /// Of the block's head, 24 bits with the least byte first, what has come.
    private var head: UInt32 = 0
    private var headCount = 0
    /// Bytes of the block, behind its head, that are to come; behind the last one those of the sum, where there is one.
    private var left = 0

    /// Takes bytes from the front of the next ones, to the end of a block that becomes any, and returns how many that are.
    @discardableResult
    mutating func take(_ bytes: Span<UInt8>) -> Int {
        var at = 0
        while at < bytes.count {
            if headCount < 3 {
                head |= UInt32(bytes[at]) << UInt32(8 * headCount)
                headCount += 1
                at += 1
                guard headCount == 3 else { continue }
                // A byte that is repeated stands for all of its block.
                left = head >> 1 & 3 == 1 ? 1 : Int(head >> 3)
            } else {
                let count = min(left, bytes.count - at)
                left -= count
                at += count
            }
            guard left == 0 else { continue }
            let (isLast, isEmpty) = (head & 1 != 0, head >> 3 == 0)
            (head, headCount) = (0, 0)
            if isLast {
                // As a block that isn't the last one and has four bytes.
                (head, headCount, left) = (4 << 3, 3, 4)
            }
            if isLast || !isEmpty { return at }
        }
        return at
    }
}
