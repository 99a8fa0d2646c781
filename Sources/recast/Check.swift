internal import ArgumentParser
internal import Proxy
internal import Serialization
internal import Settings

/// `recast check`: every mistake of a settings file at once.
struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Read a settings file, run its examples and report every mistake with its line and column.",
        discussion: """
            For each route that converts it says what the output can't carry or can't tell apart, and the setting that \
            mends it; these notes are no mistakes.
            """)

    @Argument(help: "The settings file.")
    var file = SettingsPath.standard

    @Flag(help: "Leave the notes out.")
    var quiet = false

    func run() throws {
        let loaded = try SettingsPath.loadWithExamples(file)
        if !quiet {
            for route in loaded.settings.routes {
                for note in route.notes { print("route \(route.name): \(note)") }
            }
        }
        let routes = counted(loaded.settings.routes.count, "route")
        let examples = loaded.examplesOfRoutes.joined().count
        print("\(file): fine, \(routes)\(examples == 0 ? "" : ", \(counted(examples, "example"))")")
    }

    private func counted(_ count: Int, _ what: String) -> String { "\(count) \(what)\(count == 1 ? "" : "s")" }
}

extension Route {
    /// What the output of its conversion can't carry.
    fileprivate var notes: [ConversionNote] {
        guard case .convert(let plan, _, _) = request else { return [] }
        return plan.notes()
    }
}
