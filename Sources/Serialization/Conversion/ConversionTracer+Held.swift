internal import Octets

// Dialects that sort what they write hold the document until its end, so that fields don't come out where they go in.
extension ConversionTracer {
    /// A value that was held back.
    struct Held {
        var node: Tree.Node
        var kind: Tree.Kind
        var name: String
        var rules: [String]
    }

    /// Whether the encoder holds the document back.
    var holdsDocument: Bool {
        let options = plan.fieldEncoding
        return (plan.output == .form || plan.output == .multipart) && options.dialect != .recast
            && (options.order == .sorted || options.dialect == .alamofire)
    }

    /// Finds the name of each value: sends the document with a mark in the place of each, and looks where the marks are.
    mutating func nameFields(_ tree: inout Tree) throws(ConversionError) {
        let log = TraceLog()
        log.parts = []
        var encoder = FlatEncoder(TracedFields(log), plan: plan)
        var marks: [[UInt8]: Tree.Node] = [:]
        for leaf in tree.leaves(below: tree.root) where isMarked(tree.kind(leaf)) {
            marks[Array("mark\(leaf)mark".utf8)] = leaf
            texts[leaf] = tree.text(leaf).copied()
        }
        try mark(tree.root, tree, into: &encoder)
        while try !encoder.drain() {}
        for part in log.parts ?? [] {
            if let node = marks[part.value] {
                names[node] = part.name
                continue
            }
            // Several values in one field: joined with commas, or in a JSON text.
            for (mark, node) in marks where part.value.contains(mark) { names[node] = part.name }
        }
        // What has no mark is told by its place among the parts without one.
        let others = (log.parts ?? []).filter { part in !marks.keys.contains { part.value.contains($0) } }
        let leaves = tree.leaves(below: tree.root).filter { leaf in
            tree.kind(leaf).isContainer && leaf != tree.root
        }
        if others.count == leaves.count {
            for (leaf, part) in zip(leaves, others) { names[leaf] = part.name }
        }
    }

    /// A null has the name that a text in its place has, unless it is left out and others take its number.
    private func isMarked(_ kind: Tree.Kind) -> Bool {
        !kind.isContainer && (kind != .null || plan.fieldEncoding.nulls != .omit)
    }

    private func mark<Sink: EventSink & ~Copyable>(
        _ node: Tree.Node, _ tree: borrowing Tree, into sink: inout Sink
    ) throws(ConversionError) {
        let parent = tree.parent(node)
        if parent != Tree.none, tree.kind(parent).hasNames {
            let name = tree.name(node).copied()
            try sink.key(name.span)
        }
        let kind = tree.kind(node)
        guard kind.isContainer else {
            return isMarked(kind) ? try sink.string(Array("mark\(node)mark".utf8).span, isLast: true) : try sink.null()
        }
        if kind.hasNames { try sink.beginObject() } else { try sink.beginArray() }
        var child = tree.firstChild(node)
        while child != Tree.none {
            try mark(child, tree, into: &sink)
            child = tree.nextSibling(child)
        }
        if kind.hasNames { try sink.endObject() } else { try sink.endArray() }
    }

    /// Takes what was held back, and finds for each field the value that has its name and, of several, its text.
    mutating func drain<Sink: ~Copyable>(
        _ sink: inout Sink, _ write: (inout Sink) throws(ConversionError) -> Bool
    ) throws(ConversionError) {
        log.clear()
        log.parts = []
        while try !write(&sink) {}
        var rest = held
        for part in log.parts ?? [] {
            let same = rest.indices.filter { rest[$0].name == part.name }
            let exact = same.first { texts[rest[$0].node] == part.value } ?? same.first
            guard let exact else { continue }
            // All values of one field go with it.
            let isJoined = same.count > 1 && !same.contains { texts[rest[$0].node] == part.value }
            for index in isJoined ? same : [exact] { note(held: rest[index]) }
            for index in (isJoined ? same : [exact]).reversed() { rest.remove(at: index) }
        }
        for value in rest {
            let origin = origins[value.node] ?? Origin()
            trace.removed.append(
                .init(
                    source: origin.source, target: nil,
                    rules: origin.rules + ["dialect: \(plan.fieldEncoding.dialect.rawValue)"]))
        }
        held = []
    }

    private mutating func note(held value: Held) {
        trace.sent.append(.init(source: origins[value.node]?.source, target: value.name, rules: value.rules))
    }
}
