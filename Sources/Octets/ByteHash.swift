internal import Synchronization

/// A keyed hash of bytes, for tables of names that come from outside: who doesn't know the key can't make names collide.
///
/// Eight bytes at a time are mixed by a multiplication to 128 bits; up to sixteen, as most names have, by one for all of
/// them. It is no cryptographic hash.
public struct ByteHash: Sendable {
    @usableFromInline internal let seed: UInt64
    @usableFromInline internal let multiplier: UInt64

    /// What all keys of this process are made of: each tree has one, and asking the system for it would be two calls.
    private static let secret: (seed: UInt64, multiplier: UInt64) = (
        .random(in: .min ... .max), .random(in: .min ... .max)
    )
    private static let count = Atomic<UInt64>(0)

    /// A hash with a key of its own, which nobody outside of the process can foresee.
    public init() {
        let number = Self.count.wrappingAdd(1, ordering: .relaxed).newValue
        // The steps are odd, so none comes again before 2⁶⁴ have.
        seed = Self.scattered(Self.secret.seed &+ number &* 0x9E37_79B9_7F4A_7C15)
        multiplier = Self.scattered(Self.secret.multiplier &+ number &* 0xD1B5_4A32_D192_ED03) | 1
    }

    /// Numbers that are near each other as numbers that aren't (SplitMix64's last step: G. Steele, D. Lea, C. Flood, "Fast
    /// Splittable Pseudorandom Number Generators", 2014).
    private static func scattered(_ number: UInt64) -> UInt64 {
        let first = (number ^ number >> 30) &* 0xBF58_476D_1CE4_E5B9
        let second = (first ^ first >> 27) &* 0x94D0_49BB_1331_11EB
        return second ^ second >> 31
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
