/// Text without structure, `text/plain`: a whole body is one string.
package enum PlainText {
    /// What can be wrong with a text, or with what is to become one. The raw value is the `code` of the error.
    package enum Fault: String, Hashable, Sendable, CaseIterable {
        case invalidUTF8 = "text_invalid_utf8"
        /// An object or array where the whole body is to be one value.
        case container = "text_container"
        /// A member beside the one that becomes the body.
        case otherField = "text_other_field"
        /// The member that is to become the body isn't there.
        case missingField = "text_missing_field"
        /// Null, where no rule says what it becomes.
        case null = "text_null"
        case file = "text_file"

        internal var reason: String {
            switch self {
            case .invalidUTF8: "the text is not UTF-8"
            case .container: "an object or an array has no form as plain text; send json, or name one field"
            case .otherField: "plain text holds one field only; remove the others by a map"
            case .missingField: "the field that becomes the text is not there"
            case .null: "null has no form as plain text; choose nulls: empty or literal"
            case .file: "plain text can't carry a file; choose files: base64 or drop"
            }
        }

        internal var setting: String? {
            switch self {
            case .invalidUTF8: nil
            case .container, .missingField: "field"
            case .otherField: "map.remove"
            case .null: "nulls"
            case .file: "files"
            }
        }

        internal func error(offset: Int? = nil, field: String? = nil) -> ConversionError {
            ConversionError(
                self == .invalidUTF8 ? .malformed : .unrepresentable, code: rawValue, reason: reason, offset: offset,
                field: field, setting: setting)
        }
    }
}
