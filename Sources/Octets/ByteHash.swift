/// A keyed hash of bytes, for tables of names that come from outside: who doesn't know the key can't make names collide.
///
/// Eight bytes at a time are mixed by a multiplication to 128 bits; up to sixteen, as most names have, by one for all of
/// them. It is no cryptographic hash.
public struct ByteHash: Sendable {
    @usableFromInline internal let seed: UInt64
    @usableFromInline internal let multiplier: UInt64

    /// A hash with a random key.
    public init() {
        seed = .random(in: .min ... .max)
        multiplier = .random(in: .min ... .max) | 1
    }

    @inlinable
    internal func mix(_ state: UInt64, _ word: UInt64) -> UInt64 {
        let product = (state ^ word).multipliedFullWidth(by: multiplier)
        return product.high ^ product.low
    }

    /// What the hash is made with, for loops in C, which make the same one.
    @inlinable package var key: (seed: UInt64, multiplier: UInt64) { (seed, multiplier) }

    /// The hash of `bytes`, joined with `salt`.
    @inlinable
    @inline(__always)
    public func callAsFunction(_ bytes: Span<UInt8>, salt: Int = 0) -> UInt64 {
        guard bytes.count <= 16 else { return long(bytes, salt: salt) }
        let words = Scan.edges(of: bytes)
        // The count tells the bytes from the spaces that `edges` adds, and names apart whose words are the same.
        let state = seed ^ UInt64(truncatingIfNeeded: salt &<< 8 ^ bytes.count)
        let product = (words.0 ^ state).multipliedFullWidth(by: words.1 ^ multiplier)
        return mix(product.high ^ product.low, state)
    }

    /// The hash of two words, joined with `salt`.
    @inlinable
    @inline(__always)
    public func callAsFunction(_ first: UInt64, _ second: UInt64, salt: Int = 0) -> UInt64 {
        let state = seed ^ UInt64(truncatingIfNeeded: salt)
        let product = (first ^ state).multipliedFullWidth(by: second ^ multiplier)
        return mix(product.high ^ product.low, state)
    }

    /// The hash of more than sixteen bytes.
    @usableFromInline
    @inline(never)
    internal func long(_ bytes: Span<UInt8>, salt: Int) -> UInt64 {
        // SAFETY: every load lies inside 0..<count: there are more than sixteen bytes, and `at` stays eight below the count.
        unsafe bytes.withUnsafeBufferPointer { buffer in
            let raw = UnsafeRawBufferPointer(buffer)
            let count = raw.count
            var state = mix(seed, UInt64(truncatingIfNeeded: salt))
            state = mix(state, UInt64(truncatingIfNeeded: count))
            var at = 0
            while at &+ 8 < count {
                state = unsafe mix(state, raw.loadUnaligned(fromByteOffset: at, as: UInt64.self))
                at &+= 8
            }
            let last = unsafe raw.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
            return mix(mix(state, last), seed)
        }
    }
}
