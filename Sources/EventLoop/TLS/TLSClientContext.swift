internal import CTLSShims
internal import Synchronization

/// How a server is believed.
public struct TLSClientOptions: Hashable, Sendable {
    /// AFSecurityPolicy's SSL pinning modes.
    public enum Pinning: Hashable, Sendable {
        case none
        /// Some public key of the chain must be one of these: SHA-256 of its SubjectPublicKeyInfo.
        case keys([TLSPin])
        /// The certificates of these PEM files are the only anchors, and the chain must hold one of them.
        case certificates([String])
    }

    /// A PEM file of authorities; nil: those of the system.
    public var authorities: String?
    /// Whether the server's chain is checked. With pinned keys or certificates and no check, the server's own certificate
    /// must be the pinned one: a chain that was not checked can be made up.
    public var verifies = true
    /// Whether the certificate must be for `name`.
    public var verifiesName = true
    /// The name or address that the certificate must be for; nil: the one that was connected to.
    public var name: String?
    /// The name that the server is asked for (SNI); nil: `name`, or the one that was connected to, unless it is an address.
    public var indication: String?
    /// What the server is shown when it asks.
    public var identity: TLSIdentity?
    public var pinning = Pinning.none
    /// A PEM file of revocation lists, in which the server's certificate is looked up.
    public var revocations: String?
    public var minimum = TLSVersion.tls12
    public var maximum = TLSVersion.tls13
    /// Whether later connections take up the session of an earlier one.
    public var resumes = true
    /// Whether HTTP/2 is offered in place of HTTP/1.1 (ALPN). A server that has another view of it is told from the facts of the
    /// handshake.
    public var offersHTTP2 = false

    public init() {}

    /// All files that are read.
    public var files: [String] {
        var files = [authorities, identity?.certificate, identity?.key, revocations].compactMap(\.self)
        if case .certificates(let pinned) = pinning { files += pinned }
        return files
    }
}

/// The client's side of TLS, loaded. Immutable but for the sessions it remembers; shared by all threads.
public final class TLSClientContext: Sendable {
    public let options: TLSClientOptions
    internal let handle: TLSContextHandle
    /// What is to be known of the files.
    public let loadedFiles: TLSLoadedFiles
    /// SHA-256 of what is pinned, whichever it is.
    private let pins: Set<TLSPin>
    private let pinsKeys: Bool
    private let tickets = Mutex<[String: [TLSTicket]]>([:])

    /// Sessions kept for each name.
    private static let ticketLimit = 8
    /// Certificates of one chain, or of one pinned file, that are looked at.
    internal static let chainLimit = 32

    /// Reads the files.
    /// - Parameter system: the system's authorities, where others read them, too.
    /// - Throws: `TLSFileError` for the first that can't be used.
    public init(_ options: TLSClientOptions, system: TLSSystemAnchors? = nil) throws(TLSFileError) {
        self.options = options
        handle = try TLSContextHandle(isClient: true, minimum: options.minimum, maximum: options.maximum)
        // SAFETY: no other code has the context yet.
        if options.offersHTTP2 { unsafe recast_tls_offer_http2(handle.pointer) }
        if let identity = options.identity { try handle.use(identity) }
        switch options.pinning {
        case .none:
            pins = []
            pinsKeys = false
            try Self.trust(options, handle, system)
        case .keys(let keys):
            pins = Set(keys)
            pinsKeys = true
            try Self.trust(options, handle, system)
        case .certificates(let paths):
            var found: Set<TLSPin> = []
            for path in paths {
                try handle.trust(path, .pinned, tells: false)
                try found.formUnion(TLSPin.certificates(of: path))
            }
            pins = found
            pinsKeys = false
        }
        if let path = options.revocations { try handle.revoke(path) }
        var (trusted, role) = (options.authorities, TLSFileError.Role.authorities)
        if case .certificates(let paths) = options.pinning, options.verifies {
            (trusted, role) = (paths.first, .pinned)
        }
        var loadedFiles = TLSLoadedFiles()
        if let identity = options.identity { loadedFiles.add(handle, identity, index: 0, isServer: false) }
        loadedFiles.add(trusted: trusted, role, revocations: options.revocations, handle, isServer: false)
        self.loadedFiles = loadedFiles
        // SAFETY: no other code has the context yet.
        unsafe recast_tls_verify_peer(handle.pointer, options.verifies, false)
    }

