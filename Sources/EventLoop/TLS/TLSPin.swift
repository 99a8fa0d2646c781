internal import CTLSShims

/// The SHA-256 digest of a public key (SubjectPublicKeyInfo, as in RFC 7469 §2.4) or of a certificate.
public struct TLSPin: Hashable, Sendable {
    /// 32 bytes.
    public let digest: [UInt8]

    internal static let size = 32

    /// nil when these aren't 32 bytes.
    public init?(digest: [UInt8]) {
        guard digest.count == Self.size else { return nil }
        self.digest = digest
    }

    /// The digests that stand one behind the other in `bytes`.
    internal static func split(_ bytes: [UInt8], count: Int) -> [TLSPin] {
        (0..<count).compactMap { TLSPin(digest: Array(bytes[$0 * size..<($0 + 1) * size])) }
    }

    /// Those of all certificates in a PEM file.
    internal static func certificates(of path: String) throws(TLSFileError) -> [TLSPin] {
        // One more than may be: what doesn't fit is not left out in silence.
        let room = TLSClientContext.chainLimit + 1
        var bytes = [UInt8](repeating: 0, count: size * room)
        let count = try unsafe TLSFile.read(path, .pinned) { text in
            // SAFETY: there is room for as many digests as are asked for.
            unsafe recast_tls_digests(text.baseAddress, text.count, false, &bytes, room)
        }
        guard count > 0 else {
            throw TLSFileError(role: .pinned, index: 0, path: path, reason: "holds no certificate that can be read")
        }
        guard count < room else {
            throw TLSFileError(
                role: .pinned, index: 0, path: path,
                reason: "holds more than \(TLSClientContext.chainLimit) certificates")
        }
        return split(bytes, count: Int(count))
    }
}
