internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Octets

/// What trusted peers said of where a request comes from: addresses from the client to the last proxy before us.
enum ClientChain {
    /// Bytes of such a chain that are taken at most; with more the request is refused, so that no hop behind us must.
    static let limit = 8 * 1024

    /// The client, by walking the chain from its right end over trusted proxies: whatever stands left of an address that isn't
    /// trusted may have been made up. `peer` is trusted. What can't be read ends the walk, as do 32 proxies; empty members of the list
    /// count for nothing (RFC 9110 §5.6.1.2).
    static func client(
        of head: borrowing MessageHead, _ format: ForwardedFormat, peer: SocketAddress, trusted: TrustedPeers
    ) -> SocketAddress {
        let field: KnownField = format == .forwarded ? .forwarded : .xForwardedFor
        var client = peer
        forEachMember(of: field, in: head) { member in
            guard let address = field == .forwarded ? forwardedFor(member) : address(member) else { return false }
            client = address
            return trusted.contains(address)
        }
        return client
    }

    /// Shows `body` the members of a list from the last one on, 32 at most, until it returns false.
    private static func forEachMember(
        of field: KnownField, in head: borrowing MessageHead, _ body: (Span<UInt8>) -> Bool
    ) {
        var steps = 0
        var line = head.fieldCount - 1
        while line >= 0 {
            defer { line -= 1 }
            guard head.known(line) == field else { continue }
            let value = head.value(line)
            var end = value.count
            while end >= 0 {
                let start = memberStart(value, before: end)
                let member = value.extracting(start..<end)
                end = start - 1
                if member.withoutBlanks.isEmpty { continue }
                steps += 1
                guard body(member), steps < 32 else { return }
            }
        }
    }

    /// What trusted peers said of the URL that the client asked for; what none has said is nil, or empty.
    struct Origin {
        var isSecure: Bool?
        /// In lower case, an IPv6 address without its brackets.
        var host: [UInt8] = []
        var port: Int?

        /// Host and port as they stand in a URL.
        var authority: [UInt8] {
            let name = String(decoding: host, as: UTF8.self)
            let named = name.utf8.contains(UInt8(ascii: ":")) ? "[\(name)]" : name
            return Array((port.map { "\(named):\($0)" } ?? named).utf8)
        }

        fileprivate mutating func take(scheme: Span<UInt8>) {
            isSecure = Scheme.isSecure(scheme)
        }

        fileprivate mutating func take(host text: Span<UInt8>) {
            guard let authority = MessageHead.authority(in: text) else { return }
            for index in authority.host where text[index] != UInt8(ascii: "[") && text[index] != UInt8(ascii: "]") {
                host.append(ASCII.lowercased(text[index]))
            }
            port = authority.port
        }
    }

    /// Where the client's request went, by a trusted peer's word. Of X-Forwarded-Proto and X-Forwarded-Host the last member counts, which
    /// is the peer's own; of Forwarded the element of the proxy that the client has reached, over trusted ones, as `client` finds it.
    static func origin(
        of head: borrowing MessageHead, _ format: ForwardedFormat, trusted: TrustedPeers
    ) -> Origin {
        var origin = Origin()
        guard format == .forwarded else {
            if let scheme = head.lastMember(of: .xForwardedProto) { origin.take(scheme: scheme) }
            if let host = head.lastMember(of: .xForwardedHost) { origin.take(host: host) }
            return origin
        }
        forEachMember(of: .forwarded, in: head) { member in
            origin = Origin()
            if let range = parameter("proto", of: member) { origin.take(scheme: member.extracting(range)) }
            if let range = parameter("host", of: member) { origin.take(host: member.extracting(range)) }
            guard let address = forwardedFor(member) else { return false }
            return trusted.contains(address)
        }
        return origin
    }

    /// Bytes of the chain that `head` has, its lines joined by a comma and a space.
    static func size(of head: borrowing MessageHead, _ field: KnownField) -> Int {
        guard head.contains(field) else { return 0 }
        var size = -2
        for line in 0..<head.fieldCount where head.known(line) == field { size += head.value(line).count + 2 }
        return size
    }

    /// Where the list's member that ends at `end` starts: behind the last comma that stands outside of a quoted string.
    private static func memberStart(_ value: Span<UInt8>, before end: Int) -> Int {
        var at = end
        var isQuoted = false
        while at > 0 {
            switch value[at - 1] {
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: ",") where !isQuoted: return at
            default: break
            }
            at -= 1
        }
        return 0
    }

    /// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:80`; nil for anything else.
    private static func address(_ member: Span<UInt8>) -> SocketAddress? {
        var text = Substring(member.lossyString())
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        if text.hasPrefix("[") {
            guard let close = text.firstIndex(of: "]"), isPort(text[text.index(after: close)...]) else { return nil }
            text = text[text.index(after: text.startIndex)..<close]
        } else if let colon = text.firstIndex(of: ":"), colon == text.lastIndex(of: ":") {
            guard isPort(text[colon...]) else { return nil }
            text = text[..<colon]
        }
        return SocketAddress.parseHost(String(text), port: 0)?.unmapped
    }

    private static func isPort(_ text: Substring) -> Bool {
        text.isEmpty
            || text.first == ":" && (2...6).contains(text.utf8.count) && text.dropFirst().utf8.allSatisfy(ASCII.isDigit)
    }

    /// The next semicolon outside of a quoted string, or the count.
    private static func parameterEnd(_ member: Span<UInt8>, from start: Int) -> Int {
        var at = start
        var isQuoted = false
        while at < member.count, isQuoted || member[at] != UInt8(ascii: ";") {
            if member[at] == UInt8(ascii: "\"") { isQuoted.toggle() }
            at += 1
        }
        return at
    }

    /// The address of the parameter `for` (RFC 7239 §5.2), nil for unknown and obfuscated ones.
    private static func forwardedFor(_ member: Span<UInt8>) -> SocketAddress? {
        guard let range = parameter("for", of: member) else { return nil }
        return address(member.extracting(range))
    }

    /// Where the value of a parameter stands, without its quotes; nil where there is no such parameter.
    private static func parameter(_ wanted: StaticString, of member: Span<UInt8>) -> Range<Int>? {
        var start = 0
        while start < member.count {
            let end = parameterEnd(member, from: start)
            var at =
                Scan.firstIndex(of: UInt8(ascii: "="), in: member.extracting(start..<end)).map { start + $0 } ?? end
            var name = start
            while name < at, member[name] == ASCII.space || member[name] == ASCII.tab { name += 1 }
            if at < end, member.extracting(name..<at).isEqualIgnoringCase(to: wanted) {
                at += 1
                var last = end
                while last > at, member[last - 1] == ASCII.space || member[last - 1] == ASCII.tab { last -= 1 }
                if last - at >= 2, member[at] == UInt8(ascii: "\""), member[last - 1] == UInt8(ascii: "\"") {
                    at += 1
                    last -= 1
                }
                return at..<last
            }
            start = end + 1
        }
        return nil
    }
}
