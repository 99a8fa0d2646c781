/// Text without structure, `text/plain`: a whole body is one string.
package enum PlainText {
    /// What can be wrong with a text, or with what is to become one.
    package enum Fault: ConversionFault, CaseIterable {
        case invalidUTF8, container, otherField, missingField, null, file

        package var row: ConversionError {
            switch self {
            case .invalidUTF8: .malformed("text_invalid_utf8", "the text is not UTF-8")
            // An object or array where the whole body is to be one value.
            case .container:
                .unrepresentable(
                    "text_container", "an object or an array has no form as plain text; send json, or name one field",
                    setting: "field")
            // A member beside the one that becomes the body.
            case .otherField:
                .unrepresentable(
                    "text_other_field", "plain text holds one field only; remove the others by a map",
                    setting: "map.remove")
            // The member that is to become the body isn't there.
            case .missingField:
                .unrepresentable("text_missing_field", "the field that becomes the text is not there", setting: "field")
            // Null, where no rule says what it becomes.
            case .null:
                .unrepresentable(
                    "text_null", "null has no form as plain text; choose nulls: empty or literal", setting: "nulls")
            case .file:
                .unrepresentable(
                    "text_file", "plain text can't carry a file; choose files: base64 or drop", setting: "files")
            }
        }
    }
}
