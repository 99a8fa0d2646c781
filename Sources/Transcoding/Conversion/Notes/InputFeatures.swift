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

    /// Texts without a character.
    static let emptyTexts = InputFeatures(rawValue: 1 << 22)
    /// Names that no element can have.
    static let freeNames = InputFeatures(rawValue: 1 << 23)
    /// Objects without members that are the document.
    static let emptyDocuments = InputFeatures(rawValue: 1 << 24)
    /// Documents that are arrays.
    static let documentArrays = InputFeatures(rawValue: 1 << 25)
    /// Documents that are a single value.
    static let documentScalars = InputFeatures(rawValue: 1 << 26)

    /// What a JSON text can say.
    static let json: InputFeatures = [
        .nulls, .booleans, .numbers, .strings, .emptyTexts, .arrays, .emptyArrays, .emptyObjects, .nestedArrays,
        .objectsInArrays, .nestedObjects, .brackets, .dots, .otherNames, .freeNames, .numberedKeys, .controls,
        .severalFields, .containers, .emptyDocuments, .documentArrays, .documentScalars, .largeIntegers, .longReals,
    ]
    /// What one value of a JSON text can say.
    private static let jsonValues = json.subtracting([.emptyDocuments, .documentArrays, .documentScalars])

    /// What comes in by `plan`, the map and the declared types included. What the route itself sets is its own affair.
    init(_ plan: ConversionPlan) {
        self = []
        for input in plan.inputs { formUnion(InputFeatures(input, plan)) }
        if plan.document != nil { formUnion(Self.json) }
        if !plan.map.set.isEmpty || !plan.map.append.isEmpty { insert(.severalFields) }
        for rule in plan.types {
            switch rule.type {
            case .integer: formUnion([.numbers, .largeIntegers])
            case .number: formUnion([.numbers, .largeIntegers, .longReals])
            case .boolean: insert(.booleans)
            case .array: insert(.arrays)
            case .json: formUnion(Self.jsonValues)
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
            // Before flat output the root stays an object.
            if plan.fieldDecoding.dialect == .php, !plan.output.isFlat { insert(.documentArrays) }
            if input == .multipart { insert(.files) }
        case .text:
            self =
                plan.inputField == nil
                ? [.strings, .emptyTexts, .controls, .documentScalars]
                : [.strings, .emptyTexts, .controls, .containers]
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
        if options.empty == .string { insert(.emptyTexts) }
        if options.root == .drop { formUnion([.documentScalars]) }
        if options.recognize.contains(.numbers) { formUnion([.numbers, .largeIntegers, .longReals]) }
        if options.recognize.contains(.booleans) { insert(.booleans) }
    }

    private init(fields options: FieldDecodingOptions) {
        self = [
            .strings, .emptyTexts, .arrays, .dots, .otherNames, .freeNames, .controls, .severalFields, .containers,
            .emptyDocuments,
        ]
        switch options.nesting {
        case .brackets, .dots: formUnion([.nestedArrays, .objectsInArrays, .nestedObjects])
        case .flat: insert(.brackets)
        case .json: formUnion(Self.jsonValues)
        }
        if options.arrays == .json { formUnion(Self.jsonValues) }
        // Long arrays are objects to qs.
        if options.arrays != .auto && options.arrays != .indices || options.dialect == .qs { insert(.numberedKeys) }
        if options.jsonParts == .parse { formUnion(Self.jsonValues) }
        if options.nulls == .key { insert(.nulls) }
        if options.types == .safe { formUnion([.numbers, .booleans]) }
    }
}
