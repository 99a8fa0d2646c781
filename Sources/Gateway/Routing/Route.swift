package import ContentCoding
package import HTTPWire
internal import Signatures
public import Transcoding

/// One route: which requests it takes, where they go, and what becomes of their bodies.
public final class Route: Sendable {
    /// The place in the settings, from 0; the first route that matches decides.
    public let index: Int
    /// Unique; names the route in logs and errors.
    public let name: String
    public let match: RouteMatch
    /// The index into the settings' upstreams; nil where only data planes ask for it, which forward requests themselves.
    public let upstream: Int?
    /// How the target changes on its way; nil: forwarded as it came.
    public let rewrite: Rewrite?
    public let limits: Limits
    public let timeouts: RouteTimeouts
    /// What request bodies become; nil: they pass as they are, streamed.
    public let conversion: RequestConversion?
    /// Whose requests it takes alone; nil: anybody's.
    public let verification: RequestVerification?
    /// Who may use it; nil: anybody.
    public let authorization: RequestAuthorization?
    /// How requests are signed on their way to the upstream; nil: not at all.
    public let signing: RequestSigning?
    /// In the order of the settings; the first that holds decides. Empty: responses pass as they are.
    public let responses: [ResponseRule]
    /// Bytes of a converted response that are held until it is whole; 8 MiB by default.
    public let responseLimit: Int
    public let options: RouteOptions
    /// What becomes of copies of its requests; nil: there are none, which is all that most routes ask.
    public let shadow: RouteShadow?
    /// `responses`, prepared; nil when there are none, which is all that a plain forward asks.
    package let responseRules: ResponseRules?
    /// Whether `match` asks for more than a path.
    package let hasConditions: Bool
    /// Whether the route slows bodies down or bounds the whole exchange: all that a route without asks.
    package let hasPace: Bool
    /// Whether requests are counted by `options.rateLimit`: all that a route without asks.
    package let limitsRate: Bool
    /// Whether responses say what is left of that.
    package let tellsRate: Bool

    /// The codings that the upstream is asked for where responses are converted, of those that the client takes.
    package let askedCodings: [Coding]
    /// `options.coding.compress`; nil when responses get no coding.
    package let compression: Compression?
    /// `options.forwarding`, prepared.
    package let forwarding: ForwardingRule
    /// Fields whose names must not be imitated with `_`; nil where none can be, which is all that most routes ask.
    package let guardedFields: GuardedFields?
    /// Whether addresses in responses are undone: all that a route without asks.
    package let returnsAddresses: Bool
    /// `rewrite`, where a request's path decides what it becomes.
    package let variableRewrite: Rewrite?
    /// Whether the new path begins with what a star stands for, right behind its slash: another slash there would make an authority of it
    /// to some servers.
    let rewritesToRest: Bool
    /// Whether anything that the route does takes a variable of its path.
    package let readsPath: Bool
    /// The places among the path's variables of those that give access by their names (`SecretName`), in ascending order; empty: there
    /// are none, which is all that most routes ask.
    package let secretVariables: [Int]
    /// Takes those fields of a head away that `signing` makes anew, or that its scheme reads in their place.
    package let signatureEditor: HeaderEditor?
    /// `options.headers`, prepared; nil when there are none, which is all that most routes ask.
    package let headers: HeaderEditors?
    /// The request's fields that a response depends on, in lower case: in its head, in what it is the answer to, or in who may have it; and
    /// those of a converted one's body besides.
    private let sourceFields: [String]
    private let sourceFieldsOfConverted: [String]
    /// Whether a response may depend on fields of the request, but for those by which the route was found: all that most are asked.
    package let answersByFields: Bool
    /// How many bytes a conversion of a request may make of each that comes: `limits.ratio`.
    let growthLimit: Int

    /// Bytes of a converted response that are held where no setting says otherwise: 8 MiB.
    public static let standardResponseLimit = 8 * 1024 * 1024

