/// How a note says what becomes of a trait.
internal struct TraitWords {
    enum Remedy {
        case none
        case text(String)
        /// Those of them that mend it.
        case settings([TraitRemedy])
    }

    var code: String
    var what: String
    /// Nil: what the outcome says by itself.
    var effect: String?
    /// Another outcome than that of the sample.
    var outcome: ConversionNote.Outcome?
    var remedy: Remedy

    init(_ code: String, _ what: String, _ remedy: Remedy) {
        self.code = code
        self.what = what
        self.remedy = remedy
    }

    init(
        _ code: String, _ what: String, _ effect: String, outcome: ConversionNote.Outcome? = nil, _ remedy: Remedy
    ) {
        self.init(code, what, remedy)
        self.effect = effect
        self.outcome = outcome
    }
}

extension NoteWriter {
    mutating func words(of trait: DocumentTrait, _ outcome: TraitProbe.Outcome) -> TraitWords {
        if case .refused(let code) = outcome, let words = wordsOfRefusal(code, of: trait) { return words }
        return switch plan.output {
        case .form, .multipart, .raw: wordsOfFields(trait, outcome)
        case .xml: wordsOfXML(trait, outcome)
        case .plist, .bplist: wordsOfPropertyLists(trait, outcome)
        case .text: wordsOfText(trait, outcome)
        case .json: wordsOfDocuments(trait, outcome)
        }
    }

    /// The words for an output that has booleans of its own.
    private func wordsOfDocuments(_ trait: DocumentTrait, _ outcome: TraitProbe.Outcome) -> TraitWords {
        guard trait == .boolean else { return common(trait) }
        return TraitWords(
            "booleans_numeric", "a boolean", "becomes the number 1 or 0", .text("booleans: literal keeps it apart"))
    }

    // MARK: Refusals that say the same of several traits

    private mutating func wordsOfRefusal(_ code: String, of trait: DocumentTrait) -> TraitWords? {
        switch code {
        case "root_not_object":
            let what =
                switch (self.outcome(of: .documentArray).note, self.outcome(of: .documentScalar).note) {
                case (.refused?, .refused?): "a document that is no object"
                case (.refused?, _): "a document that is an array"
                case (_, _) where trait == .documentNull: "a document that is null"
                case (_, _) where trait == .documentScalar: "a document that is a single value"
                case (_, _): "an array that is the document, but no list of pairs"
                }
            return TraitWords("document_rejected", what, .none)
        case "xml_root":
            return TraitWords(
                "root_rejected", "a document of more than one member, or none, or whose member is an array",
                .text("root: auto or wrap puts it into an element"))
        case "xml_name", "limit_xml_name":
            return TraitWords(
                "name_rejected", "a name that XML doesn't take",
                .text("names: item carries it as an attribute, convention: lossless as it is"))
        case "xml_late_attribute", "xml_attribute_value":
            return TraitWords(
                "attribute", "a name that begins with \(plan.xmlEncoding.attributePrefix)",
                plan.putsAttributesFirst
                    ? "is an attribute, refused where it isn't of a single value"
                    : "is an attribute, refused where it comes after others or isn't of a single value",
                .settings([.lossless]))
        case "text_container" where plan.outputField == nil:
            return TraitWords("text_container", "an object or an array", .text("field names the one field to send"))
        case "text_container":
            return TraitWords("text_field_container", "a field that is an object or an array", .text("json carries it"))
        case "text_other_field":
            return TraitWords("text_other_field", "a further field", .text("map.remove leaves it out"))
        case "text_missing_field":
            return TraitWords("text_missing_field", "a document without the field", .none)
        case "raw_other_field":
            return TraitWords("raw_other_field", "a further field or file", .text("map.remove leaves it out"))
        case "raw_missing_field":
            return TraitWords("raw_missing_field", "a document without a field that becomes the body", .none)
        default: return nil
        }
    }

    // MARK: Form and multipart

