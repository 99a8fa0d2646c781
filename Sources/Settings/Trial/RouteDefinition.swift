internal import Gateway
internal import Proxy
public import Transcoding

/// A route that is tried: as a file has it, or as somebody has written it down just now.
public struct RouteDefinition: Sendable {
    /// A file with that route; nothing was opened for it.
    public let file: SettingsFile
    /// The route's place in it.
    public let index: Int
    /// `routes:` with that route alone, its keys in their usual order, to be put into a file.
    public let yaml: String
    /// The members of the route, in that order, `request` in its long form: an object of `members`, pairs of a key and a value, each
    /// of which has `text` (and `quoted`, where it stood in quotes), `list` or `members`. So nobody else needs to read YAML.
    public let tree: Literal
    /// The keys of a route that serves which are in none of these, since secrets may stand there.
    public let leftOut: [String]

    /// Where a file with this route alone listens.
    private let listen: String

    /// The route as an element of the list `routes`, without that key.
    public var item: String { yaml.hasPrefix(Self.head) ? String(yaml.dropFirst(Self.head.count)) : yaml }

    /// A file with that route alone, its upstreams at an address of this machine. Nil where there is no route to be put into one.
    public var wholeFile: String? {
        guard !yaml.isEmpty, file.settings.routes.indices.contains(index) else { return nil }
        let route = file.settings.routes[index]
        let used = [route.upstream, route.shadow?.options.upstream].compactMap(\.self)
        guard !used.isEmpty else { return nil }
        let names = Set(used).sorted().map { file.settings.upstreams[$0].name }
        let upstreams = names.map { "  \(YAMLWriter.key($0)): 127.0.0.1:3000\n" }.joined()
        return "version: 1\nlisten: \(listen)\n\nupstreams:\n\(upstreams)\n\(yaml)"
    }

    /// Bytes of a definition at most, 16 KiB: it is read between two requests of others.
    public static let limit = 16 * 1024

    /// Where a definition without a name of its own goes, and what it takes.
    public struct Place: Hashable, Sendable {
        public var name: String
        /// The path of `match`, a pattern.
        public var match: String
        public var upstream: String
        /// The names of the upstreams that there are; `upstream` is one.
        public var upstreams: [String]
        /// An address that nobody listens on yet.
        public var listen = RouteDefinition.usualAddress

        public init(name: String = "tried", match: String = "/tried", upstream: String, upstreams: [String]) {
            self.name = name
            self.match = match
            self.upstream = upstream
            self.upstreams = upstreams.contains(upstream) ? upstreams : upstreams + [upstream]
        }
    }

    /// Where a file listens that stands alone.
    public static let usualAddress = "127.0.0.1:8080"

    /// An address of this machine that a file that runs doesn't listen on, 127.0.0.1:8080 or the first behind it: who builds a
    /// route beside a Recast that runs tries its file there, too.
    public static func listen(beside running: SettingsFile) -> String {
        let settings = running.settings
        var taken: Set<Int> = []
        for case .tcp(_, let port) in settings.listen + [settings.admin.address].compactMap(\.self) {
            taken.insert(port)
        }
        return "127.0.0.1:\((8080...8999).first { !taken.contains($0) } ?? 8080)"
    }

    /// Reads the YAML of a route, in which `name`, `match` and `upstream` may be missing, by the readers of settings files.
    /// Lines and columns of mistakes are those of the text. No variable and no file is looked at: what `${env:…}` and `${file:…}`
    /// stand for is a placeholder, and what depends on one is left unchecked. Its examples are run.
    public init(reading text: String, at place: Place) throws(SettingsMistakes) {
        guard text.utf8.count <= Self.limit else {
            throw SettingsMistakes([
                SettingsMistake(line: 1, column: 1, message: "a definition has at most \(Self.limit) bytes here")
            ])
        }
        let context = ReadingContext(text, environment: .nothing)
        var file: SettingsFile?
        var members: [SettingsNode.Member] = []
        if let node = YAMLText.read(text, context) {
            if case .mapping(let own) = node.content {
                members = Self.route(own, at: place)
                file = SettingsFile(root: Self.root(members, place), context)
            } else {
                context.report(node.position, "a route is a mapping of keys to values, not \(node.kind)")
            }
        }
        guard let file, context.mistakes.isEmpty else { throw SettingsMistakes(context.mistakes) }
        // What can't be read without a variable is left out of a file, all of the route here.
        guard !file.settings.routes.isEmpty else {
            throw SettingsMistakes([
                SettingsMistake(
                    line: file.unresolvedLines.first ?? 1, column: 1,
                    message:
                        "the route can't be read without what ${env:…} or ${file:…} gives here: write the value itself")
            ])
        }
        try file.runExamples()
        self.file = file
        index = 0
        listen = place.listen
        yaml = Self.text(members, definition: text)
        tree = Self.tree(members)
        leftOut = []
    }

    /// The route of `file` at `index`, as `text`, which is what the file was read from, has it. What may hold a secret is left
    /// out of `yaml`, which says so.
    public init(of index: Int, in file: SettingsFile, text: String?) {
        self.file = file
        self.index = index
        listen = Self.listen(beside: file)
        var members: [SettingsNode.Member] = []
        let context = ReadingContext("", environment: .nothing)
        if let text, let root = YAMLText.read(text, context), case .mapping(let top) = root.content,
            case .sequence(let routes)? = top.first(where: { $0.key == "routes" })?.value.content,
            routes.indices.contains(index), case .mapping(let own) = routes[index].content
        {
            members = own
        }
        let hidden = members.map(\.key).filter(Self.secretKeys.contains)
        members.removeAll { Self.secretKeys.contains($0.key) }
        members = RouteKeys.sorted(members, key: \.key)
        let names = hidden.joined(separator: ", ")
        let note = hidden.isEmpty ? "" : "    # left out, because secrets may stand there: \(names)\n"
        yaml = members.isEmpty ? "" : Self.text(members) + note
        tree = Self.tree(members)
        leftOut = hidden
    }

