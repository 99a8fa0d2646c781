public import EventLoop
internal import Transcoding

extension TLSFileFinding {
    /// One clause, which doesn't name the file.
    public var message: String {
        switch kind {
        case .ended(let end): "\(what) ran out on \(Self.day(end))"
        case .notYet(let start): "\(what) holds from \(Self.day(start)) on"
        case .linkEnded(let number, let subject, let end):
            "certificate \(number) of this file (\(subject)), which stands above its first one, ran out on \(Self.day(end))"
        case .linkNotYet(let number, let subject, let start):
            "certificate \(number) of this file (\(subject)), which stands above its first one, holds from \(Self.day(start)) on"
        case .stray(let number, let subject):
            "certificate \(number) of this file (\(subject)) isn't of its chain: it has issued none of the others"
        case .notForServers:
            "this certificate isn't one of a server: its extended key usage has no serverAuth, and clients refuse it"
        case .notForClients:
            "this certificate isn't one of a client: its extended key usage has no clientAuth, and servers refuse it"
        case .noAuthority:
            "none of these certificates is an authority's: only who shows one of them is let in"
        case .unlisted(let subject):
            "there is no revocation list of the authority \(subject): all certificates that it has issued are refused (no_crl)"
        case .unsigned(let issuer):
            "a revocation list of \(issuer) isn't signed by that authority's key: all certificates that it has issued are refused"
        case .neverChosen:
            "no name chooses this certificate: those before it have all of its names"
        }
    }

    /// Stable, as those of other notes of `recast check`.
    public var code: String {
        switch kind {
        case .ended, .notYet: "tls_dates"
        case .linkEnded, .linkNotYet: "tls_chain_dates"
        case .stray: "tls_chain_stray"
        case .notForServers, .notForClients: "tls_key_usage"
        case .noAuthority: "tls_no_authority"
        case .unlisted: "tls_unlisted_authority"
        case .unsigned: "tls_list_signature"
        case .neverChosen: "tls_never_chosen"
        }
    }

    private var what: String {
        switch role {
        case .authorities: "the last of these authorities"
        case .revocations: "this revocation list, without which all its issuer's certificates are refused,"
        case .pinned: "the last of the pinned certificates"
        case .certificate, .key: "this certificate"
        }
    }

    fileprivate static func day(_ seconds: Int64) -> String {
        Timestamp(seconds: seconds)?.description ?? "a day that no calendar has"
    }
}

extension TLSFileLife {
    /// A certificate's subject, serial number and end; nil for what isn't one.
    var shown: String? { title.map { "\($0), until \(TLSFileFinding.day(notAfter))" } }
}
