internal import ArgumentParser
internal import Gateway
internal import Proxy
internal import Settings
internal import Transcoding

/// `recast explain`: one body through one route, field by field.
struct Explain: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "Show where each field of a sample body goes in a route, by which rule, and what the upstream would see.",
        discussion: """
            The body is read from standard input; with --example the route's example of that number is taken, and the \
            first one where standard input is empty.
            """)

    @Argument(help: "The settings file; - is standard input.", completion: .file())
    var file: String

    @Argument(help: "The name of the route.")
    var route: String

    @Option(help: "The body's Content-Type. Without it the one that the route takes.")
    var type: String?

    @Option(help: "A header of the request, as in 'X-Tenant: acme'. May be given several times.")
    var header: [String] = []

    @Option(help: "The method of the request. Without it the first one that the route takes; POST where it takes any.")
    var method: String?

    @Option(help: "The path of the request. Without it the route's own, each variable standing for its name.")
    var path: String?

    @Option(help: "The query of the request.")
    var query: String?

    @Flag(help: "Show which fields the route's header rules write in the response.")
    var response = false

    @Option(
        help: "A header of the upstream's response, which is shown as the client gets it. May be given several times.")
    var responseHeader: [String] = []

    @Option(
        help:
            "Read the body as that of the upstream's response of this status, and show what the route's rules make of it."
    )
    var status: Int?

    @Option(help: "Take the route's example of this number, from 1.")
    var example: Int?

    @Flag(help: "Print the same as one JSON object.")
    var json = false

    @OptionGroup var secrets: SecretsOption

    func run() throws {
        let loaded = try SettingsPath.load(file, secrets)
        guard let index = loaded.settings.routes.firstIndex(where: { $0.name == route }) else {
            throw usage("\(file) has no route \"\(route)\": \(loaded.hint(forRoute: route))")
        }
        var sample: ExplainedSample
        if let status {
            sample = try sampleResponse(of: status)
        } else {
            let plan = try ExplainedSample.plan(of: loaded.settings.routes[index])
            sample = try self.sample(plan, loaded.examplesOfRoutes[index])
        }
        if response || !responseHeader.isEmpty { sample.answered = try responseHeader.map(ExplainedSample.header) }
        var refused: Explanation?
        if !json { sample.whenRefused = { refused = $0 } }
        let explanation: Explanation
        do throws(CommandFault) {
            explanation = try sample.explanation(of: index, in: loaded)
        } catch {
            // What the route says doesn't depend on the body.
            if let refused { try StandardStreams.write(text: refused.opening) }
            throw error
        }
        if json { return try StandardStreams.write(json: explanation.document.json) }
        try StandardStreams.write(text: explanation.text)
    }

    /// What stands behind the question mark of a path.
    private static func query(of path: String) -> String? {
        path.firstIndex(of: "?").map { String(path[path.index(after: $0)...]) }
    }

    private func usage(_ reason: String) -> CommandFault { ExplainedSample.usage(reason) }

    // MARK: - The sample

    private func sample(_ plan: ConversionPlan?, _ examples: [RouteExample]) throws -> ExplainedSample {
        var input: [UInt8] = []
        if example == nil, file != SettingsEnvironment.standardInput {
            input = try StandardStreams.readAll()
            if plan?.readsQuery == true, let query = query ?? path.flatMap(Self.query) {
                guard input.isEmpty else {
                    throw usage(
                        "the route reads the query, and a request with one and with content is a 422: leave one of them out"
                    )
                }
                input = Array(query.utf8)
            }
        } else if let example, example < 1 || example > examples.count {
            let number = counted(examples.count, "example")
            throw usage("the route \"\(route)\" has \(number): there is no --example \(example)")
        }
        if input.isEmpty, let plan, let chosen = example.map({ examples[$0 - 1] }) ?? examples.first {
            var request = chosen.request
            try apply(to: &request)
            do throws(ConversionError) {
                let body = try chosen.body(for: plan)
                return ExplainedSample(request: request, type: type ?? body.type, body: body.bytes)
            } catch {
                throw CommandFault(CommandFault.data, "recast explain: the example's input: \(error)")
            }
        }
        var request = SampleRequest()
        try apply(to: &request)
        return ExplainedSample(request: request, type: type, body: input)
    }

    private func sampleResponse(of status: Int) throws -> ExplainedSample {
        guard (200...599).contains(status) else {
            throw usage("--status is that of a response, 200 to 599, not \(status)")
        }
        guard example == nil else { throw usage("examples are requests: remove --example, or --status") }
        guard file != SettingsEnvironment.standardInput else {
            throw usage("the body comes from standard input, so the settings can't")
        }
        var request = SampleRequest()
        try apply(to: &request)
        var sample = ExplainedSample(request: request, type: type, body: try StandardStreams.readAll())
        sample.responseStatus = status
        return sample
    }

    /// What the options say instead of the example.
    private func apply(to request: inout SampleRequest) throws(CommandFault) {
        try ExplainedSample.apply(method: method, path: path, query: query, headers: header, to: &request)
    }
}
