internal import COctets

/// Names and values of fields, read and written sixteen bytes at a time by a loop that has seen to the bounds itself.
///
/// Every function reads or writes whole blocks: which bytes must be there is said at each.
public enum FieldText {
    /// The bytes of a block that may be written behind the last one that counts.
    public static var overhang: Int { 16 }

    /// What each byte becomes in a form (WHATWG URL §5.2): its bytes, lowest first, and their number in the highest eight
    /// bits. For `spaces: percent`.
    public static let percentTable = makeTable(keeping: .formUnescaped, plusForSpace: false)

    /// What each byte becomes where those of `kept` stand for themselves, which letters, digits, `-`, `.` and `_` must be
    /// among: the loops don't look them up.
    public static func makeTable(keeping kept: ByteSet, plusForSpace: Bool) -> [UInt32] {
        (UInt8.min...UInt8.max).map { byte in
            if kept.contains(byte) { return UInt32(byte) | 1 << 24 }
            if byte == ASCII.space && plusForSpace { return UInt32(UInt8(ascii: "+")) | 1 << 24 }
            let digits = UInt32(ASCII.upperHexDigit(byte >> 4)) | UInt32(ASCII.upperHexDigit(byte & 15)) << 8
            return UInt32(UInt8(ascii: "%")) | digits << 8 | 3 << 24
        }
    }

    /// A run at the beginning of a block of sixteen bytes, and the block's bytes with zeros behind the run.
    @frozen
    public struct Run {
        public var count: Int
        public var first: UInt64
        public var last: UInt64

        @inlinable
        internal init(count: Int, first: UInt64, last: UInt64) {
            self.count = count
            self.first = first
            self.last = last
        }
    }

    /// The letters, digits and `-`, `.` and `_` that the sixteen bytes at `source` begin with: bytes that stand for themselves
    /// wherever the name of a field does.
    @inlinable
    @inline(__always)
    @unsafe
    public static func plainRun(_ source: UnsafeRawPointer) -> Run {
        // SAFETY: the caller has sixteen bytes. Both vectors have the same size.
        let block = unsafe source.loadUnaligned(as: SIMD16<UInt8>.self)
        let words = unsafe unsafeBitCast(block, to: SIMD2<UInt64>.self)
        let length = plainLength(block)
        let (first, last) = (UInt64(littleEndian: words[0]), UInt64(littleEndian: words[1]))
        if length >= 8 {
            // Two shifts, since one by 64 would be none.
            let rest = UInt64(truncatingIfNeeded: (length &- 8) &* 4)
            let mask: UInt64 = ~((UInt64.max &<< rest) &<< rest)
            return Run(count: length, first: first, last: last & mask)
        }
        let mask: UInt64 = (1 &<< UInt64(truncatingIfNeeded: length &* 8)) &- 1
        return Run(count: length, first: first & mask, last: 0)
    }

    /// The bytes at the beginning of the block that are letters, digits, `-`, `.` or `_`.
    @inlinable
    @inline(__always)
    internal static func plainLength(_ block: SIMD16<UInt8>) -> Int {
        // Each comparison has its types written down: inferred ones choose the generic operators, which are loops.
        let lower = block | SIMD16<UInt8>(repeating: 0x20)
        let letters = (lower &- SIMD16<UInt8>(repeating: 0x61)) .< SIMD16<UInt8>(repeating: 26)
        let digits = (block &- SIMD16<UInt8>(repeating: 0x30)) .< SIMD16<UInt8>(repeating: 10)
        let dashes = (block &- SIMD16<UInt8>(repeating: 0x2D)) .< SIMD16<UInt8>(repeating: 2)
        let lines = block .== SIMD16<UInt8>(repeating: 0x5F)
        let kept = letters .| digits .| dashes .| lines
        // SAFETY: a mask has the size of its vector.
        let marks = unsafe unsafeBitCast(kept, to: SIMD2<UInt64>.self)
        return markedLength(~marks)
    }

    /// Where the text of a JSON string ends that begins at `start`: at `"`, `\` or a byte below 0x20. `bits` has the bits of
    /// all bytes before joined, and perhaps those of others. -1 where there is no such byte in the whole blocks before `end`.
    ///
    /// Unsafe: `source` must hold `end` bytes.
    @inlinable
    @inline(__always)
    @unsafe
    public static func textEnd(
        _ source: UnsafeRawPointer, from start: Int, to end: Int, bits: inout UInt64
    ) -> Int {
        var at = start
        var seen: UInt64 = 0
        // SAFETY: sixteen bytes are loaded only where they lie before `end`. A mask has the size of its vector.
        while at &+ 16 <= end {
            let block = unsafe source.loadUnaligned(fromByteOffset: at, as: SIMD16<UInt8>.self)
            let quotes = block .== SIMD16<UInt8>(repeating: 0x22)
            let backslashes = block .== SIMD16<UInt8>(repeating: 0x5C)
            let controls = block .< SIMD16<UInt8>(repeating: 0x20)
            let stops = quotes .| backslashes .| controls
            let length = unsafe markedLength(unsafeBitCast(stops, to: SIMD2<UInt64>.self))
            let words = unsafe unsafeBitCast(block, to: SIMD2<UInt64>.self)
            if length < 16 {
                bits = seen | joinedBits(words, length)
                return at &+ length
            }
            seen |= words[0] | words[1]
            at &+= 16
        }
        return -1
    }

