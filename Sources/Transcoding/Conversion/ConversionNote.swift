/// Something that the output of a plan can't carry, or can't tell apart from something else, and what becomes of it.
///
/// A note is about what may come in, not about a body that did: see `ConversionPlan.notes()`.
public struct ConversionNote: Hashable, Sendable {
    /// What happens to it.
    public enum Outcome: String, Hashable, Sendable, CaseIterable {
        /// The request is refused.
        case refused
        /// It is left out, by a rule of the plan.
        case omitted
        /// It goes out and reads back as something else.
        case altered
    }

    /// Stable, as `null_empty`.
    public var code: String
    /// What happens to it.
    public var outcome: Outcome
    /// What it is: `null`, `an empty array`, `the file "photo"`.
    public var what: String
    /// What becomes of it, in words: `becomes an empty value`.
    public var effect: String
    /// The setting that mends it, and how; nil when none does.
    public var remedy: String?

    /// A note of those words.
    public init(code: String, _ outcome: Outcome, what: String, effect: String, remedy: String? = nil) {
        self.code = code
        self.outcome = outcome
        self.what = what
        self.effect = effect
        self.remedy = remedy
    }
}

extension ConversionNote: CustomStringConvertible {
    /// `null becomes an empty value; nulls: literal or reject keeps it apart`
    public var description: String { "\(what) \(effect)\(remedy.map { "; \($0)" } ?? "")" }
}

// MARK: Notes of a plan

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

// MARK: Form and multipart

// What form and multipart can't carry. Names are read back by the same `arrays` and `nesting`.
extension NoteWriter {
    private var options: FieldEncodingOptions { plan.fieldEncoding }
    /// Whether an object below the root is one field with a JSON text.
    private var objectsAreText: Bool { options.nesting == .json }
    /// As above, for arrays.
    private var arraysAreText: Bool { options.arrays == .json || options.arrays == .auto && objectsAreText }
    private var nests: Bool { options.nesting == .brackets || options.nesting == .dots }

    mutating func writeFields() {
        writeNulls()
        writeEmpties()
        writeArrays()
        if has(.nestedObjects), options.nesting == .flat {
            refused("object_nested", "an object in another", "nesting: brackets, dots or json carries it")
        }
        writeNames()
        writeTexts()
    }

    mutating func writeNulls() {
        guard has(.nulls) else { return }
        switch options.nulls {
        case .empty:
            altered(
                "null_empty", "null", "becomes an empty value", "nulls: literal or reject keeps it apart")
        case .key:
            altered(
                "null_key", "null", "becomes a name without a value, which reads as an empty one",
                "nulls: literal or reject keeps it apart")
        case .literal: altered("null_literal", "null", "becomes the text null", "nulls: reject keeps it apart")
        case .omit: omitted("null_omitted", "null", "nulls: literal carries it as a text")
        case .reject: refused("null_rejected", "null", "nulls: literal carries it as a text, omit leaves it out")
        }
    }

    private mutating func writeEmpties() {
        let hasArrays = has(.emptyArrays) && !arraysAreText
        // Under `flat` an object is refused whether it is empty or not.
        let hasObjects = has(.emptyObjects) && !objectsAreText && options.nesting != .flat
        switch options.empties {
        case .reject:
            if hasArrays {
                refused("array_empty_rejected", "an empty array", "empties: marker, or arrays: json, carries it")
            }
            if hasObjects {
                refused("object_empty_rejected", "an empty object", "empties: marker, or nesting: json, carries it")
            }
        case .omit:
            if hasArrays {
                omitted("array_empty_omitted", "an empty array", "empties: marker, or arrays: json, carries it")
            }
            if hasObjects {
                omitted("object_empty_omitted", "an empty object", "empties: marker, or nesting: json, carries it")
            }
        case .marker:
            if hasArrays {
                altered(
                    "array_empty_marker", "an empty array", "reads back as an array of one empty text",
                    "arrays: json keeps it apart")
            }
            if hasObjects {
                altered(
                    "object_empty_marker", "an empty object", "reads back as an empty text",
                    "nesting: json keeps it apart")
            }
        }
    }

