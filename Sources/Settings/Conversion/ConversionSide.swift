/// One side of a conversion as it is written: an encoding's word and its options.
struct ConversionSide {
    var encoding: String
    /// Where the word stands.
    var position: SettingsNode.Position
    var options: SectionReader

    /// Reads a side from the settings: `json`, or `{as: json, arrays: indices}`. `path` leads to it.
    init?(_ node: SettingsNode, _ key: String, path: String, _ context: ReadingContext) {
        if case .scalar = node.content {
            guard let word = context.text(node, "\"\(key)\"") else { return nil }
            encoding = word
            position = node.position
            options = .absent("\"\(key)\"", path: path, context)
        } else {
            guard let section = SectionReader(node, "\"\(key)\"", path: path, context),
                let name = section.required("as", example: "json"), let word = context.text(name, "\"as\"")
            else { return nil }
            encoding = word
            position = name.position
            options = section
        }
    }

    init(encoding: String, position: SettingsNode.Position, options: SectionReader) {
        self.encoding = encoding
        self.position = position
        self.options = options
    }
}
