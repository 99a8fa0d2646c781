internal import CBrotli
internal import Octets

/// Applies br with a window of 256 KiB. It holds about 1 MiB while a body goes through it; the library can't begin anew with
/// what it has.
@safe
final class BrotliEncoder {
    private let level: CodingLevel
    private var state: OpaquePointer?

    private static let windowBits: UInt32 = 18

    init(_ level: CodingLevel) {
        self.level = level
    }

    // SAFETY: the state is this object's alone, and is given back once.
    deinit {
        if let state = unsafe state { unsafe BrotliEncoderDestroyInstance(state) }
    }

    // SAFETY: as for `deinit`; the address is forgotten.
    func reset() {
        if let state = unsafe state { unsafe BrotliEncoderDestroyInstance(state) }
        unsafe state = nil
    }

    // SAFETY: the state is new, and no other code has its address.
    private func open() -> OpaquePointer? {
        if let state = unsafe state { return unsafe state }
        guard let state = unsafe BrotliEncoderCreateInstance(nil, nil, nil) else { return nil }
        _ = unsafe BrotliEncoderSetParameter(state, BROTLI_PARAM_QUALITY, UInt32(level.number(for: .br)))
        _ = unsafe BrotliEncoderSetParameter(state, BROTLI_PARAM_LGWIN, Self.windowBits)
        unsafe self.state = state
        return unsafe state
    }

    /// Appends what `input` becomes. False when the library fails, which only a lack of memory makes it do.
    ///
    /// SAFETY: the library reads and writes within the bounds it is told, and keeps neither address.
    func run(_ input: Span<UInt8>, _ step: ContentEncoder.Step, into output: inout OutputBuffer) -> Bool {
        guard let state = unsafe open() else { return false }
        let operation =
            switch step {
            case .more: BROTLI_OPERATION_PROCESS
            case .flush: BROTLI_OPERATION_FLUSH
            case .finish: BROTLI_OPERATION_FINISH
            }
        var left = input.count
        while true {
            let rest = input.extracting(input.count - left..<input.count)
            var isFine = false
            output.append(upTo: ContentEncoder.pieceSize) { span in
                unsafe span.withUnsafeMutableBufferPointer { target, count in
                    unsafe rest.withUnsafeBufferPointer { source in
                        var next = source.baseAddress
                        var space = ContentEncoder.pieceSize
                        var place = target.baseAddress
                        isFine =
                            unsafe BrotliEncoderCompressStream(state, operation, &left, &next, &space, &place, nil)
                            != BROTLI_FALSE
                        count = ContentEncoder.pieceSize - space
                    }
                }
            }
            guard isFine else { return false }
            if unsafe BrotliEncoderHasMoreOutput(state) != BROTLI_FALSE || left > 0 { continue }
            return unsafe step != .finish || BrotliEncoderIsFinished(state) != BROTLI_FALSE
        }
    }
}
