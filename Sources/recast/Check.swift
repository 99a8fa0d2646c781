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
            if let note = loaded.settings.admin.note { print(note) }
            for route in loaded.settings.routes {
                for line in route.notes(framing: loaded.settings.upstreams[route.upstream].framing) { print(line) }
            }
        }
        let routes = counted(loaded.settings.routes.count, "route")
        let examples = loaded.examplesOfRoutes.joined().count
        print("\(file): fine, \(routes)\(examples == 0 ? "" : ", \(counted(examples, "example"))")")
    }

    private func counted(_ count: Int, _ what: String) -> String { "\(count) \(what)\(count == 1 ? "" : "s")" }
}

extension Route {
    /// What the outputs of its conversions can't carry, and which bodies go out without a length where the upstream's framing
    /// doesn't see to that, a line each.
    fileprivate func notes(framing: FramingMode) -> [String] {
        var lines: [String] = []
        if case .convert(let plan, _, _) = request {
            lines += plan.notes().map { "route \(name): \($0)" }
            if framing == .auto, let note = plan.framingNote { lines.append("route \(name): \(note)") }
        }
        for (index, rule) in responses.enumerated() {
            guard case .convert(let conversion) = rule.action else { continue }
            let which = responses.count == 1 ? "response" : "response \(index + 1)"
            lines += conversion.plan.notes().map { "route \(name), \(which): \($0)" }
        }
        return lines
    }
}
