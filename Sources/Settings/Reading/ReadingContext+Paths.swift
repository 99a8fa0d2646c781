internal import Transcoding

/// The readers of places in a document.
extension ReadingContext {
    /// The path that a key is.
    func fieldPath(_ member: SettingsNode.Member) -> FieldPath? {
        let key = SettingsNode(position: member.position, content: .scalar(member.key, isPlain: true))
        return fieldPath(member.key, in: key, offset: 0)
    }

    /// The path that a single value is.
    func fieldPath(_ node: SettingsNode, _ what: String) -> FieldPath? {
        text(node, what).flatMap { fieldPath($0, in: node, offset: 0) }
    }

    /// Reads `text`, which stands in `node` from `offset` on.
    func fieldPath(_ text: String, in node: SettingsNode, offset: Int) -> FieldPath? {
        do {
            return try FieldPath(parsing: text)
        } catch {
            let end = text.utf8.index(text.startIndex, offsetBy: error.offset ?? 0, limitedBy: text.endIndex)
            let scalars = text.unicodeScalars[..<(end ?? text.endIndex)].count
            report(position(in: node, offset: offset + scalars), error.reason)
            return nil
        }
    }
}
