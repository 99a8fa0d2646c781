internal import CTLSShims

/// Something about files that could be loaded because of which a peer refuses us, or we refuse peers.
public struct TLSFileFinding: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        /// The certificate, the last of the authorities or the last revocation list of an issuer ran out, in seconds since 1970.
        case ended(Int64)
        /// The certificate holds from then on.
        case notYet(Int64)
        /// As both above, a certificate above the leaf: its number in the file, the leaf's is 1, and its subject.
        case linkEnded(number: Int, subject: String, Int64)
        case linkNotYet(number: Int, subject: String, Int64)
        /// A certificate in the chain's file that has issued none of the others.
        case stray(number: Int, subject: String)
        /// By its extended key usage the certificate is no server's, or no client's.
        case notForServers, notForClients
        /// None of the authorities may issue certificates: each stands for itself.
        case noAuthority
        /// An authority without a revocation list, where others have one: all that it has issued are refused.
        case unlisted(subject: String)
        /// A revocation list with the name of an authority whose key hasn't signed it.
        case unsigned(issuer: String)
        /// A certificate that no name chooses: those before it have all its names.
        case neverChosen
    }

    public let role: TLSFileError.Role
    /// Which of several certificates, 0 for the first.
    public let index: Int
    public let path: String
    public let kind: Kind
    /// Whether nobody can be served with it, or nobody be believed.
    public let isMistake: Bool

    /// Whether time alone has brought it about, or will mend it: nobody has changed anything, and a process that runs goes on.
    public var isOfTime: Bool {
        switch kind {
        case .ended, .notYet, .linkEnded, .linkNotYet: true
        default: false
        }
    }

    /// When what has run out did, in seconds since 1970.
    private var end: Int64? {
        switch kind {
        case .ended(let end), .linkEnded(_, _, let end): end
        default: nil
        }
    }

    /// Whether it began between two times, because something ran out: it did when `earlier` held still.
    fileprivate func began(behind earlier: Int64) -> Bool { end.map { $0 >= earlier } ?? false }

    /// When what doesn't hold yet does, in seconds since 1970; nil where no time mends it.
    public var start: Int64? {
        switch kind {
        case .notYet(let start), .linkNotYet(_, _, let start): start
        default: nil
        }
    }

    /// Whether it is about the same file.
    fileprivate func isBeside(_ other: TLSFileFinding) -> Bool { role == other.role && index == other.index }
}

/// What was loaded, as far as it is judged. Looked at once: OpenSSL may sort what a context trusts, and add to it, as soon as it is
/// in use.
public struct TLSLoadedFiles: Sendable {
    /// The lives of the files: of the certificates, in the order of the identities, of what is trusted and of the revocation lists.
    public fileprivate(set) var lives: [TLSFileLife] = []
    /// The certificates that stand above leaves, with the place of their leaf.
    private var links: [(life: TLSFileLife, link: TLSChainLink)] = []
    /// What holds at any time.
    private var findings: [TLSFileFinding] = []
    /// When each issuer has a revocation list that holds, in seconds since 1970, and the file of these.
    private var listed: (start: Int64, path: String)?
    /// The names of hosts that the certificates so far have, as far as they are known.
    private var names: Set<Substring> = []

    internal mutating func add(_ handle: TLSContextHandle, _ identity: TLSIdentity, index: Int, isServer: Bool) {
        guard let life = handle.life(of: identity, index: index) else { return }
        lives.append(life)
        func note(_ kind: TLSFileFinding.Kind, isMistake: Bool = false) {
            findings.append(
                .init(role: .certificate, index: index, path: identity.certificate, kind: kind, isMistake: isMistake))
        }
        for link in handle.links {
            if link.level < 0 { note(.stray(number: link.number, subject: link.subject)) }
            if link.level > 0 { links.append((life, link)) }
        }
        if !handle.isFor(clients: !isServer) {
            note(isServer ? .notForServers : .notForClients, isMistake: isServer)
        }
        guard isServer else { return }
        guard let own = handle.names else { return }
        // The first is for who names nobody, or somebody unknown.
        if index > 0, names.isSuperset(of: own) { note(.neverChosen) }
        names.formUnion(own)
    }

    /// - Parameter role: what is trusted: authorities, or pinned certificates, of which this is the first file.
    internal mutating func add(
        trusted: String?, _ role: TLSFileError.Role = .authorities, revocations: String?, _ handle: TLSContextHandle,
        isServer: Bool
    ) {
        lives += handle.lives(trusted: trusted, role, revocations: revocations)
        if let revocations { listed = handle.revocationsStart.map { ($0, revocations) } }
        guard let trusted, role == .authorities else { return }
        // A server's own certificate may be its only authority; a client's hardly.
        if isServer, !handle.hasAuthority {
            findings.append(.init(role: role, index: 0, path: trusted, kind: .noAuthority, isMistake: false))
        }
        guard let revocations else { return }
        for issuer in handle.unsigned {
            let kind = TLSFileFinding.Kind.unsigned(issuer: issuer)
            findings.append(.init(role: .revocations, index: 0, path: revocations, kind: kind, isMistake: true))
        }
        for subject in handle.unlisted {
            let kind = TLSFileFinding.Kind.unlisted(subject: subject)
            findings.append(.init(role: .revocations, index: 0, path: revocations, kind: kind, isMistake: false))
        }
    }

