extension JSON {
    /// What can be wrong with a JSON text, and with what it is to carry.
    package enum Fault: ConversionFault {
        /// What the decoder would have taken where it found another byte.
        package enum Expectation: Hashable, Sendable {
            case value, elementOrEnd, name, nameOrEnd, colon, commaInObject, commaInArray, literal
        }

        case unexpectedByte(Expectation)
        case unexpectedEnd, emptyBody, trailingData, invalidNumber, invalidEscape, loneSurrogate, invalidUTF8
        case controlCharacter, duplicateKey, unsupportedCharset, file, fileType

        package var row: ConversionError {
            switch self {
            case .unexpectedByte(let expectation): .malformed("json_unexpected_byte", Self.reason(expectation))
            case .unexpectedEnd: .malformed("json_unexpected_end", "the JSON text ends before its value is complete")
            case .emptyBody: .malformed("json_empty_body", "the body is empty where a JSON value is expected")
            case .trailingData: .malformed("json_trailing_data", "something follows the JSON value")
            case .invalidNumber:
                .malformed("json_invalid_number", "the number is not in JSON's grammar (RFC 8259 section 6)")
            case .invalidEscape:
                .malformed("json_invalid_escape", "the escape sequence is not one of JSON's (RFC 8259 section 7)")
            case .loneSurrogate:
                .malformed("json_lone_surrogate", "the escaped surrogate has no other half, so it is no character")
            case .invalidUTF8: .malformed("json_invalid_utf8", "the string is not valid UTF-8")
            case .controlCharacter:
                .malformed("json_control_character", "a control character in a string must be escaped")
            case .duplicateKey:
                .malformed("json_duplicate_key", "the object has two members of this name", setting: "duplicates")
            case .unsupportedCharset:
                .unsupported(
                    "json_unsupported_charset",
                    "the body looks like UTF-16 or UTF-32; JSON must be UTF-8 (RFC 8259 section 8.1)")
            // A file came to an encoder whose options don't take files.
            case .file:
                .unrepresentable(
                    "json_file",
                    "a JSON text carries a file only as base64 or as an object, and not where it is a part's text",
                    setting: "files")
            // A file's media type can't be a member of its object.
            case .fileType:
                .unrepresentable(
                    "json_file_type", "the file's Content-Type is not UTF-8, so JSON can't carry it; say files: base64",
                    setting: "files")
            }
        }

        private static func reason(_ expectation: Expectation) -> String {
            switch expectation {
            case .value: "a JSON value is expected here"
            case .elementOrEnd: "a JSON value or ] is expected here"
            case .name: "a member name in double quotes is expected here"
            case .nameOrEnd: "a member name in double quotes or } is expected here"
            case .colon: "a colon is expected after a member name"
            case .commaInObject: "a comma or } is expected after a member"
            case .commaInArray: "a comma or ] is expected after an element"
            case .literal: "only true, false and null are JSON words"
            }
        }
    }
}
