internal import Octets

/// Hears from the stages of a pipeline what they do with the fields and files of one body, and makes entries of it, where a
/// conversion is explained. The pipelines that convert for a client have none, and tell nothing.
///
/// Rules tell what they do with parts, and with the values of a tree; a walk tells which value it sends; the recorders in the
/// encoders' place tell which name or path begins. Whatever begins between two values that are sent belongs to the first one.
internal final class ConversionObserver: TreeObserver {
    /// Where the value of a node came from.
    struct Origin {
        /// Nil: the route made it.
        var source: String?
        var rules: [String] = []
        /// Where it stood before the map.
        var path: FieldPath?
        /// The headers that its part had besides its name.
        var lines: [String] = []
    }

    /// A value before its type is declared.
    struct TypedValue {
        fileprivate var parent: Tree.Node
        /// The sibling in front of it.
        fileprivate var previous: Tree.Node
    }

    /// The part at hand, with the rules that concern it, in the order they did.
    private struct Part {
        var name = ""
        var isFile = false
        var rules: [String] = []
        var path: FieldPath?
        /// What its reader has left out, whatever becomes of it: a rule, or none.
        var losses: [String] = []
        /// The names of its further headers, of a text.
        var lines: [String] = []
    }

    let plan: ConversionPlan
    /// Whether a renamed member stays where it stands, as it does where values pass one by one; on a tree it goes last.
    let renamesInPlace: Bool
    /// What went out, in the order it did.
    var sent: [ConversionTrace.Entry] = []
    /// What was left out, in the order of the rules.
    var removed: [ConversionTrace.Entry] = []
    /// The names and paths that recorders have begun.
    var names = RecordedNames()
    /// The values that a walk has sent.
    var walk = ObservedWalk()
    /// Nodes of a document that are looked at, at most: where each stands is found out by its siblings, which takes their square.
    var nodeLimit = Int.max
    /// Whether there were more.
    private(set) var passedNodeLimit = false
    private(set) var origins: [Tree.Node: Origin] = [:]
    private var causes: [Tree.Node: String] = [:]
    private var part = Part()
    /// The nodes that the tree of fields had when the last part ended.
    private var knownCount = 0

    /// Whether a document is being read: its paths are the origins of what is left out.
    private var readsDocument: Bool
    /// Where the document came from, for a person.
    private let root: String
    /// The rule by which a field takes the place of another one, or is too late for it.
    private let replacedBy: String

    /// - Parameters:
    ///   - plan: that of the pipelines, in which an output `auto` is what it has become.
    ///   - streams: whether the values of the document pass one by one where nobody observes them.
    init(plan: ConversionPlan, input: BodyEncoding, streams: Bool) {
        self.plan = plan
        renamesInPlace = !input.isFlat && streams
        readsDocument = !input.isFlat
        root = input == .text && plan.inputField == nil ? "the body" : Tree.tracedRoot
        let options = plan.fieldDecoding
        replacedBy =
            options.dialect == .recast
            ? "duplicates: \(options.duplicates.rawValue)" : "dialect: \(options.dialect.rawValue)"
    }

    /// What became of the body, when its pipeline has finished.
    func finish() -> (sent: [ConversionTrace.Entry], removed: [ConversionTrace.Entry]) {
        settleValue()
        settleHeld()
        if plan.output.isWhole {
            for index in sent.indices { sent[index].target = "the body" }
        }
        return (sent, removed)
    }

    // MARK: Parts

    /// What the route sets has gone out, before any part.
    func assigned() {
        for target in names.targets { sent.append(.init(source: nil, target: target, rules: ["map.set"])) }
    }

    /// A part begins.
    func beginsPart(_ head: borrowing PartHead) {
        names.clear()
        part = Part(name: head.name.lossyString(), isFile: head.isFile)
        if !head.lostParameters.isEmpty {
            part.losses = ["without Content-Disposition's \(head.lostParameters.lossyString())"]
            part.rules = part.losses
        }
        if !head.isFile {
            if head.hasMediaType { part.lines.append("Content-Type") }
            for index in 0..<head.otherFieldCount { part.lines.append(head.otherFieldName(index).lossyString()) }
        }
        var name = FieldName()
        // A name that can't be read is refused by the rules themselves.
        guard (try? name.parse(head.name, options: plan.fieldDecoding, limits: plan.limits)) != nil else { return }
        part.path = FieldPath(general: name)
    }

