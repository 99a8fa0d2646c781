extension PropertyList {
    /// What can be wrong with a property list, and with what it is to carry. The codes and sentences of this format live here.
    package enum Fault: String, Hashable, Sendable, CaseIterable {
        // Both formats.
        case emptyBody = "plist_empty_body"
        case unknownFormat = "plist_unknown_format"
        case unexpectedEnd = "plist_unexpected_end"
        case trailingData = "plist_trailing_data"
        case duplicateKey = "plist_duplicate_key"
        case invalidUTF8 = "plist_invalid_utf8"
        case integerRange = "plist_integer_range"
        case nonFiniteReal = "plist_nonfinite_real"
        case invalidDate = "plist_invalid_date"

        // XML.
        case unsupportedCharset = "plist_unsupported_charset"
        case invalidDeclaration = "plist_invalid_declaration"
        case doctype = "plist_doctype"
        case invalidMarkup = "plist_invalid_markup"
        case unknownElement = "plist_unknown_element"
        case attribute = "plist_attribute"
        case mismatchedTag = "plist_mismatched_tag"
        case unexpectedText = "plist_unexpected_text"
        case unexpectedElement = "plist_unexpected_element"
        case noValue = "plist_no_value"
        case secondValue = "plist_second_value"
        case valueWithoutKey = "plist_value_without_key"
        case keyWithoutValue = "plist_key_without_value"
        case invalidReference = "plist_invalid_reference"
        case invalidCharacter = "plist_invalid_character"
        case invalidInteger = "plist_invalid_integer"
        case invalidReal = "plist_invalid_real"
        case invalidData = "plist_invalid_data"

        // Binary.
        case unsupportedVersion = "plist_unsupported_version"
        case invalidTrailer = "plist_invalid_trailer"
        case invalidObject = "plist_invalid_object"
        case invalidOffset = "plist_invalid_offset"
        case objectReference = "plist_object_reference"
        case cycle = "plist_cycle"
        case keyType = "plist_key_type"
        case invalidString = "plist_invalid_string"
        case uid = "plist_uid"
        case objectType = "plist_object_type"

        // Writing.
        case null = "plist_null"
        case nullElement = "plist_null_element"
        case unwritableCharacter = "plist_unwritable_character"
        case largeInteger = "plist_large_integer"
        case largeReal = "plist_large_real"
        case dateWithoutTime = "plist_date_without_time"
        case leapSecond = "plist_leap_second"
        case dateRange = "plist_date_range"
        case dateFraction = "plist_date_fraction"
        case file = "plist_file"
        case fileType = "plist_file_type"

        /// The stable code of `ConversionError`.
        package var code: String { rawValue }

        package var kind: ConversionError.Kind {
            switch self {
            case .unsupportedCharset, .unsupportedVersion: .unsupported
            case .nonFiniteReal, .uid, .objectType, .null, .nullElement, .unwritableCharacter, .largeInteger,
                .largeReal, .dateWithoutTime, .leapSecond, .dateRange, .dateFraction, .file, .fileType:
                .unrepresentable
            default: .malformed
            }
        }

        /// One sentence for a person.
        package var reason: String {
            switch self {
            case .emptyBody: "the body is empty where a property list is expected"
            case .unknownFormat: "the body is no XML and no binary property list; the old text format is not read"
            case .unexpectedEnd: "the property list ends before it is complete"
            case .trailingData: "something follows the property list"
            case .duplicateKey: "the dictionary has two members of this name"
            case .invalidUTF8: "the text is not valid UTF-8"
            case .integerRange: "an integer of a property list lies between -2^63 and 2^64-1"
            case .nonFiniteReal:
                "the real is infinite or not a number, which no other encoding has; say non_finite: string"
            case .invalidDate: "a date must be written as 2001-01-31T12:00:00Z and be one of the calendar"
            case .unsupportedCharset: "the property list must be in UTF-8 and say so where it declares its encoding"
            case .invalidDeclaration: "the XML declaration must be like <?xml version=\"1.0\" encoding=\"UTF-8\"?>"
            case .doctype: "the only document type taken is Apple's PropertyList-1.0.dtd, once and without declarations"
            case .invalidMarkup: "the markup is not well-formed"
            case .unknownElement: "the element is not one of a property list"
            case .attribute: "no element of a property list has attributes but plist, with version=\"1.0\""
            case .mismatchedTag: "the end tag doesn't belong to the element that is open"
            case .unexpectedText: "text may stand in string, key, integer, real, date and data only"
            case .unexpectedElement: "the element can't stand here"
            case .noValue: "the plist element holds no value"
            case .secondValue: "the plist element holds more than one value"
            case .valueWithoutKey: "a member of a dictionary must begin with its key"
            case .keyWithoutValue: "the key has no value"
            case .invalidReference:
                "only &lt; &gt; &amp; &quot; &apos; and numeric references to XML characters are taken"
            case .invalidCharacter: "the character is not one of XML 1.0 section 2.2"
            case .invalidInteger: "an integer must be decimal or 0x and hexadecimal digits"
            case .invalidReal: "a real must be a decimal number"
            case .invalidData: "data must be base64 (RFC 4648 section 4), with white space or without"
            case .unsupportedVersion: "of binary property lists only bplist00 is read"
            case .invalidTrailer: "the binary property list's trailer doesn't fit its length"
            case .invalidObject: "the object's marker is not one of a binary property list"
            case .invalidOffset: "the object reaches out of the part of the body that holds objects"
            case .objectReference: "the reference leads to an object that doesn't exist"
            case .cycle: "the object contains itself"
            case .keyType: "a key of a dictionary must be a string"
            case .invalidString: "the string holds a byte that is not ASCII, or half of a surrogate pair"
            case .uid: "the object is a UID of a keyed archive, which no other encoding has"
            case .objectType: "sets, URLs and UUIDs of binary property lists have no form in other encodings"
            case .null: "a property list has no null; say nulls: omit or empty"
            case .nullElement:
                "a property list has no null, and an element or the root can't be left out; say nulls: empty"
            case .unwritableCharacter: "the character can't stand in XML, escaped or not"
            case .largeInteger:
                "an integer of a property list lies between -2^63 and 2^64-1; say large_integers: real or string"
            case .largeReal: "the number is beyond the range of a double, which is what a property list holds"
            case .dateWithoutTime: "a date of a property list is a point in time: the text has no time and no zone"
            case .leapSecond: "a date of a property list can't be a leap second"
            case .dateRange: "the date lies outside of the years 0000 to 9999"
            case .dateFraction: "an XML property list has whole seconds only; say date_fractions: drop, or write binary"
            case .file: "a property list carries a file only as data; say files: base64 or object, or drop it"
            case .fileType: "the file's Content-Type is not UTF-8, so a property list can't carry it; say files: base64"
            }
        }

        /// The setting that would let the input through.
        package var setting: String? {
            switch self {
            case .duplicateKey: "duplicates"
            case .null, .nullElement: "nulls"
            case .largeInteger, .largeReal: "large_integers"
            case .nonFiniteReal: "non_finite"
            case .dateFraction: "date_fractions"
            case .file, .fileType: "files"
            default: nil
            }
        }
    }
}

extension ConversionError {
    init(plist fault: PropertyList.Fault, offset: Int? = nil, field: String? = nil) {
        self.init(
            fault.kind, code: fault.code, reason: fault.reason, offset: offset, field: field, setting: fault.setting)
    }
}
