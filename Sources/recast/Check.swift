internal import ArgumentParser
internal import Proxy
internal import Settings
internal import Transcoding

/// `recast check`: every mistake of a settings file at once.
struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Read a settings file, run its examples and report every mistake with its line and column.",
        discussion: """
            For each route that converts it says what the output can't carry or can't tell apart, and the setting that \
            mends it; of upstreams, which none uses or are this proxy itself. These notes are no mistakes, but warnings are \
            with --strict.
            """)

    @Argument(help: "The settings file; - is standard input.", completion: .file())
    var file = SettingsPath.standard

    @Flag(help: "Leave the notes out.")
    var quiet = false

    @Flag(help: "Fail where there is a warning, as where there is a mistake.")
    var strict = false

    @Flag(help: "Print what is found as one JSON object.")
    var json = false

    @OptionGroup var secrets: SecretsOption

    func run() throws {
        let loaded: SettingsFile
        do throws(SettingsMistakes) {
            loaded = try SettingsFile.load(file, withoutSecrets: secrets.noSecrets)
            try loaded.runExamples()
        } catch {
            guard json else { throw SettingsPath.fault(error, in: file, secrets) }
            try report(error.all.map(finding), ok: false, [])
            throw CommandFault(CommandFault.data)
        }
        let notes = quiet ? [] : loaded.notes
        let warnings = strict ? loaded.notes.count { $0.severity == .warning } : 0
        let examples = loaded.examplesOfRoutes.joined().count(where: \.isKnown)
        if json {
            let counts = [
                ("routes", number(loaded.settings.routes.count)), ("examples", number(examples)),
                ("unchecked_lines", Literal.array(loaded.unresolvedLines.map(number))),
            ]
            try report(notes.map(finding), ok: warnings == 0, warnings == 0 ? counts : [])
            guard warnings == 0 else { throw CommandFault(CommandFault.data) }
            return
        }
        var lines = notes.map { note in
            note.severity == .warning ? "warning: \(note) (line \(note.line))" : "\(note)"
        }
        if !loaded.unresolvedLines.isEmpty {
            let numbers = loaded.unresolvedLines.map(String.init).joined(separator: ", ")
            lines.append(
                "not checked, because the values are not here: what ${env:…} and ${file:…} give in line \(numbers)")
        }
        guard warnings == 0 else {
            try StandardStreams.write(lines: lines)
            throw CommandFault(
                CommandFault.data,
                "\(SettingsPath.shown(file)): \(counted(warnings, "warning")), which --strict refuses")
        }
        let routes = counted(loaded.settings.routes.count, "route")
        lines.append(
            "\(SettingsPath.shown(file)): fine, \(routes)\(examples == 0 ? "" : ", \(counted(examples, "example"))")")
        try StandardStreams.write(lines: lines)
    }

    // MARK: - JSON

    private func report(_ findings: [Literal], ok: Bool, _ more: [(String, Literal)]) throws {
        let members = [("file", Literal.string(SettingsPath.shown(file))), ("ok", .bool(ok))] + more
        try StandardStreams.write(json: object(members + [("findings", .array(findings))]).json)
    }

    private func finding(_ mistake: SettingsMistake) -> Literal {
        finding(
            "error", mistake.code.rawValue, mistake.line, mistake.column, mistake.message, mistake.hint, mistake.route)
    }

    private func finding(_ note: SettingsNote) -> Literal {
        finding(
            note.severity.rawValue, note.code, note.line, note.column, "\(note.subject): \(note.message)", note.hint,
            note.route)
    }

    private func finding(
        _ severity: String, _ code: String, _ line: Int, _ column: Int, _ message: String, _ hint: String?,
        _ route: String?
    ) -> Literal {
        object([
            ("severity", .string(severity)), ("code", .string(code)), ("file", .string(SettingsPath.shown(file))),
            ("line", number(line)), ("column", number(column)), ("message", .string(message)),
            ("hint", optional(hint)), ("route", optional(route)),
        ])
    }
}
