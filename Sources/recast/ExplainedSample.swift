internal import Gateway
internal import Proxy
internal import Settings
internal import Transcoding

/// One body through one route, as `recast explain` and the admin port's `/explain` show it.
struct ExplainedSample {
    var request = SampleRequest()
    /// The body's Content-Type; nil: the one that the route takes.
    var type: String?
    var body: [UInt8]
    /// Fields that the upstream may answer with; nil: the response isn't asked for.
    var answered: [SampleRequest.Header]?

    /// - Throws: a fault with the code for wrong usage where it can't be a request of the route, and with that for bad data
    ///   where the body can't be converted.
    func explanation(of index: Int, in file: SettingsFile) throws(CommandFault) -> Explanation {
        let route = file.settings.routes[index]
        let plan = try Self.plan(of: route)
        let type = if let type { type } else { try plan.map(inputType) ?? "as it came" }
        let values: SampleRequest.Values
        do throws(SampleRequest.Fault) {
            values = try request.values(for: route)
        } catch {
            throw Self.usage(error.reason)
        }
        var trace: ConversionTrace?
        do throws(ConversionError) {
            if let plan {
                trace = try ConversionTrace.make(
                    plan: plan, contentType: Array(type.utf8).span, sources: values.sources, body: body.span,
                    holding: RequestTranscoder.bufferLimit(ofBody: body.count))
            }
        } catch {
            throw CommandFault(CommandFault.data, "recast explain: \(error)")
        }
        return Explanation(
            route: route, upstream: route.upstream.map { file.settings.upstreams[$0] }, plan: plan,
            effective: file.effectiveOfRoutes[index].map(file.redacted), type: type, values: values,
            trace: trace, answered: answered)
    }

    /// The conversion of a route's requests, where it has one; nil for one that changes the head only.
    static func plan(of route: Route) throws(CommandFault) -> ConversionPlan? {
        if let plan = route.conversion?.plan { return plan }
        let headers = route.options.headers
        let isGuarded =
            route.verification != nil || route.signing != nil || route.authorization != nil
            || route.options.rateLimit != nil
        let hasEnvelopes = route.responses.contains { $0.status != nil || $0.problem != nil }
        guard
            isGuarded || hasEnvelopes || route.rewrite != nil || !headers.request.isEmpty || !headers.response.isEmpty
        else {
            throw usage(
                "the route \"\(route.name)\" forwards bodies as they are and changes no head: there is nothing to explain"
            )
        }
        return nil
    }

    /// Puts what was written instead of what the request says: `Name: value` each.
    static func apply(
        path: String?, query: String?, headers: [String], to request: inout SampleRequest
    ) throws(CommandFault) {
        if let path { request.path = path }
        if let query { request.query = query }
        for line in headers {
            let header = try header(line)
            request.headers.removeAll { $0.name.lowercased() == header.name.lowercased() }
            request.headers.append(header)
        }
    }

    /// `Name: value`
    static func header(_ line: String) throws(CommandFault) -> SampleRequest.Header {
        guard let colon = line.firstIndex(of: ":"), colon > line.startIndex else {
            throw usage("a header is written as 'Name: value', not \"\(line)\"")
        }
        let value = line[line.index(after: colon)...].drop { $0 == " " }
        return .init(name: String(line[..<colon]), value: String(value))
    }

    private func inputType(_ plan: ConversionPlan) throws(CommandFault) -> String {
        guard plan.inputs.count == 1, let input = plan.inputs.first else {
            throw Self.usage("the route takes several types: say which it is, as in --type application/json")
        }
        if input == .multipart {
            throw Self.usage("multipart is read by its boundary: --type 'multipart/form-data; boundary=…'")
        }
        return input.mediaType
    }

    private static func usage(_ reason: String) -> CommandFault {
        CommandFault(CommandFault.usage, "recast explain: \(reason)")
    }
}
