/// Options of an output that are about values which may never come.
package enum IdleOption: String, Hashable, Sendable, CaseIterable {
    case booleans, order
    case removeNulls = "remove_nulls"

    /// What the option is for.
    package var use: String {
        switch self {
        case .booleans: "booleans"
        case .order: "the order of several fields"
        case .removeNulls: "nulls"
        }
    }
}

extension ConversionPlan {
    /// What would give the option something to do, of what its inputs have.
    package func remedies(for option: IdleOption) -> [String] {
        let isForm = inputs.contains(.form), isXML = inputs.contains(.xml)
        switch option {
        case .booleans:
            let options =
                (isForm || inputs.contains(.multipart) ? ["types: safe"] : []) + (isXML ? ["recognize: booleans"] : [])
            return options + ["a field of the type boolean or json"]
        case .order: return ["an input that has more than one"]
        case .removeNulls:
            let options = (isForm ? ["nulls: key"] : []) + (isXML ? ["empty: null", "recognize: nulls"] : [])
            return options + ["blanks: null", "a field of the type json"]
        }
    }
}

extension ConversionPlan {
    /// Whether the option says something of the output that is done to no body, whatever comes.
    package func idles(_ option: IdleOption) -> Bool {
        var plan = self
        plan.removeNulls = .off
        let features = InputFeatures(plan)
        let written = (map.set + map.append).map(\.value)
        switch option {
        case .booleans:
            return fieldEncoding.booleans == .numeric && !features.contains(.booleans)
                && !written.contains { $0.holds { if case .bool = $0 { true } else { false } } }
        case .order:
            // Members may stand in each other where fields are but one.
            return fieldEncoding.order == .sorted && features.isDisjoint(with: [.severalFields, .nestedObjects])
                && written.isEmpty
        case .removeNulls:
            // An input for files in which none was chosen is a null in a document.
            let hasUnchosen = inputs.contains(.multipart) && !output.isFlat
            let hasBlanks = blanks == .null && types.contains(where: \.type.hasBlanks)
            return removeNulls != .off && !features.contains(.nulls) && !hasUnchosen && !hasBlanks
                && !written.contains { $0.holds { if case .null = $0 { true } else { false } } }
        }
    }
}

extension AssignedValue {
    /// Whether a value that is written down, or one within it, is such.
    fileprivate func holds(_ isSuch: (Literal) -> Bool) -> Bool {
        switch self {
        case .literal(let literal): literal.holds(isSuch)
        case .source: false
        }
    }
}

extension Literal {
    fileprivate func holds(_ isSuch: (Literal) -> Bool) -> Bool {
        if isSuch(self) { return true }
        return switch self {
        case .array(let elements): elements.contains { $0.holds(isSuch) }
        case .object(let members): members.contains { $0.value.holds(isSuch) }
        case .null, .bool, .number, .string: false
        }
    }
}
