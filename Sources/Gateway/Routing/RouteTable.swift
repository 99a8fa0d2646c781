public import HTTPWire
internal import Octets

/// The routes, ready for look-up: the first one in their order whose conditions all hold decides.
///
/// Paths stand in a tree of segments, and many routes for one path are told apart by hashes of their hosts or header fields, so a
/// look-up costs by the depth of the path and not by the number of routes. It allocates nothing when a route is found. A class, so
/// that a look-up doesn't copy its lists' references.
public final class RouteTable: Sendable {
    /// A route that takes the request.
    public struct Found: Sendable {
        public let route: Route
        /// One range of the path for each of `route.match.path.variables`.
        public let captures: PathCaptures
        /// Whether `fieldsThatChoose` may have something to say: a field was asked for on the way to the route.
        package let mayBeByFields: Bool
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
        /// The routes whose path ends here.
        var ends: Choice
        /// Among `stars`; more than a few stand in the order of their units.
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
        var routes: Choice
    }

    /// Routes for the same paths.
    private struct Choice {
        /// Among `candidates`, in ascending order: those that every request is compared with.
        var open = 0..<0
        /// Among `told`: the others; -1 where there are none, which is so nearly everywhere.
        var told = -1
    }

    /// Routes for the same paths that are told apart by hosts and header fields, so that a request is compared with few.
    private struct Told {
        /// Among `keyed`, by their hashes in ascending order: those for requests with a host or a header field of that hash.
        var keyed: Range<Int>
        /// Among `fields`: whose values are hashed.
        var fields: Range<Int>
        /// Whether hosts are hashed, and whether the domains above them are.
        var hasHosts = false
        var hasDomains = false
    }

    /// Routes for one host, domain or value of a header field.
    private struct Keyed {
        var hash: UInt64
        /// Among `candidates`, in ascending order.
        var routes: Range<Int>
    }

    /// The tree, laid out flat.
    private struct Lists {
        var nodes: [Node] = []
        var literals: [Literal] = []
        var stars: [Star] = []
        var told: [Told] = []
        var keyed: [Keyed] = []
        /// Names of header fields.
        var fields: [String] = []
        /// Of each of them the lowest index of a route that is told by it, and whose answers are cached.
        var firstChosen: [Int] = []
        /// Indices of routes.
        var candidates: [Int] = []
        /// The bytes of all literals.
        var units: [UInt16] = []
        private let routes: [Route]

        init(_ routes: [Route]) { self.routes = routes }

        mutating func add(_ node: RouteTree.Node, of groups: [[Int]]) {
            let (literal, star) = (literals.count, stars.count)
            for (hash, literal, next) in node.places.map({ ($0.key.hash, $0.key, $0.value) }).sorted(by: { $0.0 < $1.0 }
            ) {
                literals.append(Literal(hash: hash, units: add(literal), node: next))
            }
            let rests = node.rests.sorted { $0.value < $1.value }
            let isMany = rests.count > RouteTable.fewRoutes
            for (prefix, group) in isMany
                ? rests.sorted(by: { $0.key.units.lexicographicallyPrecedes($1.key.units) }) : rests
            {
                stars.append(Star(prefix: add(prefix), routes: choice(of: groups[group])))
            }
            let ends = node.ends.map { choice(of: groups[$0]) } ?? Choice()
            nodes.append(
                Node(
                    literals: literal..<literals.count, any: node.any ?? -1, ends: ends, stars: star..<stars.count))
        }

        private mutating func add(_ literal: PathLiteral) -> Range<Int> {
            let start = units.count
            units += literal.units
            return start..<units.count
        }

