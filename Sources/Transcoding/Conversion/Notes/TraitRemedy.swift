/// A setting that may carry what a plan's output doesn't, and how it changes the plan.
internal enum TraitRemedy: String, CaseIterable {
    case arraysIndices = "arrays: indices"
    case arraysBrackets = "arrays: brackets"
    case arraysRepeat = "arrays: repeat"
    case arraysJSON = "arrays: json"
    case nestingBrackets = "nesting: brackets"
    case nestingJSON = "nesting: json"
    case emptiesMarker = "empties: marker"
    case ordered = "order: input"
    case mixedJoin = "mixed: join"
    case lossless = "convention: lossless"
    case largeIntegersString = "large_integers: string"
    case form, plist, bplist
    // Where it is read.
    case typesSafe = "types: safe"
    case recognizeBooleans = "recognize: booleans"
    case emptyString = "empty: string"

    /// Whether it is set where the output is read.
    var isOfReader: Bool {
        switch self {
        case .typesSafe, .recognizeBooleans, .emptyString: true
        default: false
        }
    }

    /// The plan with the setting.
    func changed(_ plan: ConversionPlan) -> ConversionPlan {
        var plan = plan
        switch self {
        case .arraysIndices: plan.fieldEncoding.arrays = .indices
        case .arraysBrackets: plan.fieldEncoding.arrays = .brackets
        case .arraysRepeat: plan.fieldEncoding.arrays = .repeated
        case .arraysJSON: plan.fieldEncoding.arrays = .json
        case .nestingBrackets: plan.fieldEncoding.nesting = .brackets
        case .nestingJSON: plan.fieldEncoding.nesting = .json
        case .emptiesMarker:
            plan.fieldEncoding.empties = .marker
            plan.xmlEncoding.empties = .marker
        case .ordered: plan.fieldEncoding.order = .input
        case .mixedJoin: plan.xmlEncoding.mixed = .join
        case .lossless: plan.xmlEncoding.convention = .lossless
        case .largeIntegersString: plan.propertyListEncoding.largeIntegers = .string
        case .form: plan.output = .form
        case .plist: plan.output = .plist
        case .bplist: plan.output = .bplist
        case .typesSafe, .recognizeBooleans, .emptyString: break
        }
        return plan
    }

    /// Sets it where the output is read.
    func change(reader: inout ConversionPlan) {
        switch self {
        case .typesSafe: reader.fieldDecoding.types = .safe
        case .recognizeBooleans: reader.xmlDecoding.recognize.insert(.booleans)
        case .emptyString: reader.xmlDecoding.empty = .string
        default: break
        }
    }
}
