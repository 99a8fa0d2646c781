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

/// A digest, or an HMAC (RFC 2104) where it has a key, of bytes that come in pieces. It ends with `finish`.
@safe
package final class Digest {
    private let state: OpaquePointer

    /// A digest without a key.
    package convenience init(_ algorithm: DigestAlgorithm) {
        // SAFETY: what begins is this object's alone, until its end.
        unsafe self.init(recast_digest_begin(algorithm.rawValue))
    }

    /// An HMAC.
    package convenience init(_ algorithm: DigestAlgorithm, key: Span<UInt8>) {
        // SAFETY: the key is read during the call.
        unsafe self.init(
            key.withUnsafeBufferPointer { unsafe recast_hmac_begin(algorithm.rawValue, $0.baseAddress, $0.count) })
    }

    private init(_ state: OpaquePointer?) {
        // SAFETY: it is kept, and freed once.
        guard let state = unsafe state else {
            fatalError("no memory for a digest, or an OpenSSL without its algorithm")
        }
        unsafe self.state = state
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
        let digest = Digest(algorithm, key: key)
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
