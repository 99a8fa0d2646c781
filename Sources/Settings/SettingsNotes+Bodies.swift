internal import Gateway
internal import Proxy
internal import Transcoding

/// Rules for bodies that can never do what they say: of types that no conversion reads, of pictures (`image`), and of envelopes
/// (`status_from`, `problem`). And trailer fields that can't go out.
extension SettingsNotes {
    var bodyNotes: [SettingsNote] {
        settings.routes.indices.flatMap {
            typeNotes($0) + trailerNotes($0) + responseNotes($0) + pictureNotes($0) + envelopeNotes($0)
        }
    }

    // MARK: Types

    /// A route whose `match` lets types in that its own conversion doesn't read.
    private func typeNotes(_ index: Int) -> [SettingsNote] {
        let route = settings.routes[index]
        guard let conversion = route.conversion else { return [] }
        let types = route.match.types
        let unread = types.filter { !Self.reads(conversion.plan, $0) }
        // Among others that are read, one that passes is meant to.
        guard !unread.isEmpty, conversion.otherTypes == .reject || unread.count == types.count else { return [] }
        let inputs = conversion.plan.inputs.map(\.rawValue).joined(separator: ", ")
        return [
            note(
                .warning, "match_type", index,
                "its \"match\" takes \(unread.map(\.description).joined(separator: ", ")), which its conversion of "
                    + "\(inputs) doesn't read: each such body "
                    + (conversion.otherTypes == .reject ? "is a 415" : "passes as it came"),
                "a type goes to a route that reads it, or to one without a conversion")
        ]
    }

    /// A subtype for each way in which a type names an encoding, and one that names none, which raw bytes alone come with.
    private static let subtypes = [
        "json", "x+json", "x-www-form-urlencoded", "form-data", "xml", "x+xml", "x-plist", "plain", "x",
    ]

    /// Whether some body of a type in `range` is read by the plan.
    private static func reads(_ plan: ConversionPlan, _ range: MediaRange) -> Bool {
        let halves = range.description.split(separator: "/").map(String.init)
        let types = halves[0] == "*" ? ["application", "text", "multipart"] : [halves[0]]
        let subtypes = halves[1] == "*" ? subtypes : [halves[1]]
        return types.contains { type in subtypes.contains { reads(plan, type: "\(type)/\($0)") } }
    }

    private static func reads(_ plan: ConversionPlan, type: String) -> Bool {
        (try? plan.inputEncoding(for: Array(type.utf8).span)) != nil
    }

    // MARK: Trailers

    /// Trailer fields that a route lists, where its requests are held and go on with a length, behind which HTTP/1 has none.
    private func trailerNotes(_ index: Int) -> [SettingsNote] {
        let route = settings.routes[index]
        guard route.forwarding.passesTrailers, let upstream = route.upstream.map({ settings.upstreams[$0] }),
            upstream.version == .http1
        else { return [] }
        let why: String
        switch upstream.framing {
        case .length: why = "\"framing: length\" of its upstream"
        case .auto where route.signing != nil: why = "\"sign\""
        case .auto where route.verification != nil: why = "\"verify\""
        case .auto, .chunked: return []
        }
        return [
            note(
                .note, "trailers_dropped", index,
                "with \(why) its requests go on with a length, so that none of their \"trailers\" does; "
                    + "those of responses pass",
                "framing: chunked or http: 2 on the upstream lets them pass")
        ]
    }

    // MARK: Responses

    /// Rules of responses whose conversion can never come to its work.
    private func responseNotes(_ index: Int) -> [SettingsNote] {
        let rules = settings.routes[index].responses
        return rules.enumerated().flatMap { number, rule -> [SettingsNote] in
            guard case .convert(let conversion) = rule.action else { return [] }
            let which = ResponseRule.which(number, of: rules.count)
            let (statuses, types) = (rule.condition.statuses, rule.condition.types)
            var notes: [SettingsNote] = []
            if !statuses.isEmpty, statuses.allSatisfy({ $0.range.allSatisfy([204, 205, 206, 304].contains) }) {
                notes.append(
                    note(
                        .warning, "response_unconverted", index, of: which,
                        "no response with 204, 205, 206 or 304 is converted, and \"when\" lets nothing else in",
                        "when: { status: 200 } names others"))
            }
            let accepted = conversion.acceptedStatuses
            // A 304 is none that is converted.
            if !statuses.isEmpty, !accepted.isEmpty, statuses.contains(where: { $0.range != 304...304 }),
                !statuses.contains(where: { one in accepted.contains { one.range.overlaps($0.range) } })
            {
                notes.append(
                    note(
                        .warning, "response_status", index, of: which,
                        "\"when\" takes the status \(statuses.map(\.description).joined(separator: ", ")), and \"accept\" none of "
                            + "these: each such response is a 502",
                        "say in \"accept\" what is good among them, or leave it out"))
            }
            if !types.isEmpty, !types.contains(where: { Self.reads(conversion, $0) }) {
                let inputs = conversion.plan.inputs.map(\.rawValue).joined(separator: ", ")
                notes.append(
                    note(
                        .warning, "response_type", index, of: which,
                        "\"when\" takes \(types.map(\.description).joined(separator: ", ")), which its conversion of \(inputs) "
                            + "doesn't read: each such body "
                            + (conversion.otherTypes == .reject ? "is a 502" : "passes as it came"),
                        "accept: { type: … } lists types that are read as \(inputs)"))
            }
            return notes
        }
    }

