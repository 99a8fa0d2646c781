internal import CZstd
internal import Octets

/// Applies zstd with a window of 512 KiB. It holds about 1.5 MiB.
@safe
final class ZstdEncoder {
    private let level: CodingLevel
    private var context: OpaquePointer?

    private static let windowLog: Int32 = 19

    init(_ level: CodingLevel) {
        self.level = level
    }

    // SAFETY: the context is this object's alone, and is given back once.
    deinit {
        if let context = unsafe context { _ = unsafe ZSTD_freeCCtx(context) }
    }

    // SAFETY: the context is this object's.
    func reset() {
        if let context = unsafe context { _ = unsafe ZSTD_CCtx_reset(context, ZSTD_reset_session_only) }
    }

    // SAFETY: the context is new, and no other code has its address.
    private func open() -> OpaquePointer? {
        if let context = unsafe context { return unsafe context }
        guard let context = unsafe ZSTD_createCCtx() else { return nil }
        _ = unsafe ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level.number(for: .zstd))
        _ = unsafe ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, Self.windowLog)
        // A checksum, so that a body that was damaged on its way isn't taken for good: gzip has one too.
        _ = unsafe ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)
        unsafe self.context = context
        return unsafe context
    }

    /// Appends what `input` becomes. False when the library fails, which only a lack of memory makes it do.
    ///
    /// SAFETY: the library reads and writes within the bounds it is told, and keeps neither address.
    func run(_ input: Span<UInt8>, _ step: ContentEncoder.Step, into output: inout OutputBuffer) -> Bool {
        guard let context = unsafe open() else { return false }
        let directive =
            switch step {
            case .more: ZSTD_e_continue
            case .flush: ZSTD_e_flush
            case .finish: ZSTD_e_end
            }
        var at = 0
        while true {
            let rest = input.extracting(at..<input.count)
            var left = 0
            output.append(upTo: ContentEncoder.pieceSize) { span in
                unsafe span.withUnsafeMutableBufferPointer { target, count in
                    unsafe rest.withUnsafeBufferPointer { source in
                        var from = unsafe ZSTD_inBuffer(src: source.baseAddress, size: source.count, pos: 0)
                        var to = unsafe ZSTD_outBuffer(dst: target.baseAddress, size: ContentEncoder.pieceSize, pos: 0)
                        left = unsafe ZSTD_compressStream2(context, &to, &from, directive)
                        at += unsafe from.pos
                        count = unsafe to.pos
                    }
                }
            }
            guard ZSTD_isError(left) == 0 else { return false }
            // Of a flush or an end `left` says what is still to be written; otherwise it is only advice.
            if at == input.count, step == .more || left == 0 { return true }
        }
    }
}
