internal import Gateway
internal import Octets
internal import Proxy
internal import Settings
internal import Transcoding

/// What the console's page tries: a body through a route of the running settings, or through one that was written down just now.
enum Trial {
    /// What one may cost: it runs between two requests of others.
    static let bound = ConversionTrace.Bound(output: 4 * 1024 * 1024, entries: 5000)

    /// Answers `POST /console/try`: 200 with the output, its explanation and the route's YAML; 400 for what is no such request, 404 for
    /// a route that isn't there, 422 where the definition has mistakes or the body can't be converted.
    static func answer(_ json: [UInt8], in file: SettingsFile) -> AdminServices.Explanation {
        do throws(Refusal) {
            let output = try run(json, in: file)
            return .init(status: 200, text: output.json + "\n")
        } catch {
            return .init(status: error.status, text: error.document.json + "\n")
        }
    }

    /// Why nothing comes out.
    private struct Refusal: Error {
        var status: Int
        var reason: String
        var conversion: ConversionError?
        var mistakes: [SettingsMistake] = []
        /// What was tried, where it could be read.
        var definition: RouteDefinition?

        var document: Literal {
            let mistakes = mistakes.map { mistake in
                object([
                    ("line", number(mistake.line)), ("column", number(mistake.column)),
                    ("message", .string(mistake.message)), ("code", .string(mistake.code.rawValue)),
                    ("hint", optional(mistake.hint)),
                ])
            }
            return object([
                ("status", number(status)), ("error", .string(reason)), ("code", optional(conversion?.code)),
                ("offset", conversion?.offset.map(number) ?? .null), ("field", optional(conversion?.field)),
                ("setting", optional(conversion?.setting)), ("mistakes", .array(mistakes)),
                ("tree", definition?.tree ?? .null), ("left_out", texts(definition?.leftOut ?? [])),
            ])
        }
    }

    private static func run(_ json: [UInt8], in file: SettingsFile) throws(Refusal) -> Literal {
        let request: TrialRequest
        do throws(TrialRequest.Fault) {
            request = try TrialRequest(json: json)
        } catch {
            throw Refusal(status: 400, reason: error.reason)
        }
        let definition = try definition(request, in: file)
        do throws(Refusal) {
            return try run(request, by: definition)
        } catch {
            var refusal = error
            refusal.definition = definition
            throw refusal
        }
    }

    private static func run(_ request: TrialRequest, by definition: RouteDefinition) throws(Refusal) -> Literal {
        var sample = ExplainedSample(type: request.type, body: request.body, bound: bound)
        if request.isResponse { sample.responseStatus = request.status }
        do throws(CommandFault) {
            try ExplainedSample.apply(
                path: request.path, query: request.query, headers: request.headers, to: &sample.request)
        } catch {
            throw Refusal(status: 400, reason: error.lines.joined(separator: " "))
        }
        do throws(ExplainedSample.Fault) {
            var explanation = try sample.explained(by: definition.index, in: definition.file)
            explanation.namesPlaces = true
            return object([
                ("output", output(of: explanation, for: sample, hiding: foreignValues(of: definition.file))),
                ("explanation", explanation.document),
                ("yaml", .string(definition.yaml)), ("item", .string(definition.item)),
                ("file", optional(definition.wholeFile)), ("tree", definition.tree),
                ("left_out", texts(definition.leftOut)),
                ("unchecked_lines", .array(definition.file.unresolvedLines.map(number))),
            ])
        } catch {
            switch error {
            case .usage(let reason): throw Refusal(status: 422, reason: reason)
            case .conversion(let error): throw Refusal(status: 422, reason: error.description, conversion: error)
            }
        }
    }

    private static func definition(
        _ request: TrialRequest, in file: SettingsFile
    ) throws(Refusal) -> RouteDefinition {
        let settings = file.settings
        let index = settings.routes.firstIndex { $0.name == request.route }
        if let route = request.route, index == nil {
            throw Refusal(status: 404, reason: "there is no route \"\(route)\": \(file.hint(forRoute: route))")
        }
        guard let text = request.definition else {
            return RouteDefinition(of: index ?? 0, in: file, text: file.text)
        }
        let names = settings.upstreams.map(\.name)
        var place = RouteDefinition.Place(upstream: names.first ?? "app", upstreams: names)
        place.listen = RouteDefinition.listen(beside: file)
        if let index {
            let route = settings.routes[index]
            place.name = route.name
            place.match = route.match.path.text
            if let upstream = route.upstream { place.upstream = names[upstream] }
        } else if let path = request.path {
            // What is written with the sample is the route's path, unless it would be a pattern.
            if path.hasPrefix("/"), path.utf8.allSatisfy(isPlain) { place.match = path } else { place.match = "/*" }
        }
        do throws(SettingsMistakes) {
            return try RouteDefinition(reading: text, at: place)
        } catch {
            throw Refusal(
                status: 422, reason: error.all.map(\.description).joined(separator: "; "), mistakes: error.all)
        }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "/-_~".utf8.contains(byte)
        }
    }

    /// Values of the environment and of files that rules of the settings put into what goes out: the console shows none of an exchange,
    /// unless it masks nothing.
    private static func foreignValues(of file: SettingsFile) -> [String] {
        file.settings.admin.console?.mask.isEmpty == true ? [] : file.settings.foreignValues
    }

    /// What came out: of a route that converts nothing, what went in.
    private static func output(
        of explanation: Explanation, for sample: ExplainedSample, hiding secrets: [String]
    ) -> Literal {
        let problem = explanation.found?.problem
        let made = problem ?? explanation.trace?.output ?? sample.body
        let (bytes, masked) = secrets.isEmpty ? (made, 0) : ForeignValues.hide(secrets, in: made)
        let type =
            explanation.found?.type ?? explanation.trace.map { String(decoding: $0.contentType, as: UTF8.self) }
            ?? sample.type
        let isText = UTF8Validator.isValid(bytes.span) && !bytes.contains(where: isControl)
        let body = object([
            ("size", number(made.count)), ("kept", number(made.count)), ("whole", .bool(true)),
            ("text", isText ? .string(String(decoding: bytes, as: UTF8.self)) : .null),
            ("base64", isText ? .null : .string(Base64Encoder.text(of: bytes.span).span.lossyString())),
            ("masked", number(masked)), ("coding", .null),
            ("encoding", explanation.plan.map { .string($0.output.rawValue) } ?? .null),
        ])
        return object([("type", optional(type)), ("body", body)])
    }

    private static func isControl(_ byte: UInt8) -> Bool {
        byte < 0x20 && byte != 0x09 && byte != 0x0A && byte != 0x0D || byte == 0x7F
    }

    // MARK: - Options

    /// Answers `GET /console/options`.
    static let options: String = {
        let encodings = ConversionWord.all.map { word in
            let options = word.options.map { option in
                object([
                    ("name", .string(option.name)), ("reads", .bool(option.reads)), ("writes", .bool(option.writes)),
                    ("values", option.values.map(texts) ?? .null),
                    ("default", optional(option.standard)),
                ])
            }
            return object([
                ("name", .string(word.name)), ("reads", .bool(word.reads)), ("writes", .bool(word.writes)),
                ("media_type", optional(word.mediaType)), ("options", .array(options)),
            ])
        }
        return object([("encodings", .array(encodings))]).json + "\n"
    }()
}
