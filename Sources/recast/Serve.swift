internal import ArgumentParser
internal import EventLoop
internal import Proxy
internal import Settings

/// `recast serve`: the proxy.
struct Serve: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Serve the routes of a settings file.",
        discussion: """
            SIGTERM, SIGINT and SIGQUIT drain: no new connections, requests in flight finish. A second signal ends at once. \
            SIGHUP reads the settings again; a file with mistakes changes nothing. SIGUSR1 opens the access log again.
            """)

    @Argument(help: "The settings file; - is standard input.", completion: .file())
    var file = SettingsPath.standard

    func run() throws { try Self.run(file) }

    /// The settings file of a command line that says no more than `serve FILE`, or nil. That is how nearly every proxy is
    /// started, and reading it needs none of the machinery that a command line with options, help and mistakes does: that takes
    /// a seventh of the start.
    static func onlyFile(_ arguments: [String]) -> String? {
        guard arguments.first == "serve", arguments.count <= 2 else { return nil }
        guard arguments.count == 2 else { return SettingsPath.standard }
        return arguments[1].hasPrefix("-") ? nil : arguments[1]
    }

    /// Serves the routes of `file` until a signal ends it.
    static func run(_ file: String) throws(CommandFault) {
        do throws(CommandFault) {
            try serve(file)
        } catch {
            var fault = error
            fault.endsServer = true
            throw fault
        }
    }

    private static func serve(_ file: String) throws(CommandFault) {
        holdSignals()
        AccessChecks.endInRelease()
        openStandardDescriptors()
        // What the dynamic linker has read nobody reads again; without this the start would be the peak of a process that never
        // again needs half as much. Once more after the settings would save 2 MiB of that, and take 1 ms.
        ProgramPages.letGo()
        let loaded = try SettingsPath.loadWithExamples(file)
        guard try serve(loaded, file) == .drained else {
            throw CommandFault(CommandFault.ours, "recast serve: a second signal ended it at once")
        }
    }

    private static func serve(_ loaded: SettingsFile, _ file: String) throws(CommandFault) -> Server.Outcome {
        let settings = loaded.settings
        let reread = RereadSettings()
        let backend = AdminBackend(loaded, path: SettingsPath.shown(file), reread: reread)
        do throws(ServerError) {
            return try Server.run(
                settings: settings, reload: { SettingsPath.reload(file, keeping: reread, warns: true) },
                services: backend.services
            ) { addresses in
                let places = addresses.map(\.description).joined(separator: ", ")
                OperationalLog.note(
                    "serving \(counted(settings.routes.count, "route")) of \(SettingsPath.shown(file)) on \(places)")
                SettingsPath.warn(of: loaded)
            }
        } catch {
            throw CommandFault(CommandFault.unavailable, "recast serve: \(error)")
        }
    }
}
