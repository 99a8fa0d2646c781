internal import ArgumentParser
internal import Proxy
internal import Settings

/// `recast check`: every mistake of a settings file at once.
struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Read a settings file and report every mistake with its line and column.")

    @Argument(help: "The settings file.")
    var file = SettingsPath.standard

    func run() throws {
        let settings = try SettingsPath.load(file).settings
        let count = settings.routes.count
        print("\(file): fine, \(count) \(count == 1 ? "route" : "routes")")
    }
}
