internal import CBrotli
internal import Octets

/// Undoes br. It holds the window of the body's choice, at most 16 MiB, and some tables, from a body's first byte to its
/// end: the library can't begin anew with what it has.
@safe
final class BrotliDecoder {
    private var state: OpaquePointer?
    private(set) var isAtEnd = false

    // SAFETY: the state is this object's alone, and is given back once.
    deinit {
        if let state = unsafe state { unsafe BrotliDecoderDestroyInstance(state) }
    }

    // SAFETY: as for `deinit`; the address is forgotten.
    func reset() {
        if let state = unsafe state { unsafe BrotliDecoderDestroyInstance(state) }
        unsafe state = nil
        isAtEnd = false
    }

    /// Decodes from `input` into `output`, at most `room` bytes, at least 1. Returns the bytes of input used.
    ///
    /// SAFETY: the library reads and writes within the bounds it is told, and keeps neither address.
    func run(_ input: Span<UInt8>, into output: inout OutputBuffer, room: Int) throws(CodingError) -> Int {
        if isAtEnd {
            guard input.isEmpty else { throw .malformed(.br, .trailing) }
            return 0
        }
        if unsafe state == nil { unsafe state = BrotliDecoderCreateInstance(nil, nil, nil) }
        guard let state = unsafe state else { throw .malformed(.br, .damaged) }
        var result = BROTLI_DECODER_RESULT_ERROR
        var left = input.count
        output.append(upTo: room) { span in
            unsafe span.withUnsafeMutableBufferPointer { target, count in
                unsafe input.withUnsafeBufferPointer { source in
                    var next = source.baseAddress
                    var space = room
                    var place = target.baseAddress
                    result = unsafe BrotliDecoderDecompressStream(state, &left, &next, &space, &place, nil)
                    count = room - space
                }
            }
        }
        switch result {
        case BROTLI_DECODER_RESULT_SUCCESS:
            isAtEnd = true
            guard left == 0 else { throw .malformed(.br, .trailing) }
        case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT, BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT: break
        default: throw .malformed(.br, .damaged)
        }
        return input.count - left
    }
}
