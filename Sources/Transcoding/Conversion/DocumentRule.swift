internal import Octets

/// The field whose JSON text is the document, as webhooks send one in a form's `payload`. It is read before the map and the types,
/// whose paths are those of the document.
public struct DocumentRule: Hashable, Sendable {
    /// What happens to the fields beside it.
    public enum Rest: String, Hashable, Sendable, CaseIterable {
        /// The body is refused with 422.
        case reject
        /// They become members of the document, behind its own.
        case merge
        /// They are left out.
        case drop
    }

    /// Where the field stands; without `*`.
    public var path: FieldPath
    /// What happens to the others.
    public var rest = Rest.reject

    /// The field at that path is the document.
    public init(_ path: FieldPath) {
        self.path = path
    }
}

/// What can be wrong with a body whose document stands in a field.
internal enum DocumentFault: ConversionFault, CaseIterable {
    case missing, repeated, malformed, otherField, noObject, clash, file

    var row: ConversionError {
        switch self {
        case .missing:
            .malformed("document_missing", "the field that holds the document is not there", setting: "document")
        case .repeated:
            .malformed(
                "document_repeated", "the field that holds the document is there more than once", setting: "document")
        case .malformed: .malformed("document_malformed", "the field's text is no JSON", setting: "document")
        case .otherField:
            .unrepresentable(
                "document_other_field",
                "a field stands beside the one that is the document; choose rest: merge or drop",
                setting: "rest")
        case .noObject:
            .unrepresentable(
                "document_no_object", "the document is no object, so that other fields can't become its members",
                setting: "rest")
        case .file:
            .unrepresentable(
                "document_file",
                "a file stands beside the field that is the document; choose files: drop or rest: merge",
                setting: "files")
        case .clash:
            .unrepresentable("document_clash", "the document has a member of that name already", setting: "rest")
        }
    }
}

extension Tree {
    /// Makes the value at the rule's path the document. A text is read as JSON; what is a value already, as where `json_parts` has
    /// read it, is taken as it is.
    ///
    /// Not inlined: what reads a rule of the plan holds it, and most plans have none.
    @inline(never)
    internal mutating func takeDocument(
        of plan: borrowing ConversionPlan, splicer: inout JSONSplicer
    ) throws(ConversionError) {
        guard let rule = plan.document else { return }
        var found: [Node] = []
        if root != Tree.none { resolve(rule.path.segments[...], below: root, into: &found) }
        let spelling = rule.path.description
        guard let field = found.first, field != root else { throw DocumentFault.missing.error(field: spelling) }
        guard found.count == 1, kind(field) != .collected else { throw DocumentFault.repeated.error(field: spelling) }
        let outer = root
        let value = try readDocument(field, spelling, splicer: &splicer)
        conversionObserver?.becomes(value, from: field, of: self, by: "document \(spelling)")
        var parent = records[Int(field)].parent
        unlink(field)
        // What stood around it alone goes with it.
        while parent != outer, childCount(parent) == 0 {
            let above = records[Int(parent)].parent
            unlink(parent)
            parent = above
        }
        try settleRest(rule.rest, outer, value)
        root = value
    }

    private mutating func readDocument(
        _ field: Node, _ spelling: String, splicer: inout JSONSplicer
    ) throws(ConversionError) -> Node {
        guard kind(field) == .string else { return field }
        switch try splicer.splice(ByteStore(copying: text(field)), into: &self) {
        case .value(let value): return value
        case .malformed(let error):
            var fault = DocumentFault.malformed.error(field: spelling)
            fault.reason += ": \(error.reason)"
            throw fault
        }
    }

    /// What becomes of the fields that are left in `outer`.
    private mutating func settleRest(
        _ rest: DocumentRule.Rest, _ outer: Node, _ document: Node
    ) throws(ConversionError) {
        var child = firstChild(outer)
        guard child != Tree.none else { return }
        switch rest {
        case .reject: throw DocumentFault.otherField.error(field: path(child))
        case .drop:
            while child != Tree.none {
                conversionObserver?.removes(child, of: self, by: "rest: drop")
                removedCount += leafCount(child)
                child = nextSibling(child)
            }
        case .merge:
            guard kind(document).hasNames, kind(outer).hasNames else {
                throw DocumentFault.noObject.error(field: path(child))
            }
            while child != Tree.none {
                let next = nextSibling(child)
                guard self.child(of: document, named: name(child)) == Tree.none else {
                    throw DocumentFault.clash.error(field: path(child))
                }
                let (start, count) = nameRange(of: child)
                conversionObserver?.moves(child, of: self, by: "rest: merge")
                unlink(child)
                link(child, to: document, nameStart: start, nameCount: count)
                child = next
            }
        }
    }
}
