internal import Transcoding

/// Reads the options of XML on either side.
struct XMLOptionReader {
    static let inputWords = [
        "attribute_prefix", "text_key", "always_array", "empty", "namespaces", "convention", "recognize", "root",
        "mixed",
    ]
    static let outputWords = [
        "root", "root_name", "item_name", "attribute_prefix", "text_key", "declaration", "indentation", "convention",
        "names", "mixed",
    ]

    /// What `convention: lossless` has no use for: its vocabulary has an element for each type of value, and a name for none.
    private static let attributesAlone = [
        "attribute_prefix", "text_key", "always_array", "empty", "namespaces", "recognize", "root", "root_name",
        "item_name", "mixed", "names", "nulls", "empties",
    ]

    let context: ReadingContext

    func input(_ options: SectionReader, _ xml: inout XML.DecodingOptions) {
        readConvention(options, &xml.convention)
        xml.attributePrefix = text("attribute_prefix", options, standard: xml.attributePrefix)
        xml.textKey = text("text_key", options, standard: xml.textKey)
        options.word("empty", into: &xml.empty)
        options.word("namespaces", into: &xml.namespaces)
        options.word("root", into: &xml.root)
        options.word("mixed", into: &xml.mixed)
        if let node = options.take("always_array") {
            for element in context.elements(node, "\"always_array\"") ?? [] {
                guard let path = context.fieldPath(element, "\"always_array\"") else { continue }
                if path.segments.contains(where: { if case .index = $0 { true } else { false } }) {
                    context.report(element.position, "a path of \"always_array\" names elements, without numbers")
                    continue
                }
                xml.alwaysArray.append(path)
                options.record("always_array", path.description, .line(element.position.line))
            }
        }
        let words = ["numbers", "booleans", "nulls"]
        options.offer("recognize", words)
        if let node = options.take("recognize") {
            for element in context.elements(node, "\"recognize\"") ?? [] {
                guard let word = context.word(element, "\"recognize\"", among: words) else { continue }
                switch word {
                case "numbers": xml.recognize.insert(.numbers)
                case "booleans": xml.recognize.insert(.booleans)
                default: xml.recognize.insert(.nulls)
                }
                options.record("recognize", word, .line(element.position.line))
            }
        }
    }

    func output(_ options: SectionReader, _ xml: inout XML.EncodingOptions) {
        readConvention(options, &xml.convention)
        xml.rootName = text("root_name", options, standard: xml.rootName)
        xml.itemName = text("item_name", options, standard: xml.itemName)
        xml.attributePrefix = text("attribute_prefix", options, standard: xml.attributePrefix)
        xml.textKey = text("text_key", options, standard: xml.textKey)
        options.word("root", into: &xml.root)
        options.word("nulls", into: &xml.nulls)
        options.word("empties", into: &xml.empties)
        options.word("names", into: &xml.names)
        options.word("mixed", into: &xml.mixed)
        let truths = ["true", "false"]
        options.offer("declaration", truths, standard: String(xml.declaration))
        if let node = options.take("declaration"), let word = context.word(node, "\"declaration\"", among: truths) {
            xml.declaration = word == "true"
            options.record("declaration", word, .line(node.position.line))
        }
        options.offer("indentation", standard: String(xml.indentation))
        if let node = options.take("indentation"), let word = context.text(node, "\"indentation\"") {
            guard let spaces = Int(word), (0...16).contains(spaces) else {
                return context.report(node.position, "\"indentation\" is a number of spaces from 0 to 16")
            }
            xml.indentation = spaces
            options.record("indentation", word, .line(node.position.line))
        }
    }

    /// Reads `convention`, and refuses what would have no effect under it.
    private func readConvention(_ options: SectionReader, _ convention: inout XML.Convention) {
        options.word("convention", into: &convention)
        guard convention == .lossless else { return }
        for key in Self.attributesAlone {
            options.refuse(key, "is for convention: attributes: lossless carries everything in one way")
        }
    }

    private func text(_ key: String, _ options: SectionReader, standard: String) -> String {
        options.offer(key, standard: standard)
        guard let node = options.take(key), let text = context.text(node, "\"\(key)\"") else { return standard }
        options.record(key, text, .line(node.position.line))
        return text
    }
}
