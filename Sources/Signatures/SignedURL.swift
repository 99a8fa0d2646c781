internal import Octets

/// The URL of a request as its sender knows it, and the spellings that senders' libraries take for the same.
package struct SignedURL: Sendable {
    /// Scheme and authority, as the settings have them, or as the request does.
    private let origin: [UInt8]
    /// Path and query, as they came.
    private let target: [UInt8]

    /// - Parameters:
    ///   - base: `https://host`, with a port, credentials or the beginning of a path where the sender was told those.
    ///   - target: path and query.
    package init(base: String, target: [UInt8]) {
        var origin = Array(base.utf8)
        if origin.last == UInt8(ascii: "/"), target.first == UInt8(ascii: "/") { origin.removeLast() }
        self.origin = origin
        self.target = target
    }

    package var bytes: [UInt8] { origin + target }

    /// A whole URL in two: scheme and authority, which a path or a query ends, and the rest. Without an authority all of it is the rest.
    package static func split(_ url: [UInt8]) -> (origin: [UInt8], rest: [UInt8]) {
        guard let authority = authority(in: url) else { return ([], url) }
        return (Array(url[..<authority.upperBound]), Array(url[authority.upperBound...]))
    }

    /// What a request's line has of path and query: of an empty path a slash (RFC 9112 section 3.2.1).
    static func target(_ pathAndQuery: [UInt8]) -> [UInt8] {
        let isEmpty = pathAndQuery.isEmpty || pathAndQuery[0] == UInt8(ascii: "?")
        return isEmpty ? [UInt8(ascii: "/")] + pathAndQuery : pathAndQuery
    }

    /// The value of a parameter of the query, as it stands there; nil where there is none, or more than one.
    func parameter(_ name: String) -> [UInt8]? {
        guard let mark = target.firstIndex(of: UInt8(ascii: "?")) else { return nil }
        let prefix = Array("\(name)=".utf8)
        let found = target[(mark + 1)...].split(separator: UInt8(ascii: "&")).filter { $0.starts(with: prefix) }
        return found.count == 1 ? Array(found[0].dropFirst(prefix.count)) : nil
    }

    /// As Twilio's libraries try them: as it is, without its port, and with the one that the scheme implies. A port other than
    /// those is the sender's own affair, and stays.
    var portSpellings: [[UInt8]] {
        guard let mark = Self.authority(in: origin) else { return [bytes] }
        let authority = origin[mark]
        let path = origin[mark.upperBound...]
        let isSecure = origin.starts(with: Array("https:".utf8))
        let hostStart = authority.lastIndex(of: UInt8(ascii: "@")).map { $0 + 1 } ?? authority.startIndex
        // Of an address in brackets the colons are none of a port.
        let from = authority[hostStart...].lastIndex(of: UInt8(ascii: "]")) ?? hostStart
        let colon = authority[from...].firstIndex(of: UInt8(ascii: ":"))
        var spellings = [bytes]
        if let colon {
            let isImplied = Array(authority[(colon + 1)...]) == Array((isSecure ? "443" : "80").utf8)
            if isSecure || isImplied { spellings.append(Array(origin[..<colon]) + path + target) }
        } else {
            spellings.append(
                Array(origin[..<mark.upperBound]) + Array((isSecure ? ":443" : ":80").utf8) + path + target)
        }
        return spellings
    }

    /// Where the authority stands.
    private static func authority(in origin: [UInt8]) -> Range<Int>? {
        func ends(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") }
        guard
            let slashes = origin.indices.dropLast(2).first(where: {
                origin[$0] == UInt8(ascii: ":") && origin[$0 + 1] == UInt8(ascii: "/")
                    && origin[$0 + 2] == UInt8(ascii: "/")
            })
        else { return nil }
        let start = slashes + 3
        return start..<(origin[start...].firstIndex(where: ends) ?? origin.endIndex)
    }

    /// As HubSpot signs it: the escapes of these characters undone.
    var decoded: [UInt8] {
        let undone = Array(":/?@!$'()*,;".utf8)
        let all = bytes
        var result: [UInt8] = []
        result.reserveCapacity(all.count)
        var at = 0
        while at < all.count {
            if all[at] == UInt8(ascii: "%"), at + 2 < all.count, let high = ASCII.hexValue(all[at + 1]),
                let low = ASCII.hexValue(all[at + 2]), undone.contains(high << 4 | low)
            {
                result.append(high << 4 | low)
                at += 3
            } else {
                result.append(all[at])
                at += 1
            }
        }
        return result
    }
}
