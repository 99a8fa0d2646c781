internal import CYAML

/// The events of a YAML text in their order, each once: what libyaml's parser finds. The one file that reads with the library.
///
/// After `end`, and after an error, there are no more.
@safe final class YAMLEvents {
    /// What a scalar, a sequence or a mapping may have in front of it.
    struct Properties {
        var anchor: String?
        var tag: String?
    }

    enum Content {
        case documentStart
        case alias(String)
        /// Its text without quotes and escapes, and whether there were no quotes and no sign of a block.
        case scalar(String, isPlain: Bool, Properties)
        case sequenceStart(Properties)
        case sequenceEnd
        case mappingStart(Properties)
        case mappingEnd
        case end
    }

    struct Event {
        var content: Content
        var position: SettingsNode.Position
    }

    /// Why the text can't be read on.
    struct Failure: Error {
        /// libyaml's words.
        var problem: String
        var position: SettingsNode.Position
        /// Its words for what it was reading, and where that began.
        var context: String?
        var start: SettingsNode.Position?
    }

    private let text: [UInt8]
    // SAFETY: these are made in init and freed in deinit alone. libyaml keeps the parser's own address and that of the bytes, so
    // both are memory that never moves.
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let bytes: UnsafeMutablePointer<UInt8>

    init(_ text: String) {
        self.text = Array(text.utf8)
        // SAFETY: the buffer has room for the text, and at least one byte; the parser is initialized before it is used. The
        // initialization fails where there is no memory, which ends a Swift program anyway.
        unsafe bytes = .allocate(capacity: max(self.text.count, 1))
        for (index, byte) in self.text.enumerated() { unsafe bytes[index] = byte }
        unsafe parser = .allocate(capacity: 1)
        guard unsafe yaml_parser_initialize(parser) == 1 else { fatalError("no memory for a YAML parser") }
        unsafe yaml_parser_set_input_string(parser, bytes, self.text.count)
        unsafe yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
    }

    deinit {
        // SAFETY: nothing else has these pointers.
        unsafe yaml_parser_delete(parser)
        unsafe parser.deallocate()
        unsafe bytes.deallocate()
    }

    func next() throws(Failure) -> Event {
        while true {
            // SAFETY: the event is libyaml's to fill and ours to delete, once, after all in it was copied.
            var event = unsafe yaml_event_t()
            guard unsafe yaml_parser_parse(parser, &event) == 1 else { throw failure() }
            defer { unsafe yaml_event_delete(&event) }
            if let content = unsafe Self.content(event) {
                return unsafe Event(content: content, position: Self.position(event.start_mark))
            }
        }
    }

    /// Nil for the start of the stream and the end of a document, which say nothing.
    private static func content(_ event: yaml_event_t) -> Content? {
        // SAFETY: which member of the union is there is what the type says. Texts are UTF-8 as the input is, and end with a null
        // byte; a scalar's may have others and comes with its length.
        switch unsafe event.type {
        case YAML_DOCUMENT_START_EVENT: return .documentStart
        case YAML_ALIAS_EVENT: return unsafe .alias(string(event.data.alias.anchor) ?? "")
        case YAML_SCALAR_EVENT:
            let scalar = unsafe event.data.scalar
            let value = unsafe UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            return unsafe .scalar(
                String(decoding: value, as: UTF8.self), isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE,
                Properties(anchor: string(scalar.anchor), tag: string(scalar.tag)))
        case YAML_SEQUENCE_START_EVENT:
            let sequence = unsafe event.data.sequence_start
            return unsafe .sequenceStart(Properties(anchor: string(sequence.anchor), tag: string(sequence.tag)))
        case YAML_SEQUENCE_END_EVENT: return .sequenceEnd
        case YAML_MAPPING_START_EVENT:
            let mapping = unsafe event.data.mapping_start
            return unsafe .mappingStart(Properties(anchor: string(mapping.anchor), tag: string(mapping.tag)))
        case YAML_MAPPING_END_EVENT: return .mappingEnd
        // After the end libyaml says that there is no event.
        case YAML_STREAM_END_EVENT, YAML_NO_EVENT: return .end
        default: return nil
        }
    }

    private func failure() -> Failure {
        // SAFETY: the parser's texts are constants of libyaml, or nil.
        let state = unsafe parser.pointee
        let problem = unsafe state.problem.map { unsafe String(cString: $0) } ?? "there is no memory for it"
        if unsafe state.error == YAML_READER_ERROR {
            return unsafe Failure(problem: problem, position: position(ofByte: state.problem_offset))
        }
        guard let context = unsafe state.context else {
            return unsafe Failure(problem: problem, position: Self.position(state.problem_mark))
        }
        return unsafe Failure(
            problem: problem, position: Self.position(state.problem_mark), context: String(cString: context),
            start: Self.position(state.context_mark))
    }

    private static func string(_ text: UnsafeMutablePointer<yaml_char_t>?) -> String? {
        // SAFETY: see content(_:).
        unsafe text.map { unsafe String(cString: $0) }
    }

    /// Lines and columns are counted from 0 by libyaml, in characters.
    private static func position(_ mark: yaml_mark_t) -> SettingsNode.Position {
        .init(line: Int(mark.line) + 1, column: Int(mark.column) + 1)
    }

    /// The place of a byte, which is all that is known of what libyaml refuses before it counts lines.
    private func position(ofByte offset: Int) -> SettingsNode.Position {
        let before = String(decoding: text.prefix(offset), as: UTF8.self).unicodeScalars
            .split(separator: "\n", omittingEmptySubsequences: false)
        return .init(line: max(before.count, 1), column: (before.last?.count ?? 0) + 1)
    }
}
