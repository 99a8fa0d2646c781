internal import CTLSShims

/// What a listener says of itself, and asks of its clients.
public struct TLSServerOptions: Hashable, Sendable {
    /// Whether clients show a certificate (mutual TLS).
    public enum ClientCertificate: String, Hashable, Sendable, CaseIterable {
        /// A client without one, or with one that leads to none of the authorities, is refused.
        case required
        /// A client without one is served; one that shows one must show a good one.
        case optional
    }

    /// The first one is for clients that name no server, or an unknown one (SNI, RFC 6066 §3). At least one.
    public var identities: [TLSIdentity]
    /// A PEM file of the authorities of client certificates; nil: none is asked for.
    public var clientAuthorities: String?
    public var clientCertificate = ClientCertificate.required
    /// A PEM file of revocation lists for client certificates.
    public var revocations: String?
    public var minimum = TLSVersion.tls12
    public var maximum = TLSVersion.tls13
    /// What ALPN takes: HTTP/1, and HTTP/2 before it.
    public var takesHTTP1 = true
    public var takesHTTP2 = false
    /// Sent, before the connection is closed, to a client that speaks HTTP without TLS.
    public var plainTextAnswer: [UInt8] = []
    /// The same to one that begins with a header of the PROXY protocol.
    public var proxyHeaderAnswer: [UInt8] = []

    public init(identities: [TLSIdentity]) {
        self.identities = identities
    }

    /// All files that are read.
    public var files: [String] {
        identities.flatMap { [$0.certificate, $0.key] } + [clientAuthorities, revocations].compactMap(\.self)
    }
}

/// The server's side of TLS, loaded: immutable, and shared by all threads.
///
/// ALPN takes `h2` and `http/1.1`, as the options say, and `http/1.0` from a client that offers no newer one; a client that offers
/// others alone gets `no_application_protocol` (RFC 7301 §3.2). TLS 1.2 with forward secrecy and authenticated encryption only; no
/// renegotiation; tickets for resumption, whose keys are the context's own, and new ones every hour.
public final class TLSServerContext: Sendable {
    public let options: TLSServerOptions
    internal let handle: TLSContextHandle
    private let alternatives: [TLSContextHandle]
    /// What is to be known of the files.
    public let loadedFiles: TLSLoadedFiles

    /// Reads the files.
    /// - Throws: `TLSFileError` for the first that can't be used.
    public init(_ options: TLSServerOptions) throws(TLSFileError) {
        self.options = options
        guard let first = options.identities.first else {
            throw TLSFileError(role: .certificate, index: 0, path: "", reason: "a server needs a certificate")
        }
        handle = try TLSContextHandle(isClient: false, minimum: options.minimum, maximum: options.maximum)
        // SAFETY: no other code has the context yet.
        unsafe recast_tls_take_protocols(handle.pointer, options.takesHTTP1, options.takesHTTP2)
        try handle.use(first)
        if let path = options.clientAuthorities {
            try handle.trust(path, .authorities, tells: true)
            // SAFETY: no other code has the context yet.
            unsafe recast_tls_verify_peer(handle.pointer, true, options.clientCertificate == .required)
        }
        if let path = options.revocations { try handle.revoke(path) }
        var alternatives: [TLSContextHandle] = []
        for (index, identity) in options.identities.enumerated().dropFirst() {
            let other = try TLSContextHandle(isClient: false, minimum: options.minimum, maximum: options.maximum)
            try other.use(identity, index: index)
            alternatives.append(other)
        }
        self.alternatives = alternatives
        var loadedFiles = TLSLoadedFiles()
        for (index, (identity, own)) in zip(options.identities, [handle] + alternatives).enumerated() {
            loadedFiles.add(own, identity, index: index, isServer: true)
        }
        loadedFiles.add(
            trusted: options.clientAuthorities, revocations: options.revocations, handle, isServer: true)
        self.loadedFiles = loadedFiles
        guard !alternatives.isEmpty else { return }
        let pointers = unsafe alternatives.map { unsafe Optional($0.pointer) }
        // SAFETY: the list is copied, and self keeps what it points to; each session holds self.
        guard unsafe recast_tls_set_alternatives(handle.pointer, pointers, pointers.count) else {
            throw TLSFileError(role: .certificate, index: 0, path: "", reason: "there is no memory for its names")
        }
    }

    /// Draws a new key for tickets where that is due, and wipes what opens none any more. To be called now and then, from any thread:
    /// handshakes do it too, but where none comes a key would stay.
    public func renewTicketKeys() { renewTicketKeys(ahead: 0) }

    /// - Parameter seconds: taken for passed from now on, by tests.
    internal func renewTicketKeys(ahead seconds: Int64) {
        // SAFETY: self keeps the context; its keys have a lock.
        unsafe recast_tls_renew_ticket_keys(handle.pointer, seconds)
    }

    internal var ticketKeyCount: Int {
        // SAFETY: as above.
        unsafe recast_tls_ticket_key_count(handle.pointer)
    }

    /// The lives of the files.
    public var lives: [TLSFileLife] { loadedFiles.lives }

    /// Whether it was made of the same options and of files with the same bytes: then its sessions are as good as those of `other`.
    public func isSame(as other: TLSServerContext) -> Bool {
        guard hasOptions(of: other), let contents, let others = other.contents else { return false }
        return contents == others
    }

    /// Whether the settings say the same of both, so that only files can differ.
    public func hasOptions(of other: TLSServerContext) -> Bool { options == other.options }

    /// SHA-256 of all files, in their order; nil where one isn't known.
    private var contents: [[UInt8]]? {
        let all = [handle.contents] + alternatives.map(\.contents)
        return all.contains(nil) ? nil : all.flatMap { $0 ?? [] }
    }
}
