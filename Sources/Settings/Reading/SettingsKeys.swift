internal import Gateway
internal import Proxy

/// The keys of a whole file by what has them, which is what the readers ask for: where a key belongs that stands in another place.
enum SettingsKeys {
    /// What of a file has keys and sections of its own.
    enum Level: Hashable {
        case file, defaults, route
        /// With the keys that lead to it: `upstreams.app`.
        case upstream(String)

        fileprivate var isUpstream: Bool { if case .upstream = self { true } else { false } }
    }

    /// A section of each kind, with every section of its own that isn't there without being written.
    private static let sample = """
        version: 1
        listen: 127.0.0.1:1
        upstreams: { a: { address: "127.0.0.1:2", health: { active: { path: / } }, framing: length, spool: {}, tls: {} } }
        tracing: { endpoint: "http://127.0.0.1:3" }
        admin: { address: "127.0.0.1:4", console: {} }
        """
    private static let upstream = Level.upstream("upstreams.a")

    /// The sections that have a key, by their paths; the empty path is what has them all.
    private typealias Sections = [String: [String]]

    private static let ofFileAndUpstreams: (file: Sections, upstream: Sections) = {
        let context = ReadingContext("", environment: .nothing)
        let catalog = OptionCatalog()
        context.catalog = catalog
        guard let node = YAMLText.read(sample, context) else { return ([:], [:]) }
        _ = SettingsFile(root: node, context)
        var file: Sections = [:]
        var upstreams: Sections = [:]
        for option in catalog.options {
            if option.path == "upstreams.a" || option.path.hasPrefix("upstreams.a.") {
                upstreams[option.name, default: []].append(section(option.path, at: upstream))
            } else {
                file[option.name, default: []].append(option.path)
            }
        }
        return (file, upstreams)
    }()

    /// Those of routes that "defaults" has, too.
    private static let ofDefaults: Sections = {
        let context = ReadingContext("", environment: .nothing)
        let catalog = OptionCatalog()
        context.catalog = catalog
        var limits = LimitSettings()
        var timeouts = TimeoutSettings()
        var options = RouteOptions()
        SettingsFile.read(.absent("\"defaults\"", path: "", context), &limits, &timeouts, &options)
        let keys = Set(catalog.options.filter { $0.path.isEmpty }.map(\.name))
        var sections: Sections = [:]
        for (key, paths) in RouteKeys.sections {
            let own = paths.filter { $0.isEmpty ? keys.contains(key) : keys.contains(String(top($0))) }
            if !own.isEmpty { sections[key] = own }
        }
        return sections
    }()

    private static func sections(_ level: Level) -> Sections {
        switch level {
        case .file: ofFileAndUpstreams.file
        case .defaults: ofDefaults
        case .route: RouteKeys.sections
        case .upstream: ofFileAndUpstreams.upstream
        }
    }

    /// The keys that the section at `path` has at a level, by the alphabet; none where they are names.
    static func keys(of section: String, at level: Level) -> [String] {
        sections(level).filter { $0.value.contains(section) }.map(\.key).sorted()
    }

    /// The path of a section within its level.
    static func section(_ path: String, at level: Level) -> String {
        guard case .upstream(let prefix) = level else { return path }
        return String(path.dropFirst(path == prefix ? prefix.count : prefix.count + 1))
    }

    private static func top(_ path: String) -> Substring { path.split(separator: ".").first ?? "" }

    /// Sections of which one takes what the other has been given: both bound a request.
    private static let kin: Set = ["limits", "timeouts"]

    /// The end of a message about a key that `section` doesn't have: where it stands. The same section elsewhere is meant first,
    /// then what stands around it or elsewhere for itself; of the other sections only those within what was asked. Nil where nothing
    /// of these has it, or too many.
    ///
    /// - Parameter shortened: whether the route's `request` is an expression.
    static func place(of key: String, notIn section: String, at level: Level = .route, shortened: Bool) -> String? {
        let others = [Level.route, .defaults, .file, upstream].filter {
            $0 != level && !($0.isUpstream && level.isUpstream) && !($0 == .defaults && level == .route)
        }
        let own = (sections(level)[key] ?? []).filter { $0 != section }
        let same = others.filter { sections($0)[key]?.contains(section) == true }
            .map { (level: $0, section: section) }
        if !section.isEmpty, !same.isEmpty { return text(same) }
        let near = own.filter { !section.isEmpty && top($0) == top(section) }
        if !near.isEmpty { return text(near, at: level, shortened) }
        if !section.isEmpty {
            let places = own.contains("") ? [""] : kin.contains(section) ? own.filter(kin.contains) : []
            return places.isEmpty ? nil : text(places, at: level, shortened)
        }
        if !same.isEmpty { return text(same) }
        // What a response has as a request does is meant only there.
        let first = own.filter { top($0) != "response" && top($0) != "shadow" }
        if !own.isEmpty { return text(first.isEmpty ? own : first, at: level, shortened) }
        let parts = others.flatMap { other in (sections(other)[key] ?? []).map { (level: other, section: $0) } }
        return Set(parts.map { $0.section }).count == 1 ? text(parts) : nil
    }

    /// Of places at the level that was asked for.
    private static func text(_ sections: [String], at level: Level, _ shortened: Bool) -> String? {
        guard sections.count <= 3 else { return nil }
        if sections == [""], level == .file { return "it stands at the top of the file" }
        let itself =
            switch level {
            case .file: "the file itself"
            case .defaults: "\"defaults\" itself"
            case .route: "the route itself"
            case .upstream: "the upstream itself"
            }
        let names = sections.map { $0.isEmpty ? itself : "\"\($0)\"" }
        let long =
            shortened && level == .route
            && sections.contains { top($0) == "request" && $0 != "request.decode" && $0 != "request.encode" }
        return "it stands in \(names.joined(separator: " or "))"
            + (long ? ", in the long form of \"request\": decode, map, fields and encode below it" : "")
    }

    /// Of places at other levels.
    private static func text(_ places: [(level: Level, section: String)]) -> String {
        let texts = places.map { level, section -> String in
            let name = section.isEmpty ? "" : "in \"\(section)\" "
            return switch level {
            case .file: "\(name)at the top of the file"
            case .defaults:
                places.contains { $0.level == .route && $0.section == section }
                    ? "under \"defaults\"" : "\(name)under \"defaults\""
            case .route: section.isEmpty ? "in a route" : "\(name)of a route"
            case .upstream: section.isEmpty ? "in an upstream" : "\(name)of an upstream"
            }
        }
        return "it stands \(texts.joined(separator: " or "))"
    }
}
