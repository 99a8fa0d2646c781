/// What may be lost on the way, told before a body comes.
extension ConversionPlan {
    /// What the output can't carry or can't tell apart under these settings, of all that may come in. Empty when
    /// everything that the input can say goes out and reads back as it was, read with the options it was written with.
    ///
    /// What a rule of the plan names itself, as `map.remove`, is no note.
    public func notes() -> [ConversionNote] {
        // An output that is `auto` has been decided where no file can come.
        var writer = NoteWriter(plan: inputs.count == 1 ? decided(for: inputs[0]) : self)
        writer.write()
        return writer.notes
    }
}

/// Gathers the notes of one plan.
internal struct NoteWriter {
    let plan: ConversionPlan
    let features: InputFeatures
    private(set) var notes: [ConversionNote] = []

    init(plan: ConversionPlan) {
        self.plan = plan
        features = InputFeatures(plan)
    }

    mutating func write() {
        if plan.passesFields {
            writeFiles()
            return
        }
        switch plan.output {
        case .form, .multipart:
            if plan.fieldEncoding.dialect == .recast { writeFields() } else { writeDialect() }
            if plan.output == .multipart, has(.otherNames) {
                altered(
                    "name_escaped", "a name with a quotation mark or a line end",
                    "goes out with %22 and %0D%0A for them, which many servers leave so", nil)
            }
        case .json: writeJSON()
        case .plist, .bplist: writePropertyList()
        case .xml: writeXML()
        case .text: writeText()
        case .raw: writeRaw()
        }
        if features.contains(.files) { writeFiles() }
    }

    func has(_ feature: InputFeatures) -> Bool { features.contains(feature) }

    mutating func refused(_ code: String, _ what: String, _ remedy: String?, effect: String = "is refused") {
        notes.append(ConversionNote(code: code, .refused, what: what, effect: effect, remedy: remedy))
    }

    mutating func omitted(_ code: String, _ what: String, _ remedy: String?, effect: String = "is left out") {
        notes.append(ConversionNote(code: code, .omitted, what: what, effect: effect, remedy: remedy))
    }

    mutating func altered(_ code: String, _ what: String, _ effect: String, _ remedy: String?) {
        notes.append(ConversionNote(code: code, .altered, what: what, effect: effect, remedy: remedy))
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

    private mutating func writeFile(_ what: String, _ code: String, _ policy: FilePolicy) {
        let carries =
            plan.output.hasFiles
            ? "files: stream passes it"
            : plan.output.hasObjects ? "files: object carries it" : "files: base64 carries it"
        switch policy {
        case .reject: refused("\(code)_rejected", what, carries)
        case .drop: omitted("\(code)_dropped", what, carries, effect: "is left out and counted")
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

    // MARK: JSON, text and raw bodies

    private mutating func writeJSON() {
        writeScalarsOfPropertyLists()
        if has(.booleans), plan.fieldEncoding.booleans == .numeric {
            altered(
                "booleans_numeric", "a boolean", "becomes the number 1 or 0",
                "booleans: literal keeps it apart")
        }
    }

    /// Dates and bytes, which only property lists have.
    mutating func writeScalarsOfPropertyLists() {
        // A text that is declared one was a text before.
        guard plan.readsPropertyLists else { return }
        if has(.dates) {
            altered("dates_text", "a date", "becomes a text of RFC 3339", "plist and bplist keep it")
        }
        if has(.data) { altered("data_text", "data", "becomes a text in base64", "plist and bplist keep it") }
    }

    private mutating func writeText() {
        if plan.outputField == nil {
            if has(.containers) {
                refused("text_container", "an object or an array", "field names the one field to send")
            }
        } else {
            if has(.severalFields) {
                refused("text_other_field", "a further field", "map.remove leaves it out")
            }
            if has(.arrays) || has(.nestedObjects) {
                refused("text_field_container", "a field that is an object or an array", "json carries it")
            }
        }
        writeScalarsOfPropertyLists()
        guard has(.nulls) else { return }
        switch plan.fieldEncoding.nulls {
        case .reject: refused("null_rejected", "null", "nulls: empty or literal carries it")
        case .literal: altered("null_literal", "null", "becomes the text null", "nulls: reject keeps it apart")
        case .empty, .key, .omit:
            altered("null_empty", "null", "becomes an empty text", "nulls: literal or reject keeps it apart")
        }
    }

    private mutating func writeRaw() {
        if has(.severalFields) {
            refused("raw_other_field", "a further field or file", "map.remove leaves it out")
        }
        writeScalarsOfPropertyLists()
    }
}

extension ConversionPlan {
    /// Whether fields pass under the names they came with, so that nothing but files is changed.
    internal var passesFields: Bool {
        streamsFields && output != .raw && inputs.allSatisfy { $0.isFlat }
            && (output == .form || output == .multipart)
    }

    internal var readsPropertyLists: Bool { inputs.contains(.plist) || inputs.contains(.bplist) }
}