    private mutating func wordsOfFields(_ trait: DocumentTrait, _ outcome: TraitProbe.Outcome) -> TraitWords {
        let dialect = plan.fieldEncoding.dialect
        let isPHP = dialect == .php
        switch trait {
        case .null: return nullInFields(outcome)
        case .nullInArray, .arrayOfNulls, .emptyArrayInArray, .emptyObjectInArray:
            if case .omitted(let back) = outcome, back.hasPrefix("{\"a\":{") {
                return TraitWords(
                    isPHP ? "php_array_hole" : "array_hole", "an array with an element that is left out",
                    "keeps its numbers and reads back as an object", outcome: .altered, .none)
            }
        case .emptyArray, .emptyObject:
            let others: DocumentTrait = trait == .emptyArray ? .emptyObject : .emptyArray
            let name = trait == .emptyArray ? "array" : "object"
            let inner: DocumentTrait = trait == .emptyArray ? .emptyArrayInArray : .emptyObjectInArray
            let isInnerCarried = features.isSuperset(of: inner.row.requires) && self.outcome(of: inner) == .carried
            let what = "an empty \(name)" + (isInnerCarried ? " outside of an array" : "")
            let json: TraitRemedy = trait == .emptyArray ? .arraysJSON : .nestingJSON
            let remedy = TraitWords.Remedy.settings([json, .emptiesMarker])
            let both = TraitWords.Remedy.text("empties: marker carries it as an empty value")
            let isBoth = dialect != .recast && outcome.note == self.outcome(of: others).note
            switch outcome.note {
            case .refused? where isBoth:
                return TraitWords("empty_rejected", "an empty array or object", both)
            case .omitted? where isBoth:
                return TraitWords("empty_omitted", "an empty array or object", both)
            case .refused?: return TraitWords("\(name)_empty_rejected", what, remedy)
            case .omitted?: return TraitWords("\(name)_empty_omitted", what, remedy)
            case .altered?, nil: return TraitWords("\(name)_empty_marker", what, remedy)
            }
        case .number, .fraction, .writtenFraction, .exponent, .negativeZero, .longReal, .largeInteger, .hugeReal:
            return TraitWords(
                "numbers_text", "a number", "becomes a text",
                .text("types: safe makes integers and decimals numbers where they are read"))
        case .boolean:
            return booleanAsText(.settings([.typesSafe]))
        case .arrayText where outcome.note == .altered, .objectText where outcome.note == .altered:
            let (code, what) = trait.name
            return TraitWords(code, what, "reads back as that", .settings([.arraysIndices, .nestingBrackets]))
        case .comma:
            return TraitWords(
                "comma_in_text", "a text with a comma by itself", .settings([.arraysBrackets, .arraysIndices]))
        case .brackets where outcome.note == .altered, .dot where outcome.note == .altered && !isPHP,
            .bracketsBelow where outcome.note == .altered, .dotBelow where outcome.note == .altered:
            let (code, what) = trait.name
            return TraitWords(code, what, "reads back as structure", .settings(remedies(of: trait)))
        case .thirtyElements where dialect == .qs:
            return TraitWords("qs_array_long", "an array of more than 20 elements", .settings([.arraysJSON]))
        case .deepObject where dialect == .qs:
            return TraitWords(
                "qs_deep", "an object nested deeper than five levels", "reads back with the rest as one name",
                .settings([.nestingJSON]))
        case .emptyName where plan.output == .multipart && dialect == .qs:
            return TraitWords(
                "name_empty_root", "an empty name", "is refused by multer, and undefined to busboy", .none)
        case .emptyName where plan.output == .multipart && dialect == .rack:
            return TraitWords(
                "name_empty_root", "an empty name", "is text/plain[] to Rack, where another may be the same", .none)
        case .emptyName where dialect == .qs, .emptyNameBelow where dialect == .qs, .protoName where dialect == .qs:
            return TraitWords(
                "qs_name_dropped", "an empty name, or __proto__",
                "is dropped by qs where it reads", .none)
        case .dot where isPHP, .spaceInName where isPHP, .openBracket where isPHP, .spaceBeforeName where isPHP:
            return TraitWords(
                "php_name_changed", "a name of the root with a dot, a space or a bracket that isn't closed",
                "is one with _ in PHP, where another may be the same", .none)
        case .nulInName where isPHP, .nulInNameBelow where isPHP:
            if outcome.note == .altered {
                return TraitWords("php_name_cut", "a name with a NUL", "ends before it in PHP", .none)
            }
        case .unlikeObjects where outcome.note == .refused:
            return TraitWords(
                "array_of_objects", "an array of objects",
                "is refused where one doesn't begin with a key of the one before", .settings([.arraysIndices]))
        case .escapeInName, .lineEndInName:
            if outcome.note == .altered, !NameQuoting(dialect).writesPercents {
                return TraitWords(
                    "name_lines", "a name with a line end", "goes out with %0D%0A for it, which servers leave so", .none
                )
            }
            if outcome.note == .altered {
                return TraitWords(
                    "name_escaped", "a name with a quotation mark or a line end",
                    "goes out with %22 and %0D%0A for them, which many servers leave so", .none)
            }
        case .unsortedArray where outcome.note == .altered:
            return TraitWords(
                "array_sorted", "an array", "reads back with its elements sorted",
                .settings([.ordered, .arraysIndices]))
        default: break
        }
        return common(trait)
    }

