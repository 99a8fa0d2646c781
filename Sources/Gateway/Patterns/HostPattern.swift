internal import Octets

/// A host that a route is for: a name, or `*.` and a name for all names below it.
public struct HostPattern: Hashable, Sendable {
    /// In lower case, without port and without the dot that ends an absolute name; for names below a domain the domain with its
    /// leading dot.
    let name: String
    let takesSubdomains: Bool

    /// Reads `shop.example`, `*.shop.example`, `10.0.0.1` or `[::1]`; `shop.example.` is the first of these, as it is in a request.
    /// Throws a reason when it is something else.
    public init(parsing text: String) throws(PatternFault) {
        takesSubdomains = text.hasPrefix("*.")
        var name = takesSubdomains ? String(text.dropFirst()) : text
        if name.hasSuffix("."), name.utf8.count > 1 { name.removeLast() }
        let bytes = name.utf8Span.span
        let isLiteral = text.hasPrefix("[") && text.hasSuffix("]")
        guard bytes.count > (takesSubdomains ? 1 : 0) else { throw PatternFault("a host is empty", at: 0) }
        for index in bytes.indices {
            let byte = bytes[index]
            let at = index + (takesSubdomains ? 1 : 0)
            // No name has an empty label (RFC 1034 §3.1), so nobody would ever be matched.
            if byte == UInt8(ascii: "."), !isLiteral, index + 1 == bytes.count || bytes[index + 1] == byte {
                throw PatternFault("a host has something between its dots, and before the last one", at: at)
            }
            if byte == UInt8(ascii: "."), index == 0, !takesSubdomains {
                throw PatternFault("a host doesn't begin with a dot: all names below one are *\(name)", at: at)
            }
            if byte == UInt8(ascii: ":") && !isLiteral {
                if name.utf8.dropFirst(index).starts(with: "://".utf8) {
                    throw PatternFault("a host is matched without a scheme", at: takesSubdomains ? 1 : 0)
                }
                throw PatternFault("a host is matched without its port", at: at)
            }
            if byte == UInt8(ascii: "*") {
                throw PatternFault("a star stands only at the start of a host, as in *.shop.example", at: at)
            }
            let isName =
                ASCII.isAlpha(byte) || ASCII.isDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
            guard byte < 128 else {
                throw PatternFault(
                    "clients ask for a host in ASCII, with its other letters as in xn--bcher-kva.example (`idn2` prints that form)",
                    at: at)
            }
            guard isName || byte == UInt8(ascii: "_") || isLiteral else {
                throw PatternFault("this byte does not occur in a host", at: at)
            }
        }
        self.name = String(decoding: name.utf8.map(ASCII.lowercased), as: UTF8.self)
    }

    /// One name, in lower case.
    package init(name: String) {
        self.name = name
        takesSubdomains = false
    }

    func covers(_ other: HostPattern) -> Bool {
        takesSubdomains ? other.name.hasSuffix(name) : !other.takesSubdomains && other.name == name
    }

    /// The patterns that cover this one: itself, and all names below each of the domains above it.
    var covering: [HostPattern] {
        let domains = name.indices.filter { name[$0] == "." && ($0 > name.startIndex || takesSubdomains) }
        let above = domains.map { HostPattern(domain: String(name[$0...])) }
        return takesSubdomains ? above : [self] + above
    }

    /// All names below a domain, which begins with its dot and is in lower case.
    private init(domain: String) {
        name = domain
        takesSubdomains = true
    }

    /// Whether a head's host, in lower case and without a port, is meant. The dot that ends an absolute name plays no
    /// part.
    package func matches(_ host: Span<UInt8>) -> Bool {
        let wanted = name.utf8Span.span
        let host = Self.withoutRoot(host)
        if !takesSubdomains { return host.isEqual(to: wanted) }
        return host.count > wanted.count && host.extracting(last: wanted.count).isEqual(to: wanted)
    }

    /// A host without the dot that ends an absolute name.
    @_lifetime(copy host)
    static func withoutRoot(_ host: Span<UInt8>) -> Span<UInt8> {
        let isAbsolute = host.count > 1 && host[host.count - 1] == UInt8(ascii: ".")
        return host.extracting(first: host.count - (isAbsolute ? 1 : 0))
    }
}

extension HostPattern: CustomStringConvertible {
    public var description: String { takesSubdomains ? "*" + name : name }
}

/// What is wrong with a pattern, and at which byte of it.
public struct PatternFault: Error, Hashable, Sendable {
    public var reason: String
    /// The byte offset into the pattern's text.
    public var offset: Int

    public init(_ reason: String, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }
}
