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
        writeTexts()
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