    private mutating func writeArrays() {
        guard has(.arrays), !arraysAreText else { return }
        let hasObjects = has(.objectsInArrays) && nests
        switch options.arrays {
        case .auto:
            if hasObjects || has(.nestedArrays) {
                refused(
                    "array_mixed", "an array of single values that goes on with objects or arrays",
                    "arrays: indices carries it")
            }
        case .brackets:
            if hasObjects {
                refused(
                    "array_of_objects", "an array of objects", "arrays: indices carries it",
                    effect: "is refused where one doesn't begin with a key of the one before")
            }
            if has(.nestedArrays) { refused("array_nested", "an array in an array", "arrays: indices carries it") }
        case .repeated, .comma:
            if hasObjects || has(.objectsInArrays) && objectsAreText && options.arrays == .comma {
                refused("array_of_objects", "an array of objects", "arrays: indices carries it")
            }
            if has(.nestedArrays) { refused("array_nested", "an array in an array", "arrays: indices carries it") }
            altered(
                "array_of_one", "an array of one element", "reads back as that element",
                "arrays: brackets or indices keeps it apart")
        case .indices, .json: break
        }
        guard options.arrays == .comma, has(.strings) else { return }
        refused("comma_in_array", "a text with a comma in an array", "arrays: indices carries it")
        altered(
            "comma_in_text", "a text with a comma by itself", "reads back as an array",
            "arrays: brackets or indices keeps it apart")
    }

    private mutating func writeNames() {
        guard nests else { return }
        if options.nesting == .dots, has(.dots) || has(.brackets) {
            refused("name_marks", "a name with a dot or a bracket", "nesting: json carries it")
        } else if has(.brackets) {
            refused("name_marks", "a name with brackets", "nesting: json carries it")
        }
        if has(.brackets), has(.nestedObjects) {
            refused("name_empty", "an empty name in an object below the root", "nesting: json carries it")
        }
        if has(.numberedKeys), has(.nestedObjects), options.arrays == .auto || options.arrays == .indices {
            altered(
                "object_numbered", "an object with the keys 0, 1, 2 and so on", "reads back as an array",
                "nesting: json keeps it apart")
        }
    }

    /// What becomes text of what isn't, and text that reads as something else.
    mutating func writeTexts() {
        if has(.strings), arraysAreText || objectsAreText {
            altered(
                "text_json", "a text that is itself an array or object of JSON", "reads back as that",
                "arrays: indices and nesting: brackets keep it apart")
        }
        if has(.numbers) {
            altered("numbers_text", "a number", "becomes a text", "types: safe makes it a number where it is read")
        }
        if has(.booleans) {
            if options.booleans == .numeric {
                altered("booleans_numeric", "a boolean", "becomes 1 or 0", "booleans: literal keeps it apart")
            } else {
                altered(
                    "booleans_text", "a boolean", "becomes a text", "types: safe makes it a boolean where it is read")
            }
        }
        writeScalarsOfPropertyLists()
    }
}

// MARK: Dialects

// What the dialects of other libraries can't carry: they write names as those libraries do, ambiguous or not.
extension NoteWriter {
    mutating func writeDialect() {
        let options = plan.fieldEncoding
        let objectsAreText = options.nesting == .json
        let arraysAreText = options.arrays == .json || options.arrays == .auto && objectsAreText
        let nests = options.nesting == .brackets || options.nesting == .dots
        writeNulls()
        if has(.emptyArrays) || has(.emptyObjects), !(arraysAreText && objectsAreText), options.empties != .marker {
            let remedy = "empties: marker carries it as an empty value"
            switch options.empties {
            case .omit: omitted("empty_omitted", "an empty array or object", remedy)
            case .reject, .marker: refused("empty_rejected", "an empty array or object", remedy)
            }
        }
        if has(.nestedObjects), options.nesting == .flat {
            refused("object_nested", "an object in another", "nesting: brackets carries it")
        }
        if has(.brackets) || options.nesting == .dots && has(.dots), nests {
            altered(
                "name_marks", options.nesting == .dots ? "a name with a dot or a bracket" : "a name with brackets",
                "reads back as structure",
                "dialect: recast refuses it, nesting: json carries it")
        }
        if has(.numberedKeys), has(.nestedObjects), nests, options.arrays == .auto || options.arrays == .indices {
            altered(
                "object_numbered", "an object with the keys 0, 1, 2 and so on", "reads back as an array",
                "nesting: json keeps it apart")
        }
        if has(.arrays), !arraysAreText { writeArrays(options, nests: nests) }
        switch options.dialect {
        case .php: writePHP(options, arraysAreText: arraysAreText)
        case .qs: writeQS(options, nests: nests)
        case .recast, .afnetworking, .alamofire, .rack, .whatwg: break
        }
        writeTexts()
    }

