internal import Gateway
internal import Proxy
internal import Transcoding

/// Words that other programs have for "any" or "as it came", and paths and values in the spelling of other languages:
/// legal here, where they stand for themselves, so that they never hold or do what was meant.
extension SettingsNotes {
    var spellingNotes: [SettingsNote] {
        var notes: [SettingsNote] = []
        for index in settings.routes.indices {
            notes += methodNotes(index)
            notes += pathSpellingNotes(index)
            notes += hostNotes(index)
            notes += typeSpellingNotes(index)
            notes += upgradeSpellingNotes(index)
            notes += trailerSpellingNotes(index)
            notes += headerNameNotes(index)
            notes += templateNotes(index)
            notes += fieldPathNotes(index)
            notes += unreadNotes(index)
        }
        return notes + secretSpellingNotes + tracingNotes
    }

    /// Words for all that there is.
    private static let anyWords: Set = ["any", "all", "default", "everything", "_", "any_method", "http", "unknown"]

    // MARK: Match

    private static let commonMethods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

    private func methodNotes(_ index: Int) -> [SettingsNote] {
        settings.routes[index].match.methods.compactMap { method in
            let hint: String
            if Self.anyWords.contains(method.lowercased()) {
                hint = "leave \"method\" out where a route takes any"
            } else if method.contains("|") {
                hint = "several are a list: [GET, POST]"
            } else if ["WS", "WSS", "WEBSOCKET", "WEBSOCKETS"].contains(method) {
                hint = "a websocket begins with GET"
            } else if let near = NearestWord.slip(method, among: Self.commonMethods) {
                hint = "did you mean \(near)?"
            } else {
                return nil
            }
            return note(
                .warning, "method_unknown", index, "its \"match\" takes requests whose method is \(method) itself", hint
            )
        }
    }

    /// `<id>` and `...` of other routers, and several paths in one.
    private func pathSpellingNotes(_ index: Int) -> [SettingsNote] {
        let path = settings.routes[index].match.path.text
        let segments = path.split(separator: "/").map(String.init)
        // What begins with a dollar sign is an operation of OData and FHIR.
        let isVariable = segments.contains { $0.hasPrefix("<") && $0.hasSuffix(">") || $0 == "..." }
        // In parentheses it is an expression, of which `path_like_expression` tells.
        let isList = path.contains("|") && !path.contains("(") || path.contains(",/") || path.contains(" /")
        guard isVariable || isList else { return [] }
        return [
            note(
                .warning, "path_like_variable", index,
                "in the path \(path) \(Self.itself(isList ? "what parts paths" : "what stands for any segment"))",
                isList
                    ? "each path is a route of its own"
                    : "a variable is {name}, any segment *, and a * at the end any rest")
        ]
    }

    private static func itself(_ what: String) -> String { "\(what) elsewhere is text like any other" }

    /// Hosts that are words: in `match`, and in the route's `host`.
    private func hostNotes(_ index: Int) -> [SettingsNote] {
        let route = settings.routes[index]
        var notes = route.match.hosts.compactMap { host -> SettingsNote? in
            guard Self.anyWords.contains(host.description) else { return nil }
            return note(
                .warning, "host_like_word", index, "its \"match\" takes requests to a host that is called \(host)",
                "leave \"host\" out where a route takes any")
        }
        guard case .fixed(let host) = route.options.forwarding.host else { return notes }
        let words = [
            "keep", "pass", "client", "origin", "original", "none", "off", "default", "upstream_host", "preserve_host",
            "preserve-host",
            "auto", "*",
        ]
        // `upstream1` is a host, and so is what the upstream itself is called.
        let slip = host.last?.isNumber == true ? nil : NearestWord.slip(host, among: ["preserve", "upstream"])
        if words.contains(host.lowercased()) || slip != nil, !isAddress(host, of: route) {
            notes.append(
                note(
                    .warning, "host_like_word", index, "the upstream gets a Host that is \(host) itself",
                    "preserve keeps the client's, upstream is the upstream's address"))
        }
        return notes
    }

    private func isAddress(_ host: String, of route: Route) -> Bool {
        guard let upstream = route.upstream else { return false }
        return settings.upstreams[upstream].addresses.contains {
            if case .tcp(let name, _) = $0 { name.lowercased() == host.lowercased() } else { false }
        }
    }

