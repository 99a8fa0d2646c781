/// A keyed hash of bytes, for tables of names that come from outside: who doesn't know the key can't make names collide.
///
/// Eight bytes at a time are mixed by a multiplication to 128 bits. It is no cryptographic hash.
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

    /// The hash of `bytes`, joined with `salt`.
    @inlinable
    public func callAsFunction(_ bytes: Span<UInt8>, salt: Int = 0) -> UInt64 {
        // SAFETY: every load lies inside 0..<count, as the condition beside it says.
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
            var last: UInt64 = 0
            if count >= 8 {
                last = unsafe raw.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
            } else if count >= 4 {
                last = unsafe UInt64(raw.loadUnaligned(fromByteOffset: 0, as: UInt32.self))
                last |= unsafe UInt64(raw.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self)) &<< 32
            } else {
                while at < count {
                    last = unsafe last &<< 8 | UInt64(raw[at])
                    at &+= 1
                }
            }
            return mix(mix(state, last), seed)
        }
    }
}