    private static let secretKeys: Set = ["verify", "challenge", "sign", "authorize"]

    // MARK: - What stands around it

    private static let start = SettingsNode.Position(line: 1, column: 1)

    private static func member(_ key: String, _ content: SettingsNode.Content) -> SettingsNode.Member {
        .init(key: key, position: start, value: SettingsNode(position: start, content: content))
    }

    /// The members of the route in their usual order: what is missing, and those that are written.
    private static func route(_ own: [SettingsNode.Member], at place: Place) -> [SettingsNode.Member] {
        let standard = [("name", place.name), ("match", place.match), ("upstream", place.upstream)]
        let missing = standard.filter { key, _ in !own.contains { $0.key == key } }
        return RouteKeys.sorted(missing.map { member($0, .scalar($1, isPlain: true)) } + own, key: \.key)
    }

    private static func root(_ route: [SettingsNode.Member], _ place: Place) -> SettingsNode {
        let upstreams = place.upstreams.map { member($0, .scalar("127.0.0.1:3000", isPlain: true)) }
        let content = SettingsNode.Content.mapping([
            member("version", .scalar("1", isPlain: true)),
            member("listen", .scalar(place.listen, isPlain: true)),
            member("upstreams", .mapping(upstreams)),
            member("routes", .sequence([SettingsNode(position: start, content: .mapping(route))])),
        ])
        return SettingsNode(position: start, content: content)
    }

    // MARK: - As YAML

    private static let head = "routes:\n"

    /// The route as it was written, comments and all, where that is read as the same in its new place; else written anew. Keys that
    /// stand in another order than usual take their lines, and the comments above, with them.
    private static func text(_ members: [SettingsNode.Member], definition: String) -> String {
        let text = head + lead(RouteKeys.sorted(pieces(members, of: definition), key: \.key).map(\.text).joined())
        let context = ReadingContext("", environment: .nothing)
        if let root = YAMLText.read(text, context), context.mistakes.isEmpty, case .mapping(let top) = root.content,
            top.count == 1, case .sequence(let routes) = top[0].value.content, routes.count == 1,
            routes[0].isSame(SettingsNode(position: start, content: .mapping(members)))
        {
            return text
        }
        return Self.text(members)
    }

    /// The lines of each member, as they are written; those that aren't in the definition first.
    private static func pieces(
        _ members: [SettingsNode.Member], of definition: String
    ) -> [(key: String, text: String)] {
        var lines = definition.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        while lines.last?.isEmpty == true { lines.removeLast() }
        // No value of the text can stand where its first key does.
        var pieces = members.filter { $0.value.position == start }.map { member -> (key: String, text: String) in
            var added = YAMLWriter()
            added.write([member], indent: 4)
            return (member.key, added.text)
        }
        let written = members.filter { $0.value.position != start }.sorted { $0.position.line < $1.position.line }
        var begin = 0
        for (number, member) in written.enumerated() {
            var end = number + 1 < written.count ? min(written[number + 1].position.line - 1, lines.count) : lines.count
            if end < lines.count { while end > begin + 1, lines[end - 1].hasPrefix("#") { end -= 1 } }
            let own = lines[min(begin, end)..<end].map { $0.isEmpty ? "\n" : "    \($0)\n" }
            pieces.append((member.key, own.joined()))
            begin = max(begin, end)
        }
        return pieces
    }

    private static func text(_ members: [SettingsNode.Member]) -> String {
        var writer = YAMLWriter()
        writer.write(members, indent: 4)
        return head + lead(writer.text)
    }

    /// Lines that begin at the fifth column, of which the first begins an element of a list. A comment before all keys stands above it.
    private static func lead(_ lines: String) -> String {
        var comments = ""
        var rest = lines[...]
        while rest.hasPrefix("    #"), let end = rest.firstIndex(of: "\n") {
            comments += rest[...end].dropFirst(2)
            rest = rest[rest.index(after: end)...]
        }
        return comments + (rest.isEmpty ? "  -\n" : "  - " + rest.dropFirst(4))
    }
}

extension SettingsEnvironment {
    /// That of texts which nothing outside of them may get into.
    static let nothing: SettingsEnvironment = {
        var environment = SettingsEnvironment(
            variable: { _ in nil }, file: { _ throws(FileFault) in throw FileFault("no file is read here") })
        environment.lacksSecrets = true
        return environment
    }()
}

extension SettingsNode {
    /// Whether it says the same, wherever it stands.
    fileprivate func isSame(_ other: SettingsNode) -> Bool {
        switch (content, other.content) {
        case (.scalar(let one, let isPlain), .scalar(let two, let isPlainToo)):
            one == two && isPlain == isPlainToo
        case (.sequence(let one), .sequence(let two)):
            one.count == two.count && zip(one, two).allSatisfy { $0.isSame($1) }
        case (.mapping(let one), .mapping(let two)):
            one.count == two.count && zip(one, two).allSatisfy { $0.key == $1.key && $0.value.isSame($1.value) }
        default: false
        }
    }
}
