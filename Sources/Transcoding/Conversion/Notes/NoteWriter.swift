/// Gathers the notes of one plan.
internal struct NoteWriter {
    let plan: ConversionPlan
    let features: InputFeatures
    private(set) var notes: [ConversionNote] = []
    private var probe: TraitProbe
    private var changed: [TraitRemedy: TraitProbe] = [:]

    init(plan: ConversionPlan) {
        self.plan = plan
        features = InputFeatures(plan)
        probe = TraitProbe(plan)
    }

    mutating func write() {
        if plan.passesFields { writePassedFields() } else { writeDocuments() }
        if plan.joinsParts {
            note(
                "part_headers", .omitted, "a text part's Content-Type and further headers",
                "are left out where its text becomes several parts or goes into another one", nil)
        }
        writeFiles()
        writeSharedObjects()
        writeOrder()
        writeMap()
    }

    /// What becomes of fields under the names they came with: no name is structure then, but multipart takes fewer.
    private mutating func writePassedFields() {
        guard plan.output == .multipart else { return }
        let (came, goes) = (NameQuoting(plan.fieldDecoding.dialect), NameQuoting(plan.fieldEncoding.dialect))
        guard plan.inputs.contains(.form) else {
            // What came in a multipart body has no other controls, and escapes as the client wrote them where the output keeps those.
            guard plan.inputs.contains(.multipart), came.decodesPercents else { return }
            if goes.keepsEscapedQuotes {
                altered(
                    "name_escaped", "a name with a line end, or with a quotation mark and =",
                    "goes out with %0D%0A and %22 for them, which many servers leave so", nil)
            } else {
                write([.escapeInName, .lineEndInName])
            }
            return
        }
        write([.nulInName, .controlInName, .escapeInName, .lineEndInName])
        if has(.nulls) { altered("null_empty", "a name without a value", "becomes an empty part", nil) }
    }

    private mutating func writeDocuments() {
        write(DocumentTrait.allCases)
        if plan.output == .raw {
            altered("raw_name", "a field", "is the body, without its name", "multipart keeps it")
        }
        writeDates()
    }

    private mutating func write(_ traits: [DocumentTrait]) {
        var findings: [Finding] = []
        for trait in traits where features.isSuperset(of: trait.row.requires) {
            guard let finding = finding(of: trait) else { continue }
            // One note says it of all traits that have the same words, and what mends it mends all of them.
            let words = findings.firstIndex { $0.note.code == finding.note.code && $0.note.what == finding.note.what }
            if let words { findings[words].traits.append(trait) } else { findings.append(finding) }
        }
        for finding in findings {
            var note = finding.note
            switch finding.remedy {
            case .none: break
            case .text(let text): note.remedy = text
            case .settings(let settings): note.remedy = remedy(of: finding.traits, note.outcome, among: settings)
            }
            notes.append(note)
        }
    }

    func has(_ feature: InputFeatures) -> Bool { features.contains(feature) }

    private mutating func refused(_ code: String, _ what: String, _ remedy: String?) {
        note(code, .refused, what, "is refused", remedy)
    }

    private mutating func altered(_ code: String, _ what: String, _ effect: String, _ remedy: String?) {
        note(code, .altered, what, effect, remedy)
    }

    private mutating func note(
        _ code: String, _ outcome: ConversionNote.Outcome, _ what: String, _ effect: String, _ remedy: String?
    ) {
        notes.append(ConversionNote(code: code, outcome, what: what, effect: effect, remedy: remedy))
    }

    // MARK: Traits

    /// A note without its remedy, the traits that have it, and how the remedy is found.
    struct Finding {
        var note: ConversionNote
        var traits: [DocumentTrait]
        var remedy: TraitWords.Remedy
    }

    /// What becomes of a trait, without a remedy; nil where it is carried, and where the note of a part of it says the same.
    mutating func finding(of trait: DocumentTrait) -> Finding? {
        let outcome = probe.outcome(of: trait)
        guard let direct = outcome.note else { return nil }
        let words = words(of: trait, outcome)
        let kind = words.outcome ?? direct
        for part in trait.row.parts where features.isSuperset(of: part.row.requires) {
            if probe.outcome(of: part).note == kind { return nil }
        }
        let effect: String
        switch outcome {
        case .carried: return nil
        case .refused: effect = words.effect ?? "is refused"
        case .omitted: effect = words.effect ?? "is left out"
        case .altered(nil): effect = words.effect ?? "can't be read back"
        case .altered(let back?): effect = words.effect ?? "reads back as \(TraitShape(back, of: trait))"
        }
        let note = ConversionNote(code: words.code, kind, what: words.what, effect: effect)
        return Finding(note: note, traits: [trait], remedy: words.remedy)
    }

    mutating func outcome(of trait: DocumentTrait) -> TraitProbe.Outcome { probe.outcome(of: trait) }

