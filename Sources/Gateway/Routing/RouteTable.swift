public import HTTPWire
internal import Octets

/// The routes, ready for look-up: the first one in their order whose conditions all hold decides.
///
/// Paths stand in a tree of segments, so a look-up costs by the depth of the path and not by the number of routes. It
/// allocates nothing when a route is found. A class, so that a look-up doesn't copy its lists' references.
public final class RouteTable: Sendable {
    /// A route that takes the request.
    public struct Found: Sendable {
        public let route: Route
        /// One range of the path for each of `route.match.path.variables`.
        public let captures: PathCaptures
    }

    public enum Lookup: Sendable {
        case found(Found)
        /// Nothing is served at this path, host and header: 404.
        case noRoute
        /// There are routes for other methods: 405 with these in Allow, in the order of the routes.
        case methodNotAllowed([String])
        /// There are routes for other types: 415 with these in Accept-Post, in the order of the routes.
        case typeNotAccepted([String])
        /// The path has a percent sign without two hexadecimal digits at this offset: 400.
        case malformedPath(offset: Int)
        /// The path has a dot segment at this offset: 400.
        case dotSegment(offset: Int)
        /// The path has an empty segment at this offset: 400.
        case emptySegment(offset: Int)
    }

    /// A place in the tree, the path's segments so far, with ranges of the lists below. All are plain numbers, so that a walk
    /// through the tree counts no references.
    private struct Node {
        /// Among `literals`, by their hashes in ascending order.
        var literals: Range<Int>
        /// The place behind a free segment, or -1.
        var any: Int
        /// Among `candidates`: the routes whose path ends here, in ascending order.
        var ends: Range<Int>
        /// Among `stars`.
        var stars: Range<Int>
    }

    /// The place behind a literal segment.
    private struct Literal {
        var hash: UInt64
        /// Among `units`.
        var units: Range<Int>
        var node: Int
    }

    /// The routes with a star at the end, by what stands before the star.
    private struct Star {
        /// Among `units`.
        var prefix: Range<Int>
        /// Among `candidates`, in ascending order.
        var routes: Range<Int>
    }

    /// The tree, laid out flat.
    private struct Lists {
        var nodes: [Node] = []
        var literals: [Literal] = []
        var stars: [Star] = []
        /// Indices of routes.
        var candidates: [Int] = []
        /// The bytes of all literals.
        var units: [UInt16] = []

        mutating func add(_ node: RouteTree.Node) {
            let (literal, star) = (literals.count, stars.count)
            for (hash, literal, next) in node.literals {
                literals.append(Literal(hash: hash, units: add(literal), node: next))
            }
            for (prefix, routes) in node.rests { stars.append(Star(prefix: add(prefix), routes: add(routes))) }
            let ends = add(node.ends)
            nodes.append(
                Node(
                    literals: literal..<literals.count, any: node.any ?? -1, ends: ends, stars: star..<stars.count))
        }

        private mutating func add(_ literal: PathLiteral) -> Range<Int> {
            let start = units.count
            units += literal.units
            return start..<units.count
        }

        private mutating func add(_ indices: [Int]) -> Range<Int> {
            let start = candidates.count
            candidates += indices
            return start..<candidates.count
        }
    }

    public let routes: [Route]
    private let nodes: [Node]
    private let literals: [Literal]
    private let stars: [Star]
    private let candidates: [Int]
    private let units: [UInt16]

    /// Whether a malformed escape in a path is an error, or else bytes like any others.
    private let checksEscapes: Bool
    private let checksDots: Bool
    private let checksSlashes: Bool
    private let skipsSlashes: Bool
    /// Whether `normalize` has something to do.
    let normalizes: Bool
    /// Whether a route may have to know the target as it came, which `normalize` changes.
    package let keepsTargets: Bool
    private let paths: PathRules

    public init(_ routes: [Route], checksEscapes: Bool = true, paths: PathRules = PathRules()) {
        self.routes = routes
        self.checksEscapes = checksEscapes
        self.paths = paths
        checksDots = paths.dotSegments != .pass
        checksSlashes = paths.emptySegments == .reject
        skipsSlashes = paths.emptySegments == .ignore
        normalizes = paths.dotSegments == .normalize || paths.emptySegments == .merge
        keepsTargets = normalizes && routes.contains { $0.verification != nil }
        var lists = Lists()
        for node in RouteTree(routes).nodes { lists.add(node) }
        (nodes, literals, stars) = (lists.nodes, lists.literals, lists.stars)
        (candidates, units) = (lists.candidates, lists.units)
    }

