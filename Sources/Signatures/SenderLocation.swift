internal import Octets

/// Where a sender keeps what its webhooks name: a certificate, or the page that confirms a subscription. A location comes from outside,
/// and so it is one of the sender's own by its host, or none at all.
package struct SenderLocation: Hashable, Sendable {
    package let host: String
    /// Path and query.
    package let target: String
    private let owner: Owner

    /// Which sender's it is.
    package enum Owner: Hashable, Sendable { case sns, payPal }

    /// Bytes of a location at most: 2 KiB.
    private static let longest = 2048

    /// Reads `https://host/…` of a sender's own host: `sns.REGION.amazonaws.com`, with `.cn` in China, or one below `paypal.com`. Nil
    /// of any other, of one with a port, a user, a fragment, or what isn't visible ASCII.
    package init?(_ text: [UInt8], of owner: Owner) {
        let scheme = Array("https://".utf8)
        guard text.count <= Self.longest, text.starts(with: scheme),
            text.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") && $0 != UInt8(ascii: "\\") })
        else { return nil }
        let rest = text[scheme.count...]
        guard let slash = rest.firstIndex(of: UInt8(ascii: "/")) else { return nil }
        let host = String(decoding: rest[..<slash], as: UTF8.self).lowercased()
        guard Self.isHost(host, of: owner) else { return nil }
        self.host = host
        self.owner = owner
        target = String(decoding: rest[slash...], as: UTF8.self)
    }

    /// Whether it may name a certificate: a file without a query, of SNS one that says so.
    package var isCertificate: Bool {
        (owner != .sns || target.hasSuffix(".pem")) && !target.utf8.contains(UInt8(ascii: "?"))
            && !target.utf8.contains(UInt8(ascii: "%"))
            && target.utf8.split(separator: UInt8(ascii: "/")).allSatisfy { !$0.elementsEqual("..".utf8) }
    }

    private static func isHost(_ host: String, of owner: Owner) -> Bool {
        guard
            host.utf8.allSatisfy({
                ASCII.isAlpha($0) || ASCII.isDigit($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
            })
        else { return false }
        switch owner {
        case .payPal: return host.hasSuffix(".paypal.com")
        case .sns:
            guard host.hasPrefix("sns.") else { return false }
            let name = host.hasSuffix(".cn") ? host.dropLast(3) : host[...]
            guard name.hasSuffix(".amazonaws.com") else { return false }
            let region = name.dropFirst(4).dropLast(".amazonaws.com".count)
            return region.utf8.count >= 3 && !region.utf8.contains(UInt8(ascii: "."))
        }
    }
}
