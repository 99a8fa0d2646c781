public import HTTPWire
internal import Octets

/// The routes, ready for look-up: the first one in their order whose conditions all hold decides.
///
/// Paths stand in a tree of segments, so a look-up costs by the depth of the path and not by the number of routes. It
/// allocates nothing when a route is found.
public struct RouteTable: Sendable {
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
    }

    /// A place in the tree: the path's segments so far.
    private struct Node {
        /// The places behind a literal segment, by the segment's hash in ascending order.
        var literals: [(hash: UInt64, literal: PathLiteral, node: Int)] = []
        /// The place behind a free segment.
        var any: Int?
        /// The routes whose path ends here, in ascending order.
        var ends: [Int] = []
        /// The routes with a star at the end, by what stands before the star.
        var rests: [(prefix: PathLiteral, routes: [Int])] = []
    }

    public let routes: [Route]
    private var nodes = [Node()]

    /// Whether a malformed escape in a path is an error, or else bytes like any others.
    private let checksEscapes: Bool

    public init(_ routes: [Route], checksEscapes: Bool = true) {
        self.routes = routes
        self.checksEscapes = checksEscapes
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
                    let place = nodes[node].literals.firstIndex { $0.hash > literal.hash }
                    nodes[node].literals.insert(
                        (literal.hash, literal, nodes.count), at: place ?? nodes[node].literals.count)
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

    /// The route for a request, or what to answer when there is none.
    public func find(_ head: borrowing MessageHead) -> Lookup {
        let path = head.path
        if checksEscapes, let offset = PathLiteral.malformedEscape(in: path) { return .malformedPath(offset: offset) }
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

    private static func distinct(_ words: [String]) -> [String] {
        words.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// What a look-up knows on its way through the tree.
    private struct Search {
        /// The lowest index of a route that matches, or the number of routes.
        var best: Int
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
        for (prefix, routes) in nodes[node].rests {
            guard let end = prefix.end(in: path, from: start, to: path.count) else { continue }
            search.way.push(end..<path.count)
            consider(routes, head, &search)
            search.way.pop()
        }
        let end = Scan.firstIndex(of: UInt8(ascii: "/"), in: path, from: start) ?? path.count
        if let next = literal(nodes[node].literals, in: path, start..<end) {
            enter(next, path, behind: end, head, &search)
        }
        if start < end, let next = nodes[node].any {
            search.way.push(start..<end)
            enter(next, path, behind: end, head, &search)
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
    private func literal(
        _ literals: [(hash: UInt64, literal: PathLiteral, node: Int)], in path: Span<UInt8>, _ range: Range<Int>
    ) -> Int? {
        guard !literals.isEmpty else { return nil }
        let hash = PathLiteral.hash(path, range)
        var low = 0
        var high = literals.count
        while low < high {
            let middle = (low + high) / 2
            if literals[middle].hash < hash { low = middle + 1 } else { high = middle }
        }
        while low < literals.count, literals[low].hash == hash {
            if literals[low].literal.end(in: path, from: range.lowerBound, to: range.upperBound) == range.upperBound {
                return literals[low].node
            }
            low += 1
        }
        return nil
    }

    /// Takes the first of `candidates`, whose paths match, for which the other conditions hold too.
    private func consider(
        _ candidates: [Int], _ head: borrowing MessageHead, _ search: inout Search
    ) {
        for index in candidates where index < search.best {
            let route = routes[index]
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
            search.best = index
            search.captures = search.way
            return
        }
    }
}