    /// What PHP makes of names and gaps when it fills `$_POST` (`php_register_variable_ex`).
    private mutating func writePHP(_ options: FieldEncodingOptions, arraysAreText: Bool) {
        if has(.dots) || has(.otherNames) {
            altered(
                "php_name_changed", "a name of the root with a dot or a space",
                "is one with _ in PHP, where another may be the same", nil)
        }
        if has(.otherNames) {
            altered("php_name_cut", "a name with a NUL", "ends before it in PHP", nil)
        }
        let leavesOut =
            has(.nulls) && options.nulls == .omit
            || (has(.emptyArrays) || has(.emptyObjects)) && options.empties == .omit
        if has(.arrays), !arraysAreText, options.arrays == .auto || options.arrays == .indices, leavesOut {
            altered(
                "php_array_hole", "an array with an element that is left out",
                "keeps its numbers and reads back as an object", nil)
        }
    }

    /// What qs.parse of qs 6.11 makes of what is written, with its own defaults: `arrayLimit` 20, `depth` 5, `allowPrototypes`
    /// false.
    private mutating func writeQS(_ options: FieldEncodingOptions, nests: Bool) {
        if has(.arrays), options.arrays == .auto || options.arrays == .indices {
            altered(
                "qs_array_long", "an array of more than 21 elements", "reads back in qs as an object",
                "arrays: brackets keeps it an array")
        }
        if has(.nestedObjects), nests {
            altered(
                "qs_deep", "an object nested deeper than five levels", "reads back in qs with the rest as one name",
                "nesting: json keeps it")
        }
        if has(.otherNames) {
            altered(
                "qs_name_dropped", "an empty name, or one that every object of JavaScript has, as toString",
                "is dropped by qs where it reads", nil)
        }
    }

    private mutating func writeArrays(_ options: FieldEncodingOptions, nests: Bool) {
        switch options.arrays {
        case .brackets:
            if has(.objectsInArrays), nests {
                altered(
                    "array_of_objects", "an array of objects", "reads back as its reader groups the names",
                    "arrays: indices keeps them apart")
            }
            if has(.nestedArrays) {
                altered(
                    "array_nested", "an array in an array", "reads back as its reader groups the names",
                    "arrays: indices keeps them apart")
            }
        case .repeated, .comma:
            altered(
                "array_of_one", "an array of one element", "reads back as that element",
                "arrays: brackets or indices keeps it apart")
            if options.arrays == .comma, has(.strings) {
                altered(
                    "comma_in_text", "a text with a comma", "reads back as several texts",
                    "arrays: brackets or indices keeps it apart")
            }
        case .auto, .indices, .json: break
        }
    }
}

// MARK: Property lists and XML

// What property lists and XML can't carry.
extension NoteWriter {
    mutating func writePropertyList() {
        let options = plan.propertyListEncoding
        if has(.nulls) {
            switch options.nulls {
            case .omit:
                omitted("null_omitted", "null in an object", "nulls: empty carries it as an empty text")
                if has(.arrays) {
                    refused("null_in_array", "null in an array", "nulls: empty carries it as an empty text")
                }
            case .empty:
                altered("null_empty", "null", "becomes an empty text", "nulls: reject keeps it apart")
            case .key, .literal, .reject:
                refused("null_rejected", "null", "nulls: empty carries it as an empty text")
            }
        }
        if has(.largeIntegers) {
            switch options.largeIntegers {
            case .reject:
                refused(
                    "integer_large", "an integer beyond 64 bits", "large_integers: string carries it as a text")
            case .real:
                altered(
                    "integer_real", "an integer beyond 64 bits", "becomes a real, of which readers keep 16 digits",
                    "large_integers: reject keeps it apart")
            case .string:
                altered(
                    "integer_text", "an integer beyond 64 bits", "becomes a text",
                    "large_integers: reject keeps it apart")
            }
        }
        if has(.longReals), plan.output == .bplist {
            altered("real_rounded", "a number with a fraction", "becomes the nearest double", "plist keeps its text")
        }
        if has(.dates), plan.output == .plist {
            if options.dateFractions == .drop {
                altered("date_fraction", "a date with fractions of a second", "loses them", "bplist keeps them")
            } else {
                refused("date_fraction_rejected", "a date with fractions of a second", "bplist carries it")
            }
        }
        if has(.controls), plan.output == .plist {
            refused("control_character", "a text with a control character", "bplist carries it")
        }
    }

