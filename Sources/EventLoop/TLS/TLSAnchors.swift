internal import CTLSShims
internal import Synchronization

/// Which authorities a client context trusts, as files: contexts of the same ones share what was read. The system's take almost
/// a MiB once OpenSSL has read them, and each upstream with TLS has a context.
struct TLSAnchors: Hashable, Sendable {
    /// A PEM file; nil: the system's.
    private let path: String?
    /// They are taken before the files are read: a file that is replaced meanwhile, or later, has another one.
    private let stamps: [FileStamp?]

    private struct Holder {
        weak var handle: TLSContextHandle?
    }

    /// What was read, as long as some context trusts it.
    private static let holders = Mutex<[TLSAnchors: Holder]>([:])

    init(_ path: String?) {
        self.path = path
        let files = path.map { [$0] } ?? Self.systemFiles
        stamps = files.map { FileStamp($0) }
    }

    private static var systemFiles: [String] {
        // SAFETY: both texts are OpenSSL's constants or of the environment, which nothing in this process changes.
        unsafe [recast_tls_system_anchors_file(), recast_tls_system_anchors_folder()].compactMap {
            unsafe $0.map { unsafe String(cString: $0) }
        }
    }

    /// Lets `handle` trust them. Later contexts share what was read as long as the result is held.
    func load(into handle: TLSContextHandle) throws(TLSFileError) -> TLSContextHandle {
        let holder = try Self.holders.withLock { holders throws(TLSFileError) in
            if let known = holders[self]?.handle { return known }
            let made = try read()
            holders = holders.filter { $0.value.handle != nil }
            holders[self] = Holder(handle: made)
            return made
        }
        handle.shareAnchors(of: holder)
        return holder
    }

    /// A context that holds nothing else.
    private func read() throws(TLSFileError) -> TLSContextHandle {
        let handle = try TLSContextHandle(isClient: true, minimum: .tls12, maximum: .tls13)
        if let path {
            try handle.trust(path, .authorities, tells: false, anyLevel: false)
        } else {
            handle.trustSystem()
        }
        return handle
    }
}
