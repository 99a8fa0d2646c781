internal import Gateway
internal import Proxy

/// The keys of a route and of its sections, which are what the readers ask for, and the order in which people write those of a route.
enum RouteKeys {
    /// The keys of a route in their usual order: what it is, whom it takes, what it does to the request, then to the response, and
    /// the rest.
    private static let usual = [
        "name", "match", "upstream", "verify", "challenge", "authorize", "rate_limit", "rewrite", "request",
        "on_other_type", "sign", "shadow", "response", "compress", "headers", "host", "forwarded", "limits", "timeouts",
        "rate", "min_rate", "retry", "codings",
    ]

    /// The members in that order; those it doesn't name stand behind them, as they stood, and examples last.
    static func sorted<Element>(_ members: [Element], key: (Element) -> String) -> [Element] {
        func rank(_ element: Element) -> Int {
            let key = key(element)
            return usual.firstIndex(of: key) ?? (key == "examples" ? usual.count + 1 : usual.count)
        }
        return members.enumerated().sorted { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }
            .map(\.element)
    }

    /// A route with each section that has keys of its own.
    private static let sample = """
        - name: a
          match: { path: /a }
          upstream: a
          verify: { preset: github, secret: a-long-secret }
          rewrite: { path: /b }
          request: { decode: { as: form }, map: {}, fields: {}, encode: { as: json } }
          response: { when: {}, decode: { as: json }, map: {}, fields: {}, encode: { as: form } }
          shadow: { upstream: a }
          rate_limit: { rate: 1/s }
          compress: {}
          codings: {}
          retry: {}
          headers: { request: {}, response: {} }
        """

    /// The sections that have a key, by their paths, which is empty for the route itself; those of `request` first.
    static let sections: [String: [String]] = {
        let context = ReadingContext("", environment: .nothing)
        let catalog = OptionCatalog()
        context.catalog = catalog
        guard let node = YAMLText.read(sample, context) else { return [:] }
        let upstream = UpstreamSettings(name: "a", addresses: [])
        _ = RouteReader(
            context, upstreams: [upstream], forwards: true, limits: LimitSettings(), areLimitsKnown: true,
            timeouts: TimeoutSettings(), options: RouteOptions(), paths: PathRules()
        ).read(node)
        let options =
            ConversionReader.inputOptions.map { ("request.decode", $0.name) }
            + ConversionReader.outputOptions.map { ("request.encode", $0.name) }
        var sections: [String: [String]] = [:]
        let all = catalog.options.map { ($0.path, $0.name) } + options
        for (section, key) in all.filter({ $0.0.hasPrefix("request") }) + all.filter({ !$0.0.hasPrefix("request") })
        where sections[key]?.contains(section) != true {
            sections[key, default: []].append(section)
        }
        return sections
    }()
}
