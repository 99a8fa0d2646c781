public import EventLoop
internal import Gateway
internal import HTTP2
public import Proxy

/// A settings file that was read and checked.
public struct SettingsFile: Sendable {
    public private(set) var settings: ProxySettings
    /// The values in effect that are not a route's, in the order of the file's sections.
    public let effective: [EffectiveValue]
    /// The values in effect for each route, in the order of the routes.
    public let effectiveOfRoutes: [[EffectiveValue]]
    /// The examples of each route, in the order of the routes.
    public let examplesOfRoutes: [[RouteExample]]

    /// What an operator should know of them: warnings first where both are said of one thing, in the order of the sections.
    ///
    /// They are looked for each time: what a conversion can't carry is found by trying it, which was half of the start with a hundred
    /// routes, and who serves them asks for none.
    public var notes: [SettingsNote] {
        let redaction = Redaction(substitutions)
        return noteFinder.all.map { note in
            var note = note
            note.message = UserInfo.masked(
                redaction.message(note.message, at: .init(line: note.line, column: note.column)))
            return note
        }
    }
    /// Those of `notes` that are about the machine on which the settings are served, and cost little to find.
    public var machineNotes: [SettingsNote] { noteFinder.authorityNotes + noteFinder.ofFiles }
    private let noteFinder: SettingsNotes
    /// The lines whose values could not be checked, because what they hold isn't here, in ascending order.
    public let unresolvedLines: [Int]

    /// What it was read from; nil where that was no text. Shown by route alone, since literal secrets may stand in it.
    public private(set) var text: String?

    /// The values of `${env:…}` and `${file:…}` that were put in.
    private let substitutions: [EffectiveValue.Secret]

    /// `value` as others may see it: what was put in by `${env:…}` and `${file:…}` stands as that again, and the userinfo of a URL as `*`.
    public func redacted(_ value: EffectiveValue) -> EffectiveValue {
        var value = substitutions.reduce(value) { $0.without($1) }
        value.value = UserInfo.masked(value.value)
        return value
    }

    /// A text about the route at that index as others may see it, as above: one that is none of the values in effect. What was put in
    /// with fewer than four bytes is looked for where it is a whole word, and if it stands in the route.
    public func redacted(text: String, ofRoute index: Int) -> String {
        let start = noteFinder.routes[index].line
        let next = noteFinder.routes.dropFirst(index + 1).first?.line ?? Int.max
        let lines = effectiveOfRoutes[index].compactMap { if case .line(let line) = $0.origin { line } else { nil } }
        let shown = substitutions.reduce(text) { text, secret in
            let isOwn = secret.line == start || start..<max(start, next) ~= secret.line || lines.contains(secret.line)
            guard isOwn || Redaction.isLookedForAnywhere(secret.text) else { return text }
            // A layout doubles braces.
            let doubled = secret.text.replacing("{", with: "{{").replacing("}", with: "}}")
            let shown = Redaction.replace(doubled, with: secret.reference, in: text)
            return doubled == secret.text ? shown : Redaction.replace(secret.text, with: secret.reference, in: shown)
        }
        return UserInfo.masked(shown)
    }

    /// A target of the route at that index as others may see it, as above: `/q?api_key=${env:TOKEN}`.
    public func redacted(target: String, ofRoute index: Int) -> String {
        RedactedTarget(secrets: substitutions, effective: effectiveOfRoutes[index]).text(target)
    }

    /// Reads the file at `path`. Throws all that is wrong with it, also that it can't be read.
    ///
    /// - Parameter withoutSecrets: whether variables and files may be missing, as `SettingsEnvironment.lacksSecrets` says.
    public static func load(_ path: String, withoutSecrets: Bool = false) throws(SettingsMistakes) -> SettingsFile {
        var files: [ReadFile] = []
        return try load(path, withoutSecrets: withoutSecrets, files: &files)
    }

