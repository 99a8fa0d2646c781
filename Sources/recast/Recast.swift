internal import ArgumentParser
internal import EventLoop
internal import Glibc
internal import Proxy
internal import Settings

/// The command. Each subcommand has a file of its own; here is what they share: how a run ends.
@main
struct Recast: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recast",
        abstract: "A forwarding proxy that re-encodes bodies: forms, JSON, multipart, property lists, XML.",
        discussion: """
            Exit codes: 0 done, 64 wrong usage, 65 bad data or configuration, 69 something needed is not available, \
            70 a fault of recast.
            """,
        version: BuildInformation.line(with: SettingsLibraries.versions),
        subcommands: [
            Serve.self, Init.self, Check.self, Convert.self, Explain.self, Routes.self, Sign.self, Verify.self,
            EchoCommand.self, TryCommand.self, LearnCommand.self,
            Probe.self,
        ])

    /// Runs the command that the arguments name. Whatever is wrong is one line on standard error.
    static func main() {
        do {
            let arguments = programArguments()
            if let file = Serve.onlyFile(arguments) { return try Serve.run(file) }
            try checkName(arguments)
            var command = try parseAsRoot(arguments)
            try command.run()
        } catch {
            end(error)
        }
    }

    /// Throws where the first argument names no command: the parser would call it an argument that isn't expected.
    private static func checkName(_ arguments: [String]) throws(CommandFault) {
        let names = configuration.subcommands.map { $0._commandName } + ["help"]
        // Help says what all commands are where the one that is asked for is none.
        let name = arguments.first == "help" && arguments.count > 1 ? arguments[1] : arguments.first
        guard let name, !name.hasPrefix("-"), !names.contains(name) else { return }
        throw CommandFault(
            CommandFault.usage,
            "recast: there is no command \"\(name)\": \(NearestWord.hint(for: name, among: names)) (\"recast help\" tells how)"
        )
    }

    /// Says what `error` is and ends: help and the version, which come as one, are what was asked for.
    private static func end(_ error: any Error) -> Never {
        if let fault = error as? CommandFault {
            if fault.endsServer {
                StandardStreams.reportShortly(fault.lines)
            } else {
                for line in fault.lines { StandardStreams.report(line) }
            }
            Glibc.exit(fault.code)
        }
        let code = exitCode(for: error)
        if code.isSuccess {
            do throws(CommandFault) {
                try StandardStreams.write(text: fullMessage(for: error) + "\n")
            } catch {
                end(error)
            }
        } else {
            let reason = message(for: error).split(separator: "\n").joined(separator: " ")
            StandardStreams.report("recast: \(reason) (\"recast help\" tells how)")
        }
        // What is neither help nor wrong usage is a fault of ours.
        Glibc.exit(code == .failure ? CommandFault.ours : code.rawValue)
    }
}
