/// The paths of routes as a tree of segments, which grows path by path. Equal paths, however they are written, are one group.
struct RouteTree {
    /// A place: the path's segments so far.
    struct Node {
        /// The places behind a literal segment.
        var places: [PathLiteral: Int] = [:]
        /// The place behind a free segment.
        var any: Int?
        /// The group of the path that ends here.
        var ends: Int?
        /// The groups of the paths with a star at the end, by what stands before the star.
        var rests: [PathLiteral: Int] = [:]
    }

    /// The first one is where every path begins.
    private(set) var nodes = [Node()]
    private var groupCount = 0

    /// The number of a path's group, from 0 on; a new one has the next number.
    mutating func group(of pattern: PathPattern) -> Int {
        var node = 0
        for segment in pattern.segments { node = place(behind: segment, of: node) }
        let known = pattern.rest.map { nodes[node].rests[$0] } ?? nodes[node].ends
        if let known { return known }
        if let rest = pattern.rest { nodes[node].rests[rest] = groupCount } else { nodes[node].ends = groupCount }
        groupCount += 1
        return groupCount - 1
    }

    /// The place behind a segment, which is made where there is none.
    private mutating func place(behind segment: PathPattern.Segment, of node: Int) -> Int {
        let next = nodes.count
        switch segment {
        case .any:
            if let known = nodes[node].any { return known }
            nodes[node].any = next
        case .literal(let literal):
            if let known = nodes[node].places[literal] { return known }
            nodes[node].places[literal] = next
        }
        nodes.append(Node())
        return next
    }

    /// Calls `body` with the groups whose paths cover `pattern` (see `PathPattern.covers`), each once.
    func forEachCover(of pattern: PathPattern, _ body: (Int) -> Void) {
        forEachCover(of: pattern, behind: 0, at: 0, body)
    }

    private func forEachCover(of pattern: PathPattern, behind index: Int, at number: Int, _ body: (Int) -> Void) {
        let node = nodes[number]
        guard index < pattern.segments.count else {
            if let rest = pattern.rest {
                forEachPrefix(of: rest, among: node.rests, body)
            } else if let ends = node.ends {
                body(ends)
            }
            return
        }
        switch pattern.segments[index] {
        case .any: if let all = node.rests[PathLiteral.empty] { body(all) }
        case .literal(let literal):
            forEachPrefix(of: literal, among: node.rests, body)
            if let next = node.places[literal] { forEachCover(of: pattern, behind: index + 1, at: next, body) }
            if literal.isEmpty { return }
        }
        if let next = node.any { forEachCover(of: pattern, behind: index + 1, at: next, body) }
    }

    private func forEachPrefix(of literal: PathLiteral, among rests: [PathLiteral: Int], _ body: (Int) -> Void) {
        if rests.isEmpty { return }
        for count in 0...literal.units.count {
            if let group = rests[PathLiteral(units: Array(literal.units.prefix(count)))] { body(group) }
        }
    }
}

/// Routes in their order, of which the first one that covers another is found without comparing each with each: a file may have
/// thousands.
public struct RouteCoverage {
    /// Routes with one path, told apart by what a route that they cover must have: one of their hosts, or else a value of their first
    /// header field, or else one of their types.
    private struct Group {
        /// Those that have none of these.
        var open: [Int] = []
        var keyed: [Key: [Int]] = [:]
        var all: [Int] = []
    }

    private enum Key: Hashable {
        case host(HostPattern)
        case header(name: String, value: String)
        case type(MediaRange)
    }

    private var tree = RouteTree()
    private var groups: [Group] = []
    private var matches: [RouteMatch] = []

    public init() {}

    /// Adds a route behind those that are there.
    public mutating func append(_ match: RouteMatch) {
        let number = tree.group(of: match.path)
        if number == groups.count { groups.append(Group()) }
        groups[number].all.append(matches.count)
        if !match.hosts.isEmpty {
            for host in Set(match.hosts) { groups[number].keyed[.host(host), default: []].append(matches.count) }
        } else if let condition = match.headers.first {
            for value in Set(condition.values) {
                groups[number].keyed[.header(name: condition.name, value: value), default: []].append(matches.count)
            }
        } else if !match.types.isEmpty {
            for type in Set(match.types) { groups[number].keyed[.type(type), default: []].append(matches.count) }
        } else {
            groups[number].open.append(matches.count)
        }
        matches.append(match)
    }

    /// The index of the first route that takes every request that one with `match` takes; nil for none.
    public func firstCovering(_ match: RouteMatch) -> Int? {
        var keys: [Key] = match.hosts.first.map { $0.covering.map(Key.host) } ?? []
        for condition in match.headers {
            if let value = condition.values.first { keys.append(.header(name: condition.name, value: value)) }
        }
        keys += match.types.first.map { $0.covering.map(Key.type) } ?? []
        var first = matches.count
        tree.forEachCover(of: match.path) { number in
            let group = groups[number]
            for candidates in [group.open] + keys.compactMap({ group.keyed[$0] }) {
                guard let found = candidates.first(where: { $0 >= first || matches[$0].covers(match) }) else {
                    continue
                }
                first = min(first, found)
            }
        }
        return first < matches.count ? first : nil
    }

    /// The indices of the routes whose paths take all that `pattern` takes, whatever else they ask for, in their order.
    public func indices(covering pattern: PathPattern) -> [Int] {
        var indices: [Int] = []
        tree.forEachCover(of: pattern) { indices += groups[$0].all }
        return indices.sorted()
    }
}
