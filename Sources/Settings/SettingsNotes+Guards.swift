internal import Gateway
internal import Proxy

/// Routes that guard a path, and beside which a wider one leads to the same server without the guard (docs/threats.md).
extension SettingsNotes {
    var guardNotes: [SettingsNote] {
        let guards = settings.routes.map { Guards($0) }
        // Mostly nobody guards, or all do.
        if Set(guards).count < 2 { return [] }
        // A file may have thousands of routes: of each only those are looked at that have its path, or take it in.
        var paths = RouteCoverage()
        for route in settings.routes { paths.append(route.match) }
        let ways = Dictionary(grouping: settings.routes.indices) { settings.routes[$0].upstream }
        var open: [Way: Set<Int>] = [:]
        return settings.routes.indices.compactMap { index in
            let way = Way(upstream: settings.routes[index].upstream, guards: guards[index])
            let others = open[way] ?? self.open(way, guards, among: ways[way.upstream] ?? [])
            open[way] = others
            return note(index, guards, others, paths)
        }
    }

    /// What routes have in common past which the same others lead.
    private struct Way: Hashable {
        let upstream: Int?
        let guards: Guards
    }

    /// The routes that let through unasked what a way asks; what a rewrite makes of a request is another path.
    private func open(_ way: Way, _ guards: [Guards], among routes: [Int]) -> Set<Int> {
        Set(
            routes.filter { number in
                !way.guards.missing(in: guards[number]).isEmpty
                    && settings.routes[number].rewrite?.path.isEmpty != false
            })
    }

    /// What asks who sends a request, or how often.
    private struct Guards: OptionSet, Hashable {
        let rawValue: Int

        static let verify = Guards(rawValue: 1)
        static let authorize = Guards(rawValue: 2)
        static let rateLimit = Guards(rawValue: 4)
        /// A signature and credentials stand in for each other.
        static let sender: Guards = [verify, authorize]

        init(rawValue: Int) { self.rawValue = rawValue }

        init(_ route: Route) {
            self = []
            if route.verification != nil { insert(.verify) }
            if route.authorization != nil { insert(.authorize) }
            if route.options.rateLimit != nil { insert(.rateLimit) }
        }

        /// What `other` has none of.
        func missing(in other: Guards) -> Guards {
            var missing = self
            if !other.isDisjoint(with: .sender) { missing.subtract(.sender) }
            if other.contains(.rateLimit) { missing.subtract(.rateLimit) }
            return missing
        }

        var keys: String {
            let all: [(Guards, String)] = [(.verify, "verify"), (.authorize, "authorize"), (.rateLimit, "rate_limit")]
            return all.filter { contains($0.0) }.map { "\"\($0.1)\"" }.joined(separator: " and ")
        }
    }

    /// Requests that the server may take for those of a route, and which the route doesn't take.
    private struct Probe {
        var match: RouteMatch
        /// What they are, as `a request for /hooks/github/`.
        var what: String
        var why: String
    }

    private func note(_ index: Int, _ guards: [Guards], _ open: Set<Int>, _ paths: RouteCoverage) -> SettingsNote? {
        let route = settings.routes[index]
        if open.isEmpty { return nil }
        for probe in probes(route) {
            guard let other = first(of: open, taking: probe.match, besides: index, paths) else { continue }
            return note(
                .note, "guard_beside", index,
                "\(probe.what) goes by the route \(settings.routes[other].name) to the same upstream, without "
                    + "\(guards[index].missing(in: guards[other]).keys): \(probe.why)",
                "let that route take the paths alone that it is for, or the service ask for what the guard tells it")
        }
        return nil
    }

    /// The first of these routes that takes some of the requests; nil where another one takes all of them before.
    private func first(
        of open: Set<Int>, taking probe: RouteMatch, besides index: Int, _ paths: RouteCoverage
    ) -> Int? {
        for number in paths.indices(covering: probe.path) where number != index {
            let match = settings.routes[number].match
            guard Self.meets(match, probe) else { continue }
            if open.contains(number) { return number }
            if match.covers(probe) { return nil }
        }
        return nil
    }

    /// Whether some request meets both, the path of the first taking in that of the second. Types and fields are the client's to choose.
    private static func meets(_ match: RouteMatch, _ probe: RouteMatch) -> Bool {
        (match.methods.isEmpty || probe.methods.isEmpty || match.methods.contains(where: probe.methods.contains))
            && (match.hosts.isEmpty || probe.hosts.isEmpty
                || match.hosts.contains { mine in
                    probe.hosts.contains { theirs in covers(mine, theirs) || covers(theirs, mine) }
                })
    }

    private static func covers(_ host: HostPattern, _ other: HostPattern) -> Bool {
        guard let path = try? PathPattern(parsing: "/") else { return false }
        return RouteMatch(path: path, hosts: [host]).covers(RouteMatch(path: path, hosts: [other]))
    }

    // MARK: What a server may take for the same

    private func probes(_ route: Route) -> [Probe] {
        var probes: [Probe] = []
        func add(_ path: String, _ why: String, ofOtherTypes: Bool = false) {
            guard let pattern = try? PathPattern(parsing: path) else { return }
            var match = RouteMatch(path: pattern, methods: route.match.methods, hosts: route.match.hosts)
            if !ofOtherTypes { (match.types, match.headers) = (route.match.types, route.match.headers) }
            let what = "a request for \(path)" + (ofOtherTypes ? " of another type, or with other fields," : "")
            probes.append(Probe(match: match, what: what, why: why))
        }
        let path = route.match.path.text
        if !route.match.types.isEmpty || !route.match.headers.isEmpty {
            add(path, "what it is told apart by is the client's to choose", ofOtherTypes: true)
        }
        if let rewritten = route.rewrite.flatMap({ Self.pattern(of: $0) }) {
            // The server knows the path that it gets.
            add(rewritten, "that is the path which the upstream gets of this one")
            return probes
        }
        if path.hasSuffix("/"), path != "/" {
            add(String(path.dropLast()), "many servers take the slash at the end for nothing")
        } else if !path.hasSuffix("*"), path != "/" {
            add(path + "/", "many servers take the slash at the end for nothing")
        }
        if let other = Self.otherCase(path) { add(other, "many servers take letters of either case for the same") }
        return probes
    }

    /// The paths that a rewrite makes; nil where it leaves them, or where they can't be told.
    private static func pattern(of rewrite: Rewrite) -> String? {
        if rewrite.path.isEmpty { return nil }
        var text = ""
        for piece in rewrite.path {
            switch piece {
            case .literal(let literal): text += literal
            case .variable: text += "x"
            }
        }
        return text.contains("*") || text.contains("{") ? nil : text
    }

    /// The path with its first letter in the other case, but for what stands in braces; nil where there is none.
    private static func otherCase(_ path: String) -> String? {
        var isName = false
        for index in path.indices {
            let character = path[index]
            if character == "{" { isName = true }
            if character == "}" { isName = false }
            guard !isName, character.isASCII, character.isLetter else { continue }
            // A digit of an escape.
            if path[..<index].suffix(2).contains("%") { continue }
            let other = character.isUppercase ? character.lowercased() : character.uppercased()
            return path.replacingCharacters(index, other)
        }
        return nil
    }
}

extension String {
    fileprivate func replacingCharacters(_ index: Index, _ text: String) -> String {
        String(self[..<index]) + text + String(self[self.index(after: index)...])
    }
}
