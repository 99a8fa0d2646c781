internal import ArgumentParser
internal import EventLoop
internal import Proxy
internal import Settings

/// `recast serve`: the proxy.
struct Serve: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Serve the routes of a settings file.",
        discussion: """
            SIGTERM and SIGINT drain: no new connections, requests in flight finish. A second signal ends at once. SIGHUP \
            reads the settings again; a file with mistakes changes nothing. SIGUSR1 opens the access log again.
            """)

    @Argument(help: "The settings file.")
    var file = SettingsPath.standard

    func run() throws {
        openStandardDescriptors()
        holdSignals()
        // Each step of the start reads code that the others don't; without this the start would be the peak of a process that
        // never again needs half as much.
        ProgramPages.letGo()
        let loaded = try SettingsPath.loadWithExamples(file)
        ProgramPages.letGo()
        guard try serve(loaded) == .drained else {
            throw CommandFault(CommandFault.ours, "recast serve: a second signal ended it with requests in flight")
        }
    }

    private func serve(_ loaded: SettingsFile) throws(CommandFault) -> Server.Outcome {
        let settings = loaded.settings
        let reread = RereadSettings()
        let backend = AdminBackend(loaded, path: file, reread: reread)
        do throws(ServerError) {
            let file = file
            return try Server.run(
                settings: settings, reload: { SettingsPath.reload(file, keeping: reread) }, services: backend.services
            ) { addresses in
                let places = addresses.map(\.description).joined(separator: ", ")
                OperationalLog.note("serving \(settings.routes.count) routes of \(file) on \(places)")
            }
        } catch {
            throw CommandFault(CommandFault.unavailable, "recast serve: \(error)")
        }
    }
}
