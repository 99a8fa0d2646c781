/// Writes texts as JSON holds them inside of a string (RFC 8259 §7): `"`, `\` and what is below 0x20 escaped, in the short way
/// where there is one, and all else as it is.
public enum TextEncoding {
    /// The bytes that one byte becomes at most.
    public static var longest: Int { 6 }
    /// The bytes that are written behind the last one that counts, at most.
    public static var overhang: Int { 16 }

    /// Writes the bytes from `start` to before `end` of `room` to `target`, and returns the number of bytes written.
    ///
    /// Sixteen bytes are looked at and copied in one step, which may lie behind `end` but not behind the room.
    ///
    /// Unsafe: `end` must lie within the room, and at `target` there must be place for `longest` bytes for each and
    /// `overhang` more.
    @inlinable
    @inline(__always)
    @unsafe
    public static func escape(
        _ room: UnsafeRawBufferPointer, from start: Int, to end: Int, into target: UnsafeMutableRawPointer
    ) -> Int {
        var at = start
        var to = 0
        // SAFETY: sixteen bytes are loaded only where they lie in the room, and single ones below `end`. The caller has
        // made place for what is written, of which a block's sixteen bytes begin where no more than that was written.
        while at &+ 16 <= room.count {
            let block = unsafe room.loadUnaligned(fromByteOffset: at, as: SIMD16<UInt8>.self)
            unsafe target.storeBytes(of: block, toByteOffset: to, as: SIMD16<UInt8>.self)
            // Each comparison has its types written down: inferred ones choose the generic operators, which are loops.
            let quotes = block .== SIMD16<UInt8>(repeating: 0x22)
            let backslashes = block .== SIMD16<UInt8>(repeating: 0x5C)
            let controls = block .< SIMD16<UInt8>(repeating: 0x20)
            let stops = quotes .| backslashes .| controls
            let length = unsafe markedLength(unsafeBitCast(stops, to: SIMD2<UInt64>.self))
            let rest = end &- at
            if length >= rest { return to &+ rest }
            at &+= length
            to &+= length
            guard length < 16 else { continue }
            to &+= unsafe write(escapeOf: room[at], to: target + to)
            at &+= 1
        }
        while at < end {
            let byte = unsafe room[at]
            if byte < 0x20 || byte == 0x22 || byte == 0x5C {
                to &+= unsafe write(escapeOf: byte, to: target + to)
            } else {
                unsafe target.storeBytes(of: byte, toByteOffset: to, as: UInt8.self)
                to &+= 1
            }
            at &+= 1
        }
        return to
    }

    /// Writes the escape of a byte that needs one, and returns the number of its bytes. There is place for eight.
    @usableFromInline
    @inline(never)
    @unsafe
    internal static func write(escapeOf byte: UInt8, to target: UnsafeMutableRawPointer) -> Int {
        let letter: UInt8
        switch byte {
        case 0x22, 0x5C: letter = byte
        case 0x08: letter = UInt8(ascii: "b")
        case 0x09: letter = UInt8(ascii: "t")
        case 0x0A: letter = UInt8(ascii: "n")
        case 0x0C: letter = UInt8(ascii: "f")
        case 0x0D: letter = UInt8(ascii: "r")
        default: letter = 0
        }
        // SAFETY: the caller has place for eight bytes.
        if letter != 0 {
            unsafe target.storeBytes(of: (0x5C | UInt16(letter) << 8).littleEndian, as: UInt16.self)
            return 2
        }
        // `\u00` and two digits.
        let digits = UInt64(ASCII.lowerHexDigit(byte >> 4)) | UInt64(ASCII.lowerHexDigit(byte & 15)) << 8
        unsafe target.storeBytes(of: (0x3030_755C | digits << 32).littleEndian, as: UInt64.self)
        return 6
    }
}
