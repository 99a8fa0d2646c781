/// Hears from the rules of a plan what they do with the values of a tree and with the parts of a flat body, where a conversion is
/// explained. Those that convert for a client have none, and tell nothing.
internal final class ConversionObserver: TreeObserver {
    /// Where the value of a node came from.
    struct Origin {
        /// Nil: the route made it.
        var source: String?
        var rules: [String] = []
    }

    /// A value before its type is declared.
    struct TypedValue {
        fileprivate var parent: Tree.Node
        fileprivate var position: Int
    }

    /// Whether a renamed member stays where it stands, as it does where values pass one by one; on a tree it goes last.
    let renamesInPlace: Bool
    var origins: [Tree.Node: Origin] = [:]
    /// What was left out, in the order of the rules.
    var removed: [ConversionTrace.Entry] = []
    /// The rules that concern the part at hand, in the order they did.
    private(set) var partRules: [String] = []
    private var causes: [Tree.Node: String] = [:]

    /// Whether a document is being read: its paths are the origins of what is left out.
    private var readsDocument: Bool
    /// The rule by which a field takes the place of another one, or is too late for it.
    private let replacedBy: String

    init(readsDocument: Bool, renamesInPlace: Bool, replacedBy: String) {
        self.readsDocument = readsDocument
        self.renamesInPlace = renamesInPlace
        self.replacedBy = replacedBy
    }

    // MARK: Parts

    /// A part begins.
    func beginPart() { partRules.removeAll() }

    /// A rule concerns the part at hand.
    func concerns(_ rule: String) { partRules.append(rule) }

    // MARK: Values

    /// The document has been read. Values of which no origin is known yet came from their own paths.
    func isRead(_ tree: borrowing Tree) {
        readsDocument = false
        for leaf in origins.keys.sorted() where !tree.isPart(leaf) { removes(leaf, of: tree, by: replacedBy) }
        tree.visit(tree.root) { node, tree in
            if origins[node] == nil { origins[node] = Origin(source: tree.tracedPath(node)) }
        }
    }

    /// A rule will leave out all that stands at these nodes.
    func willRemove(_ nodes: ArraySlice<Tree.Node>, by rule: String) {
        for node in nodes where causes[node] == nil { causes[node] = rule }
    }

    /// The node is left out, with all below.
    func removes(_ node: Tree.Node, of tree: borrowing Tree, by rule: String) {
        removes(node, of: tree, because: rule)
    }

    /// The node is left out, with all below, by the rule that `willRemove` named.
    func removes(_ node: Tree.Node, of tree: borrowing Tree) { removes(node, of: tree, because: nil) }

    private func removes(_ node: Tree.Node, of tree: borrowing Tree, because rule: String?) {
        for leaf in tree.leaves(below: node) {
            guard let origin = readsDocument ? Origin(source: tree.tracedPath(leaf)) : origins[leaf] else { continue }
            removed.append(
                .init(source: origin.source, target: nil, rules: origin.rules + [rule ?? causes[node] ?? ""]))
        }
    }

    /// A later value of a member, of which the first one counts, is left out before it is read.
    func skips(valueAfter first: Tree.Node, of tree: borrowing Tree, by rule: String) {
        guard readsDocument else { return }
        removed.append(.init(source: tree.tracedPath(first), target: nil, rules: [rule]))
    }

    /// The node goes to another place, with all below.
    func moves(_ node: Tree.Node, of tree: borrowing Tree, by rule: String) {
        for leaf in tree.leaves(below: node) { origins[leaf]?.rules.append(rule) }
    }

    /// A rule has made the values that nothing is known of.
    func made(_ tree: borrowing Tree, by rule: String) {
        adopt(tree, below: tree.root, Origin(source: nil, rules: [rule]))
    }

    /// A type is declared for the value. Nil where that changes nothing.
    func willType(_ node: Tree.Node, of tree: borrowing Tree) -> TypedValue? {
        guard tree.kind(node) != .null, node != tree.root else { return nil }
        return TypedValue(parent: tree.parent(node), position: tree.position(node))
    }

    /// The value has that type now; others may stand in its place or below.
    func didType(_ node: Tree.Node, _ value: TypedValue, of tree: borrowing Tree, by rule: String) {
        origins[node]?.rules.append(rule)
        if tree.kind(node).isContainer {
            for leaf in tree.leaves(below: node) where leaf != node { origins[leaf]?.rules.append(rule) }
        }
        adopt(tree, below: tree.child(of: value.parent, at: value.position), origins[node] ?? Origin())
    }

    private func adopt(_ tree: borrowing Tree, below node: Tree.Node, _ origin: Origin) {
        tree.visit(node) { node, _ in
            if origins[node] == nil { origins[node] = origin }
        }
    }
}

extension Tree {
    /// The observer that was put in, where a conversion is explained.
    internal var conversionObserver: ConversionObserver? {
        guard let observer else { return nil }
        return observer as? ConversionObserver
    }
}