    /// What is to be said of the files at a time, in seconds since 1970.
    public func findings(at now: Int64) -> [TLSFileFinding] {
        var found: [TLSFileFinding] = []
        func note(_ life: TLSFileLife, _ kind: TLSFileFinding.Kind, _ isMistake: Bool) {
            found.append(
                .init(role: life.role, index: life.index, path: life.path, kind: kind, isMistake: isMistake))
        }
        for life in lives {
            if life.notAfter < now { note(life, .ended(life.notAfter), true) }
            if let notBefore = life.notBefore, notBefore > now { note(life, .notYet(notBefore), true) }
        }
        if let listed, listed.start > now {
            found.append(
                .init(role: .revocations, index: 0, path: listed.path, kind: .notYet(listed.start), isMistake: true))
        }
        func isOut(_ link: TLSChainLink) -> Bool { link.notAfter < now || link.notBefore > now }
        for (life, link) in links where isOut(link) {
            // Whoever believes a certificate that stands higher needs none above it, as with roots that another one has signed; the leaf
            // is believed by what has issued it, of which there may be several.
            let isNeeded =
                link.level == 1 && !link.isSelfIssued
                && !links.contains { $0.life == life && $0.link.level == 1 && !isOut($0.link) }
            let (number, subject) = (link.number, link.subject)
            if link.notAfter < now {
                note(life, .linkEnded(number: number, subject: subject, link.notAfter), isNeeded)
            } else {
                note(life, .linkNotYet(number: number, subject: subject, link.notBefore), isNeeded)
            }
        }
        return found + findings
    }

    /// What has run out since `earlier`, as `findings(at: now)` has it.
    public func ended(since earlier: Int64, at now: Int64) -> [TLSFileFinding] {
        let mayHave =
            lives.contains { $0.notAfter >= earlier && $0.notAfter < now }
            || links.contains { $0.link.notAfter >= earlier && $0.link.notAfter < now }
        return mayHave ? findings(at: now).filter { $0.began(behind: earlier) } : []
    }

    /// The first mistake of these files that is none of `others`, which are in use: what is no worse may take its place.
    public func mistake(notOf others: TLSLoadedFiles, at now: Int64) -> TLSFileFinding? {
        let known = others.findings(at: now).filter(\.isMistake)
        return findings(at: now).first { found in found.isMistake && !known.contains { $0.isBeside(found) } }
    }
}

/// A certificate of a chain's file that isn't the leaf.
internal struct TLSChainLink: Hashable, Sendable {
    /// In the file, the leaf's is 1.
    let number: Int
    let subject: String
    /// In seconds since 1970.
    let notBefore: Int64
    let notAfter: Int64
    /// How far above the leaf it stands; -1 where it has issued none of the others.
    let level: Int
    let isSelfIssued: Bool
}

extension TLSContextHandle {
    /// Bytes of a subject that are told.
    private static let subjectSize = 256
    /// Bytes of all names of a certificate.
    private static let namesSize = 64 * 1024

    private static func text(_ bytes: [CChar]) -> String {
        // SAFETY: the shims mark the end.
        unsafe bytes.withUnsafeBufferPointer { unsafe $0.baseAddress.map { unsafe String(cString: $0) } ?? "" }
    }

    /// The certificates above the leaf.
    fileprivate var links: [TLSChainLink] {
        var links: [TLSChainLink] = []
        while let link = self.link(at: links.count + 1) { links.append(link) }
        return links
    }

    private func link(at place: Int) -> TLSChainLink? {
        var subject = [CChar](repeating: 0, count: Self.subjectSize)
        var link = recast_tls_link()
        // SAFETY: no session has the context yet; the text has this size, and is end-marked afterwards; the same below.
        guard unsafe recast_tls_link_at(pointer, place, &link, &subject, subject.count) else { return nil }
        return TLSChainLink(
            number: place + 1, subject: Self.text(subject), notBefore: link.not_before, notAfter: link.not_after,
            level: Int(link.level), isSelfIssued: link.is_self_issued)
    }

    /// The leaf's subject and serial number.
    internal var title: String {
        var serial = [CChar](repeating: 0, count: Self.subjectSize)
        // SAFETY: as above.
        let hasSerial = unsafe recast_tls_serial(pointer, &serial, serial.count)
        let subject = link(at: 0)?.subject ?? ""
        return hasSerial ? "\(subject), serial \(Self.text(serial))" : subject
    }

    fileprivate func isFor(clients: Bool) -> Bool {
        // SAFETY: no session has the context yet.
        unsafe recast_tls_is_for(pointer, clients)
    }

    /// The names of hosts that the leaf is for, in lower case; nil where they aren't all known.
    fileprivate var names: Set<Substring>? {
        var bytes = [CChar](repeating: 0, count: Self.namesSize)
        var count = 0
        // SAFETY: as above, of bytes.
        guard unsafe recast_tls_names(pointer, &bytes, bytes.count, &count) else { return nil }
        let text = String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return Set(text.lowercased().split(separator: "\n"))
    }

    fileprivate var hasAuthority: Bool {
        // SAFETY: no session has the context yet.
        unsafe recast_tls_has_authority(pointer)
    }

    fileprivate var revocationsStart: Int64? {
        var start: Int64 = 0
        // SAFETY: no session has the context yet; the number is written during the call.
        return unsafe recast_tls_revocations_start(pointer, &start) ? start : nil
    }

    /// The issuers of revocation lists that none of the authorities of their name has signed.
    fileprivate var unsigned: [String] {
        var issuers: [String] = []
        var issuer = [CChar](repeating: 0, count: Self.subjectSize)
        // SAFETY: as above.
        while unsafe recast_tls_unsigned(pointer, issuers.count, &issuer, issuer.count) {
            issuers.append(Self.text(issuer))
        }
        return issuers
    }

    /// The subjects of authorities without a revocation list.
    fileprivate var unlisted: [String] {
        var subjects: [String] = []
        var subject = [CChar](repeating: 0, count: Self.subjectSize)
        // SAFETY: as above.
        while unsafe recast_tls_unlisted(pointer, subjects.count, &subject, subject.count) {
            subjects.append(Self.text(subject))
        }
        return subjects
    }
}
