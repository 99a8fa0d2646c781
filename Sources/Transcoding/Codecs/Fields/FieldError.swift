internal import Octets

/// What can be wrong with the name of a field, or with a document that is to become fields. The raw value is the `code`.
package enum FieldFault: String, Hashable, Sendable, CaseIterable {
    /// A name with brackets or dots outside the grammar, under `malformed_key: reject`.
    case malformedKey = "field_malformed_key"
    /// A path in the settings that can't be read.
    case path = "field_path"
    /// The document is an array or a single value: it has no names.
    case rootNotObject = "root_not_object"
    /// A key that would be read as structure, or an empty one where the grammar has no empty one.
    case name = "field_name_unrepresentable"
    /// A null, under `nulls: reject`.
    case null = "field_null"
    /// An empty array or object, under `empties: reject`.
    case empty = "field_empty"
    /// An object below the root, under `nesting: flat`.
    case nestedObject = "field_nested_object"
    /// An object or an array in an array whose style has no room for one.
    case container = "field_container_in_array"
    /// An object in an array, under `arrays: auto`, after values that were already written without an index.
    case mixedArray = "field_mixed_array"
    /// An object in an array, under `arrays: brackets`, that a parser would join with the one before it.
    case regrouped = "field_regrouped"
    /// A value with a comma, or a file, under `arrays: comma`.
    case comma = "field_comma"
    /// Keys that are integers beside others, or two for one place, under `dialect: alamofire`.
    case digitKeys = "field_digit_keys"

    internal var reason: String {
        switch self {
        case .malformedKey: "the brackets or dots of the name are not balanced or are out of place"
        case .path:
            "the path can't be read; write a.b, a[0].b, a[*].b, and names with other characters in double quotes"
        case .rootNotObject: "the document must be an object, since its keys become the names of the fields"
        case .name:
            "the key is empty or has brackets or dots, which would be read as structure; choose nesting: json or rename it"
        case .null: "a null has no form here; choose nulls: empty, key, literal or omit"
        case .empty: "an empty array or object has no form here; choose empties: omit or marker"
        case .nestedObject: "an object can't be nested in flat names; choose nesting: brackets, dots or json"
        case .container: "an array of objects or arrays can't be written in this style; choose arrays: indices or json"
        case .mixedArray:
            "the array was begun with single values and goes on with objects or arrays; choose arrays: indices or json"
        case .regrouped:
            "the object would be joined with the one before it, because it doesn't begin with a key that one has; "
                + "choose arrays: indices or json"
        case .comma:
            "a value with a comma can't be told from two values; choose arrays: brackets, indices, repeat or json"
        case .digitKeys:
            "keys that are integers are positions of an array to Alamofire, which then loses others; rename them or choose "
                + "another dialect"
        }
    }

    internal var setting: String? {
        switch self {
        case .malformedKey: "malformed_key"
        case .path, .rootNotObject: nil
        case .name, .nestedObject: "nesting"
        case .null: "nulls"
        case .empty: "empties"
        case .container, .mixedArray, .regrouped, .comma: "arrays"
        case .digitKeys: "dialect"
        }
    }

    /// The error for this fault in `field`, spelled as the output would have it.
    internal func error(field: String?, offset: Int? = nil) -> ConversionError {
        ConversionError(
            self == .malformedKey || self == .path ? .malformed : .unrepresentable, code: rawValue, reason: reason,
            offset: offset, field: field, setting: setting)
    }
}
