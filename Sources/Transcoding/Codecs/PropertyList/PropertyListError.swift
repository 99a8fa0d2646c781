extension PropertyList {
    /// What can be wrong with a property list, and with what it is to carry.
    package enum Fault: ConversionFault, CaseIterable {
        // Both formats.
        case emptyBody, unknownFormat, unexpectedEnd, trailingData, duplicateKey, invalidUTF8, integerRange
        case nonFiniteReal, invalidDate
        // XML.
        case unsupportedCharset, invalidDeclaration, doctype, invalidMarkup, unknownElement, attribute, mismatchedTag
        case unexpectedText, unexpectedElement, noValue, secondValue, valueWithoutKey, keyWithoutValue
        case invalidReference, invalidCharacter, invalidInteger, invalidReal, invalidData
        // Binary.
        case unsupportedVersion, invalidTrailer, invalidObject, invalidOffset, objectReference, cycle, keyType
        case invalidString, uid, objectType
        // Writing.
        case null, nullElement, unwritableCharacter, largeInteger, largeReal, dateWithoutTime, leapSecond, dateRange,
            datePrecision
        case dateFraction, file, fileType

        package var row: ConversionError {
            switch self {
            // Both formats.
            case .emptyBody: .malformed("plist_empty_body", "the body is empty where a property list is expected")
            case .unknownFormat:
                .malformed(
                    "plist_unknown_format",
                    "the body is no XML and no binary property list; the old text format is not read")
            case .unexpectedEnd: .malformed("plist_unexpected_end", "the property list ends before it is complete")
            case .trailingData: .malformed("plist_trailing_data", "something follows the property list")
            case .duplicateKey:
                .malformed("plist_duplicate_key", "the dictionary has two members of this name", setting: "duplicates")
            case .invalidUTF8: .malformed("plist_invalid_utf8", "the text is not valid UTF-8")
            case .integerRange:
                .malformed("plist_integer_range", "an integer of a property list lies between -2^63 and 2^64-1")
            case .nonFiniteReal:
                .unrepresentable(
                    "plist_nonfinite_real",
                    "the real is infinite or not a number, which is not read as a number; say non_finite: string",
                    setting: "non_finite")
            case .invalidDate:
                .malformed(
                    "plist_invalid_date", "a date must be written as 2001-01-31T12:00:00Z and be one of the calendar")

            // XML.
            case .unsupportedCharset:
                .unsupported(
                    "plist_unsupported_charset",
                    "the property list must be in UTF-8 and say so where it declares its encoding")
            case .invalidDeclaration:
                .malformed(
                    "plist_invalid_declaration",
                    "the XML declaration must be like <?xml version=\"1.0\" encoding=\"UTF-8\"?>")
            case .doctype:
                .malformed(
                    "plist_doctype",
                    "the only document type taken is Apple's PropertyList-1.0.dtd, once and without declarations")
            case .invalidMarkup: .malformed("plist_invalid_markup", "the markup is not well-formed")
            case .unknownElement: .malformed("plist_unknown_element", "the element is not one of a property list")
            case .attribute:
                .malformed(
                    "plist_attribute", "no element of a property list has attributes but plist, with version=\"1.0\"")
            case .mismatchedTag:
                .malformed("plist_mismatched_tag", "the end tag doesn't belong to the element that is open")
            case .unexpectedText:
                .malformed("plist_unexpected_text", "text may stand in string, key, integer, real, date and data only")
            case .unexpectedElement: .malformed("plist_unexpected_element", "the element can't stand here")
            case .noValue: .malformed("plist_no_value", "the plist element holds no value")
            case .secondValue: .malformed("plist_second_value", "the plist element holds more than one value")
            case .valueWithoutKey:
                .malformed("plist_value_without_key", "a member of a dictionary must begin with its key")
            case .keyWithoutValue: .malformed("plist_key_without_value", "the key has no value")
            case .invalidReference:
                .malformed(
                    "plist_invalid_reference",
                    "only &lt; &gt; &amp; &quot; &apos; and numeric references to XML characters are taken")
            case .invalidCharacter:
                .malformed("plist_invalid_character", "the character is not one of XML 1.0 section 2.2")
            case .invalidInteger:
                .malformed("plist_invalid_integer", "an integer must be decimal or 0x and hexadecimal digits")
            case .invalidReal: .malformed("plist_invalid_real", "a real must be a decimal number")
            case .invalidData:
                .malformed(
                    "plist_invalid_data", "data must be base64 (RFC 4648 section 4), with white space or without")

            // Binary.
            case .unsupportedVersion:
                .unsupported("plist_unsupported_version", "of binary property lists only bplist00 is read")
            case .invalidTrailer:
                .malformed("plist_invalid_trailer", "the binary property list's trailer doesn't fit its length")
            case .invalidObject:
                .malformed("plist_invalid_object", "the object's marker is not one of a binary property list")
            case .invalidOffset:
                .malformed("plist_invalid_offset", "the object reaches out of the part of the body that holds objects")
            case .objectReference:
                .malformed("plist_object_reference", "the reference leads to an object that doesn't exist")
            case .cycle: .malformed("plist_cycle", "the object contains itself")
            case .keyType: .malformed("plist_key_type", "a key of a dictionary must be a string")
            case .invalidString:
                .malformed(
                    "plist_invalid_string", "the string holds a byte that is not ASCII, or half of a surrogate pair")
            case .uid:
                .unrepresentable("plist_uid", "the object is a UID of a keyed archive, which no other encoding has")
            case .objectType:
                .unrepresentable(
                    "plist_object_type", "sets, URLs and UUIDs of binary property lists have no form in other encodings"
                )

            // Writing.
            case .null:
                .unrepresentable(
                    "plist_null", "a property list has no null; say nulls: omit or empty", setting: "nulls")
            case .nullElement:
                .unrepresentable(
                    "plist_null_element",
                    "a property list has no null, and an element or the root can't be left out; say nulls: empty",
                    setting: "nulls")
            case .unwritableCharacter:
                .unrepresentable("plist_unwritable_character", "the character can't stand in XML, escaped or not")
            case .largeInteger:
                .unrepresentable(
                    "plist_large_integer",
                    "an integer of a property list lies between -2^63 and 2^64-1; say large_integers: real or string",
                    setting: "large_integers")
            case .largeReal:
                .unrepresentable(
                    "plist_large_real",
                    "the number is beyond the range of a double, which is what a property list holds",
                    setting: "large_integers")
            case .dateWithoutTime:
                .unrepresentable(
                    "plist_date_without_time",
                    "a date of a property list is a point in time: the text has no time and no zone")
            case .leapSecond: .unrepresentable("plist_leap_second", "a date of a property list can't be a leap second")
            case .dateRange: .unrepresentable("plist_date_range", "the date lies outside of the years 0000 to 9999")
            case .datePrecision:
                .unrepresentable(
                    "plist_date_precision", "the date's fraction of a second is too small to be written with 40 digits")
            case .dateFraction:
                .unrepresentable(
                    "plist_date_fraction",
                    "an XML property list has whole seconds only; say date_fractions: drop, or write binary",
                    setting: "date_fractions")
            case .file:
                .unrepresentable(
                    "plist_file",
                    "a property list carries a file only as data; say files: base64 or object, or drop it",
                    setting: "files")
            case .fileType:
                .unrepresentable(
                    "plist_file_type",
                    "the file's Content-Type is not UTF-8, so a property list can't carry it; say files: base64",
                    setting: "files")
            }
        }
    }
}