    /// Whether the conversion reads some body of a type that `when` takes.
    private static func reads(_ conversion: ResponseConversion, _ pattern: ResponseTypePattern) -> Bool {
        guard conversion.acceptedTypes.isEmpty else {
            return conversion.acceptedTypes.contains { $0.covers(pattern) || pattern.covers($0) }
        }
        switch pattern {
        case .suffix(let suffix): return reads(conversion.plan, type: "application/x\(suffix)")
        case .range(let range): return reads(conversion.plan, range)
        }
    }

    // MARK: Pictures

    private func pictureNotes(_ index: Int) -> [SettingsNote] {
        let route = settings.routes[index]
        guard let conversion = route.conversion else { return [] }
        let plan = conversion.plan
        if plan.files.allSatisfy({ $0.image == nil }) { return [] }
        var notes: [SettingsNote] = []
        if !route.match.methods.isEmpty, route.match.methods.allSatisfy(["GET", "HEAD", "OPTIONS", "TRACE"].contains) {
            notes.append(
                note(
                    .warning, "image_without_body", index,
                    "it has an \"image\", and takes \(route.match.methods.joined(separator: ", ")) alone, which come without a body",
                    "match: { method: [POST, PUT] } takes uploads"))
        }
        if conversion.otherTypes == .pass {
            notes.append(
                note(
                    .note, "image_passed", index, "a body of another type passes with its pictures as they are",
                    "on_other_type: reject takes none"))
        }
        for (number, rule) in plan.files.enumerated() where rule.image != nil {
            if !rule.types.isEmpty, !rule.types.contains(where: Self.takesPictures) {
                notes.append(
                    note(
                        .warning, "image_types", index,
                        "the file \"\(rule.path)\" has an \"image\", and its types let no picture in",
                        "types: [image/jpeg, image/png, image/webp] does"))
            }
            if let setting = Self.settingThatRemoves(rule.path, plan.map) {
                notes.append(
                    note(
                        .warning, "image_removed", index,
                        "the file \"\(rule.path)\" has an \"image\", and \(setting) leaves it out", "say one of the two"
                    ))
            } else if plan.inputs == [.raw], plan.ruleOfRawFile != number {
                notes.append(
                    note(
                        .warning, "image_field", index,
                        "the one file of a raw body stands in \"\(plan.rawField)\", and the rule with its \"image\" is about "
                            + "\"\(rule.path)\": no picture comes to it",
                        "field: NAME in decode says where it stands, as in decode: { as: raw, field: photo }"))
            }
            let blind = plan.inputs.filter { !$0.hasFiles && rule.source(from: $0, to: plan.output) == nil }
            if !blind.isEmpty {
                let names = blind.map(\.rawValue).joined(separator: ", ")
                notes.append(
                    note(
                        .warning, "image_unread", index,
                        "of \(names) the field \"\(rule.path)\" is a text, and no picture is made of it",
                        "from: base64 in the file's rule reads one"))
            }
        }
        return notes
    }

    /// The setting of the map by which nothing that came at `path` goes out; nil: there is none.
    private static func settingThatRemoves(_ path: FieldPath, _ map: FieldMap) -> String? {
        if map.remove.contains(where: { $0.covers(path) }) { return "map.remove" }
        return map.set.contains { $0.path.covers(path) } ? "map.set" : nil
    }

    /// Whether a file of a type that is declared so may be a JPEG, a PNG or a WebP.
    private static func takesPictures(_ pattern: MediaPattern) -> Bool {
        let types = [
            "*/*", "image/*", "application/*", "application/octet-stream", "image/jpg", "image/pjpeg", "image/x-png",
        ]
        return types.contains(pattern.text) || ImageFormat.allCases.contains { $0.mediaType == pattern.text }
    }

    // MARK: Envelopes

