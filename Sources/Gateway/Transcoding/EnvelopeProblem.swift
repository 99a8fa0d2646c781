internal import HTTPWire
internal import Octets
internal import Transcoding

/// An error's envelope as an RFC 9457 problem.
///
/// `type`, `title`, `status` and `detail` come first. The envelope's members follow as extension members, in their order and with
/// the text of their numbers. What would pass for a member of the problem's own, `type`, `title`, `status`, `detail`, `instance`
/// or `envelope`, stands in an object `envelope` at the end, unless it is the very text that became `detail` or `title`. So does,
/// as its value, an envelope that is no object.
struct EnvelopeProblem: ~Copyable {
    private let tree: Tree
    private let rule: ProblemRule
    private let status: Int

    private static let ownNames = ["type", "title", "status", "detail", "instance", "envelope"].map { Array($0.utf8) }

    /// Throws where `json` is no JSON text.
    init(json: Span<UInt8>, status: Int, rule: ProblemRule) throws(ConversionError) {
        self.rule = rule
        self.status = status
        var limits = Limits()
        // How much there is to read is known: it was held.
        limits.key = max(limits.key, json.count)
        limits.number = max(limits.number, json.count)
        limits.tree = Int(Int32.max)
        var options = JSON.DecodingOptions()
        options.duplicates = .keep
        var tree = Tree(limits: limits)
        try tree.read(json: json, options: options, limits: limits)
        self.tree = tree
    }

    func body() -> OutputBuffer {
        var json = JSON.Encoder(options: JSON.EncodingOptions())
        let title = rule.title.map { node(at: $0, from: tree.root) } ?? Tree.none
        let detail = detailNode
        json.beginObject()
        json.member("type", rule.type)
        if isText(title) {
            json.key("title")
            json.string(tree.text(title), isLast: true)
        } else {
            json.member("title", ReasonPhrase.of(status).description)
        }
        json.member("status", number: status)
        if isText(detail) {
            json.key("detail")
            json.string(tree.text(detail), isLast: true)
        }
        appendMembers(to: &json, detail: detail, title: title)
        json.endObject()
        return json.output
    }

    /// Where the detail stands: from the root, or where all of the envelope is one member, as XML's is, from there.
    private var detailNode: Tree.Node {
        let root = tree.root
        if tree.kind(root) == .string { return root }
        for path in rule.detail {
            let node = node(at: path, from: root)
            if isText(node) { return node }
        }
        guard tree.kind(root).hasNames, tree.childCount(root) == 1 else { return Tree.none }
        for path in rule.detail {
            let node = node(at: path, from: tree.firstChild(root))
            if isText(node) { return node }
        }
        return Tree.none
    }

    /// Writes what the envelope has, but for the texts that became `detail` and `title` under these very names.
    private func appendMembers(to json: inout JSON.Encoder, detail: Tree.Node, title: Tree.Node) {
        guard tree.kind(tree.root).hasNames else {
            guard detail != tree.root else { return }
            json.key("envelope")
            return append(tree.root, to: &json)
        }
        var clashes: [Tree.Node] = []
        var child = tree.firstChild(tree.root)
        while child != Tree.none {
            if isOwn(tree.name(child)) {
                let isTold =
                    child == detail && tree.name(child).isEqual(to: "detail")
                    || child == title && tree.name(child).isEqual(to: "title")
                if !isTold || tree.kind(child) != .string { clashes.append(child) }
            } else {
                json.key(tree.name(child))
                append(child, to: &json)
            }
            child = tree.nextSibling(child)
        }
        guard !clashes.isEmpty else { return }
        json.key("envelope")
        json.beginObject()
        for clash in clashes {
            json.key(tree.name(clash))
            append(clash, to: &json)
        }
        json.endObject()
    }

    private func isOwn(_ name: Span<UInt8>) -> Bool {
        for own in Self.ownNames where name.isEqual(to: own.span) { return true }
        return false
    }

    /// Writes a value; the decoder has bounded how deep it is.
    private func append(_ node: Tree.Node, to json: inout JSON.Encoder) {
        let kind = tree.kind(node)
        switch kind {
        case .object, .keyed, .array, .collected:
            if kind.hasNames { json.beginObject() } else { json.beginArray() }
            var child = tree.firstChild(node)
            while child != Tree.none {
                if kind.hasNames { json.key(tree.name(child)) }
                append(child, to: &json)
                child = tree.nextSibling(child)
            }
            if kind.hasNames { json.endObject() } else { json.endArray() }
        case .string, .date, .data: json.string(tree.text(node), isLast: true)
        case .number: json.number(tree.text(node))
        case .yes: json.bool(true)
        case .no: json.bool(false)
        case .null: json.null()
        }
    }

    /// Whether the node says something in words.
    private func isText(_ node: Tree.Node) -> Bool {
        guard node != Tree.none else { return false }
        let kind = tree.kind(node)
        return (kind == .string || kind == .number) && !tree.text(node).isEmpty
    }

    /// The value at a path, the first where names repeat; or `none`.
    private func node(at path: FieldPath, from start: Tree.Node) -> Tree.Node {
        var node = start
        for segment in path.segments {
            var child = tree.firstChild(node)
            var index = 0
            let hasNames = tree.kind(node).hasNames
            while child != Tree.none {
                if hasNames ? segment.matches(key: tree.name(child)) : segment.matches(index: index) { break }
                index += 1
                child = tree.nextSibling(child)
            }
            guard child != Tree.none else { return Tree.none }
            node = child
        }
        return node
    }
}
