internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Octets
internal import Transcoding

/// All that is kept of one exchange, copied for the main loop.
struct KeptExchange: Sendable {
    let facts: ExchangeFacts
    let fromClient: KeptCopy
    let toUpstream: KeptCopy
    let fromUpstream: KeptCopy
    let toClient: KeptCopy
    private let address: String?
    private let wasSent: Bool
    /// Where a client of this machine finds the address that the request came to, as URLs write it; nil where that has no port, or serves
    /// no clients.
    private let listener: String?
    private let framing: String
    private let retries: Int
    private let times: [(name: String, nanoseconds: UInt64)]
    /// Whom the client's connection led to, and by which it came: of a replay, too.
    let peer: ReplayPeer
    /// Names that a rule gives to fields of which the settings mask the old ones.
    private let renamed: [(from: String, to: String)]
    /// Fields whose values are the whole body of the client's request, of the upstream's, and so on.
    private let bodyFields: [[String]]
    private let hasConversion: Bool
    private let convertsResponse: Bool

    init(_ tap: ExchangeTap, of worker: Int) {
        facts = ExchangeFacts(tap, of: worker)
        fromClient = KeptCopy(tap.fromClient)
        toUpstream = KeptCopy(tap.toUpstream, of: fromClient, limit: tap.limit)
        fromUpstream = KeptCopy(tap.fromUpstream)
        toClient = KeptCopy(tap.toClient, of: fromUpstream, limit: tap.limit, line: facts.statusLine)
        address = tap.endpoint?.label
        wasSent = tap.facts.wasSent
        let known = tap.facts.record
        framing = "\(known.framing)"
        retries = max(0, known.attempts - 1)
        times = [
            ("head", known.headTime), ("body", known.bodyTime), ("conversion", known.transcodeTime),
            ("connect", known.connectTime),
            ("first_byte", known.firstByteTime), ("upstream", known.upstreamTime), ("total", tap.facts.total),
        ]
        let origin = tap.origin
        listener = Self.listener(at: origin?.port ?? 0, by: tap.snapshot?.settings)
        peer = ReplayPeer(
            address: origin.map { SocketAddress($0.peer) }, port: origin?.port ?? 0, isSecure: origin?.isSecure ?? false
        )
        let plans = [tap.route?.conversion?.plan] + (tap.route?.responseRules?.rules.map { $0.conversion?.plan } ?? [])
        renamed = plans.compactMap { $0 }.flatMap { plan in
            plan.map.rename.map { ("\($0.from)", $0.to.lastKey ?? "\($0.to)") }
                + plan.files.flatMap { rule in
                    rule.name.map { Self.names($0).map { ("\(rule.path)", $0) } } ?? []
                }
        }
        bodyFields = Self.bodyFields(of: tap)
        hasConversion = tap.facts.convertsRequest
        convertsResponse = tap.facts.convertsResponse
    }

    private static func listener(at port: Int, by settings: ProxySettings?) -> String? {
        guard port > 0, let settings else { return nil }
        for address in settings.listen {
            guard case .tcp(let host, let number) = address, number == port else { continue }
            guard settings.listener(at: address).service.forwards else { return nil }
            switch host {
            case "0.0.0.0": return "127.0.0.1:\(port)"
            case "::": return "[::1]:\(port)"
            default: return address.description
            }
        }
        // The system chose the port, or a service manager the address.
        return "127.0.0.1:\(port)"
    }

    /// Why it can't be sent again as it was; nil where it can.
    var obstacle: String? {
        if !fromClient.hasHead { return "the request's head could not be read" }
        if ShownHead.lines(of: fromClient.head).count < 2 || fromClient.head.count >= KeptMessage.headLimit {
            return "the request's head is not kept whole"
        }
        if !fromClient.isWhole {
            return "of the body's \(fromClient.count) bytes \(fromClient.body.count) are kept (admin.console.body)"
        }
        if let announced = fromClient.field("content-length").flatMap({ Int($0) }), announced != fromClient.count {
            return "of the body's \(announced) bytes \(fromClient.count) came before the exchange ended"
        }
        return nil
    }

    /// So many of the files that a rule numbers have names that are masked where theirs was.
    private static let namedFiles = 64

    /// The names that a rule gives to files: one where it doesn't number them.
    private static func names(_ name: FileNameTemplate) -> [String] {
        name.text(0) == name.text(1) ? [name.text(0)] : (0..<namedFiles).map(name.text)
    }

    private static func bodyFields(of tap: ExchangeTap) -> [[String]] {
        func isText(_ encoding: BodyEncoding?) -> Bool { encoding == .text || encoding == .raw }
        var fields: [[String]] = [[], [], [], []]
        if let plan = tap.route?.conversion?.plan, tap.facts.convertsRequest {
            if isText(tap.facts.record.input), let name = plan.inputField { fields[0].append(name) }
            if isText(tap.facts.record.output), let name = plan.outputField { fields[1].append(name) }
        }
        guard tap.facts.convertsResponse else { return fields }
        for plan in (tap.route?.responseRules?.rules ?? []).compactMap({ $0.conversion?.plan }) {
            if isText(tap.facts.responseInput), let name = plan.inputField { fields[2].append(name) }
            if isText(tap.facts.responseOutput), let name = plan.outputField { fields[3].append(name) }
        }
        return fields
    }