    /// A rule concerns the part at hand.
    func concerns(_ rule: String) { part.rules.append(rule) }

    /// The part has gone out, or was left out.
    func endsPart() {
        var entry = ConversionTrace.Entry(
            isFile: part.isFile || names.isFile && !names.targets.isEmpty, source: part.name,
            target: names.targets.last, rules: part.rules, path: part.path)
        if entry.target != nil, !entry.isFile, !names.hasLines { entry.rules += Self.without(part.lines) }
        if entry.target == nil { removed.append(entry) } else { sent.append(entry) }
    }

    /// As above, for a part that may have become a value of the tree, or several.
    func endsPart(in tree: borrowing Tree) {
        let nodes = knownCount..<tree.records.count
        knownCount = nodes.upperBound
        if part.isFile || !names.targets.isEmpty { return endsPart() }
        var isKept = false
        for node in nodes.lazy.map(Tree.Node.init) where node != tree.root {
            isKept = true
            let kind = tree.kind(node)
            guard !kind.isContainer else { continue }
            let isInferred = plan.fieldDecoding.types == .safe && kind != .string
            origins[node] = Origin(
                source: part.name, rules: part.losses + (isInferred ? ["types: safe"] : []), lines: part.lines)
        }
        guard !isKept else { return }
        // A library's rule has left it out before it came into the tree.
        removed.append(
            .init(source: part.name, target: nil, rules: ["dialect: \(plan.fieldDecoding.dialect.rawValue)"]))
    }

    /// What is said of a text whose part had headers that go out with none.
    static func without(_ lines: [String]) -> [String] {
        lines.isEmpty ? [] : ["without " + lines.joined(separator: ", ")]
    }

    // MARK: Values

    /// The document has been read. Values of which no origin is known yet came from their own paths.
    func isRead(_ tree: borrowing Tree) {
        readsDocument = false
        guard tree.records.count <= nodeLimit else { return passedNodeLimit = true }
        for leaf in origins.keys.sorted() where !tree.isPart(leaf) { removes(leaf, of: tree, by: replacedBy) }
        tree.visitWithPaths { node, path in
            if origins[node] == nil { origins[node] = Origin(source: node == tree.root ? root : path) }
        }
    }

    /// The map comes next: where the values stand now is what its rules name them by.
    func willMap(_ tree: borrowing Tree) {
        guard !passedNodeLimit else { return }
        tree.visit(tree.root) { node, tree in
            if node != tree.root { origins[node]?.path = tree.generalPath(node) }
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
                .init(
                    source: origin.source, target: nil, rules: origin.rules + [rule ?? causes[node] ?? ""],
                    path: origin.path))
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

    /// What has been read from the text of a node stands for it from here on, or the node itself does.
    func becomes(_ value: Tree.Node, from node: Tree.Node, of tree: borrowing Tree, by rule: String) {
        guard value != node else { return moves(node, of: tree, by: rule) }
        var origin = origins[node] ?? Origin()
        origin.rules.append(rule)
        adopt(tree, below: value, origin)
    }

    /// A rule has made the values that nothing is known of.
    func made(_ tree: borrowing Tree, by rule: String) {
        adopt(tree, below: tree.root, Origin(source: nil, rules: [rule]))
    }

    /// A type is declared for the value. Nil where that changes nothing.
    func willType(_ node: Tree.Node, of tree: borrowing Tree) -> TypedValue? {
        guard tree.kind(node) != .null, node != tree.root else { return nil }
        return TypedValue(parent: tree.parent(node), previous: tree.records[Int(node)].previous)
    }

    /// The value has that type now; others may stand in its place or below.
    func didType(_ node: Tree.Node, _ value: TypedValue, of tree: borrowing Tree, by rule: String) {
        origins[node]?.rules.append(rule)
        if tree.kind(node).isContainer {
            for leaf in tree.leaves(below: node) where leaf != node { origins[leaf]?.rules.append(rule) }
        }
        adopt(tree, below: tree.child(of: value.parent, behind: value.previous), origins[node] ?? Origin())
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
        isObserved ? observer as? ConversionObserver : nil
    }
}
