internal import Gateway
internal import Proxy
internal import Settings
internal import Transcoding

/// What is proposed for a route by what bodies look like, as the console and `recast learn` show it.
enum Learning {
    /// Answers `GET /console/learn`.
    static func answer(
        _ name: String, _ bodies: [AdminServices.Body], in file: SettingsFile
    ) -> AdminServices.Explanation {
        let settings = file.settings
        guard let route = settings.routes.first(where: { $0.name == name }) else {
            return .init(status: 404, text: "there is no route \"\(name)\": \(file.hint(forRoute: name))")
        }
        guard !bodies.isEmpty else {
            return .init(
                status: 409,
                text: "no body of its requests is kept whole: send some, or raise admin.console.body and entries")
        }
        let samples = bodies.map { LearntRoute.Sample(type: $0.type, body: $0.bytes) }
        let learnt: LearntRoute
        do throws(LearntRoute.Unreadable) {
            learnt = try LearntRoute(from: samples, to: output(of: route))
        } catch {
            return .init(
                status: 409,
                text: "none of the \(bodies.count) bodies that are kept can be read: \(counts(error.bodies))")
        }
        let names = settings.upstreams.map(\.name)
        var place = RouteDefinition.Place(
            name: route.name, match: route.match.path.text, upstream: names.first ?? "app", upstreams: names)
        if let upstream = route.upstream { place.upstream = names[upstream] }
        place.listen = RouteDefinition.listen(beside: file)
        let definition = try? RouteDefinition(reading: learnt.definition, at: place)
        return .init(status: 200, text: document(learnt, of: name, as: definition).json + "\n")
    }

    /// What the route writes, where that is an encoding of bodies; JSON else.
    private static func output(of route: Route) -> BodyEncoding {
        guard let plan = route.conversion?.plan, plan.outputWithoutFiles == nil, !plan.writesQuery,
            !plan.output.isWhole
        else { return .json }
        return plan.output
    }

    /// How many bodies couldn't be read, by the code of the error.
    static func counts(_ bodies: [String: Int]) -> String {
        bodies.sorted { $0.key < $1.key }.map { "\($0.value) \($0.value == 1 ? "body" : "bodies") with \($0.key)" }
            .joined(separator: ", ")
    }

    /// - Parameter definition: the proposal at its place among the routes; nil: it has none.
    static func document(_ learnt: LearntRoute, of route: String, as definition: RouteDefinition?) -> Literal {
        let fields = learnt.fields.map { field in
            object([
                ("path", .string(field.path)), ("kind", .string(field.isFile ? "file" : "field")),
                ("values", texts(field.kinds)), ("bodies", number(field.bodies)), ("repeats", .bool(field.repeats)),
                ("media_types", texts(field.types)), ("type", optional(field.type?.rawValue)),
            ])
        }
        let unreadable = learnt.unreadable.sorted { $0.key < $1.key }.map { ($0.key, number($0.value)) }
        return object([
            ("route", .string(route)), ("exchanges", number(learnt.bodies)),
            ("definition", .string(learnt.definition)), ("yaml", optional(definition?.yaml)),
            ("item", optional(definition?.item)), ("file", optional(definition?.wholeFile)),
            ("tree", definition?.tree ?? .null), ("fields", .array(fields)),
            ("unreadable", object(unreadable)), ("left_out", number(learnt.leftOut)),
        ])
    }
}