    private mutating func nullInFields(_ outcome: TraitProbe.Outcome) -> TraitWords {
        // In an array that is a JSON text it is one.
        let isCarried = has(.arrays) && self.outcome(of: .nullInArray) == .carried
        let null = isCarried ? "null outside of an array" : "null"
        switch outcome.note {
        case .refused?:
            return TraitWords(
                "null_rejected", null, .text("nulls: literal carries it as a text, omit leaves it out"))
        case .omitted?: return TraitWords("null_omitted", null, .text("nulls: literal carries it as a text"))
        case .altered?, nil: break
        }
        let apart = "nulls: literal or reject keeps it apart"
        switch plan.fieldEncoding.nulls {
        case .literal:
            return TraitWords("null_literal", null, "becomes the text null", .text("nulls: reject keeps it apart"))
        case .key where plan.output == .form:
            return TraitWords(
                "null_key", null, "becomes a name without a value, which reads as an empty one", .text(apart))
        case .empty, .key, .omit, .reject:
            return TraitWords("null_empty", null, "becomes an empty value", .text(apart))
        }
    }

    // MARK: XML

    private mutating func wordsOfXML(_ trait: DocumentTrait, _ outcome: TraitProbe.Outcome) -> TraitWords {
        let options = plan.xmlEncoding
        let lossless = TraitWords.Remedy.settings([.lossless])
        let isAltered = outcome.note == .altered
        switch trait {
        case .null:
            let remedy = TraitWords.Remedy.text("nulls: nil, read with recognize: nulls, keeps it apart")
            switch outcome.note {
            case .refused?: return TraitWords("null_rejected", "null", .text("nulls: nil carries it"))
            case .omitted?: return TraitWords("null_omitted", "null", remedy)
            case .altered?, nil:
                return TraitWords("null_empty", "null", "becomes an empty element, as an empty text does", remedy)
            }
        case .emptyText where isAltered:
            return TraitWords(
                "text_empty", "an empty text",
                outcome == .altered(back: "{\"r\":{\"a\":null}}")
                    && has(.nulls) && self.outcome(of: .null) == .carried && options.nulls == .empty
                    ? "becomes an empty element, as null does" : "becomes an empty element, which reads as null",
                .settings([.emptyString]))
        case .emptyArray:
            switch outcome.note {
            case .refused?: return TraitWords("array_empty_rejected", "an empty array", lossless)
            case .omitted?: return TraitWords("array_empty_omitted", "an empty array", lossless)
            case .altered?, nil:
                return TraitWords(
                    "array_empty_marker", "an empty array", "becomes an empty element, as an empty text does", lossless)
            }
        case .emptyObject where isAltered:
            return TraitWords(
                "object_empty", "an empty object", "becomes an empty element, as an empty text does", lossless)
        case .arrayOfOne where isAltered:
            return TraitWords(
                "array_of_one", "an array of one element", "reads back as that element",
                .text("always_array keeps it where it is read, convention: lossless everywhere"))
        case .nestedArrays where isAltered:
            return TraitWords(
                "array_nested", "an array in an array", "reads back as an object with \(options.itemName)", lossless)
        case .number, .fraction, .writtenFraction, .exponent, .negativeZero, .longReal, .largeInteger, .hugeReal:
            return TraitWords(
                "numbers_text", "a number", "becomes a text",
                .text("recognize: numbers makes it one where it is read, convention: lossless keeps it"))
        case .boolean:
            return booleanAsText(isNumeric: options.booleans == .numeric, .settings([.recognizeBooleans]))
        case .textMember where isAltered:
            return TraitWords(
                "text_member", "an object with \(options.textKey) alone", "reads back as its text", lossless)
        case .textBeside, .textContainer:
            return TraitWords(
                "text_member_rejected", "a member \(options.textKey) beside elements, or that is no single value",
                .settings([.mixedJoin, .lossless]))
        case .attributeNull where outcome.note == .refused:
            return TraitWords("attribute_null", "null in an attribute", lossless)
        case .attributeNull where isAltered:
            return TraitWords("attribute_null", "null in an attribute", "reads back as an empty text", lossless)
        case .severalFields where isAltered, .memberArray where isAltered, .memberAttribute where isAltered,
            .emptyDocument where isAltered && options.root == .auto,
            .documentScalar where isAltered && options.root == .auto:
            return TraitWords(
                "root_wrapped", "a document of more than one member, or none, or whose member is an array",
                "gets a root element \(options.rootName), which is a member where it is read",
                .text("root: wrap, read with root: drop, keeps all documents alike"))
        case .documentArray where isAltered:
            return TraitWords(
                "document_array", "a document that is an array", "reads back as an object with \(options.itemName)",
                lossless)
        case .colonName where outcome.note == .refused:
            return TraitWords("name_prefix", "a name with a prefix that nobody declares", lossless)
        case .digitName, .brackets, .openBracket, .spaceInName, .emptyName, .escapeInName, .longName, .spaceBeforeName,
            .lineEndInName, .emptyNameBelow, .bracketsBelow, .controlInName, .nulInName, .nulInNameBelow:
            if isAltered {
                return TraitWords(
                    "name_item", "a name that XML doesn't take",
                    "becomes an attribute of the element \(options.itemName)", lossless)
            }
        default: break
        }
        return common(trait)
    }

