/// What can be wrong with the name of a field, or with a document that is to become fields.
package enum FieldFault: ConversionFault, CaseIterable {
    case malformedKey, path, rootNotObject, name, null, empty, nestedObject, container, mixedArray, regrouped, comma
    case digitKeys

    package var row: ConversionError {
        switch self {
        // A name with brackets or dots outside the grammar, under `malformed_key: reject`.
        case .malformedKey:
            .malformed(
                "field_malformed_key", "the brackets or dots of the name are not balanced or are out of place",
                setting: "malformed_key")
        // A path in the settings that can't be read.
        case .path:
            .malformed(
                "field_path",
                "the path can't be read; write a.b, a[0].b, a[*].b, and names with other characters in double quotes")
        // The document is an array or a single value: it has no names.
        case .rootNotObject:
            .unrepresentable(
                "root_not_object", "the document must be an object, since its keys become the names of the fields")
        // A key that would be read as structure, or an empty one where the grammar has no empty one.
        case .name:
            .unrepresentable(
                "field_name_unrepresentable",
                "the key is empty or has brackets or dots, which would be read as structure; choose nesting: json or rename it",
                setting: "nesting")
        // A null, under `nulls: reject`.
        case .null:
            .unrepresentable(
                "field_null", "a null has no form here; choose nulls: empty, key, literal or omit", setting: "nulls")
        // An empty array or object, under `empties: reject`.
        case .empty:
            .unrepresentable(
                "field_empty", "an empty array or object has no form here; choose empties: omit or marker",
                setting: "empties")
        // An object below the root, under `nesting: flat`.
        case .nestedObject:
            .unrepresentable(
                "field_nested_object",
                "an object can't be nested in flat names; choose nesting: brackets, dots or json", setting: "nesting")
        // An object or an array in an array whose style has no room for one.
        case .container:
            .unrepresentable(
                "field_container_in_array",
                "an array of objects or arrays can't be written in this style; choose arrays: indices or json",
                setting: "arrays")
        // An object in an array, under `arrays: auto`, after values that were already written without an index.
        case .mixedArray:
            .unrepresentable(
                "field_mixed_array",
                "the array was begun with single values and goes on with objects or arrays; choose arrays: indices or json",
                setting: "arrays")
        // An object in an array, under `arrays: brackets`, that a parser would join with the one before it.
        case .regrouped:
            .unrepresentable(
                "field_regrouped",
                "the object would be joined with the one before it, because it doesn't begin with a key that one has; "
                    + "choose arrays: indices or json", setting: "arrays")
        // A value with a comma, or a file, under `arrays: comma`.
        case .comma:
            .unrepresentable(
                "field_comma",
                "a value with a comma, or a file, can't stand in a list of values; choose arrays: brackets, indices, repeat or json",
                setting: "arrays")
        // Keys that are integers beside others, or two for one place, under `dialect: alamofire`.
        case .digitKeys:
            .unrepresentable(
                "field_digit_keys",
                "keys that are integers are positions of an array to Alamofire, which then loses others; rename them or choose "
                    + "another dialect", setting: "dialect")
        }
    }
}
