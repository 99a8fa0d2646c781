extension JSON {
    /// What can be wrong with a JSON text, and with what it is to carry. The codes and sentences of this format live here.
    package enum Fault: Hashable, Sendable {
        /// What the decoder would have taken where it found another byte.
        package enum Expectation: Hashable, Sendable {
            case value, elementOrEnd, name, nameOrEnd, colon, commaInObject, commaInArray, literal
        }

        case unexpectedByte(Expectation)
        case unexpectedEnd
        case emptyBody
        case trailingData
        case invalidNumber
        case invalidEscape
        case loneSurrogate
        case invalidUTF8
        case controlCharacter
        case duplicateKey
        /// UTF-16 or UTF-32.
        case unsupportedCharset
        /// A file came to an encoder whose options don't take files.
        case file
        /// A file's media type is not UTF-8 and can't be a member of its object.
        case fileType

        /// The stable code of `ConversionError`.
        package var code: String {
            switch self {
            case .unexpectedByte: "json_unexpected_byte"
            case .unexpectedEnd: "json_unexpected_end"
            case .emptyBody: "json_empty_body"
            case .trailingData: "json_trailing_data"
            case .invalidNumber: "json_invalid_number"
            case .invalidEscape: "json_invalid_escape"
            case .loneSurrogate: "json_lone_surrogate"
            case .invalidUTF8: "json_invalid_utf8"
            case .controlCharacter: "json_control_character"
            case .duplicateKey: "json_duplicate_key"
            case .unsupportedCharset: "json_unsupported_charset"
            case .file: "json_file"
            case .fileType: "json_file_type"
            }
        }

        package var kind: ConversionError.Kind {
            switch self {
            case .unsupportedCharset: .unsupported
            case .file, .fileType: .unrepresentable
            default: .malformed
            }
        }

        /// One sentence for a person.
        package var reason: String {
            switch self {
            case .unexpectedByte(.value): "a JSON value is expected here"
            case .unexpectedByte(.elementOrEnd): "a JSON value or ] is expected here"
            case .unexpectedByte(.name): "a member name in double quotes is expected here"
            case .unexpectedByte(.nameOrEnd): "a member name in double quotes or } is expected here"
            case .unexpectedByte(.colon): "a colon is expected after a member name"
            case .unexpectedByte(.commaInObject): "a comma or } is expected after a member"
            case .unexpectedByte(.commaInArray): "a comma or ] is expected after an element"
            case .unexpectedByte(.literal): "only true, false and null are JSON words"
            case .unexpectedEnd: "the JSON text ends before its value is complete"
            case .emptyBody: "the body is empty where a JSON value is expected"
            case .trailingData: "something follows the JSON value"
            case .invalidNumber: "the number is not in JSON's grammar (RFC 8259 section 6)"
            case .invalidEscape: "the escape sequence is not one of JSON's (RFC 8259 section 7)"
            case .loneSurrogate: "the escaped surrogate has no other half, so it is no character"
            case .invalidUTF8: "the string is not valid UTF-8"
            case .controlCharacter: "a control character in a string must be escaped"
            case .duplicateKey: "the object has two members of this name"
            case .unsupportedCharset: "the body looks like UTF-16 or UTF-32; JSON must be UTF-8 (RFC 8259 section 8.1)"
            case .file: "JSON carries a file only as base64; say files: base64 or object, or drop it"
            case .fileType: "the file's Content-Type is not UTF-8, so JSON can't carry it; say files: base64"
            }
        }

        /// The setting that would let the input through.
        package var setting: String? {
            switch self {
            case .duplicateKey: "duplicates"
            case .file, .fileType: "files"
            default: nil
            }
        }
    }
}

extension ConversionError {
    package init(_ fault: JSON.Fault, offset: Int? = nil, field: String? = nil) {
        self.init(
            fault.kind, code: fault.code, reason: fault.reason, offset: offset, field: field, setting: fault.setting)
    }
}
