internal import CZlib
internal import Octets

/// Undoes gzip and deflate. It holds about 44 KiB, the 32 KiB of DEFLATE's window among them, from the first body on.
@safe
final class InflateDecoder {
    private let coding: Coding
    private let stream: UnsafeMutablePointer<z_stream>
    /// Whether zlib has given the stream its memory.
    private var isOpen = false
    /// Whether the format is known: for deflate the first two bytes decide.
    private var isDecided = false
    /// The first byte of a deflate body while the second hasn't come.
    private var first: UInt8?
    private(set) var isAtEnd = false

    // SAFETY: zlib keeps the address of its stream, so the stream has memory of its own, from here to `deinit`.
    init(_ coding: Coding) {
        self.coding = coding
        unsafe stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
    }

    // SAFETY: the stream is closed once, when it was opened, and freed once; no other code has its address.
    deinit {
        if isOpen { unsafe inflateEnd(stream) }
        unsafe stream.deallocate()
    }

    /// Bytes held: zlib's own sum.
    var heldCount: Int { isOpen ? 44 * 1024 : 0 }

    func reset() {
        isDecided = false
        first = nil
        isAtEnd = false
    }

    /// Begins a stream of the format that `windowBits` names as zlib does.
    ///
    /// SAFETY: the stream's memory is this object's, and initialized; zlib is told its size.
    private func open(_ windowBits: Int32) throws(CodingError) {
        let status =
            if isOpen {
                unsafe inflateReset2(stream, windowBits)
            } else {
                unsafe inflateInit2_(stream, windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
            }
        guard status == Z_OK else { throw .malformed(coding, .damaged) }
        isOpen = true
        isDecided = true
    }

    /// Decodes from `input` into `output`, at most `room` bytes, at least 1. Returns the bytes of input used.
    func run(_ input: Span<UInt8>, into output: inout OutputBuffer, room: Int) throws(CodingError) -> Int {
        var used = 0
        if !isDecided {
            guard !input.isEmpty else { return 0 }
            used = try decide(input)
            guard isDecided else { return used }
        }
        let before = output.count
        repeat {
            if isAtEnd {
                guard used < input.count else { break }
                // RFC 1952 §2.2: members follow each other. What isn't one is damaged, or doesn't belong here.
                guard coding == .gzip else { throw .malformed(coding, .trailing) }
                guard input[used] == 0x1F else { throw .malformed(coding, .trailing) }
                try open(Self.gzipBits)
                isAtEnd = false
            }
            let rest = room - (output.count - before)
            guard rest > 0 else { break }
            let count = try step(input.extracting(used..<input.count), into: &output, room: rest)
            used += count
        } while isAtEnd && used < input.count
        return used
    }

    /// Finds the format. Returns the bytes used: those of `input` that `first` remembers.
    private func decide(_ input: Span<UInt8>) throws(CodingError) -> Int {
        guard coding == .deflate else {
            try open(Self.gzipBits)
            return 0
        }
        var scratch = OutputBuffer()
        if let first {
            try open(Self.looksLikeZlib(first, input[0]) ? Self.zlibBits : Self.rawBits)
            // Two bytes of header or one of data make no output, so the room doesn't matter.
            _ = try step([first].span, into: &scratch, room: 64)
        } else if input.count == 1 {
            first = input[0]
            return 1
        } else {
            try open(Self.looksLikeZlib(input[0], input[1]) ? Self.zlibBits : Self.rawBits)
        }
        return 0
    }

    // SAFETY: zlib reads and writes within the bounds it is told, and keeps neither address: both are replaced before each
    // call. It doesn't write to its input.
    private func step(_ input: Span<UInt8>, into output: inout OutputBuffer, room: Int) throws(CodingError) -> Int {
        var status = Z_OK
        var used = 0
        output.append(upTo: room) { span in
            unsafe span.withUnsafeMutableBufferPointer { target, count in
                unsafe input.withUnsafeBufferPointer { source in
                    unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: source.baseAddress)
                    unsafe stream.pointee.avail_in = UInt32(source.count)
                    unsafe stream.pointee.next_out = target.baseAddress
                    unsafe stream.pointee.avail_out = UInt32(room)
                    status = unsafe inflate(stream, Z_NO_FLUSH)
                    used = unsafe source.count - Int(stream.pointee.avail_in)
                    count = unsafe room - Int(stream.pointee.avail_out)
                }
            }
        }
        switch status {
        case Z_STREAM_END: isAtEnd = true
        // Z_BUF_ERROR: nothing to do without more input.
        case Z_OK, Z_BUF_ERROR: break
        default: throw .malformed(coding, .damaged)
        }
        return used
    }

    /// Whether these are the two bytes that a zlib stream begins with (RFC 1950 §2.2). DEFLATE data whose first block is
    /// stored could have them only with padding that isn't 0.
    private static func looksLikeZlib(_ first: UInt8, _ second: UInt8) -> Bool {
        first & 0x0F == 8 && first >> 4 <= 7 && (Int(first) << 8 | Int(second)) % 31 == 0
    }

    private static let gzipBits: Int32 = 15 + 16
    private static let zlibBits: Int32 = 15
    private static let rawBits: Int32 = -15
}