    // MARK: Property lists

    private func wordsOfPropertyLists(_ trait: DocumentTrait, _ outcome: TraitProbe.Outcome) -> TraitWords {
        let carries = "nulls: empty carries it as an empty text"
        switch (trait, outcome.note) {
        case (.null, .omitted?): return TraitWords("null_omitted", "null in an object", .text(carries))
        case (.null, .altered?):
            return TraitWords("null_empty", "null", "becomes an empty text", .text("nulls: reject keeps it apart"))
        case (.null, _): return TraitWords("null_rejected", "null", .text(carries))
        case (.nullInArray, .refused?): return TraitWords("null_in_array", "null in an array", .text(carries))
        case (.largeInteger, .refused?):
            return TraitWords("integer_large", "an integer beyond 64 bits", .settings([.largeIntegersString]))
        case (.largeInteger, _):
            let apart = TraitWords.Remedy.text("large_integers: reject keeps it apart")
            if plan.propertyListEncoding.largeIntegers == .string {
                return TraitWords("integer_text", "an integer beyond 64 bits", "becomes a text", apart)
            }
            return TraitWords(
                "integer_real", "an integer beyond 64 bits", "becomes a real, of which readers keep 16 digits", apart)
        case (.writtenFraction, .altered?), (.exponent, .altered?), (.longReal, .altered?):
            return TraitWords(
                "real_rounded", "a number with a fraction or an exponent", "becomes the nearest double, printed anew",
                .settings([.plist]))
        case (.negativeZero, _):
            return TraitWords("zero_sign", "a zero with a minus sign", "becomes a real", .settings([.plist]))
        case (.hugeReal, .altered?):
            return TraitWords(
                "real_text", "a number beyond the range of doubles", "becomes a text",
                .text("large_integers: reject keeps it apart"))
        case (.hugeReal, _):
            return TraitWords("real_large", "a number beyond the range of doubles", .settings([.largeIntegersString]))
        default: return wordsOfDocuments(trait, outcome)
        }
    }

