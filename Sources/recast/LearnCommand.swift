internal import ArgumentParser
internal import Settings
internal import Transcoding

/// `recast learn`: a route's definition by what bodies look like.
struct LearnCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "learn",
        abstract:
            "Propose a route's \"request\" by what bodies look like: encodings, names of fields, what values could be.",
        discussion: """
            Each file is one body, of at most 1 MiB: recast learn *.body
            With --admin the one argument is the name of a route, and the running proxy is asked for what the bodies look like that \
            its console keeps of that route: recast learn orders --admin http://127.0.0.1:9901/console#token=…
            No value of a body is printed.
            """)

    @Argument(
        help: ArgumentHelp(
            "Files with a body each, - is standard input; with --admin the name of one route.",
            valueName: "files-or-route"),
        completion: .file())
    var files: [String]

    @Option(
        help: ArgumentHelp(
            "Of a running proxy: 127.0.0.1:9901, [::1]:9901, unix:/path, or the console's address as the log has it.",
            valueName: "address"))
    var admin: String?

    @Option(
        help:
            "The console's token; without it that of the address, else of \(RunningConsole.variable) in the environment."
    )
    var token: String?

    @Option(
        help:
            "Of files: the bodies' Content-Type, as in application/json; without it what a body begins with says whether it is JSON, XML, multipart or a form."
    )
    var type: String?

    @Option(help: "Of files: what the route is to write, form and so on; json without it.")
    var to: String?

    @Flag(help: "Print what was seen of each field, too, as one JSON object.")
    var json = false

    func run() throws {
        guard let admin else {
            guard token == nil else {
                throw usage("--token goes with --admin ADDRESS, that of a running proxy")
            }
            return try learnFromFiles()
        }
        try learn(from: admin)
    }

    // MARK: - A running proxy

    private func learn(from admin: String) throws {
        guard files.count == 1, let route = files.first, !route.isEmpty else {
            throw usage("with --admin there is one argument, the name of a route")
        }
        guard type == nil, to == nil else {
            throw usage("--type and --to are of files: with --admin the requests and the route say it")
        }
        let console: RunningConsole
        do throws(RunningConsole.Usage) {
            let variable = try? SettingsEnvironment.process(folder: "").variable(RunningConsole.variable)
            console = try RunningConsole(admin: admin, token: token, variable: variable)
        } catch {
            throw usage(error.reason)
        }
        let learnt = try console.learn(route)
        report(learnt.unreadable, skipped: 0, fields: learnt.leftOut)
        guard !json else { return try StandardStreams.write(learnt.json.span) }
        try StandardStreams.write(text: learnt.definition ?? "")
    }

    // MARK: - Files

    private func learnFromFiles() throws {
        let to = to ?? BodyEncoding.json.rawValue
        guard let output = BodyEncoding(rawValue: to), !output.isWhole else {
            let known = BodyEncoding.allCases.filter { !$0.isWhole }.map(\.rawValue)
            throw usage("nothing is proposed for \"\(to)\": known are \(known.joined(separator: ", "))")
        }
        var samples: [LearntRoute.Sample] = []
        for file in files {
            let body = try Self.read(file)
            samples.append(.init(type: type ?? LearntRoute.type(of: body), body: body))
        }
        let learnt: LearntRoute
        do throws(LearntRoute.Unreadable) {
            learnt = try LearntRoute(from: samples, to: output)
        } catch {
            let types = Set(samples.map(\.type)).sorted().joined(separator: ", ")
            throw CommandFault(
                CommandFault.data,
                "recast learn: none of the bodies, read as \(types), becomes \(to): \(Learning.counts(error.bodies))")
        }
        let skipped = samples.count - learnt.bodies - learnt.unreadable.values.reduce(0, +)
        report(learnt.unreadable, skipped: skipped, fields: learnt.leftOut)
        guard json else { return try StandardStreams.write(text: learnt.definition) }
        try StandardStreams.write(text: Learning.document(learnt, of: "", as: nil).json + "\n")
    }

    /// Says what nothing was learnt from.
    private func report(_ unreadable: [String: Int], skipped: Int, fields: Int) {
        let left = [
            unreadable.isEmpty ? nil : Learning.counts(unreadable),
            skipped > 0 ? "\(skipped) beyond what is looked at" : nil,
        ]
        .compactMap(\.self)
        if !left.isEmpty { StandardStreams.report("recast learn: left out: \(left.joined(separator: ", "))") }
        if fields > 0 { StandardStreams.report("recast learn: left out: \(fields) fields, beyond 500 names") }
    }

    private func usage(_ reason: String) -> CommandFault {
        CommandFault(CommandFault.usage, "recast learn: \(reason)")
    }

    private static func read(_ file: String) throws(CommandFault) -> [UInt8] {
        do {
            return try SettingsEnvironment.readBytes(file)
        } catch {
            // What has no slash may have been meant as a route.
            let hint =
                file.contains("/") || file == SettingsEnvironment.standardInput
                ? "" : "; the name of a route goes with --admin ADDRESS"
            throw CommandFault(CommandFault.unavailable, "recast learn: \(error.reason)\(hint)")
        }
    }
}
