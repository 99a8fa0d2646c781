internal import ArgumentParser
internal import EventLoop
internal import Proxy
internal import Settings
internal import Synchronization

/// `recast try`: the proxy with its console, in front of an echo.
struct TryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "try",
        abstract: "Serve a settings file on this machine alone, in front of an echo, with the console for a browser.",
        discussion: """
            Without a file some routes to try are served, one of each kind. The first lines say where; those of the file are \
            used where they are free. Its upstreams are replaced by an echo that answers with what it received, unless \
            --upstreams is given. TLS is left out, and secrets need not be here. A changed file is read again. SIGINT ends it.
            """)

    @Argument(help: "The settings file; - is standard input.", completion: .file())
    var file: String?

    @Flag(help: "Forward to the file's own upstreams. Then its secrets must be here.")
    var upstreams = false

    func run() throws {
        holdSignals()
        AccessChecks.endInRelease()
        openStandardDescriptors()
        guard file != nil || !upstreams else {
            throw CommandFault(CommandFault.usage, "recast try: --upstreams is for a file with upstreams of its own")
        }
        let (loaded, lacksSecrets) = try load()
        let tried = TriedSettings(
            loaded.settings, echo: upstreams ? nil : try echo(), lacksSecrets: lacksSecrets)
        guard try serve(loaded, tried) == .drained else {
            throw CommandFault(CommandFault.ours, "recast try: a second signal ended it with requests in flight")
        }
    }

    // MARK: - The settings

    private var shown: String { file.map(SettingsPath.shown) ?? "the routes to try" }

    /// The file's settings; where only its secrets are missing, without them.
    private func load() throws(CommandFault) -> (file: SettingsFile, lacksSecrets: Bool) {
        guard let file else {
            let text = String(decoding: Recipe.demonstration.text, as: UTF8.self)
            do throws(SettingsMistakes) {
                return (try SettingsFile.parse(text, environment: .process(folder: "")), false)
            } catch {
                throw CommandFault(error, in: "config/recast.yaml")
            }
        }
        do throws(CommandFault) {
            return (try SettingsPath.loadWithExamples(file), false)
        } catch {
            guard !upstreams, file != SettingsEnvironment.standardInput,
                let loaded = try? SettingsFile.load(file, withoutSecrets: true), (try? loaded.runExamples()) != nil
            else { throw error }
            return (loaded, true)
        }
    }

    private func echo() throws(CommandFault) -> UpstreamAddress {
        do throws(LoopError) {
            let address = try EchoServer.start().description
            guard let colon = address.lastIndex(of: ":"), let port = Int(address[address.index(after: colon)...]) else {
                throw .system(call: "bind", errno: 0)
            }
            return .tcp(host: String(address[..<colon]), port: port)
        } catch {
            throw CommandFault(CommandFault.unavailable, "recast try: no echo: \(error)")
        }
    }

    // MARK: - Serving

    private func serve(_ loaded: SettingsFile, _ tried: TriedSettings) throws(CommandFault) -> Server.Outcome {
        let reread = RereadSettings()
        let backend = AdminBackend(loaded, path: file ?? "config/recast.yaml", reread: reread)
        var reload: SettingsReload?
        var settings = tried.applied(to: loaded.settings)
        if let file, file != SettingsEnvironment.standardInput {
            settings.lifecycle.watch = true
            reload = {
                SettingsPath.reload(file, withoutSecrets: tried.lacksSecrets, keeping: reread).map {
                    var settings = tried.applied(to: $0)
                    settings.lifecycle.watch = true
                    return settings
                }
            }
        }
        do throws(ServerError) {
            return try Server.run(settings: settings, reload: reload, services: backend.services) { addresses in
                report(addresses.map(\.description), loaded, tried)
            }
        } catch {
            throw CommandFault(CommandFault.unavailable, "recast try: \(error)")
        }
    }

    /// Says where things are, for a person.
    private func report(_ addresses: [String], _ loaded: SettingsFile, _ tried: TriedSettings) {
        let places = addresses.map { "http://\($0)" }.joined(separator: ", ")
        let behind = tried.echo.map { "an echo on \($0)" } ?? "its upstreams"
        var lines = ["recast try: \(shown) on \(places), in front of \(behind)"]
        let open = tried.openRoutes(of: loaded.settings)
        if !open.isEmpty {
            let names = open.joined(separator: ", ")
            lines.append("taken from anybody, because secrets are not here: requests of \(names)")
        }
        if file == nil, let first = addresses.first { lines += Self.requests(to: first) }
        try? StandardStreams.write(lines: lines)
    }

    /// The requests that the comments of the routes to try have, with the address that it is.
    private static func requests(to address: String) -> [String] {
        let text = String(decoding: Recipe.demonstration.text, as: UTF8.self)
        return text.split(separator: "\n").compactMap { line in
            guard let mark = line.firstRange(of: "# try: ") else { return nil }
            return "  " + line[mark.upperBound...].replacing("127.0.0.1:8080", with: address)
        }
    }
}
