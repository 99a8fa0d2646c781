internal import Gateway
internal import Proxy

/// Reads `routes`.
struct RouteReader {
    /// A route with the place of its name, and the values in effect for it.
    struct Entry {
        var route: Route
        var position: SettingsNode.Position
        var effective: [EffectiveValue]
        var examples: [RouteExample]
    }

    private let context: ReadingContext
    private let upstreams: [String]
    private let numbers: [String: Int]
    private let upstreamSettings: [UpstreamSettings]
    /// Whether requests are forwarded here, so that each route needs an upstream.
    private let forwards: Bool
    private let limits: LimitSettings
    /// Whether none of these is a placeholder.
    private let areLimitsKnown: Bool
    private let timeouts: TimeoutSettings
    private let options: RouteOptions
    private let paths: PathRules

    init(
        _ context: ReadingContext, upstreams: [UpstreamSettings], forwards: Bool, limits: LimitSettings,
        areLimitsKnown: Bool,
        timeouts: TimeoutSettings, options: RouteOptions, paths: PathRules
    ) {
        self.areLimitsKnown = areLimitsKnown
        self.context = context
        self.upstreams = upstreams.map(\.name)
        numbers = Dictionary(zip(self.upstreams, upstreams.indices)) { first, _ in first }
        upstreamSettings = upstreams
        self.forwards = forwards
        self.limits = limits
        self.timeouts = timeouts
        self.options = options
        self.paths = paths
    }

    func read(_ node: SettingsNode) -> [Entry] {
        guard case .sequence(let nodes) = node.content, !nodes.isEmpty else {
            var hint = ""
            if case .mapping(let members) = node.content,
                members.contains(where: { $0.key == "match" || $0.key == "name" })
            {
                hint = ": write \"- \" before the first key of each"
            } else if case .mapping(let members) = node.content,
                let key = members.first(where: { $0.key.hasPrefix("-") })?.key
            {
                hint = ": a space is missing behind the dash of \"\(key)\""
            }
            context.report(node.position, "\"routes\" is a list of at least one route\(hint)")
            return []
        }
        var names: [String: Int] = [:]
        var entries: [Entry] = []
        var coverage = RouteCoverage()
        for (index, node) in nodes.enumerated() {
            guard let entry = route(node, index, &names) else { continue }
            context.route = entry.route.name
            defer { context.route = nil }
            checkPath(entry)
            if let cover = coverage.firstCovering(entry.route.match).map({ entries[$0] }) {
                context.report(
                    entry.position,
                    "the route \"\(entry.route.name)\" can never match: the route \"\(cover.route.name)\" in line "
                        + "\(cover.position.line) takes every request before it")
            }
            entries.append(entry)
            coverage.append(entry.route.match)
        }
        return entries
    }