    // MARK: Text

    private func wordsOfText(_ trait: DocumentTrait, _ outcome: TraitProbe.Outcome) -> TraitWords {
        switch trait {
        case .null, .documentNull:
            switch plan.fieldEncoding.nulls {
            case .reject:
                return TraitWords("null_rejected", "null", .text("nulls: empty or literal carries it as a text"))
            case .literal:
                return TraitWords(
                    "null_literal", "null", "becomes the text null", .text("nulls: reject keeps it apart"))
            case .empty, .key, .omit:
                return TraitWords(
                    "null_empty", "null", "becomes an empty text", .text("nulls: literal or reject keeps it apart"))
            }
        case .number, .fraction, .writtenFraction, .exponent, .negativeZero, .longReal, .largeInteger, .hugeReal:
            return TraitWords("numbers_text", "a number", "becomes a text", .none)
        case .boolean:
            return booleanAsText(.none)
        default: return common(trait)
        }
    }

    // MARK: What needs no words of its own

    /// The words of a trait for any output.
    private func common(_ trait: DocumentTrait) -> TraitWords {
        let (code, what) = trait.name
        return TraitWords(code, what, .settings(remedies(of: trait)))
    }

    /// The words of a boolean where a text, or a number, stands for it; `remedy` is that of the text.
    private func booleanAsText(isNumeric: Bool = false, _ remedy: TraitWords.Remedy) -> TraitWords {
        guard isNumeric || plan.fieldEncoding.booleans == .numeric else {
            return TraitWords("booleans_text", "a boolean", "becomes a text", remedy)
        }
        return TraitWords(
            "booleans_numeric", "a boolean", "becomes 1 or 0", .text("booleans: literal keeps it apart"))
    }

    private func remedies(of trait: DocumentTrait) -> [TraitRemedy] {
        switch plan.output {
        case .form, .multipart, .raw:
            switch trait {
            case .controlInName, .nulInName, .nulInNameBelow: [.form]
            // No other way of arrays: a library that reads keeps to its own.
            case .object, .numberedKeys, .gappedKeys, .numberAmongKeys, .brackets, .openBracket, .dot, .bracketsBelow,
                .dotBelow, .emptyName, .emptyNameBelow:
                [.nestingBrackets, .nestingJSON]
            case .array: [.arraysIndices, .arraysRepeat, .nestingBrackets, .nestingJSON, .arraysJSON]
            default: [.arraysIndices, .arraysBrackets, .nestingBrackets, .nestingJSON, .arraysJSON]
            }
        case .xml: [.lossless]
        case .plist: [.bplist]
        case .bplist: [.plist]
        case .json, .text: []
        }
    }
}

