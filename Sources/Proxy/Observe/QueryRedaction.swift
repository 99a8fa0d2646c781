internal import Gateway
internal import HTTPWire
internal import Octets

extension OutputBuffer {
    /// Appends a query as logs may show it. Redacted, each value is a `*`, and so is a piece without `=`: it may be a value
    /// without a name.
    mutating func append(query: Span<UInt8>, _ rule: LoggedQuery) {
        guard rule == .redact else { return append(query) }
        var start = 0
        while true {
            let end = Scan.firstIndex(of: UInt8(ascii: "&"), in: query, from: start) ?? query.count
            append(redacted: query.extracting(start..<end))
            guard end < query.count else { return }
            append(UInt8(ascii: "&"))
            start = end + 1
        }
    }

    /// Appends a path as logs may show it. What stands behind a `;` of a segment (RFC 3986 §3.3) is a session of some servers,
    /// as in `;jsessionid=…`: it is treated as a parameter of the query is. An escaped `;` is one, too, for those who decode
    /// before they look.
    mutating func append(path: Span<UInt8>, _ rule: LoggedQuery) {
        guard rule != .keep else { return append(path) }
        var at = 0
        while true {
            let (start, mark) = PathParameters.next(in: path, from: at)
            append(path.extracting(at..<start))
            guard start < path.count else { return }
            let slash = Scan.firstIndex(of: UInt8(ascii: "/"), in: path, from: start) ?? path.count
            at = min(slash, PathParameters.next(in: path, from: start + mark).start)
            if rule == .redact {
                append(path.extracting(start..<start + mark))
                append(redacted: path.extracting(start + mark..<at))
            }
        }
    }

    /// As above, of a path in which values stand that give access: each is a `*`.
    ///
    /// - Parameter secrets: where they stand, in ascending order.
    mutating func append(path: Span<UInt8>, hiding secrets: [Range<Int>], _ rule: LoggedQuery) {
        guard !secrets.isEmpty else { return append(path: path, rule) }
        var shown = OutputBuffer()
        var at = 0
        for secret in secrets where secret.lowerBound >= at && secret.upperBound <= path.count && !secret.isEmpty {
            shown.append(path.extracting(at..<secret.lowerBound))
            shown.append(UInt8(ascii: "*"))
            at = secret.upperBound
        }
        shown.append(path.extracting(at..<path.count))
        append(path: shown.span, rule)
    }

    /// Appends the address of a page as logs may show it: its path and query as above, no password, no fragment.
    mutating func append(reference: Span<UInt8>, _ rule: LoggedQuery) {
        guard rule != .keep else { return append(reference) }
        let fragment = Scan.firstIndex(of: UInt8(ascii: "#"), in: reference, from: 0) ?? reference.count
        let query = Scan.firstIndex(of: UInt8(ascii: "?"), in: reference.extracting(0..<fragment), from: 0) ?? fragment
        var path = 0
        if let authority = PathParameters.authority(of: reference.extracting(0..<query)) {
            append(reference.extracting(0..<authority.lowerBound))
            var at = authority.upperBound
            while at > authority.lowerBound, reference[at - 1] != UInt8(ascii: "@") { at -= 1 }
            if at > authority.lowerBound { append("*@") }
            append(reference.extracting(at..<authority.upperBound))
            path = authority.upperBound
        } else if let user = PathParameters.userinfo(of: reference.extracting(0..<query)) {
            append(reference.extracting(0..<user.lowerBound))
            append("*")
            path = user.upperBound
        }
        append(path: reference.extracting(path..<query), rule)
        if query < fragment, rule == .redact {
            append(UInt8(ascii: "?"))
            append(query: reference.extracting(query + 1..<fragment), rule)
        }
        if fragment < reference.count, rule == .redact { append("#*") }
    }

    private mutating func append(redacted piece: Span<UInt8>) {
        if let equals = Scan.firstIndex(of: UInt8(ascii: "="), in: piece, from: 0) {
            append(piece.extracting(0...equals))
        }
        if !piece.isEmpty { append(UInt8(ascii: "*")) }
    }
}