    private func route(_ node: SettingsNode, _ index: Int, _ names: inout [String: Int]) -> Entry? {
        guard let section = SectionReader(node, "a route", context) else { return nil }
        let members = section.remaining
        section.isRoot = true
        context.level = .route
        context.hasShortRequest = members.contains {
            if case .scalar = $0.value.content { $0.key == "request" } else { false }
        }
        defer { context.level = .file }
        _ = context.takeEffective()
        let nameNode = section.required("name", example: "orders")
        if case .scalar(let text, _)? = nameNode?.content { context.route = text }
        defer { context.route = nil }
        let name = nameNode.flatMap { self.name($0, &names) }
        let matchNode = section.required("match", example: "/orders/*")
        let match = matchNode.flatMap { MatchReader(context: context).read($0) }
        let upstreamNode = forwards ? section.required("upstream", example: "app") : section.take("upstream")
        let upstream = upstreamNode.flatMap { self.upstream($0, section) }
        let values = RequestValueReader(context, variables: match?.path.variables)
        let rewrite = section.take("rewrite").flatMap { RewriteReader(context: context, values: values).read($0) }
        var limits = limits
        limits.read(section.part("limits"))
        var timeouts = timeouts
        timeouts.read(section.part("timeouts"))
        let written = RequestRuleReader(context: context, values: values).read(section, limits: limits.limits)
        let shadow = ShadowReader(context: context, upstreams: upstreamSettings, values: values).read(
            section, request: written, upstream: upstream, lacksUpstream: !forwards && upstreamNode == nil,
            limits: limits.limits)
        let request = shadow.request
        let responses = ResponseRuleReader(context: context, variables: match?.path.variables).read(
            section, limits: limits.limits)
        let verification = VerifyReader(context: context).read(section, limit: limits.signedLimit)
        let authorization = AuthorizeReader(context: context).read(section)
        let signing = SignReader(context: context).read(section, limit: limits.signedLimit)
        let examples = section.take("examples")
        var options = options
        let compress = section.remaining.first { $0.key == "compress" }
        if let request, let responses { checkPlain(section, request, responses) }
        RouteOptionsReader(context: context).read(section, into: &options)
        RateLimitReader(context, variables: match?.path.variables).read(section, into: &options.rateLimit)
        let headers = HeaderRulesReader(context, variables: match?.path.variables)
        headers.read(section, into: &options.headers)
        options.coding.limits = limits.codingLimits
        if let responses { CodingReader(context: context).checkUse(compress, of: options.coding, responses: responses) }
        if let request, let responses {
            headers.checkUse(
                of: options, request: request, responses: responses, signing: signing,
                route: nameNode?.position ?? section.position)
        }
        section.finish()
        guard let name, let match, upstream != nil || !forwards && upstreamNode == nil, let request, let responses
        else {
            return nil
        }
        let route = Route(
            index: index, name: name, match: match, upstream: upstream, rewrite: rewrite, limits: limits.limits,
            timeouts: timeouts.timeouts, request: request,
            verification: verification, authorization: authorization, signing: signing, responses: responses,
            responseLimit: limits.responseLimit,
            options: options, shadow: shadow.shadow, trial: shadow.trial)
        UnusedKeys(context: context).note(members, of: route)
        // What the body goes through; its path and headers count in their own place.
        let judged = ["match", "request", "limits", "on_other_type", "shadow"]
        let isKnown =
            areLimitsKnown && !members.contains { judged.contains($0.key) && context.isUnresolved($0.value) }
        let reader = ExampleReader(context: context, route: route.converting, isKnown: isKnown)
        return Entry(
            route: route, position: nameNode?.position ?? section.position, effective: context.takeEffective(),
            examples: examples.map(reader.read) ?? [])
    }

    /// Reports a path with segments that requests never have, by what "paths" says.
    private func checkPath(_ entry: Entry) {
        let path = entry.route.match.path
        if paths.dotSegments != .pass, path.hasDotSegment {
            context.report(
                entry.position,
                "the route \"\(entry.route.name)\" can never match: its path \(path) has a dot segment, which no request "
                    + "may have (paths.dot_segments)")
        }
        if paths.emptySegments != .pass, path.hasEmptySegment {
            context.report(
                entry.position,
                "the route \"\(entry.route.name)\" can never match: its path \(path) has an empty segment, and routes are "
                    + "found without such (paths.empty_segments)")
        }
    }

    /// Refuses what only routes can do that convert nothing.
    private func checkPlain(_ section: SectionReader, _ request: RequestRule, _ responses: [ResponseRule]) {
        let converts: Bool
        if case .convert = request {
            converts = true
        } else {
            converts = responses.contains { if case .convert = $0.action { true } else { false } }
        }
        guard converts else { return }
        for member in section.remaining where member.key == "upgrade" || member.key == "trailers" {
            if context.saysOff(member.value, "\"\(member.key)\"") { continue }
            if context.isUnresolved(member.value) { continue }
            context.report(
                member.position, "\"\(member.key)\" is for routes that convert nothing: remove it, or write off")
        }
    }

    private func name(_ node: SettingsNode, _ names: inout [String: Int]) -> String? {
        guard let name = context.text(node, "a route's name") else { return nil }
        if !SettingsName.isValid(name) {
            context.report(node.position, "the route's name \"\(name)\" \(SettingsName.rule)")
        }
        if let line = names[name] {
            context.report(node.position, "the name \"\(name)\" is that of the route in line \(line) too")
        }
        names[name] = node.position.line
        return name
    }

    private func upstream(_ node: SettingsNode, _ section: SectionReader) -> Int? {
        guard let name = context.text(node, "a route's upstream") else { return nil }
        section.record("upstream", name, .line(node.position.line))
        if let index = numbers[name] { return index }
        context.report(
            node.position, "there is no upstream \"\(name)\": \(context.hint(for: name, among: upstreams))")
        return nil
    }
}