    private static func trust(
        _ options: TLSClientOptions, _ handle: TLSContextHandle, _ system: TLSSystemAnchors?
    ) throws(TLSFileError) {
        if let path = options.authorities {
            try handle.trust(path, .authorities, tells: false)
        } else if options.verifies {
            // Revocation lists would hold for all that share.
            if options.revocations == nil, let system, system.share(with: handle) { return }
            // SAFETY: no other code has the context yet.
            _ = unsafe recast_tls_use_system_anchors(handle.pointer)
        }
    }

    /// The lives of the files.
    public var lives: [TLSFileLife] { loadedFiles.lives }

    /// Whether it was made of the same options and of files with the same bytes. The system's authorities may be others each time:
    /// a context that believes them is the same as none.
    public func isSame(as other: TLSClientContext) -> Bool {
        guard hasOptions(of: other), let contents = handle.contents, let others = other.handle.contents
        else { return false }
        return contents == others && !believesSystem
    }

    /// As `TLSServerContext` has it.
    public func hasOptions(of other: TLSClientContext) -> Bool { options == other.options }

    private var believesSystem: Bool {
        if case .certificates = options.pinning { return false }
        return options.verifies && options.authorities == nil
    }

    /// Whether servers are believed by the system's authorities, of which there are none: then no handshake can succeed.
    public var lacksAuthorities: Bool {
        guard believesSystem else { return false }
        // SAFETY: the context lives as long as its handle, and is only read.
        return unsafe !recast_tls_has_anchors(handle.pointer)
    }

    /// Whether a chain, of which these are the digests, holds what is pinned.
    internal func accepts(_ digests: [TLSPin]) -> Bool {
        digests.contains { pins.contains($0) }
    }

    /// Which digests `accepts` wants; nil when nothing is pinned.
    internal var pinnedDigests: (ofKeys: Bool, verified: Bool)? {
        options.pinning == .none ? nil : (pinsKeys, options.verifies)
    }

    // MARK: Sessions to take up

    internal func takeTicket(_ name: String) -> TLSTicket? {
        guard options.resumes else { return nil }
        return tickets.withLock { tickets in
            // What the server was verified by may have run out since: then it is verified anew, by a full handshake.
            while tickets[name]?.last?.isOver == true { tickets[name]?.removeLast() }
            guard let ticket = tickets[name]?.last else { return nil }
            // One of TLS 1.3 is used once, so that an observer on the way can't tell that two connections are of one client.
            if ticket.isSingle { tickets[name]?.removeLast() }
            return ticket
        }
    }

    internal func keep(_ ticket: TLSTicket, _ name: String) {
        guard options.resumes else { return }
        tickets.withLock { tickets in
            var kept = tickets[name, default: []]
            if kept.count >= Self.ticketLimit { kept.removeFirst() }
            kept.append(ticket)
            tickets[name] = kept
        }
    }
}

/// A session that can be taken up. OpenSSL counts its references atomically and doesn't change it.
@safe
final class TLSTicket: @unchecked Sendable {
    let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) {
        // SAFETY: takes over the reference, which deinit gives back.
        unsafe self.pointer = pointer
    }

    deinit {
        // SAFETY: the reference that the session gave away.
        unsafe recast_tls_ticket_free(pointer)
    }

    // SAFETY: alive as long as self.
    var isSingle: Bool { unsafe recast_tls_ticket_is_single(pointer) }

    // SAFETY: the same.
    var isOver: Bool { unsafe recast_tls_ticket_is_over(pointer) }
}
