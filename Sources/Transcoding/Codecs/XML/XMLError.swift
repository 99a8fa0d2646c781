extension XML {
    /// What can be wrong with an XML document, or with a document for XML; the limits have their own errors.
    package enum Fault: ConversionFault, CaseIterable {
        // Reading.
        case emptyBody, unexpectedEnd, syntax, doctype, entity, character, invalidUTF8, encoding, encodingMismatch
        case mismatch, repeatedAttribute, trailingData, noRoot, nameSyntax, mixed, conflict, vocabulary, vocabularyKey
        case vocabularyValue
        // Writing.
        case name, forbiddenCharacter, lateAttribute, attributeValue, attributeNull, writtenTwice, mixedWriting
        case textValue, namespace, prefix, null, emptyArray, root, file, fileType

        package var row: ConversionError {
            switch self {
            // Reading.
            case .emptyBody: .malformed("xml_empty_body", "the body is empty where an XML document is expected")
            case .unexpectedEnd: .malformed("xml_unexpected_end", "the XML document ends before it is complete")
            case .syntax: .malformed("xml_syntax", "the XML is not well-formed here")
            case .doctype:
                .malformed(
                    "xml_doctype",
                    "a document type declaration is not read, for what it can name and define; leave it out")
            case .entity:
                .malformed(
                    "xml_entity",
                    "a reference must be one of &amp; &lt; &gt; &quot; &apos; or the number of a character")
            case .character:
                .malformed(
                    "xml_character", "a character that XML 1.0 excludes stands here, as itself or as a reference")
            case .invalidUTF8: .malformed("xml_invalid_utf8", "the document is not valid UTF-8")
            case .encoding: .unsupported("xml_unsupported_encoding", "the document is in another encoding than UTF-8")
            case .encodingMismatch:
                .malformed("xml_encoding_mismatch", "the document is declared to be ASCII and is not")
            case .mismatch: .malformed("xml_tag_mismatch", "the end tag is not that of the element which is open")
            case .repeatedAttribute: .malformed("xml_repeated_attribute", "the element has two attributes of this name")
            case .trailingData: .malformed("xml_trailing_data", "something follows the root element")
            case .noRoot:
                .malformed("xml_no_root", "something else than an element stands where the root element is expected")
            case .nameSyntax: .malformed("xml_name_syntax", "the name of an element or an attribute is expected here")
            case .mixed:
                .malformed(
                    "xml_mixed_content",
                    "the element has text beside its child elements; say mixed: join to give up where the text stood",
                    setting: "mixed")
            case .conflict:
                .malformed(
                    "xml_conflict",
                    "an attribute, the text or a child element would become a member that is there already")
            // A document that is not of the lossless vocabulary.
            case .vocabulary:
                .malformed(
                    "xml_vocabulary",
                    "only map, array, string, number, boolean and null in the namespace of XPath's functions are read, "
                        + "with their attributes key, escaped and escaped-key")
            case .vocabularyKey:
                .malformed(
                    "xml_vocabulary_key",
                    "a child of a map needs a key, which no other child of it has; others have none")
            case .vocabularyValue:
                .malformed("xml_vocabulary_value", "the element's content is not a value of its type")

            // Writing.
            case .name:
                .unrepresentable(
                    "xml_name", "the name is no name in XML; rename it, or say names: item", setting: "names")
            case .forbiddenCharacter:
                .unrepresentable(
                    "xml_forbidden_character",
                    "the text has a character that XML 1.0 can't carry, not even as a reference")
            case .lateAttribute:
                .unrepresentable(
                    "xml_late_attribute",
                    "an attribute comes after child elements or long text; attributes must be an object's first members"
                )
            case .attributeValue: .unrepresentable("xml_attribute_value", "an attribute is an object or an array")
            case .attributeNull:
                .unrepresentable(
                    "xml_attribute_null", "an attribute can't be marked nil; choose nulls: empty or omit",
                    setting: "nulls")
            case .writtenTwice:
                .unrepresentable(
                    "xml_written_twice",
                    "an attribute, also by another prefix of its namespace, or the text comes twice in one element")
            case .mixedWriting:
                .unrepresentable(
                    "xml_mixed_text",
                    "text and child elements stand in one element; say mixed: join to write them nevertheless",
                    setting: "mixed")
            case .textValue: .unrepresentable("xml_text_value", "the text of an element is an object or an array")
            // A declaration that can't be made.
            case .namespace:
                .unrepresentable(
                    "xml_namespace",
                    "no prefix can be bound to an empty namespace, and xml, xmlns and their namespaces only to each other; "
                        + "leave the declaration out")
            case .prefix:
                .unrepresentable(
                    "xml_prefix",
                    "nobody declares the prefix of the name, which readers of namespaces then refuse; give its element or one "
                        + "around it a member for xmlns and the prefix, as @xmlns:p, or rename it")
            case .null:
                .unrepresentable(
                    "xml_null", "a null has no form here; choose nulls: empty, nil or omit", setting: "nulls")
            case .emptyArray:
                .unrepresentable(
                    "xml_empty_array", "an empty array has no form here; choose empties: omit or marker",
                    setting: "empties")
            case .root:
                .unrepresentable(
                    "xml_root",
                    "the document must be an object with one member, which is no array; choose root: auto or wrap",
                    setting: "root")
            case .file:
                .unrepresentable(
                    "xml_file", "XML carries a file only as base64; say files: base64 or object, or drop it",
                    setting: "files")
            case .fileType:
                .unrepresentable(
                    "xml_file_type", "the file's Content-Type is not UTF-8, so XML can't carry it; say files: base64",
                    setting: "files")
            }
        }
    }
}
