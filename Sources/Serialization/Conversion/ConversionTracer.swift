internal import Octets

/// Takes one body through a plan step by step and keeps for each value where it came from.
///
/// Nodes of a tree keep their numbers through map and types, so what stands where before and after a rule tells what the
/// rule did. Names are those that the real codecs of the lanes write, into recorders.
internal struct ConversionTracer {
    /// Where the value of a node came from.
    struct Origin {
        /// Nil: the route made it.
        var source: String?
        var rules: [String] = []
    }

    let plan: ConversionPlan
    let sources: [[UInt8]]
    /// Whether fields pass one by one.
    let passes: Bool
    /// Whether a renamed member stays where it stands, as it does where values pass one by one; on a tree it goes last.
    let renamesInPlace: Bool
    let log = TraceLog()
    var trace = ConversionTrace()
    var origins: [Tree.Node: Origin] = [:]
    /// The members of an object that is a file, which is still to begin: indices into what was sent.
    var absorbed: [Int] = []
    /// Under a dialect that holds the document: the names of values, their texts, and those that are held.
    var names: [Tree.Node: String] = [:]
    var texts: [Tree.Node: [UInt8]] = [:]
    var held: [Held] = []

    /// - Parameter isMultipart: whether an output `auto` has become multipart.
    init(plan: ConversionPlan, input: BodyEncoding, isMultipart: Bool, sources: [[UInt8]]) {
        var plan = plan.decided(for: input)
        passes = plan.streamsFields
        renamesInPlace = input == .json && plan.streams(from: input)
        if let plain = plan.outputWithoutFiles {
            if !isMultipart { plan.output = plain }
            plan.outputWithoutFiles = nil
        }
        // What streams needs no tree; here it does.
        plan.limits.tree = Int(Int32.max)
        self.plan = plan
        self.sources = sources
    }

    mutating func run(
        _ input: BodyEncoding, contentType: Span<UInt8>, body: Span<UInt8>
    ) throws(ConversionError) -> ConversionTrace {
        switch input {
        case .json, .plist, .bplist, .xml, .text: try runDocument(input, body)
        case .form: try runFields(Form.Decoder(plan, contentType: contentType), input, body)
        case .multipart: try runFields(Multipart.Decoder(plan, contentType: contentType), input, body)
        case .raw: try runFields(Raw.Decoder(plan, contentType: contentType), input, body)
        }
        if plan.output == .text || plan.output == .raw {
            for index in trace.sent.indices { trace.sent[index].target = "the body" }
        }
        return trace
    }

    // MARK: Documents

    private mutating func runDocument(_ input: BodyEncoding, _ body: Span<UInt8>) throws(ConversionError) {
        var tree = Tree(limits: plan.limits, duplicates: plan.effectiveJSONDuplicates)
        try read(input, body, into: &tree)
        try traceDuplicates(input, body)
        tree.visit(tree.root) { node, tree in origins[node] = Origin(source: tree.tracedPath(node)) }
        if input == .text, plan.inputField == nil { origins[tree.root]?.source = "the body" }
        try settle(&tree)
        switch plan.output {
        case .form, .multipart, .raw:
            var encoder = EventMapper(
                FlatEncoder(TracedFields(log), plan: plan), plan: plan, map: FieldMap())
            encoder.reset(sources: [])
            if holdsDocument { try nameFields(&tree) }
            try send(&tree, into: &encoder, isOpen: false) {
                .init(
                    removed: $0.accounting.removed, omitted: $0.encoder.removedCount, absorbed: $0.absorbed,
                    fileRule: $0.gate.madeRule)
            }
            try drain(&encoder) { encoder throws(ConversionError) in try encoder.encoder.drain() }
        case .json, .plist, .bplist, .xml, .text:
            var encoder = EventMapper(TracedDocument(log), plan: plan, map: FieldMap())
            encoder.reset(sources: [])
            try send(&tree, into: &encoder, isOpen: false) { .init(removed: $0.accounting.removed) }
        }
    }

    private func read(_ input: BodyEncoding, _ body: Span<UInt8>, into tree: inout Tree) throws(ConversionError) {
        switch input {
        case .plist, .bplist: try Self.read(body, PropertyList.Decoder(plan, input: input), into: &tree)
        case .xml: try Self.read(body, XML.Decoder(plan), into: &tree)
        case .text: try Self.read(body, PlainText.Decoder(plan), into: &tree)
        case .json, .form, .multipart, .raw: try Self.read(body, JSON.Decoder(plan), into: &tree)
        }
    }

    private static func read<Decoder: DocumentDecoder & ~Copyable>(
        _ body: Span<UInt8>, _ decoder: consuming Decoder, into tree: inout Tree
    ) throws(ConversionError) {
        var fed = 0
        while fed < body.count { fed += try decoder.feed(body.extracting(fed..<body.count), building: &tree) }
        try decoder.finish(building: &tree)
    }