        /// Few routes are all open, which is quicker than hashing.
        private mutating func choice(of indices: [Int]) -> Choice {
            var (open, keys): ([Int], [UInt64: [Int]]) = ([], [:])
            guard indices.count > RouteTable.fewRoutes else { return Choice(open: add(indices)) }
            var one = Told(keyed: keyed.count..<keyed.count, fields: fields.count..<fields.count)
            for index in indices {
                let match = routes[index].match
                if match.hosts.isEmpty, match.headers.isEmpty {
                    open.append(index)
                    continue
                }
                var hashes: Set<UInt64> = []
                if let condition = match.hosts.isEmpty ? match.headers.first : nil {
                    let place = fields[one.fields.lowerBound...].firstIndex(of: condition.name) ?? fields.count
                    if place == fields.count {
                        fields.append(condition.name)
                        firstChosen.append(.max)
                    }
                    if match.choosesByFields { firstChosen[place] = min(firstChosen[place], index) }
                    for value in condition.values {
                        hashes.insert(RouteTable.hash(condition.name.utf8Span.span, value.utf8Span.span))
                    }
                }
                for host in match.hosts {
                    one.hasHosts = true
                    one.hasDomains = one.hasDomains || host.takesSubdomains
                    hashes.insert(RouteTable.hash(host: host.name.utf8Span.span))
                }
                for hash in hashes { keys[hash, default: []].append(index) }
            }
            let choice = Choice(open: add(open), told: keys.isEmpty ? -1 : told.count)
            for (hash, indices) in keys.sorted(by: { $0.key < $1.key }) {
                keyed.append(Keyed(hash: hash, routes: add(indices)))
            }
            one.keyed = one.keyed.lowerBound..<keyed.count
            one.fields = one.fields.lowerBound..<fields.count
            if !keys.isEmpty { told.append(one) }
            return choice
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
    private let told: [Told]
    private let keyed: [Keyed]
    private let fields: [String]
    private let firstChosen: [Int]
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
    /// Whether a route that takes requests whose answers are cached asks for a field of theirs.
    private let choosesByFields: Bool
    private let paths: PathRules
    /// Whether any route has a variable that gives access by its name (`Route.secretVariables`).
    package let hidesVariables: Bool

    public init(_ routes: [Route], checksEscapes: Bool = true, paths: PathRules = PathRules()) {
        self.routes = routes
        self.checksEscapes = checksEscapes
        self.paths = paths
        checksDots = paths.dotSegments != .pass
        checksSlashes = paths.emptySegments == .reject
        skipsSlashes = paths.emptySegments == .ignore
        normalizes = paths.dotSegments == .normalize || paths.emptySegments == .merge
        keepsTargets = normalizes && routes.contains { $0.verification != nil }
        choosesByFields = routes.contains { $0.match.choosesByFields }
        hidesVariables = routes.contains { !$0.secretVariables.isEmpty }
        var tree = RouteTree()
        var groups: [[Int]] = []
        for (index, route) in routes.enumerated() {
            let group = tree.group(of: route.match.path)
            if group == groups.count { groups.append([]) }
            groups[group].append(index)
        }
        var lists = Lists(routes)
        for node in tree.nodes { lists.add(node, of: groups) }
        (nodes, literals, stars) = (lists.nodes, lists.literals, lists.stars)
        (told, keyed, fields) = (lists.told, lists.keyed, lists.fields)
        firstChosen = lists.firstChosen
        (candidates, units) = (lists.candidates, lists.units)
    }

    /// So many routes for one path, or beginnings behind one slash, are compared one by one.
    private static let fewRoutes = 8

    /// The hash of a header field's name, and of its value behind it.
    private static func hash(_ name: Span<UInt8>, _ value: Span<UInt8>) -> UInt64 {
        var hash = FNV1a()
        hash.combine(name)
        hash.combine(value)
        return hash.value
    }

    /// The hash of a host, or domain, from its last byte to its first, so that one pass has those of all domains above a host.
    private static func hash(host: Span<UInt8>) -> UInt64 {
        var hash = FNV1a()
        for index in host.indices.reversed() { hash.combine(host[index]) }
        return hash.value
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
        if search.best < routes.count { return .found(found(routes[search.best], &search, in: path)) }
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
        return found(routes[index], &search, in: path)
    }

    /// Where variables that give access by their names stand in a request's path by the paths of any routes, whatever else those ask for:
    /// one that comes with a wrong method, or with a fault in its head, gives the same access. In ascending order, none within another.
    package func secretVariables(of head: borrowing MessageHead) -> [Range<Int>] {
        guard hidesVariables else { return [] }
        var search = Search(best: routes.count, only: Search.hidden)
        let path = head.path
        if path.count > 0, path[0] == UInt8(ascii: "/") { visit(0, path, from: 1, head, &search) }
        var secrets: [Range<Int>] = []
        for range in search.secrets.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = secrets.last, range.lowerBound < last.upperBound {
                secrets[secrets.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                secrets.append(range)
            }
        }
        return secrets
    }

    /// The request's fields by which `route` was found for it, and not another one: with others, the answer could be another route's. In
    /// lower case, each once; none where the answer is none that caches keep (RFC 9110 §9.2.3).
    package func fieldsThatChoose(_ route: Route, for head: borrowing MessageHead) -> [String] {
        guard choosesByFields, head.methodKind == .get || head.methodKind == .head else { return [] }
        var search = Search(best: route.index, only: Search.noted)
        let path = head.path
        if path.count > 0, path[0] == UInt8(ascii: "/") { visit(0, path, from: 1, head, &search) }
        var names = route.match.headers.map(\.name)
        if !route.match.types.isEmpty { names.append("content-type") }
        // Of the routes that come before it these would have taken the request, but for its fields.
        for place in search.refused {
            if let name = place < 0 ? fields[-1 - place] : routes[place].fieldUnmet(by: head) { names.append(name) }
        }
        return Self.distinct(names)
    }

    @inline(__always)
    private func found(_ route: Route, _ search: inout Search, in path: Span<UInt8>) -> Found {
        if skipsSlashes, route.rewritesToRest { search.captures.dropSlashes(of: path) }
        let isByFields = search.isByFields || search.hasOtherType || route.match.choosesByFields
        return Found(route: route, captures: search.captures, mayBeByFields: isByFields)
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
        /// A route was passed over for a header field, or may have been.
        var isByFields = false
        /// Whether this is the second run, which gathers the routes that refused the request.
        var collects = false
        var refused: [Int] = []
        /// Where variables stand that aren't shown.
        var secrets: [Range<Int>] = []

        /// What `only` is where no route is asked for: `secrets` gathers what the routes on the way hide.
        static let hidden = Int.max - 1
        /// What `only` is where no route is asked for: `refused` gathers those that don't take the request for one of its fields, and, as
        /// -1, -2 and so on, the places among `fields` of those that may have been passed over by their hashes.
        static let noted = Int.max
    }

    /// Looks at all routes whose path goes through `node`, where the rest of the path begins at `start`.
    private func visit(
        _ node: Int, _ path: Span<UInt8>, from start: Int, _ head: borrowing MessageHead,
        _ search: inout Search
    ) {
        let node = nodes[node]
        let first = start
        var start = start
        if skipsSlashes { while start < path.count, path[start] == UInt8(ascii: "/") { start &+= 1 } }
        if node.stars.count > Self.fewRoutes {
            considerPrefixes(node.stars, path, from: start, rest: first, head, &search)
        } else {
            for index in node.stars {
                let star = stars[index]
                guard let end = end(of: star.prefix, in: path, from: start, to: path.count) else { continue }
                // Slashes that count for nothing here go on with the path: what stands for the rest begins with them.
                search.way.push((star.prefix.isEmpty ? first : end)..<path.count)
                consider(star.routes, head, &search)
                search.way.pop()
            }
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

    /// As above, of many stars: those whose beginning the path has are found unit by unit, and not one by one.
    @inline(never)
    private func considerPrefixes(
        _ all: Range<Int>, _ path: Span<UInt8>, from start: Int, rest first: Int, _ head: borrowing MessageHead,
        _ search: inout Search
    ) {
        var (places, at, count) = (all, start, 0)
        while true {
            // The one that ends here stands in front of those that go on.
            if let place = places.first, stars[place].prefix.count == count {
                search.way.push((count == 0 ? first : at)..<path.count)
                consider(stars[place].routes, head, &search)
                search.way.pop()
                places = (place + 1)..<places.upperBound
            }
            guard !places.isEmpty, at < path.count else { return }
            let unit = PathLiteral.nextOrByte(path, &at)
            let low = Self.first(in: places) { units[stars[$0].prefix.lowerBound + count] >= unit }
            let high = Self.first(in: low..<places.upperBound) { units[stars[$0].prefix.lowerBound + count] > unit }
            places = low..<high
            count += 1
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
        var low = Self.first(in: places) { literals[$0].hash >= hash }
        while low < places.upperBound, literals[low].hash == hash {
            let units = literals[low].units
            if end(of: units, in: path, from: range.lowerBound, to: range.upperBound) == range.upperBound {
                return literals[low].node
            }
            low += 1
        }
        return nil
    }

    /// The first of `places` from which on `isReached` holds, or the end of them: for what is in ascending order.
    @inline(__always)
    private static func first(in places: Range<Int>, _ isReached: (Int) -> Bool) -> Int {
        var low = places.lowerBound
        var high = places.upperBound
        while low < high {
            let middle = (low + high) / 2
            if isReached(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// Where the literal of `range` among the units ends in `path` when it stands at `start`, else nil.
    private func end(of range: Range<Int>, in path: Span<UInt8>, from start: Int, to limit: Int) -> Int? {
        if range.isEmpty { return start }
        let units = units
        return PathLiteral.end(of: units.span.extracting(range), in: path, from: start, to: limit)
    }

    /// Takes the first route of `choice`, whose paths match, for which the other conditions hold too.
    @inline(__always)
    private func consider(_ choice: Choice, _ head: borrowing MessageHead, _ search: inout Search) {
        considerCandidates(choice.open, head, &search)
        if choice.told >= 0 { considerTold(told[choice.told], head, &search) }
    }

    /// As above, of those that are told apart by hosts and header fields.
    @inline(never)
    private func considerTold(_ told: Told, _ head: borrowing MessageHead, _ search: inout Search) {
        if search.only == Search.noted {
            for place in told.fields where firstChosen[place] < search.best { search.refused.append(-1 - place) }
        }
        // The route that is asked for needs to meet no condition.
        guard search.only < 0 || search.only == Search.noted else {
            for place in told.keyed { considerCandidates(keyed[place].routes, head, &search) }
            return
        }
        if told.hasHosts {
            let host = HostPattern.withoutRoot(head.host)
            var hash = FNV1a()
            for at in host.indices.reversed() {
                hash.combine(host[at])
                if at == 0 || told.hasDomains && host[at] == UInt8(ascii: ".") {
                    considerHash(hash.value, told.keyed, head, &search)
                }
            }
        }
        if !told.fields.isEmpty { search.isByFields = true }
        for index in told.fields {
            let field = fields[index]
            let name = field.utf8Span.span
            var next = head.first(named: name)
            while let line = next {
                // A value that was there before has nothing new.
                var first = head.first(named: name)
                while let other = first, other < line, !head.value(other).isEqual(to: head.value(line)) {
                    first = head.first(named: name, from: other + 1)
                }
                if first == line { considerHash(Self.hash(name, head.value(line)), told.keyed, head, &search) }
                next = head.first(named: name, from: line + 1)
            }
        }
    }

    /// As above, of the routes in `places` for `hash`.
    private func considerHash(
        _ hash: UInt64, _ places: Range<Int>, _ head: borrowing MessageHead, _ search: inout Search
    ) {
        let place = Self.first(in: places) { keyed[$0].hash >= hash }
        if place < places.upperBound, keyed[place].hash == hash {
            considerCandidates(keyed[place].routes, head, &search)
        }
    }

    /// As above, of the `candidates` in `range`.
    private func considerCandidates(_ range: Range<Int>, _ head: borrowing MessageHead, _ search: inout Search) {
        for position in range {
            let index = candidates[position]
            guard index < search.best else { return }
            let route = routes[index]
            if search.only >= 0 {
                guard index == search.only else {
                    if search.only == Search.noted { search.refused.append(index) }
                    if search.only == Search.hidden {
                        for variable in route.secretVariables { search.secrets.append(search.way[variable]) }
                    }
                    continue
                }
            } else if route.hasConditions {
                guard route.takesHost(of: head) else { continue }
                guard route.takesHeaders(of: head) else {
                    search.isByFields = true
                    continue
                }
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