    /// Writes the text of a JSON string that begins at `start` as `table` says, in blocks where the processor can. Returns the
    /// number of bytes taken, perhaps none, and of those written. It stops before `"`, `\`, a byte below 0x20 or from 0x80 on,
    /// and some way before the end of the text or of the room: what is there says which.
    ///
    /// Unsafe: `source` must hold `end` bytes, and `target` have room for `room`. The table is one of `makeTable`.
    @unsafe
    public static func encodeRun(
        _ source: UnsafeRawPointer, from start: Int, to end: Int, into target: UnsafeMutableRawPointer, room: Int,
        table: UnsafePointer<UInt32>
    ) -> (taken: Int, written: Int) {
        guard room > 0, end > start else { return (0, 0) }
        var written = 0
        // SAFETY: as the caller promises; the loop keeps to both counts.
        let taken = unsafe recast_form_text(
            (source + start).assumingMemoryBound(to: UInt8.self), end &- start,
            target.assumingMemoryBound(to: UInt8.self), room, table, &written)
        return (taken, written)
    }

    /// Copies `count` bytes in whole blocks.
    ///
    /// Unsafe: `source` must hold, and `target` have room for, `count` bytes and fifteen more.
    @inlinable
    @inline(__always)
    @unsafe
    public static func copy(_ source: UnsafeRawPointer, _ count: Int, to target: UnsafeMutableRawPointer) {
        var at = 0
        // SAFETY: a block begins before the count, so it ends at most fifteen bytes behind it.
        repeat {
            let block = unsafe source.loadUnaligned(fromByteOffset: at, as: SIMD16<UInt8>.self)
            unsafe target.storeBytes(of: block, toByteOffset: at, as: SIMD16<UInt8>.self)
            at &+= 16
        } while at < count
    }

    /// Writes `count` bytes as the table says, and returns the number of bytes written.
    ///
    /// Unsafe: `source` must hold the bytes, of which whole blocks are read where they lie before `readable`, and `target` have
    /// room for three bytes for each and `overhang` more. The table is one of `makeTable`.
    @inlinable
    @inline(__always)
    @unsafe
    public static func encode(
        _ source: UnsafeRawPointer, _ count: Int, readable: Int, to target: UnsafeMutableRawPointer,
        table: UnsafePointer<UInt32>
    ) -> Int {
        var at = 0
        var to = 0
        // SAFETY: as the caller promises; a byte is an index of the table's 256 words. Four bytes are written for one that
        // becomes three at most.
        while at < count {
            var end = count
            if at &+ 16 <= readable {
                let block = unsafe source.loadUnaligned(fromByteOffset: at, as: SIMD16<UInt8>.self)
                unsafe target.storeBytes(of: block, toByteOffset: to, as: SIMD16<UInt8>.self)
                let length = plainLength(block)
                if length >= count &- at { return to &+ count &- at }
                end = min(count, at &+ 16)
                at &+= length
                to &+= length
            }
            // Byte by byte to the end of the block: where one byte is escaped, as a space is, the next one isn't far.
            while at < end {
                let byte = unsafe source.load(fromByteOffset: at, as: UInt8.self)
                let entry = unsafe table[Int(byte)]
                unsafe target.storeBytes(of: entry.littleEndian, toByteOffset: to, as: UInt32.self)
                to &+= Int(entry &>> 24)
                at &+= 1
            }
        }
        return to
    }
}

extension OutputBuffer {
    /// Appends what `body` writes into the room that there is, of at least `least` bytes, and returns the number of.
    ///
    /// Unsafe: `body` gets the address of the room and its size, and may write nowhere else.
    @inlinable
    @inline(__always)
    @unsafe
    public mutating func fill(atLeast least: Int, _ body: (UnsafeMutablePointer<UInt8>, Int) -> Int) {
        reserve(least)
        let room = storage.capacity &- storage.count
        // SAFETY: the caller's promise is that of `write`.
        unsafe storage.write(upTo: room) { target in unsafe body(target, room) }
    }
}
