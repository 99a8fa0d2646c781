internal import CBrotli
internal import Octets

/// Undoes br. It holds the window of the body's choice, at most 16 MiB as large windows are not read, and some tables, from a
/// body's first byte to its end: the library can't begin anew with what it has.
@safe
final class BrotliDecoder {
    private var state: OpaquePointer?
    /// What the state has allocated.
    private let memory: UnsafeMutablePointer<recast_brotli_memory>
    private(set) var isAtEnd = false

    // SAFETY: the state keeps the address of its counts, so they have memory of their own, from here to `deinit`.
    init() {
        unsafe memory = .allocate(capacity: 1)
        unsafe memory.initialize(to: recast_brotli_memory())
    }

    // SAFETY: the state is this object's alone, and is given back once, before its counts.
    deinit {
        if let state = unsafe state { unsafe BrotliDecoderDestroyInstance(state) }
        unsafe memory.deallocate()
    }

    /// Bytes held once `written` have come out. Of a window only what was written to: the system gives no memory for the rest,
    /// and four bytes can ask for 16 MiB.
    ///
    /// SAFETY: the counts are this object's.
    func heldCount(after written: Int) -> Int {
        let (all, largest) = unsafe (memory.pointee.all, memory.pointee.largest)
        return all - largest + min(largest, written)
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
        if unsafe state == nil { unsafe state = recast_brotli_decoder(memory) }
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
