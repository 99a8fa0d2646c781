extension Form {
    /// What can be wrong with a form, or with what is to become one.
    package enum Fault: ConversionFault, CaseIterable {
        case percent, invalidUTF8, file

        package var row: ConversionError {
            switch self {
            // `%` without two hexadecimal digits, under `percent: strict`.
            case .percent:
                .malformed("form_percent", "a % is not followed by two hexadecimal digits", setting: "percent")
            // A name or a value that is not UTF-8, under `invalid_utf8: reject`.
            case .invalidUTF8: .malformed("form_invalid_utf8", "the decoded text is not UTF-8", setting: "invalid_utf8")
            // A file where a form is written, unless `files` says what becomes of it.
            case .file:
                .unrepresentable(
                    "form_file", "a form can't carry a file; send multipart, or choose files: base64 or drop",
                    setting: "files")
            }
        }
    }
}
