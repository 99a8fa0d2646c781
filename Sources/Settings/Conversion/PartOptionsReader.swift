internal import Transcoding

extension ConversionReader {
    /// Reads how texts and parts of a flat input are read: charsets, transfer encodings, bodies in parts, JSON in parts.
    func readParts(_ options: SectionReader, _ inputs: Set<BodyEncoding>, _ fields: inout FieldDecodingOptions) {
        options.offer("charset", standard: Charset.utf8.name)
        if let node = options.take("charset") { fields.charsets = charsets(node, options) }
        options.word("charset_hint", into: &fields.charsetHint)
        guard inputs.contains(.multipart) else { return }
        options.word("transfer_encoding", into: &fields.transferEncoding)
        // XML has a `mixed` of its own, and `auto` may be either.
        options.word("mixed_parts", into: &fields.mixed)
        options.word("json_parts", into: &fields.jsonParts)
        if let node = options.take("file_types") { fields.fileTypes = fileTypes(node, options) }
    }

    /// One media type or a list, of which a part is a file.
    private func fileTypes(_ node: SettingsNode, _ options: SectionReader) -> [MediaPattern] {
        let types = context.mediaPatterns(node, "\"file_types\"")
        options.record("file_types", types.map(\.text).joined(separator: ", "), .line(node.position.line))
        return types
    }

    /// One charset or a list, of which the first is for texts that name none. UTF-8 alone need not be said.
    private func charsets(_ node: SettingsNode, _ options: SectionReader) -> [Charset] {
        var elements = [node]
        if case .sequence(let list) = node.content { elements = list }
        if elements.isEmpty {
            context.report(node.position, "\"charset\" takes at least one charset, as in iso-8859-1")
        }
        let charsets = elements.compactMap { element -> Charset? in
            guard let text = context.text(element, "\"charset\"") else { return nil }
            guard let charset = Charset(label: text) else {
                context.report(
                    element.position,
                    "\"charset\": \"\(text)\" is no label of the WHATWG Encoding standard that is read here")
                return nil
            }
            if !charset.isInstalled {
                context.report(element.position, "\"charset\": this system can't read \(charset.name)")
            }
            return charset
        }
        options.record("charset", charsets.map(\.name).joined(separator: ", "), .line(node.position.line))
        return charsets == [.utf8] ? [] : charsets
    }

    /// Reads `parts: {payload: json}`: the values that become one part with a JSON text.
    func readJSONParts(_ options: SectionReader, _ plan: inout ConversionPlan) {
        guard let node = options.take("parts"), let section = SectionReader(node, "\"parts\"", context) else { return }
        for member in section.remaining {
            guard let value = section.take(member.key),
                context.word(value, "\"\(member.key)\"", among: ["json"]) != nil, let path = context.fieldPath(member)
            else { continue }
            plan.jsonParts.append(path)
            options.record("parts.\(member.key)", "json", .line(member.position.line))
        }
    }
}
