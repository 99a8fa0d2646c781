internal import CSignatures
internal import Octets

/// A digest of FIPS 180-4.
package enum DigestAlgorithm: Int32, Sendable, CaseIterable {
    case sha1 = 1
    case sha256 = 2
    case sha384 = 3
    case sha512 = 4

    /// Bytes of the result.
    package var size: Int {
        switch self {
        case .sha1: 20
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }
}

/// The key of HMACs (RFC 2104), made ready once for any number of them.
@safe
package final class HMACKey: Sendable {
    // SAFETY: it is only read from here on, and OpenSSL's digests may be copied by several threads at once.
    fileprivate nonisolated(unsafe) let key: OpaquePointer

    package init(_ algorithm: DigestAlgorithm, _ key: Span<UInt8>) {
        // SAFETY: the key is read during the call.
        let made = unsafe key.withUnsafeBufferPointer {
            unsafe recast_hmac_key_new(algorithm.rawValue, $0.baseAddress, $0.count)
        }
        guard let made = unsafe made else { fatalError("no memory for a key, or an OpenSSL without its algorithm") }
        unsafe self.key = made
    }

    // SAFETY: nobody else has it.
    deinit { unsafe recast_hmac_key_free(key) }
}

/// A digest, or an HMAC where it has a key, of bytes that come in pieces. It ends with `finish`.
@safe
package final class Digest {
    private let state: OpaquePointer
    /// Kept for as long as it is used.
    private let key: HMACKey?

    /// A digest without a key.
    package convenience init(_ algorithm: DigestAlgorithm) {
        // SAFETY: what begins is this object's alone, until its end.
        unsafe self.init(recast_digest_begin(algorithm.rawValue), key: nil)
    }

    /// An HMAC.
    package convenience init(_ key: HMACKey) {
        // SAFETY: as above; the key is kept.
        unsafe self.init(recast_hmac_begin(key.key), key: key)
    }

    private init(_ state: OpaquePointer?, key: HMACKey?) {
        // SAFETY: it is kept, and freed once.
        guard let state = unsafe state else {
            fatalError("no memory for a digest, or an OpenSSL without its algorithm")
        }
        unsafe self.state = state
        self.key = key
    }

    // SAFETY: nobody else has it.
    deinit { unsafe recast_digest_free(state) }

    package func update(_ bytes: Span<UInt8>) {
        // SAFETY: the bytes are read during the call.
        let isFine = unsafe bytes.withUnsafeBufferPointer {
            unsafe recast_digest_update(state, $0.baseAddress, $0.count)
        }
        precondition(isFine, "a digest takes any bytes")
    }

    package func update(_ bytes: [UInt8]) { update(bytes.span) }

    /// The result; nothing is taken any more.
    package func finish() -> [UInt8] {
        // SAFETY: the room is the longest digest's, and the count that comes back is what was written.
        unsafe [UInt8](unsafeUninitializedCapacity: RECAST_DIGEST_ROOM) { room, count in
            count = unsafe recast_digest_finish(state, room.baseAddress)
        }
    }

    /// The digest of bytes that are there whole.
    package static func of(_ bytes: Span<UInt8>, _ algorithm: DigestAlgorithm) -> [UInt8] {
        let digest = Digest(algorithm)
        digest.update(bytes)
        return digest.finish()
    }

    /// The HMAC of bytes that are there whole.
    package static func hmac(_ bytes: Span<UInt8>, key: Span<UInt8>, _ algorithm: DigestAlgorithm) -> [UInt8] {
        let digest = Digest(HMACKey(algorithm, key))
        digest.update(bytes)
        return digest.finish()
    }

    /// CRC-32 of bytes that are there whole (RFC 1952 §8).
    package static func crc32(_ bytes: Span<UInt8>) -> UInt32 {
        // SAFETY: the bytes are read during the call.
        unsafe bytes.withUnsafeBufferPointer { unsafe recast_crc32(0, $0.baseAddress, $0.count) }
    }
}

/// Comparisons that tell nothing by their time.
package enum ConstantTime {
    /// Whether two sequences are the same. How long they are is no secret here: signatures have the length of their algorithm.
    package static func areEqual(_ one: Span<UInt8>, _ other: Span<UInt8>) -> Bool {
        guard one.count == other.count else { return false }
        // SAFETY: both are read during the calls, as many bytes as they have.
        return unsafe one.withUnsafeBufferPointer { one in
            unsafe other.withUnsafeBufferPointer { other in
                unsafe one.count == 0 || recast_equal(one.baseAddress, other.baseAddress, one.count)
            }
        }
    }

    /// Whether a token is the secret: their digests are compared, so that not even a length is told.
    package static func isSame(token: Span<UInt8>, as secret: Span<UInt8>) -> Bool {
        areEqual(Digest.of(token, .sha256).span, Digest.of(secret, .sha256).span)
    }
}
