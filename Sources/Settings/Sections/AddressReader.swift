internal import EventLoop
public import Proxy

/// Addresses as the settings write them: `127.0.0.1:8080`, `[::1]:8080`, `app.internal:3000`, `unix:/run/app.sock`.
enum AddressReader {
    /// Where the rest of a URL goes that was written for an address.
    struct URLHints {
        /// The keys that say https.
        let securing: String
        /// The end of a sentence about its path.
        let path: String

        static let listener = URLHints(
            securing: "\"tls: { certificate: …, key: … }\"", path: "; paths are matched by routes")
        static let upstream = URLHints(securing: "\"tls: true\"", path: "; a path goes into a route's \"rewrite\"")
    }

    /// Where to listen: an address literal, or `localhost` for 127.0.0.1; port 0 lets the kernel pick.
    static func listen(_ text: String, hints: URLHints? = nil) throws(AddressFault) -> ListenAddress {
        if let path = try unixPath(text) { return .unix(path: path) }
        if text.hasPrefix("systemd:") {
            let name = String(text.dropFirst(8))
            guard (1...255).contains(name.utf8.count),
                name.utf8.allSatisfy({ 33...126 ~= $0 && $0 != UInt8(ascii: ":") })
            else { throw AddressFault(reason: "systemd: is followed by the name of a socket, as in systemd:web") }
            return .systemd(name: name)
        }
        let example = "as in 127.0.0.1:8080, \"[::1]:8080\" or unix:/run/recast.sock"
        if let fault = urlFault(text, example: example, hints, reads: { (try? listen($0)) != nil }) { throw fault }
        let (host, port) = try split(text, ports: 0...65535, example: example)
        if host == "localhost" { return .tcp(host: "127.0.0.1", port: port) }
        guard host.contains(":") || isIPv4(host) else {
            throw AddressFault(reason: "\"\(host)\" is no address to listen on: write one, \(example)")
        }
        // One of IPv4 that is mapped into IPv6 is what sockets of IPv6 alone, as ours are, can't have.
        let address = SocketAddress.parseHost(host, port: 0)?.unmapped
        if let address, address.isIPv4 { return .tcp(host: address.hostText, port: port) }
        if let six = address?.ipv6 {
            if isLinkLocal(six.high) { throw linkLocalFault(host, "listened on", example) }
            if six.high >> 56 == 0xFF {
                throw AddressFault(reason: "[\(host)] is a group's address: write one of this machine, \(example)")
            }
        }
        return .tcp(host: host, port: port)
    }

    /// Where an upstream is: a name or an address literal.
    static func upstream(_ text: String, hints: URLHints? = nil) throws(AddressFault) -> UpstreamAddress {
        if let path = try unixPath(text) { return .unix(path: path) }
        let example = "as in 127.0.0.1:3000, app.internal:3000 or unix:/run/app.sock"
        if let fault = urlFault(text, example: example, hints, reads: { (try? upstream($0)) != nil }) { throw fault }
        let (host, port) = try split(text, ports: 1...65535, example: example)
        if !host.contains(":"), !isIPv4(host), let fault = nameFault(host) {
            throw AddressFault(reason: "\"\(host)\" is \(fault): write one, \(example)")
        }
        if let six = SocketAddress.parseHost(host, port: 0)?.ipv6, isLinkLocal(six.high) {
            throw linkLocalFault(host, "connected to", example)
        }
        return .tcp(host: host, port: port)
    }

    /// Whether an address of IPv6 that begins so means nothing without an interface (RFC 4291 §2.5.6).
    private static func isLinkLocal(_ high: UInt64) -> Bool { high >> 54 == 0xFE80 >> 6 }

    private static func linkLocalFault(_ host: String, _ what: String, _ example: String) -> AddressFault {
        AddressFault(
            reason: "the link-local address [\(host)] can't be \(what) without its interface, which has no place here: "
                + "write one that holds by itself, \(example)")
    }

