package import HTTPWire
package import Octets

/// The way back from an upstream's addresses to those that a route's clients know (`addresses: outer`), for Location,
/// Content-Location and the Path and Domain of cookies: what others call ProxyPassReverse or `proxy_redirect`.
///
/// An address is undone by the route that could have made it of a request: the one that answers, else the first in the settings that
/// has the same upstream and the same hosts. What none of them makes stays as it came, and so does what would lead elsewhere than
/// it did: a path with a dot segment, and one that would begin with two slashes, which is another host's.
package final class OuterAddresses: Sendable {
    /// How the paths that a route makes become those that it takes.
    private struct Way: Sendable {
        let inner: [Rewrite.PathPiece]
        let outer: [Rewrite.PathPiece]
        /// How many variables there are; each stands once in both.
        let variables: Int
        /// The variable that may hold slashes, or nothing; -1 where there is none.
        let rest: Int
    }

    /// What routes have in common for which the same ways are looked at.
    private struct Group: Hashable {
        let upstream: Int?
        let hosts: [HostPattern]

        init(_ route: Route) {
            upstream = route.upstream
            hosts = route.match.hosts
        }
    }

    /// Those of the route which answers, where its rewrite can be undone.
    private let own: [Way]
    /// Those of all routes of its upstream and hosts, in the order of the settings: one list, which those routes share.
    private let ways: [Way]
    /// The authorities that stand for the upstream.
    private let hosts: [[UInt8]]

    private init(own: [Way], ways: [Way], hosts: [String]) {
        self.own = own
        self.ways = ways
        self.hosts = hosts.map { Array($0.utf8) }
    }

    /// Those of all `routes`, in the same order; nil for a route without `addresses: outer`.
    ///
    /// - Parameter hosts: the authorities by which a route's upstream is called: that of its Host field, and its addresses.
    package static func all(of routes: [Route], hosts: (Route) -> [String]) -> [OuterAddresses?] {
        guard routes.contains(where: \.returnsAddresses) else { return routes.map { _ in nil } }
        let own = routes.map(ways(back:))
        var groups: [Group: [Way]] = [:]
        for (route, ways) in zip(routes, own) { groups[Group(route), default: []] += ways }
        return zip(routes, own).map { route, own in
            guard route.returnsAddresses else { return nil }
            return OuterAddresses(own: own, ways: groups[Group(route)] ?? [], hosts: hosts(route))
        }
    }

    /// Whether what `route` makes of a path says which path it was: each variable stands in it once, and between two is a text.
    package static func canReturn(_ route: Route) -> Bool { !ways(back: route).isEmpty }

    /// The way back from what a route makes, and where a star can leave a slash out by standing for nothing (`Rewrite`), that from there.
    private static func ways(back route: Route) -> [Way] {
        let pattern = route.match.path
        let outer = pattern.pieces
        let inner = route.rewrite.flatMap { $0.path.isEmpty ? nil : $0.path } ?? outer
        var seen: Set<Int> = []
        var isBehindVariable = false
        for piece in inner {
            guard case .variable(let variable) = piece else {
                isBehindVariable = false
                continue
            }
            guard !isBehindVariable, seen.insert(variable).inserted else { return [] }
            isBehindVariable = true
        }
        guard seen.count == pattern.variables.count else { return [] }
        let count = pattern.variables.count
        let way = Way(inner: inner, outer: outer, variables: count, rest: pattern.rest == nil ? -1 : count - 1)
        guard route.rewritesToRest, inner.count > 2, case .literal(let next) = inner[2], next.hasPrefix("/") else {
            return [way]
        }
        let short: [Rewrite.PathPiece] = [.literal("/" + next.drop { $0 == "/" })] + inner[3...]
        return [way, Way(inner: short, outer: outer, variables: count, rest: count - 1)]
    }

    // MARK: Fields

    /// The fields of a response with that head that `appendLines` writes anew.
    package static func fields(of head: borrowing MessageHead) -> KnownFieldSet {
        var fields: KnownFieldSet = []
        if head.contains(.location) { fields.formUnion([.location]) }
        if head.contains(.contentLocation) { fields.formUnion([.contentLocation]) }
        if head.contains(.setCookie) { fields.formUnion([.setCookie]) }
        return fields
    }

    /// Appends the lines of those fields, for a client that called one of `authorities`, as far as is known.
    package func appendLines(of head: borrowing MessageHead, authorities: [[UInt8]], to output: inout OutputBuffer) {
        for line in 0..<head.fieldCount where !head.isHopByHop(line) {
            guard let value = outer(line, of: head, authorities) else { continue }
            output.append(head.name(line))
            output.append(": ")
            output.append(value.span)
            output.append("\r\n")
        }
    }

    /// The value of a line that is written anew; nil: it isn't.
    private func outer(_ line: Int, of head: borrowing MessageHead, _ authorities: [[UInt8]]) -> [UInt8]? {
        switch head.known(line) {
        case .location, .contentLocation:
            if let outer = outer(reference: head.value(line), authorities) { return outer }
            return head.value(line).copied()
        case .setCookie: return outer(cookie: head.value(line), authorities)
        default: return nil
        }
    }

    /// The URI reference that leads a client of one of `called` where `text` leads the upstream's; nil: `text` itself does, or none.
    ///
    /// An address of the client's own host keeps its scheme and host, so that a redirect from http to https stays one. One of the
    /// upstream's host loses both (RFC 9110 §10.2.2 lets it).
    func outer(reference text: Span<UInt8>, _ called: [[UInt8]]) -> [UInt8]? {
        var start = 0
        var keepsOrigin = false
        if let named = Self.authority(of: text) {
            let host = text.extracting(named.range)
            keepsOrigin = Self.stands(host, named.port, for: called)
            guard keepsOrigin || Self.stands(host, named.port, for: hosts) else { return nil }
            start = named.range.upperBound
        } else if text.isEmpty || text[0] != UInt8(ascii: "/") {
            return nil
        }
        var end = start
        while end < text.count, text[end] != UInt8(ascii: "?"), text[end] != UInt8(ascii: "#") { end += 1 }
        let received = start == end ? [UInt8(ascii: "/")] : text.extracting(start..<end).copied()
        guard let path = outer(path: received.span) else { return nil }
        if !keepsOrigin, path.count > 1, path[1] == UInt8(ascii: "/") || path[1] == UInt8(ascii: "\\") { return nil }
        return (keepsOrigin ? text.extracting(0..<start).copied() : []) + path
            + text.extracting(end..<text.count).copied()
    }

    /// Where the authority stands in `http://host/…`, `https://host/…` or `//host/…`, and the port that the scheme has; nil: nowhere.
    private static func authority(of text: Span<UInt8>) -> (range: Range<Int>, port: StaticString)? {
        var start = 2
        var port: StaticString = ""
        if text.count > 7, text.extracting(0..<7).isEqualIgnoringCase(to: "http://") {
            (start, port) = (7, ":80")
        } else if text.count > 8, text.extracting(0..<8).isEqualIgnoringCase(to: "https://") {
            (start, port) = (8, ":443")
        } else if text.count < 2 || !text.extracting(0..<2).isEqual(to: "//") {
            return nil
        }
        var end = start
        while end < text.count, !"/?#\\".utf8.contains(text[end]) { end += 1 }
        return (start..<end, port)
    }

    /// Whether `host`, of a scheme with that port, is one of `authorities`, which may say that port or leave it out, as it may itself.
    private static func stands(_ host: Span<UInt8>, _ port: StaticString, for authorities: [[UInt8]]) -> Bool {
        let plain = without(port, host)
        for own in authorities where plain.isEqualIgnoringCase(to: without(port, own.span)) { return true }
        return false
    }

    @_lifetime(copy host)
    private static func without(_ port: StaticString, _ host: Span<UInt8>) -> Span<UInt8> {
        let end = host.count - port.utf8CodeUnitCount
        guard end > 0, end < host.count, host.extracting(end..<host.count).isEqual(to: port) else { return host }
        return host.extracting(0..<end)
    }

    // MARK: Cookies

    /// The value of Set-Cookie (RFC 6265 §4.1) with the path that a browser sends it back for. A domain that is the upstream's host goes
    /// where a browser would refuse it, and the cookie is of the host that was called. `__Host-` cookies have the path `/`, always.
    func outer(cookie value: Span<UInt8>, _ called: [[UInt8]]) -> [UInt8] {
        var new: [UInt8] = []
        var start = 0
        var isOfHost = false
        while start <= value.count {
            let end = Scan.firstIndex(of: UInt8(ascii: ";"), in: value, from: start) ?? value.count
            let member = value.extracting(start..<end)
            if start == 0 {
                let prefix = member.withoutBlanks
                isOfHost = prefix.count >= 7 && prefix.extracting(0..<7).isEqualIgnoringCase(to: "__host-")
                new += member.copied()
            } else {
                append(attribute: member, isOfHost: isOfHost, called, to: &new)
            }
            start = end + 1
        }
        return new
    }

    private func append(
        attribute: Span<UInt8>, isOfHost: Bool, _ called: [[UInt8]], to output: inout [UInt8]
    ) {
        let equals = Scan.firstIndex(of: UInt8(ascii: "="), in: attribute) ?? attribute.count
        let name = attribute.extracting(0..<equals).withoutBlanks
        let range = attribute.rangeWithoutBlanks(in: min(equals + 1, attribute.count)..<attribute.count)
        if name.isEqualIgnoringCase(to: "domain"), isForeign(domain: attribute.extracting(range), called) { return }
        output.append(UInt8(ascii: ";"))
        if !isOfHost, name.isEqualIgnoringCase(to: "path"), let path = outer(cookiePath: attribute.extracting(range)) {
            output += attribute.extracting(0..<range.lowerBound).copied() + path
        } else {
            output += attribute.copied()
        }
    }

    /// A path of a cookie is one of a folder, with its slash at the end or without.
    private func outer(cookiePath path: Span<UInt8>) -> [UInt8]? {
        guard !path.isEmpty, path[0] == UInt8(ascii: "/") else { return nil }
        if let outer = outer(path: path) { return outer }
        guard path[path.count - 1] != UInt8(ascii: "/") else { return nil }
        let folder = path.copied() + [UInt8(ascii: "/")]
        guard var outer = outer(path: folder.span) else { return nil }
        if outer.count > 1, outer.last == UInt8(ascii: "/") { outer.removeLast() }
        return outer
    }

    /// Whether a domain is the upstream's host, and neither the client's nor one above it.
    private func isForeign(domain: Span<UInt8>, _ called: [[UInt8]]) -> Bool {
        let first = !domain.isEmpty && domain[0] == UInt8(ascii: ".") ? 1 : 0
        let name = domain.extracting(first..<domain.count)
        for authority in called {
            let host = authority.span.extracting(0..<Self.hostEnd(authority.span))
            let above = host.count - name.count
            if above >= 0, host.extracting(above..<host.count).isEqualIgnoringCase(to: name),
                above == 0 || host[above - 1] == UInt8(ascii: ".")
            {
                return false
            }
        }
        for own in hosts {
            let host = own.span
            if name.isEqualIgnoringCase(to: host.extracting(0..<Self.hostEnd(host))) { return true }
        }
        return false
    }

    /// Where the port begins, or the end. An address of IPv6 stands in brackets, and is no domain.
    private static func hostEnd(_ authority: Span<UInt8>) -> Int {
        Scan.firstIndex(of: UInt8(ascii: ":"), in: authority) ?? authority.count
    }

    // MARK: Paths

    /// The path that a request had of which a route makes `path`; nil where none does.
    private func outer(path: Span<UInt8>) -> [UInt8]? {
        guard DotSegment.first(in: path) == nil else { return nil }
        // Browsers leave tabs out, and what stands behind them would move up.
        for index in path.indices where path[index] <= ASCII.space { return nil }
        for way in own { if let outer = Self.outer(path: path, by: way) { return outer } }
        for way in ways { if let outer = Self.outer(path: path, by: way) { return outer } }
        return nil
    }

    private static func outer(path: Span<UInt8>, by way: Way) -> [UInt8]? {
        guard let values = values(of: path, by: way) else { return nil }
        var outer: [UInt8] = []
        for piece in way.outer {
            switch piece {
            case .literal(let text): outer += Array(text.utf8)
            case .variable(let index): outer += path.extracting(values[index]).copied()
            }
        }
        // What stood beside a text of the rewrite may be one by itself.
        return DotSegment.first(in: outer.span) == nil ? outer : nil
    }

    /// What the variables stand for in a path that `way` makes; nil: it doesn't make `path`. A variable ends where the text behind it
    /// first stands, the last one where the path ends.
    private static func values(of path: Span<UInt8>, by way: Way) -> [Range<Int>]? {
        // Most ways begin otherwise.
        if case .literal(let text)? = way.inner.first, !begins(path, with: text.utf8Span.span, at: 0) { return nil }
        var values = Array(repeating: 0..<0, count: way.variables)
        var at = 0
        for (index, piece) in way.inner.enumerated() {
            switch piece {
            case .literal(let text):
                guard begins(path, with: text.utf8Span.span, at: at) else { return nil }
                at += text.utf8.count
            case .variable(let variable):
                guard let end = Self.end(from: at, in: path, isRest: variable == way.rest, way.inner[(index + 1)...])
                else { return nil }
                values[variable] = at..<end
                at = end
            }
        }
        return at == path.count ? values : nil
    }

    private static func begins(_ path: Span<UInt8>, with text: Span<UInt8>, at start: Int) -> Bool {
        start + text.count <= path.count && path.extracting(start..<start + text.count).isEqual(to: text)
    }

    private static func end(
        from start: Int, in path: Span<UInt8>, isRest: Bool, _ following: ArraySlice<Rewrite.PathPiece>
    ) -> Int? {
        let first = isRest ? start : start + 1
        let limit = isRest ? path.count : Scan.firstIndex(of: UInt8(ascii: "/"), in: path, from: start) ?? path.count
        guard first <= limit else { return nil }
        guard case .literal(let text)? = following.first else { return limit }
        let next = text.utf8Span.span
        if following.count == 1 {
            let end = path.count - next.count
            return (first...limit).contains(end) ? end : nil
        }
        for end in first...limit where begins(path, with: next, at: end) { return end }
        return nil
    }
}

extension PathPattern {
    /// What a path that the pattern takes is put together of: the literals, as a target may hold them, and the variables by their indices.
    fileprivate var pieces: [Rewrite.PathPiece] {
        var (pieces, literal): ([Rewrite.PathPiece], [UInt8]) = ([], [])
        var variable = 0
        let parts = Array(text.utf8).split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
        for (index, part) in zip(parts.indices, parts) {
            literal.append(UInt8(ascii: "/"))
            let isRest = index == parts.endIndex - 1 && part.last == UInt8(ascii: "*")
            let isVariable = isRest || part.first == UInt8(ascii: "{") || part.elementsEqual([UInt8(ascii: "*")])
            if isRest || !isVariable { literal += isRest ? part.dropLast() : part }
            guard isVariable || index == parts.endIndex - 1 else { continue }
            pieces.append(.literal(PercentText.target(literal.span)))
            literal.removeAll()
            guard isVariable else { continue }
            pieces.append(.variable(variable))
            variable += 1
        }
        return pieces
    }
}