    private func envelopeNotes(_ index: Int) -> [SettingsNote] {
        let route = settings.routes[index]
        return route.responses.enumerated().flatMap { number, rule -> [SettingsNote] in
            guard rule.status != nil || rule.problem != nil else { return [] }
            let which = ResponseRule.which(number, of: route.responses.count)
            func warning(_ code: String, _ message: String, _ hint: String) -> SettingsNote {
                note(.warning, code, index, of: which, message, hint)
            }
            let setting = rule.status == nil ? "problem" : "status_from"
            if route.match.methods == ["HEAD"] {
                return [
                    warning(
                        "\(setting)_unseen", "answers to HEAD have no body that \"\(setting)\" could look at",
                        "match: { method: GET } has")
                ]
            }
            if !rule.condition.statuses.isEmpty, rule.condition.statuses.allSatisfy(Self.hasNoEnvelope) {
                return [
                    warning(
                        "\(setting)_unseen",
                        "no body of 204, 206 or 304 is looked at, and \"when\" lets nothing else in",
                        "when: { status: 200 } names others")
                ]
            }
            var notes: [SettingsNote] = []
            if let status = rule.status {
                if !looks(rule, as: status.encoding) { notes.append(unreadable(index, which, rule, "status_from")) }
                notes += statusNotes(status, warning)
            }
            if let problem = rule.problem {
                if !looks(rule, as: problem.encoding) { notes.append(unreadable(index, which, rule, "problem")) }
                if Self.isNeverError(rule) {
                    notes.append(
                        warning(
                            "problem_never",
                            "\"status_from\" makes no status of 400 or more, and \"problem\" is for those",
                            "map a value, or default, to one"))
                }
            }
            return notes
        }
    }

    private func unreadable(_ index: Int, _ which: String, _ rule: ResponseRule, _ setting: String) -> SettingsNote {
        let types = rule.condition.types.map(\.description).joined(separator: ", ")
        return note(
            .warning, "\(setting)_type", index, of: which, "\"\(setting)\" looks at no body of \(types)",
            "as: json reads it, whatever its type")
    }

    /// What of `status_from` can never be.
    private func statusNotes(
        _ status: StatusRule, _ warning: (String, String, String) -> SettingsNote
    ) -> [SettingsNote] {
        var notes: [SettingsNote] = []
        let map = status.map ?? []
        if status.map != nil, map.allSatisfy({ $0.outcome == .unchanged }), status.standard == .unchanged {
            notes.append(
                warning("status_from_unchanged", "\"map\" leaves every status as it is", "map a value to a status"))
        }
        if case .index? = status.path.segments.first, status.encoding == .form || status.encoding == .xml {
            notes.append(
                warning(
                    "status_from_path", "the path \(status.path) leads nowhere: a form or an XML document is no list",
                    "it begins with a name"))
        }
        for (number, entry) in map.enumerated() {
            switch entry.key {
            case .range(let range):
                let cover = map[..<number].first {
                    if case .range(let earlier) = $0.key {
                        earlier.lowerBound <= range.lowerBound && range.upperBound <= earlier.upperBound
                    } else {
                        false
                    }
                }
                if let cover {
                    notes.append(
                        warning(
                            "status_from_covered",
                            "\"\(entry.key)\" of \"map\" never decides: \"\(cover.key)\" does before it",
                            "write the narrower range first"))
                }
            case .text(let text) where text.count > ValueSearch.longest:
                notes.append(
                    warning(
                        "status_from_long",
                        "a text of \"map\" is longer than \(ValueSearch.longest) bytes, which no value is that is compared",
                        "compare a shorter one"))
            case .text, .missing: break
            }
        }
        return notes
    }

    /// Whether a response with such a status is never looked at.
    private static func hasNoEnvelope(_ status: StatusRange) -> Bool {
        status.range.allSatisfy { StatusRule.fault(of: $0) != nil }
    }

    /// Whether some body that `rule` takes is of a type that can be looked at.
    private func looks(_ rule: ResponseRule, as encoding: BodyEncoding?) -> Bool {
        if encoding != nil || rule.condition.types.isEmpty { return true }
        var plan = ConversionPlan(inputs: StatusRule.encodings, output: .json)
        if case .convert(let conversion) = rule.action {
            // These are read as the conversion's own input.
            if !conversion.acceptedTypes.isEmpty { return true }
            plan.fieldDecoding = conversion.plan.fieldDecoding
        }
        return rule.condition.types.contains { pattern in
            let text: String
            switch pattern {
            case .suffix(let suffix): text = "application/x\(suffix)"
            case .range(let range):
                text = range.description
                // A star for the second half takes in one of ours where the first half is of one.
                if text.hasSuffix("/*") { return ["*/*", "application/*", "text/*"].contains(text) }
            }
            return Self.reads(plan, type: text)
        }
    }

    /// Whether no status of 400 or more can come of a rule that takes the status from the body.
    private static func isNeverError(_ rule: ResponseRule) -> Bool {
        guard let status = rule.status, let map = status.map, !rule.condition.statuses.isEmpty,
            rule.condition.statuses.allSatisfy({ $0.range.upperBound < 400 })
        else { return false }
        return (map.map(\.outcome) + [status.standard]).allSatisfy { outcome in
            if case .status(let status) = outcome { status < 400 } else { true }
        }
    }
}
