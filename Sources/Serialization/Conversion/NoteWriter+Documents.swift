// What property lists and XML can't carry.
extension NoteWriter {
    mutating func writePropertyList() {
        let options = plan.propertyListEncoding
        if has(.nulls) {
            switch options.nulls {
            case .omit:
                omitted("null_omitted", "null in an object", "nulls: empty carries it as an empty text")
                if has(.arrays) {
                    refused("null_in_array", "null in an array", "nulls: empty carries it as an empty text")
                }
            case .empty:
                altered("null_empty", "null", "becomes an empty text", "nulls: reject keeps it apart")
            case .key, .literal, .reject:
                refused("null_rejected", "null", "nulls: empty carries it as an empty text")
            }
        }
        if has(.largeIntegers) {
            switch options.largeIntegers {
            case .reject:
                refused(
                    "integer_large", "an integer beyond 64 bits", "large_integers: string carries it as a text")
            case .real:
                altered(
                    "integer_real", "an integer beyond 64 bits", "becomes a real, of which readers keep 16 digits",
                    "large_integers: reject keeps it apart")
            case .string:
                altered(
                    "integer_text", "an integer beyond 64 bits", "becomes a text",
                    "large_integers: reject keeps it apart")
            }
        }
        if has(.longReals), plan.output == .bplist {
            altered("real_rounded", "a number with a fraction", "becomes the nearest double", "plist keeps its text")
        }
        if has(.dates), plan.output == .plist {
            if options.dateFractions == .drop {
                altered("date_fraction", "a date with fractions of a second", "loses them", "bplist keeps them")
            } else {
                refused("date_fraction_rejected", "a date with fractions of a second", "bplist carries it")
            }
        }
        if has(.controls), plan.output == .plist {
            refused("control_character", "a text with a control character", "bplist carries it")
        }
    }

    mutating func writeXML() {
        writeScalarsOfPropertyLists()
        if has(.controls) { refused("control_character", "a text with a control character", nil) }
        guard plan.xmlEncoding.convention == .attributes else { return }
        writeNullsOfXML()
        writeArraysOfXML()
        writeNamesOfXML()
        if has(.numbers) {
            altered(
                "numbers_text", "a number", "becomes a text",
                "recognize: numbers makes it one where it is read, convention: lossless keeps it")
        }
        if has(.booleans) {
            altered(
                "booleans_text", "a boolean", "becomes a text",
                "recognize: booleans makes it one where it is read, convention: lossless keeps it")
        }
    }

    private mutating func writeNullsOfXML() {
        let remedy = "nulls: nil, read with recognize: nulls, keeps it apart"
        if has(.nulls) {
            switch plan.xmlEncoding.nulls {
            case .empty:
                altered("null_empty", "null", "becomes an empty element, as an empty text does", remedy)
            case .nilAttribute: break
            case .omit: omitted("null_omitted", "null", remedy)
            case .reject: refused("null_rejected", "null", "nulls: nil carries it")
            }
        } else if has(.strings) {
            altered(
                "text_empty", "an empty text", "becomes an empty element, which reads as null",
                "empty: string keeps it where it is read")
        }
        if has(.emptyObjects) {
            altered(
                "object_empty", "an empty object", "becomes an empty element, as an empty text does",
                "convention: lossless keeps it apart")
        }
        guard has(.emptyArrays) else { return }
        let lossless = "convention: lossless carries it"
        switch plan.xmlEncoding.empties {
        case .reject: refused("array_empty_rejected", "an empty array", lossless)
        case .omit: omitted("array_empty_omitted", "an empty array", lossless)
        case .marker:
            altered(
                "array_empty_marker", "an empty array", "becomes an empty element, as an empty text does", lossless)
        }
    }

    private mutating func writeArraysOfXML() {
        guard has(.arrays) else { return }
        altered(
            "array_of_one", "an array of one element", "reads back as that element",
            "always_array keeps it where it is read, convention: lossless everywhere")
        if has(.nestedArrays) {
            altered(
                "array_nested", "an array in an array", "reads back as an object with \(plan.xmlEncoding.itemName)",
                "convention: lossless carries it")
        }
    }

    private mutating func writeNamesOfXML() {
        let options = plan.xmlEncoding
        let lossless = "convention: lossless carries it"
        if has(.brackets) || has(.otherNames) || has(.numberedKeys) {
            if options.names == .item {
                altered(
                    "name_item", "a name that XML doesn't take",
                    "becomes an attribute of the element \(options.itemName)", lossless)
            } else {
                refused("name_rejected", "a name that XML doesn't take", "names: item carries it as an attribute")
            }
            if !options.attributePrefix.isEmpty {
                refused(
                    "attribute", "a name that begins with \(options.attributePrefix)", lossless,
                    effect: "is an attribute, refused where it comes after others or isn't of a single value")
            }
        }
        guard has(.severalFields) else { return }
        switch options.root {
        case .member: refused("root_rejected", "a document of more than one member", "root: auto or wrap carries it")
        case .auto:
            altered(
                "root_wrapped", "a document of more than one member",
                "gets a root element \(options.rootName), which is a member where it is read",
                "root: wrap, read with root: drop, keeps all documents alike")
        case .wrap: break
        }
    }
}
