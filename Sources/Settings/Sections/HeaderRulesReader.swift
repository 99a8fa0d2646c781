internal import Gateway
internal import Proxy
internal import Signatures
internal import Transcoding

/// Reads `headers`: what a route, or "defaults", sets, adds and removes of requests' and responses' fields.
final class HeaderRulesReader {
    /// Which head a rule is for.
    enum Side: String {
        case request, response
    }

    private struct RuleKey: Hashable {
        let side: Side
        let name: String
    }

    private let context: ReadingContext
    private let values: RequestValueReader
    /// Where a field stands in what this reader has read, by its name in lower case.
    private var positions: [RuleKey: SettingsNode.Position] = [:]

    /// - Parameter variables: those of the route's path; nil where that can't be read.
    init(_ context: ReadingContext, variables: [String?]?, isDefault: Bool = false) {
        self.context = context
        values = RequestValueReader(
            context, variables: variables, isDefault: isDefault, takesCertificate: true,
            sources:
                "a header takes \(RequestValueReader.taken.joined(separator: ", ")), ${env:NAME} and ${file:PATH}; "
                + "a body is not read for it")
    }

    /// Takes what `section` says and merges it over `rules`.
    func read(_ section: SectionReader, into rules: inout HeaderRules) {
        let part = section.part("headers")
        rules.request = read(part.part("request"), .request, over: rules.request)
        rules.response = read(part.part("response"), .response, over: rules.response)
        part.finish()
    }

    private func read(_ section: SectionReader, _ side: Side, over inherited: HeaderEdits) -> HeaderEdits {
        var own = HeaderEdits()
        var removed: SettingsNode.Position?
        if let node = section.take("remove") {
            removed = node.position
            own.remove = (context.elements(node, "\"remove\"") ?? []).compactMap { removal($0, side) }
        }
        if let node = section.take("set"), let part = SectionReader(node, "\"set\"", context) {
            var names: Set<String> = []
            for member in part.remaining {
                guard let name = name(member.key, member.position, side) else { continue }
                if names.contains(name.lowercased()) {
                    context.report(
                        member.position, "\"set\" has \"\(name)\" twice, as case is no matter: \"add\" takes a list")
                    continue
                }
                guard let field = field(name, member.value) else { continue }
                names.insert(name.lowercased())
                own.set.append(field)
            }
        }
        if let node = section.take("add"), let part = SectionReader(node, "\"add\"", context) {
            for member in part.remaining {
                guard let name = name(member.key, member.position, side) else { continue }
                for element in context.elements(member.value, "the header \"\(name)\"") ?? [] {
                    guard let field = field(name, element) else { continue }
                    if side == .request, field.value.readsCertificate {
                        // Whoever reads the first line of a name would believe the client.
                        context.report(
                            element.position,
                            "\"add\" leaves what the client says under that name in front of its certificate: write it under \"set\""
                        )
                    }
                    own.add.append(field)
                }
            }
        }
        section.finish()
        let merged = inherited.merged(with: own)
        if !merged.remove.isEmpty {
            section.record("remove", merged.remove.map(\.text).joined(separator: ", "), origin(removed))
        }
        for (key, fields) in [("set", merged.set), ("add", merged.add)] {
            for field in fields {
                let line = positions[RuleKey(side: side, name: field.name.lowercased())]
                section.record("\(key).\(field.name)", field.text, origin(line))
            }
        }
        return merged
    }

    private func origin(_ position: SettingsNode.Position?) -> EffectiveValue.Origin {
        position.map { .line($0.line) } ?? .standard
    }

    private func removal(_ node: SettingsNode, _ side: Side) -> HeaderEdits.Removal? {
        guard let text = context.text(node, "\"remove\"") else { return nil }
        let isPrefix = text.hasSuffix("*")
        let name = isPrefix ? String(text.dropLast()) : text
        if name.contains("*") || name.isEmpty {
            context.report(
                node.position,
                "\"\(text)\": a star stands at the end, behind what the names begin with, as in X-Internal-*")
            return nil
        }
        if isPrefix {
            guard HeaderName.isValid(name) else {
                context.report(node.position, "\"\(text)\" is no beginning of a header's name")
                return nil
            }
        } else {
            guard self.name(name, node.position, side) != nil else { return nil }
        }
        return HeaderEdits.Removal(name: name.lowercased(), isPrefix: isPrefix)
    }

    /// A name that a rule may have on any route.
    private func name(_ name: String, _ position: SettingsNode.Position, _ side: Side) -> String? {
        guard HeaderName.isValid(name), name.utf8.count <= 256 else {
            context.report(position, "\"\(name)\" is no name of a header")
            return nil
        }
        if name.contains("*") {
            context.report(position, "\"\(name)\" has a star: only \"remove\" takes one, at the end")
            return nil
        }
        if let reason = HeaderOwner.always(name, side) {
            context.report(position, "\"\(name)\" \(reason)")
            return nil
        }
        positions[RuleKey(side: side, name: name.lowercased())] = position
        return name
    }