    /// - Parameters:
    ///   - shadow: of which requests there are copies, and where they go.
    ///   - trial: a conversion that copies go through to see what it would refuse, where the route has a `shadow`.
    public init(
        index: Int, name: String, match: RouteMatch, upstream: Int?, rewrite: Rewrite? = nil, limits: Limits = Limits(),
        timeouts: RouteTimeouts = RouteTimeouts(), request: RequestRule = .forward,
        verification: RequestVerification? = nil, authorization: RequestAuthorization? = nil,
        signing: RequestSigning? = nil, responses: [ResponseRule] = [],
        responseLimit: Int = Route.standardResponseLimit,
        options: RouteOptions = RouteOptions(), shadow: ShadowOptions? = nil, trial: RequestConversion? = nil
    ) {
        self.index = index
        self.name = name
        self.match = match
        self.upstream = upstream
        self.rewrite = rewrite
        self.limits = limits
        self.timeouts = timeouts
        let conversion: RequestConversion? = if case .convert(let conversion) = request { conversion } else { nil }
        self.conversion = conversion
        let decoding = conversion?.plan.fieldDecoding ?? FieldDecodingOptions()
        self.verification = verification?.reading(SignedBodyReading(limits, decoding))
        self.authorization = authorization
        // What goes out is in UTF-8.
        let signing = signing?.reading(SignedBodyReading(limits))
        self.signing = signing
        self.responses = responses
        self.responseLimit = responseLimit
        self.options = options
        growthLimit = options.coding.limits.ratio
        hasConditions = match != RouteMatch(path: match.path)
        responseRules = ResponseRules(responses)
        hasPace = options.rate.request > 0 || options.rate.response > 0 || timeouts.request != nil
        askedCodings = options.coding.asks ? options.coding.undone : []
        guardedFields = GuardedFields(verification, authorization, options.forwarding.underscores)
        returnsAddresses = options.forwarding.addresses == .outer
        variableRewrite = rewrite?.takesVariables == true ? rewrite : nil
        rewritesToRest =
            match.path.rest != nil
            && rewrite?.path.prefix(2) == [.literal("/"), .variable(match.path.variables.count - 1)]
        readsPath = Self.readsPath(
            request, responses, [options.headers.request, options.headers.response], rewrite, options.rateLimit)
        secretVariables = match.path.variables.indices.filter { index in
            match.path.variables[index].map(SecretName.isHeld) == true
        }
        limitsRate = options.rateLimit != nil
        tellsRate = options.rateLimit?.tells == true
        var rules = options.headers
        // Who heeds the mark of a copy must not get it from clients.
        if shadow?.upstream != nil { rules.request.remove.append(.init(name: RouteShadow.markName)) }
        headers = HeaderEditors(rules, editsResponses: tellsRate)
        let sourceFields = Set(
            (headers?.response?.sourceFields ?? []) + (rewrite?.sourceFields ?? []) + (authorization?.fieldNames ?? []))
        self.sourceFields = sourceFields.sorted()
        sourceFieldsOfConverted = sourceFields.union(responseRules?.sourceFields ?? []).sorted()
        answersByFields = !sourceFieldsOfConverted.isEmpty || headers?.request?.sources.isEmpty == false
        signatureEditor = signing.map { signing in
            HeaderEditor(HeaderEdits(remove: signing.signer.readNames.map { .init(name: $0.lowercased()) }))
        }
        compression = options.coding.compress.map(Compression.init)
        forwarding = ForwardingRule(options.forwarding, converts: conversion != nil || responseRules?.converts == true)
        let converting = trial.map {
            Route(
                index: index, name: name, match: match, upstream: upstream, rewrite: rewrite, limits: limits,
                timeouts: timeouts, request: .convert($0), responses: responses, responseLimit: responseLimit,
                options: options)
        }
        self.shadow = shadow.map { RouteShadow($0, trial: converting) }
    }

    private static func readsPath(
        _ request: RequestRule, _ responses: [ResponseRule], _ edits: [HeaderEdits], _ rewrite: Rewrite?,
        _ rateLimit: RateLimit?
    ) -> Bool {
        if rewrite?.takesVariables == true { return true }
        var values: [SourceReference] = []
        for case .convert(let conversion) in responses.map(\.action) { values += conversion.sources }
        for fields in edits { values += (fields.set + fields.add).map { $0.value } }
        if case .convert(let conversion) = request { values += conversion.sources }
        if let rewrite { values += rewrite.query.map { $0.value } }
        if case .value(let key)? = rateLimit?.key { values.append(key) }
        return values.contains { $0.readsPath }
    }

    /// The route with the conversion that it has, or that it tries on copies: what examples and explanations go by.
    public var converting: Route { shadow?.trial ?? self }
    /// The request's fields that a response depends on, in lower case, each once: a cache keeps it for requests with the same ones alone
    /// (RFC 9111 §4.1). `RouteTable.fieldsThatChoose` has those by which the route was found.
    ///
    /// - Parameter isConverted: whether the body is.
    package func sourceFields(of response: borrowing MessageHead, isConverted: Bool) -> [String] {
        let fields = isConverted ? sourceFieldsOfConverted : sourceFields
        guard let editor = headers?.request, !editor.sources.isEmpty, response.contains(.vary) else { return fields }
        // The upstream's Vary names a field that it has from here: its client's are those that its value was taken from.
        var all = fields
        for source in editor.sources where response.varies(by: source.name.utf8Span.span) {
            for field in source.fields where !all.contains(field) { all.append(field) }
        }
        return all
    }

