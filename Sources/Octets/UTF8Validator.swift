/// Checks that bytes are UTF-8 (RFC 3629) wherever they are cut: no overlong forms, no surrogates, nothing above U+10FFFF.
public struct UTF8Validator: Sendable {
    /// Continuation bytes that are still owed.
    @usableFromInline internal var owed: UInt8 = 0
    /// The range that the next continuation byte must lie in.
    @usableFromInline internal var low: UInt8 = 0x80
    @usableFromInline internal var high: UInt8 = 0xBF

    @inlinable public init() {}

    /// Whether the bytes so far end between two characters.
    @inlinable public var isComplete: Bool { owed == 0 }

    /// Takes the next bytes. Returns nil when they are fine, else the index of the first byte that can't be part of UTF-8.
    @inlinable
    public mutating func check(_ bytes: Span<UInt8>) -> Int? {
        if owed == 0, Self.isASCII(bytes) { return nil }
        return checkEach(bytes)
    }

    /// Takes what was begun byte by byte, then whole characters at the speed of words, and the rest byte by byte again: so
    /// that rest, which is where a fault stands or the bytes end, is what the index comes from.
    @usableFromInline
    internal mutating func checkEach(_ bytes: Span<UInt8>) -> Int? {
        var at = 0
        while owed > 0, at < bytes.count {
            guard step(bytes[at]) else { return at }
            at &+= 1
        }
        at = Self.skipCharacters(bytes, from: at)
        while at < bytes.count {
            guard step(bytes[at]) else { return at }
            at &+= 1
        }
        return nil
    }

    /// Takes one byte. Returns whether it goes on with UTF-8.
    @inline(__always)
    private mutating func step(_ byte: UInt8) -> Bool {
        if owed > 0 {
            guard byte >= low && byte <= high else { return false }
            low = 0x80
            high = 0xBF
            owed &-= 1
            return true
        }
        switch byte {
        case 0x00...0x7F: break
        case 0xC2...0xDF: owed = 1
        case 0xE0: (owed, low) = (2, 0xA0)
        case 0xE1...0xEC, 0xEE, 0xEF: owed = 2
        case 0xED: (owed, high) = (2, 0x9F)
        case 0xF0: (owed, low) = (3, 0x90)
        case 0xF1...0xF3: owed = 3
        case 0xF4: (owed, high) = (3, 0x8F)
        default: return false
        }
        return true
    }

    /// Whether no byte is above 0x7F. Long runs are left at the first sixteen bytes that hold such a one.
    @inlinable
    internal static func isASCII(_ bytes: Span<UInt8>) -> Bool {
        // SAFETY: words are loaded only where they lie inside 0..<count.
        unsafe bytes.withUnsafeBufferPointer { buffer in
            let raw = UnsafeRawBufferPointer(buffer)
            let count = raw.count
            let high: UInt64 = 0x8080_8080_8080_8080
            guard count >= 8 else {
                var seen: UInt8 = 0
                for index in 0..<count { seen |= unsafe raw[index] }
                return seen < 0x80
            }
            var at = 0
            while at &+ 16 <= count {
                let first = unsafe raw.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                let second = unsafe raw.loadUnaligned(fromByteOffset: at &+ 8, as: UInt64.self)
                if (first | second) & high != 0 { return false }
                at &+= 16
            }
            if at &+ 8 < count, unsafe raw.loadUnaligned(fromByteOffset: at, as: UInt64.self) & high != 0 {
                return false
            }
            return unsafe raw.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self) & high == 0
        }
    }

    /// The first index at or after `start` whose byte is not ASCII, or the count.
    @usableFromInline
    internal static func skipASCII(_ bytes: Span<UInt8>, from start: Int) -> Int {
        // SAFETY: eight bytes are loaded only while at + 8 <= count.
        unsafe bytes.withUnsafeBufferPointer { buffer in
            let raw = UnsafeRawBufferPointer(buffer)
            var at = start
            while at &+ 8 <= raw.count {
                let word = unsafe raw.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                let marks = word & 0x8080_8080_8080_8080
                if marks != 0 { return at &+ marks.trailingZeroBitCount / 8 }
                at &+= 8
            }
            while at < raw.count, unsafe raw[at] < 0x80 { at &+= 1 }
            return at
        }
    }

    /// Whether `bytes` as a whole are UTF-8.
    @inlinable
    public static func isValid(_ bytes: Span<UInt8>) -> Bool {
        var validator = UTF8Validator()
        return validator.check(bytes) == nil && validator.isComplete
    }
}
