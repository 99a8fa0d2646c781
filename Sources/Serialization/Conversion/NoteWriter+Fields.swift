// What form and multipart can't carry. Names are read back by the same `arrays` and `nesting`.
extension NoteWriter {
    private var options: FieldEncodingOptions { plan.fieldEncoding }
    /// Whether an object below the root is one field with a JSON text.
    private var objectsAreText: Bool { options.nesting == .json }
    /// The same for arrays.
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