    /// The settings that carry the traits, two of them at most, and the one under which they read back as something near.
    private mutating func remedy(
        of traits: [DocumentTrait], _ kind: ConversionNote.Outcome, among settings: [TraitRemedy]
    ) -> String? {
        var carrying: [String] = []
        var nearby: String?
        for setting in settings where carrying.count < 2 {
            var probe = changed[setting] ?? TraitProbe(setting.changed(plan), readers: [setting])
            defer { changed[setting] = probe }
            let outcomes = traits.map { probe.outcome(of: $0) }
            if outcomes.allSatisfy({ $0 == .carried }) {
                if setting.isOfReader { return "\(setting.rawValue) keeps it where it is read" }
                carrying.append(setting.rawValue)
            } else if kind != .altered, nearby == nil, traits.count == 1, case .altered(let back?) = outcomes[0] {
                let shape = TraitShape(back, of: traits[0])
                if shape.isKnown { nearby = "\(setting.rawValue) carries it as \(shape)" }
            }
        }
        guard let first = carrying.first else { return nearby }
        var text = first
        if carrying.count > 1 {
            // `arrays: indices or brackets`
            let option = first.prefix { $0 != " " } + " "
            let second = carrying[1]
            text += " or " + (second.hasPrefix(option) ? String(second.dropFirst(option.count)) : second)
        }
        text += kind == .altered ? " keeps it apart" : " carries it"
        return nearby.map { "\(text), \($0)" } ?? text
    }

    // MARK: Dates and bytes

    /// Dates and data, which property lists have.
    private mutating func writeDates() {
        if has(.dates), plan.output == .plist {
            if plan.propertyListEncoding.dateFractions == .drop {
                altered("date_fraction", "a date with fractions of a second", "loses them", "bplist keeps them")
            } else {
                refused("date_fraction_rejected", "a date with fractions of a second", "bplist carries it")
            }
        }
        // A text that is declared one was a text before.
        guard plan.readsDates, !plan.output.hasDates else { return }
        if has(.dates) {
            let isField = plan.output.isFlat
            let effect =
                switch isField ? FieldStyle.of(plan.fieldEncoding.dialect).dates : .text {
                case .text: "becomes a text of RFC 3339"
                case .milliseconds: "becomes a text of RFC 3339 with milliseconds"
                case .description: "becomes a text as NSDate describes itself"
                case .secondsSince2001: "becomes the seconds since 2001"
                }
            altered("dates_text", "a date", effect, "plist and bplist keep it")
        }
        if has(.data) { altered("data_text", "data", "becomes a text in base64", "plist and bplist keep it") }
    }

    // MARK: Files

    /// What becomes of files, of all that no rule names and of each that one does.
    private mutating func writeFiles() {
        guard features.contains(.files) else { return }
        for rule in plan.files { writeFile("the file \"\(rule.path)\"", "file", rule.policy) }
        // A rule for every name leaves none over.
        guard !plan.files.contains(where: { $0.path.segments == [.any] }) else { return }
        writeFile(plan.files.isEmpty ? "a file" : "any other file", "files", plan.generalFilePolicy)
    }

    /// That files go into a document before its fields, and so not between them.
    private mutating func writeSharedObjects() {
        guard plan.inputs.contains(.multipart), plan.output.hasObjects else { return }
        func isKept(_ policy: FilePolicy) -> Bool { policy == .base64 || policy == .object }
        // A rule for one name of the root is about no file that stands deeper.
        guard
            isKept(plan.generalFilePolicy)
                || plan.files.contains(where: { isKept($0.policy) && $0.path.rootKey == nil })
        else { return }
        let nesting = plan.fieldDecoding.nesting
        guard nesting != .flat else {
            // A rename would take both along.
            return refused("files_shared_root", "a file under the name of a field", nil)
        }
        let names = nesting == .dots ? "user.avatar beside user.name" : "user[avatar] beside user[name]"
        refused(
            "files_shared_root", "a file in one object or array with fields, as \(names),",
            "map.rename gives it a name of its own")
    }

    /// That files overtake fields, where these are held until the body's end.
    private mutating func writeOrder() {
        guard plan.sendsFilesFirst else { return }
        var plain = plan
        plain.rewritesNames = false
        plain.fieldDecoding.dialect = .recast
        let bundle = FieldDecodingOptions(dialect: plan.fieldDecoding.dialect)
        if plain.fieldDecoding.duplicates == bundle.duplicates { plain.fieldDecoding.duplicates = .array }
        if plain.fieldDecoding.nulls == bundle.nulls { plain.fieldDecoding.nulls = .empty }
        altered(
            "files_first", "a field before a file",
            "goes out behind all files, also where neither has a name in brackets",
            plain.sendsFilesFirst
                ? nil
                : "multipart -> multipart, without dialect, arrays and nesting, keeps names and order as they came")
    }