    /// Why `text` is no name of a host, nil where it is one: RFC 1123 §2.1 with the underscores that many have. The dot at its end
    /// makes it absolute: no search domain is tried (RFC 1034 §3.1).
    static func nameFault(_ text: String) -> String? {
        let name = text.hasSuffix(".") ? text.dropLast() : text[...]
        let parts = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let isOfNames = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
            default: false
            }
        }
        guard isOfNames else {
            return foreignLetters(text).map { "no name, since \($0)" } ?? "neither a name nor an address"
        }
        if parts.contains(where: \.isEmpty) {
            return "no name, since nothing stands between two of its dots, or before one"
        }
        // Such a name would be taken for an address of IPv4 with fewer than four numbers, or with others.
        let isNumeric = parts.last?.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } == true
        if isNumeric { return "neither a name nor an address" }
        if parts.contains(where: { $0.count > 63 }) {
            return "no name, which has at most 63 characters between two dots"
        }
        if name.utf8.count > 253 { return "no name, which has at most 253 characters" }
        let hyphen = UInt8(ascii: "-")
        if parts.contains(where: { $0.first == hyphen || $0.last == hyphen }) {
            return "no name, since a hyphen stands at the beginning or the end of it or beside a dot"
        }
        return nil
    }

    /// Of a name with letters beyond ASCII how such names are written (RFC 5890 §2.3.2.1): which bytes they become isn't for us to say, for
    /// programs differ in what they take for the same letter.
    static func foreignLetters(_ text: String) -> String? {
        guard text.utf8.contains(where: { $0 >= 128 }) else { return nil }
        return
            "a name goes on the wire in ASCII, with its other letters as in xn--bcher-kva.example (`idn2` prints that form)"
    }

    /// Of a text that is a URL, or an address with a path: what to write in its place, if that is one which `reads`.
    private static func urlFault(
        _ text: String, example: String, _ hints: URLHints?, reads: (String) -> Bool
    ) -> AddressFault? {
        if text.hasPrefix("/"), reads("unix:\(text)") {
            return AddressFault(reason: "a path is no address; for a unix socket write \"unix:\(text)\"")
        }
        let mark = text.firstRange(of: "://")
        let scheme = mark.map { text[..<$0.lowerBound].lowercased() }
        let rest = text[(mark?.upperBound ?? text.startIndex)...]
        let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        guard scheme != nil || end < rest.endIndex else { return nil }
        let hasPath = rest.endIndex > end && rest[end...] != "/"
        var reason = "an address has \(scheme == nil ? "no path" : hasPath ? "no scheme and no path" : "no scheme")"
        var address = String(rest[..<end])
        if let standard = ["http": 80, "https": 443][scheme ?? ""], address.hasSuffix("]") || !address.contains(":") {
            address += ":\(standard)"
        }
        if !reads(address) {
            reason += ": write HOST:PORT, \(example)"
        } else if scheme == "https", let hints {
            reason += ": write \"address: \(address)\" and \(hints.securing)"
        } else {
            reason += ": write \"\(address)\""
        }
        return AddressFault(reason: reason + (hasPath ? hints?.path ?? "" : ""))
    }

    private static func unixPath(_ text: String) throws(AddressFault) -> String? {
        guard text.hasPrefix("unix:") else { return nil }
        let path = String(text.dropFirst(5))
        guard path.hasPrefix("/"), path.utf8.count > 1 else {
            throw AddressFault(reason: "a unix socket has an absolute path, as in unix:/run/app.sock")
        }
        // sun_path holds 108 bytes, the closing NUL included (unix(7)).
        guard path.utf8.count <= 107 else { throw AddressFault(reason: "a unix socket's path has at most 107 bytes") }
        if let last = path.split(separator: "/", omittingEmptySubsequences: false).last, ["", ".", ".."].contains(last)
        {
            throw AddressFault(reason: "a unix socket's path ends in the socket's own name, as in unix:/run/app.sock")
        }
        return path
    }

    private static func split(
        _ text: String, ports: ClosedRange<Int>, example: String
    ) throws(AddressFault) -> (host: String, port: Int) {
        guard let colon = text.lastIndex(of: ":"), !text.hasSuffix("]") else {
            throw AddressFault(reason: "\"\(text)\" has no port: write HOST:PORT, \(example)")
        }
        let digits = text[text.index(after: colon)...]
        guard let port = Int(digits), String(port) == digits, ports.contains(port) else {
            throw AddressFault(
                reason: "\"\(digits)\" is no port from \(ports.lowerBound) to \(ports.upperBound): "
                    + "write HOST:PORT, \(example)")
        }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = String(host.dropFirst().dropLast())
            if let percent = host.firstIndex(of: "%"), SocketAddress.parseHost(String(host[..<percent]), port: 0) != nil
            {
                throw AddressFault(
                    reason: "the interface in \"[\(host)]\" has no place here: write an address that holds by itself, "
                        + example)
            }
            guard isIPv6(host), let address = SocketAddress.parseHost(host, port: 0) else {
                throw AddressFault(reason: "\"[\(host)]\" is no IPv6 address")
            }
            // One spelling of each (RFC 5952), so that two of one address are seen to be one.
            host = address.hostText
        } else if host.contains(":") {
            throw AddressFault(
                reason: "an IPv6 address stands in brackets and, in YAML, in quotes, as in \"[::1]:8080\"")
        }
        guard !host.isEmpty else {
            throw AddressFault(reason: "\"\(text)\" has no host: write HOST:PORT, \(example)")
        }
        return (host, port)
    }

    /// What to write for several addresses with commas or blanks between them; nil of any other text.
    static func list(_ text: String, reads: (String) -> Bool) -> String? {
        let parts = text.split { $0 == "," || $0.isWhitespace }.map(String.init)
        guard parts.count > 1, parts.allSatisfy(reads) else { return nil }
        return "several addresses are a list: write [\(parts.map { "\"\($0)\"" }.joined(separator: ", "))]"
    }

    /// Whether a host is an address, without brackets.
    static func isAddress(_ host: String) -> Bool { isIPv4(host) || isIPv6(host) }

    /// Four numbers up to 255 without leading zeros.
    private static func isIPv4(_ text: String) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts.allSatisfy { UInt8($0).map { String($0) } == String($0) }
    }

    /// RFC 4291 §2.2: groups of hexadecimal digits, one `::` at most, an IPv4 address at the end at most.
    private static func isIPv6(_ text: String) -> Bool {
        let halves = text.split(separator: "::", omittingEmptySubsequences: false)
        guard halves.count <= 2 else { return false }
        var groups = 0
        for (index, half) in halves.enumerated() where !half.isEmpty {
            let parts = half.split(separator: ":", omittingEmptySubsequences: false)
            for (partIndex, part) in parts.enumerated() {
                if part.contains(".") {
                    guard index == halves.count - 1, partIndex == parts.count - 1, isIPv4(String(part)) else {
                        return false
                    }
                    groups += 2
                } else {
                    guard (1...4).contains(part.count), part.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
                        return false
                    }
                    groups += 1
                }
            }
        }
        return halves.count == 2 ? groups < 8 : groups == 8
    }
}

/// Why a text is no address.
public struct AddressFault: Error, Hashable, Sendable {
    /// One sentence in lower case without a full stop, which says what to write.
    public var reason: String

    /// Of an address that is listened on as `other`.
    static func taken(_ address: ListenAddress, as other: ListenAddress) -> AddressFault {
        AddressFault(reason: "\(address) is listened on already\(address == other ? "" : ", as \(other)")")
    }

    /// Of two addresses that overlap.
    static func overlap(_ address: ListenAddress, _ other: ListenAddress) -> AddressFault {
        AddressFault(
            reason: "\(address) and \(other) can't both be listened on: one is every address of this machine")
    }
}

extension ListenAddress {
    /// Reads an address to listen on as the settings write it: `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`,
    /// `unix:/run/recast.sock`, `systemd:web`.
    public init(parsing text: String) throws(AddressFault) {
        self = try AddressReader.listen(text)
    }
}
