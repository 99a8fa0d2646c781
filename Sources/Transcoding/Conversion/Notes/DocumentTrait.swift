/// Something that a document may have and an output perhaps can't carry. Each has a sample: what becomes of that is what a note
/// says (`TraitProbe`), so the encoders decide, and no table of what they do can part from them.
///
/// In the order in which notes are shown.
internal enum DocumentTrait: Int, CaseIterable {
    // Scalars.
    case null, emptyText, comma, arrayText, objectText, control, nul, nonCharacter, lineEnds, space
    case number, fraction, writtenFraction, exponent, negativeZero, longReal, largeInteger, hugeReal, boolean
    // Arrays.
    case emptyArray, array, arrayOfOne, unsortedArray, tenElements, thirtyElements
    case nullInArray, arrayOfNulls, emptyTextInArray, emptyTextAlone, commaInArray, emptyArrayInArray,
        emptyObjectInArray
    case nestedArrays, objectsInArray, unlikeObjects, mixedObjects, mixedArrays, objectsThenTexts, arraysInObjects
    // Objects.
    case emptyObject, object, deepObject, numberedKeys, gappedKeys, numberAmongKeys
    // Names.
    case brackets, openBracket, dot, bracketsBelow, dotBelow, emptyName, emptyNameBelow, spaceInName, spaceBeforeName
    case nulInName, nulInNameBelow, controlInName, escapeInName, lineEndInName, protoName
    case digitName, colonName, longName, textMember, textBeside, textContainer, lateAttribute, attributeContainer
    case attributeNull
    // The document.
    case severalFields, memberArray, memberAttribute, emptyDocument, documentArray, documentPairs, documentScalar
    case documentNull

    /// Where a sample stands in a document.
    enum Scope {
        /// It is the document.
        case document
        /// It is an object that is the document, or the root element in XML.
        case members
        /// It is the value of a member of such an object.
        case value
    }

    struct Row {
        /// JSON without white space.
        let sample: String
        /// The sample with its members in the order of their names.
        let sorted: String
        let scope: Scope
        /// What an input must be able to say so that the trait can come in.
        let requires: InputFeatures
        /// Traits that the sample has besides. What becomes of them is not said again.
        let parts: [DocumentTrait]

        init(_ sample: String, _ scope: Scope, _ requires: InputFeatures, _ parts: [DocumentTrait], sorted: String?) {
            self.sample = sample
            self.sorted = sorted ?? sample
            self.scope = scope
            self.requires = requires
            self.parts = parts
        }
    }

    var row: Row { Self.rows[rawValue] }
    private static let rows = allCases.map(\.makeRow)

    /// A value of a member.
    private static func value(_ sample: String, _ requires: InputFeatures, _ parts: DocumentTrait...) -> Row {
        Row(sample, .value, requires, parts, sorted: nil)
    }

    /// The members of an object.
    private static func members(
        _ sample: String, sorted: String? = nil, _ requires: InputFeatures, _ parts: DocumentTrait...
    ) -> Row {
        Row(sample, .members, requires, parts, sorted: sorted)
    }

    private static func document(_ sample: String, _ requires: InputFeatures, _ parts: DocumentTrait...) -> Row {
        Row(sample, .document, requires, parts, sorted: nil)
    }

    /// An array of `count` texts, in order.
    private static func texts(_ count: Int) -> String {
        "[" + (0..<count).map { "\"a\($0 < 10 ? "0" : "")\($0)\"" }.joined(separator: ",") + "]"
    }