    mutating func writeXML() {
        writeScalarsOfPropertyLists()
        if has(.controls) { refused("control_character", "a text with a control character", nil) }
        guard plan.xmlEncoding.convention == .attributes else { return }
        writeNullsOfXML()
        writeArraysOfXML()
        writeNamesOfXML()
        if has(.numbers) {
            altered(
                "numbers_text", "a number", "becomes a text",
                "recognize: numbers makes it one where it is read, convention: lossless keeps it")
        }
        if has(.booleans) {
            altered(
                "booleans_text", "a boolean", "becomes a text",
                "recognize: booleans makes it one where it is read, convention: lossless keeps it")
        }
    }

    private mutating func writeNullsOfXML() {
        let remedy = "nulls: nil, read with recognize: nulls, keeps it apart"
        if has(.nulls) {
            switch plan.xmlEncoding.nulls {
            case .empty:
                altered("null_empty", "null", "becomes an empty element, as an empty text does", remedy)
            case .nilAttribute: break
            case .omit: omitted("null_omitted", "null", remedy)
            case .reject: refused("null_rejected", "null", "nulls: nil carries it")
            }
        } else if has(.strings) {
            altered(
                "text_empty", "an empty text", "becomes an empty element, which reads as null",
                "empty: string keeps it where it is read")
        }
        if has(.emptyObjects) {
            altered(
                "object_empty", "an empty object", "becomes an empty element, as an empty text does",
                "convention: lossless keeps it apart")
        }
        guard has(.emptyArrays) else { return }
        let lossless = "convention: lossless carries it"
        switch plan.xmlEncoding.empties {
        case .reject: refused("array_empty_rejected", "an empty array", lossless)
        case .omit: omitted("array_empty_omitted", "an empty array", lossless)
        case .marker:
            altered(
                "array_empty_marker", "an empty array", "becomes an empty element, as an empty text does", lossless)
        }
    }

    private mutating func writeArraysOfXML() {
        guard has(.arrays) else { return }
        altered(
            "array_of_one", "an array of one element", "reads back as that element",
            "always_array keeps it where it is read, convention: lossless everywhere")
        if has(.nestedArrays) {
            altered(
                "array_nested", "an array in an array", "reads back as an object with \(plan.xmlEncoding.itemName)",
                "convention: lossless carries it")
        }
    }

    private mutating func writeNamesOfXML() {
        let options = plan.xmlEncoding
        let lossless = "convention: lossless carries it"
        if has(.brackets) || has(.otherNames) || has(.numberedKeys) {
            if options.names == .item {
                altered(
                    "name_item", "a name that XML doesn't take",
                    "becomes an attribute of the element \(options.itemName)", lossless)
            } else {
                refused("name_rejected", "a name that XML doesn't take", "names: item carries it as an attribute")
            }
            if !options.attributePrefix.isEmpty {
                refused(
                    "attribute", "a name that begins with \(options.attributePrefix)", lossless,
                    effect: "is an attribute, refused where it comes after others or isn't of a single value")
            }
        }
        guard has(.severalFields) else { return }
        switch options.root {
        case .member: refused("root_rejected", "a document of more than one member", "root: auto or wrap carries it")
        case .auto:
            altered(
                "root_wrapped", "a document of more than one member",
                "gets a root element \(options.rootName), which is a member where it is read",
                "root: wrap, read with root: drop, keeps all documents alike")
        case .wrap: break
        }
    }
}

// MARK: What may come in

/// What may stand in the documents that a plan's output is given.
internal struct InputFeatures: OptionSet, Hashable {
    let rawValue: UInt32

    init(rawValue: UInt32) { self.rawValue = rawValue }