    /// Types that are sent, one letter beside a common one.
    private static let nearTypes: Set = [
        "application/bson", "application/json5", "application/jsonl", "application/jsonp", "application/xsl",
        "application/yml", "application/yson", "text/xhtml",
    ]

    private static let commonTypes = [
        "application/json", "application/x-www-form-urlencoded", "multipart/form-data", "application/xml", "text/plain",
        "application/octet-stream", "text/html",
    ]

    private func typeSpellingNotes(_ index: Int) -> [SettingsNote] {
        settings.routes[index].match.types.compactMap { type in
            guard !Self.nearTypes.contains(type.description),
                let near = NearestWord.slip(type.description, among: Self.commonTypes)
            else { return nil }
            return note(
                .warning, "type_unknown", index, "its \"match\" takes the type \(type), which nobody sends",
                "did you mean \(near)?")
        }
    }

    // MARK: Heads

    private func upgradeSpellingNotes(_ index: Int) -> [SettingsNote] {
        (settings.routes[index].options.forwarding.upgrade ?? []).compactMap { name in
            let words = ["ws", "wss", "socket.io", "socketio", "enabled", "enable", "auto"]
            guard
                words.contains(name) || Self.anyWords.contains(name)
                    || NearestWord.slip(name, among: ["websocket"]) != nil
            else { return nil }
            return note(
                .warning, "upgrade_unknown", index,
                "\"upgrade\" passes a protocol that is called \(name), which no client asks for",
                "upgrade: [websocket] passes websockets, as a route does that says nothing")
        }
    }

    private func trailerSpellingNotes(_ index: Int) -> [SettingsNote] {
        settings.routes[index].options.forwarding.trailers.compactMap { name in
            let words = ["pass", "forward", "keep", "enabled", "grpc"]
            guard words.contains(name) || Self.anyWords.contains(name) else { return nil }
            return note(
                .warning, "trailer_like_word", index,
                "\"trailers\" passes a field that is called \(name), and no other",
                "write their names, as in [grpc-status, grpc-message]")
        }
    }

    /// Names that begin with the sign by which other programs say what is done with them.
    private func headerNameNotes(_ index: Int) -> [SettingsNote] {
        let headers = settings.routes[index].options.headers
        let names = [headers.request, headers.response].flatMap { edits in
            edits.remove.map { ($0.name, $0.isPrefix) } + (edits.set + edits.add).map { ($0.name, false) }
        }
        return names.compactMap { name, isPrefix in
            if isPrefix, name.hasSuffix(".") {
                return note(
                    .warning, "header_name_sign", index,
                    "\"remove\" takes fields away whose names begin with \(name), the dot being a part of it",
                    "a star alone stands for the rest, as in X-Internal-*")
            }
            guard let sign = name.first, "+-!~".contains(sign) else { return nil }
            return note(
                .warning, "header_name_sign", index, "the \(sign) of the header \(name) is a part of its name",
                "what is done with a field is said by set, add and remove")
        }
    }

    // MARK: Values

    /// Templates of other programs: `{{a}}`, `%{a}`, `#{a}`, `%REQ(a)%`, `%[a]`, and `{a}` as a whole value.
    private func templateNotes(_ index: Int) -> [SettingsNote] {
        var told: Set<String> = []
        return values(index).compactMap { what, texts, isOfHead in
            guard texts.contains(where: { Self.isTemplate($0, isOfHead: isOfHead) }), told.insert(what).inserted else {
                return nil
            }
            return note(
                .warning, "template_literal", index, "nothing is put into \(what): it goes out as it stands",
                "a value is taken with ${path.NAME}, ${query.NAME}, ${header.NAME} or ${client.ip}")
        }
    }

