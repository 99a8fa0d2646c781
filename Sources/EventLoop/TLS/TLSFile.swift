internal import CTLSShims
internal import Glibc

/// Why a file of certificates or keys can't be used.
public struct TLSFileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What the file was read for.
    public enum Role: Hashable, Sendable {
        case certificate, key, authorities, revocations, pinned
    }

    public let role: Role
    /// Which of several certificates, 0 for the first.
    public let index: Int
    public let path: String
    /// One clause that follows the path: "doesn't exist". Never a part of the content.
    public let reason: String

    public init(role: Role, index: Int, path: String, reason: String) {
        self.role = role
        self.index = index
        self.path = path
        self.reason = reason
    }

    public var description: String { path.isEmpty ? reason : "\(path) \(reason)" }
}

/// Reads files of PEM text.
enum TLSFile {
    /// Bytes at most: the authorities of a whole system are about 220 KiB.
    private static let maximumSize = 4 * 1024 * 1024

    /// Hands the bytes of a file to `body`, and overwrites them afterwards: they may be a key's.
    static func read<Value>(
        _ path: String, _ role: TLSFileError.Role, _ index: Int = 0, _ body: (UnsafeBufferPointer<CChar>) -> Value
    ) throws(TLSFileError) -> Value {
        func error(_ reason: String) -> TLSFileError {
            TLSFileError(role: role, index: index, path: path, reason: reason)
        }
        // Without waiting: a FIFO without a writer would hold the thread up before it is seen to be no file.
        // SAFETY: the path is end-marked.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw error(errno == ENOENT ? "doesn't exist" : "can't be opened: \(systemErrorText(errno))")
        }
        defer { _ = close(descriptor) }
        var status = stat()
        // SAFETY: the status is written during the call.
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw error("is no file")
        }
        guard status.st_size <= maximumSize else { throw error("is larger than 4 MiB") }
        let room = Int(status.st_size) + 1
        let buffer = UnsafeMutableBufferPointer<CChar>.allocate(capacity: room)
        defer {
            // SAFETY: ours, of this size.
            if let address = buffer.baseAddress { unsafe explicit_bzero(address, room) }
            unsafe buffer.deallocate()
        }
        var count = 0
        while count < room {
            // SAFETY: writes behind what was read, within the buffer.
            let taken = unsafe Glibc.read(descriptor, buffer.baseAddress! + count, room - count)
            if taken < 0, errno == EINTR { continue }
            guard taken >= 0 else { throw error("can't be read: \(systemErrorText(errno))") }
            if taken == 0 { break }
            count += taken
        }
        let text = unsafe UnsafeBufferPointer(start: buffer.baseAddress, count: count)
        if let line = unsafe PEMText.lineOfLostBlock(text.span) {
            throw error(
                "has in line \(line) the beginning of a block that would be passed over: it must be "
                    + "-----BEGIN \(label(of: role))-----, alone and from the line's first column on")
        }
        return unsafe body(text)
    }

    /// What the blocks of PEM are called that are mostly read for `role`.
    private static func label(of role: TLSFileError.Role) -> String {
        switch role {
        case .certificate, .authorities, .pinned: "CERTIFICATE"
        case .key: "PRIVATE KEY"
        case .revocations: "X509 CRL"
        }
    }

    /// Throws what an answer of the shims means.
    static func check(
        _ outcome: Int32, _ path: String, _ role: TLSFileError.Role, _ index: Int = 0
    ) throws(TLSFileError) {
        let what =
            switch role {
            case .key: "private key"
            case .revocations: "revocation list"
            default: "certificate"
            }
        let reason: String
        switch Int(outcome) {
        case RECAST_TLS_FINE: return
        case RECAST_TLS_EMPTY: reason = "holds no \(what) in PEM form"
        case RECAST_TLS_ENCRYPTED: reason = "holds a key with a password: store it without one"
        case RECAST_TLS_MISMATCH: reason = "holds the key of another certificate"
        case RECAST_TLS_UNUSABLE:
            reason =
                "holds a key with which no handshake of TLS can be made here: RSA, P-256, P-384, P-521 and Ed25519 are in use"
        case RECAST_TLS_WEAK: reason = "holds a \(what) that this system's OpenSSL takes for too weak"
        case let outcome where outcome > RECAST_TLS_LATER:
            reason =
                "holds the key of certificate \(outcome - RECAST_TLS_LATER + 1) in the certificate's file: the leaf, whose key "
                + "this is, must be the first there"
        default: reason = "holds a \(what) that can't be read"
        }
        throw TLSFileError(role: role, index: index, path: path, reason: reason)
    }
}