    private var makeRow: Row {
        switch self {
        case .null: Self.value("null", .nulls)
        case .emptyText: Self.value(#""""#, .emptyTexts)
        case .comma: Self.value(#""x,y""#, .strings)
        case .arrayText: Self.value(##""[\"x\"]""##, .strings)
        case .objectText: Self.value(##""{\"b\":\"x\"}""##, .strings)
        case .control: Self.value(##""x\u0001""##, .controls)
        case .nul: Self.value(##""x\u0000y""##, .controls, .control)
        case .nonCharacter: Self.value("\"x\u{FFFE}\"", .controls)
        case .lineEnds: Self.value(##""x\ry\r\nz\n""##, .strings)
        case .space: Self.value(#"" ""#, .strings)
        case .number: Self.value("12", .numbers)
        case .fraction: Self.value("1.5", .numbers)
        case .writtenFraction: Self.value("1.50", [.numbers, .longReals])
        case .exponent: Self.value("1e2", [.numbers, .longReals])
        case .negativeZero: Self.value("-0", [.numbers, .longReals, .largeIntegers])
        case .longReal: Self.value("0.10000000000000000555", [.numbers, .longReals])
        case .largeInteger: Self.value("18446744073709551616", [.numbers, .largeIntegers])
        case .hugeReal: Self.value("1e999", [.numbers, .largeIntegers, .longReals])
        case .boolean: Self.value("true", .booleans)

        case .emptyArray: Self.value("[]", .emptyArrays)
        case .array: Self.value(#"["x","y"]"#, .arrays)
        case .arrayOfOne: Self.value(#"["x"]"#, .arrays, .array)
        case .unsortedArray: Self.value(#"["y","x"]"#, .arrays, .array)
        case .tenElements: Self.value(Self.texts(12), .arrays, .array)
        case .thirtyElements: Self.value(Self.texts(30), .arrays, .array, .tenElements)
        case .nullInArray: Self.value(#"["x",null,"y"]"#, [.arrays, .nulls], .array, .null)
        case .arrayOfNulls:
            Self.value("[null]", [.arrays, .nulls], .array, .arrayOfOne, .null, .nullInArray, .emptyArray)
        case .emptyTextInArray: Self.value(#"["","x","y"]"#, [.arrays, .emptyTexts], .array, .emptyText)
        case .emptyTextAlone:
            Self.value(#"[""]"#, [.arrays, .emptyTexts], .array, .arrayOfOne, .emptyText, .emptyTextInArray)
        case .commaInArray: Self.value(#"["x,y","z"]"#, [.arrays, .strings], .array)
        case .emptyArrayInArray:
            Self.value(#"[["x"],[],["y"]]"#, [.nestedArrays, .emptyArrays], .array, .nestedArrays, .emptyArray)
        case .emptyObjectInArray:
            Self.value(
                #"[{"b":"x"},{},{"b":"y"}]"#, [.objectsInArrays, .emptyObjects], .array, .objectsInArray, .emptyObject)
        case .nestedArrays: Self.value(#"[["u","v"],["x","y"]]"#, [.arrays, .nestedArrays], .array)
        case .objectsInArray:
            Self.value(#"[{"b":"u","c":"v"},{"b":"x","c":"y"}]"#, [.arrays, .objectsInArrays], .array, .object)
        case .unlikeObjects:
            Self.value(#"[{"b":"x"},{"c":"y"}]"#, [.arrays, .objectsInArrays], .array, .object, .objectsInArray)
        case .mixedObjects:
            Self.value(#"["x",{"b":"y"}]"#, [.arrays, .objectsInArrays], .array, .object, .objectsInArray)
        case .mixedArrays: Self.value(#"["x",["y","z"]]"#, [.arrays, .nestedArrays], .array, .nestedArrays)
        case .objectsThenTexts:
            Self.value(
                #"[{"b":"x"},"y"]"#, [.arrays, .objectsInArrays], .array, .object, .objectsInArray, .mixedObjects)
        case .arraysInObjects:
            Self.value(
                #"[{"b":["u","v"]},{"b":["x","y"]}]"#, [.arrays, .objectsInArrays], .array, .object, .objectsInArray,
                .unlikeObjects)

        case .emptyObject: Self.value("{}", .emptyObjects)
        case .object: Self.value(#"{"b":"x"}"#, .nestedObjects)
        case .deepObject:
            Self.value(#"{"b":{"c":{"d":{"e":{"f":{"g":{"h":"x"}}}}}}}"#, .nestedObjects, .object)
        case .numberedKeys: Self.value(#"{"0":"x","1":"y"}"#, [.nestedObjects, .numberedKeys], .object, .digitName)
        case .gappedKeys:
            Self.value(#"{"3":"x","5":"y"}"#, [.nestedObjects, .numberedKeys], .object, .numberedKeys, .digitName)
        case .numberAmongKeys:
            Self.value(
                #"{"0":"x","b":"y"}"#, [.nestedObjects, .numberedKeys], .object, .numberedKeys, .gappedKeys, .digitName)

        case .brackets: Self.members(#"{"a[b]":"x"}"#, .brackets)
        case .openBracket: Self.members(#"{"a[b":"x"}"#, .brackets, .brackets)
        case .dot: Self.members(#"{"a.b":"x"}"#, .dots)
        case .bracketsBelow: Self.members(#"{"o":{"a[b]":"x"}}"#, [.brackets, .nestedObjects], .object, .brackets)
        case .dotBelow: Self.members(#"{"o":{"a.b":"x"}}"#, [.dots, .nestedObjects], .object, .dot)
        case .emptyName: Self.members(#"{"":"x","b":"y"}"#, .otherNames)
        case .emptyNameBelow:
            Self.members(#"{"o":{"":"x"}}"#, [.otherNames, .nestedObjects], .object, .emptyName)
        case .spaceInName: Self.members(#"{"a b":"x"}"#, .otherNames)
        case .spaceBeforeName: Self.members(#"{" a":"x"}"#, .otherNames, .spaceInName)
        case .nulInName: Self.members(##"{"a\u0000b":"x"}"##, .otherNames, .controlInName)
        case .nulInNameBelow:
            Self.members(##"{"o":{"a\u0000b":"x"}}"##, [.otherNames, .nestedObjects], .object, .nulInName)
        case .controlInName: Self.members(##"{"a\u0001b":"x"}"##, .otherNames)
        case .escapeInName: Self.members(##"{"a%22b":"x"}"##, .otherNames)
        case .lineEndInName: Self.members(##"{"a\nb":"x"}"##, .otherNames, .escapeInName)
        case .protoName: Self.members(#"{"__proto__":"x"}"#, .otherNames)
        case .digitName: Self.members(#"{"1a":"x"}"#, .freeNames)
        case .colonName: Self.members(#"{"p:a":"x"}"#, .otherNames)
        case .longName:
            Self.members("{\"" + String(repeating: "n", count: 300) + "\":\"x\"}", .otherNames, .digitName)
        case .textMember: Self.members(##"{"#text":"x"}"##, .otherNames)
        case .textBeside: Self.members(##"{"#text":"x","b":"y"}"##, .otherNames)
        case .textContainer: Self.members(##"{"#text":["x","y"]}"##, [.otherNames, .arrays], .array)
        case .lateAttribute: Self.members(#"{"a":"x","@b":"y"}"#, sorted: #"{"@b":"y","a":"x"}"#, .otherNames)
        case .attributeContainer: Self.members(#"{"@b":["x","y"]}"#, [.otherNames, .arrays], .array)
        case .attributeNull: Self.members(#"{"@b":null,"c":"x"}"#, [.otherNames, .nulls], .null)

        case .severalFields: Self.document(#"{"a":"x","b":"y"}"#, .severalFields)
        case .memberArray: Self.document(#"{"a":["x","y"]}"#, .arrays, .array)
        case .memberAttribute: Self.document(#"{"@a":"x"}"#, .otherNames)
        case .emptyDocument: Self.document("{}", .emptyDocuments)
        case .documentArray: Self.document(#"["x","y"]"#, .documentArrays)
        case .documentPairs: Self.document(#"[["a","x"],["b","y"]]"#, [.documentArrays, .nestedArrays], .documentArray)
        case .documentScalar: Self.document(#""x""#, .documentScalars)
        case .documentNull: Self.document("null", [.documentScalars, .nulls], .documentScalar)
        }
    }

    /// The sample as a document for `output`, and what it reads as with its members in order.
    func document(for output: BodyEncoding, field: String?) -> (text: String, sorted: String) {
        let row = row
        let (start, end) =
            switch (row.scope, output) {
            case (.value, .text) where field == nil: ("", "")
            // The root element has rules of its own, which other traits are for.
            case (.value, .xml): ("{\"r\":{\"a\":", "}}")
            case (.value, _): ("{\"a\":", "}")
            case (.members, .xml): ("{\"r\":", "}")
            case (.members, _), (.document, _): ("", "")
            }
        return (start + row.sample + end, start + row.sorted + end)
    }
}
