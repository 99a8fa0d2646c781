package import HTTPWire
internal import Octets

/// The condition under which a route takes a request: all that is given must hold.
public struct RouteMatch: Hashable, Sendable {
    public var path: PathPattern
    /// Case-sensitive; empty: any.
    public var methods: [String]
    /// Any of these; empty: any.
    public var hosts: [HostPattern]
    /// The Content-Type is in any of these; empty: any.
    public var types: [MediaRange]
    /// Each of these holds.
    public var headers: [HeaderCondition]

    public init(
        path: PathPattern, methods: [String] = [], hosts: [HostPattern] = [], types: [MediaRange] = [],
        headers: [HeaderCondition] = []
    ) {
        self.path = path
        self.methods = methods
        self.hosts = hosts
        self.types = types
        self.headers = headers
    }

    /// Whether a field of a request decides whether it is taken, where its answer is one that caches keep (RFC 9110 §9.2.3).
    var choosesByFields: Bool {
        !(headers.isEmpty && types.isEmpty) && (methods.isEmpty || methods.contains { $0 == "GET" || $0 == "HEAD" })
    }

    /// Whether every request that `other` takes is taken here too, so that a route with `other` behind one with this
    /// can never match.
    public func covers(_ other: RouteMatch) -> Bool {
        path.covers(other.path)
            && (methods.isEmpty || !other.methods.isEmpty && other.methods.allSatisfy(methods.contains))
            && (hosts.isEmpty
                || !other.hosts.isEmpty && other.hosts.allSatisfy { host in hosts.contains { $0.covers(host) } })
            && (types.isEmpty
                || !other.types.isEmpty && other.types.allSatisfy { type in types.contains { $0.covers(type) } })
            && headers.allSatisfy { mine in other.headers.contains { mine.covers($0) } }
    }
}

/// A field of the request's head must have one of these values, byte for byte; one line of it suffices.
public struct HeaderCondition: Hashable, Sendable {
    /// In lower case.
    public var name: String
    /// At least one.
    public var values: [String]

    public init(name: String, values: [String]) {
        self.name = name
        self.values = values
    }

    func covers(_ other: HeaderCondition) -> Bool {
        name == other.name && other.values.allSatisfy(values.contains)
    }
}

/// The conditions of a route, one by one. They are the route's and not the match's, so that only what is looked at is
/// retained: a match is eight references to copy.
extension Route {
    func takesMethod(of head: borrowing MessageHead) -> Bool {
        if match.methods.isEmpty { return true }
        let method = head.method
        for candidate in match.methods where method.isEqual(to: candidate.utf8Span.span) { return true }
        return false
    }

    package func takesHost(of head: borrowing MessageHead) -> Bool {
        if match.hosts.isEmpty { return true }
        for candidate in match.hosts where candidate.matches(head.host) { return true }
        return false
    }

    func takesType(of head: borrowing MessageHead) -> Bool {
        if match.types.isEmpty { return true }
        guard let line = head.first(.contentType) else { return false }
        for candidate in match.types where candidate.matches(contentType: head.value(line)) { return true }
        return false
    }

    func takesHeaders(of head: borrowing MessageHead) -> Bool { firstHeaderUnmet(by: head) == nil }

    /// The field, in lower case, for which a request isn't taken that meets the conditions of path, method and host: the first one.
    func fieldUnmet(by head: borrowing MessageHead) -> String? {
        guard takesMethod(of: head), takesHost(of: head) else { return nil }
        if let index = firstHeaderUnmet(by: head) { return match.headers[index].name }
        return takesType(of: head) ? nil : "content-type"
    }

    /// The place of the first field whose condition doesn't hold.
    @inline(__always)
    private func firstHeaderUnmet(by head: borrowing MessageHead) -> Int? {
        for (index, condition) in match.headers.enumerated() {
            var holds = false
            var next = head.first(named: condition.name.utf8Span.span)
            while let line = next, !holds {
                for wanted in condition.values where head.value(line).isEqual(to: wanted.utf8Span.span) { holds = true }
                next = head.first(named: condition.name.utf8Span.span, from: line + 1)
            }
            if !holds { return index }
        }
        return nil
    }
}
