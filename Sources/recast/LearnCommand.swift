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
            Each file is one body, of at most 1 MiB. No value of a body is printed. A proxy that runs with the console is asked \
            for the bodies that it keeps of a route by GET /console/learn.
            """)

    @Argument(help: "Files with a body each; - is standard input.", completion: .file())
    var files: [String]

    @Option(help: "The bodies' Content-Type, as in application/json.")
    var type: String = BodyEncoding.form.mediaType

    @Option(help: "What the route is to write: json, form and so on.")
    var to: String = BodyEncoding.json.rawValue

    @Flag(help: "Print what was seen of each field, too, as one JSON object.")
    var json = false

    func run() throws {
        guard let output = BodyEncoding(rawValue: to), output != .text, output != .raw else {
            let known = BodyEncoding.allCases.filter { $0 != .text && $0 != .raw }.map(\.rawValue)
            throw CommandFault(
                CommandFault.usage,
                "recast learn: nothing is proposed for \"\(to)\": known are \(known.joined(separator: ", "))")
        }
        var samples: [LearntRoute.Sample] = []
        for file in files { samples.append(.init(type: type, body: try Self.read(file))) }
        guard let learnt = LearntRoute(from: samples, to: output) else {
            throw CommandFault(CommandFault.data, "recast learn: none of the bodies can be read as \(type)")
        }
        if learnt.bodies < samples.count {
            let codes = learnt.unreadable.sorted { $0.key < $1.key }.map { "\($0.value) times \($0.key)" }
            let skipped = samples.count - learnt.bodies - learnt.unreadable.values.reduce(0, +)
            let more = skipped > 0 ? ["\(skipped) beyond what is looked at"] : []
            StandardStreams.report("recast learn: left out: \((codes + more).joined(separator: ", "))")
        }
        if learnt.leftOut > 0 {
            StandardStreams.report("recast learn: left out: \(learnt.leftOut) fields, beyond 500 names")
        }
        guard json else { return try StandardStreams.write(text: learnt.definition) }
        try StandardStreams.write(text: Learning.document(learnt, of: "", yaml: nil).json + "\n")
    }

    private static func read(_ file: String) throws(CommandFault) -> [UInt8] {
        do {
            return try SettingsEnvironment.readBytes(file)
        } catch {
            throw CommandFault(CommandFault.unavailable, "recast learn: \(error.reason)")
        }
    }
}