    /// Whether one of `responses` converts: then the upstream is asked for whole bodies without a content coding.
    package var convertsResponses: Bool { responseRules?.converts == true }
    /// Whether what is sent on a reused connection is held to be sent again.
    package var repeatsRequests: Bool { options.retry.isEnabled && options.retry.buffer > 0 }
    /// Whether that is so on a new connection, too.
    package var repeatsOnConditions: Bool { repeatsRequests && options.retry.hasConditions }
}

/// The time a route gives the phases of an exchange.
public struct RouteTimeouts: Hashable, Sendable {
    /// From the end of the request to the first byte of the response; 30 s, then 504.
    public var firstByte = Duration.seconds(30)
    /// Between two reads of the response; 60 s (nginx's number), then the exchange is aborted.
    public var gap = Duration.seconds(60)
    /// Between two reads of the request's body; 30 s, then 408.
    public var bodyGap = Duration.seconds(30)
    /// Without a byte in either direction on a connection that has changed its protocol, as to WebSocket; 1 h (what HAProxy's
    /// users set as `timeout tunnel`), then it is closed.
    public var tunnel = Duration.seconds(3600)
    /// From the end of the request's head to the end of the exchange; then 408 or 504. nil, the default: no bound, since a
    /// streamed body takes as long as it takes.
    public var request: Duration?

    public init() {}
}

/// What a route does with request bodies.
public enum RequestRule: Sendable {
    /// They pass as they are, streamed.
    case forward
    /// They are re-encoded.
    case convert(RequestConversion)

    /// They are re-encoded by `plan`; `sources` are what its `AssignedValue.source` numbers stand for.
    public static func convert(
        _ plan: ConversionPlan, otherTypes: OtherTypes, sources: [SourceReference]
    ) -> RequestRule {
        .convert(RequestConversion(plan, otherTypes: otherTypes, sources: sources))
    }
}

/// What a conversion does with a body whose Content-Type it doesn't take.
public enum OtherTypes: String, Hashable, Sendable, CaseIterable {
    /// A request is answered with 415 and Accept-Post, a response becomes a 502.
    case reject
    /// It is forwarded as it is.
    case pass
}

/// How a route re-encodes request bodies. It is an object: a reference costs the data path less than a copy of the plan.
public final class RequestConversion: Sendable {
    public let plan: ConversionPlan
    public let otherTypes: OtherTypes
    /// What the plan's `AssignedValue.source` numbers stand for.
    public let sources: [SourceReference]
    /// Of the plan. What each request asks of it stands beside it: where one function reads two parts of the plan, the compiler
    /// may copy the whole, and that counts two dozen references up and down.
    package let readsQuery: Bool
    package let writesQuery: Bool
    /// Whether bodies of any type are taken, and those that say none.
    package let takesAnyType: Bool
    /// Whether content of gRPC's may be read as that of a type here, as all that comes is by `raw`, `+json` is by `json`, and what it names
    /// by an `accept`: of most encodings none is, which costs a request nothing.
    let readsGRPC: Bool

    public init(_ plan: ConversionPlan, otherTypes: OtherTypes, sources: [SourceReference]) {
        self.plan = plan
        self.otherTypes = otherTypes
        self.sources = sources
        readsQuery = plan.readsQuery
        writesQuery = plan.writesQuery
        takesAnyType = plan.inputs.contains(.raw)
        let readsSuffix = ["", "+json", "+xml"].contains { suffix in
            (try? plan.inputEncoding(for: Array("application/grpc\(suffix)".utf8).span)) != nil
        }
        readsGRPC = readsSuffix || !plan.acceptedTypes.isEmpty
    }

    /// The media types that are taken, for a refusal.
    @inline(never)
    package var takenTypes: [String] { plan.takenTypes }
}

extension Route {
    /// The codings of a body with that head; nil when some can't be undone here.
    package func undoneCodings(of head: borrowing MessageHead) -> AppliedCodings? {
        guard head.contains(.contentEncoding) else { return AppliedCodings() }
        return head.appliedCodings(among: options.coding.undone)
    }
}