    /// Makes of a request's path what `find` and the upstream get.
    public func normalize(_ head: inout MessageHead) {
        guard normalizes else { return }
        head.normalizePath(
            resolvingDots: paths.dotSegments == .normalize, mergingSlashes: paths.emptySegments == .merge)
    }

    /// The route for a request, or what to answer when there is none.
    public func find(_ head: borrowing MessageHead) -> Lookup {
        let path = head.path
        if checksEscapes, head.pathHasEscapes, let offset = PathLiteral.malformedEscape(in: path) {
            return .malformedPath(offset: offset)
        }
        // Nearly all paths have neither a dot nor an escape.
        if checksDots, head.pathHasEscapes || Scan.firstIndex(of: UInt8(ascii: "."), in: path, from: 0) != nil,
            let offset = DotSegment.first(in: path)
        {
            return .dotSegment(offset: offset)
        }
        if checksSlashes, let offset = Self.emptySegment(in: path) { return .emptySegment(offset: offset) }
        guard path.count > 0, path[0] == UInt8(ascii: "/") else { return .noRoute }
        var search = Search(best: routes.count)
        visit(0, path, from: 1, head, &search)
        if search.best < routes.count { return .found(Found(route: routes[search.best], captures: search.captures)) }
        if !search.hasOtherMethod && !search.hasOtherType { return .noRoute }
        search.collects = true
        visit(0, path, from: 1, head, &search)
        search.refused.sort()
        if search.hasOtherType {
            let types = search.refused.flatMap { routes[$0].match.types.map(\.description) }
            return .typeNotAccepted(Self.distinct(types))
        }
        return .methodNotAllowed(Self.distinct(search.refused.flatMap { routes[$0].match.methods }))
    }

    /// The route at `index` for a request that names it, whatever its conditions are: with the variables of its path where the
    /// request's path matches that; nil where it takes some, and the path doesn't match.
    package func find(at index: Int, for head: borrowing MessageHead) -> Found? {
        let path = head.path
        var search = Search(best: routes.count, only: index)
        if path.count > 0, path[0] == UInt8(ascii: "/") { visit(0, path, from: 1, head, &search) }
        guard search.best == index || !routes[index].readsPath else { return nil }
        return Found(route: routes[index], captures: search.captures)
    }

    private static func emptySegment(in path: Span<UInt8>) -> Int? {
        for index in path.indices.dropFirst()
        where path[index] == UInt8(ascii: "/") && path[index - 1] == UInt8(ascii: "/") { return index }
        return nil
    }

