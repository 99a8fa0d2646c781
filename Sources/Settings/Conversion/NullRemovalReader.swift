internal import Transcoding

extension SectionReader {
    /// Reads `remove_nulls`: a word, or `true` for AFNetworking's rule and `false` for none.
    func nullRemoval(_ context: ReadingContext) -> NullRemoval? {
        let words = NullRemoval.allCases.map(\.rawValue) + ["true", "false"]
        offer("remove_nulls", words, standard: NullRemoval.off.rawValue)
        guard let node = take("remove_nulls") else {
            record("remove_nulls", NullRemoval.off.rawValue, .standard)
            return nil
        }
        guard let word = context.word(node, "\"remove_nulls\"", among: words) else { return nil }
        let removal = NullRemoval(rawValue: word) ?? (word == "true" ? .deep : .off)
        record("remove_nulls", removal.rawValue, .line(node.position.line))
        return removal
    }
}
