internal import Octets

extension Form {
    /// What can be wrong with a form, or with what is to become one. The raw value is the `code` of the error.
    package enum Fault: String, Hashable, Sendable, CaseIterable {
        /// `%` without two hexadecimal digits, under `percent: strict`.
        case percent = "form_percent"
        /// A name or a value that is not UTF-8, under `invalid_utf8: reject`.
        case invalidUTF8 = "form_invalid_utf8"
        /// A file where a form is written, unless `files` says what becomes of it.
        case file = "form_file"

        internal var reason: String {
            switch self {
            case .percent: "a % is not followed by two hexadecimal digits"
            case .invalidUTF8: "the decoded text is not UTF-8"
            case .file: "a form can't carry a file; send multipart, or choose files: base64 or drop"
            }
        }

        internal var setting: String {
            switch self {
            case .percent: "percent"
            case .invalidUTF8: "invalid_utf8"
            case .file: "files"
            }
        }

        /// The error for this fault. `offset` counts bytes of the body from 0.
        internal func error(offset: Int? = nil, field: String? = nil) -> ConversionError {
            ConversionError(
                self == .file ? .unrepresentable : .malformed, code: rawValue, reason: reason, offset: offset,
                field: field, setting: setting)
        }
    }
}
