/// A body as it is: its bytes are one file.
package enum Raw {
    /// What can't become a body of bytes. The raw value is the `code` of the error.
    package enum Fault: String, Hashable, Sendable, CaseIterable {
        /// A field or file beside the one that becomes the body.
        case otherField = "raw_other_field"
        /// Nothing is there that could become the body.
        case missingField = "raw_missing_field"

        internal var reason: String {
            switch self {
            case .otherField: "a raw body holds one field or file only; remove the others by a map"
            case .missingField: "there is no field or file that could become the raw body"
            }
        }

        internal func error(field: String?) -> ConversionError {
            ConversionError(
                .unrepresentable, code: rawValue, reason: reason, field: field,
                setting: self == .otherField ? "map.remove" : "field")
        }
    }
}