extension Exchange {
    /// Whether values may stand in the request's path that logs don't show: those of variables that give access by their names, of its
    /// own route or of one that doesn't take it.
    var mayHidePath: Bool {
        if let snapshot { return snapshot.routes.hidesVariables }
        return worker.current.routes.hidesVariables
    }

    /// Where they stand.
    func secretsOfPath(_ rule: LoggedQuery) -> [Range<Int>] {
        guard rule != .keep, mayHidePath else { return [] }
        guard let route, !route.secretVariables.isEmpty else {
            return (snapshot ?? worker.current).routes.secretVariables(of: request)
        }
        let captures = self.captures
        return route.secretVariables.filter { $0 < captures.count }.map { captures[$0] }
    }

    /// Those values, as the path has them.
    var secretValuesOfPath: [[UInt8]] { request.valuesOfPath(in: secretsOfPath(.redact)) }
}

extension MessageHead {
    /// What the path has there.
    fileprivate func valuesOfPath(in ranges: [Range<Int>]) -> [[UInt8]] {
        var values: [[UInt8]] = []
        for range in ranges where !range.isEmpty && range.upperBound <= path.count {
            values.append(path.extracting(range).copied())
        }
        return values
    }
}

/// Where the parameters of a path's segments stand.
enum PathParameters {
    /// Whether a path has any.
    static func occur(in path: Span<UInt8>) -> Bool { next(in: path, from: 0).start < path.count }

    /// Where the mark in front of the next parameter at or behind `at` begins, and how long it is: `;`, `%3B` or `%3b`. The end
    /// of the path where there is none.
    static func next(in path: Span<UInt8>, from at: Int) -> (start: Int, mark: Int) {
        for index in at..<path.count {
            if path[index] == UInt8(ascii: ";") { return (index, 1) }
            guard path[index] == UInt8(ascii: "%"), index + 2 < path.count, path[index + 1] == UInt8(ascii: "3"),
                path[index + 2] | 0x20 == UInt8(ascii: "b")
            else { continue }
            return (index, 3)
        }
        return (path.count, 0)
    }

    /// A target in which each segment is a `*` that is, or holds, one of these values: a short one alone.
    static func hide(_ values: [[UInt8]], in target: [UInt8]) -> [UInt8] {
        let end = target.firstIndex(of: UInt8(ascii: "?")) ?? target.count
        let segments = target[..<end].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let shown = segments.map { segment in
            let isSecret = values.contains { value in
                segment.elementsEqual(value) || value.count >= 4 && segment.firstRange(of: value) != nil
            }
            return isSecret ? [UInt8(ascii: "*")] : Array(segment)
        }
        return Array(shown.joined(separator: [UInt8(ascii: "/")])) + target[end...]
    }

    /// Where the authority stands of `http://user@host/path`, or of `//host/path`; nil without one.
    fileprivate static func authority(of reference: Span<UInt8>) -> Range<Int>? {
        guard let slash = Scan.firstIndex(of: UInt8(ascii: "/"), in: reference, from: 0), slash + 1 < reference.count,
            reference[slash + 1] == UInt8(ascii: "/"), slash == 0 || reference[slash - 1] == UInt8(ascii: ":")
        else { return nil }
        let end = Scan.firstIndex(of: UInt8(ascii: "/"), in: reference, from: slash + 2) ?? reference.count
        return slash + 2..<end
    }

    /// Where what may be a user with a password stands in what has a scheme or a user and no authority, as `http:/user:word@host/` and
    /// `user:word@host`: up to the last `@`. Nil where there is none.
    fileprivate static func userinfo(of reference: Span<UInt8>) -> Range<Int>? {
        guard let colon = Scan.firstIndex(of: UInt8(ascii: ":"), in: reference, from: 0),
            Scan.firstIndex(of: UInt8(ascii: "/"), in: reference.extracting(0..<colon), from: 0) == nil
        else { return nil }
        var end = reference.count
        while end > colon + 1, reference[end - 1] != UInt8(ascii: "@") { end -= 1 }
        return end > colon + 1 ? colon + 1..<end - 1 : nil
    }
}
