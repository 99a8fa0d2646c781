internal import Octets

/// Reads a JSON text that stands in one field into the tree that the field belongs to.
internal struct JSONSplicer: ~Copyable {
    enum Result {
        case value(Tree.Node)
        /// The text is no JSON; the tree is as before.
        case malformed(ConversionError)
    }

    private var decoder: JSON.Decoder

    init(duplicates: DuplicatePolicy, limits: Limits) {
        // The tree does `first` and `last` itself and counts what they leave out.
        var options = JSON.DecodingOptions()
        options.duplicates = duplicates == .reject ? .reject : .keep
        decoder = JSON.Decoder(options: options, limits: limits)
    }

    /// Builds the value of `text`, which then stands nowhere. Throws when a limit is passed.
    mutating func splice(_ text: ByteStore, into tree: inout Tree) throws(ConversionError) -> Result {
        let mark = tree.beginDetached()
        decoder.reset()
        do throws(ConversionError) {
            let consumed = try decoder.feed(text.span, into: &tree)
            precondition(consumed == text.count, "a tree is never full")
            try decoder.finish(into: &tree)
        } catch {
            if error.kind == .limit { throw error }
            tree.rollBack(mark)
            return .malformed(error)
        }
        return .value(tree.endDetached(mark))
    }
}