    /// As `load(_:)`, and says in `files` which files were read, or should have been, also when it throws: `path` first, those of
    /// certificates last.
    public static func load(
        _ path: String, withoutSecrets: Bool = false, files: inout [ReadFile]
    ) throws(SettingsMistakes) -> SettingsFile {
        // Standard input is no file that could change.
        let list = FileList()
        if path != SettingsEnvironment.standardInput { list.addText(path) }
        defer { files = list.all }
        let text: String
        do {
            text = try SettingsEnvironment.readText(path)
        } catch {
            throw SettingsMistakes([
                SettingsMistake(line: error.line, column: error.column, message: error.reason, code: .file)
            ])
        }
        var environment = SettingsEnvironment.process(folder: folder(of: path))
        environment.lacksSecrets = withoutSecrets
        let read = environment.file
        let folder = folder(of: path)
        environment.file = { name throws(SettingsEnvironment.FileFault) in
            list.addText(SettingsEnvironment.path(name, in: folder))
            return try read(name)
        }
        environment.willLoad = { list.addCertificate($0) }
        var loaded = try parse(text, environment: environment)
        // Certificates are loaded anew without the settings (`CertificateWatch`).
        loaded.settings.lifecycle.files = list.text
        return loaded
    }

    private static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[...$0].dropLast()) } ?? ""
    }

    /// Reads settings from text; nothing is opened but what `${file:…}` names and the
    /// files of certificates, which are loaded. Throws all that is wrong with it.
    public static func parse(
        _ text: String, environment: SettingsEnvironment
    ) throws(SettingsMistakes) -> SettingsFile {
        let text = SettingsEnvironment.withoutMark(text)
        let context = ReadingContext(text, environment: environment)
        var file: SettingsFile?
        if let root = YAMLText.read(text, context) { file = SettingsFile(root: root, context) }
        guard var file, context.mistakes.isEmpty else { throw SettingsMistakes(context.mistakes) }
        file.text = text
        return file
    }

    /// Reads the top of a file; nil, and a mistake, where it is no mapping.
    init?(root: SettingsNode, _ context: ReadingContext) {
        guard let section = SectionReader(root, "the file", context) else { return nil }
        self.init(section, context)
    }

    /// Those of `substitutions` that routes write into what they send.
    private static func foreignValues(
        _ routes: [Route], _ effective: [[EffectiveValue]], _ substitutions: [EffectiveValue.Secret]
    ) -> [String] {
        guard !substitutions.isEmpty else { return [] }
        let rules = effective.joined().filter { value in
            value.key.split(separator: ".").contains { $0 == "headers" || $0 == "rewrite" }
        }
        .map { value in substitutions.reduce(value) { $0.without($1) }.value }
        // What maps set is recorded by its place alone.
        let mapped = routes.flatMap(\.mappedTexts)
        return substitutions.filter { secret in
            rules.contains { $0.contains(secret.reference) } || mapped.contains { $0.contains(secret.text) }
        }
        .map(\.text)
    }

    /// The end of a message that there is no route of that name: a guess, or all that there are.
    public func hint(forRoute name: String) -> String {
        NearestWord.hint(for: name, among: settings.routes.map(\.name))
    }

    /// Runs the examples of all routes, but those that need what isn't here. Throws those that fail, each with what it expected and
    /// what it got.
    public func runExamples() throws(SettingsMistakes) {
        var failures: [SettingsMistake] = []
        // What came out is shown, and a rule may have put a secret in.
        let redaction = Redaction(substitutions)
        for (route, examples) in zip(settings.routes, examplesOfRoutes) {
            for example in examples {
                guard example.isKnown, let failure = example.failure(on: route.converting) else { continue }
                failures.append(
                    SettingsMistake(
                        line: example.line, column: example.column,
                        message: redaction.document("the example of the route \"\(route.name)\" fails: \(failure)"),
                        code: .example, route: route.name))
            }
        }
        if !failures.isEmpty { throw SettingsMistakes(failures) }
    }

    /// Reads the top of the file. What can't be read is reported and stands as its standard.
    private init(_ file: SectionReader, _ context: ReadingContext) {
        context.level = .file
        file.isRoot = true
        if let node = file.required("version", example: "1") { _ = context.word(node, "\"version\"", among: ["1"]) }
        let listen = ListenReader(context: context).read(file)
        let workers = Self.workers(file)
        let log = AccessLogReader(context: context).read(file)
        let tracing = TracingReader(context: context).read(file)
        let client = ClientTimeoutSettings(file.part("timeouts"), grace: .seconds(25))
        var limits = LimitSettings(response: Route.standardResponseLimit)
        var timeouts = TimeoutSettings(bodyGap: client.bodyGap)
        var options = RouteOptions()
        var inherited: [EffectiveValue] = []
        var areLimitsKnown = true
        if let node = file.take("defaults"), let defaults = SectionReader(node, "\"defaults\"", context) {
            // Their values are recorded where they take effect: in the routes.
            let before = context.takeEffective()
            areLimitsKnown = !defaults.remaining.contains { $0.key == "limits" && context.isUnresolved($0.value) }
            Self.read(defaults, &limits, &timeouts, &options)
            inherited = context.takeEffective()
            for value in before { context.record(value.key, value.value, value.origin) }
        }
        let (memory, spool) = MemoryReader(context: context).read(file)
        // Where all requests are forwarded by data planes, no upstream is needed.
        let forwards = listen.addresses.contains { listen.listeners[$0]?.service.forwards ?? true }
        let upstreamsNode =
            forwards ? file.required("upstreams", example: "{app: 127.0.0.1:3000}") : file.take("upstreams")
        let upstreams = upstreamsNode.map { UpstreamReader(context: context, spool: spool).read($0) }
        let forwarding = ForwardingSettingsReader(context: context).read(file)
        let admission = AdmissionReader(context: context).read(file)
        let images = Self.images(file, context)
        let http2 = Self.http2(file)
        let lifecycle = LifecycleReader(context: context).read(file, grace: client.graceBound)
        // Sockets that share with other processes share with each other.
        for (position, address, earlier) in lifecycle.reusePort ? [] : listen.overlaps {
            context.report(position, AddressFault.overlap(address, earlier).reason)
        }
        let admin = AdminReader(context: context).read(file, listen: listen.addresses)
        effective = context.takeEffective()
        context.inherited = Dictionary(inherited.map { ($0.key, $0.origin) }) { $1 }
        let reader = RouteReader(
            context, upstreams: upstreams?.upstreams ?? [], forwards: forwards, limits: limits,
            areLimitsKnown: areLimitsKnown,
            timeouts: timeouts, options: options, paths: forwarding.paths)
        let adminLine = effective.first { $0.key == "admin" }?.origin
        let routesNode = file.required("routes", example: "[{name: all, match: \"/*\", upstream: app}]")
        let routes = routesNode.map(reader.read) ?? []
        AccessLogReader(context: context).refuseCredentials(log)
        file.refuse("tls", "belongs to an address: write listen: {address: 0.0.0.0:8443, tls: {…}}")
        file.finish()
        // The longest first: one may be a part of another, of which the rest would stay.
        substitutions = context.substitutions.sorted { $0.text.utf8.count > $1.text.utf8.count }
        effectiveOfRoutes = routes.map(\.effective)
        examplesOfRoutes = routes.map(\.examples)
        var settings = ProxySettings(
            listen: listen.addresses, workers: workers.count, upstreams: upstreams?.upstreams ?? [],
            routes: routes.map(\.route))
        settings.workersReason = workers.reason
        settings.listeners = listen.listeners
        settings.http2 = http2
        settings.accessLog = log.target
        settings.accessLogForm = log.form
        settings.tracing = tracing
        settings.client = client.timeouts
        settings.grace = client.grace
        settings.forwarding = forwarding
        settings.admission = admission
        settings.memory = memory
        settings.images = images
        settings.lifecycle = lifecycle
        settings.admin = admin
        settings.foreignValues = Self.foreignValues(settings.routes, effectiveOfRoutes, substitutions)
        var adminPosition = SettingsNode.Position(line: 1, column: 1)
        if case .line(let line)? = adminLine { adminPosition.line = line }
        noteFinder = SettingsNotes(
            settings: settings, routes: routes.map(\.position), upstreams: upstreams?.positions ?? [],
            admin: adminPosition, effective: effective, effectiveOfRoutes: effectiveOfRoutes,
            inherited: context.inherited, lacksRoutes: routes.count < (routesNode?.count ?? 0), ofFiles: context.notes,
            secrets: context.secretLengths)
        unresolvedLines = context.unresolvedLines.sorted()
        self.settings = settings
    }

    /// Takes all that "defaults" says.
    static func read(
        _ defaults: SectionReader, _ limits: inout LimitSettings, _ timeouts: inout TimeoutSettings,
        _ options: inout RouteOptions
    ) {
        let context = defaults.context
        context.level = .defaults
        defer { context.level = .file }
        defaults.isRoot = true
        limits.read(defaults.part("limits"))
        timeouts.read(defaults.part("timeouts"))
        RouteOptionsReader(context: context).read(defaults, into: &options)
        RateLimitReader(context, variables: nil, isDefault: true).read(defaults, into: &options.rateLimit)
        HeaderRulesReader(context, variables: nil, isDefault: true).read(defaults, into: &options.headers)
        defaults.finish()
    }

    /// How pictures are made smaller.
    private static func images(_ file: SectionReader, _ context: ReadingContext) -> ImageSettings {
        var settings = ImageSettings()
        let section = file.part("images")
        settings.threads =
            section.value(
                "threads", standard: Sourced(settings.threads), describe: { $0.map(String.init) ?? "auto" },
                read: { node, what in
                    guard let text = context.text(node, what) else { return nil }
                    if text == "auto" { return .some(nil) }
                    return context.count(node, what, in: 1...1024, or: "auto").map { .some($0) } ?? nil
                }
            ).value
        settings.queue = section.count("queue", standard: Sourced(settings.queue), in: 1...1_000_000).value
        section.finish()
        return settings
    }

    /// What a client of HTTP/2 may do on one connection.
    private static func http2(_ file: SectionReader) -> HTTP2Limits {
        var limits = HTTP2Limits()
        let section = file.part("http2")
        limits.streams = section.count("streams", standard: Sourced(limits.streams), in: 1...10_000).value
        let failures = section.context.failures
        limits.connectionWindow =
            section.size("connection_window", standard: Sourced(limits.connectionWindow), in: 65_535...(1 << 30)).value
        // What a stream may send, its connection must let pass.
        let window = section.bound("connection_window", limits.connectionWindow, since: failures)
        limits.streamWindow =
            section.bounded(
                "stream_window", standard: limits.streamWindow, by: window, describe: Units.describe(bytes:)
            ) { section.context.size($0, $1, in: 1024...(16 << 20)) }.value
        limits.requests = section.count("requests", standard: Sourced(limits.requests), in: 1...1_000_000_000).value
        limits.ping = section.time("ping", standard: Sourced(limits.ping)).value
        section.finish()
        return limits
    }

    /// `auto` is one for each processor that this process may use.
    private static func workers(_ file: SectionReader) -> (count: Int, reason: String?) {
        let limit = ProcessorLimit.current()
        let auto = (count: min(limit.count, largestWorkers), reason: limit.reason as String?)
        let context = file.context
        return file.value("workers", standard: Sourced(auto), describe: { String($0.count) }) { node, what in
            guard let text = context.text(node, what) else { return nil }
            if text == "auto" { return auto }
            if let count = Int(text), String(count) == text, (1...largestWorkers).contains(count) {
                return (count, nil)
            }
            context.report(
                node.position, "\(what) is auto or a whole number from 1 to \(largestWorkers), not \"\(text)\"")
            return nil
        }.value
    }

    private static let largestWorkers = 1024
}