    private static func isTemplate(_ text: String, isOfHead: Bool) -> Bool {
        let isWhole = text.hasPrefix("{") && text.hasSuffix("}") && text.count > 2
        let inner = text.dropFirst().dropLast()
        // A GUID may stand in braces.
        let isIdentifier = inner.count == 36 && inner.allSatisfy { $0.isHexDigit || $0 == "-" }
        if isOfHead, isWhole, !isIdentifier,
            inner.allSatisfy({ $0.isLetter || $0.isNumber || "._-".contains($0) })
        {
            return true
        }
        if text.contains("{{"), text.contains("}}") { return true }
        for sign in ["%{", "#{", "$("] where text.contains(sign) { return true }
        guard isOfHead, let percent = text.firstIndex(of: "%") else { return false }
        let rest = text[text.index(after: percent)...]
        return rest.hasPrefix("[") || rest.hasSuffix("%") && rest.first?.isUppercase == true && rest.contains("(")
    }

    // MARK: Fields

    private func fieldPathNotes(_ index: Int) -> [SettingsNote] {
        let route = settings.routes[index]
        var found: [(key: String, path: FieldPath)] = []
        for (plan, _) in conversions(of: route) {
            let map = plan.map
            found +=
                map.remove.map { ("map.remove", $0) }
                + map.rename.flatMap { [("map.rename", $0.from), ("map.rename", $0.to)] }
            found += map.set.map { ("map.set", $0.path) } + map.append.map { ("map.append", $0.path) }
            found += plan.types.map { ("fields", $0.path) } + plan.files.map { ("files", $0.path) }
            found += plan.jsonParts.map { ("parts", $0) }
        }
        for rule in route.responses {
            if let status = rule.status { found.append(("status_from", status.path)) }
            if let problem = rule.problem {
                found += (problem.detail + [problem.title].compactMap(\.self)).map { ("problem", $0) }
            }
        }
        found += (route.shadow?.options.ignored ?? []).map { ("shadow.ignore", $0) }
        var told: Set<String> = []
        return found.compactMap { key, path in
            guard let hint = Self.foreignPath(path), told.insert("\(key) \(path)").inserted else { return nil }
            return note(
                .warning, "field_path_foreign", index,
                "the path \(path) of \"\(key)\" leads to a field of exactly that name", hint)
        }
    }

    /// What to write in place of a path of JSONPath, JSON Pointer, jq, XPath or a template; nil of one that looks like
    /// ours.
    private static func foreignPath(_ path: FieldPath) -> String? {
        let names = path.segments.map {
            if case .key(let name) = $0 { String(decoding: name, as: UTF8.self) } else { "" }
        }
        guard let first = names.first else { return nil }
        if first == "$" || first == "@" || first == "$request" || first == "$response" {
            return "a path begins with the name of a field, as in a.b"
        }
        if first.hasPrefix("/") || first.hasPrefix("#/") { return "a path has dots between its names, as in a.b" }
        for name in names where !name.isEmpty {
            if name.hasPrefix("?") { return "a path has no filters: [*] is every element" }
            if let hint = number(name) { return hint }
            if name.hasPrefix("'"), name.hasSuffix("'"), name.count > 1 { return "a name is put in double quotes" }
            // Fields of forms may be called as their labels are: `Are you sure?`, `E-mail *`, `Name, first name`.
            if name.contains(" ") { continue }
            if name.hasSuffix("?") { return "what isn't there is no fault: leave the ? out" }
            if name == "#" || name != "*" && name.contains("*") {
                return "a star stands for a whole name or element, as in a.* and a[*].b"
            }
            if name.hasPrefix("{") && name.hasSuffix("}") || name.hasPrefix("<") && name.hasSuffix(">") {
                return "a name stands without braces, as in a.b"
            }
            if name.contains(",") { return "several paths are a list" }
        }
        return nil
    }

    /// What to write in place of a negative index or a slice, `-1` and `1:2`; nil of other names, as `-xsi:type` and the time `08:30`.
    private static func number(_ name: String) -> String? {
        guard name.allSatisfy({ $0.isNumber || $0 == ":" || $0 == "-" }) else { return nil }
        let parts = name.split(separator: ":", omittingEmptySubsequences: false)
        if parts.count == 1 {
            return name.count > 1 && name.hasPrefix("-") && name.dropFirst().allSatisfy(\.isNumber)
                ? "elements are counted from 0, and [*] is every one" : nil
        }
        return parts.allSatisfy { $0.count == 2 } ? nil : "[*] is every element, and no slice is one"
    }

