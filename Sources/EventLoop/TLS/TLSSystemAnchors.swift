internal import CTLSShims

/// The system's authorities, read once for the contexts that are made with them: those of one reading of the settings. What another
/// reading believes is what the system has by then.
@safe public final class TLSSystemAnchors {
    // SAFETY: made once and given back in deinit alone; contexts count their own references.
    private var pointer: OpaquePointer?
    private var isRead = false

    public init() {}

    deinit {
        // SAFETY: nothing else has the pointer; nil is nothing to OpenSSL.
        unsafe recast_tls_anchors_free(pointer)
    }

    /// Whether the context has them now: there may be no memory. They are read for the first that asks.
    func share(with handle: TLSContextHandle) -> Bool {
        if !isRead {
            unsafe pointer = recast_tls_anchors_create()
            isRead = true
        }
        guard let pointer = unsafe pointer else { return false }
        // SAFETY: no other code has the context yet.
        return unsafe recast_tls_share_anchors(handle.pointer, pointer)
    }
}
