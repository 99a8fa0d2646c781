// The lines of heads, `name: value` and CRLF, each with one look at the room. The names are literals: where these functions
// are inlined, the compiler makes a few stores of each.
extension OutputBuffer {
    /// Appends `bytes` between two texts.
    @inlinable
    @inline(__always)
    public mutating func append(_ before: StaticString, _ bytes: Span<UInt8>, _ after: StaticString) {
        let length = bytes.count
        let (first, last) = (before.utf8CodeUnitCount, after.utf8CodeUnitCount)
        // SAFETY: there is room for all three, and each literal is as long as it says.
        unsafe storage.write(upTo: first &+ length &+ last) { target in
            unsafe ByteStore.copy(before.utf8Start, to: target, count: first)
            unsafe bytes.withUnsafeBufferPointer { source in
                if let base = source.baseAddress { unsafe ByteStore.copy(base, to: target + first, count: length) }
            }
            unsafe ByteStore.copy(after.utf8Start, to: target + first + length, count: last)
            return first &+ length &+ last
        }
    }

    /// Appends the line of a field. The value must hold no line end.
    @inlinable
    @inline(__always)
    public mutating func append(line name: StaticString, _ value: Span<UInt8>) {
        let length = value.count
        let first = name.utf8CodeUnitCount
        // SAFETY: there is room for the name, the value and four bytes, and the name is as long as it says.
        unsafe storage.write(upTo: first &+ length &+ 4) { target in
            unsafe ByteStore.copy(name.utf8Start, to: target, count: first)
            var at = unsafe target + first
            unsafe ByteStore.store(": ", at: at)
            unsafe at += 2
            unsafe value.withUnsafeBufferPointer { source in
                if let base = source.baseAddress { unsafe ByteStore.copy(base, to: at, count: length) }
            }
            unsafe ByteStore.store("\r\n", at: at + length)
            return first &+ length &+ 4
        }
    }

    /// Appends the line of a field whose value is a number.
    @inlinable
    @inline(__always)
    public mutating func append(line name: StaticString, decimal value: Int) {
        let first = name.utf8CodeUnitCount
        // SAFETY: there is room for the name, a sign, the digits of any number and four bytes.
        unsafe storage.write(upTo: first &+ 25) { target in
            unsafe ByteStore.copy(name.utf8Start, to: target, count: first)
            var at = unsafe target + first
            unsafe ByteStore.store(": ", at: at)
            unsafe at += 2
            if value < 0 {
                unsafe at[0] = UInt8(ascii: "-")
                unsafe at += 1
            }
            unsafe at += ByteStore.writeDigits(value.magnitude, radix: 10, to: at)
            unsafe ByteStore.store("\r\n", at: at)
            return unsafe target.distance(to: at) &+ 2
        }
    }
}

extension ByteStore {
    /// Stores the two bytes of `text`.
    @inlinable
    @inline(__always)
    @unsafe
    internal static func store(_ text: StaticString, at target: UnsafeMutablePointer<UInt8>) {
        // SAFETY: the caller has room for two bytes, and gives a literal of two.
        unsafe copy(text.utf8Start, to: target, count: 2)
    }
}