    private static func distinct(_ words: [String]) -> [String] {
        words.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// What a look-up knows on its way through the tree.
    private struct Search {
        /// The lowest index of a route that matches, or the number of routes.
        var best: Int
        /// The index of the one route that is asked for, whatever its conditions are; -1: any.
        var only = -1
        /// What `best` captured.
        var captures = PathCaptures()
        /// What the way to the present node captured.
        var way = PathCaptures()
        /// A route's conditions hold but for its method.
        var hasOtherMethod = false
        /// A route's conditions hold but for its type.
        var hasOtherType = false
        /// Whether this is the second run, which gathers the routes that refused the request.
        var collects = false
        var refused: [Int] = []
    }

    /// Looks at all routes whose path goes through `node`, where the rest of the path begins at `start`.
    private func visit(
        _ node: Int, _ path: Span<UInt8>, from start: Int, _ head: borrowing MessageHead,
        _ search: inout Search
    ) {
        let node = nodes[node]
        var start = start
        if skipsSlashes { while start < path.count, path[start] == UInt8(ascii: "/") { start &+= 1 } }
        for index in node.stars {
            let star = stars[index]
            guard let end = end(of: star.prefix, in: path, from: start, to: path.count) else { continue }
            search.way.push(end..<path.count)
            consider(star.routes, head, &search)
            search.way.pop()
        }
        guard !node.literals.isEmpty || node.any >= 0 else { return }
        let end = Scan.firstIndex(of: UInt8(ascii: "/"), in: path, from: start) ?? path.count
        if let next = literal(node.literals, in: path, start..<end) {
            enter(next, path, behind: end, head, &search)
        }
        if start < end, node.any >= 0 {
            search.way.push(start..<end)
            enter(node.any, path, behind: end, head, &search)
            search.way.pop()
        }
    }

    /// Goes to `node` behind the segment that ends at `end`.
    private func enter(
        _ node: Int, _ path: Span<UInt8>, behind end: Int, _ head: borrowing MessageHead,
        _ search: inout Search
    ) {
        if end == path.count {
            consider(nodes[node].ends, head, &search)
        } else {
            visit(node, path, from: end + 1, head, &search)
        }
    }

    /// The node behind the literal segment in `range`, found by its hash.
    private func literal(_ places: Range<Int>, in path: Span<UInt8>, _ range: Range<Int>) -> Int? {
        guard !places.isEmpty else { return nil }
        let hash = PathLiteral.hash(path, range)
        var low = places.lowerBound
        var high = places.upperBound
        while low < high {
            let middle = (low + high) / 2
            if literals[middle].hash < hash { low = middle + 1 } else { high = middle }
        }
        while low < places.upperBound, literals[low].hash == hash {
            let units = literals[low].units
            if end(of: units, in: path, from: range.lowerBound, to: range.upperBound) == range.upperBound {
                return literals[low].node
            }
            low += 1
        }
        return nil
    }

    /// Where the literal of `range` among the units ends in `path` when it stands at `start`, else nil.
    private func end(of range: Range<Int>, in path: Span<UInt8>, from start: Int, to limit: Int) -> Int? {
        if range.isEmpty { return start }
        let units = units
        return PathLiteral.end(of: units.span.extracting(range), in: path, from: start, to: limit)
    }

    /// Takes the first of the `candidates` in `range`, whose paths match, for which the other conditions hold too.
    private func consider(_ range: Range<Int>, _ head: borrowing MessageHead, _ search: inout Search) {
        for position in range {
            let index = candidates[position]
            guard index < search.best else { return }
            let route = routes[index]
            if search.only >= 0 {
                guard index == search.only else { continue }
            } else if route.hasConditions {
                guard route.takesHost(of: head), route.takesHeaders(of: head) else { continue }
                guard route.takesMethod(of: head) else {
                    search.hasOtherMethod = true
                    if search.collects, !search.hasOtherType { search.refused.append(index) }
                    continue
                }
                guard route.takesType(of: head) else {
                    search.hasOtherType = true
                    if search.collects { search.refused.append(index) }
                    continue
                }
            }
            search.best = index
            search.captures = search.way
            return
        }
    }
}

/// The tree as it grows route by route; `RouteTable` lays it out flat.
private struct RouteTree {
    /// A place: the path's segments so far.
    struct Node {
        /// The places behind a literal segment, by the segment's hash in ascending order.
        var literals: [(hash: UInt64, literal: PathLiteral, node: Int)] = []
        /// The place behind a free segment.
        var any: Int?
        /// The routes whose path ends here, in ascending order.
        var ends: [Int] = []
        /// The routes with a star at the end, by what stands before the star.
        var rests: [(prefix: PathLiteral, routes: [Int])] = []
    }

    private(set) var nodes = [Node()]

    init(_ routes: [Route]) {
        for (index, route) in routes.enumerated() { insert(route.match.path, route: index) }
    }

    private mutating func insert(_ pattern: PathPattern, route: Int) {
        var node = 0
        for segment in pattern.segments {
            switch segment {
            case .any:
                if let next = nodes[node].any {
                    node = next
                } else {
                    nodes[node].any = nodes.count
                    node = nodes.count
                    nodes.append(Node())
                }
            case .literal(let literal):
                if let next = nodes[node].literals.first(where: { $0.literal == literal }) {
                    node = next.node
                } else {
                    let position = nodes[node].literals.firstIndex { $0.hash > literal.hash }
                    nodes[node].literals.insert(
                        (literal.hash, literal, nodes.count), at: position ?? nodes[node].literals.count)
                    node = nodes.count
                    nodes.append(Node())
                }
            }
        }
        guard let rest = pattern.rest else { return nodes[node].ends.append(route) }
        if let known = nodes[node].rests.firstIndex(where: { $0.prefix == rest }) {
            nodes[node].rests[known].routes.append(route)
        } else {
            nodes[node].rests.append((rest, [route]))
        }
    }
}
