extension XML {
    /// What can be wrong with an XML document, or with a document for XML; the limits have their own errors.
    package enum Fault: String, Hashable, Sendable, CaseIterable {
        // Reading.
        case emptyBody = "xml_empty_body"
        case unexpectedEnd = "xml_unexpected_end"
        case syntax = "xml_syntax"
        case doctype = "xml_doctype"
        case entity = "xml_entity"
        case character = "xml_character"
        case invalidUTF8 = "xml_invalid_utf8"
        case encoding = "xml_unsupported_encoding"
        case encodingMismatch = "xml_encoding_mismatch"
        case mismatch = "xml_tag_mismatch"
        case repeatedAttribute = "xml_repeated_attribute"
        case trailingData = "xml_trailing_data"
        case noRoot = "xml_no_root"
        case nameSyntax = "xml_name_syntax"
        case mixed = "xml_mixed_content"
        case conflict = "xml_conflict"
        /// A document that is not of the lossless vocabulary.
        case vocabulary = "xml_vocabulary"
        case vocabularyKey = "xml_vocabulary_key"
        case vocabularyValue = "xml_vocabulary_value"

        // Writing.
        case name = "xml_name"
        case forbiddenCharacter = "xml_forbidden_character"
        case lateAttribute = "xml_late_attribute"
        case attributeValue = "xml_attribute_value"
        case attributeNull = "xml_attribute_null"
        case writtenTwice = "xml_written_twice"
        case mixedWriting = "xml_mixed_text"
        case textValue = "xml_text_value"
        /// A declaration that can't be made.
        case namespace = "xml_namespace"
        case null = "xml_null"
        case emptyArray = "xml_empty_array"
        case root = "xml_root"
        case file = "xml_file"
        case fileType = "xml_file_type"

        /// The stable code of `ConversionError`.
        package var code: String { rawValue }

        package var kind: ConversionError.Kind {
            switch self {
            case .encoding: .unsupported
            case .name, .forbiddenCharacter, .lateAttribute, .attributeValue, .attributeNull, .writtenTwice,
                .mixedWriting, .textValue, .namespace, .null, .emptyArray, .root, .file, .fileType:
                .unrepresentable
            default: .malformed
            }
        }

        /// One sentence for a person.
        package var reason: String {
            switch self {
            case .emptyBody: "the body is empty where an XML document is expected"
            case .unexpectedEnd: "the XML document ends before it is complete"
            case .syntax: "the XML is not well-formed here"
            case .doctype: "a document type declaration is not read, for what it can name and define; leave it out"
            case .entity: "a reference must be one of &amp; &lt; &gt; &quot; &apos; or the number of a character"
            case .character: "a character that XML 1.0 excludes stands here, as itself or as a reference"
            case .invalidUTF8: "the document is not valid UTF-8"
            case .encoding: "the document is in another encoding than UTF-8"
            case .encodingMismatch: "the document is declared to be ASCII and is not"
            case .mismatch: "the end tag is not that of the element which is open"
            case .repeatedAttribute: "the element has two attributes of this name"
            case .trailingData: "something follows the root element"
            case .noRoot: "something else than an element stands where the root element is expected"
            case .nameSyntax: "the name of an element or an attribute is expected here"
            case .mixed:
                "the element has text beside its child elements; say mixed: join to give up where the text stood"
            case .conflict: "an attribute, the text or a child element would become a member that is there already"
            case .vocabulary:
                "only map, array, string, number, boolean and null in the namespace of XPath's functions are read, "
                    + "with their attributes key, escaped and escaped-key"
            case .vocabularyKey: "a child of a map needs a key, which no other child of it has; others have none"
            case .vocabularyValue: "the element's content is not a value of its type"
            case .name: "the name is no name in XML; rename it, or say names: item"
            case .forbiddenCharacter: "the text has a character that XML 1.0 can't carry, not even as a reference"
            case .lateAttribute:
                "an attribute comes after child elements or long text; attributes must be an object's first members"
            case .attributeValue: "an attribute is an object or an array"
            case .attributeNull: "an attribute can't be marked nil; choose nulls: empty or omit"
            case .writtenTwice:
                "an attribute, also by another prefix of its namespace, or the text comes twice in one element"
            case .namespace:
                "no prefix can be bound to an empty namespace, and xml, xmlns and their namespaces only to each other; "
                    + "leave the declaration out"
            case .mixedWriting:
                "text and child elements stand in one element; say mixed: join to write them nevertheless"
            case .textValue: "the text of an element is an object or an array"
            case .null: "a null has no form here; choose nulls: empty, nil or omit"
            case .emptyArray: "an empty array has no form here; choose empties: omit or marker"
            case .root: "the document must be an object with one member, which is no array; choose root: auto or wrap"
            case .file: "XML carries a file only as base64; say files: base64 or object, or drop it"
            case .fileType: "the file's Content-Type is not UTF-8, so XML can't carry it; say files: base64"
            }
        }

        /// The setting that would let the document through.
        package var setting: String? {
            switch self {
            case .mixed, .mixedWriting: "mixed"
            case .name: "names"
            case .null, .attributeNull: "nulls"
            case .emptyArray: "empties"
            case .root: "root"
            case .file, .fileType: "files"
            default: nil
            }
        }
    }
}

extension ConversionError {
    internal init(xml fault: XML.Fault, offset: Int? = nil, field: String? = nil) {
        self.init(
            fault.kind, code: fault.code, reason: fault.reason, offset: offset, field: field, setting: fault.setting)
    }
}