    static let nulls = InputFeatures(rawValue: 1 << 0)
    static let booleans = InputFeatures(rawValue: 1 << 1)
    static let numbers = InputFeatures(rawValue: 1 << 2)
    static let strings = InputFeatures(rawValue: 1 << 3)
    static let arrays = InputFeatures(rawValue: 1 << 4)
    static let emptyArrays = InputFeatures(rawValue: 1 << 5)
    static let emptyObjects = InputFeatures(rawValue: 1 << 6)
    static let nestedArrays = InputFeatures(rawValue: 1 << 7)
    static let objectsInArrays = InputFeatures(rawValue: 1 << 8)
    static let nestedObjects = InputFeatures(rawValue: 1 << 9)
    /// Names with a bracket.
    static let brackets = InputFeatures(rawValue: 1 << 10)
    /// Names with a dot.
    static let dots = InputFeatures(rawValue: 1 << 11)
    /// Names that are no names in XML, brackets and digits at the beginning apart.
    static let otherNames = InputFeatures(rawValue: 1 << 12)
    /// Objects whose keys are 0, 1, 2 and so on.
    static let numberedKeys = InputFeatures(rawValue: 1 << 13)
    /// Control characters in texts.
    static let controls = InputFeatures(rawValue: 1 << 14)
    static let dates = InputFeatures(rawValue: 1 << 15)
    static let data = InputFeatures(rawValue: 1 << 16)
    static let files = InputFeatures(rawValue: 1 << 17)
    /// More than one field or file.
    static let severalFields = InputFeatures(rawValue: 1 << 18)
    /// A document that is an object or an array.
    static let containers = InputFeatures(rawValue: 1 << 19)

    /// Integers beyond 64 bits.
    static let largeIntegers = InputFeatures(rawValue: 1 << 20)
    /// Numbers with more digits than a double has.
    static let longReals = InputFeatures(rawValue: 1 << 21)

    /// What a JSON text can say.
    static let json: InputFeatures = [
        .nulls, .booleans, .numbers, .strings, .arrays, .emptyArrays, .emptyObjects, .nestedArrays, .objectsInArrays,
        .nestedObjects, .brackets, .dots, .otherNames, .numberedKeys, .controls, .severalFields, .containers,
        .largeIntegers, .longReals,
    ]

    /// What comes in by `plan`, the map and the declared types included. What the route itself sets is its own affair.
    init(_ plan: ConversionPlan) {
        self = []
        for input in plan.inputs { formUnion(InputFeatures(input, plan)) }
        if !plan.map.set.isEmpty || !plan.map.append.isEmpty { insert(.severalFields) }
        for rule in plan.types {
            switch rule.type {
            case .integer: formUnion([.numbers, .largeIntegers])
            case .number: formUnion([.numbers, .largeIntegers, .longReals])
            case .boolean: insert(.booleans)
            case .array: insert(.arrays)
            case .json: formUnion(.json)
            case .date: insert(.dates)
            case .data: insert(.data)
            case .string, .object: break
            }
        }
        // An array's nulls stay under `keys`.
        if plan.removeNulls == .deep || plan.removeNulls == .keys && !contains(.arrays) { remove(.nulls) }
    }

    private init(_ input: BodyEncoding, _ plan: ConversionPlan) {
        switch input {
        case .json: self = .json
        case .plist, .bplist:
            self = .json
            subtract([.nulls, .largeIntegers])
            if input == .bplist { remove(.longReals) }
            formUnion([.dates, .data])
        case .xml: self.init(xml: plan.xmlDecoding)
        case .form, .multipart:
            self.init(fields: plan.fieldDecoding)
            if input == .multipart { insert(.files) }
        case .text: self = plan.inputField == nil ? [.strings, .controls] : [.strings, .controls, .containers]
        case .raw: self = [.files, .containers]
        }
    }

    private init(xml options: XML.DecodingOptions) {
        if options.convention == .lossless {
            self = .json
            return
        }
        self = [.strings, .arrays, .objectsInArrays, .nestedObjects, .dots, .severalFields, .containers]
        if options.empty == .null || options.recognize.contains(.nulls) { insert(.nulls) }
        if options.recognize.contains(.numbers) { formUnion([.numbers, .largeIntegers, .longReals]) }
        if options.recognize.contains(.booleans) { insert(.booleans) }
    }

    private init(fields options: FieldDecodingOptions) {
        self = [.strings, .arrays, .dots, .otherNames, .controls, .severalFields, .containers]
        switch options.nesting {
        case .brackets, .dots: formUnion([.nestedArrays, .objectsInArrays, .nestedObjects])
        case .flat: insert(.brackets)
        case .json: formUnion(.json)
        }
        if options.arrays == .json { formUnion(.json) }
        if options.arrays != .auto, options.arrays != .indices { insert(.numberedKeys) }
        if options.jsonParts == .parse { formUnion(.json) }
        if options.nulls == .key { insert(.nulls) }
        if options.types == .safe { formUnion([.numbers, .booleans]) }
    }
}