    /// The mask with names that rules give to what it masks, and with fields that the settings say to be secret.
    func widened(_ mask: NameMask) -> NameMask {
        mask.adding(renamed.filter { mask.holds($0.from) && !mask.holds($0.to) }.map(\.to), fields: facts.secretFields)
    }

    /// Its four messages as they are shown, and the values that are hidden in all of them. `mask` is widened.
    func shown(_ mask: NameMask) -> (messages: [ShownMessage], secrets: Secrets) {
        let copies = [fromClient, toUpstream, fromUpstream, toClient]
        var messages = zip(copies, bodyFields).map { message, fields in
            ShownMessage(message, mask, isOneValue: fields.contains { mask.holds($0) })
        }
        let known = mask.isEmpty ? [] : facts.known.map { Array($0.utf8) }
        let values = Set(messages.flatMap(\.secrets)).filter { $0.count >= Secrets.shortest }
        let secrets: Secrets
        let count = messages.reduce(0) { $0 + $1.count }
        if values.count * count > Secrets.workLimit {
            // Bodies that nobody can look through in time are not shown, heads are.
            for index in messages.indices { messages[index].hideBody() }
            let longest = values.sorted { $0.count > $1.count }.prefix(Secrets.headLimit)
            secrets = Secrets(known + longest + messages[0].headSecrets)
        } else {
            secrets = Secrets(known + values)
        }
        for index in messages.indices { messages[index].hide(secrets) }
        return (messages, secrets)
    }

    /// Where the fields of its bodies went.
    typealias Moves = (value: AdminValue, fault: String?)

    /// Where those of the request went, and of the response.
    func moves(_ explain: (AdminServices.Sample) -> AdminServices.Explanation) -> (request: Moves, response: Moves) {
        (
            hasConversion ? moves(in: fromClient, nil, explain) : (.none, nil),
            convertsResponse ? moves(in: fromUpstream, facts.upstreamStatus, explain) : (.none, nil)
        )
    }

    /// What is shown of it.
    func value(_ mask: NameMask, _ moves: (request: Moves, response: Moves)) -> AdminValue {
        let mask = widened(mask)
        let (messages, secrets) = shown(mask)
        let whyNot = obstacle
        let curl = fromClient.hasHead ? messages[0].curl(isSecure: peer.isSecure, to: listener, facts.version) : nil
        func optional(_ text: String?) -> AdminValue { text.map(AdminValue.text) ?? .none }
        let client = AdminValue.object([
            ("address", optional(facts.client)), ("request", messages[0].value),
            ("response", toClient.isEmpty ? .none : messages[3].value),
        ])
        let upstream = AdminValue.object([
            ("name", optional(facts.upstream)), ("address", optional(address)), ("sent", .bool(wasSent)),
            ("request", toUpstream.isEmpty ? .none : messages[1].value),
            ("response", fromUpstream.isEmpty ? .none : messages[2].value),
        ])
        // The two sides have more to say here than their names.
        var members = facts.members(mask, hiding: secrets).filter { $0.name != "client" && $0.name != "upstream" }
        members += [
            ("client", client), ("upstream", upstream), ("framing", .text(framing)), ("retries", .number(retries)),
            ("times", .object(times.map { ($0.name, .seconds($0.nanoseconds)) })), ("explanation", moves.request.value),
            ("explanation_error", optional(moves.request.fault)), ("response_explanation", moves.response.value),
            ("response_explanation_error", optional(moves.response.fault)), ("replayable", .bool(whyNot == nil)),
            ("not_replayable", optional(whyNot)), ("curl", optional(curl?.command)),
            ("curl_masked", .number(curl?.masked ?? 0)),
        ]
        return .object(members)
    }

    /// Where each field of a message's body went, by the rules of the route as they stand now.
    ///
    /// - Parameter status: that of a response; nil: the message is the request.
    private func moves(
        in message: KeptCopy, _ status: Int?, _ explain: (AdminServices.Sample) -> AdminServices.Explanation
    ) -> Moves {
        guard let route = facts.route else { return (.none, nil) }
        guard let body = message.decoded(limit: ConsoleSettings.greatestBody), body.isWhole else {
            return (.none, "only the beginning of the body is kept")
        }
        let line = ShownHead(fromClient.head, NameMask([])).line.split(separator: " ")
        let target = line.dropFirst().first ?? ""
        let parts = target.split(separator: "?", maxSplits: 1).map(String.init)
        // The body is explained as it is without its coding.
        let ofBody = ["content-encoding", "content-length", "transfer-encoding"]
        let headers = ShownHead(fromClient.head, NameMask([])).fields
            .filter { !ofBody.contains($0.name.lowercased()) }.map { "\($0.name): \($0.value)" }
        let explanation = explain(
            .init(
                route: route, body: body.bytes, type: message.field("content-type"),
                method: line.first.map(String.init), path: parts.first?.hasPrefix("/") == true ? parts.first : nil,
                query: parts.count > 1 ? parts[1] : nil, headers: headers, wantsJSON: true, wantsMovesOnly: true,
                responseStatus: status))
        guard explanation.status == 200 else { return (.none, explanation.text) }
        return (.document(Array(explanation.text.utf8)), nil)
    }
}

extension FieldPath {
    /// The last name in it: what of it is spelled alike in all encodings.
    fileprivate var lastKey: String? {
        for segment in segments.reversed() {
            if case .key(let name) = segment { return String(decoding: name, as: UTF8.self) }
        }
        return nil
    }
}