    /// Names the repeated members that `duplicates: first` or `last` leaves out.
    private mutating func traceDuplicates(_ input: BodyEncoding, _ body: Span<UInt8>) throws(ConversionError) {
        let policy = plan.effectiveJSONDuplicates
        guard policy == .first || policy == .last else { return }
        var all = Tree(limits: plan.limits, duplicates: .keep)
        try read(input, body, into: &all)
        var left: [Tree.Node] = []
        all.visit(all.root) { node, tree in
            let parent = tree.parent(node)
            guard parent != Tree.none, tree.kind(parent).hasNames, !tree.isBelow(node, any: left) else { return }
            var sibling = policy == .first ? tree.records[Int(node)].previous : tree.nextSibling(node)
            while sibling != Tree.none {
                if tree.name(sibling).isEqual(to: tree.name(node)) {
                    left.append(node)
                    return
                }
                sibling = policy == .first ? tree.records[Int(sibling)].previous : tree.nextSibling(sibling)
            }
        }
        for node in left {
            // The later value of `first` is never part of the document and counts as one.
            let leaves = policy == .first ? [node] : all.leaves(below: node)
            for leaf in leaves {
                trace.removed.append(
                    .init(source: all.tracedPath(leaf), target: nil, rules: ["duplicates: \(policy.rawValue)"]))
            }
        }
    }

    // MARK: Rules

    /// Applies the map, the types and the removal of nulls.
    mutating func settle(_ tree: inout Tree) throws(ConversionError) {
        try traceMap(&tree)
        try traceTypes(&tree)
        let before = tree.leaves(below: tree.root)
        tree.remove(plan.removeNulls)
        note(before, goneFrom: tree, by: "remove_nulls: \(plan.removeNulls.rawValue)")
    }

    private mutating func traceMap(_ tree: inout Tree) throws(ConversionError) {
        let map = plan.map
        var causes: [Tree.Node: String] = [:]
        for path in map.remove {
            for leaf in tree.leaves(at: path) where causes[leaf] == nil { causes[leaf] = "map.remove \(path)" }
        }
        var before = tree.leaves(below: tree.root)
        var part = FieldMap()
        part.remove = map.remove
        try tree.apply(part, sources: sources)
        for leaf in before where !tree.isPart(leaf) { remove(leaf, by: causes[leaf] ?? "map.remove") }
        for rename in map.rename {
            for leaf in tree.leaves(at: rename.from) {
                origins[leaf]?.rules.append("map.rename \(rename.from) to \(rename.to)")
            }
            if renamesInPlace, case .key(let key)? = rename.to.segments.last {
                var found: [Tree.Node] = []
                tree.resolve(rename.from.segments[...], below: tree.root, into: &found)
                for node in found { try tree.rename(node, key.span) }
                continue
            }
            part = FieldMap()
            part.rename = [rename]
            try tree.apply(part, sources: sources)
        }
        for (key, assignments) in [("set", map.set), ("append", map.append)] {
            for assignment in assignments {
                before = tree.leaves(below: tree.root)
                part = FieldMap()
                if key == "set" { part.set = [assignment] } else { part.append = [assignment] }
                try tree.apply(part, sources: sources)
                let rule = "map.\(key) \(assignment.path)"
                note(before, goneFrom: tree, by: rule)
                adopt(tree, below: tree.root, Origin(source: nil, rules: [rule]))
            }
        }
    }

    private mutating func traceTypes(_ tree: inout Tree) throws(ConversionError) {
        var splicer = JSONSplicer(duplicates: plan.spliceDuplicates, limits: plan.limits)
        for rule in plan.types {
            var found: [Tree.Node] = []
            tree.resolve(rule.path.segments[...], below: tree.root, into: &found)
            found = found.filter { !tree.records[Int($0)].isTyped && tree.kind($0) != .null && $0 != tree.root }
            let places = found.map { (node: $0, parent: tree.parent($0), position: tree.position($0)) }
            try tree.apply([rule], splicer: &splicer)
            for place in places {
                let text = "fields \(rule.path): \(rule.type.rawValue)"
                origins[place.node]?.rules.append(text)
                let now = tree.child(of: place.parent, at: place.position)
                if tree.kind(place.node).isContainer {
                    for leaf in tree.leaves(below: place.node) where leaf != place.node {
                        origins[leaf]?.rules.append(text)
                    }
                }
                adopt(tree, below: now, origins[place.node] ?? Origin())
            }
        }
    }

    /// Gives `origin` to all below `node` that has none.
    private mutating func adopt(_ tree: borrowing Tree, below node: Tree.Node, _ origin: Origin) {
        tree.visit(node) { node, _ in
            if origins[node] == nil { origins[node] = origin }
        }
    }

    private mutating func note(_ leaves: [Tree.Node], goneFrom tree: borrowing Tree, by rule: String) {
        for leaf in leaves where !tree.isPart(leaf) { remove(leaf, by: rule) }
    }

    mutating func remove(_ leaf: Tree.Node, by rule: String) {
        let origin = origins[leaf] ?? Origin()
        trace.removed.append(.init(source: origin.source, target: nil, rules: origin.rules + [rule]))
    }
}