    /// Rules for fields where a body is one value: text or bytes that a field holds, or that are the document.
    private func unreadNotes(_ index: Int) -> [SettingsNote] {
        let plans = conversions(of: settings.routes[index]).map(\.plan)
        return plans.flatMap { plan -> [SettingsNote] in
            guard plan.inputs == [.raw] || plan.inputs == [.text], plan.document == nil else { return [] }
            let own = plan.inputs == [.raw] ? plan.inputField ?? "file" : plan.inputField
            let field = own.map { FieldPath([.key(Array($0.utf8))]) }
            let map = plan.map
            var there = [field].compactMap(\.self)
            func unread(_ key: String, _ path: FieldPath) -> SettingsNote {
                let what = own.map { "is the one field \($0)" } ?? "is one text, and has no fields"
                return note(
                    .warning, "fields_unread", index,
                    "no field comes to \(path) of \"\(key)\": a body of \(plan.inputs[0].rawValue) \(what)",
                    own == nil
                        ? "field: NAME in decode makes the text a field" : "write \(own ?? ""), or another encoding")
            }
            var notes: [SettingsNote] = []
            notes += map.remove.filter { path in !there.contains(where: path.overlaps) }.map {
                unread("map.remove", $0)
            }
            for rename in map.rename {
                if !there.contains(where: rename.from.overlaps) { notes.append(unread("map.rename", rename.from)) }
                there.append(rename.to)
            }
            there += (map.set + map.append).map(\.path)
            notes += plan.types.map(\.path).filter { path in !there.contains(where: path.overlaps) }.map {
                unread("fields", $0)
            }
            return notes
        }
    }

    // MARK: Elsewhere

    /// Secrets that stand for what a shell or another program would put in, and tokens with their scheme.
    private var secretSpellingNotes: [SettingsNote] {
        let numbers = Dictionary(zip(settings.routes.map(\.name), settings.routes.indices)) { first, _ in first }
        return secrets.compactMap { secret in
            guard let spelling = secret.spelling, let index = secret.route.flatMap({ numbers[$0] }) else { return nil }
            switch spelling {
            case .reference:
                return note(
                    .warning, "secret_like_reference", index,
                    "\(secret.what) is taken as it stands, and nothing is put in for it",
                    "${env:NAME} and ${file:PATH} are put in", at: secret.position)
            case .scheme:
                return note(
                    .warning, "bearer_scheme", index,
                    "\(secret.what) begins with the word Bearer, which no client sends twice",
                    "write what stands behind it", at: secret.position)
            }
        }
    }

    private var tracingNotes: [SettingsNote] {
        guard let tracing = settings.tracing, tracing.port == 4317 else { return [] }
        let origin = effective.first { $0.key == "tracing.endpoint" }?.origin
        let line: Int = if case .line(let line)? = origin { line } else { 1 }
        return [
            SettingsNote(
                severity: .warning, code: "tracing_port", line: line, column: 1, subject: "tracing",
                message: "collectors take spans by gRPC on port 4317, which is not spoken here",
                hint: "4318 is the port of OTLP over HTTP")
        ]
    }
}

/// What a secret is spelled like that is none.
enum SecretSpelling: Hashable, Sendable {
    /// A place that another program would read it from.
    case reference
    /// A token behind its scheme, as in Authorization.
    case scheme

    /// Nil of what looks like a secret.
    init?(_ text: String) {
        let lower = text.lowercased()
        if lower.hasPrefix("bearer ") {
            self = .scheme
            return
        }
        let prefixes = [
            "env:", "env.", "env/", "file:", "file://", "vault:", "op://", "secret://", "arn:aws:secretsmanager:",
            "process.env.", "env[", "$(",
            "os.environ",
        ]
        let isPutIn =
            prefixes.contains(where: lower.hasPrefix)
            || lower.hasPrefix("{{") && lower.hasSuffix("}}") || lower.hasPrefix("<") && lower.hasSuffix(">")
            || lower.hasPrefix("%") && lower.hasSuffix("%") && lower.count > 2
            || lower.hasPrefix("$")
                && text.dropFirst().allSatisfy { $0 == "_" || $0.isLetter && $0.isUppercase || $0.isNumber }
        if !isPutIn { return nil }
        self = .reference
    }
}