    /// That the map knows names as the route reads them, where all others pass: a server may read one of those as one of the map's.
    private mutating func writeMap() {
        guard plan.passesOtherNames, !plan.map.set.isEmpty || !plan.map.remove.isEmpty else { return }
        // What has brackets out of place is refused there, and what has a space in front isn't.
        let name = plan.fieldDecoding.malformedKey == .reject ? "\" u[id]\"" : "u[id]x"
        altered(
            "map_names", "a name that the server alone reads as one of map.set or map.remove",
            "passes them, as \(name) beside u[id] in front of PHP",
            "the server's dialect on both sides reads names as it does")
    }

    private mutating func writeFile(_ what: String, _ code: String, _ policy: FilePolicy) {
        let carries =
            plan.output.hasFiles
            ? "files: stream passes it"
            : plan.output.hasObjects ? "files: object carries it" : "files: base64 carries it"
        switch policy {
        case .reject: refused("\(code)_rejected", what, carries)
        case .drop: note("\(code)_dropped", .omitted, what, "is left out and counted", carries)
        case .stream where !plan.output.hasFiles: refused("\(code)_unrepresentable", what, carries)
        case .stream:
            if plan.output == .raw {
                altered("\(code)_name", what, "loses its name and its filename", "multipart keeps them")
            }
        case .base64:
            altered(
                "\(code)_base64", what, "loses its filename and type",
                plan.output.hasFiles
                    ? "files: stream keeps them"
                    : plan.output.hasObjects ? "files: object keeps them" : "multipart keeps them")
        case .object: break
        }
    }
}

extension ConversionPlan {
    /// Whether fields pass under the names they came with, so that nothing but files is changed.
    internal var passesFields: Bool {
        streamsFields && output != .raw && inputs.allSatisfy { $0.isFlat }
            && (output == .form || output == .multipart)
    }

    /// Whether fields come and go out as such, and names that don't follow the grammar are names as others. URLSearchParams' are texts to
    /// the server, too.
    internal var passesOtherNames: Bool {
        (output == .form || output == .multipart) && inputs.contains { $0 == .form || $0 == .multipart }
            && fieldDecoding.libraryOfNames == nil && fieldDecoding.dialect != .whatwg
    }

    /// Whether files of a multipart body go out before its fields, in whatever order they came: fields are put together first.
    internal var sendsFilesFirst: Bool {
        inputs.contains(.multipart) && output == .multipart && !streams(from: .multipart)
            && (![.drop, .reject].contains(generalFilePolicy)
                || files.contains { ![.drop, .reject].contains($0.policy) })
    }

    /// Whether texts of parts may go out as several parts, or several of them in one.
    internal var joinsParts: Bool {
        guard inputs.contains(.multipart), output == .multipart, !streamsFields else { return false }
        let splits =
            fieldDecoding.arrays == .comma || fieldDecoding.arrays == .json || fieldDecoding.nesting == .json
            || fieldDecoding.jsonParts == .parse || types.contains { $0.type == .json } || document != nil
        return splits || fieldEncoding.arrays == .comma || fieldEncoding.writesArraysAsJSON
            || fieldEncoding.nesting == .json || !jsonParts.isEmpty
    }

    internal var readsDates: Bool { inputs.contains(where: \.hasDates) }
}

/// What a sample has become, in words: from the JSON text that it reads back as.
internal struct TraitShape: CustomStringConvertible {
    let description: String
    /// Whether it still has its name.
    let isKnown: Bool

    init(_ text: String, of trait: DocumentTrait) {
        let shape =
            switch trait.row.scope {
            case .document: Self.shape(text[...])
            case .members: text.contains("\"x\"") ? nil : "nothing"
            case .value: Self.shape(ofValueIn: text, of: trait)
            }
        isKnown = shape != nil
        if let shape {
            description = shape
        } else if text.hasPrefix("{\"a[]\":") {
            description = "one under another name"
        } else {
            description = text.hasPrefix("{\"a[0]\":") ? "fields under names of their own" : "something else"
        }
    }

    /// The value under the name that it had, perhaps with a root element around.
    private static func shape(ofValueIn text: String, of trait: DocumentTrait) -> String? {
        for (start, end) in [("{\"a\":", "}"), ("{\"r\":{\"a\":", "}}")] where text.hasPrefix(start) {
            let shape = shape(text.dropFirst(start.count).dropLast(end.count))
            guard shape == Self.shape(trait.row.sample[...]) else { return shape }
            return "another" + shape.drop { $0 != " " }
        }
        return nil
    }

    private static func shape(_ value: Substring) -> String {
        switch value {
        case "null": "null"
        case "\"\"": "an empty text"
        case "[]": "an empty array"
        case "[\"\"]": "an array of one empty text"
        case "{}": "an empty object"
        case "true", "false": "a boolean"
        default:
            switch value.first {
            case "\"": "a text"
            case "[": "an array"
            case "{": "an object"
            default: "a number"
            }
        }
    }
}
