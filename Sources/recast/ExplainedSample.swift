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
    /// What it may cost; nil: a person has asked on his own machine.
    var bound: ConversionTrace.Bound?
    /// The status of a response that the body is; nil: it is a request's.
    var responseStatus: Int?

    /// Gets what is to be known without the body where that can't be converted.
    var whenRefused: (Explanation) -> Void = { _ in }

    /// Why there is nothing to show.
    enum Fault: Error {
        /// It can't be a request of the route.
        case usage(String)
        /// The body can't be converted.
        case conversion(ConversionError)
    }

    /// - Throws: a fault with the code for wrong usage where it can't be a request of the route, and with that for bad data
    ///   where the body can't be converted.
    func explanation(of index: Int, in file: SettingsFile) throws(CommandFault) -> Explanation {
        do throws(Fault) {
            return try explained(by: index, in: file)
        } catch {
            switch error {
            case .usage(let reason): throw Self.usage(reason)
            case .conversion(let error): throw CommandFault(CommandFault.data, "recast explain: \(error)")
            }
        }
    }

    /// As above.
    func explained(by index: Int, in file: SettingsFile) throws(Fault) -> Explanation {
        let route = file.settings.routes[index]
        if let responseStatus { return try explained(as: responseStatus, of: route, index, in: file) }
        let converting = route.converting
        var plan = try Self.conversion(of: route)
        // Nothing is converted of a request without content whose method seldom has some, whatever type it names.
        if body.isEmpty, plan?.readsQuery == false,
            !["POST", "PUT", "PATCH"].contains(request.method(for: converting))
        {
            plan = nil
        }
        // The type of a query is none of the request's content.
        let named =
            plan?.readsQuery == true ? nil : request.headers.last { $0.name.lowercased() == "content-type" }?.value
        let said = type ?? named
        let type = if let said { said } else { try plan.map(inputType) ?? "as it came" }
        if let plan, let conversion = converting.conversion, conversion.otherTypes == .pass, !Self.reads(plan, type) {
            throw .usage("a body of \(type) passes as it came: the route's conversion doesn't read it")
        }
        let values: SampleRequest.Values
        do throws(SampleRequest.Fault) {
            values = try request.values(for: converting)
        } catch {
            throw .usage(error.reason)
        }
        var explanation = explanation(of: route, index, in: file, plan, type: type, values)
        explanation.answered = answered
        do throws(ConversionError) {
            if let plan {
                explanation.trace = try ConversionTrace.make(
                    plan: bounded(plan), contentType: Array(type.utf8).span, sources: values.sources, body: body.span,
                    holding: RequestTranscoder.bufferLimit(ofBody: body.count), bound: bound)
            }
        } catch {
            whenRefused(explanation)
            throw .conversion(error)
        }
        return explanation
    }

    /// What is to be known without the body.
    private func explanation(
        of route: Route, _ index: Int, in file: SettingsFile, _ plan: ConversionPlan?, type: String,
        _ values: SampleRequest.Values
    ) -> Explanation {
        Explanation(
            route: route, upstream: route.upstream.map { file.settings.upstreams[$0] }, plan: plan,
            effective: file.effectiveOfRoutes[index].map(file.redacted),
            redacted: { file.redacted(text: $0, ofRoute: index) },
            redactedTarget: { file.redacted(target: $0, ofRoute: index) }, type: type, values: values)
    }

    /// The plan, which holds no more of a body than the bound allows.
    private func bounded(_ plan: ConversionPlan) -> ConversionPlan {
        guard let bound else { return plan }
        var plan = plan
        plan.limits.body = min(plan.limits.body, bound.output)
        plan.limits.tree = min(plan.limits.tree, bound.output)
        plan.limits.fields = min(plan.limits.fields, bound.entries)
        plan.limits.parts = min(plan.limits.parts, bound.entries)
        return plan
    }

    /// The body as a response of that status.
    private func explained(
        as status: Int, of route: Route, _ index: Int, in file: SettingsFile
    ) throws(Fault) -> Explanation {
        guard route.convertsResponses || Self.looks(route) else {
            throw .usage(
                "the route \"\(route.name)\" converts no responses, and takes neither a status nor a problem from their bodies"
            )
        }
        let type = if let type { type } else { try responseType(of: route) }
        let values: SampleRequest.Values
        let found: SampleResponse?
        do throws(SampleRequest.Fault) {
            values = try request.values(for: route)
            found = try request.response(status, type: type, body: body, on: route)
        } catch {
            throw .usage(error.reason)
        }
        let content = body.isEmpty ? " without content" : ""
        let passes = Fault.usage("the route's rules let a response of \(status) and \(type)\(content) pass as it is")
        guard let found else { throw passes }
        var explanation = explanation(of: route, index, in: file, nil, type: type, values)
        explanation.answered = []
        explanation.found = found
        // Rule C3 of docs/rules.md.
        let isUntouched = [204, 205, 206].contains(status) || body.isEmpty || body == [UInt8(ascii: " ")]
        guard found.problem == nil, let conversion = found.conversion, !isUntouched else {
            guard found.isLookedAt else { throw passes }
            return explanation
        }
        let written = Array(type.utf8)
        let contentType = conversion.ownType(for: written.span) ?? written
        if conversion.otherTypes == .pass,
            !Self.reads(conversion.plan, String(decoding: contentType, as: UTF8.self))
        {
            guard found.isLookedAt else {
                throw .usage("a response of \(type) passes as it came: the route's conversion doesn't read it")
            }
            return explanation
        }
        explanation.plan = conversion.plan
        do throws(ConversionError) {
            explanation.trace = try ConversionTrace.make(
                plan: bounded(conversion.plan), contentType: contentType.span, sources: found.sources,
                body: body.span, bound: bound)
            return explanation
        } catch {
            whenRefused(explanation)
            throw .conversion(error)
        }
    }

    /// Whether a rule of the route takes the status of a response from its body, or makes a problem of that.
    private static func looks(_ route: Route) -> Bool {
        route.responses.contains { $0.status != nil || $0.problem != nil }
    }

    /// The type of a response for which none is said: what the first rule that converts reads, or what the first that looks at
    /// bodies reads them as.
    private func responseType(of route: Route) throws(Fault) -> String {
        for case .convert(let conversion) in route.responses.lazy.map(\.action) {
            return try inputType(conversion.plan)
        }
        for rule in route.responses {
            if let encoding = rule.status?.encoding ?? rule.problem?.encoding { return encoding.mediaType }
        }
        throw .usage("the rules look at several types: say which it is, as in --type application/json")
    }

    /// The conversion of a route's requests, where it has one; nil for one that changes the head only.
    static func plan(of route: Route) throws(CommandFault) -> ConversionPlan? {
        do throws(Fault) {
            return try conversion(of: route)
        } catch {
            guard case .usage(let reason) = error else { return nil }
            throw usage(reason)
        }
    }

    private static func conversion(of route: Route) throws(Fault) -> ConversionPlan? {
        if let plan = route.converting.conversion?.plan { return plan }
        let headers = route.options.headers
        let isGuarded =
            route.verification != nil || route.signing != nil || route.authorization != nil
            || route.options.rateLimit != nil || route.shadow != nil
        guard
            isGuarded || looks(route) || route.rewrite != nil || !headers.request.isEmpty || !headers.response.isEmpty
        else {
            guard !route.convertsResponses else {
                throw .usage(
                    "the route \"\(route.name)\" forwards requests as they are, and converts responses: a body is explained as that "
                        + "of one with --status 200, or as a response in the console")
            }
            throw .usage(
                "the route \"\(route.name)\" forwards bodies as they are and changes no head: there is nothing to explain"
            )
        }
        return nil
    }

    /// Puts what was written instead of what the request says: `Name: value` each.
    static func apply(
        method: String? = nil, path: String?, query: String?, headers: [String], to request: inout SampleRequest
    ) throws(CommandFault) {
        if let method { request.method = method }
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

    /// Whether a plan reads bodies of that type.
    private static func reads(_ plan: ConversionPlan, _ type: String) -> Bool {
        (try? plan.inputEncoding(for: Array(type.utf8).span)) != nil
    }

    private func inputType(_ plan: ConversionPlan) throws(Fault) -> String {
        guard plan.inputs.count == 1, let input = plan.inputs.first else {
            throw .usage("the route takes several types: say which it is, as in --type application/json")
        }
        if input == .multipart {
            throw .usage("multipart is read by its boundary: --type 'multipart/form-data; boundary=…'")
        }
        return input.mediaType
    }

    static func usage(_ reason: String) -> CommandFault {
        CommandFault(CommandFault.usage, "recast explain: \(reason)")
    }
}
