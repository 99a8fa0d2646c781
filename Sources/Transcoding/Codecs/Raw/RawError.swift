/// A body as it is: its bytes are one file.
package enum Raw {
    /// What can't become a body of bytes.
    package enum Fault: ConversionFault, CaseIterable {
        case otherField, missingField

        package var row: ConversionError {
            switch self {
            // A field or file beside the one that becomes the body.
            case .otherField:
                .unrepresentable(
                    "raw_other_field", "a raw body holds one field or file only; remove the others by a map",
                    setting: "map.remove")
            // Nothing is there that could become the body.
            case .missingField:
                .unrepresentable(
                    "raw_missing_field", "there is no field or file that could become the raw body", setting: "field")
            }
        }
    }
}