extension DocumentTrait {
    /// The code and the name in notes, where an output has no other ones for it.
    fileprivate var name: (code: String, what: String) {
        switch self {
        case .null: ("null", "null")
        case .emptyText: ("text_empty", "an empty text")
        case .comma: ("comma_in_text", "a text with a comma by itself")
        case .arrayText, .objectText: ("text_json", "a text that is itself an array or object of JSON")
        case .control, .nul: ("control_character", "a text with a control character")
        case .nonCharacter: ("character_excluded", "a text with U+FFFE or U+FFFF")
        case .lineEnds: ("text_lines", "a text with a carriage return")
        case .space: ("text_space", "a text of white space")
        case .number, .fraction, .writtenFraction, .exponent, .longReal: ("numbers_text", "a number")
        case .negativeZero: ("zero_sign", "a zero with a minus sign")
        case .largeInteger: ("integer_large", "an integer beyond 64 bits")
        case .hugeReal: ("real_large", "a number beyond the range of doubles")
        case .boolean: ("booleans_text", "a boolean")
        case .emptyArray: ("array_empty", "an empty array")
        case .array: ("array", "an array")
        case .arrayOfOne: ("array_of_one", "an array of one element")
        case .unsortedArray: ("array_sorted", "an array that isn't sorted")
        case .tenElements: ("array_long", "an array of more than ten elements")
        case .thirtyElements: ("array_long", "an array of more than twenty elements")
        case .nullInArray: ("null_in_array", "null in an array")
        case .arrayOfNulls: ("array_of_nulls", "an array of nulls alone")
        case .emptyTextInArray: ("text_empty_in_array", "an empty text in an array")
        case .emptyTextAlone: ("array_of_empty_text", "an array of one empty text")
        case .commaInArray: ("comma_in_array", "a text with a comma in an array")
        case .emptyArrayInArray: ("array_empty_in_array", "an empty array in an array")
        case .emptyObjectInArray: ("object_empty_in_array", "an empty object in an array")
        case .nestedArrays: ("array_nested", "an array in an array")
        case .objectsInArray: ("array_of_objects", "an array of objects")
        case .unlikeObjects: ("array_of_objects", "an array of objects with other keys")
        case .mixedObjects, .mixedArrays:
            ("array_mixed", "an array of single values that goes on with objects or arrays")
        case .objectsThenTexts: ("array_mixed", "an array of objects that goes on with single values")
        case .arraysInObjects: ("array_in_objects", "an array in an object in an array")
        case .emptyObject: ("object_empty", "an empty object")
        case .object: ("object_nested", "an object in another")
        case .deepObject: ("object_deep", "an object nested deeper than five levels")
        case .numberedKeys: ("object_numbered", "an object with the keys 0, 1, 2 and so on")
        case .gappedKeys: ("object_numbers", "an object whose keys are numbers, but not 0, 1, 2 and so on")
        case .numberAmongKeys: ("object_number", "an object with a number among its keys")
        case .brackets: ("name_marks", "a name with brackets")
        case .openBracket: ("name_bracket", "a name with a bracket that isn't closed")
        case .dot: ("name_dot", "a name with a dot")
        case .bracketsBelow: ("name_marks", "a name with brackets in an object below the root")
        case .dotBelow: ("name_dot", "a name with a dot in an object below the root")
        case .emptyName: ("name_empty_root", "an empty name")
        case .emptyNameBelow: ("name_empty", "an empty name in an object below the root")
        case .spaceInName, .spaceBeforeName: ("name_space", "a name with a space")
        case .nulInName, .nulInNameBelow: ("name_nul", "a name with a NUL")
        case .controlInName: ("name_control", "a name with a control character")
        case .escapeInName: ("name_escaped", "a name with a quotation mark or a line end")
        case .lineEndInName: ("name_lines", "a name with a line end")
        case .protoName: ("name_proto", "the name __proto__")
        case .digitName: ("name_digit", "a name that begins with a digit")
        case .colonName: ("name_colon", "a name with a colon")
        case .longName: ("name_long", "a name of more than 256 bytes")
        case .textMember, .textBeside, .textContainer: ("text_member", "a member #text")
        case .lateAttribute, .attributeContainer, .attributeNull: ("attribute", "a name that begins with @")
        case .severalFields: ("fields", "a document of more than one member")
        case .memberArray: ("member_array", "an array in the only member of the document")
        case .memberAttribute: ("member_attribute", "a document of attributes")
        case .emptyDocument: ("document_empty", "an empty document")
        case .documentArray: ("document_array", "a document that is an array")
        case .documentPairs: ("document_pairs", "a document that is an array of pairs")
        case .documentScalar: ("document_scalar", "a document that is a single value")
        case .documentNull: ("document_null", "a document that is null")
        }
    }
}