    private func field(_ name: String, _ node: SettingsNode) -> HeaderEdits.Field? {
        let what = "the header \"\(name)\""
        guard let value = values.value(node, what) else { return nil }
        var pieces: [SourceReference.Piece]
        switch value {
        case .text(let text): pieces = [.literal(text)]
        case .source(.literalMix(let mix)): pieces = mix
        case .source(let source): pieces = [.source(source)]
        }
        // White space at a value's ends is none of it.
        if case .literal(let text)? = pieces.first { pieces[0] = .literal(String(text.drop(while: Self.isBlank))) }
        if case .literal(let text)? = pieces.last {
            pieces[pieces.count - 1] = .literal(String(text.reversed().drop(while: Self.isBlank).reversed()))
        }
        let literals = pieces.map { if case .literal(let text) = $0 { text } else { "" } }.joined()
        if literals.unicodeScalars.contains(where: { ($0.value < 0x20 && $0 != "\t") || $0.value == 0x7F }) {
            context.report(node.position, "\(what) holds a line end or another control character, which no field can")
            return nil
        }
        if literals.utf8.count > HeaderEdits.valueLimit {
            context.report(node.position, "\(what) is longer than \(HeaderEdits.valueLimit) bytes")
            return nil
        }
        if pieces == [.literal("")] {
            context.report(node.position, "\(what) has no value: to take the field away, write remove: [\(name)]")
            return nil
        }
        guard case .scalar(let text, _) = node.content else { return nil }
        return HeaderEdits.Field(name: name, value: .literalMix(pieces), text: text)
    }

    private static func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }

    // MARK: - What the route writes itself

    /// Reports rules for fields that this route writes itself. `route` is where the route's name stands, for those rules that
    /// come from "defaults".
    func checkUse(
        of options: RouteOptions, request: RequestRule, responses: [ResponseRule], signing: RequestSigning?,
        route: SettingsNode.Position
    ) {
        let owner = HeaderOwner(options: options, request: request, responses: responses, signing: signing)
        for (side, edits) in [(Side.request, options.headers.request), (.response, options.headers.response)] {
            let removed = edits.remove.filter { !$0.isPrefix }.map { ($0.name, false) }
            for (name, isWritten) in removed + (edits.set + edits.add).map({ ($0.name, true) }) {
                // What comes under the names of a signature goes in any case, so to take it away is no mistake.
                guard
                    let reason = owner.reason(name, side)
                        ?? (isWritten && side == .request ? owner.signedReason(name) : nil)
                else { continue }
                if let position = positions[RuleKey(side: side, name: name.lowercased())] {
                    context.report(position, "\"\(name)\" \(reason)")
                } else {
                    context.report(
                        route, "the rule of \"defaults\" for the header \"\(name)\" can't hold here: it \(reason)")
                }
            }
        }
    }
}

/// Which fields no rule can have, because something else decides them: what does is in the reason.
struct HeaderOwner {
    let options: RouteOptions
    let request: RequestRule
    let responses: [ResponseRule]
    let signing: RequestSigning?

    /// Why no rule of any route can have the field.
    static func always(_ name: String, _ side: HeaderRulesReader.Side) -> String? {
        // A server of the CGI family reads `_` as `-` (docs/rules.md R18).
        switch name.lowercased().replacing("_", with: "-") {
        case "content-length", "transfer-encoding":
            return "frames the body: the proxy alone writes it, from the body's bytes"
        case "trailer", "te": return "frames the body: what passes of trailers is said by \"trailers\""
        case "connection", "keep-alive", "proxy-connection", "http2-settings":
            return "belongs to one connection and never passes"
        case "proxy-authenticate", "proxy-authorization", "proxy-authentication-info":
            return "is for a proxy of one connection and never passes"
        case "upgrade": return "changes the connection: \"upgrade\" says which protocols may"
        case "expect": return "is answered here or passed on: \"expect_continue\" says which"
        case "host":
            return side == .request ? "is set by \"host\", as in host: api.example" : "is no field of responses"
        case "via":
            return side == .request ? "is written by \"via\"" : "is written by \"via_responses\", if at all"
        case "x-request-id" where side == .request:
            return "is the id that the log and the answers have: clients may send their own"
        case "date" where side == .response: return "is the time of the answer, and the proxy writes it where it lacks"
        default: return nil
        }
    }

    /// Why no rule of this route can have the field.
    func reason(_ name: String, _ side: HeaderRulesReader.Side) -> String? {
        let name = name.lowercased().replacing("_", with: "-")
        return side == .request ? requestReason(name) : responseReason(name)
    }

    /// Why this route can't write the field into requests: the signature is made behind all rules.
    func signedReason(_ name: String) -> String? {
        let name = name.lowercased().replacing("_", with: "-")
        guard let names = signing?.signer.readNames, names.contains(where: { $0.lowercased() == name }) else {
            return nil
        }
        return "is written by \"sign\", or read in the place of what it writes"
    }

    private func requestReason(_ name: String) -> String? {
        switch name {
        case "x-forwarded-for" where options.forwarding.forwarded == .xForwarded:
            return "is written by \"forwarded\": write forwarded: off to set it yourself, as in \"${client.ip}\""
        case "forwarded" where options.forwarding.forwarded == .forwarded:
            return "is written by \"forwarded\": write forwarded: off to set it yourself"
        case "x-real-ip" where options.forwarding.realIP:
            return "is written by \"real_ip\": write real_ip: false to set it yourself"
        case "accept-encoding" where responses.contains(where: { $0.conversion != nil }):
            return "is written by \"codings\", as the route converts responses"
        default: break
        }
        guard case .convert(let conversion) = request else { return nil }
        return Self.bodyReason(name, conversion.plan)
    }

    private func responseReason(_ name: String) -> String? {
        if name == "content-encoding", options.coding.compress != nil { return "is written by \"compress\"" }
        for rule in responses {
            if let conversion = rule.conversion, let reason = Self.bodyReason(name, conversion.plan) { return reason }
        }
        return nil
    }

    private static func bodyReason(_ name: String, _ plan: ConversionPlan) -> String? {
        switch name {
        case "content-encoding", "content-range": return "speaks of the body's bytes, which the conversion makes"
        case "content-type" where plan.output == .multipart || plan.outputWithoutFiles != nil:
            return "has the boundary between the parts that the conversion writes"
        default: return nil
        }
    }
}

extension ResponseRule {
    fileprivate var conversion: ResponseConversion? {
        if case .convert(let conversion) = action { conversion } else { nil }
    }
}
