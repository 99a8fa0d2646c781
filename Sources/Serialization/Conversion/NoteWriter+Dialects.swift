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
